/* SPDX-License-Identifier: Apache-2.0 */
/* offline_start_test.c - what a node without its store learns from its own journal. */
#include "cluster/offline_start.h"

#include "base/pack.h"
#include "core/unique.h"
#include "engine/ingest_thread.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODE = 3 };

typedef struct World {
    char dir[64];
    Journal *journal;
    OfflineStart offline_start;
} World;

static int open_world(void **state)
{
    World *world = MEM_NEW(World);
    Error why = { 0 };
    snprintf(world->dir, sizeof world->dir, "/tmp/pawl-cutoff-XXXXXX");
    assert_non_null(mkdtemp(world->dir));
    JournalOptions options = {
        .dir = world->dir, .node = NODE, .epoch = 1, .cluster = 1
    };
    assert_int_equal(journal_open(&options, &world->journal, &why), ERR_OK);
    world->offline_start.snapshot = (Snapshot){ .number = NODE };
    *state = world;
    return 0;
}

static int close_world(void **state)
{
    World *world = *state;
    journal_close(world->journal);
    snapshot_done(&world->offline_start.snapshot);
    DIR *dir = opendir(world->dir);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(world->dir);
    mem_free(world);
    return 0;
}

static Job job_of(uint64_t count, uint16_t node)
{
    Job job = job_default();
    job.id = id_from_count(count, node);
    job.state = JOB_READY;
    job.tenant = SLICE_LITERAL("acme");
    job.queue = SLICE_LITERAL("q");
    job.type = SLICE_LITERAL("x");
    job.payload = SLICE_LITERAL("12345");
    return job;
}

static uint64_t append(World *world, Record record, Slice body)
{
    record.node = NODE;
    record.tenant = SLICE_LITERAL("acme");
    record.type = SLICE_LITERAL("x");
    record.body = body;
    uint64_t end = journal_write(world->journal, &record, NULL);
    assert_int_equal(journal_wsync(world->journal, end, -1), ERR_OK);
    return end;
}

static uint64_t append_job(World *world, uint64_t count, uint16_t node)
{
    Buf body = { 0 };
    Job job = job_of(count, node);
    size_t begun = pack_begin(&body, RECORD_JOBS_TAG);
    job_pack(&body, &job);
    pack_end(&body, begun);
    uint64_t end =
        append(world, (Record){ .kind = RECORD_JOBS, .count = 1 }, buf_slice(&body));
    buf_done(&body);
    return end;
}

static void append_lines(World *world, uint64_t first)
{
    Buf options = { 0 };
    Job job = job_of(first, NODE);
    job.payload = (Slice){ NULL, 0 };
    job_pack(&options, &job);
    append(world,
           (Record){ .kind = RECORD_LINES,
                     .first = first,
                     .count = 3,
                     .options = buf_slice(&options) },
           SLICE_LITERAL("a\nb\nc\n"));
    buf_done(&options);
}

static void append_owed(World *world, uint64_t count)
{
    Buf value = { 0 };
    Buf body = { 0 };
    Job job = job_of(count, NODE);
    job_pack(&value, &job);
    Op op = { .kind = OP_PUT,
              .table = SLICE_LITERAL(OWED_TABLE),
              .key = SLICE_LITERAL("k"),
              .value = buf_slice(&value) };
    batch_pack(&body, &(Batch){ .node = NODE, .ops = &op, .count = 1 });
    append(world, (Record){ .kind = RECORD_TURN, .count = 1, .number = 9 },
           buf_slice(&body));
    buf_done(&body);
    buf_done(&value);
}

static Err read_tail(World *world)
{
    Error why = { 0 };
    return offline_start_read_tail(&world->offline_start, world->journal, &why);
}

static void ids_behind_the_snapshot_are_not_given_again(void **state)
{
    World *world = *state;
    Snapshot *snapshot = &world->offline_start.snapshot;
    snapshot->ids = 1000;
    assert_int_equal(read_tail(world), ERR_OK);
    assert_int_equal(snapshot->ids, 1000); /* there was nothing */
    append_job(world, 500, NODE);
    assert_int_equal(read_tail(world), ERR_OK);
    assert_int_equal(snapshot->ids, 1000);
    append_job(world, 2000, NODE);
    assert_int_equal(read_tail(world), ERR_OK);
    assert_int_equal(snapshot->ids, 2001);
    append_lines(world, 3000);
    assert_int_equal(read_tail(world), ERR_OK);
    assert_int_equal(snapshot->ids, 3003);
    append_owed(world, 4000);
    assert_int_equal(read_tail(world), ERR_OK);
    assert_int_equal(snapshot->ids, 4001);
    append_job(world, 9000, NODE + 1); /* another's, which was lost */
    assert_int_equal(read_tail(world), ERR_OK);
    assert_int_equal(snapshot->ids, 4001);
}

static void what_tenants_have_is_counted_on(void **state)
{
    World *world = *state;
    snapshot_use(&world->offline_start.snapshot, SLICE_LITERAL("acme"))->queued_here = 10;
    append_job(world, 2000, NODE);
    append_lines(world, 3000);
    assert_int_equal(read_tail(world), ERR_OK);
    const TenantUse *use =
        snapshot_use(&world->offline_start.snapshot, SLICE_LITERAL("acme"));
    assert_int_equal(use->queued_here, 14);
    assert_int_equal(use->bytes, 11);
}

/* Older segments are gone, and with them what the ids before might have been. */
static void ids_that_are_not_sure_are_not_given(void **state)
{
    World *world = *state;
    world->offline_start.ids_unsure = true;
    assert_int_equal(read_tail(world), ERR_UNAVAILABLE);
    append_job(world, 9000, NODE + 1);
    assert_int_equal(read_tail(world), ERR_UNAVAILABLE);
    append_job(world, 2000, NODE);
    assert_int_equal(read_tail(world), ERR_OK);
    assert_int_equal(world->offline_start.snapshot.ids, 2001);
}

static void the_journal_is_left_to_be_brought_in(void **state)
{
    World *world = *state;
    Error why = { 0 };
    Store *store;
    Loaded loaded = { 0 };
    Load load = { .kind = LOAD_JOB, .id = id_from_count(3001, NODE) };
    uint64_t applied = 0;
    append_job(world, 2000, NODE);
    append_lines(world, 3000);
    assert_int_equal(read_tail(world), ERR_OK);
    assert_int_equal(store_open("memory:", &(StoreOptions){ 0 }, &store, &why), ERR_OK);
    assert_int_equal(ingest_thread_catch_up(store, world->journal, &applied, &why),
                     ERR_OK);
    assert_true(applied == journal_end(world->journal));
    assert_int_equal(store->kind->load(store, &load, &loaded, &why), ERR_OK);
    assert_int_equal(loaded.count, 1);
    loaded_done(&loaded);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ids_behind_the_snapshot_are_not_given_again,
                                        open_world, close_world),
        cmocka_unit_test_setup_teardown(what_tenants_have_is_counted_on, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(ids_that_are_not_sure_are_not_given, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(the_journal_is_left_to_be_brought_in, open_world,
                                        close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
