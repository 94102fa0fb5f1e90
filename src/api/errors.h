/* SPDX-License-Identifier: Apache-2.0 */
/* errors.h - what the codes of problems mean: where their `type` points to. */
#ifndef API_ERRORS_H
#define API_ERRORS_H

#include "http/exchange.h"

void api_errors(Exchange *exchange); /* GET /docs/errors: all of them, one page */
void api_error(Exchange *exchange);  /* GET /docs/errors/{code}: one, as plain text */

#endif
