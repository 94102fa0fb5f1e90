/* SPDX-License-Identifier: Apache-2.0 */
/* api_scoreboard.h - 002's scoreboard: which exit code each of many jobs ended with. */
#ifndef SERVE_API_SCOREBOARD_H
#define SERVE_API_SCOREBOARD_H

#include "serve/exchange.h"

#define SCOREBOARD_IDS_MAX 10000

/* GET ?ids=A,B,... or POST {"ids":["A","B",...]}. */
void api_scoreboard(Exchange *exchange);

#endif
