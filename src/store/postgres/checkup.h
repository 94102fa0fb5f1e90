/* SPDX-License-Identifier: Apache-2.0 */
/* checkup.h - what a PostgreSQL server says of itself that matters for what it
 * keeps for us, and what to think of it. Nothing is changed there.
 *
 * Looking and judging are two steps, so that servers we cannot have can be judged. */
#ifndef STORE_POSTGRES_CHECKUP_H
#define STORE_POSTGRES_CHECKUP_H

#include "base/finding.h"
#include "store/postgres/schema.h"

typedef struct PgFacts {
    int64_t version; /* 150004 is 15.4 */
    bool fsync;
    bool full_page_writes;
    char synchronous_commit[16]; /* as this user has it in this database */
    bool names_standbys;         /* synchronous_standby_names */
    bool sees_standbys;          /* this user may */
    int64_t standbys;            /* synchronous ones that are connected */
    int64_t connections_left;    /* for this user in this database */
    bool pooled;                 /* someone stands between us and the server */
    int64_t skew_ms;             /* its clock is ahead of ours */
    int64_t unsure_ms;           /* give or take */
    PgSchema schema;
    int schema_known; /* the last step of this program */
} PgFacts;

/* Fills *out from a link that is connected. */
MUST_CHECK Err pgfacts_read(PgLink *link, PgFacts *out, Error *why);

void pgfacts_judge(const PgFacts *facts, const Findings *findings);

/* Whether the url is one of a server; others have nothing to check here. */
bool postgres_is_url(const char *url);

/* Connects, looks and judges. */
void postgres_checkup(const char *url, const Findings *findings);

#endif
