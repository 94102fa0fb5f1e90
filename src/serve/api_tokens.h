/* SPDX-License-Identifier: Apache-2.0 */
/* api_tokens.h - the routes of tokens. A secret is shown once, when it is made. */
#ifndef SERVE_API_TOKENS_H
#define SERVE_API_TOKENS_H

#include "serve/exchange.h"

void api_tokens_list(Exchange *exchange);
void api_token_add(Exchange *exchange);
void api_token_get(Exchange *exchange);
void api_token_delete(Exchange *exchange); /* by the path, or by ?name= */

#endif
