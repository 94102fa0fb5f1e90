/* SPDX-License-Identifier: Apache-2.0 */
/* exit.c - see exit.h. */
#include "cli/exit.h"

#include <errno.h>

#define EXITCODE_NOT_STARTED 503 /* the process could not be started */
#define EXITCODE_TIMED_OUT   504 /* it ran longer than it may */

bool state_is_bad(Slice state)
{
    return slice_is(state, "failed") || slice_is(state, "rejected");
}

bool state_is_final(Slice state)
{
    return slice_is(state, "done") || slice_is(state, "cancelled") || state_is_bad(state);
}

int exit_from_http(int status)
{
    switch (status) {
    case 400:
    case 405:
    case 411:
    case 413:
    case 414:
    case 415:
    case 422:
        return CLI_USAGE;
    case 401:
    case 403:
    case 421: /* not under this host name */
        return CLI_DENIED;
    case 404:
    case 410:
        return CLI_NOT_FOUND;
    case 409:
    case 412:
        return CLI_CONFLICT;
    case 408:
    case 504:
        return CLI_TIMED_OUT;
    default:
        return CLI_FAILED;
    }
}

static bool has(Slice text, const char *word)
{
    return text.bytes && memmem(text.data, text.bytes, word, strlen(word)) != NULL;
}

/* "cannot start: STEP WHAT: REASON". WHAT may be anything, so only the reason behind it
 * is looked at, as the name of an errno or as its text. */
static int exit_not_started(Slice error)
{
    static const struct {
        const char *name;
        int number;
        int code;
    } reasons[] = {
        { "ENOENT", ENOENT, CLI_NO_COMMAND },
        { "ENOTDIR", ENOTDIR, CLI_NO_COMMAND },
        { "EACCES", EACCES, CLI_NOT_EXECUTABLE },
        { "EPERM", EPERM, CLI_NOT_EXECUTABLE },
        { "ENOEXEC", ENOEXEC, CLI_NOT_EXECUTABLE },
        { "EISDIR", EISDIR, CLI_NOT_EXECUTABLE },
    };
    Slice reason = error;
    for (Slice rest = error; rest.bytes; rest = slice_from(rest, 1))
        if (slice_starts(rest, SLICE_LITERAL(": ")))
            reason = slice_from(rest, 2);
    /* A directory that is not there is not the command's fault. */
    if (slice_starts(error, SLICE_LITERAL("cannot start: working directory")))
        return CLI_OWN_FAILURE;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (has(reason, reasons[i].name) || has(reason, strerror(reasons[i].number)))
            return reasons[i].code;
    return CLI_OWN_FAILURE;
}

int exit_from_command(const JobEnd *end)
{
    if (end->exitcode == EXITCODE_TIMED_OUT)
        return CLI_TIMED_OUT;
    if (end->signal > 0 && end->signal < 128)
        return CLI_SIGNAL_BASE + (int)end->signal;
    if (end->exitcode == EXITCODE_NOT_STARTED && end->exit_status < 0)
        return exit_not_started(end->error);
    if (end->exitcode > 0 && end->exit_status >= 0 && end->exit_status < 256)
        return (int)end->exit_status;
    /* The command has no exit code of its own: it never ran, or its end is unknown. */
    return slice_is(end->state, "done") ? CLI_DONE : CLI_OWN_FAILURE;
}

int exit_from_state(Slice state)
{
    if (state_is_bad(state))
        return CLI_JOB_FAILED;
    return slice_is(state, "cancelled") ? CLI_JOB_CANCELLED : CLI_DONE;
}

int exit_worse(int a, int b)
{
    if (a == CLI_JOB_FAILED || b == CLI_JOB_FAILED)
        return CLI_JOB_FAILED;
    return a == CLI_DONE ? b : a;
}
