/* SPDX-License-Identifier: Apache-2.0 */
/* share_take_test.c - stories of lost nodes that the simulation of several nodes
 * (sim/cluster) meets by luck only. */
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OTHER 2

static void tell_of_other(Rig *rig, int64_t left_ms, bool fenced)
{
    Peer peers[] = {
        { .number = 1, .epoch = 1, .left_ms = 9000, .controls = true },
        { .number = OTHER, .epoch = 1, .left_ms = left_ms, .fenced = fenced }
    };
    Event event = { .kind = EVENT_PEERS,
                    .peers = peers,
                    .count = 2,
                    .lease_boot = rig->now.boot_ms + MS_PER_HOUR,
                    .claims_boot = rig->now.boot_ms + MS_PER_HOUR };
    rig_step(rig, &event, 1);
}

static Rig *open_shared(void)
{
    Rig *rig = rig_open(NULL);
    rig->shared = true;
    rig_reopen(rig, true);
    tell_of_other(rig, 9000, false);
    return rig;
}

/* It was late, and had its lease again before the fence was in the store: that one came
 * to nothing, and must not be the last. */
static void a_node_that_was_late_once_is_fenced_when_it_is_lost(void **state)
{
    (void)state;
    Rig *rig = open_shared();
    assert_int_equal(rig->fences, 0);
    tell_of_other(rig, -1, false);
    assert_int_equal(rig->fences, 1);
    tell_of_other(rig, 9000, false);
    rig_wait(rig, MS_PER_MIN);
    assert_int_equal(rig->fences, 1);
    tell_of_other(rig, -1, false);
    assert_int_equal(rig->fences, 2);
    tell_of_other(rig, -1, true);
    rig_wait(rig, MS_PER_HOUR / 2);
    assert_int_equal(rig->fences, 2);
    rig_close(rig);
}

/* The store has it in a moment; it is not asked for with every word about the others. */
static void a_fence_that_does_not_show_is_repeated_now_and_then(void **state)
{
    (void)state;
    Rig *rig = open_shared();
    for (int i = 0; i < 60; i++) {
        tell_of_other(rig, -1, false);
        rig_wait(rig, MS_PER_S);
    }
    assert_in_range(rig->fences, 2, 13);
    rig_close(rig);
}

static void a_store_that_fails_is_not_asked_without_end(void **state)
{
    (void)state;
    Rig *rig = open_shared();
    rig->store_fails = true;
    tell_of_other(rig, -1, false); /* the rig counts rounds of questions in one moment */
    tell_of_other(rig, -1, true);
    rig->store_fails = false;
    rig_wait(rig, MS_PER_S);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_was_late_once_is_fenced_when_it_is_lost),
        cmocka_unit_test(a_fence_that_does_not_show_is_repeated_now_and_then),
        cmocka_unit_test(a_store_that_fails_is_not_asked_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
