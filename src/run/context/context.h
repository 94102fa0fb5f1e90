/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - part of the runner: warm contexts, processes that serve many jobs.
 *
 * A context gets one JSON object per line on its standard input and answers on its
 * descriptor 3 (reply.h). What it prints goes into two memory files; the `O:` lines say
 * which part is whose. Where jobs are answered in order, so that this is exact, lines of
 * the output mean what they mean for any job of a handler (core/lines.h).
 *
 * C1  every job handed in brings exactly one answer (RunAnswer), also when the context
 *     dies: the job that ran is charged with it, the others are given back.
 * C2  a context is bound to a slot while it has jobs in hand, and serves only batches of
 *     that slot and of its own key meanwhile.
 * C3  a context ends with its daemon: the next one kills what it finds. The launcher
 *     ends it with the lease of its node, if there is one, daemon or no daemon. */
#ifndef RUN_CONTEXT_CONTEXT_H
#define RUN_CONTEXT_CONTEXT_H

#include "core/output_line.h"
#include "run/context/reply.h"
#include "run/runner.h"

/* Contexts are attempts of no job to the launcher: their ids have this bit. */
#define CONTEXT_ID_BIT ((JobId)1 << 63)

typedef struct ContextJob {
    JobId id;
    uint32_t attempt;
    bool timed; /* its start is told */
    bool children_now;
    bool done;     /* answered; stays until those before it are */
    bool has_ends; /* of its output: an O: line came */
    int64_t ends[OUTPUT_STREAMS];
    int32_t progress; /* -1: none */
    int64_t progress_told_ms;
    Buf children; /* packed: see RunAnswer */
    uint64_t child_count;
    uint64_t now_count;
    LineNote refused;
    int64_t logged[OUTPUT_STREAMS]; /* bytes of its log so far */
} ContextJob;

typedef enum ContextPhase {
    CONTEXT_STARTING,
    CONTEXT_RUNNING,
    CONTEXT_RETIRING, /* its input is closed: it leaves when it has read all */
    CONTEXT_ENDING,   /* a signal was sent */
} ContextPhase;

struct Context {
    Context *next;
    JobId id;
    Buf key;
    uint32_t slot; /* 0: idle */
    ContextPhase phase;
    bool whole;        /* one batch: its exit answers for all jobs */
    LineParser lines;  /* of a whole one, or of its first job: what it prints, */
    int32_t said_code; /* its last R: line, 0: none, */
    bool said_cut;
    Buf said;      /* and the result in that */
    bool in_order; /* answers come in the order of the jobs: the first one runs */
    bool seen;     /* in the launcher's list */
    int32_t pid;
    int in_w; /* -1: closed */
    int reply_r;
    int out[OUTPUT_STREAMS];      /* memory files */
    int64_t read[OUTPUT_STREAMS]; /* how far they were read */
    bool writes;                  /* in_w is watched for room */
    Buf input;                    /* not yet written, from input_at on */
    size_t input_at;
    ReplyReader replies;
    ContextJob *jobs; /* in hand, in order, from `first` on */
    size_t first;
    size_t count;
    size_t capacity;
    size_t in_hand;
    uint64_t given;
    Buf handlers;    /* names it knows, each ended by NUL */
    int64_t busy_us; /* since when, or since its last answers */
    size_t answered; /* answers of the round that is being read */
    int64_t born_ms;
    int64_t idle_ms; /* since when; 0: busy */
    int64_t kill_ms; /* when a retiring or ending one is killed */
    JobId stopped;   /* the job whose end was asked for; 0: none */
    bool told_bad;
    char token[RUN_TOKEN_BYTES];
};

void contexts_init(Runner *runner, const RunnerOptions *options);
void contexts_done(Runner *runner);

/* Hands a batch to the context of its slot and key, or to a new one. */
void context_give(Runner *runner, const RunBatch *batch);

/* A signal for a job in hand. False: it is in no context. */
bool context_signal(Runner *runner, JobId id, uint32_t attempt, int signal_number);

/* What waits on the contexts' descriptors; and their times: idleness, age. */
void contexts_ready(Runner *runner);
void contexts_tick(Runner *runner);
int64_t contexts_due(const Runner *runner); /* boot time of the next; 0: none */

/* From the launcher, for ids with CONTEXT_ID_BIT. */
void context_started(Runner *runner, const LaunchMessage *message);
void context_slow(Runner *runner, const LaunchMessage *message);
void context_failed(Runner *runner, const LaunchMessage *message);
void context_exited(Runner *runner, const LaunchMessage *message);

/* None outlives the lease of its node, whatever becomes of the daemon. */
void contexts_lease(Runner *runner, int64_t boot_ms);
void context_item(Runner *runner, const LaunchMessage *message);
void contexts_list_begin(Runner *runner);
void contexts_list_end(Runner *runner);

#endif
