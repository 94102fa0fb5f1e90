/* SPDX-License-Identifier: Apache-2.0 */
/* queues.h - queues: shown with their counts, defined, paused, cleared. */
#ifndef API_DEFINITIONS_QUEUES_H
#define API_DEFINITIONS_QUEUES_H

#include "core/queue.h"
#include "http/exchange.h"

void api_queues_list(Exchange *exchange);
void api_queue_get(Exchange *exchange);
void api_queue_put(Exchange *exchange);
void api_queue_patch(Exchange *exchange);
void api_queue_delete(Exchange *exchange);
void api_queue_pause(Exchange *exchange);
void api_queue_resume(Exchange *exchange);
void api_queue_clear(Exchange *exchange);

#endif
