/* SPDX-License-Identifier: Apache-2.0 */
/* ingest_test.c - from the journal into the store, once, in order, through failures. */
#include "engine/ingest_thread.h"

#include "base/pack.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct World {
    char dir[64];
    Journal *journal;
    Store *store;
    StoreFault fault;
    Mailbox answers;
    IngestThread *ingest;
} World;

static void on_durable(void *context, uint64_t position, Err err)
{
    World *world = context;
    (void)position;
    (void)err;
    if (world->ingest)
        ingest_thread_wake(world->ingest);
}

static int open_world(void **state)
{
    World *world = MEM_NEW(World);
    Error why = { 0 };
    Store *memory;
    snprintf(world->dir, sizeof world->dir, "/tmp/pawl-ingest-XXXXXX");
    assert_non_null(mkdtemp(world->dir));
    JournalOptions options = { .dir = world->dir,
                               .node = 1,
                               .epoch = 1,
                               .cluster = 1,
                               .segment_bytes = 1 << 20,
                               .on_durable = on_durable,
                               .context = world };
    assert_int_equal(journal_open(&options, &world->journal, &why), ERR_OK);
    assert_int_equal(store_open("memory:", &(StoreOptions){ 0 }, &memory, &why), ERR_OK);
    world->store = store_fault_new(memory, &world->fault);
    mailbox_init(&world->answers);
    *state = world;
    return 0;
}

static void drop_answers(World *world)
{
    for (Mail *mail = mailbox_take(&world->answers); mail;) {
        Mail *next = mail->next;
        Ask *ask = (Ask *)(void *)mail;
        if (ask->is_news)
            mem_free(mail);
        else
            ask_free(ask);
        mail = next;
    }
}

static void remove_dir(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(path);
}

static int close_world(void **state)
{
    World *world = *state;
    ingest_thread_stop(world->ingest);
    journal_close(world->journal);
    ingest_thread_free(world->ingest);
    store_close(world->store);
    drop_answers(world);
    mailbox_done(&world->answers);
    remove_dir(world->dir);
    mem_free(world);
    return 0;
}

/* Appends one job and returns the position behind it. */
static uint64_t append_job(World *world, JobId id)
{
    Buf body = { 0 };
    Job job = job_default();
    job.id = id;
    job.tenant = job.queue = SLICE_LITERAL("default");
    job.type = SLICE_LITERAL("run");
    job.command = slice_of("true", 5);
    size_t begun = pack_begin(&body, 1);
    job_pack(&body, &job);
    pack_end(&body, begun);
    Record record = { .kind = RECORD_JOBS,
                      .node = 1,
                      .count = 1,
                      .tenant = job.tenant,
                      .type = job.type,
                      .body = buf_slice(&body) };
    uint64_t end = journal_write(world->journal, &record, NULL);
    journal_flush(world->journal);
    buf_done(&body);
    return end;
}

static void open_ingest(World *world)
{
    IngestThreadOptions options = { .store = world->store,
                                    .journal = world->journal,
                                    .answers = &world->answers };
    world->ingest = ingest_thread_open(&options);
}

static Ask *ask_as(World *world, AskPurpose purpose, JobId id, uint64_t needs)
{
    Ask *ask = MEM_NEW(Ask);
    ask->purpose = purpose;
    ask->load = (Load){ .kind = LOAD_JOB, .id = id };
    ask->needs = needs;
    ingest_thread_ask(world->ingest, ask);
    for (;;) {
        for (Mail *mail = mailbox_wait(&world->answers, 10000); mail;) {
            Mail *next = mail->next;
            Ask *answer = (Ask *)(void *)mail;
            if (!answer->is_news) {
                assert_null(next);
                return answer;
            }
            mem_free(mail);
            mail = next;
        }
    }
}

static Ask *ask_for(World *world, JobId id, uint64_t needs)
{
    return ask_as(world, ASK_START, id, needs);
}

static void
what_is_durable_reaches_the_store_before_a_question_that_needs_it(void **state)
{
    World *world = *state;
    open_ingest(world);
    for (JobId id = 1; id <= 50; id++) {
        uint64_t end = append_job(world, id);
        Ask *answer = ask_for(world, id, end);
        assert_int_equal(answer->err, ERR_OK);
        assert_int_equal(answer->loaded.count, 1);
        assert_true(answer->loaded.jobs[0].id == id);
        assert_true(answer->applied >= end);
        ask_free(answer);
    }
}

