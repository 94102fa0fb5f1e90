/* SPDX-License-Identifier: Apache-2.0 */
/* scoreboard.h - 002's scoreboard: which exit code each of many jobs ended with. */
#ifndef API_JOBS_SCOREBOARD_H
#define API_JOBS_SCOREBOARD_H

#include "http/exchange.h"

#define SCOREBOARD_IDS_MAX 10000

/* GET ?ids=A,B,... or POST {"ids":["A","B",...]}. */
void api_scoreboard(Exchange *exchange);

#endif
