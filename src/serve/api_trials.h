/* SPDX-License-Identifier: Apache-2.0 */
/* api_trials.h - trying a handler out over the API: one run, nothing stored. */
#ifndef SERVE_API_TRIALS_H
#define SERVE_API_TRIALS_H

#include "serve/exchange.h"

void api_handler_try(Exchange *exchange);

#endif
