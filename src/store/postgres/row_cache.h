/* SPDX-License-Identifier: Apache-2.0 */
/* row_cache.h - rows of live jobs that a node wrote or read last, so that it need
 * not read them again.
 *
 * A joined node's jobs change by its own commits alone, and those go through one handle:
 * what that handle wrote last is what stands in the store. It is so for as long as the
 * node's epoch is the same and no one has fenced it, which every commit looks at first
 * (and holds against a fence, to its end), and as long as no commit has failed and the
 * connection is the same. Else all is forgotten. Whoever is not joined knows nothing.
 *
 * Two parts, a younger and an older one; when the younger is full, the older goes. */
#ifndef STORE_POSTGRES_ROW_CACHE_H
#define STORE_POSTGRES_ROW_CACHE_H

#include "base/map.h"

#define KNOWN_BYTES_MAX ((size_t)8 << 20) /* of each part */
#define KNOWN_NEW_MAX   16384 /* jobs added in one commit; more will wait for long */

typedef struct PgKnownPart {
    Map rows; /* by id: KnownRow */
    Arena arena;
    size_t bytes;
} PgKnownPart;

/* What must stay the same. */
typedef struct PgKnownWhile {
    uint32_t node; /* 0: knows nothing */
    uint64_t epoch;
    uint64_t connects;
} PgKnownWhile;

typedef struct PgKnown {
    PgKnownWhile since;
    PgKnownPart parts[2]; /* younger, older */
    bool used;            /* in the commit under way */
    uint32_t added;       /* likewise */
} PgKnown;

/* Forgets all unless it was so before; at the beginning of a commit. */
void pgknown_begin(PgKnown *known, const PgKnownWhile *now);

/* A row as a bulk copy has it; it stays where it is until pgknown_end. Not there: no
 * bytes. */
Slice pgknown_find(PgKnown *known, uint64_t id);
/* A row that is new in the store, or has changed; only the node's own are kept. */
void pgknown_add(PgKnown *known, uint64_t id, uint32_t owner, Slice row);
void pgknown_put(PgKnown *known, uint64_t id, uint32_t owner, Slice row);
void pgknown_remove(PgKnown *known, uint64_t id);
void pgknown_end(PgKnown *known);

/* From now on it knows nothing, until the next begin; what was found stays where it is
 * until then. */
void pgknown_distrust(PgKnown *known);
void pgknown_drop(PgKnown *known); /* likewise, and nothing stays */

#endif
