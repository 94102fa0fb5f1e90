/* SPDX-License-Identifier: Apache-2.0 */
/* query.h - lists and searches: query terms as SQL over all places of jobs.
 *
 * The newest come first. The search goes down the ids in steps: each place of jobs is
 * asked for the same range of ids, what it finds is merged, and between two steps the
 * clock is looked at. Terms become conditions of the statement where SQL can judge them
 * cheaply; every job found is judged again by query_matches. */
#ifndef STORE_SQLITE_QUERY_H
#define STORE_SQLITE_QUERY_H

#include "store/sqlite/sqlite.h"

MUST_CHECK Err sqlite_query(Store *store, const JobQuery *query, const JobSink *sink,
                            QueryEnd *out_end, Error *why);

#endif
