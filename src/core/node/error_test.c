/* SPDX-License-Identifier: Apache-2.0 */
/* error_test.c - what follows a failure: the error-handler job, on_error, and that
 * neither goes round for ever; what a control file's job may return. */
#include "core/notice.h"
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const Handler plain = { .lang = LANG_SH, .body = { "true", 4 } };

static void with_handler(NodeSettings *settings)
{
    memcpy(settings->error_handler, "trouble", sizeof "trouble");
}

static void with_delete(NodeSettings *settings)
{
    with_handler(settings);
    settings->on_error = FATE_DELETE;
}

static size_t count_type(const Rig *rig, const char *type)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->count; i++)
        count += slice_is(rig->jobs[i].type, type);
    return count;
}

static const Job *last_of(const Rig *rig, const char *type)
{
    const Job *found = NULL;
    for (size_t i = 0; i < rig->count; i++)
        if (slice_is(rig->jobs[i].type, type))
            found = &rig->jobs[i];
    assert_non_null(found);
    return found;
}

static bool holds(Slice text, const char *part)
{
    return memmem(text.data, text.bytes, part, strlen(part)) != NULL;
}

static void fails(Rig *rig, JobId id)
{
    rig_exit(rig, id, 65);
}

static void a_failed_job_calls_the_error_handler_once(void **state) /* S0.17 */
{
    (void)state;
    Rig *rig = rig_open(with_handler);
    rig_define(rig, "trouble", &plain);
    JobId id = rig_add_default(rig);
    Ending ending = { .kind = END_EXITED,
                      .exit_status = 65,
                      .progress = -1,
                      .error = SLICE_LITERAL("no such book"),
                      .job_name = SLICE_LITERAL("Test Job 1"),
                      .job_payload = SLICE_LITERAL("<batch-job/>") };
    rig_end(rig, id, &ending);
    assert_int_equal(rig_state(rig, id), JOB_FAILED);
    assert_int_equal(count_type(rig, "trouble"), 1);
    const Job *told = last_of(rig, "trouble");
    assert_int_equal(told->parent, id);
    char text[ID_TEXT_BYTES];
    assert_true(holds(told->payload, id_text(id, text)));
    assert_true(holds(told->payload, "\"error\":\"no such book\""));
    assert_true(holds(told->payload, "\"payload\":\"<batch-job/>\""));
    assert_true(holds(told->payload, "\"name\":\"Test Job 1\""));
    assert_true(holds(told->payload, "\"exitcode\":465"));
    rig_close(rig);
}

/* S0.44: that someone is to be told stands in the batch of the end; a retry and an end
 * of its own is another. */
static void an_end_that_is_to_be_told_is_owed_with_it(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_job();
    job.flags |= JOB_TELLS;
    JobId id = rig_add(rig, &job);
    rig_add_default(rig);
    size_t before = rig->definition_count;
    fails(rig, id);
    assert_int_equal(rig->definition_count, before + 1);
    assert_true(slice_is(rig->definitions[before].table, NOTICE_OWED));
    assert_true(slice_is(rig->definitions[before].value, "failed"));
    assert_true(slice_starts(rig->definitions[before].key,
                             slice_text(id_text(id, (char[ID_TEXT_BYTES]){ 0 }))));
    rig_close(rig);
}

static void a_done_or_retried_job_calls_no_one(void **state)
{
    (void)state;
    Rig *rig = rig_open(with_handler);
    rig_exit(rig, rig_add_default(rig), 0);
    Job job = rig_job();
    job.max_retries = 1;
    JobId id = rig_add(rig, &job);
    rig_exit(rig, id, 1);
    assert_int_equal(count_type(rig, "trouble"), 0);
    rig_wait(rig, MS_PER_MIN);
    rig_exit(rig, id, 1);
    assert_int_equal(rig_state(rig, id), JOB_REJECTED);
    assert_int_equal(count_type(rig, "trouble"), 1);
    rig_close(rig);
}

/* Its own failure, and those of what it caused in any way. */
static void an_error_handler_is_never_called_for_its_own_doing(void **state) /* S0.17 */
{
    (void)state;
    Rig *rig = rig_open(with_handler);
    rig_define(rig, "trouble", &plain);
    rig_define(rig, "child", &plain);
    fails(rig, rig_add_default(rig));
    JobId handler = last_of(rig, "trouble")->id;
    Job child = { .type = SLICE_LITERAL("child") };
    Ending ending = { .kind = END_EXITED,
                      .exit_status = 65,
                      .progress = -1,
                      .children = &child,
                      .child_count = 1 };
    rig_end(rig, handler, &ending);
    assert_int_equal(rig_state(rig, handler), JOB_FAILED);
    JobId caused = last_of(rig, "child")->id;
    fails(rig, caused);
    assert_int_equal(rig_state(rig, caused), JOB_FAILED);
    assert_int_equal(count_type(rig, "trouble"), 1);
    /* One of its type that somebody added fails as quietly. */
    Job own = rig_typed_job("trouble");
    fails(rig, rig_add(rig, &own));
    assert_int_equal(count_type(rig, "trouble"), 2);
    rig_close(rig);
}

