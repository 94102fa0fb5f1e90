/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - the node itself: settings, numbers, health. */
#ifndef API_NODE_H
#define API_NODE_H

#include "http/exchange.h"

void api_config_get(Exchange *exchange);
void api_config_values(Exchange *exchange);
void api_config_patch(Exchange *exchange);
void api_stats(Exchange *exchange);
void api_metrics(Exchange *exchange);
void api_index(Exchange *exchange);
void api_livez(Exchange *exchange);
void api_readyz(Exchange *exchange);

#endif
