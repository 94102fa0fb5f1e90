/* SPDX-License-Identifier: Apache-2.0 */
/* when.h - moments as people type them, and as they are echoed back.
 *
 *     2026-11-15T18:30:00Z   2026-11-15T18:30   18:30   tomorrow 9:00   +90m   now
 *     9am   9:30pm   mon 08:00   next friday
 *
 * Words without a zone are local time. `now` is passed in; the zone is the process's. */
#ifndef CLI_PRINT_WHEN_H
#define CLI_PRINT_WHEN_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

MUST_CHECK Err when_parse(Slice text, int64_t now_ms, int64_t *out_wall_ms, Error *why);

#define WHEN_TEXT_BYTES 96

/* Local time and UTC, e.g. "Sun 15 Nov 2026 18:30:00 CET (2026-11-15T17:30:00.000Z)". */
char *when_echo(int64_t wall_ms, char out[WHEN_TEXT_BYTES]);

/* Local time to the second, short: "2026-11-15 18:30:00". "-" for no moment. */
char *when_local(int64_t wall_ms, char out[WHEN_TEXT_BYTES]);

/* How long ago or ahead, one unit: "3s", "12m", "5h", "9d". */
char *when_age(int64_t ms, char out[WHEN_TEXT_BYTES]);

/* How long something took: "0.12s", "3.4s", "12s", "1h30m". */
char *when_span(int64_t ms, char out[WHEN_TEXT_BYTES]);

#endif
