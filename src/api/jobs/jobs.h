/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h - adding one job, listing, showing; attempts and results. */
#ifndef API_JOBS_JOBS_H
#define API_JOBS_JOBS_H

#include "http/exchange.h"

void api_jobs_add(Exchange *exchange);
void api_jobs_list(Exchange *exchange);
void api_job_get(Exchange *exchange);
void api_job_clone(Exchange *exchange);
void api_job_attempts(Exchange *exchange);
void api_job_result(Exchange *exchange);

/* The idempotency key of the request: empty if it has none, data NULL if it was refused
 * (and answered). */
Slice api_idempotency_key(Exchange *exchange);

#define API_HASH_BYTES 16

/* Tells one body of a tenant from another. */
Slice api_body_hash(Exchange *exchange, Slice tenant);

#endif
