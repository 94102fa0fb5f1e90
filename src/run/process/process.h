/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - the runner of jobs that are one process each.
 *
 * One thread of its own prepares attempts, hands them to the launcher, spools and reads
 * their output. The loop gives orders, which never wait, and takes news out of one
 * mailbox. Orders about attempts that are not known (any more) do nothing.
 *
 * What must hold: every attempt ordered or adopted brings exactly one of RUN_FAILED,
 * RUN_ENDED or RUN_LOST; RUN_ENDED comes after the whole tree is dead and all its
 * output is in the spool; nothing of the attempt is dropped before runner_forget. */
#ifndef RUN_PROCESS_PROCESS_H
#define RUN_PROCESS_PROCESS_H

#include "base/mailbox.h"
#include "core/job.h"
#include "core/output_line.h"
#include "launch/protocol.h"
#include "run/context/answer.h"
#include "run/process/output.h"

typedef struct Runner Runner;

typedef struct RunnerOptions {
    const char *data_dir;     /* absolute */
    const char *launcher;     /* program; NULL: as launch_open finds it */
    Slice node;               /* PAWL_NODE, JQM_NODE_NAME */
    Slice api_url;            /* PAWL_API_URL; empty: not set */
    int64_t output_bytes_max; /* kept per stream; 0: the default */
    int64_t result_bytes_max; /* 0: the default */
    uint64_t context_jobs;    /* jobs that one warm context serves; 0: the default */
    int64_t context_idle_ms;  /* an idle one leaves after it; 0: the default */
    int64_t context_age_ms;   /* one this old gets no more jobs; 0: the default */
    Mailbox *news;            /* items are RunNews; its wake wakes the loop */
} RunnerOptions;

/* Connects to the launcher (starting one if need be) and starts the thread, which lists
 * what already runs: RUN_ADOPTED for each attempt, and RUN_LISTED after the last. */
MUST_CHECK Err runner_open(Runner **out_runner, const RunnerOptions *options, Error *why);

/* Ends the thread; jobs go on. An attempt in preparation is either with the launcher
 * after this or was never started. The mailbox may still hold news. */
void runner_close(Runner *runner);

typedef struct RunOrder {
    const Job *job;      /* attempt and payload included; copied */
    Slice document;      /* what PAWL_JOB_FILE holds */
    Slice env;           /* further NAME=VALUE, each ended by NUL: resources and so on */
    int64_t deadline_ms; /* wall time, for PAWL_DEADLINE; 0: none */
    bool children_now;   /* its J: lines are J!: lines */
    int32_t nice;
    int64_t lease_boot; /* the launcher kills it then, unless runner_deadline said
                         * otherwise; 0: no lease */
    const LaunchLimit *limits;
    uint32_t limit_count;
} RunOrder;

/* Does all that takes time, for a start that is decided but not durable yet; the attempt
 * then waits for the word. One that is never given leaves nothing behind but a folder,
 * which the next daemon removes. */
void runner_prepare(Runner *runner, const RunOrder *order);

/* The word. Given to the launcher by this very thread if the runner's has prepared the
 * attempt and sleeps: a start in time saves waking it. */
void runner_go(Runner *runner, JobId id, uint32_t attempt);

/* Both at once. */
void runner_start(Runner *runner, const RunOrder *order);

#define CONTEXT_JOBS_DEFAULT    1000
#define CONTEXT_IDLE_MS_DEFAULT 60000
#define CONTEXT_AGE_MS_DEFAULT  3600000

/* One job of a batch for a warm context. */
typedef struct RunItem {
    JobId id;
    uint32_t attempt;
    bool timed;        /* has a time limit: RUN_STARTED tells when it begins */
    bool children_now; /* its J: lines are J!: lines */
    size_t line_bytes; /* of its line in RunBatch.lines, newline included */
} RunItem;

/* Jobs for one context: the one of this slot and key, else an idle one of the key, else
 * a new one. All is copied. Each job brings one RunAnswer. */
typedef struct RunBatch {
    uint32_t slot;
    Slice key; /* equal keys: may share a context */
    Slice tenant;
    Slice user; /* the account to run as; empty: the launcher's own */
    Slice argv;
    Slice env; /* the handler's own NAME=VALUE, each ended by NUL */
    Slice cwd;
    Slice handler; /* its name; empty: the context is told of none */
    Slice define;  /* the line that tells the context of the handler, with newline */
    bool in_order; /* the context runs one job after the other */
    bool whole;    /* one process for just these: the lines are its input, its end is
                    * the end of each of them (ANSWER_EXITED) */
    Slice lines;   /* of the items, in their order */
    const RunItem *items;
    size_t count;
} RunBatch;

