/* SPDX-License-Identifier: Apache-2.0 */
/* after_test.c - stories of jobs that wait for other jobs. */
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static Buf list;

static JobId add_after(Rig *rig, AfterOn on, JobId first, JobId second)
{
    Job job = rig_job();
    buf_clear(&list);
    after_add(&list, (AfterItem){ on, first });
    if (second)
        after_add(&list, (AfterItem){ on, second });
    job.after = buf_slice(&list);
    return rig_add(rig, &job);
}

static void a_child_runs_when_its_parent_is_done(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId parent = rig_add_default(rig);
    JobId child = add_after(rig, AFTER_OK, parent, 0);
    assert_int_equal(rig_state(rig, child), JOB_BLOCKED);
    assert_true(slice_starts(rig_find(rig, child)->reason, SLICE_LITERAL("waits for")));
    rig_exit(rig, parent, 0);
    assert_int_equal(rig_state(rig, child), JOB_RUNNING);
    assert_false(rig_find(rig, child)->flags & JOB_WAITS);
    rig_close(rig);
}

static void a_condition_that_cannot_be_met_cancels(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId parent = rig_add_default(rig);
    JobId child = add_after(rig, AFTER_OK, parent, 0);
    JobId grandchild = add_after(rig, AFTER_OK, child, 0);
    JobId on_fail = add_after(rig, AFTER_FAIL, parent, 0);
    JobId on_any = add_after(rig, AFTER_ANY, child, 0);
    rig_exit(rig, parent, 65);
    assert_int_equal(rig_state(rig, parent), JOB_FAILED);
    assert_int_equal(rig_state(rig, child), JOB_CANCELLED);
    assert_int_equal(rig_state(rig, grandchild), JOB_CANCELLED);
    assert_int_equal(rig_state(rig, on_fail), JOB_RUNNING);
    assert_int_equal(rig_state(rig, on_any), JOB_RUNNING);
    assert_int_equal(rig->wait_count, 2); /* kept for a retry of what broke them */
    rig_close(rig);
}

static void all_parents_must_have_ended(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId one = rig_add_default(rig);
    JobId two = rig_add_default(rig);
    JobId child = add_after(rig, AFTER_OK, one, two);
    rig_exit(rig, two, 0);
    assert_int_equal(rig_state(rig, child), JOB_BLOCKED);
    assert_int_equal(rig->wait_count, 1);
    rig_exit(rig, one, 0);
    assert_int_equal(rig_state(rig, child), JOB_RUNNING);
    rig_close(rig);
}

static void a_parent_that_is_over_or_gone_is_seen_too(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId done = rig_add_default(rig);
    rig_exit(rig, done, 0);
    JobId child = add_after(rig, AFTER_OK, done, 0);
    assert_int_equal(rig_state(rig, child), JOB_RUNNING);
    assert_int_equal(rig_act(rig, done, ACT_REMOVE), ERR_OK);
    JobId late = add_after(rig, AFTER_OK, done, 0);
    assert_int_equal(rig_state(rig, late), JOB_CANCELLED);
    JobId any = add_after(rig, AFTER_ANY, done, 0);
    assert_int_equal(rig_state(rig, any), JOB_RUNNING);
    rig_close(rig);
}

static void a_parent_that_is_removed_was_cancelled(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 1);
    rig_add_default(rig);
    JobId waiting = rig_add_default(rig);
    JobId child = add_after(rig, AFTER_OK, waiting, 0);
    JobId any = add_after(rig, AFTER_ANY, waiting, 0);
    assert_int_equal(rig_act(rig, waiting, ACT_REMOVE), ERR_OK);
    assert_int_equal(rig_state(rig, child), JOB_CANCELLED);
    assert_int_equal(rig_state(rig, any), JOB_READY);
    rig_close(rig);
}

static void a_held_child_stays_held_and_runs_when_released(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId parent = rig_add_default(rig);
    JobId child = add_after(rig, AFTER_OK, parent, 0);
    assert_int_equal(rig_act(rig, child, ACT_HOLD), ERR_OK);
    assert_int_equal(rig_act(rig, child, ACT_RELEASE), ERR_OK);
    assert_int_equal(rig_state(rig, child), JOB_BLOCKED);
    assert_int_equal(rig_act(rig, child, ACT_HOLD), ERR_OK);
    rig_exit(rig, parent, 0);
    assert_int_equal(rig_state(rig, child), JOB_HELD);
    assert_int_equal(rig_act(rig, child, ACT_RELEASE), ERR_OK);
    assert_int_equal(rig_state(rig, child), JOB_RUNNING);
    rig_close(rig);
}

