/* SPDX-License-Identifier: Apache-2.0 */
/* vocabulary_test.c - actions and where they make sense; the outbox. */
#include "core/effect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Written by hand: the states in which each action makes sense.
 * Columns: dbrh rphT dfjc.
 */
static const struct {
    Action action;
    const char *name;
    const char *states;
} actions[] = {
    { ACT_CANCEL, "cancel", "xxxx xxxx ----" },
    { ACT_KILL, "kill", "xxxx xxxx ----" },
    { ACT_HOLD, "hold", "xxxx --xx ----" },
    { ACT_RELEASE, "release", "---x ---- ----" },
    { ACT_PAUSE, "pause", "---- x--- ----" },
    { ACT_RESUME, "resume", "---- -xx- ----" },
    { ACT_HALT, "halt", "---- xx-- ----" },
    { ACT_RETRY, "retry", "---- ---x xxxx" },
    { ACT_REMOVE, "remove", "xxxx xxxx xxxx" },
    { ACT_PATCH, "patch", "xxxx --xx ----" },
};

static void every_action_makes_sense_in_its_states_only(void **state)
{
    (void)state;
    assert_int_equal(sizeof actions / sizeof *actions, ACTIONS);
    for (size_t i = 0; i < ACTIONS; i++) {
        assert_int_equal(actions[i].action, i);
        assert_string_equal(action_name((Action)i), actions[i].name);
        for (size_t k = 0; k < JOB_STATES; k++)
            assert_int_equal(state_in((JobState)k, action_allowed((Action)i)),
                             actions[i].states[k + k / 4] == 'x');
    }
    assert_string_equal(action_name((Action)99), "?");
}

static void an_outbox_is_filled_and_cleared(void **state)
{
    (void)state;
    Outbox out = { 0 };
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 1; i <= 100; i++) {
            Effect *effect = outbox_effect(&out, EFFECT_REPLY, WAIT_JOURNAL);
            assert_int_equal(effect->request, 0); /* zeroed */
            effect->request = i;
        }
        batch_op(&out.adds, OP_ADD, 1);
        batch_op(&out.batch, OP_BEAT, 1);
        out.number = 5;
        assert_int_equal(out.effect_count, 100);
        assert_int_equal(out.effects[41].request, 42);
        assert_int_equal(out.effects[41].wait, WAIT_JOURNAL);
        outbox_clear(&out);
        assert_int_equal(out.effect_count + out.adds.count + out.batch.count, 0);
        assert_int_equal(out.number, 0);
    }
    outbox_done(&out);
    assert_null(out.effects);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_action_makes_sense_in_its_states_only),
        cmocka_unit_test(an_outbox_is_filled_and_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
