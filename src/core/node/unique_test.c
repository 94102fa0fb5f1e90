/* SPDX-License-Identifier: Apache-2.0 */
/* unique_test.c - stories of jobs that hold keys, and of highlander types. */
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static Buf text;

static Job unique_job(OnConflict on_conflict, int64_t for_ms)
{
    Job job = rig_job();
    buf_clear(&text);
    unique_write(&text, &(Unique){ SLICE_LITERAL("k"), for_ms, on_conflict });
    job.unique = buf_slice(&text);
    return job;
}

static const Effect *send_jobs(Rig *rig, Job *jobs, size_t count)
{
    Event event = {
        .kind = EVENT_ADD, .tenant = jobs[0].tenant, .jobs = jobs, .count = count
    };
    (void)!rig_send(rig, event);
    return rig_last(rig, EFFECT_REPLY);
}

static AddedItem add_unique(Rig *rig, OnConflict on_conflict)
{
    Job job = unique_job(on_conflict, 0);
    const Effect *reply = send_jobs(rig, &job, 1);
    assert_non_null(reply->added_items);
    assert_int_equal(reply->err != ERR_OK, reply->added_items[0].problem != NULL);
    return reply->added_items[0];
}

static void a_second_one_is_refused_until_the_first_is_over(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    AddedItem first = add_unique(rig, CONFLICT_REJECT);
    assert_null(first.problem);
    assert_false(first.existed);
    AddedItem second = add_unique(rig, CONFLICT_REJECT);
    assert_string_equal(second.problem, "unique_conflict");
    assert_int_equal(second.id, first.id);
    rig_exit(rig, first.id, 0);
    AddedItem third = add_unique(rig, CONFLICT_REJECT);
    assert_null(third.problem);
    assert_int_not_equal(third.id, first.id);
    rig_close(rig);
}

static void ignore_answers_with_the_one_that_is_there(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    AddedItem first = add_unique(rig, CONFLICT_IGNORE);
    AddedItem second = add_unique(rig, CONFLICT_IGNORE);
    assert_true(second.existed);
    assert_int_equal(second.id, first.id);
    assert_int_equal(rig->count, 1);
    rig_close(rig);
}

static void replace_cancels_the_one_that_waits(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    AddedItem first = add_unique(rig, CONFLICT_REPLACE);
    AddedItem second = add_unique(rig, CONFLICT_REPLACE);
    assert_null(second.problem);
    assert_int_equal(rig_state(rig, first.id), JOB_CANCELLED);
    assert_int_equal(rig_state(rig, second.id), JOB_READY);
    assert_true(
        slice_starts(rig_find(rig, first.id)->reason, SLICE_LITERAL("replaced by job ")));
    rig_slots(rig, 1);
    assert_int_equal(rig_state(rig, second.id), JOB_RUNNING);
    assert_string_equal(add_unique(rig, CONFLICT_REPLACE).problem, "unique_conflict");
    rig_close(rig);
}

static void a_time_holds_beyond_the_end(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = unique_job(CONFLICT_IGNORE, 5000);
    const Effect *reply = send_jobs(rig, &job, 1);
    JobId first = reply->added_items[0].id;
    rig_exit(rig, first, 0);
    reply = send_jobs(rig, &job, 1);
    assert_int_equal(reply->added_items[0].id, first);
    rig_wait(rig, 5000);
    reply = send_jobs(rig, &job, 1);
    assert_int_not_equal(reply->added_items[0].id, first);
    rig_close(rig);
}

static void each_job_of_a_request_is_decided_by_itself(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job jobs[3] = { unique_job(CONFLICT_IGNORE, 0), rig_job(),
                    unique_job(CONFLICT_IGNORE, 0) };
    const Effect *reply = send_jobs(rig, jobs, 3);
    assert_int_equal(reply->count, 3);
    assert_false(reply->added_items[0].existed);
    assert_false(reply->added_items[1].existed);
    assert_true(reply->added_items[2].existed);
    assert_int_equal(reply->added_items[2].id, reply->added_items[0].id);
    assert_int_equal(rig->count, 2);
    rig_close(rig);
}

static void two_requests_at_once_make_one_job(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = unique_job(CONFLICT_IGNORE, 0);
    Event events[2] = { { .kind = EVENT_ADD,
                          .tenant = job.tenant,
                          .jobs = &job,
                          .count = 1,
                          .request = 901 },
                        { .kind = EVENT_ADD,
                          .tenant = job.tenant,
                          .jobs = &job,
                          .count = 1,
                          .request = 902 } };
    rig_step(rig, events, 2);
    assert_int_equal(rig->count, 1);
    assert_int_equal(rig_count(rig, EFFECT_REPLY, 0), 2);
    assert_true(rig_last(rig, EFFECT_REPLY)->added_items[0].existed);
    rig_close(rig);
}

