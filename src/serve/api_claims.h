/* SPDX-License-Identifier: Apache-2.0 */
/* api_claims.h - pull workers over HTTP: take jobs, renew leases, tell results. */
#ifndef SERVE_API_CLAIMS_H
#define SERVE_API_CLAIMS_H

#include "serve/exchange.h"

void api_claim(Exchange *exchange);        /* POST /claims */
void api_claim_renew(Exchange *exchange);  /* POST /claims/renew */
void api_claim_finish(Exchange *exchange); /* POST /claims/finish */

#endif