static void two_types_that_call_each_other_come_to_an_end(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Handler ping = plain, pong = plain;
    ping.on_error = SLICE_LITERAL("pong");
    pong.on_error = SLICE_LITERAL("ping");
    rig_define(rig, "ping", &ping);
    rig_define(rig, "pong", &pong);
    Job job = rig_typed_job("ping");
    rig_add(rig, &job);
    size_t ends = 0;
    for (size_t i = 0; i < rig->count && ends < 100; i++) {
        if (rig->jobs[i].state != JOB_RUNNING)
            continue;
        fails(rig, rig->jobs[i].id);
        ends++;
    }
    assert_int_equal(ends, 9); /* the first and eight that followed */
    assert_int_equal(count_type(rig, "ping") + count_type(rig, "pong"), 9);
    rig_close(rig);
}

static void with_chain(NodeSettings *settings)
{
    settings->chain_max = 3;
}

static Handler followed_by(const char *then)
{
    Handler handler = plain;
    handler.then = slice_text(then);
    return handler;
}

/* Runs what there is to run, at most `most` jobs, each `done`. */
static size_t run_all(Rig *rig, size_t most)
{
    size_t ran = 0;
    for (size_t i = 0; i < rig->count && ran < most; i++)
        if (rig->jobs[i].state == JOB_RUNNING) {
            rig_exit(rig, rig->jobs[i].id, 0);
            ran++;
        }
    return ran;
}

static void a_circle_of_then_comes_to_an_end(void **state)
{
    (void)state;
    Rig *rig = rig_open(with_chain);
    Handler a = followed_by("b");
    Handler b = followed_by("a");
    rig_define(rig, "a", &a);
    rig_define(rig, "b", &b);
    Job job = rig_typed_job("a");
    rig_add(rig, &job);
    assert_int_equal(run_all(rig, 100), 1 + 3);
    assert_int_equal(count_type(rig, "a") + count_type(rig, "b"), 1 + 3);
    const Job *last = last_of(rig, "b");
    assert_int_equal(last->chain, 3);
    assert_int_equal(last->state, JOB_DONE);
    assert_true(holds(last->message, "no job of type a follows: 3 `then` steps"));
    assert_true(rig_last(rig, EFFECT_CHANGED)->chain_over);
    /* What someone adds, or a job by itself, begins to count anew. */
    rig_add(rig, &job);
    assert_int_equal(run_all(rig, 100), 1 + 3);
    rig_close(rig);
}

static void without_a_bound_a_circle_goes_on(void **state)
{
    (void)state;
    Rig *rig = rig_open(with_chain);
    NodeSettings settings = *node_settings(rig->node);
    settings.chain_max = 0;
    node_settings_set(rig->node, &settings);
    Handler a = followed_by("b");
    Handler b = followed_by("a");
    rig_define(rig, "a", &a);
    rig_define(rig, "b", &b);
    Job job = rig_typed_job("a");
    rig_add(rig, &job);
    assert_int_equal(run_all(rig, 20), 20);
    rig_close(rig);
}

static void delete_leaves_nothing_but_the_handlers_job(void **state) /* S0.36 */
{
    (void)state;
    Rig *rig = rig_open(with_delete);
    rig_define(rig, "trouble", &plain);
    JobId id = rig_add_default(rig);
    JobId good = rig_add_default(rig);
    fails(rig, id);
    rig_exit(rig, good, 0);
    assert_null(rig_find(rig, id));
    assert_int_equal(rig_count(rig, EFFECT_ERASE, id), 1);
    assert_int_equal(rig_state(rig, good), JOB_DONE);
    assert_int_equal(count_type(rig, "trouble"), 1);
    rig_close(rig);
}

static Job control_job(const char *document)
{
    Job job = rig_job();
    job.flags |= JOB_CONTROL;
    job.payload = slice_text(document);
    job.document_hash = document_hash(job.payload);
    job.max_retries = 0;
    return job;
}

