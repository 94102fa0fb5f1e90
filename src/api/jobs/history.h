/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - what has happened to one job, as the store knows it: when it was added, its
 * attempts, and what people did to it. */
#ifndef API_JOBS_HISTORY_H
#define API_JOBS_HISTORY_H

#include "http/exchange.h"

void api_job_events(Exchange *exchange);

#endif
