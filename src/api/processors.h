/* SPDX-License-Identifier: Apache-2.0 */
/* processors.h - processors of directories over HTTP: list, show, set, signal. */
#ifndef API_PROCESSORS_H
#define API_PROCESSORS_H

#include "http/exchange.h"

/* Adds what /metrics says about processors to exchange->out, then goes on. */
void api_processors_meter(Exchange *exchange, Step *then);

void api_processors_list(Exchange *exchange);
void api_processor_get(Exchange *exchange);
void api_processor_put(Exchange *exchange);
void api_processor_unit(Exchange *exchange);
void api_processor_signal(Exchange *exchange);

#endif
