/* SPDX-License-Identifier: Apache-2.0 */
/* outcome.c - see outcome.h. */
#include "core/outcome.h"

/* Exits with a meaning of their own, as sysexits.h names them. */
enum {
    EXIT_USAGE = 64,
    EXIT_DATA = 65,
    EXIT_INPUT = 66,
    EXIT_TEMPFAIL = 75,
    EXIT_PERMISSION = 77,
    EXIT_CONFIG = 78,
};

#define JITTER_PERCENT 10

JobCode code_of_exitcode(int32_t exitcode)
{
    switch (exitcode / 100) {
    case 1:
    case 3:
        return CODE_RETRY;
    case 2:
        return CODE_OK;
    case 4:
        return CODE_FAILED;
    default:
        return CODE_ERROR;
    }
}

bool http_status_retries(int64_t status)
{
    return status == 408 || status == 425 || status == 429;
}

static int32_t exitcode_of_status(int32_t exit_status)
{
    switch (exit_status) {
    case 0:
        return 200;
    case EXIT_TEMPFAIL:
        return 100 + EXIT_TEMPFAIL;
    case EXIT_USAGE:
    case EXIT_DATA:
    case EXIT_INPUT:
    case EXIT_PERMISSION:
    case EXIT_CONFIG:
        return 400 + exit_status;
    default:
        return 500;
    }
}

static int32_t exitcode_of(const Ending *ending, bool timed_out, bool killed)
{
    switch (ending->kind) {
    case END_EXITED:
        if (timed_out)
            return 504;
        if (ending->said_code && !killed)
            return ending->said_code;
        return exitcode_of_status(ending->exit_status);
    case END_SIGNALLED:
        return timed_out ? 504 : 501;
    case END_NOT_STARTED:
        return 503;
    case END_LOST:
        return 502;
    case END_LAPSED:
        return timed_out ? 504 : 502;
    case END_UNGOT:
        return 100;
    case END_ANSWERED:
        return timed_out ? 504 : ending->said_code;
    }
    return 500;
}

Outcome outcome_of(const Ending *ending, bool timed_out, bool killed)
{
    Outcome outcome = { .exit_status = -1 };
    outcome.exitcode = exitcode_of(ending, timed_out, killed);
    outcome.code = code_of_exitcode(outcome.exitcode);
    if (ending->kind == END_ANSWERED && ending->ask_again && !timed_out)
        outcome.code = CODE_RETRY;
    if (ending->kind == END_EXITED)
        outcome.exit_status = ending->exit_status;
    if (ending->kind == END_SIGNALLED)
        outcome.signal = ending->signal;
    return outcome;
}

void outcome_error(const Ending *ending, const Outcome *outcome, Buf *out)
{
    if (outcome->code == CODE_OK)
        return;
    bool ran = ending->kind == END_EXITED || ending->kind == END_SIGNALLED;
    if (ending->error.bytes && !(ran && outcome->exitcode == 504)) {
        buf_add_slice(out, ending->error);
        return;
    }
    if (outcome->exitcode == 504)
        buf_add_text(out, "ran longer than max_run_time");
    else if (ending->kind == END_LOST)
        buf_add_text(out, "its process was lost together with its launcher");
    else if (ending->kind == END_LAPSED)
        buf_add_text(out, "its worker was not heard from until the lease ended");
    else if (ending->kind == END_UNGOT)
        buf_add_text(out, "given back before it began");
    else if (outcome->signal)
        buf_printf(out, "ended by signal %d", outcome->signal);
    else if (ending->said_code)
        buf_printf(out, "said %d", ending->said_code);
    else if (outcome->exit_status > 0)
        buf_printf(out, "exit status %d", outcome->exit_status);
}

static int64_t delay_of(const RetryRule *rule)
{
    int64_t delay_ms = rule->delay_ms;
    if (rule->fixed)
        return delay_ms;
    for (uint32_t i = 0; i < rule->retry_number && delay_ms < rule->delay_max_ms; i++)
        delay_ms *= 2;
    return delay_ms < rule->delay_max_ms ? delay_ms : rule->delay_max_ms;
}

RetryStep retry_next(const RetryRule *rule, int64_t wall_ms, Rng *rng)
{
    int64_t from_ms = rule->retry_number ? rule->window_from_ms : wall_ms;
    RetryStep rejected = { JOB_REJECTED, wall_ms, from_ms, false };
    if (rule->max_retries >= 0 && rule->retry_number >= (uint32_t)rule->max_retries)
        return rejected;
    int64_t delay_ms = delay_of(rule);
    int64_t jitter_ms = delay_ms * JITTER_PERCENT / 100;
    delay_ms += (int64_t)rng_below(rng, (uint64_t)(2 * jitter_ms + 1)) - jitter_ms;
    int64_t next_ms = wall_ms + delay_ms;
    rejected.window_over = rule->window_ms >= 0 && next_ms > from_ms + rule->window_ms;
    if (rejected.window_over)
        return rejected;
    return (RetryStep){ JOB_RETRYING, next_ms, from_ms, false };
}
