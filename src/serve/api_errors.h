/* SPDX-License-Identifier: Apache-2.0 */
/* api_errors.h - what the codes of problems mean: where their `type` points to. */
#ifndef SERVE_API_ERRORS_H
#define SERVE_API_ERRORS_H

#include "serve/exchange.h"

void api_errors(Exchange *exchange); /* GET /docs/errors: all of them, one page */
void api_error(Exchange *exchange);  /* GET /docs/errors/{code}: one, as plain text */

#endif
