/* SPDX-License-Identifier: Apache-2.0 */
/* query.h - lists and searches over the shared store. */
#ifndef STORE_POSTGRES_QUERY_H
#define STORE_POSTGRES_QUERY_H

#include "store/postgres/postgres.h"

MUST_CHECK Err postgres_query(Store *store, const JobQuery *query, const JobSink *sink,
                              QueryEnd *out_end, Error *why);

#endif
