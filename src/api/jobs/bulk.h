/* SPDX-License-Identifier: Apache-2.0 */
/* bulk.h - many jobs in one request: a JSON array, or one JSON document per line. */
#ifndef API_JOBS_BULK_H
#define API_JOBS_BULK_H

#include "http/exchange.h"
#include "model/job_read.h"

#define BULK_JOBS_MAX  1000       /* per call */
#define BULK_BYTES_MAX (8u << 20) /* likewise, so that one call does not fill a turn */
#define BULK_CALLS_MAX 4          /* out at the same time */

/* The rules live as long as the exchange. */
void api_bulk_add(Exchange *exchange, const JobRules *rules, bool ndjson);

#endif
