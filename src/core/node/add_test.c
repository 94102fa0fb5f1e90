/* SPDX-License-Identifier: Apache-2.0 */
/* add_test.c - jobs come in: their first state, their ids, and keys that make a
 * repeated request harmless. */
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void no_slot(NodeSettings *settings)
{
    settings->slots = 0;
}

static void a_job_begins_in_the_state_it_deserves(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    int64_t now_ms = rig->now.wall_ms;
    static const struct {
        JobState asked;
        int64_t in_ms;
        bool command;
        JobState begins;
    } table[] = {
        { JOB_READY, 0, true, JOB_READY },       { JOB_READY, -5000, true, JOB_READY },
        { JOB_READY, 5000, true, JOB_DEFERRED }, { JOB_HELD, 0, true, JOB_HELD },
        { JOB_HELD, 5000, true, JOB_HELD },      { JOB_READY, 0, false, JOB_BLOCKED },
        { JOB_READY, 5000, false, JOB_BLOCKED }, { JOB_HELD, 0, false, JOB_HELD },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Job job = rig_job();
        job.state = table[i].asked;
        job.run_at_ms = now_ms + table[i].in_ms;
        if (!table[i].command)
            job.command = (Slice){ NULL, 0 };
        const Job *added = rig_find(rig, rig_add(rig, &job));
        assert_int_equal(added->state, table[i].begins);
        assert_true(added->created_ms == now_ms);
        assert_true(added->run_at_ms == now_ms + (table[i].in_ms > 0 ? 5000 : 0));
        bool blocked = added->state == JOB_BLOCKED;
        /* One without a handler waits until its window is over. */
        int64_t window_ms = blocked ? rig->settings.retry_window_ms : 0;
        assert_true(added->dt_ms == added->run_at_ms + window_ms);
        assert_true(added->window_from_ms == added->run_at_ms);
        assert_int_equal(added->lock.bytes, 0);
        assert_true(slice_is(added->reason, blocked ? "no_handler" : ""));
        const Effect *changed = rig_last(rig, EFFECT_CHANGED);
        assert_true(changed->id == added->id);
        assert_int_equal(changed->state, added->state);
        assert_int_equal(changed->was, added->state);
    }
    rig_close(rig);
}

static void the_answer_has_the_job_and_waits_for_the_journal(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    Job job = rig_job();
    job.name = SLICE_LITERAL("nightly");
    JobId id = rig_add(rig, &job);
    const Effect *reply = rig_last(rig, EFFECT_REPLY);
    assert_int_equal(reply->wait, WAIT_JOURNAL);
    assert_int_equal(reply->count, 1);
    assert_true(reply->job->id == id);
    assert_true(slice_is(reply->job->name, "nightly"));
    assert_false(reply->replayed);
    assert_int_equal(id_node(id), 1);
    rig_close(rig);
}

static void many_jobs_get_ids_in_their_order(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    Job jobs[20];
    for (int i = 0; i < 20; i++) {
        jobs[i] = rig_job();
        jobs[i].priority = i;
    }
    Event event = { .kind = EVENT_ADD, .jobs = jobs, .count = 20 };
    assert_int_equal(rig_send(rig, event), ERR_OK);
    const Effect *reply = rig_last(rig, EFFECT_REPLY);
    assert_int_equal(reply->count, 20);
    assert_null(reply->job);
    for (int i = 0; i < 20; i++)
        assert_int_equal(
            rig_find(rig, id_from_count(reply->first + (uint64_t)i, 1))->priority, i);
    rig_close(rig);
}

static void ids_rise_over_a_restart_and_a_clock_set_back(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    JobId before = rig_add_default(rig);
    rig->now.wall_ms -= MS_PER_DAY;
    JobId after = rig_add_default(rig);
    assert_true(after > before);
    rig_reopen(rig, true);
    rig_step(rig, NULL, 0);
    assert_true(rig_add_default(rig) > after);
    rig_close(rig);
}

/* A J!: line has no client that could ask again: its job is taken whatever happens. */
static void what_a_job_adds_is_taken_even_then(void **state)
{
    (void)state;
    const Event closed[] = { { .kind = EVENT_DRAIN }, { .kind = EVENT_ROOM } };
    for (int i = 0; i < 2; i++) {
        Rig *rig = rig_open(NULL);
        rig_step(rig, &closed[i], 1);
        uint64_t operations = rig->operations;
        Job job = rig_job();
        const Event add = { .kind = EVENT_ADD, .jobs = &job, .count = 1 };
        rig_step(rig, &add, 1);
        assert_int_equal(rig->operations, operations + 1);
        rig_close(rig);
    }
}

