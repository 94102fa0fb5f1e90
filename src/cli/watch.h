/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - staying with a job until it ends, through restarts of the daemon.
 *
 * A lost connection is tried again for a minute; output goes on where it stopped, so
 * every byte is printed once. Ctrl-C (interrupt.h) ends the watching only. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "cli/cli.h"

typedef enum WatchEnd {
    WATCH_ENDED,    /* the job is final */
    WATCH_DETACHED, /* Ctrl-C */
    WATCH_TIMEOUT,
    WATCH_FAILED, /* told; Watch.exit is the exit code */
} WatchEnd;

typedef struct Watch {
    Cli *cli;
    int exit;              /* with WATCH_FAILED */
    int64_t lost_since;    /* boot ms since when nobody answers; 0: somebody does */
    int64_t tries;         /* calls that had to be tried again so far */
    int64_t deadline_boot; /* 0: none */
    bool tells_attempts;   /* each attempt that failed is told on stderr */
    int64_t told;          /* the last one that was */
    bool wants_stdout;     /* which streams to copy; both go to their own descriptors, */
    bool wants_stderr;     /* a single one to stdout */
} Watch;

JobEnd watch_job_end(const Doc *job);

/* Copies the output of every attempt from `attempt` on until the job has ended. The
 * caller frees *out_job, which is set when WATCH_ENDED is returned. */
WatchEnd watch_output(Watch *watch, const char *id, int64_t attempt, Doc **out_job);

/* Waits without copying. */
WatchEnd watch_quietly(Watch *watch, const char *id, Doc **out_job);

/* Copies what one attempt has written so far. */
WatchEnd watch_copy(Watch *watch, const char *id, int64_t attempt, bool follow);

/* The job now, trying again while the daemon is away. WATCH_ENDED means it was read. */
WatchEnd watch_read(Watch *watch, const char *id, Doc **out_job);

/* The same with any other document. */
WatchEnd watch_get(Watch *watch, const char *path, Doc **out_doc);

/* How long to wait before asking again: short at first, so that short jobs feel short. */
int64_t watch_pause_ms(int64_t asked);

/* The sentence about how to come back. */
int watch_say_detached(const char *id);

#endif
