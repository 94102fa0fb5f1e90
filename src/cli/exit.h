/* SPDX-License-Identifier: Apache-2.0 */
/* exit.h - the exit codes of the command line, and what a job's end makes of them.
 *
 * Scripts are written against these numbers: they never change meaning. */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum ExitCode {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_NOT_FOUND = 3,
    CLI_DENIED = 4,
    CLI_CONFLICT = 5,
    CLI_UNREACHABLE = 6,    /* no daemon answers */
    CLI_JOB_FAILED = 10,    /* wait: a job failed or was rejected */
    CLI_JOB_CANCELLED = 11, /* wait: a job was cancelled */
    CLI_TIMED_OUT = 124,    /* as timeout(1) */
    CLI_OWN_FAILURE = 125,  /* run --wait: pawl failed, not the command */
    CLI_NOT_EXECUTABLE = 126,
    CLI_NO_COMMAND = 127,
    CLI_SIGNAL_BASE = 128, /* + the signal's number */
} ExitCode;

/* What the job object says about its end. */
typedef struct JobEnd {
    Slice state;
    int64_t exitcode;    /* 0: no attempt has ended */
    int64_t exit_status; /* of the process; negative when it did not exit by itself */
    int64_t signal;      /* that ended the process, or 0 */
    Slice error;
} JobEnd;

bool state_is_final(Slice state);
bool state_is_bad(Slice state); /* failed or rejected */

/* The exit code that stands for an HTTP status other than success. */
int exit_from_http(int status);

/* run --wait: the command's own exit code, as a shell would give it. */
int exit_from_command(const JobEnd *end);

/* wait: the worst of two (failed before cancelled before done). */
int exit_from_state(Slice state);
int exit_worse(int a, int b);

#endif
