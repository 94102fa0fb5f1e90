/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - what happens to jobs, as it happens. */
#ifndef API_EVENTS_H
#define API_EVENTS_H

#include "http/exchange.h"

void api_events(Exchange *exchange); /* GET /events */

#endif