static void returned(Rig *rig, JobId id, const char *text, const Job *job)
{
    Ending ending = {
        .kind = END_EXITED, .progress = -1, .result = slice_text(text), .returned = job
    };
    rig_end(rig, id, &ending);
}

static void a_job_that_returns_its_own_document_runs_again(void **state) /* S0.33 */
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = control_job("<batch-job/>");
    JobId id = rig_add(rig, &job);
    returned(rig, id, " <batch-job/>\n", NULL);
    const Job *now = rig_find(rig, id);
    assert_int_equal(now->state, JOB_RUNNING);
    assert_int_equal(now->attempt, 2);
    assert_int_equal(now->retry_number, 0); /* not a retry: nothing went wrong */
    returned(rig, id, "", NULL);
    assert_int_equal(rig_state(rig, id), JOB_DONE); /* S0.34 */
    rig_close(rig);
}

static void other_jobs_may_print_what_they_like(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = control_job("<batch-job/>");
    job.flags &= ~(uint32_t)JOB_CONTROL;
    JobId id = rig_add(rig, &job);
    returned(rig, id, "<batch-job/>", NULL);
    assert_int_equal(rig_state(rig, id), JOB_DONE);
    rig_close(rig);
}

static void a_returned_document_is_a_new_job(void **state) /* S0.32 */
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = control_job("<batch-job/>");
    Job next = control_job("<batch-job><name>next</name></batch-job>");
    next.name = SLICE_LITERAL("next");
    next.priority = 77;
    next.type = SLICE_LITERAL("batch-job");
    JobId id = rig_add(rig, &job);
    returned(rig, id, "<batch-job><name>next</name></batch-job>", &next);
    assert_int_equal(rig_state(rig, id), JOB_DONE);
    const Job *added = last_of(rig, "batch-job");
    assert_int_equal(added->parent, id);
    assert_int_equal(added->priority, 77);
    assert_true(slice_is(added->name, "next"));
    assert_int_equal(added->state, JOB_RUNNING);
    rig_close(rig);
}

static void created_orders_but_no_window_counts_from_it(void **state) /* S0.49 */
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    JobId plain_one = rig_add_default(rig);
    Job job = control_job("<batch-job/>");
    job.created_ms = rig->now.wall_ms - MS_PER_DAY;
    rig_wait(rig, MS_PER_S);
    int64_t accepted_ms = rig->now.wall_ms;
    JobId old = rig_add(rig, &job);
    const Job *kept = rig_find(rig, old);
    assert_int_equal(kept->created_ms, job.created_ms);
    assert_int_equal(kept->dt_ms, job.created_ms);
    assert_int_equal(kept->run_at_ms, accepted_ms);
    assert_int_equal(kept->window_from_ms, accepted_ms);
    rig_slots(rig, 1);
    rig_wait(rig, MS_PER_S);
    assert_int_equal(rig_state(rig, old), JOB_RUNNING); /* older: it goes first */
    assert_int_equal(rig_state(rig, plain_one), JOB_READY);
    rig_close(rig);
}

static void the_document_of_a_job_stays_as_it_is(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    Job job = control_job("<batch-job/>");
    JobId id = rig_add(rig, &job);
    Event patch = { .kind = EVENT_ACT, .id = id, .action = ACT_PATCH };
    patch.patch = (Patch){ .fields = FIELD_PAYLOAD, .payload = SLICE_LITERAL("x") };
    assert_int_equal(rig_send(rig, patch), ERR_INVALID);
    patch.patch = (Patch){ .fields = FIELD_PRIORITY, .priority = 9 };
    assert_int_equal(rig_send(rig, patch), ERR_OK);
    assert_true(slice_is(rig_find(rig, id)->payload, "<batch-job/>"));
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_job_calls_the_error_handler_once),
        cmocka_unit_test(an_end_that_is_to_be_told_is_owed_with_it),
        cmocka_unit_test(a_done_or_retried_job_calls_no_one),
        cmocka_unit_test(an_error_handler_is_never_called_for_its_own_doing),
        cmocka_unit_test(two_types_that_call_each_other_come_to_an_end),
        cmocka_unit_test(a_circle_of_then_comes_to_an_end),
        cmocka_unit_test(without_a_bound_a_circle_goes_on),
        cmocka_unit_test(delete_leaves_nothing_but_the_handlers_job),
        cmocka_unit_test(a_job_that_returns_its_own_document_runs_again),
        cmocka_unit_test(other_jobs_may_print_what_they_like),
        cmocka_unit_test(a_returned_document_is_a_new_job),
        cmocka_unit_test(the_document_of_a_job_stays_as_it_is),
        cmocka_unit_test(created_orders_but_no_window_counts_from_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
