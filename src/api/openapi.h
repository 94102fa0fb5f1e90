/* SPDX-License-Identifier: Apache-2.0 */
/* openapi.h - the description of the API, made out of the tables that it runs by. */
#ifndef API_OPENAPI_H
#define API_OPENAPI_H

#include "http/exchange.h"

void api_openapi(Exchange *exchange);

/* The whole document (OpenAPI 3.1). */
void openapi_write(Buf *out);

#endif
