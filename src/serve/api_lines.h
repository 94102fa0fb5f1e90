/* SPDX-License-Identifier: Apache-2.0 */
/* api_lines.h - the founding path: every line of the body is the payload of a job. */
#ifndef SERVE_API_LINES_H
#define SERVE_API_LINES_H

#include "serve/exchange.h"

/* POST /{client}/job/{type}/add */
void api_lines_add(Exchange *exchange);

/* The jobs of the exchange's body for tenant parts[0] and type parts[1]; the parameters
 * are fields of all of them. */
void lines_add(Exchange *exchange);

#endif
