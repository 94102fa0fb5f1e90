/* SPDX-License-Identifier: Apache-2.0 */
/* zone.h - a time zone out of the bytes of a TZif file (RFC 8536): which offset holds
 * when, in the past by the file's table, later by its POSIX rule.
 *
 * Pure: whoever reads the file gives its bytes. Seconds since 1970 throughout, UTC unless
 * named local; a local time is counted as if it were UTC. */
#ifndef CORE_ZONE_H
#define CORE_ZONE_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

#define ZONE_BYTES_MAX (256 << 10) /* the largest of tzdata has 4 KiB */

/* When in a year a POSIX rule changes. */
typedef struct ZoneDay {
    char kind; /* 'M': month, week, weekday; 'J': day 1 to 365, no leap day; '0': day 0 to
                  365 */
    int month;
    int week; /* 5: the last */
    int day;
    int32_t time_s; /* local time of that day; may be outside it */
} ZoneDay;

typedef struct ZoneRule {
    int32_t standard_s; /* offsets east of Greenwich */
    int32_t summer_s;
    bool has_summer;
    ZoneDay begins;
    ZoneDay ends;
} ZoneRule;

typedef struct ZoneChange {
    int64_t at_s;
    int32_t offset_s; /* from then on */
} ZoneChange;

typedef struct Zone {
    ZoneChange *changes; /* in order */
    size_t count;
    int32_t first_s; /* offset before the first */
    bool has_rule;   /* for what comes after the last */
    ZoneRule rule;
} Zone;

/* All zero is UTC. ERR_CORRUPT with the reason for bytes that are no TZif. */
MUST_CHECK Err zone_parse(Slice tzif, Zone *out_zone, Error *why);
Zone zone_copy(const Zone *zone);
void zone_done(Zone *zone);

/* The stretch of time with one offset that a moment is in: from included, until not. */
typedef struct ZoneSpan {
    int64_t from_s;  /* INT64_MIN: ever */
    int64_t until_s; /* INT64_MAX: for ever */
    int32_t offset_s;
} ZoneSpan;
ZoneSpan zone_span(const Zone *zone, int64_t utc_s);

/* The moment of a local time: of one that comes twice the first, of one that is skipped
 * the moment of the change (*out_gap_s: how much was skipped; 0: nothing). */
int64_t zone_to_utc(const Zone *zone, int64_t local_s, int32_t *out_gap_s);

#endif
