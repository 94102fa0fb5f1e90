/* SPDX-License-Identifier: Apache-2.0 */
/* outcome_test.c - what an end means, over all ends; what follows, over all counts. */
#include "core/outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static JobCode code_by_hand(int32_t exitcode)
{
    if ((exitcode >= 100 && exitcode <= 199) || (exitcode >= 300 && exitcode <= 399))
        return CODE_RETRY;
    if (exitcode >= 200 && exitcode <= 299)
        return CODE_OK;
    if (exitcode >= 400 && exitcode <= 499)
        return CODE_FAILED;
    return CODE_ERROR;
}

static void hundreds_make_the_code(void **state)
{
    (void)state;
    for (int32_t exitcode = -1000; exitcode <= 2000; exitcode++)
        assert_int_equal(code_of_exitcode(exitcode), code_by_hand(exitcode));
}

static void every_exit_status_has_its_meaning(void **state)
{
    (void)state;
    for (int32_t status = 0; status <= 255; status++) {
        int32_t expected = 500;
        if (status == 0)
            expected = 200;
        if (status == 75)
            expected = 175;
        if (status == 64 || status == 65 || status == 66 || status == 77 || status == 78)
            expected = 400 + status;
        Ending ending = { .kind = END_EXITED, .exit_status = status };
        Outcome outcome = outcome_of(&ending, false, false);
        assert_int_equal(outcome.exitcode, expected);
        assert_int_equal(outcome.code, code_by_hand(expected));
        assert_int_equal(outcome.exit_status, status);
        assert_int_equal(outcome.signal, 0);
        outcome = outcome_of(&ending, true, true); /* out of time */
        assert_int_equal(outcome.exitcode, 504);
        assert_int_equal(outcome.exit_status, status);
    }
}

static void the_jobs_own_word_counts_unless_it_was_killed(void **state)
{
    (void)state;
    for (int32_t said = 1; said <= 999; said++) {
        Ending ending = { .kind = END_EXITED, .exit_status = 1, .said_code = said };
        Outcome outcome = outcome_of(&ending, false, false);
        assert_int_equal(outcome.exitcode, said);
        assert_int_equal(outcome.code, code_by_hand(said));
        assert_int_equal(outcome.exit_status, 1);
        assert_int_equal(outcome_of(&ending, false, true).exitcode, 500);
        assert_int_equal(outcome_of(&ending, true, true).exitcode, 504);
        ending.kind = END_SIGNALLED;
        ending.signal = 9;
        assert_int_equal(outcome_of(&ending, false, false).exitcode, 501);
    }
}

static void ends_without_an_exit_are_errors(void **state)
{
    (void)state;
    for (int32_t signal = 1; signal <= 64; signal++) {
        Ending ending = { .kind = END_SIGNALLED, .signal = signal };
        Outcome outcome = outcome_of(&ending, false, signal % 2);
        assert_int_equal(outcome.exitcode, 501);
        assert_int_equal(outcome.code, CODE_ERROR);
        assert_int_equal(outcome.signal, signal);
        assert_int_equal(outcome.exit_status, -1);
        assert_int_equal(outcome_of(&ending, true, true).exitcode, 504);
    }
    Ending not_started = { .kind = END_NOT_STARTED, .exit_status = 3, .signal = 4 };
    Outcome outcome = outcome_of(&not_started, false, false);
    assert_int_equal(outcome.exitcode, 503);
    assert_int_equal(outcome.exit_status, -1);
    assert_int_equal(outcome.signal, 0);
    Ending lost = { .kind = END_LOST };
    assert_int_equal(outcome_of(&lost, false, false).exitcode, 502);
    /* What did not run, or was lost, was not ended by its time limit. */
    assert_int_equal(outcome_of(&not_started, true, true).exitcode, 503);
    assert_int_equal(outcome_of(&lost, true, true).exitcode, 502);
}

static void expect_error(const Ending *ending, bool timed_out, const char *text)
{
    Buf out = { 0 };
    Outcome outcome = outcome_of(ending, timed_out, timed_out);
    outcome_error(ending, &outcome, &out);
    assert_string_equal(buf_cstr(&out), text);
    buf_done(&out);
}

static void an_error_says_what_happened(void **state)
{
    (void)state;
    Ending ending = { .kind = END_EXITED, .exit_status = 0 };
    expect_error(&ending, false, "");
    ending.error = SLICE_LITERAL("its own words");
    expect_error(&ending, false, ""); /* it went well */
    ending.exit_status = 3;
    expect_error(&ending, false, "its own words");
    ending.error = (Slice){ NULL, 0 };
    expect_error(&ending, false, "exit status 3");
    expect_error(&ending, true, "ran longer than max_run_time");
    ending.said_code = 404;
    expect_error(&ending, false, "said 404");
    expect_error(&(Ending){ .kind = END_SIGNALLED, .signal = 11 }, false,
                 "ended by signal 11");
    expect_error(&(Ending){ .kind = END_LOST }, false,
                 "its process was lost together with its launcher");
}

static const RetryRule plain = {
    .delay_ms = 5000,
    .delay_max_ms = 300000,
    .window_ms = -1,
    .max_retries = RETRIES_UNSET,
};

