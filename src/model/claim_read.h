/* SPDX-License-Identifier: Apache-2.0 */
/* claim_read.h - what pull workers send, checked: a claim, and items of renew and finish.
 *
 * As job_read.h: a field that is unknown or wrong is refused with a pointer to it.
 * Slices borrow from the JSON or live in the arena. */
#ifndef MODEL_CLAIM_READ_H
#define MODEL_CLAIM_READ_H

#include "model/claim_token.h"
#include "model/job_read.h"

typedef struct ClaimReader {
    Arena *arena;
    const ClaimKey *key;   /* items: by which their tokens are judged, */
    uint16_t node;         /* if this node gave the job; 0: there is no other */
    const JobRules *rules; /* items: for the jobs that come with a result */
    uint64_t result_bytes_max;
    Problem why; /* set after an error */

    ClaimAsk ask;
    uint32_t max;
    ClaimItem *items;
    uint16_t *holders; /* of each item: the other node that gave it; 0: this one */
    size_t item_count;

    /* Of the item that is being read. */
    ClaimItem item;
    Slice token;
} ClaimReader;

/* The body of POST /claims: ask and max. */
MUST_CHECK Err claim_read(ClaimReader *in, const JsonIn *object);

/* The bodies of renew and finish: items, each with its ending for the latter. */
MUST_CHECK Err claim_read_items(ClaimReader *in, const JsonIn *object, bool finish);

#endif