static void a_restart_looks_again(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId parent = rig_add_default(rig);
    JobId child = add_after(rig, AFTER_OK, parent, 0);
    rig->hold_answers = true;
    rig_exit(rig, parent, 0);
    assert_int_equal(rig_state(rig, child), JOB_BLOCKED);
    rig->hold_answers = false;
    rig_reopen(rig, false);
    rig_wait(rig, 1);
    assert_int_equal(rig_state(rig, child), JOB_RUNNING);
    rig_close(rig);
}

static void a_store_that_fails_is_asked_again(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId parent = rig_add_default(rig);
    JobId child = add_after(rig, AFTER_OK, parent, 0);
    rig->store_fails = true;
    rig_exit(rig, parent, 0);
    assert_int_equal(rig_state(rig, child), JOB_BLOCKED);
    rig->store_fails = false;
    rig_wait(rig, 2000);
    assert_int_equal(rig_state(rig, child), JOB_RUNNING);
    rig_close(rig);
}

static void a_retried_job_waits_for_its_parents_again(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId parent = rig_add_default(rig);
    JobId child = add_after(rig, AFTER_OK, parent, 0);
    rig_exit(rig, parent, 65);
    assert_int_equal(rig_state(rig, child), JOB_CANCELLED);
    assert_int_equal(rig_act(rig, child, ACT_RETRY), ERR_OK);
    rig_wait(rig, 1000);
    assert_int_equal(rig_state(rig, child), JOB_BLOCKED); /* someone may retry that one */
    assert_int_equal(rig_act(rig, parent, ACT_RETRY), ERR_OK);
    rig_wait(rig, 1);
    assert_int_equal(rig_state(rig, child), JOB_BLOCKED);
    rig_exit(rig, parent, 0);
    assert_int_equal(rig_state(rig, child), JOB_RUNNING);
    rig_exit(rig, child, 65);
    assert_int_equal(rig_act(rig, child, ACT_RETRY), ERR_OK);
    assert_int_equal(rig_state(rig, child), JOB_RUNNING); /* its parent is done */
    rig_close(rig);
}

static void a_retry_can_set_the_conditions_aside(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId parent = rig_add_default(rig);
    JobId child = add_after(rig, AFTER_OK, parent, 0);
    rig_exit(rig, parent, 65);
    Event alone = { .kind = EVENT_ACT, .id = child, .action = ACT_RETRY };
    alone.patch.fields = FIELD_ALONE;
    assert_int_equal(rig_send(rig, alone), ERR_OK);
    assert_int_equal(rig_state(rig, child), JOB_RUNNING);
    assert_int_equal(rig->wait_count, 0);
    JobId second = rig_add_default(rig);
    JobId waiting = add_after(rig, AFTER_OK, second, 0);
    assert_int_equal(rig_act(rig, waiting, ACT_RETRY), ERR_CONFLICT);
    alone.id = waiting;
    assert_int_equal(rig_send(rig, alone), ERR_OK);
    assert_int_equal(rig_state(rig, waiting), JOB_READY);
    rig_close(rig);
}

/* Retrying the first is enough, and each runs behind the one that it waits for. */
static void what_fell_with_a_job_comes_back_with_it(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId a = rig_add_default(rig);
    JobId b = add_after(rig, AFTER_OK, a, 0);
    JobId c = add_after(rig, AFTER_OK, b, 0);
    JobId mended = add_after(rig, AFTER_OK, b, 0);
    rig_act(rig, mended, ACT_CANCEL); /* by a person: it stays so */
    rig_exit(rig, a, 65);
    assert_int_equal(rig_state(rig, c), JOB_CANCELLED);
    assert_int_equal(rig_act(rig, a, ACT_RETRY), ERR_OK);
    rig_wait(rig, 1);
    assert_int_equal(rig_state(rig, b), JOB_BLOCKED);
    assert_int_equal(rig_state(rig, c), JOB_BLOCKED);
    rig_exit(rig, a, 0);
    assert_int_equal(rig_state(rig, b), JOB_RUNNING);
    assert_int_equal(rig_state(rig, c), JOB_BLOCKED);
    rig_exit(rig, b, 0);
    assert_int_equal(rig_state(rig, c), JOB_RUNNING);
    assert_int_equal(rig_state(rig, mended), JOB_CANCELLED);
    rig_close(rig);
}

static void what_comes_back_falls_again_if_the_retry_fails(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId a = rig_add_default(rig);
    JobId b = add_after(rig, AFTER_OK, a, 0);
    JobId c = add_after(rig, AFTER_OK, b, 0);
    for (int i = 0; i < 3; i++) {
        rig_exit(rig, a, 65);
        rig_wait(rig, 1);
        assert_int_equal(rig_state(rig, b), JOB_CANCELLED);
        assert_int_equal(rig_state(rig, c), JOB_CANCELLED);
        assert_int_equal(rig_act(rig, a, ACT_RETRY), ERR_OK);
        rig_wait(rig, 1);
        assert_int_equal(rig_state(rig, c), JOB_BLOCKED);
    }
    rig_close(rig);
}

