/* SPDX-License-Identifier: Apache-2.0 */
/* api_groups.h - groups over HTTP: how far their jobs are, and what comes after. */
#ifndef SERVE_API_GROUPS_H
#define SERVE_API_GROUPS_H

#include "serve/exchange.h"

void api_group_get(Exchange *exchange);
void api_group_put(Exchange *exchange);
void api_group_delete(Exchange *exchange);

#endif
