/* SPDX-License-Identifier: Apache-2.0 */
/* group_test.c - stories of groups and their completion jobs. */
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static JobId add_member(Rig *rig)
{
    Job job = rig_job();
    job.group = SLICE_LITERAL("night");
    return rig_add(rig, &job);
}

static Err then(Rig *rig, const char *type)
{
    Buf value = { 0 };
    GroupDefinition group = { .then = slice_text(type) };
    group_pack(&value, &group);
    Event event = { .kind = EVENT_DEFINE,
                    .tenant = SLICE_LITERAL("default"),
                    .table = SLICE_LITERAL(GROUP_TABLE),
                    .key = SLICE_LITERAL("night"),
                    .value = buf_slice(&value) };
    Err err = rig_send(rig, event);
    buf_done(&value);
    return err;
}

static GroupFacts facts(const Rig *rig)
{
    GroupFacts facts = { 0 };
    node_group(rig->node, SLICE_LITERAL("default"), SLICE_LITERAL("night"), &facts);
    return facts;
}

static uint64_t open_members(const Rig *rig)
{
    GroupFacts seen = facts(rig);
    return group_open(&seen.counts);
}

static size_t completions(const Rig *rig)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->count; i++)
        count += slice_is(rig->jobs[i].type, "report");
    return count;
}

static void the_last_end_adds_the_completion_job(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId one = add_member(rig);
    assert_int_equal(then(rig, "report"), ERR_OK);
    JobId two = add_member(rig);
    JobId three = add_member(rig);
    rig_exit(rig, one, 0);
    rig_exit(rig, two, 65);
    assert_int_equal(completions(rig), 0);
    assert_int_equal(facts(rig).counts.of[JOB_RUNNING], 1);
    uint64_t number = rig->number;
    rig_exit(rig, three, 0);
    assert_int_equal(completions(rig), 1);
    assert_true(rig->number > number);
    const Job *job = rig_find(rig, facts(rig).completion);
    assert_non_null(job);
    assert_true(slice_is(job->payload, "{\"group\":\"night\",\"total\":3,\"done\":2,"
                                       "\"failed\":1,\"rejected\":0,\"cancelled\":0}"));
    rig_close(rig);
}

static void it_comes_once_whatever_follows(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId one = add_member(rig);
    then(rig, "report");
    rig_exit(rig, one, 65);
    assert_int_equal(completions(rig), 1);
    assert_int_equal(rig_act(rig, one, ACT_RETRY), ERR_OK);
    assert_int_equal(open_members(rig), 1);
    rig_exit(rig, one, 0);
    rig_exit(rig, add_member(rig), 0);
    rig_reopen(rig, true);
    rig_exit(rig, add_member(rig), 0);
    assert_int_equal(completions(rig), 1);
    rig_close(rig);
}

static void a_group_that_is_over_completes_when_it_is_asked_to(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    then(rig, "report");
    assert_int_equal(completions(rig), 0); /* no members yet */
    rig_exit(rig, add_member(rig), 0);
    assert_int_equal(completions(rig), 1);
    then(rig, "report");
    assert_int_equal(completions(rig), 2); /* asked for anew */
    rig_close(rig);
}

static void cancelled_and_removed_members_count_as_ended(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 1);
    JobId one = add_member(rig);
    JobId two = add_member(rig);
    JobId three = add_member(rig);
    then(rig, "report");
    assert_int_equal(rig_act(rig, two, ACT_CANCEL), ERR_OK);
    assert_int_equal(rig_act(rig, three, ACT_REMOVE), ERR_OK);
    assert_int_equal(completions(rig), 0);
    rig_exit(rig, one, 0);
    assert_int_equal(completions(rig), 1);
    GroupFacts seen = facts(rig);
    assert_int_equal(group_total(&seen.counts), 2);
    rig_close(rig);
}

static void counts_are_there_after_a_restart(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId one = add_member(rig);
    JobId two = add_member(rig);
    then(rig, "report");
    rig_exit(rig, one, 0);
    rig_reopen(rig, true);
    rig_wait(rig, 1);
    assert_int_equal(facts(rig).counts.of[JOB_DONE], 1);
    assert_int_equal(facts(rig).counts.of[JOB_RUNNING], 1);
    rig_exit(rig, two, 0);
    assert_int_equal(completions(rig), 1);
    rig_close(rig);
}

static void a_group_without_members_is_forgotten(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    GroupFacts seen;
    JobId one = add_member(rig);
    rig_exit(rig, one, 0);
    assert_int_equal(rig_act(rig, one, ACT_REMOVE), ERR_OK);
    assert_false(
        node_group(rig->node, SLICE_LITERAL("default"), SLICE_LITERAL("night"), &seen));
    Event event = { .kind = EVENT_DEFINE,
                    .tenant = SLICE_LITERAL("default"),
                    .table = SLICE_LITERAL(GROUP_TABLE),
                    .key = SLICE_LITERAL("night") };
    assert_int_equal(rig_send(rig, event), ERR_NOT_FOUND);
    then(rig, "report");
    assert_int_equal(rig_send(rig, event), ERR_OK);
    rig_close(rig);
}

static void lines_are_members_too(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    Job pattern = rig_job();
    pattern.group = SLICE_LITERAL("night");
    Event event = { .kind = EVENT_ADD_LINES,
                    .tenant = pattern.tenant,
                    .jobs = &pattern,
                    .count = 3,
                    .body = SLICE_LITERAL("a\nb\nc\n") };
    assert_int_equal(rig_send(rig, event), ERR_OK);
    assert_int_equal(open_members(rig), 3);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_end_adds_the_completion_job),
        cmocka_unit_test(it_comes_once_whatever_follows),
        cmocka_unit_test(a_group_that_is_over_completes_when_it_is_asked_to),
        cmocka_unit_test(cancelled_and_removed_members_count_as_ended),
        cmocka_unit_test(counts_are_there_after_a_restart),
        cmocka_unit_test(a_group_without_members_is_forgotten),
        cmocka_unit_test(lines_are_members_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
