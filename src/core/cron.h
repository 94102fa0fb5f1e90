/* SPDX-License-Identifier: Apache-2.0 */
/* cron.h - when a schedule is due: five fields, a short name, or an interval.
 *
 * Fields are minute, hour, day of month, month, day of week, as ISC cron reads them:
 * names (jan, mon), lists, ranges, steps; days match when either does, if both are
 * restricted. L is the last day of the month; 5L in the last field the last Friday.
 * @hourly, @daily (@midnight), @weekly, @monthly, @yearly (@annually) stand for five
 * fields; `@every 90s` (an addition) is due at every multiple of that time since 1970.
 *
 * When clocks change: a schedule with a fixed minute and hour that is skipped is due at
 * the moment of the change (once, however many of its times are skipped), and one that
 * comes twice is due the first time only; one with a * in minute or hour follows the
 * clock. */
#ifndef CORE_CRON_H
#define CORE_CRON_H

#include "core/zone.h"

#include <stdbool.h>

#define CRON_TEXT_MAX     256
#define CRON_EVERY_MIN_MS 1000

typedef struct Cron {
    uint64_t minutes;
    uint32_t hours;
    uint32_t days; /* bit 1 to 31 */
    uint16_t months;
    uint8_t weekdays; /* bit 0: Sunday */
    uint8_t last_weekdays;
    bool last_day;
    bool any_day; /* its field begins with a star */
    bool any_weekday;
    bool wild;        /* a star in minute or hour: it follows the clock */
    int64_t every_ms; /* not 0: an interval, and nothing of the above */
} Cron;

/* ERR_INVALID: *why names the field, what it says and what it may say. */
MUST_CHECK Err cron_parse(Slice text, Cron *out_cron, Error *why);

/* The first moment after `after_ms` at which it is due; TIME_NEVER: not before the year
 * 3000. */
int64_t cron_next(const Cron *cron, const Zone *zone, int64_t after_ms);

#endif
