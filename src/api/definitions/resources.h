/* SPDX-License-Identifier: Apache-2.0 */
/* resources.h - resource managers: shown with who holds what, defined, deleted. */
#ifndef API_DEFINITIONS_RESOURCES_H
#define API_DEFINITIONS_RESOURCES_H

#include "http/exchange.h"

void api_resources_list(Exchange *exchange);
void api_resource_get(Exchange *exchange);
void api_resource_put(Exchange *exchange);
void api_resource_patch(Exchange *exchange);
void api_resource_delete(Exchange *exchange);

#endif
