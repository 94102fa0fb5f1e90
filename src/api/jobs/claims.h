/* SPDX-License-Identifier: Apache-2.0 */
/* claims.h - pull workers over HTTP: take jobs, renew leases, tell results. */
#ifndef API_JOBS_CLAIMS_H
#define API_JOBS_CLAIMS_H

#include "http/exchange.h"

void api_claim(Exchange *exchange);        /* POST /claims */
void api_claim_renew(Exchange *exchange);  /* POST /claims/renew */
void api_claim_finish(Exchange *exchange); /* POST /claims/finish */

#endif
