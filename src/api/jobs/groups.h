/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h - groups over HTTP: how far their jobs are, and what comes after. */
#ifndef API_JOBS_GROUPS_H
#define API_JOBS_GROUPS_H

#include "http/exchange.h"

void api_group_get(Exchange *exchange);
void api_group_put(Exchange *exchange);
void api_group_delete(Exchange *exchange);

#endif
