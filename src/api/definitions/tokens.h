/* SPDX-License-Identifier: Apache-2.0 */
/* tokens.h - the routes of tokens. A secret is shown once, when it is made. */
#ifndef API_DEFINITIONS_TOKENS_H
#define API_DEFINITIONS_TOKENS_H

#include "http/exchange.h"

void api_tokens_list(Exchange *exchange);
void api_token_add(Exchange *exchange);
void api_token_get(Exchange *exchange);
void api_token_delete(Exchange *exchange); /* by the path, or by ?name= */

#endif
