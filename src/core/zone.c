/* SPDX-License-Identifier: Apache-2.0 */
/* zone.c - see zone.h. */
#include "core/zone.h"

#include "base/times.h"

#define HEADER_BYTES  44
#define DAY_S         86400
#define LOCAL_REACH_S (26 * 3600) /* no offset is larger, and a change not either */
#define RULE_HOURS    167         /* of a rule's time, RFC 8536 */

/* --- Reading the file -------------------------------------------------------------- */

typedef struct Counts { /* of one block, as its header has them */
    uint32_t isut;
    uint32_t isstd;
    uint32_t leap;
    uint32_t time;
    uint32_t type;
    uint32_t chars;
} Counts;

static uint32_t read_u32(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static int64_t read_time(const char *at, size_t width)
{
    if (width == 4)
        return (int32_t)read_u32(at);
    return (int64_t)((uint64_t)read_u32(at) << 32 | read_u32(at + 4));
}

static bool read_header(Slice text, Counts *out, char *out_version)
{
    if (text.bytes < HEADER_BYTES || memcmp(text.data, "TZif", 4) != 0)
        return false;
    *out_version = text.data[4];
    *out = (Counts){
        .isut = read_u32(text.data + 20),
        .isstd = read_u32(text.data + 24),
        .leap = read_u32(text.data + 28),
        .time = read_u32(text.data + 32),
        .type = read_u32(text.data + 36),
        .chars = read_u32(text.data + 40),
    };
    uint32_t most = ZONE_BYTES_MAX;
    return out->isut <= most && out->isstd <= most && out->leap <= most &&
           out->time <= most && out->type <= most && out->chars <= most;
}

static size_t block_bytes(const Counts *counts, size_t width)
{
    return (size_t)counts->time * (width + 1) + (size_t)counts->type * 6 + counts->chars +
           (size_t)counts->leap * (width + 4) + counts->isstd + counts->isut;
}

/* Changes with one offset on both sides (only the name changes) are left out. */
static Err read_block(Slice block, const Counts *counts, size_t width, Zone *zone)
{
    const char *times = block.data;
    const char *kinds = times + (size_t)counts->time * width;
    const char *types = kinds + counts->time;
    if (!counts->type)
        return ERR_CORRUPT;
    zone->first_s = (int32_t)read_u32(types);
    int32_t now_s = zone->first_s;
    int64_t last = INT64_MIN;
    zone->changes = MEM_ARRAY(ZoneChange, counts->time ? counts->time : 1);
    for (size_t i = 0; i < counts->time; i++) {
        unsigned char kind = (unsigned char)kinds[i];
        int64_t at_s = read_time(times + i * width, width);
        if (kind >= counts->type || at_s < last)
            return ERR_CORRUPT;
        last = at_s;
        int32_t offset_s = (int32_t)read_u32(types + (size_t)kind * 6);
        if (offset_s > DAY_S + 7200 || offset_s < -DAY_S - 7200)
            return ERR_CORRUPT;
        if (offset_s != now_s)
            zone->changes[zone->count++] = (ZoneChange){ at_s, offset_s };
        now_s = offset_s;
    }
    return ERR_OK;
}

/* --- The POSIX rule ------------------------------------------------------------------
 */

static bool take(Slice *text, char c)
{
    if (!text->bytes || *text->data != c)
        return false;
    *text = slice_from(*text, 1);
    return true;
}

static bool take_int(Slice *text, int most, int *out)
{
    int value = 0;
    size_t digits = 0;
    while (digits < text->bytes && text->data[digits] >= '0' &&
           text->data[digits] <= '9' && digits < 4)
        value = value * 10 + (text->data[digits++] - '0');
    *text = slice_from(*text, digits);
    *out = value;
    return digits && value <= most;
}

/* [+-]h[h][:mm[:ss]] */
static bool take_hours(Slice *text, int most, int32_t *out_s)
{
    int hours;
    int minutes = 0;
    int seconds = 0;
    bool minus = take(text, '-');
    if (!minus)
        take(text, '+');
    if (!take_int(text, most, &hours))
        return false;
    if (take(text, ':') && !take_int(text, 59, &minutes))
        return false;
    if (minutes >= 0 && take(text, ':') && !take_int(text, 59, &seconds))
        return false;
    int32_t sum = hours * 3600 + minutes * 60 + seconds;
    *out_s = minus ? -sum : sum;
    return true;
}

/* A name: letters, or anything in angle brackets. */
static bool take_name(Slice *text)
{
    size_t bytes = 0;
    if (take(text, '<')) {
        while (bytes < text->bytes && text->data[bytes] != '>')
            bytes++;
        *text = slice_from(*text, bytes);
        return bytes && take(text, '>');
    }
    while (bytes < text->bytes &&
           ((text->data[bytes] >= 'A' && text->data[bytes] <= 'Z') ||
            (text->data[bytes] >= 'a' && text->data[bytes] <= 'z')))
        bytes++;
    *text = slice_from(*text, bytes);
    return bytes >= 3;
}

static bool take_day(Slice *text, ZoneDay *out)
{
    *out = (ZoneDay){ .kind = '0', .time_s = 7200 };
    if (take(text, 'M')) {
        out->kind = 'M';
        if (!take_int(text, 12, &out->month) || !take(text, '.') ||
            !take_int(text, 5, &out->week) || !take(text, '.') ||
            !take_int(text, 6, &out->day) || !out->month || !out->week)
            return false;
    } else {
        out->kind = take(text, 'J') ? 'J' : '0';
        if (!take_int(text, 365, &out->day))
            return false;
    }
    return !take(text, '/') || take_hours(text, RULE_HOURS, &out->time_s);
}

/* std offset [dst [offset] , begin , end] */
static bool read_rule(Slice text, ZoneRule *out)
{
    ZoneRule rule = { 0 };
    if (!take_name(&text) || !take_hours(&text, 24, &rule.standard_s))
        return false;
    rule.standard_s = -rule.standard_s; /* POSIX counts west of Greenwich */
    rule.summer_s = rule.standard_s + 3600;
    if (text.bytes) {
        rule.has_summer = true;
        if (!take_name(&text))
            return false;
        if (text.bytes && *text.data != ',') {
            if (!take_hours(&text, 24, &rule.summer_s))
                return false;
            rule.summer_s = -rule.summer_s;
        }
        if (!take(&text, ',') || !take_day(&text, &rule.begins) || !take(&text, ',') ||
            !take_day(&text, &rule.ends))
            return false;
    }
    *out = rule;
    return !text.bytes;
}

static Err read_footer(Slice text, Zone *zone)
{
    if (!take(&text, '\n'))
        return ERR_CORRUPT;
    Slice rest = text;
    Slice rule = slice_cut(&rest, '\n');
    if (rule.bytes == text.bytes)
        return ERR_CORRUPT; /* no second line end */
    zone->has_rule = rule.bytes > 0;
    return !rule.bytes || read_rule(rule, &zone->rule) ? ERR_OK : ERR_CORRUPT;
}

static Err parse(Slice text, Zone *zone)
{
    Counts counts;
    char version;
    if (text.bytes > ZONE_BYTES_MAX || !read_header(text, &counts, &version))
        return ERR_CORRUPT;
    size_t bytes = HEADER_BYTES + block_bytes(&counts, 4);
    if (bytes > text.bytes)
        return ERR_CORRUPT;
    if (!version)
        return read_block(slice_from(text, HEADER_BYTES), &counts, 4, zone);
    text = slice_from(text, bytes);
    if (!read_header(text, &counts, &version))
        return ERR_CORRUPT;
    bytes = HEADER_BYTES + block_bytes(&counts, 8);
    if (bytes > text.bytes)
        return ERR_CORRUPT;
    Err err = read_block(slice_from(text, HEADER_BYTES), &counts, 8, zone);
    return err ? err : read_footer(slice_from(text, bytes), zone);
}

Err zone_parse(Slice tzif, Zone *out_zone, Error *why)
{
    Zone zone = { 0 };
    if (parse(tzif, &zone)) {
        zone_done(&zone);
        return error_set(why, ERR_CORRUPT, "the file is no time zone (TZif), or damaged");
    }
    *out_zone = zone;
    return ERR_OK;
}

Zone zone_copy(const Zone *zone)
{
    Zone copy = *zone;
    if (zone->changes) {
        copy.changes = MEM_ARRAY(ZoneChange, zone->count ? zone->count : 1);
        memcpy(copy.changes, zone->changes, zone->count * sizeof *zone->changes);
    }
    return copy;
}

void zone_done(Zone *zone)
{
    mem_free(zone->changes);
    *zone = (Zone){ 0 };
}

/* --- Which offset when ----------------------------------------------------------------
 */

static bool leap_year(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Local time at which a rule changes in a year, as if it were UTC. */
static int64_t rule_day(const ZoneDay *day, int64_t year)
{
    int64_t days = days_from_civil(year, 1, 1);
    if (day->kind == 'J')
        days += day->day - 1 + (day->day >= 60 && leap_year(year));
    if (day->kind == '0')
        days += day->day;
    if (day->kind == 'M') {
        int64_t first = days_from_civil(year, day->month, 1);
        int64_t next = day->month == 12 ? days_from_civil(year + 1, 1, 1)
                                        : days_from_civil(year, day->month + 1, 1);
        int64_t weekday = ((first + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
        days = first + (day->day - weekday + 7) % 7 + (int64_t)(day->week - 1) * 7;
        while (days >= next)
            days -= 7;
    }
    return days * DAY_S + day->time_s;
}

/* The changes of the years around, in order; each year has two. */
static ZoneSpan rule_span(const ZoneRule *rule, int64_t utc_s)
{
    ZoneSpan span = { INT64_MIN, INT64_MAX, rule->standard_s };
    if (!rule->has_summer)
        return span;
    int64_t days = utc_s / DAY_S - (utc_s % DAY_S < 0);
    int64_t year;
    int month;
    int day;
    civil_from_days(days, &year, &month, &day);
    for (int64_t y = year - 1; y <= year + 1; y++) {
        ZoneChange two[2] = {
            { rule_day(&rule->begins, y) - rule->standard_s, rule->summer_s },
            { rule_day(&rule->ends, y) - rule->summer_s, rule->standard_s },
        };
        bool south = two[1].at_s < two[0].at_s;
        for (size_t i = 0; i < 2; i++) {
            const ZoneChange *change = &two[south ? 1 - i : i];
            if (change->at_s > utc_s) {
                span.until_s = change->at_s;
                return span;
            }
            span.from_s = change->at_s;
            span.offset_s = change->offset_s;
        }
    }
    return span;
}

ZoneSpan zone_span(const Zone *zone, int64_t utc_s)
{
    size_t low = 0; /* how many changes are not after it */
    size_t high = zone->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->changes[middle].at_s <= utc_s)
            low = middle + 1;
        else
            high = middle;
    }
    ZoneSpan span = { INT64_MIN, INT64_MAX, zone->first_s };
    if (low) {
        span.from_s = zone->changes[low - 1].at_s;
        span.offset_s = zone->changes[low - 1].offset_s;
    }
    if (low < zone->count) {
        span.until_s = zone->changes[low].at_s;
        return span;
    }
    if (!zone->has_rule)
        return span;
    ZoneSpan later = rule_span(&zone->rule, utc_s);
    if (later.from_s < span.from_s)
        later.from_s = span.from_s;
    return later;
}

int64_t zone_to_utc(const Zone *zone, int64_t local_s, int32_t *out_gap_s)
{
    ZoneSpan span = zone_span(zone, local_s - LOCAL_REACH_S);
    *out_gap_s = 0;
    while (local_s - span.offset_s >= span.until_s) {
        ZoneSpan next = zone_span(zone, span.until_s);
        if (local_s - next.offset_s < next.from_s) {
            *out_gap_s = next.offset_s - span.offset_s;
            return next.from_s;
        }
        span = next;
    }
    return local_s - span.offset_s;
}
