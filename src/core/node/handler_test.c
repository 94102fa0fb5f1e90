/* SPDX-License-Identifier: Apache-2.0 */
/* handler_test.c - types and their handlers: jobs that wait for one, versions, what
 * follows a job's end. */
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const Handler plain = { .lang = LANG_SH, .body = { "true", 4 } };

static JobId add(Rig *rig, const char *type)
{
    Job job = rig_typed_job(type);
    return rig_add(rig, &job);
}

/* The only job of this type; NULL: none. */
static const Job *of_type(const Rig *rig, const char *type)
{
    const Job *found = NULL;
    for (size_t i = 0; i < rig->count; i++) {
        if (!slice_is(rig->jobs[i].type, type))
            continue;
        assert_null(found);
        found = &rig->jobs[i];
    }
    return found;
}

static void end_with(Rig *rig, JobId id, int32_t exit_status, const char *result)
{
    Ending ending = { .kind = END_EXITED,
                      .exit_status = exit_status,
                      .progress = -1,
                      .result = slice_text(result) };
    rig_end(rig, id, &ending);
}

/* S2.83, S2.80 */
static void a_job_without_a_handler_waits_for_one(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = add(rig, "resize");
    JobId other = add(rig, "mail");
    rig_wait(rig, MS_PER_HOUR);
    assert_int_equal(rig_state(rig, id), JOB_BLOCKED);
    assert_true(slice_is(rig_find(rig, id)->reason, "no_handler"));
    assert_int_equal(rig_find(rig, id)->attempt, 0); /* nothing is charged */
    assert_int_equal(rig_define(rig, "resize", &plain), 1);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    assert_int_equal(rig_find(rig, id)->reason.bytes, 0);
    assert_int_equal(rig_state(rig, other), JOB_BLOCKED);
    end_with(rig, id, 0, "");
    assert_int_equal(rig_state(rig, id), JOB_DONE);
    assert_int_equal(rig_state(rig, add(rig, "resize")), JOB_RUNNING);
    rig_close(rig);
}

static void the_handler_of_another_tenant_is_none(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_typed_job("resize");
    job.tenant = SLICE_LITERAL("other");
    JobId before = rig_add(rig, &job);
    rig_define(rig, "resize", &plain);
    JobId after = rig_add(rig, &job);
    assert_int_equal(rig_state(rig, before), JOB_BLOCKED);
    assert_int_equal(rig_state(rig, after), JOB_BLOCKED);
    rig_close(rig);
}

/* More than one step frees, each in its order. */
static void many_jobs_are_freed_in_steps(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    for (int i = 0; i < 1200; i++)
        add(rig, "resize");
    rig_define(rig, "resize", &plain);
    size_t counts[JOB_STATES] = { 0 };
    for (size_t i = 0; i < rig->count; i++)
        counts[rig->jobs[i].state]++;
    assert_int_equal(counts[JOB_RUNNING], 2);
    assert_int_equal(counts[JOB_READY], 1198);
    assert_int_equal(rig->jobs[0].state, JOB_RUNNING);
    assert_int_equal(rig->jobs[1].state, JOB_RUNNING);
    rig_close(rig);
}