static void a_question_about_nothing_is_answered_with_nothing(void **state)
{
    World *world = *state;
    open_ingest(world);
    Ask *answer = ask_for(world, 99, 0);
    assert_int_equal(answer->err, ERR_OK);
    assert_int_equal(answer->loaded.count, 0);
    ask_free(answer);
}

static void a_failing_store_is_tried_again_until_it_works(void **state)
{
    World *world = *state;
    world->fault = (StoreFault){ .fail_at = 1, .times = 1, .err = ERR_IO };
    open_ingest(world);
    uint64_t end = append_job(world, 1);
    Ask *answer = ask_for(world, 1, end);
    assert_int_equal(answer->loaded.count, 1);
    ask_free(answer);
}

static void while_it_fails_the_node_is_told_and_nothing_is_passed_over(void **state)
{
    World *world = *state;
    world->fault = (StoreFault){ .fail_at = 1, .times = 2, .err = ERR_FULL };
    open_ingest(world);
    uint64_t end = append_job(world, 1);
    Ask *refused = ask_as(world, ASK_NODE, 1, end);
    assert_int_equal(refused->err, ERR_FULL);
    assert_true(refused->applied < end);
    ask_free(refused);
    uint64_t second = append_job(world, 2); /* durable while the first still waits */
    for (JobId id = 1; id <= 2; id++) {
        Ask *answer = ask_for(world, id, second);
        assert_int_equal(answer->err, ERR_OK);
        assert_int_equal(answer->loaded.count, 1);
        assert_true(answer->applied >= second);
        ask_free(answer);
    }
}

static uint64_t applied_next(World *world)
{
    uint64_t applied = 0;
    for (Mail *mail = mailbox_wait(&world->answers, 10000); mail;) {
        Mail *next = mail->next;
        applied = ((const IngestNews *)(const void *)mail)->applied;
        mem_free(mail);
        mail = next;
    }
    return applied;
}

/* No one asks: it gathers for a moment, and then goes in all the same. */
static void what_no_one_waits_for_is_stored_too(void **state)
{
    World *world = *state;
    open_ingest(world);
    uint64_t end = 0;
    for (JobId id = 1; id <= 20; id++)
        end = append_job(world, id);
    while (applied_next(world) < end)
        ;
    ingest_thread_hurry(world->ingest, end); /* what is there already asks for nothing */
    end = append_job(world, 21);
    ingest_thread_hurry(world->ingest, end);
    while (applied_next(world) < end)
        ;
    Ask *answer = ask_for(world, 21, end);
    assert_int_equal(answer->loaded.count, 1);
    ask_free(answer);
}

static void catching_up_applies_each_record_once(void **state)
{
    World *world = *state;
    Error why = { 0 };
    uint64_t applied = 0;
    uint64_t end = 0;
    for (JobId id = 1; id <= 10; id++)
        end = append_job(world, id);
    assert_int_equal(journal_wsync(world->journal, end, 10000), ERR_OK);
    assert_int_equal(ingest_thread_catch_up(world->store, world->journal, &applied, &why),
                     ERR_OK);
    assert_true(applied == end);
    ReadPoint point;
    assert_int_equal(world->store->kind->read_point(world->store, 1, &point, &why),
                     ERR_OK);
    assert_true(point.position == end);
    assert_int_equal(ingest_thread_catch_up(world->store, world->journal, &applied, &why),
                     ERR_OK);
    JobId last;
    assert_int_equal(world->store->kind->last_id(world->store, 0, &last, &why), ERR_OK);
    assert_true(last == 10);
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(what_is_durable_reaches_the_store_before_a_question_that_needs_it),
        WORLD_TEST(a_question_about_nothing_is_answered_with_nothing),
        WORLD_TEST(a_failing_store_is_tried_again_until_it_works),
        WORLD_TEST(while_it_fails_the_node_is_told_and_nothing_is_passed_over),
        WORLD_TEST(what_no_one_waits_for_is_stored_too),
        WORLD_TEST(catching_up_applies_each_record_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
