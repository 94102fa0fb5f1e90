/* SPDX-License-Identifier: Apache-2.0 */
/* reserve.h - room that is kept beside the file, for when the disk is full.
 *
 * Who wants to remove jobs must write first, so a full disk would keep itself full. A
 * file of some megabytes takes the room while there is some. The first transaction that
 * finds the disk full gives it back and is tried again; from then on the store says that
 * it is full, so that nothing new is accepted, and what is left serves removing, purging
 * and the ends of jobs. It is over when the disk has room for the reserve again, or when
 * so much is free inside the file. */
#ifndef STORE_SQLITE_RESERVE_H
#define STORE_SQLITE_RESERVE_H

#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define RESERVE_BYTES ((int64_t)8 << 20)

typedef struct Reserve {
    char *path;
    pthread_mutex_t lock; /* of all below */
    bool kept;            /* the file has its room */
    bool full;
    int64_t look_boot; /* when the disk may be asked again */
    int64_t low_boot;  /* likewise, whether it is low */
    bool low;
    int64_t free_bytes; /* inside the store's own file */
} Reserve;

/* path: of the file beside which it is. */
void reserve_init(Reserve *reserve, const char *path);
void reserve_done(Reserve *reserve); /* the file stays */

/* Gives the room back to the disk; false: it has none. */
bool reserve_spend(Reserve *reserve);
bool reserve_needed(const Reserve *reserve); /* the disk has little room */

/* Whether the disk will soon be full: then the store's log must stay much smaller than
 * the reserve, because to move it into the file takes as much room again. */
bool reserve_low(Reserve *reserve);

/* What is free inside the store's own file. */
void reserve_note_free(Reserve *reserve, int64_t bytes);
bool reserve_is_spent(Reserve *reserve);

/* Whether nothing new should come. Asks the disk now and then. Any thread. */
bool reserve_full(Reserve *reserve);

#endif