static void a_deferred_job_is_freed_until_its_time(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_typed_job("resize");
    job.run_at_ms = rig->now.wall_ms + 60000;
    JobId id = rig_add(rig, &job);
    assert_int_equal(rig_state(rig, id), JOB_BLOCKED);
    rig_define(rig, "resize", &plain);
    assert_int_equal(rig_state(rig, id), JOB_DEFERRED);
    rig_wait(rig, 60000);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

/* S2.83: until they time out. */
static void a_job_that_never_gets_a_handler_is_rejected(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId usual = add(rig, "resize");
    Job job = rig_typed_job("resize");
    job.retry_window_ms = 5000;
    JobId brief = rig_add(rig, &job);
    job.retry_window_ms = -1;
    JobId patient = rig_add(rig, &job);
    rig_wait(rig, 4999);
    assert_int_equal(rig_state(rig, brief), JOB_BLOCKED);
    rig_wait(rig, 1);
    assert_int_equal(rig_state(rig, brief), JOB_REJECTED);
    assert_true(slice_is(rig_find(rig, brief)->reason, "no_handler"));
    assert_int_equal(rig_find(rig, brief)->attempt, 0);
    assert_int_equal(rig_state(rig, usual), JOB_BLOCKED);
    rig_wait(rig, rig->settings.retry_window_ms);
    assert_int_equal(rig_state(rig, usual), JOB_REJECTED);
    rig_wait(rig, MS_PER_DAY);
    assert_int_equal(rig_state(rig, patient), JOB_BLOCKED);
    /* An operator's retry begins a new window. */
    assert_int_equal(rig_act(rig, usual, ACT_RETRY), ERR_OK);
    assert_int_equal(rig_state(rig, usual), JOB_BLOCKED);
    rig_define(rig, "resize", &plain);
    assert_int_equal(rig_state(rig, usual), JOB_RUNNING);
    assert_int_equal(rig_state(rig, patient), JOB_RUNNING);
    assert_int_equal(rig_state(rig, brief), JOB_REJECTED);
    rig_close(rig);
}

static void a_new_time_for_a_blocked_job_moves_its_window(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = add(rig, "resize");
    Event patch = { .kind = EVENT_ACT, .id = id, .action = ACT_PATCH };
    patch.patch.fields = FIELD_RUN_AT;
    patch.patch.run_at_ms = rig->now.wall_ms + 10000;
    assert_int_equal(rig_send(rig, patch), ERR_OK);
    rig_wait(rig, 10000); /* its time has come, its window is not over */
    assert_int_equal(rig_state(rig, id), JOB_BLOCKED);
    rig_wait(rig, rig->settings.retry_window_ms - 1);
    assert_int_equal(rig_state(rig, id), JOB_BLOCKED);
    rig_wait(rig, 1);
    assert_int_equal(rig_state(rig, id), JOB_REJECTED);
    rig_close(rig);
}

static void the_first_handler_gives_a_waiting_job_its_defaults(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    JobId open = add(rig, "resize");
    Job job = rig_typed_job("resize");
    job.state = JOB_HELD;
    JobId held = rig_add(rig, &job);
    JobId patched = add(rig, "resize");
    Event patch = { .kind = EVENT_ACT, .id = patched, .action = ACT_PATCH };
    patch.patch.fields = FIELD_QUEUE | FIELD_PRIORITY;
    patch.patch.queue = SLICE_LITERAL("mine");
    patch.patch.priority = 1;
    assert_int_equal(rig_send(rig, patch), ERR_OK);
    Handler handler = plain;
    handler.queue = SLICE_LITERAL("pictures");
    handler.has_priority = true;
    handler.priority = 8;
    handler.has_max_retries = true;
    handler.max_retries = 2;
    handler.then = SLICE_LITERAL("publish");
    rig_define(rig, "resize", &handler);
    assert_int_equal(rig_act(rig, held, ACT_RELEASE), ERR_OK);
    const JobId ids[] = { open, held, patched };
    for (size_t i = 0; i < 3; i++) {
        const Job *found = rig_find(rig, ids[i]);
        assert_int_equal(found->state, JOB_READY);
        assert_true(slice_is(found->queue, i == 2 ? "mine" : "pictures"));
        assert_true(found->priority == (i == 2 ? 1 : 8));
        assert_int_equal(found->max_retries, 2);
        assert_true(slice_is(found->then, "publish"));
        assert_int_equal(found->flags, 0);
    }
    rig_slots(rig, 9);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(rig_state(rig, ids[i]), JOB_RUNNING);
    rig_close(rig);
}

/* Enabling and deleting: jobs that run go on, those that wait do not begin. */
static void a_switched_off_handler_keeps_its_jobs_waiting(void **state)
{
    (void)state;
    for (int deleted = 0; deleted < 2; deleted++) {
        Rig *rig = rig_open(NULL);
        rig_slots(rig, 1);
        rig_define(rig, "resize", &plain);
        JobId running = add(rig, "resize");
        JobId ready = add(rig, "resize");
        if (deleted)
            assert_int_equal(rig_define(rig, "resize", NULL), 1);
        else
            rig_switch(rig, "resize", false);
        JobId late = add(rig, "resize");
        assert_int_equal(rig_state(rig, late), JOB_BLOCKED);
        assert_int_equal(rig_state(rig, running), JOB_RUNNING);
        end_with(rig, running, 0, "");
        assert_int_equal(rig_state(rig, running), JOB_DONE);
        assert_int_equal(rig_state(rig, ready), JOB_BLOCKED);
        if (deleted)
            assert_int_equal(rig_define(rig, "resize", &plain), 2);
        else
            rig_switch(rig, "resize", true);
        assert_int_equal(rig_state(rig, ready), JOB_RUNNING);
        assert_int_equal(rig_state(rig, late), JOB_READY);
        rig_close(rig);
    }
}

/* S2.94, S2.96: the newest is used; its number never comes again. */
static void versions_count_on(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Handler handler = plain;
    assert_int_equal(rig_define(rig, "resize", &handler), 1);
    assert_false(rig_last(rig, EFFECT_REPLY)->replayed);
    handler.body = SLICE_LITERAL("second");
    assert_int_equal(rig_define(rig, "resize", &handler), 2);
    assert_true(rig_last(rig, EFFECT_REPLY)->replayed);
    assert_int_equal(rig_last(rig, EFFECT_REPLY)->wait, WAIT_BATCH);
    rig_switch(rig, "resize", false); /* no version of its own */
    rig_switch(rig, "resize", true);
    const Handler *now =
        node_handler(rig->node, SLICE_LITERAL("default"), SLICE_LITERAL("resize"));
    assert_int_equal(now->version, 2);
    assert_true(slice_is(now->body, "second"));
    rig_define(rig, "resize", NULL);
    assert_null(
        node_handler(rig->node, SLICE_LITERAL("default"), SLICE_LITERAL("resize")));
    assert_int_equal(rig_define(rig, "resize", NULL), 0); /* there is none */
    assert_string_equal(rig_last(rig, EFFECT_REPLY)->problem, "handler_not_found");
    for (int round = 0; round < 2; round++) { /* also over a restart */
        assert_int_equal(rig_define(rig, "resize", &handler), 3 + round);
        assert_int_equal(rig_last(rig, EFFECT_REPLY)->replayed, round == 1);
        rig_reopen(rig, true);
        rig_step(rig, NULL, 0);
    }
    static const char *const keys[] = { "resize 1", "resize 2", "resize 3", "resize 4" };
    for (size_t i = 0; i < 4; i++) {
        const RigDefinition *kept = rig_definition(rig, HANDLER_VERSIONS, keys[i]);
        assert_non_null(kept);
        assert_int_equal(handler_unpack(kept->value, &handler), ERR_OK);
        assert_int_equal(handler.version, i + 1);
        assert_true(handler.created_ms == rig->now.wall_ms);
        assert_true(slice_is(handler.body, i ? "second" : "true"));
    }
    rig_close(rig);
}

static void what_is_not_there_cannot_be_switched(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Buf value = { 0 };
    handler_pack(&value, &(Handler){ .disabled = true });
    Event event = { .kind = EVENT_DEFINE,
                    .tenant = SLICE_LITERAL("default"),
                    .table = SLICE_LITERAL(HANDLER_TABLE),
                    .key = SLICE_LITERAL("resize"),
                    .value = buf_slice(&value),
                    .flag = true };
    assert_int_equal(rig_send(rig, event), ERR_NOT_FOUND);
    event.flag = false;
    event.value = SLICE_LITERAL("\xff\xff\xff");
    assert_int_equal(rig_send(rig, event), ERR_INVALID);
    assert_null(rig_definition(rig, HANDLER_TABLE, "resize"));
    buf_done(&value);
    rig_close(rig);
}

static void a_full_journal_takes_no_new_version(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    assert_int_equal(rig_define(rig, "resize", &plain), 1);
    Event full = { .kind = EVENT_ROOM, .flag = false };
    rig_step(rig, &full, 1);
    assert_int_equal(rig_define(rig, "resize", &plain), 0);
    assert_string_equal(rig_last(rig, EFFECT_REPLY)->problem, "journal_full");
    rig_switch(rig, "resize", false); /* small things still work */
    assert_int_equal(rig_define(rig, "resize", NULL), 1);
    rig_close(rig);
}

/* The handler is durable, the node ended before it freed the jobs: the next one does. */
static void a_restart_frees_what_waits(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = add(rig, "resize");
    rig->hold_answers = true;
    rig_define(rig, "resize", &plain);
    assert_int_equal(rig_state(rig, id), JOB_BLOCKED);
    rig->hold_answers = false;
    rig_reopen(rig, true);
    rig_step(rig, NULL, 0);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

static void a_store_that_fails_is_asked_again(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = add(rig, "resize");
    rig->store_fails = true;
    rig_define(rig, "resize", &plain);
    rig_wait(rig, 1000);
    assert_int_equal(rig_state(rig, id), JOB_BLOCKED);
    rig->store_fails = false;
    rig_wait(rig, 1000);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

/* Someone acts on the job while its handler arrives. */
static void an_action_under_way_does_not_leave_a_job_behind(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = add(rig, "resize");
    rig->hold_answers = true;
    rig_define(rig, "resize", &plain);
    Event patch = { .kind = EVENT_ACT, .id = id, .action = ACT_PATCH };
    patch.patch.fields = FIELD_PRIORITY;
    patch.patch.priority = 9;
    rig_step(rig, &patch, 1);
    rig->hold_answers = false;
    rig_answer(rig);
    assert_true(rig_find(rig, id)->priority == 9);
    rig_wait(rig, 2000);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

static void a_job_acted_on_is_not_blocked_under_the_action(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    rig_define(rig, "resize", &plain);
    JobId first = add(rig, "resize");
    JobId second = add(rig, "resize");
    rig->hold_answers = true;
    Event hold = { .kind = EVENT_ACT, .id = second, .action = ACT_HOLD };
    rig_step(rig, &hold, 1);
    rig_define(rig, "resize", NULL);
    rig_slots(rig, 2);
    assert_int_equal(rig_state(rig, first), JOB_BLOCKED);
    assert_int_equal(rig_state(rig, second), JOB_READY);
    rig->hold_answers = false;
    rig_answer(rig);
    assert_int_equal(rig_state(rig, second), JOB_HELD);
    rig_close(rig);
}

/* S2.118 */
static void then_queues_a_job_with_the_result(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Handler handler = plain;
    handler.then = SLICE_LITERAL("publish");
    rig_define(rig, "resize", &handler);
    JobId id = add(rig, "resize");
    end_with(rig, id, 1, "not yet"); /* it runs again: nothing follows */
    assert_null(of_type(rig, "publish"));
    rig_wait(rig, MS_PER_MIN);
    end_with(rig, id, 0, "the result");
    const Job *next = of_type(rig, "publish");
    assert_non_null(next);
    assert_true(slice_is(next->payload, "the result"));
    assert_true(next->parent == id);
    assert_true(slice_is(next->tenant, "default"));
    assert_int_equal(next->state, JOB_BLOCKED); /* of its own type's handler */
    rig_close(rig);
}

static void a_job_names_its_own_follower(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Handler handler = plain;
    handler.then = SLICE_LITERAL("publish");
    rig_define(rig, "resize", &handler);
    Job job = rig_typed_job("resize");
    job.then = SLICE_LITERAL("archive");
    JobId id = rig_add(rig, &job);
    end_with(rig, id, 0, "");
    assert_null(of_type(rig, "publish"));
    assert_non_null(of_type(rig, "archive"));
    Job command = rig_job();
    command.then = SLICE_LITERAL("after-command");
    end_with(rig, rig_add(rig, &command), 0, "");
    assert_non_null(of_type(rig, "after-command"));
    rig_close(rig);
}

static void on_error_queues_a_job_with_what_went_wrong(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Handler handler = plain;
    handler.on_error = SLICE_LITERAL("alarm");
    handler.has_max_retries = true;
    rig_define(rig, "resize", &handler);
    end_with(rig, add(rig, "resize"), 0, "");
    assert_null(of_type(rig, "alarm"));
    JobId id = add(rig, "resize");
    end_with(rig, id, 1, "");
    assert_int_equal(rig_state(rig, id), JOB_REJECTED);
    const Job *alarm = of_type(rig, "alarm");
    assert_non_null(alarm);
    assert_true(alarm->parent == id);
    char text[ID_TEXT_BYTES];
    Buf expected = { 0 };
    buf_printf(&expected,
               "{\"job\":{\"id\":\"%s\",\"tenant\":\"default\",\"type\":\"resize\","
               "\"queue\":\"default\",\"priority\":5,\"attempt\":1,\"retry_number\":0,"
               "\"state\":\"rejected\",\"code\":\"error\",\"exitcode\":500,"
               "\"exit_status\":1},\"error\":\"exit status 1\"}",
               id_text(id, text));
    assert_string_equal(buf_cstr(&expected), alarm->payload.data);
    buf_done(&expected);
    rig_close(rig);
}

/* The failures of an error's own job call it no more. */
static void on_error_does_not_call_itself(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Handler handler = plain;
    handler.on_error = SLICE_LITERAL("alarm");
    handler.has_max_retries = true;
    rig_define(rig, "alarm", &handler);
    JobId id = add(rig, "alarm");
    end_with(rig, id, 64, "");
    assert_int_equal(rig_state(rig, id), JOB_FAILED);
    assert_int_equal(rig->count, 1);
    rig_close(rig);
}

static void one_that_never_got_a_handler_calls_on_error(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job job = rig_typed_job("resize");
    job.on_error = SLICE_LITERAL("alarm");
    job.retry_window_ms = 1000;
    JobId id = rig_add(rig, &job);
    rig_wait(rig, 1000);
    assert_int_equal(rig_state(rig, id), JOB_REJECTED);
    assert_non_null(of_type(rig, "alarm"));
    rig_close(rig);
}

static void an_exit_map_reads_the_exit_status(void **state)
{
    (void)state;
    Handler handler = plain;
    handler.exit_map = SLICE_LITERAL("3=400\0"
                                     "4=250\0"
                                     "0=100\0");
    static const struct {
        int32_t exit_status;
        int32_t said;
        int32_t exitcode;
        JobState state;
    } table[] = {
        { 3, 0, 400, JOB_FAILED },   { 4, 0, 250, JOB_DONE },
        { 0, 0, 100, JOB_RETRYING }, { 1, 0, 500, JOB_RETRYING },
        { 3, 200, 200, JOB_DONE },   { 4, 500, 500, JOB_RETRYING },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Rig *rig = rig_open(NULL);
        rig_define(rig, "resize", &handler);
        JobId id = add(rig, "resize");
        Ending ending = { .kind = END_EXITED,
                          .exit_status = table[i].exit_status,
                          .said_code = table[i].said,
                          .progress = -1 };
        rig_end(rig, id, &ending);
        const Job *job = rig_find(rig, id);
        assert_int_equal(job->state, table[i].state);
        assert_int_equal(job->outcome.exitcode, table[i].exitcode);
        assert_int_equal(job->outcome.exit_status, table[i].exit_status);
        rig_close(rig);
    }
}

/* A running job keeps the version that it was started with, over a restart, too. */
static void keep_handler(bool reopen)
{
    Rig *rig = rig_open(NULL);
    Handler handler = plain;
    handler.exit_map = SLICE_LITERAL("3=400\0");
    handler.drop_result = true;
    rig_define(rig, "resize", &handler);
    JobId old = add(rig, "resize");
    handler.exit_map = SLICE_LITERAL("3=200\0");
    handler.drop_result = false;
    rig_define(rig, "resize", &handler);
    JobId new = add(rig, "resize");
    if (reopen)
        rig_reopen(rig, true);
    assert_int_equal(rig_find(rig, old)->version, 1);
    assert_int_equal(rig_find(rig, new)->version, 2);
    end_with(rig, old, 3, "result");
    end_with(rig, new, 3, "result");
    assert_int_equal(rig_state(rig, old), JOB_FAILED);
    assert_int_equal(rig_find(rig, old)->result_bytes, 0);
    assert_int_equal(rig_state(rig, new), JOB_DONE);
    assert_int_equal(rig_find(rig, new)->result_bytes, 6);
    rig_close(rig);
}

static void a_running_job_keeps_its_handler(void **state)
{
    (void)state;
    keep_handler(false);
    keep_handler(true);
}

/* J: lines: the children are of the parent's tenant and take their handler's defaults. */
static void children_take_their_handlers_defaults(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Handler handler = plain;
    handler.queue = SLICE_LITERAL("pictures");
    handler.has_priority = true;
    handler.priority = 7;
    rig_define(rig, "resize", &handler);
    JobId id = rig_add_default(rig);
    const Job child = { .type = SLICE_LITERAL("resize"), .payload = SLICE_LITERAL("p") };
    Ending ending = {
        .kind = END_EXITED, .progress = -1, .children = &child, .child_count = 1
    };
    rig_end(rig, id, &ending);
    const Job *job = of_type(rig, "resize");
    assert_non_null(job);
    assert_int_equal(job->state, JOB_RUNNING);
    assert_true(slice_is(job->queue, "pictures"));
    assert_true(job->priority == 7);
    assert_true(job->parent == id);
    RunningJob running;
    assert_true(node_running_find(rig->node, job->id, &running));
    assert_true(slice_is(running.tenant, "default"));
    assert_false(node_running_find(rig->node, id, &running));
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_without_a_handler_waits_for_one),
        cmocka_unit_test(the_handler_of_another_tenant_is_none),
        cmocka_unit_test(many_jobs_are_freed_in_steps),
        cmocka_unit_test(a_deferred_job_is_freed_until_its_time),
        cmocka_unit_test(a_job_that_never_gets_a_handler_is_rejected),
        cmocka_unit_test(a_new_time_for_a_blocked_job_moves_its_window),
        cmocka_unit_test(the_first_handler_gives_a_waiting_job_its_defaults),
        cmocka_unit_test(a_switched_off_handler_keeps_its_jobs_waiting),
        cmocka_unit_test(versions_count_on),
        cmocka_unit_test(what_is_not_there_cannot_be_switched),
        cmocka_unit_test(a_full_journal_takes_no_new_version),
        cmocka_unit_test(a_restart_frees_what_waits),
        cmocka_unit_test(a_store_that_fails_is_asked_again),
        cmocka_unit_test(an_action_under_way_does_not_leave_a_job_behind),
        cmocka_unit_test(a_job_acted_on_is_not_blocked_under_the_action),
        cmocka_unit_test(then_queues_a_job_with_the_result),
        cmocka_unit_test(a_job_names_its_own_follower),
        cmocka_unit_test(on_error_queues_a_job_with_what_went_wrong),
        cmocka_unit_test(on_error_does_not_call_itself),
        cmocka_unit_test(one_that_never_got_a_handler_calls_on_error),
        cmocka_unit_test(an_exit_map_reads_the_exit_status),
        cmocka_unit_test(a_running_job_keeps_its_handler),
        cmocka_unit_test(children_take_their_handlers_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
