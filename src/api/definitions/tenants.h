/* SPDX-License-Identifier: Apache-2.0 */
/* tenants.h - what is set for tenants, over the API. A tenant is there as soon as it
 * has a job, a handler or a setting. */
#ifndef API_DEFINITIONS_TENANTS_H
#define API_DEFINITIONS_TENANTS_H

#include "http/exchange.h"

void api_tenants_list(Exchange *exchange);
void api_tenant_get(Exchange *exchange);
void api_tenant_put(Exchange *exchange);
void api_tenant_patch(Exchange *exchange);
void api_tenant_delete(Exchange *exchange);

#endif
