/* SPDX-License-Identifier: Apache-2.0 */
/* partitions.h - parts of the archive, and how they go as a whole.
 *
 * A part has the jobs of one family that came within about three days (PG_PART_SHIFT).
 * Once all of them are old it is taken out of the archive, in one short step by itself:
 * from then on no one finds its jobs. What stands beside them (results, payloads,
 * attempts, bookings, keys, counts) goes afterwards, a page at a time, each together with
 * the id up to which that was done; at last the table. Wherever that is interrupted, what
 * is left is work, and counts that are still to fall.
 *
 * Taking out and dropping need a lock that no one else may have, for a moment: whoever
 * reads for long is not waited for, it is tried again when the node asks again. */
#ifndef STORE_POSTGRES_PARTITIONS_H
#define STORE_POSTGRES_PARTITIONS_H

#include "store/postgres/postgres.h"

/* What a look for old jobs finds; for LOAD_OLD. */
typedef struct PgOld {
    bool whole;    /* OP_DROP would find something */
    bool held;     /* some parts are left out, because they will go as a whole */
    PgArray parts; /* if so: those to look into; int8 */
    PgArray gone;  /* parts that went and may have jobs left to be swept; int8 */
    PgArray swept; /* and how far each has come */
} PgOld;

void pgparts_look(Postgres *pg, const Load *load, PgOld *out);
void pgparts_look_done(PgOld *old);

/* The table of a part that went. */
void pgparts_gone_name(Buf *out, Place place, int64_t part);

/* OP_SWEPT, within the commit. */
void pgparts_sweep(Postgres *pg, const Op *op);

/* Behind a commit with OP_DROP, or one that removed old jobs: takes out, drops what is
 * swept or empty. Of no concern to anyone: what fails is tried again later. */
void pgparts_tend(Postgres *pg);

/* Sweeps everything that went. */
MUST_CHECK Err pgparts_sweep_all(Store *store, Error *why);

#endif
