/* SPDX-License-Identifier: Apache-2.0 */
/* slot_sharing.h - jobs that share a slot: those of one warm context, or of one batch.
 *
 * A warm context takes one slot while it is busy. How many jobs it is given at once
 * follows its pace: about BATCH_TARGET_US of work, so that a fast one never waits for the
 * disk, and behind a slow one no job waits that another slot could run. */
#ifndef CORE_DISPATCH_SLOT_SHARING_H
#define CORE_DISPATCH_SLOT_SHARING_H

#include "core/node/state.h"

#define BATCH_TARGET_US                                                                  \
    100000 /* of work in a context's hands: longer than a slow disk takes */
#define BATCH_SLOW_US    20000 /* jobs that take longer are given one by one */
#define BATCH_LOOK_MS    20    /* between two looks at its pace */
#define BATCH_MEMORY     8     /* jobs that the average looks back on */
#define BATCH_GROWTH     4     /* at most so much more after each look */
#define BATCH_WINDOW_MAX 4096  /* jobs in one context's hands */
#define BATCH_SHARED_MAX                                                                 \
    1024                 /* likewise on a shared store: each costs two rows there if     \
                            it does not end in the commit that it begins in */
#define BATCH_QUANTUM 64 /* jobs of a turn while other lanes wait for theirs */

typedef struct BatchPlace {
    uint32_t slot; /* of a context that has room; 0: a free slot is to be taken */
    uint32_t warm; /* which contexts can run it; 0: it runs by itself */
    uint32_t
        jobs; /* of this lane and type that may go there in a row, this one counted */
} BatchPlace;

/* Where a ready job would run now. False: nowhere, all slots are taken. */
bool slot_sharing_place(const Node *node, const Head *head, BatchPlace *out);

/* The number that handlers have in common whose jobs may share a context; 0: none. */
uint32_t slot_sharing_kind(Node *node, const Handler *handler);

/* A job begins or ends in its slot. */
void slot_sharing_began(Node *node, const Running *running);
void slot_sharing_ended(Node *node, const Running *running);
void slot_sharing_took(Node *node, const Running *running, int64_t took_us);

#endif