static void what_a_job_adds_waits_for_a_store_that_fails(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    Job job = rig_job();
    rig->store_fails = true;
    const Event add = {
        .kind = EVENT_ADD, .jobs = &job, .count = 1, .key = SLICE_LITERAL("child:1")
    };
    rig_step(rig, &add, 1);
    rig_step(rig, &add, 1); /* read once more, as after a restart */
    for (int i = 0; i < 3; i++)
        rig_wait(rig, 1000);
    assert_int_equal(rig->count, 0);
    rig->store_fails = false;
    rig_wait(rig, 1000);
    assert_int_equal(rig->count, 1);
    rig_close(rig);
    rig = rig_open(no_slot); /* and an end in the meantime leaks nothing */
    rig->store_fails = true;
    rig_step(rig, &add, 1);
    rig_close(rig);
}

static void nothing_is_taken_while_draining_or_full(void **state)
{
    (void)state;
    static const struct {
        Event begin;
        Event end;
        Err err;
        const char *problem;
    } table[] = {
        { { .kind = EVENT_DRAIN },
          { .kind = EVENT_RESUME },
          ERR_UNAVAILABLE,
          "draining" },
        { { .kind = EVENT_ROOM, .flag = false },
          { .kind = EVENT_ROOM, .flag = true },
          ERR_FULL,
          "journal_full" },
    };
    for (int i = 0; i < 2; i++) {
        Rig *rig = rig_open(NULL);
        JobId running = rig_add_default(rig);
        JobId waiting = rig_add_default(rig);
        rig_slots(rig, 1);
        rig_exit(rig, waiting, 1);
        rig_step(rig, &table[i].begin, 1);
        uint64_t operations = rig->operations;
        Job job = rig_job();
        Event add = { .kind = EVENT_ADD, .jobs = &job, .count = 1 };
        Event keyed = add;
        keyed.key = SLICE_LITERAL("k");
        Event lines = { .kind = EVENT_ADD_LINES,
                        .jobs = &job,
                        .count = 1,
                        .body = SLICE_LITERAL("x\n") };
        const Event adds[] = { add, keyed, lines };
        for (int k = 0; k < 3; k++) {
            assert_int_equal(rig_send(rig, adds[k]), table[i].err);
            assert_string_equal(rig_last(rig, EFFECT_REPLY)->problem, table[i].problem);
            assert_int_equal(rig_last(rig, EFFECT_REPLY)->wait, WAIT_NONE);
        }
        assert_int_equal(rig->operations, operations);
        rig_exit(rig, running, 0); /* ending still works */
        assert_int_equal(rig_state(rig, running), JOB_DONE);
        rig_wait(rig, 10000); /* but what is due does not start */
        assert_int_equal(rig_state(rig, waiting), JOB_READY);
        rig_step(rig, &table[i].end, 1);
        rig_wait(rig, 1000);
        assert_int_equal(rig_state(rig, waiting), JOB_RUNNING);
        assert_int_equal(rig_send(rig, add), ERR_OK);
        rig_close(rig);
    }
}

static Event keyed_add(Job *jobs, size_t count, const char *key, const char *hash)
{
    return (Event){ .kind = EVENT_ADD,
                    .tenant = SLICE_LITERAL("default"),
                    .jobs = jobs,
                    .count = count,
                    .key = slice_text(key),
                    .key_hash = slice_text(hash) };
}

static void a_repeated_key_gives_the_first_answer_again(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    Job jobs[3] = { rig_job(), rig_job(), rig_job() };
    Event add = keyed_add(jobs, 3, "order-1", "h");
    assert_int_equal(rig_send(rig, add), ERR_OK);
    Effect first = *rig_last(rig, EFFECT_REPLY);
    assert_int_equal(first.count, 3);
    assert_int_equal(first.wait, WAIT_BATCH);
    assert_false(first.replayed);
    assert_int_equal(rig->count, 3);
    for (int round = 0; round < 3; round++) {
        if (round == 1) { /* the store has it; the node no longer needs to remember */
            Event applied = { .kind = EVENT_APPLIED, .number = rig->number };
            rig_step(rig, &applied, 1);
        }
        if (round == 2) { /* a restart does not forget it */
            rig_reopen(rig, true);
            rig_step(rig, NULL, 0);
        }
        assert_int_equal(rig_send(rig, add), ERR_OK);
        const Effect *again = rig_last(rig, EFFECT_REPLY);
        assert_true(again->replayed);
        assert_true(again->first == first.first);
        assert_int_equal(again->count, 3);
        assert_int_equal(rig->count, 3);
    }
    rig_close(rig);
}

static void another_body_under_the_same_key_is_refused(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    Job job = rig_job();
    assert_int_equal(rig_send(rig, keyed_add(&job, 1, "k", "one")), ERR_OK);
    assert_int_equal(rig_send(rig, keyed_add(&job, 1, "k", "two")), ERR_INVALID);
    assert_string_equal(rig_last(rig, EFFECT_REPLY)->problem, "idempotency_mismatch");
    assert_int_equal(rig->count, 1);
    /* Another tenant's key of the same name is another key. */
    Event other = keyed_add(&job, 1, "k", "two");
    other.tenant = SLICE_LITERAL("other");
    assert_int_equal(rig_send(rig, other), ERR_OK);
    assert_int_equal(rig->count, 2);
    rig_close(rig);
}

