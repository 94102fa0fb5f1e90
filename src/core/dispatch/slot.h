/* SPDX-License-Identifier: Apache-2.0 */
/* slot.h - the node's slots, and how fast what shares one is; for node/state.h. */
#ifndef CORE_DISPATCH_SLOT_H
#define CORE_DISPATCH_SLOT_H

#include <stdint.h>

/* A slot, and what is in it: one job that runs by itself, or jobs of one warm context. */
typedef struct Slot {
    uint32_t jobs;
    uint32_t warm; /* BatchPlace.warm; 0: none */
} Slot;

/* How fast the contexts of a handler are: see slot_sharing.h. */
typedef struct Pace {
    uint32_t window;   /* jobs for one context's hands */
    uint32_t contexts; /* slots that are busy with it */
    uint32_t slot;     /* that was last given a job */
    uint64_t in_hand;
    int64_t took_us;   /* a job of late, on average */
    int64_t look_boot; /* when the window was last set */
} Pace;

#endif
