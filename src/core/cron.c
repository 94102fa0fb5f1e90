/* SPDX-License-Identifier: Apache-2.0 */
/* cron.c - see cron.h. */
#include "core/cron.h"

#include "base/text.h"
#include "base/times.h"

#define DAY_S          86400
#define YEARS_AHEAD    40 /* a 29 February on a given weekday comes at least so often */
#define GAP_MAX_S      (3 * 3600) /* a larger change is no summer time */
#define EVERY_MAX_MS   (366 * MS_PER_DAY)
#define WORD_BYTES_MAX 16

typedef struct FieldRule {
    const char *name;
    int low;
    int high;
    const char *const *words; /* names of low, low + 1, ... */
    const char *allowed;
} FieldRule;

static const char *const month_words[] = { "jan", "feb", "mar", "apr", "may",
                                           "jun", "jul", "aug", "sep", "oct",
                                           "nov", "dec", NULL };
static const char *const day_words[] = { "sun", "mon", "tue", "wed",
                                         "thu", "fri", "sat", NULL };

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELD_COUNT };

static const FieldRule rules[FIELD_COUNT] = {
    [MINUTE] = { "minute", 0, 59, NULL, "0 to 59" },
    [HOUR] = { "hour", 0, 23, NULL, "0 to 23" },
    [DAY] = { "day of month", 1, 31, NULL, "1 to 31, or L for the last" },
    [MONTH] = { "month", 1, 12, month_words, "1 to 12, or jan to dec" },
    [WEEKDAY] = { "day of week", 0, 7, day_words,
                  "0 to 7 (0 and 7 are Sunday), sun to sat, or 5L for the last Friday" },
};

/* What a field says. */
typedef struct FieldBits {
    uint64_t bits;
    uint64_t last; /* with L */
    bool star;
} FieldBits;

static Err bad_field(const FieldRule *rule, Slice item, const char *fault, Error *why)
{
    return error_set(why, ERR_INVALID,
                     "the %s field: \"" SLICE_FMT "\" %s; allowed are %s, lists (1,2), "
                     "ranges (1-5), steps (*/2) and *",
                     rule->name, SLICE_ARG(item), fault, rule->allowed);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* A number or a name at the start of *text; -1: neither. */
static int take_value(const FieldRule *rule, Slice *text)
{
    int value = 0;
    size_t bytes = 0;
    while (bytes < text->bytes && bytes < 4 && text->data[bytes] >= '0' &&
           text->data[bytes] <= '9')
        value = value * 10 + (text->data[bytes++] - '0');
    if (bytes) {
        *text = slice_from(*text, bytes);
        return value;
    }
    for (int i = 0; rule->words && rule->words[i]; i++) {
        const char *word = rule->words[i];
        if (text->bytes >= 3 && lower(text->data[0]) == word[0] &&
            lower(text->data[1]) == word[1] && lower(text->data[2]) == word[2]) {
            *text = slice_from(*text, 3);
            return rule->low + i;
        }
    }
    return -1;
}

static bool take_char(Slice *text, char c)
{
    if (!text->bytes || lower(*text->data) != c)
        return false;
    *text = slice_from(*text, 1);
    return true;
}

static bool in_range(const FieldRule *rule, int value)
{
    return value >= rule->low && value <= rule->high;
}

/* One item of a list: *, N, N-M, each with /STEP; L, or NL. */
static Err parse_item(const FieldRule *rule, Slice item, FieldBits *out, Error *why)
{
    Slice rest = item;
    bool day = rule == &rules[DAY];
    bool weekday = rule == &rules[WEEKDAY];
    if (day && item.bytes == 1 && lower(*item.data) == 'l') {
        out->last |= 1;
        return ERR_OK;
    }
    bool star = take_char(&rest, '*');
    int from = star ? rule->low : take_value(rule, &rest);
    if (!star && !in_range(rule, from))
        return bad_field(rule, item, from < 0 ? "is no value" : "is out of range", why);
    if (weekday && !star && rest.bytes == 1 && lower(*rest.data) == 'l') {
        out->last |= 1ull << from % 7;
        return ERR_OK;
    }
    int to = star ? rule->high : from;
    bool range = !star && take_char(&rest, '-');
    if (range) {
        to = take_value(rule, &rest);
        if (!in_range(rule, to))
            return bad_field(rule, item, to < 0 ? "is no range" : "is out of range", why);
        if (to < from)
            return bad_field(rule, item, "is a range that ends before it begins", why);
    }
    int step = 1;
    if (take_char(&rest, '/')) {
        step = take_value(&rules[MINUTE], &rest);
        if (step < 1)
            return bad_field(rule, item, "has a step that is not 1 or more", why);
        if (!star && !range)
            to = rule->high;
    }
    if (rest.bytes)
        return bad_field(rule, item, "has something behind it", why);
    for (int value = from; value <= to; value += step)
        out->bits |= 1ull << value;
    return ERR_OK;
}

static Err parse_field(const FieldRule *rule, Slice text, FieldBits *out, Error *why)
{
    out->star = text.bytes && *text.data == '*';
    Slice rest = text;
    do {
        Slice item = slice_cut(&rest, ',');
        if (!item.bytes)
            return bad_field(rule, text, "has an empty item", why);
        Err err = parse_item(rule, item, out, why);
        if (err)
            return err;
    } while (rest.data);
    return ERR_OK;
}

static Slice trim(Slice text)
{
    while (text.bytes && (*text.data == ' ' || *text.data == '\t'))
        text = slice_from(text, 1);
    while (text.bytes &&
           (text.data[text.bytes - 1] == ' ' || text.data[text.bytes - 1] == '\t'))
        text.bytes--;
    return text;
}

static size_t split(Slice text, Slice fields[FIELD_COUNT + 1])
{
    size_t count = 0;
    for (text = trim(text); text.bytes && count <= FIELD_COUNT; text = trim(text)) {
        size_t bytes = 0;
        while (bytes < text.bytes && text.data[bytes] != ' ' && text.data[bytes] != '\t')
            bytes++;
        fields[count++] = slice_of(text.data, bytes);
        text = slice_from(text, bytes);
    }
    return count;
}

static Err parse_fields(Slice text, Cron *out, Error *why)
{
    Slice texts[FIELD_COUNT + 1];
    FieldBits fields[FIELD_COUNT] = { { 0 } };
    size_t count = split(text, texts);
    if (count != FIELD_COUNT)
        return error_set(why, ERR_INVALID,
                         "a schedule has five fields (minute, hour, day of month, month, "
                         "day of week), this one has %s%zu; or write @daily, @every 10m",
                         count > FIELD_COUNT ? "more than " : "",
                         count > FIELD_COUNT ? (size_t)FIELD_COUNT : count);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        Err err = parse_field(&rules[i], texts[i], &fields[i], why);
        if (err)
            return err;
    }
    uint64_t weekdays = fields[WEEKDAY].bits;
    *out = (Cron){
        .minutes = fields[MINUTE].bits,
        .hours = (uint32_t)fields[HOUR].bits,
        .days = (uint32_t)fields[DAY].bits,
        .months = (uint16_t)fields[MONTH].bits,
        .weekdays = (uint8_t)((weekdays | weekdays >> 7) & 127),
        .last_weekdays = (uint8_t)fields[WEEKDAY].last,
        .last_day = fields[DAY].last != 0,
        .any_day = fields[DAY].star,
        .any_weekday = fields[WEEKDAY].star,
        .wild = fields[MINUTE].star || fields[HOUR].star,
    };
    return ERR_OK;
}

