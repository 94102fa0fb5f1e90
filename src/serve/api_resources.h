/* SPDX-License-Identifier: Apache-2.0 */
/* api_resources.h - resource managers: shown with who holds what, defined, deleted. */
#ifndef SERVE_API_RESOURCES_H
#define SERVE_API_RESOURCES_H

#include "serve/exchange.h"

void api_resources_list(Exchange *exchange);
void api_resource_get(Exchange *exchange);
void api_resource_put(Exchange *exchange);
void api_resource_delete(Exchange *exchange);

#endif
