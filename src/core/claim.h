/* SPDX-License-Identifier: Apache-2.0 */
/* claim.h - what pull workers ask for and tell: claims, renewals, results.
 *
 * Whether a token is right is for the door to find out (`trusted`); here an item that is
 * not trusted is as good as one of an attempt that no one knows. */
#ifndef CORE_CLAIM_H
#define CORE_CLAIM_H

#include "core/job.h"

#define CLAIM_JOBS_MAX     1000 /* of one claim, renewal or result */
#define CLAIM_NAMES_MAX    100  /* queues, and types, that one claim names */
#define CLAIM_WAIT_MAX_MS  (10 * MS_PER_MIN)
#define CLAIM_LEASE_MIN_MS MS_PER_S
#define CLAIM_LEASE_MAX_MS MS_PER_DAY

/* The jobs that a worker would take. */
typedef struct ClaimAsk {
    Slice queues; /* each ended by NUL; empty: any */
    Slice types;  /* likewise */
    Slice worker; /* its name, for people; may be empty */
    int64_t lease_ms;
    int64_t wait_ms; /* how long it waits for the first one */
} ClaimAsk;

typedef enum ClaimStatus {
    CLAIM_OK,
    CLAIM_LOST,   /* it is not this worker's (any more) */
    CLAIM_CANCEL, /* it is, but its end is asked for */
    CLAIM_LATE,   /* a result that no one waits for */
} ClaimStatus;

const char *claim_status_name(ClaimStatus status);

#endif