static void delays_double_up_to_the_largest(void **state)
{
    (void)state;
    static const int64_t expected[] = { 5000,  10000,  20000,  40000,
                                        80000, 160000, 300000, 300000 };
    Rng rng = { 5 };
    for (uint32_t number = 0; number < 8; number++) {
        RetryRule rule = plain;
        rule.retry_number = number;
        int64_t least = INT64_MAX;
        int64_t most = 0;
        for (int i = 0; i < 4000; i++) {
            RetryStep step = retry_next(&rule, 1000000, &rng);
            assert_int_equal(step.state, JOB_RETRYING);
            int64_t delay_ms = step.dt_ms - 1000000;
            least = delay_ms < least ? delay_ms : least;
            most = delay_ms > most ? delay_ms : most;
        }
        int64_t jitter_ms = expected[number] / 10;
        assert_true(least >= expected[number] - jitter_ms);
        assert_true(most <= expected[number] + jitter_ms);
        /* ... and the jitter is used: the bounds are nearly reached. */
        assert_true(least < expected[number] - jitter_ms * 9 / 10);
        assert_true(most > expected[number] + jitter_ms * 9 / 10);
    }
    RetryRule rule = plain;
    rule.retry_number = UINT32_MAX; /* costs no time and does not overflow */
    assert_int_equal(retry_next(&rule, 0, &rng).state, JOB_RETRYING);
}

static void a_delay_of_the_jobs_own_is_kept(void **state)
{
    (void)state;
    Rng rng = { 6 };
    RetryRule rule = plain;
    rule.fixed = true;
    rule.delay_ms = 3600000; /* beyond the largest that doubling reaches */
    for (uint32_t number = 0; number < 50; number++) {
        rule.retry_number = number;
        int64_t delay_ms = retry_next(&rule, 0, &rng).dt_ms;
        assert_true(delay_ms >= 3240000);
        assert_true(delay_ms <= 3960000);
    }
    rule.delay_ms = 0;
    assert_int_equal(retry_next(&rule, 77, &rng).dt_ms, 77);
    rule.delay_ms = 9; /* too small for a jitter */
    assert_int_equal(retry_next(&rule, 77, &rng).dt_ms, 86);
}

static void x_retries_mean_x_plus_one_runs(void **state)
{
    (void)state;
    Rng rng = { 7 };
    for (int32_t max_retries = 0; max_retries < 20; max_retries++) {
        RetryRule rule = plain;
        rule.max_retries = max_retries;
        int runs = 0;
        RetryStep step;
        do {
            step = retry_next(&rule, 1000, &rng);
            runs++;
            rule.retry_number++;
        } while (step.state == JOB_RETRYING);
        assert_int_equal(step.state, JOB_REJECTED);
        assert_int_equal(step.dt_ms, 1000);
        assert_int_equal(runs, max_retries + 1);
    }
}

static void nothing_begins_after_the_window(void **state)
{
    (void)state;
    Rng rng = { 8 };
    RetryRule rule = plain;
    rule.window_ms = 100000;
    rule.window_from_ms = 50000;
    rule.retry_number = 1;
    rule.delay_ms /= 2; /* doubled */
    int rejected = 0;
    for (int64_t now_ms = 50000; now_ms <= 160000; now_ms += 10) {
        RetryStep step = retry_next(&rule, now_ms, &rng);
        if (step.state == JOB_RETRYING)
            assert_true(step.dt_ms <= 150000);
        if (now_ms + 5500 <= 150000)
            assert_int_equal(step.state, JOB_RETRYING);
        if (now_ms + 4500 > 150000)
            assert_int_equal(step.state, JOB_REJECTED);
        rejected += step.state == JOB_REJECTED;
    }
    assert_true(rejected > 0);
    rule.window_ms = 0; /* a window of nothing: one run */
    assert_int_equal(retry_next(&rule, 50000, &rng).state, JOB_REJECTED);
}

/* However long it has waited before. */
static void the_window_begins_with_the_end_of_the_first_run(void **state)
{
    (void)state;
    Rng rng = { 8 };
    RetryRule rule = plain;
    rule.window_ms = 100000;
    rule.window_from_ms = 50000;
    RetryStep step = retry_next(&rule, 90000000, &rng);
    assert_int_equal(step.state, JOB_RETRYING);
    assert_int_equal(step.window_from_ms, 90000000);
    rule.window_from_ms = step.window_from_ms;
    rule.retry_number = 1;
    assert_int_equal(retry_next(&rule, 90050000, &rng).state, JOB_RETRYING);
    step = retry_next(&rule, 90100000, &rng);
    assert_int_equal(step.state, JOB_REJECTED);
    assert_true(step.window_over);
    rule.max_retries = 1;
    assert_false(retry_next(&rule, 90050000, &rng).window_over); /* by the count */
}

static void a_service_can_ask_to_be_asked_again(void **state)
{
    (void)state;
    for (int32_t status = 400; status < 500; status++) {
        Ending ending = { .kind = END_ANSWERED,
                          .said_code = status,
                          .ask_again = http_status_retries(status) };
        bool again = status == 408 || status == 425 || status == 429;
        Outcome outcome = outcome_of(&ending, false, false);
        assert_int_equal(outcome.code, again ? CODE_RETRY : CODE_FAILED);
        assert_int_equal(outcome.exitcode, status);
        assert_int_equal(outcome_of(&ending, true, false).code, CODE_ERROR);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hundreds_make_the_code),
        cmocka_unit_test(every_exit_status_has_its_meaning),
        cmocka_unit_test(the_jobs_own_word_counts_unless_it_was_killed),
        cmocka_unit_test(ends_without_an_exit_are_errors),
        cmocka_unit_test(an_error_says_what_happened),
        cmocka_unit_test(delays_double_up_to_the_largest),
        cmocka_unit_test(a_delay_of_the_jobs_own_is_kept),
        cmocka_unit_test(x_retries_mean_x_plus_one_runs),
        cmocka_unit_test(nothing_begins_after_the_window),
        cmocka_unit_test(the_window_begins_with_the_end_of_the_first_run),
        cmocka_unit_test(a_service_can_ask_to_be_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
