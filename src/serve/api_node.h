/* SPDX-License-Identifier: Apache-2.0 */
/* api_node.h - the node itself: settings, numbers, health. */
#ifndef SERVE_API_NODE_H
#define SERVE_API_NODE_H

#include "serve/exchange.h"

void api_config_get(Exchange *exchange);
void api_config_patch(Exchange *exchange);
void api_stats(Exchange *exchange);
void api_metrics(Exchange *exchange);
void api_index(Exchange *exchange);
void api_root(Exchange *exchange);
void api_livez(Exchange *exchange);
void api_readyz(Exchange *exchange);

#endif
