/* SPDX-License-Identifier: Apache-2.0 */
/* api_controller.h - the controller lock: who has the duties of the cluster. */
#ifndef SERVE_API_CONTROLLER_H
#define SERVE_API_CONTROLLER_H

#include "serve/exchange.h"

void api_controller_get(Exchange *exchange);

#endif
