/* SPDX-License-Identifier: Apache-2.0 */
/* api_logs.h - what a job printed: at once, or followed until the job ends. */
#ifndef SERVE_API_LOGS_H
#define SERVE_API_LOGS_H

#include "serve/exchange.h"

void api_job_log(Exchange *exchange);

#endif
