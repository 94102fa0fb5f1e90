/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - the founding path: every line of the body is the payload of a job. */
#ifndef API_JOBS_LINES_H
#define API_JOBS_LINES_H

#include "http/exchange.h"

/* POST /{client}/job/{type}/add */
void api_lines_add(Exchange *exchange);

/* The jobs of the exchange's body for tenant parts[0] and type parts[1]; the parameters
 * are fields of all of them. */
void lines_add(Exchange *exchange);

#endif
