/* SPDX-License-Identifier: Apache-2.0 */
/* drain_test.c - a node that starts nothing more, and those who want it so. */
#include "core/node/drain.h"

#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SELF "rig-0001"

static Err define(Rig *rig, const char *sysid, Slice value)
{
    return rig_send(rig, (Event){ .kind = EVENT_DEFINE,
                                  .table = SLICE_LITERAL(DRAIN_TABLE),
                                  .key = slice_text(sysid),
                                  .value = value });
}

static Err drain(Rig *rig, const char *sysid)
{
    Buf value = { 0 };
    drain_pack(&value, &(NodeDrain){ 7, SLICE_LITERAL("new disk") });
    Err err = define(rig, sysid, buf_slice(&value));
    buf_done(&value);
    return err;
}

static Err resume(Rig *rig, const char *sysid)
{
    return define(rig, sysid, (Slice){ NULL, 0 });
}

static bool draining(const Rig *rig)
{
    return node_facts(rig->node).draining;
}

static void what_is_said_of_it_is_packed(void **state)
{
    (void)state;
    Buf value = { 0 };
    NodeDrain out;
    drain_pack(&value, &(NodeDrain){ 1234, SLICE_LITERAL("why") });
    assert_int_equal(drain_unpack(buf_slice(&value), &out), ERR_OK);
    assert_int_equal(out.since_ms, 1234);
    assert_true(slice_is(out.reason, "why"));
    assert_int_equal(drain_unpack(slice_of(value.data, value.bytes - 1), &out),
                     ERR_CORRUPT);
    buf_done(&value);
}

static void a_drained_node_takes_jobs_and_starts_none_until_it_is_resumed(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId running = rig_add_default(rig);
    assert_int_equal(drain(rig, "another"), ERR_OK);
    assert_false(draining(rig));
    assert_int_equal(drain(rig, SELF), ERR_OK);
    assert_true(draining(rig));
    JobId waiting = rig_add_default(rig); /* accepted all the same */
    rig_exit(rig, running, 0);
    rig_wait(rig, 5000);
    assert_int_equal(rig_state(rig, running), JOB_DONE);
    assert_int_equal(rig_state(rig, waiting), JOB_READY);
    assert_int_equal(resume(rig, "another"), ERR_OK);
    assert_true(draining(rig));
    assert_int_equal(resume(rig, SELF), ERR_OK);
    assert_false(draining(rig));
    assert_int_equal(rig_state(rig, waiting), JOB_RUNNING);
    rig_close(rig);
}

static void it_is_so_whoever_said_it_and_after_a_restart(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    assert_int_equal(drain(rig, SELF), ERR_OK);
    const RigDefinition *kept = rig_definition(rig, DRAIN_TABLE, SELF);
    assert_non_null(kept);
    Slice packed = kept->value;
    rig_reopen(rig, true);
    assert_true(draining(rig));
    Event change = { .kind = EVENT_CHANGE,
                     .table = SLICE_LITERAL(DRAIN_TABLE),
                     .key = SLICE_LITERAL(SELF) };
    rig_step(rig, &change, 1); /* another node has resumed it, and drains it again */
    assert_false(draining(rig));
    change.value = packed;
    rig_step(rig, &change, 1);
    assert_true(draining(rig));
    rig_close(rig);
}

static void a_daemon_that_leaves_still_takes_jobs(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Event leave = { .kind = EVENT_DRAIN, .flag = true };
    rig_step(rig, &leave, 1);
    JobId id = rig_add_default(rig);
    assert_int_equal(rig_state(rig, id), JOB_READY);
    Event lost = { .kind = EVENT_DRAIN };
    rig_step(rig, &lost, 1);
    Job job = rig_job();
    Event add = { .kind = EVENT_ADD, .jobs = &job, .count = 1 };
    assert_int_equal(rig_send(rig, add), ERR_UNAVAILABLE);
    Event back = { .kind = EVENT_RESUME };
    rig_step(rig, &back, 1);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

static void workers_leave_a_drained_node_with_nothing_and_without_an_error(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Event claim = { .kind = EVENT_CLAIM,
                    .tenant = SLICE_LITERAL("default"),
                    .count = 1,
                    .claim = { .wait_ms = MS_PER_HOUR, .lease_ms = 5000 } };
    assert_int_equal(rig_send(rig, claim), ERR_BUSY);
    assert_int_equal(drain(rig, SELF), ERR_OK);
    rig_forget(rig);
    rig_wait(rig, 10);
    assert_int_equal(rig_send(rig, claim), ERR_BUSY); /* no hot loop, either */
    rig_wait(rig, 1500);
    const Effect *reply = rig_last(rig, EFFECT_REPLY);
    assert_int_equal(reply->err, ERR_OK);
    assert_int_equal(reply->count, 0);
    rig_close(rig);
}

static void what_nobody_can_read_is_refused(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    assert_int_equal(define(rig, SELF, SLICE_LITERAL("\xff")), ERR_INVALID);
    assert_false(draining(rig));
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_of_it_is_packed),
        cmocka_unit_test(a_drained_node_takes_jobs_and_starts_none_until_it_is_resumed),
        cmocka_unit_test(it_is_so_whoever_said_it_and_after_a_restart),
        cmocka_unit_test(a_daemon_that_leaves_still_takes_jobs),
        cmocka_unit_test(workers_leave_a_drained_node_with_nothing_and_without_an_error),
        cmocka_unit_test(what_nobody_can_read_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