static const struct {
    const char *name;
    const char *fields;
} nicknames[] = {
    { "@hourly", "0 * * * *" },   { "@daily", "0 0 * * *" },
    { "@midnight", "0 0 * * *" }, { "@weekly", "0 0 * * 0" },
    { "@monthly", "0 0 1 * *" },  { "@yearly", "0 0 1 1 *" },
    { "@annually", "0 0 1 1 *" },
};

static Err parse_nickname(Slice text, Cron *out, Error *why)
{
    for (size_t i = 0; i < sizeof nicknames / sizeof *nicknames; i++)
        if (slice_is(text, nicknames[i].name))
            return parse_fields(slice_text(nicknames[i].fields), out, why);
    Slice every = SLICE_LITERAL("@every ");
    if (!slice_starts(text, every))
        return error_set(why, ERR_INVALID,
                         "\"" SLICE_FMT "\" is no schedule; there are @hourly, @daily, "
                         "@weekly, @monthly, @yearly and @every DURATION",
                         SLICE_ARG(text));
    int64_t every_ms;
    Err err = duration_parse(trim(slice_from(text, every.bytes)), &every_ms, why);
    if (err)
        return err;
    if (every_ms < CRON_EVERY_MIN_MS || every_ms > EVERY_MAX_MS)
        return error_set(why, ERR_INVALID, "@every takes 1 s to 366 days");
    *out = (Cron){ .every_ms = every_ms };
    return ERR_OK;
}

Err cron_parse(Slice text, Cron *out_cron, Error *why)
{
    Cron cron;
    text = trim(text);
    if (!text.bytes || text.bytes > CRON_TEXT_MAX)
        return error_set(why, ERR_INVALID, "a schedule has 1 to %d characters",
                         CRON_TEXT_MAX);
    Err err = *text.data == '@' ? parse_nickname(text, &cron, why)
                                : parse_fields(text, &cron, why);
    if (err)
        return err;
    Zone utc = { 0 };
    if (cron_next(&cron, &utc, 0) == TIME_NEVER)
        return error_set(why, ERR_INVALID,
                         "\"" SLICE_FMT "\" never comes: no such month has such a day",
                         SLICE_ARG(text));
    *out_cron = cron;
    return ERR_OK;
}