void runner_give(Runner *runner, const RunBatch *batch);

/* To the whole tree. SIGSTOP and SIGCONT pause and resume it; TERM also wakes it. */
void runner_signal(Runner *runner, JobId id, uint32_t attempt, int signal_number);

/* The end of the attempt (ENDED, FAILED, LOST) is recorded: drop what is kept for it
 * but its log. Also for an adopted attempt that no one wants: after its end. */
void runner_forget(Runner *runner, JobId id, uint32_t attempt);

/* Boot time after which the launcher kills the tree, daemon or no daemon. */
void runner_deadline(Runner *runner, JobId id, uint32_t attempt, int64_t boot_ms);
/* The same for all warm contexts, and those that are still to come. */
void runner_lease(Runner *runner, int64_t boot_ms);

/* As output_erase, on another thread. */
void runner_erase(Runner *runner, JobId id, uint32_t attempts);

/* Likewise a file or folder (sweep_path). */
void runner_sweep(Runner *runner, const char *path);

/* Whether the launcher is there and answers. For any thread. */
bool runner_silent(const Runner *runner);

/* How many attempts hang: see RUN_HANGS. For any thread. */
int runner_hanging(const Runner *runner);

typedef enum RunNewsKind {
    RUN_ADOPTED,  /* alive, or ended with its end to follow as RUN_ENDED/RUN_FAILED */
    RUN_LISTED,   /* all there was has been told */
    RUN_STARTED,  /* pid, started_ms, token */
    RUN_HANGS,    /* its program does not run yet, long after the start: the file system
                   * of its working directory or program, or what knows its account,
                   * does not answer. RUN_STARTED or its end may still come. */
    RUN_FAILED,   /* could not be started: step, errno in `number`, text */
    RUN_ENDED,    /* end, text: result, children */
    RUN_LOST,     /* died with its launcher */
    RUN_PROGRESS, /* number: percent; text: message; the latest, not each one */
    RUN_CHILD,    /* a J!: line; number: which of the attempt, from 1; text:
                   * type|payload. After a restart of the daemon they come again. */
    RUN_ANSWERS,  /* of jobs in warm contexts: answers */
    RUN_LAUNCHER_GONE, /* followed by RUN_LOST of all it had; a new one is being started
                        */
    RUN_LAUNCHER_BACK,
} RunNewsKind;

typedef struct RunEnd {
    int32_t exit_status; /* -1 when it did not exit by itself */
    int32_t signal;      /* that ended it, or 0 */
    bool core_dumped;
    uint32_t leftover; /* so many processes of its tree could not be killed */
    int64_t started_ms;
    int64_t ended_ms;
    LaunchUsage usage;
    int32_t said_code; /* of its last R: line; 0: none */
    bool result_cut;
    int32_t progress; /* -1: none */
    int64_t stream_bytes[OUTPUT_STREAMS];
    int64_t stream_first[OUTPUT_STREAMS]; /* more than 0: the front was dropped */
} RunEnd;

#define RUN_TOKEN_BYTES 33 /* 32 hexadecimal digits and the NUL */

typedef struct RunNews {
    Mail mail;
    RunNewsKind kind;
    JobId id;
    uint32_t attempt;
    int32_t pid;
    int32_t number;
    LaunchStep step;
    bool node_fault; /* RUN_FAILED: not the job's own doing */
    int64_t started_ms;
    char token[RUN_TOKEN_BYTES];
    RunEnd end;
    Buf text;
    Buf message;  /* RUN_ENDED: text of the last P: line */
    Buf children; /* RUN_ENDED: lines type|payload of J:, each ended by a newline */
    char *children_path; /* RUN_ENDED: the same, in a file, when they are many, and
                          * before those in `children`; there until runner_forget */
    uint64_t child_count;
    LineNote refused;   /* RUN_ENDED: J: lines that are no jobs */
    RunAnswer *answers; /* RUN_ANSWERS */
    size_t answer_count;
    size_t answer_capacity;
} RunNews;

/* The loop owns news once taken out of the mailbox. */
void run_news_free(RunNews *news);

#endif
