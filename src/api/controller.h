/* SPDX-License-Identifier: Apache-2.0 */
/* controller.h - the controller lock: who has the duties of the cluster. */
#ifndef API_CONTROLLER_H
#define API_CONTROLLER_H

#include "http/exchange.h"

void api_controller_get(Exchange *exchange);

#endif
