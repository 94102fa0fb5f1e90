/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.h - the nodes of the store: what each is doing, its slots, draining it.
 *
 * What a node is asked (slots, to drain) is a definition under its sysid. So every node
 * can be asked through any other, and while it is away, too. */
#ifndef API_NODES_H
#define API_NODES_H

#include "http/exchange.h"

/* Of this machine, in PEER_LOAD_PARTS: 1, 5, 15 minutes. */
void load_average(uint32_t out[3]);

void api_nodes(Exchange *exchange);
void api_node_get(Exchange *exchange);
void api_node_patch(Exchange *exchange);
void api_node_drain(Exchange *exchange);
void api_node_forget(Exchange *exchange);
void api_node_resume(Exchange *exchange);

#endif
