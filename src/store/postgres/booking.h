/* SPDX-License-Identifier: Apache-2.0 */
/* booking.h - what attempts hold or held of resources, and the resources'
 * items, for the views of people. */
#ifndef STORE_POSTGRES_BOOKING_H
#define STORE_POSTGRES_BOOKING_H

#include "store/postgres/postgres.h"

/* Adds the rows of a booking (job.h) to the columns job, attempt, key, item, amount. */
void pgbooking_put(PgArray *columns, JobId id, uint32_t attempt, Slice bookings);

/* The booking of an attempt, as it was; in the arena. */
Slice pgbooking_get(Postgres *pg, JobId id, uint32_t attempt, Arena *arena);

/* A manager's definition has changed; no packed: it is gone. */
void pgbooking_items(Postgres *pg, Slice key, Slice packed);

#endif
