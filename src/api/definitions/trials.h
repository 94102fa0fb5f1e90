/* SPDX-License-Identifier: Apache-2.0 */
/* trials.h - trying a handler out over the API: one run, nothing stored. */
#ifndef API_DEFINITIONS_TRIALS_H
#define API_DEFINITIONS_TRIALS_H

#include "http/exchange.h"

void api_handler_try(Exchange *exchange);

#endif
