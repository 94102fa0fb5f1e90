/* SPDX-License-Identifier: Apache-2.0 */
/* exit_test.c - exit codes: the whole table of interfaces, section 4. */
#include "cli/exit.h"

#include "cli/testing.h"

static int command_end(const char *state, int64_t exitcode, int64_t exit_status,
                       int64_t signal, const char *error)
{
    JobEnd end = { slice_text(state), exitcode, exit_status, signal, slice_text(error) };
    return exit_from_command(&end);
}

static void a_command_ends_with_its_own_exit_code(void **state)
{
    (void)state;
    assert_int_equal(command_end("done", 200, 0, 0, ""), 0);
    assert_int_equal(command_end("rejected", 500, 3, 0, "exit status 3"), 3);
    assert_int_equal(command_end("failed", 464, 64, 0, ""), 64);
    assert_int_equal(command_end("rejected", 175, 75, 0, ""), 75);
    assert_int_equal(command_end("rejected", 500, 255, 0, ""), 255);
    /* An R: line may call a failed command done: its exit code is still its own. */
    assert_int_equal(command_end("done", 200, 9, 0, ""), 9);
}

static void a_signal_is_128_and_its_number(void **state)
{
    (void)state;
    assert_int_equal(command_end("rejected", 501, -1, 9, "signal 9"), 137);
    assert_int_equal(command_end("rejected", 504, -1, 15, "max_run_time"), 124);
    assert_int_equal(command_end("cancelled", 501, -1, 15, ""), 143);
}

static void a_command_that_did_not_start_is_told_apart(void **state)
{
    (void)state;
    assert_int_equal(command_end("rejected", 503, -1, 0, "cannot start: x: ENOENT"), 127);
    assert_int_equal(command_end("rejected", 503, -1, 0, "cannot start: x: EACCES"), 126);
    assert_int_equal(command_end("rejected", 503, -1, 0, "cannot start: x: ENOEXEC"),
                     126);
    assert_int_equal(command_end("rejected", 503, -1, 0, "cannot start: x: E2BIG"), 125);
    assert_int_equal(command_end("rejected", 503, -1, 0,
                                 "cannot start: program ENOENT: Permission denied"),
                     126);
    assert_int_equal(
        command_end("rejected", 503, -1, 0,
                    "cannot start: program a: EACCES: No such file or directory"),
        127);
    assert_int_equal(
        command_end("rejected", 503, -1, 0,
                    "cannot start: working directory /x: No such file or directory"),
        125);
    assert_int_equal(command_end("cancelled", 0, -1, 0, ""), 125);
    assert_int_equal(command_end("rejected", 500, -1, 0, "lost"), 125);
}

static void waiting_tells_the_worst(void **state)
{
    (void)state;
    assert_int_equal(exit_from_state(SLICE_LITERAL("done")), 0);
    assert_int_equal(exit_from_state(SLICE_LITERAL("failed")), 10);
    assert_int_equal(exit_from_state(SLICE_LITERAL("rejected")), 10);
    assert_int_equal(exit_from_state(SLICE_LITERAL("cancelled")), 11);
    static const int codes[] = { CLI_DONE, CLI_JOB_FAILED, CLI_JOB_CANCELLED };
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(exit_worse(codes[i], CLI_JOB_FAILED), CLI_JOB_FAILED);
        assert_int_equal(exit_worse(CLI_JOB_FAILED, codes[i]), CLI_JOB_FAILED);
        assert_int_equal(exit_worse(codes[i], CLI_DONE), codes[i]);
        assert_int_equal(exit_worse(CLI_DONE, codes[i]), codes[i]);
    }
}

static void a_refusal_has_its_code(void **state)
{
    (void)state;
    static const int expected[][2] = {
        { 400, 2 }, { 401, 4 }, { 403, 4 }, { 404, 3 }, { 409, 5 },
        { 413, 2 }, { 422, 2 }, { 500, 1 }, { 503, 1 }, { 504, 124 },
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(exit_from_http(expected[i][0]), expected[i][1]);
}

static void only_four_states_are_final(void **state)
{
    (void)state;
    static const char *const states[] = {
        "deferred", "blocked",  "ready", "held",   "running",  "paused",
        "halted",   "retrying", "done",  "failed", "rejected", "cancelled",
    };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        assert_int_equal(state_is_final(slice_text(states[i])), i >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_ends_with_its_own_exit_code),
        cmocka_unit_test(a_signal_is_128_and_its_number),
        cmocka_unit_test(a_command_that_did_not_start_is_told_apart),
        cmocka_unit_test(waiting_tells_the_worst),
        cmocka_unit_test(a_refusal_has_its_code),
        cmocka_unit_test(only_four_states_are_final),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
