/* SPDX-License-Identifier: Apache-2.0 */
/* error_groups.h - what goes wrong, grouped by message (GET /errors).
 *
 * Messages that differ only in numbers and quoted words are one group. Jobs are read
 * newest first for a bounded time; `partial` says that older ones were not looked at. */
#ifndef API_JOBS_ERROR_GROUPS_H
#define API_JOBS_ERROR_GROUPS_H

#include "http/exchange.h"

void api_errors_list(Exchange *exchange);

/* The message with what differs from job to job replaced: numbers by N, hexadecimal ids
 * and quoted words by X. In the arena. */
Slice error_pattern(Arena *arena, Slice message);

#endif
