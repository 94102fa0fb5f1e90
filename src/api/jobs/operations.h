/* SPDX-License-Identifier: Apache-2.0 */
/* operations.h - actions on everything that matches a query, over HTTP. */
#ifndef API_JOBS_OPERATIONS_H
#define API_JOBS_OPERATIONS_H

#include "core/operation.h"
#include "http/exchange.h"

void api_operations_add(Exchange *exchange);
void api_operations_list(Exchange *exchange);
void api_operation_get(Exchange *exchange);
void api_operation_stop(Exchange *exchange);

/* For other handlers: begins the operation (action, tenant, query, reason and count are
 * set) and comes to `then` with it when it is over, or still running after a few seconds.
 * exchange->state belongs to it meanwhile; what fails is answered. */
typedef void OperationStep(Exchange *exchange, const Operation *operation);
void api_operation_run(Exchange *exchange, const Operation *operation,
                       OperationStep *then);

/* The header Location of an answer that speaks of it. */
void api_operation_location(Exchange *exchange, JobId id);

/* POST /groups/{name}/cancel and retry: operations on the members. */
void api_group_cancel(Exchange *exchange);
void api_group_retry(Exchange *exchange);

#endif
