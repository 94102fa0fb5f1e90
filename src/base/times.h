/* SPDX-License-Identifier: Apache-2.0 */
/* times.h - moments and durations as plain milliseconds, and their texts.
 *
 * Two clocks reach the core: wall time (due times, schedules, what people read) and
 * boot time (leases, deadlines, intervals), which no one can set. Both are passed in
 * as a Now; only clock_now() reads them. */
#ifndef BASE_TIMES_H
#define BASE_TIMES_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

#define TIME_NEVER  INT64_MAX
#define MS_PER_S    1000LL
#define MS_PER_MIN  (60 * MS_PER_S)
#define MS_PER_HOUR (60 * MS_PER_MIN)
#define MS_PER_DAY  (24 * MS_PER_HOUR)

/* 002 archives a job by moving its date 1000 years ahead: 365,242.5 days. */
#define MS_PER_1000_YEARS (3652425LL * MS_PER_DAY / 10)

/* The largest moment accepted from outside: the year 2999, so that an archived
 * date still has a four-digit year. */
#define TIME_WALL_MAX_MS 32503679999999LL

typedef struct Now {
    int64_t wall_ms; /* UTC, since 1970 */
    int64_t boot_ms; /* since boot, suspend included */
} Now;

/* The one reading of the clocks. Never called by core. */
Now clock_now(void);

/* Days since 1970-01-01 of a date, and back. */
int64_t days_from_civil(int64_t year, int month, int day);
void civil_from_days(int64_t days, int64_t *out_year, int *out_month, int *out_day);

#define TIME_TEXT_BYTES 64 /* the compiler must see room for any int */

/* RFC 3339 UTC with milliseconds; TIME_NEVER gives "". Returns out. */
char *time_text(int64_t wall_ms, char out[TIME_TEXT_BYTES]);

/* RFC 3339 with Z or an offset, any number of fraction digits (kept to the ms). */
MUST_CHECK Err time_parse(Slice text, int64_t *out_wall_ms);

#define DURATION_TEXT_BYTES 48

/* ISO 8601, e.g. PT1H30M, PT0.2S. */
char *duration_iso(int64_t duration_ms, char out[DURATION_TEXT_BYTES]);

/* For people: 1h30m, 45s, 200ms. */
char *duration_human(int64_t duration_ms, char out[DURATION_TEXT_BYTES]);

/* ISO 8601 with or without the leading P, 90s, 1h30m, 200ms, 2d, 1w, bare seconds;
 * months and years are refused because they have no fixed length. */
MUST_CHECK Err duration_parse(Slice text, int64_t *out_ms, Error *why);

#endif
