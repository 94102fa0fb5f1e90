/* SPDX-License-Identifier: Apache-2.0 */
/* runner.h - inside of the runner (process.h): its thread's state.
 *
 * Everything here belongs to whoever holds the runner's lock, but for the two mailboxes
 * and `base`, which no one changes. The runner's thread lets go of the lock only while it
 * sleeps; runner_go takes it if that is so. process.c has the doors and the loop,
 * attempt.c the life of an attempt, stream.c its output, news.c what the loop is told. */
#ifndef RUN_RUNNER_H
#define RUN_RUNNER_H

#include "base/map.h"
#include "launch/client.h"
#include "run/process/folder.h"
#include "run/process/output_lines.h"
#include "run/process/prepare.h"
#include "run/process/process.h"
#include "run/process/spool.h"

#include <stdatomic.h>

typedef enum RunPhase {
    PHASE_PREPARED, /* `packet` waits for the word */
    PHASE_STARTING, /* the launcher has not answered */
    PHASE_RUNNING,
    PHASE_OVER, /* told; kept until it is forgotten */
} RunPhase;

typedef struct RunAttempt RunAttempt;
typedef struct Context Context;

typedef struct Stream {
    RunAttempt *attempt;
    int fd; /* read end of the pipe; -1: closed */
    bool watched;
    Spool spool;
} Stream;

struct RunAttempt {
    RunAttempt *next; /* another attempt of the same job */
    JobId id;
    uint32_t attempt;
    uint32_t flags; /* as in Prepared; the launcher keeps them for the next daemon */
    RunPhase phase;
    LaunchPacket *packet; /* PHASE_PREPARED */
    Stream streams[OUTPUT_STREAMS];
    OutputLines *said; /* NULL: its lines are all log */
    int64_t progress_told_ms;
    bool forget; /* as soon as it is over */
    bool seen;   /* in the launcher's list */
    bool paused; /* its output waits until the loop has read the news */
    bool hangs;  /* its program does not run, LAUNCH_SLOW_MS after its start */
    int32_t pid;
    int64_t started_ms;
    char token[RUN_TOKEN_BYTES];
    char *dir; /* its folder */
    Buf names; /* program, working directory and account, each ended by NUL: for messages
                */
};

struct Runner {
    PrepareBase base;
    Folders folders;
    char *launcher;
    int64_t output_bytes_max;
    size_t result_bytes_max;
    Mailbox orders;
    Mailbox *news;
    int wake_fd;
    int epoll_fd;
    int null_fd;
    pthread_t thread;
    pthread_mutex_t lock;
    LaunchClient *client; /* NULL: the launcher is gone */
    bool listed;          /* orders are obeyed: we know what runs */
    bool told_listed;     /* not the first list */
    bool writes;          /* the launcher's socket is watched for room */
    bool stop;
    int64_t tick_ms;    /* boot time of the next look at all attempts; 0: none is due */
    int64_t retry_ms;   /* boot time of the next try to start a launcher */
    Map attempts;       /* by job id: a list of RunAttempt */
    Context *contexts;  /* warm: context.h */
    int64_t lease_boot; /* when the launcher ends them; 0: never */
    int context_epoll;  /* of their descriptors */
    uint64_t context_count; /* made so far, for their ids */
    uint32_t
        contexts_dying; /* of the daemon before: nothing starts until they are dead */
    uint64_t context_jobs;
    int64_t context_idle_ms;
    int64_t context_age_ms;
    atomic_int hanging; /* attempts that hang; read by any thread */
    atomic_bool silent; /* the launcher does not answer; likewise */
    RunNews *answers;   /* of this round, not yet told */
    Mail *waiting;      /* orders taken while not listed */
    Buf scratch;
};

#define RUNNER_TICK_MS     10
#define RUNNER_PROGRESS_MS 200 /* between two news of progress of an attempt */

#endif
