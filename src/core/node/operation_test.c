/* SPDX-License-Identifier: Apache-2.0 */
/* operation_test.c - stories of actions on everything that matches. */
#include "core/operation.h"
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static Err begin(Rig *rig, const Operation *operation)
{
    Buf value = { 0 };
    operation_pack(&value, operation);
    Event event = { .kind = EVENT_DEFINE,
                    .table = SLICE_LITERAL(OPERATION_TABLE),
                    .value = buf_slice(&value) };
    Err err = rig_send(rig, event);
    buf_done(&value);
    return err;
}

static Operation last(const Rig *rig)
{
    Operation operation = { 0 };
    JobId newest = 0;
    for (size_t i = 0; i < rig->definition_count; i++) {
        Operation read;
        if (!slice_is(rig->definitions[i].table, OPERATION_TABLE) ||
            operation_unpack(rig->definitions[i].value, &read) || read.id < newest)
            continue;
        operation = read;
        newest = read.id;
    }
    return operation;
}

static void all_that_match_are_acted_on_and_no_other(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 1);
    JobId running = rig_add_default(rig);
    JobId ready = rig_add_default(rig);
    for (int i = 0; i < 450; i++)
        rig_add_default(rig);
    Operation cancel = { .action = ACT_CANCEL, .query = SLICE_LITERAL("state:ready") };
    assert_int_equal(begin(rig, &cancel), ERR_OK);
    rig_wait(rig, 1);
    assert_int_equal(rig_state(rig, running), JOB_RUNNING);
    assert_int_equal(rig_state(rig, ready), JOB_CANCELLED);
    Operation told = last(rig);
    assert_int_equal(told.state, OPERATION_DONE);
    assert_int_equal(told.acted, 451);
    assert_int_equal(told.refused, 0);
    assert_int_equal(rig_state(rig, rig_add_default(rig)), JOB_READY); /* came later */
    rig_close(rig);
}

static void what_makes_no_sense_is_counted(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_exit(rig, rig_add_default(rig), 0);
    JobId running = rig_add_default(rig);
    Operation pause = { .action = ACT_PAUSE, .query = SLICE_LITERAL("queue:default") };
    begin(rig, &pause);
    rig_wait(rig, 1);
    assert_int_equal(rig_state(rig, running), JOB_PAUSED);
    assert_int_equal(last(rig).acted, 1);
    assert_int_equal(last(rig).refused, 1);
    rig_close(rig);
}

static void fields_can_be_set(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    JobId id = rig_add_default(rig);
    Operation set = { .action = ACT_PATCH,
                      .patch = { .fields = FIELD_PRIORITY | FIELD_QUEUE,
                                 .priority = 9,
                                 .queue = SLICE_LITERAL("slow") },
                      .query = SLICE_LITERAL("state:ready") };
    begin(rig, &set);
    rig_wait(rig, 1);
    assert_int_equal(rig_find(rig, id)->priority, 9);
    assert_true(slice_is(rig_find(rig, id)->queue, "slow"));
    rig_close(rig);
}

static void a_dry_run_does_nothing(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId id = rig_add_default(rig);
    Operation kill = { .action = ACT_KILL, .dry_run = true, .count = 1 };
    begin(rig, &kill);
    rig_wait(rig, 1);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    assert_int_equal(last(rig).state, OPERATION_DONE);
    rig_close(rig);
}

static void it_goes_on_after_a_crash_and_can_be_stopped(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    for (int i = 0; i < 450; i++)
        rig_add_default(rig);
    rig->store_fails = true;
    Operation hold = { .action = ACT_HOLD, .query = SLICE_LITERAL("state:ready") };
    begin(rig, &hold);
    assert_int_equal(last(rig).state, OPERATION_RUNNING);
    rig->store_fails = false;
    rig_reopen(rig, false);
    rig_wait(rig, 2000);
    assert_int_equal(last(rig).state, OPERATION_DONE);
    assert_int_equal(last(rig).acted, 450);
    rig->store_fails = true;
    Operation release = { .action = ACT_RELEASE, .query = SLICE_LITERAL("state:held") };
    begin(rig, &release);
    char id[ID_TEXT_BYTES];
    Event stop = { .kind = EVENT_DEFINE,
                   .table = SLICE_LITERAL(OPERATION_TABLE),
                   .key = slice_text(id_text(last(rig).id, id)) };
    assert_int_equal(rig_send(rig, stop), ERR_OK);
    rig->store_fails = false;
    rig_wait(rig, 2000);
    assert_int_equal(last(rig).state, OPERATION_STOPPED);
    assert_int_equal(last(rig).acted, 0);
    stop.key = SLICE_LITERAL("nonsense");
    assert_int_equal(rig_send(rig, stop), ERR_NOT_FOUND);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_match_are_acted_on_and_no_other),
        cmocka_unit_test(what_makes_no_sense_is_counted),
        cmocka_unit_test(fields_can_be_set),
        cmocka_unit_test(a_dry_run_does_nothing),
        cmocka_unit_test(it_goes_on_after_a_crash_and_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