static void an_idempotency_key_gives_the_same_answer_again(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    AddedItem first = add_unique(rig, CONFLICT_REJECT);
    Job jobs[2] = { unique_job(CONFLICT_IGNORE, 0), rig_job() };
    Event event = { .kind = EVENT_ADD,
                    .tenant = jobs[0].tenant,
                    .jobs = jobs,
                    .count = 2,
                    .key = SLICE_LITERAL("i"),
                    .key_hash = SLICE_LITERAL("h") };
    assert_int_equal(rig_send(rig, event), ERR_OK);
    assert_true(rig_last(rig, EFFECT_REPLY)->added_items[0].existed);
    JobId other = rig_last(rig, EFFECT_REPLY)->added_items[1].id;
    rig_exit(rig, first.id, 0);
    assert_int_equal(rig_send(rig, event), ERR_OK);
    const Effect *reply = rig_last(rig, EFFECT_REPLY);
    assert_true(reply->replayed);
    assert_true(reply->added_items[0].existed);
    assert_int_equal(reply->added_items[0].id, first.id);
    assert_int_equal(reply->added_items[1].id, other);
    assert_int_equal(rig->count, 2);
    rig_close(rig);
}

static void a_refusal_leaves_the_idempotency_key_free(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    AddedItem first = add_unique(rig, CONFLICT_REJECT);
    Job job = unique_job(CONFLICT_REJECT, 0);
    Event event = { .kind = EVENT_ADD,
                    .tenant = job.tenant,
                    .jobs = &job,
                    .count = 1,
                    .key = SLICE_LITERAL("i"),
                    .key_hash = SLICE_LITERAL("h") };
    assert_int_not_equal(rig_send(rig, event), ERR_OK);
    rig_exit(rig, first.id, 0);
    assert_int_equal(rig_send(rig, event), ERR_OK);
    assert_false(rig_last(rig, EFFECT_REPLY)->replayed);
    assert_int_equal(rig->count, 2);
    rig_close(rig);
}

static void a_store_that_fails_is_said(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig->store_fails = true;
    Job job = unique_job(CONFLICT_REJECT, 0);
    assert_int_equal(send_jobs(rig, &job, 1)->err, ERR_UNAVAILABLE);
    assert_int_equal(rig->count, 0);
    rig->store_fails = false;
    assert_int_equal(send_jobs(rig, &job, 1)->err, ERR_OK);
    rig_close(rig);
}

/* S3.48 */
static void jobs_of_a_highlander_merge_while_one_waits(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Handler handler = { .lang = LANG_SH,
                        .body = SLICE_LITERAL("true"),
                        .highlander = true };
    assert_int_equal(rig_define(rig, "one", &handler), 1);
    rig_slots(rig, 0);
    Job job = rig_typed_job("one");
    AddedItem first = send_jobs(rig, &job, 1)->added_items[0];
    AddedItem second = send_jobs(rig, &job, 1)->added_items[0];
    assert_true(second.existed);
    assert_int_equal(second.id, first.id);
    rig_slots(rig, 1);
    assert_int_equal(rig_state(rig, first.id), JOB_RUNNING);
    AddedItem third = send_jobs(rig, &job, 1)->added_items[0];
    assert_false(third.existed);
    Event lines = { .kind = EVENT_ADD_LINES,
                    .tenant = job.tenant,
                    .jobs = &job,
                    .count = 3,
                    .body = SLICE_LITERAL("a\nb\nc\n") };
    assert_int_equal(rig_send(rig, lines), ERR_OK);
    const Effect *reply = rig_last(rig, EFFECT_REPLY);
    assert_int_equal(reply->count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(reply->added_items[i].id, third.id);
    assert_int_equal(rig->count, 2);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_one_is_refused_until_the_first_is_over),
        cmocka_unit_test(ignore_answers_with_the_one_that_is_there),
        cmocka_unit_test(replace_cancels_the_one_that_waits),
        cmocka_unit_test(a_time_holds_beyond_the_end),
        cmocka_unit_test(each_job_of_a_request_is_decided_by_itself),
        cmocka_unit_test(two_requests_at_once_make_one_job),
        cmocka_unit_test(an_idempotency_key_gives_the_same_answer_again),
        cmocka_unit_test(a_refusal_leaves_the_idempotency_key_free),
        cmocka_unit_test(a_store_that_fails_is_said),
        cmocka_unit_test(jobs_of_a_highlander_merge_while_one_waits),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_done(&text);
    return failed;
}
