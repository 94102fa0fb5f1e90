/* SPDX-License-Identifier: Apache-2.0 */
/* api_operations.h - actions on everything that matches a query, over HTTP. */
#ifndef SERVE_API_OPERATIONS_H
#define SERVE_API_OPERATIONS_H

#include "serve/exchange.h"

void api_operations_add(Exchange *exchange);
void api_operations_list(Exchange *exchange);
void api_operation_get(Exchange *exchange);
void api_operation_stop(Exchange *exchange);

/* POST /groups/{name}/cancel and retry: operations on the members. */
void api_group_cancel(Exchange *exchange);
void api_group_retry(Exchange *exchange);

#endif
