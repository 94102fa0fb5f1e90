/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.h - what a job's process is given: arguments, environment, standard input.
 *
 * Exactly what the outside contract says ("What a running job sees"), and nothing else
 * of the daemon's own environment but a short list of names. */
#ifndef RUN_PROCESS_PREPARE_H
#define RUN_PROCESS_PREPARE_H

#include "run/process/folder.h"
#include "run/process/process.h"

/* What is the same for all jobs of this daemon. */
typedef struct PrepareBase {
    char *data_dir;
    Buf node;
    Buf api_url;
    Buf inherited; /* NAME=VALUE of the daemon's own, each ended by NUL */
    char *cwd;     /* of jobs that name none: the daemon's HOME, or / */
    uint32_t mask; /* the daemon's umask */
} PrepareBase;

typedef struct Prepared {
    JobId id;
    uint32_t attempt;
    uint32_t flags; /* JobFlag bits, and PREPARED_CHILDREN_NOW */
    char token[RUN_TOKEN_BYTES];
    Buf argv;
    Buf env;
    Buf input; /* for standard input; empty: none */
    Buf document;
    Buf cwd;  /* NUL-ended */
    Buf user; /* tenant and account to run as, each NUL-ended; empty: our own */
    FolderOwner owner;
    int32_t nice;
    int64_t lease_boot;
    uint32_t limit_count;
    LaunchLimit limits[LAUNCH_RLIMITS_MAX];
} Prepared;

/* The account in `user`, or NULL. */
const char *prepared_account(const Prepared *prepared);

#define PREPARED_CHILDREN_NOW (1u << 31)

void prepare_base_init(PrepareBase *base, const RunnerOptions *options);
void prepare_base_done(PrepareBase *base);

void prepare(const PrepareBase *base, const RunOrder *order, Prepared *out);
void prepared_done(Prepared *prepared);

/* The same for a warm context, which is no job's own: *out gets id, token, argv, env and
 * cwd. Its lines are no log, and its temporary directory lives as long as it does. */
void prepare_context(const PrepareBase *base, const RunBatch *batch, JobId id,
                     Prepared *out);

#endif
