/* SPDX-License-Identifier: Apache-2.0 */
/* logs.h - what a job printed: at once, or followed until the job ends. */
#ifndef API_JOBS_LOGS_H
#define API_JOBS_LOGS_H

#include "http/exchange.h"

void api_job_log(Exchange *exchange);

#endif