static void a_key_that_is_being_decided_is_busy(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    Job job = rig_job();
    rig->hold_answers = true;
    assert_int_equal(rig_send(rig, keyed_add(&job, 1, "k", "h")), ERR_BUSY);
    assert_int_equal(rig_send(rig, keyed_add(&job, 1, "k", "h")), ERR_CONFLICT);
    assert_string_equal(rig_last(rig, EFFECT_REPLY)->problem, "idempotency_in_progress");
    rig->hold_answers = false;
    rig_answer(rig);
    assert_int_equal(rig_last(rig, EFFECT_REPLY)->err, ERR_OK);
    assert_int_equal(rig->count, 1);
    rig_close(rig);
}

static void a_key_can_be_used_again_after_its_day(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    Job job = rig_job();
    assert_int_equal(rig_send(rig, keyed_add(&job, 1, "k", "one")), ERR_OK);
    rig_wait(rig, MS_PER_DAY - 1);
    assert_int_equal(rig_send(rig, keyed_add(&job, 1, "k", "two")), ERR_INVALID);
    rig_wait(rig, 1);
    assert_int_equal(rig_send(rig, keyed_add(&job, 1, "k", "two")), ERR_OK);
    assert_int_equal(rig->count, 2);
    rig_close(rig);
}

static void a_key_whose_question_failed_can_be_tried_again(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    Job job = rig_job();
    rig->store_fails = true;
    assert_int_equal(rig_send(rig, keyed_add(&job, 1, "k", "h")), ERR_UNAVAILABLE);
    rig->store_fails = false;
    assert_int_equal(rig_send(rig, keyed_add(&job, 1, "k", "h")), ERR_OK);
    assert_int_equal(rig->count, 1);
    rig_close(rig);
}

static void a_drain_between_question_and_answer_refuses_a_key(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    Job job = rig_job();
    rig->hold_answers = true;
    assert_int_equal(rig_send(rig, keyed_add(&job, 1, "k", "h")), ERR_BUSY);
    Event drain = { .kind = EVENT_DRAIN };
    rig_step(rig, &drain, 1);
    rig->hold_answers = false;
    rig_answer(rig);
    assert_int_equal(rig_last(rig, EFFECT_REPLY)->err, ERR_UNAVAILABLE);
    assert_int_equal(rig->count, 0);
    Event resume = { .kind = EVENT_RESUME };
    rig_step(rig, &resume, 1);
    assert_int_equal(rig_send(rig, keyed_add(&job, 1, "k", "h")), ERR_OK);
    rig_close(rig);
}

static void what_a_door_gave_may_go_away_after_the_step(void **state)
{
    (void)state;
    Rig *rig = rig_open(no_slot);
    rig->hold_answers = true;
    char *text = mem_copy("borrowed", 8);
    Job *job = mem_copy(&(Job){ 0 }, sizeof(Job));
    *job = rig_job();
    job->payload = slice_of(text, 8);
    Event add = keyed_add(job, 1, "k", "h");
    add.key = slice_of(text, 4);
    add.key_hash = slice_of(text + 4, 4);
    assert_int_equal(rig_send(rig, add), ERR_BUSY);
    memset(text, 'x', 8);
    mem_free(text);
    memset(job, 0xff, sizeof *job);
    mem_free(job);
    rig->hold_answers = false;
    rig_answer(rig);
    assert_int_equal(rig->count, 1);
    assert_true(slice_is(rig->jobs[0].payload, "borrowed"));
    assert_true(slice_is(rig->keys[0].key, "borr"));
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_begins_in_the_state_it_deserves),
        cmocka_unit_test(the_answer_has_the_job_and_waits_for_the_journal),
        cmocka_unit_test(many_jobs_get_ids_in_their_order),
        cmocka_unit_test(ids_rise_over_a_restart_and_a_clock_set_back),
        cmocka_unit_test(what_a_job_adds_is_taken_even_then),
        cmocka_unit_test(what_a_job_adds_waits_for_a_store_that_fails),
        cmocka_unit_test(nothing_is_taken_while_draining_or_full),
        cmocka_unit_test(a_repeated_key_gives_the_first_answer_again),
        cmocka_unit_test(another_body_under_the_same_key_is_refused),
        cmocka_unit_test(a_key_that_is_being_decided_is_busy),
        cmocka_unit_test(a_key_can_be_used_again_after_its_day),
        cmocka_unit_test(a_key_whose_question_failed_can_be_tried_again),
        cmocka_unit_test(a_drain_between_question_and_answer_refuses_a_key),
        cmocka_unit_test(what_a_door_gave_may_go_away_after_the_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