/* --- When ----------------------------------------------------------------------------
 */

static int month_days(int64_t year, int month)
{
    int64_t next = month == 12 ? days_from_civil(year + 1, 1, 1)
                               : days_from_civil(year, month + 1, 1);
    return (int)(next - days_from_civil(year, month, 1));
}

static bool day_matches(const Cron *cron, int64_t days)
{
    int64_t year;
    int month;
    int day;
    civil_from_days(days, &year, &month, &day);
    if (!(cron->months & 1u << month))
        return false;
    int length = month_days(year, month);
    unsigned weekday = (unsigned)(((days + 4) % 7 + 7) % 7);
    bool by_day = (cron->days & 1u << day) || (cron->last_day && day == length);
    bool by_weekday = (cron->weekdays & 1u << weekday) ||
                      ((cron->last_weekdays & 1u << weekday) && day + 7 > length);
    return cron->any_day || cron->any_weekday ? by_day && by_weekday
                                              : by_day || by_weekday;
}

/* The first matching day from `days` on; months that do not match are passed over. */
static int64_t next_day(const Cron *cron, int64_t days, int64_t last)
{
    while (days <= last && !day_matches(cron, days)) {
        int64_t year;
        int month;
        int day;
        civil_from_days(days, &year, &month, &day);
        days += cron->months & 1u << month ? 1 : month_days(year, month) - day + 1;
    }
    return days <= last ? days : INT64_MAX;
}

/* The first matching second of a day at or after `second`; -1: none. */
static int64_t next_in_day(const Cron *cron, int64_t second)
{
    for (int64_t minute = (second + 59) / 60; minute < 24 * 60; minute++) {
        if (!(cron->hours & 1u << minute / 60))
            minute = (minute / 60 + 1) * 60 - 1;
        else if (cron->minutes & 1ull << minute % 60)
            return minute * 60;
    }
    return -1;
}

/* The first matching local time at or after `local_s`; INT64_MAX: none in time. */
static int64_t next_local(const Cron *cron, int64_t local_s)
{
    int64_t days = local_s / DAY_S - (local_s % DAY_S < 0);
    int64_t second = local_s - days * DAY_S;
    int64_t last = days + YEARS_AHEAD * 366;
    for (;;) {
        int64_t day = next_day(cron, days, last);
        if (day == INT64_MAX)
            return INT64_MAX;
        int64_t found = next_in_day(cron, day == days ? second : 0);
        if (found >= 0)
            return day * DAY_S + found;
        days = day + 1;
        second = 0;
    }
}

/* By the clock: whatever it shows, also for the second time. */
static int64_t next_wild(const Cron *cron, const Zone *zone, int64_t after_s)
{
    int64_t from_s = after_s + 1;
    for (;;) {
        ZoneSpan span = zone_span(zone, from_s);
        int64_t local_s = next_local(cron, from_s + span.offset_s);
        if (local_s == INT64_MAX)
            return INT64_MAX;
        if (local_s - span.offset_s < span.until_s)
            return local_s - span.offset_s;
        from_s = span.until_s;
    }
}

/* Each local time once: zone_to_utc never goes back, so the first that is later is it. */
static int64_t next_fixed(const Cron *cron, const Zone *zone, int64_t after_s)
{
    ZoneSpan span = zone_span(zone, after_s);
    int64_t local_s = after_s + span.offset_s - DAY_S;
    for (;;) {
        local_s = next_local(cron, local_s + 1);
        if (local_s == INT64_MAX)
            return INT64_MAX;
        int32_t gap_s;
        int64_t utc_s = zone_to_utc(zone, local_s, &gap_s);
        if (utc_s > after_s && gap_s <= GAP_MAX_S)
            return utc_s;
    }
}

static int64_t seconds_before(int64_t ms)
{
    return ms / MS_PER_S - (ms % MS_PER_S < 0);
}

int64_t cron_next(const Cron *cron, const Zone *zone, int64_t after_ms)
{
    if (cron->every_ms) {
        int64_t times = after_ms / cron->every_ms - (after_ms % cron->every_ms < 0);
        return (times + 1) * cron->every_ms;
    }
    int64_t after_s = seconds_before(after_ms);
    int64_t next_s =
        cron->wild ? next_wild(cron, zone, after_s) : next_fixed(cron, zone, after_s);
    return next_s > TIME_WALL_MAX_MS / MS_PER_S ? TIME_NEVER : next_s * MS_PER_S;
}
