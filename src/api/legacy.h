/* SPDX-License-Identifier: Apache-2.0 */
/* legacy.h - the paths of 002's first program, for clients that still use them. Only
 * where the configuration says `daemon: { legacy: on }`, which is loopback as all of it.
 */
#ifndef API_LEGACY_H
#define API_LEGACY_H

#include "http/exchange.h"

void api_legacy_add(Exchange *exchange); /* POST /add?client=&jobtype= */
void api_legacy_start(Exchange *exchange);
void api_legacy_stop(Exchange *exchange);
void api_legacy_quit(Exchange *exchange);

#endif
