/* SPDX-License-Identifier: Apache-2.0 */
/* api_events.h - what happens to jobs, as it happens. */
#ifndef SERVE_API_EVENTS_H
#define SERVE_API_EVENTS_H

#include "serve/exchange.h"

void api_events(Exchange *exchange); /* GET /events */

#endif
