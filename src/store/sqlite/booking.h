/* SPDX-License-Identifier: Apache-2.0 */
/* booking.h - what attempts hold of resources, and the items that can be held.
 *
 * Bookings are rows of their own: jobs that need nothing cost nothing. */
#ifndef STORE_SQLITE_BOOKING_H
#define STORE_SQLITE_BOOKING_H

#include "core/job.h"
#include "store/sqlite/db.h"

void booking_put(Db *db, JobId id, uint32_t attempt, Slice bookings);
Slice booking_get(Db *db, JobId id, uint32_t attempt, Arena *arena);
void booking_remove(Db *db, JobId id);

/* A resource was defined as `packed`, or deleted (no data): the rows that people see. */
void booking_items(Db *db, Slice key, Slice packed);

#endif