/* As an operation does it: the newest first. */
static void a_chain_retried_from_its_end_keeps_its_order(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId a = rig_add_default(rig);
    JobId b = add_after(rig, AFTER_OK, a, 0);
    JobId c = add_after(rig, AFTER_OK, b, 0);
    rig_exit(rig, a, 65);
    assert_int_equal(rig_act(rig, c, ACT_RETRY), ERR_OK);
    assert_int_equal(rig_act(rig, b, ACT_RETRY), ERR_OK);
    assert_int_equal(rig_act(rig, a, ACT_RETRY), ERR_OK);
    rig_wait(rig, 1);
    assert_int_equal(rig_state(rig, a), JOB_RUNNING);
    assert_int_equal(rig_state(rig, b), JOB_BLOCKED);
    assert_int_equal(rig_state(rig, c), JOB_BLOCKED);
    rig_exit(rig, a, 0);
    rig_exit(rig, b, 0);
    assert_int_equal(rig_state(rig, c), JOB_RUNNING);
    rig_close(rig);
}

static void a_handler_frees_no_one_who_waits_for_a_job(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId parent = rig_add_default(rig);
    Job job = rig_typed_job("mail");
    buf_clear(&list);
    after_add(&list, (AfterItem){ AFTER_OK, parent });
    job.after = buf_slice(&list);
    JobId child = rig_add(rig, &job);
    Handler handler = { .lang = LANG_SH, .body = SLICE_LITERAL("true") };
    assert_int_equal(rig_define(rig, "mail", &handler), 1);
    assert_int_equal(rig_state(rig, child), JOB_BLOCKED);
    assert_int_equal(rig_define(rig, "mail", NULL), 1);
    rig_exit(rig, parent, 0);
    assert_int_equal(rig_state(rig, child), JOB_BLOCKED);
    assert_true(slice_is(rig_find(rig, child)->reason, "no_handler"));
    assert_int_equal(rig_define(rig, "mail", &handler), 2);
    assert_int_equal(rig_state(rig, child), JOB_RUNNING);
    rig_close(rig);
}

static void a_time_set_while_it_waits_counts_when_it_is_free(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId parent = rig_add_default(rig);
    JobId child = add_after(rig, AFTER_OK, parent, 0);
    Event patch = { .kind = EVENT_ACT, .id = child, .action = ACT_PATCH };
    patch.patch.fields = FIELD_RUN_AT;
    patch.patch.run_at_ms = rig->now.wall_ms + 5000;
    assert_int_equal(rig_send(rig, patch), ERR_OK);
    rig_wait(rig, 2000);
    rig_wait(rig, 4000);
    assert_int_equal(rig_state(rig, child), JOB_BLOCKED);
    rig_exit(rig, parent, 0);
    assert_int_equal(rig_state(rig, child), JOB_RUNNING);
    rig_close(rig);
}

static void who_uses_no_after_is_not_asked_about(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    uint64_t asked = rig->after_asked;
    for (int i = 0; i < 5; i++)
        rig_exit(rig, rig_add_default(rig), 0);
    assert_int_equal(rig->after_asked, asked);
    rig_close(rig);
}

static void many_children_come_in_steps(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId parent = rig_add_default(rig);
    for (int i = 0; i < 1200; i++)
        add_after(rig, AFTER_ANY, parent, 0);
    uint64_t asked = rig->after_asked;
    rig_exit(rig, parent, 0);
    assert_int_equal(rig->wait_count, 0);
    assert_int_equal(rig->after_asked, asked + 3);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_runs_when_its_parent_is_done),
        cmocka_unit_test(a_condition_that_cannot_be_met_cancels),
        cmocka_unit_test(all_parents_must_have_ended),
        cmocka_unit_test(a_parent_that_is_over_or_gone_is_seen_too),
        cmocka_unit_test(a_parent_that_is_removed_was_cancelled),
        cmocka_unit_test(a_held_child_stays_held_and_runs_when_released),
        cmocka_unit_test(a_restart_looks_again),
        cmocka_unit_test(a_store_that_fails_is_asked_again),
        cmocka_unit_test(a_retried_job_waits_for_its_parents_again),
        cmocka_unit_test(a_retry_can_set_the_conditions_aside),
        cmocka_unit_test(what_fell_with_a_job_comes_back_with_it),
        cmocka_unit_test(what_comes_back_falls_again_if_the_retry_fails),
        cmocka_unit_test(a_chain_retried_from_its_end_keeps_its_order),
        cmocka_unit_test(a_handler_frees_no_one_who_waits_for_a_job),
        cmocka_unit_test(a_time_set_while_it_waits_counts_when_it_is_free),
        cmocka_unit_test(who_uses_no_after_is_not_asked_about),
        cmocka_unit_test(many_children_come_in_steps),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_done(&list);
    return failed;
}
