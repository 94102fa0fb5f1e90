/* SPDX-License-Identifier: Apache-2.0 */
/* times.c - see times.h. Calendar arithmetic is the proleptic Gregorian one. */
#include "base/times.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define DURATION_MAX_MS (1000LL * 366 * MS_PER_DAY) /* about a thousand years */

Now clock_now(void)
{
    struct timespec wall;
    struct timespec boot;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    return (Now){
        .wall_ms = (int64_t)wall.tv_sec * MS_PER_S + wall.tv_nsec / 1000000,
        .boot_ms = (int64_t)boot.tv_sec * MS_PER_S + boot.tv_nsec / 1000000,
    };
}

/* Years start in March here, so that the leap day is the last of its year. */
int64_t days_from_civil(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

void civil_from_days(int64_t days, int64_t *out_year, int *out_month, int *out_day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted = (5 * day_of_year + 2) / 153;
    *out_day = (int)(day_of_year - (153 * shifted + 2) / 5 + 1);
    *out_month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    *out_year = year_of_era + era * 400 + (*out_month <= 2);
}

/* Over the zeros that end at `end`. Every answer has times: printf would be a good part
 * of what it costs. */
static void put_digits(char *end, int value)
{
    for (; value; value /= 10)
        *--end = (char)('0' + value % 10);
}

char *time_text(int64_t wall_ms, char out[TIME_TEXT_BYTES])
{
    if (wall_ms == TIME_NEVER) {
        out[0] = '\0';
        return out;
    }
    int64_t days = wall_ms / MS_PER_DAY - (wall_ms % MS_PER_DAY < 0);
    int64_t rest = wall_ms - days * MS_PER_DAY;
    int64_t year;
    int month;
    int day;
    civil_from_days(days, &year, &month, &day);
    if (year < 0 || year > 9999) {
        snprintf(out, TIME_TEXT_BYTES, "%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ",
                 (long long)year, month, day, (int)(rest / MS_PER_HOUR),
                 (int)(rest / MS_PER_MIN % 60), (int)(rest / MS_PER_S % 60),
                 (int)(rest % MS_PER_S));
        return out;
    }
    memcpy(out, "0000-00-00T00:00:00.000Z", sizeof "0000-00-00T00:00:00.000Z");
    put_digits(out + 4, (int)year);
    put_digits(out + 7, month);
    put_digits(out + 10, day);
    put_digits(out + 13, (int)(rest / MS_PER_HOUR));
    put_digits(out + 16, (int)(rest / MS_PER_MIN % 60));
    put_digits(out + 19, (int)(rest / MS_PER_S % 60));
    put_digits(out + 23, (int)(rest % MS_PER_S));
    return out;
}

static bool take_digits(Slice *text, int count, int *out_value)
{
    if (text->bytes < (size_t)count)
        return false;
    int value = 0;
    for (int i = 0; i < count; i++) {
        char c = text->data[i];
        if (c < '0' || c > '9')
            return false;
        value = value * 10 + (c - '0');
    }
    *text = slice_from(*text, (size_t)count);
    *out_value = value;
    return true;
}

static bool take_char(Slice *text, char c)
{
    if (!text->bytes || text->data[0] != c)
        return false;
    *text = slice_from(*text, 1);
    return true;
}

/* Fraction digits after a point, kept to `*out_ms` milliseconds, the rest dropped. */
static bool take_fraction(Slice *text, int *out_ms)
{
    int scale = 100;
    int ms = 0;
    size_t digits = 0;
    while (text->bytes && text->data[0] >= '0' && text->data[0] <= '9') {
        ms += (text->data[0] - '0') * scale;
        scale /= 10;
        digits++;
        *text = slice_from(*text, 1);
    }
    *out_ms = ms;
    return digits > 0;
}

static bool take_zone(Slice *text, int64_t *out_offset_ms)
{
    *out_offset_ms = 0;
    if (take_char(text, 'Z') || take_char(text, 'z'))
        return true;
    int sign = take_char(text, '+') ? 1 : take_char(text, '-') ? -1 : 0;
    int hours;
    int minutes;
    if (!sign || !take_digits(text, 2, &hours) || !take_char(text, ':') ||
        !take_digits(text, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *out_offset_ms = sign * (hours * MS_PER_HOUR + minutes * MS_PER_MIN);
    return true;
}

static bool leap_year(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool date_exists(int year, int month, int day)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    if (month < 1 || month > 12 || day < 1)
        return false;
    return day <= days[month - 1] + (month == 2 && leap_year(year));
}

Err time_parse(Slice text, int64_t *out_wall_ms)
{
    int year, month, day, hour, minute, second, ms = 0;
    if (!take_digits(&text, 4, &year) || !take_char(&text, '-') ||
        !take_digits(&text, 2, &month) || !take_char(&text, '-') ||
        !take_digits(&text, 2, &day))
        return ERR_INVALID;
    if (!take_char(&text, 'T') && !take_char(&text, 't') && !take_char(&text, ' '))
        return ERR_INVALID;
    if (!take_digits(&text, 2, &hour) || !take_char(&text, ':') ||
        !take_digits(&text, 2, &minute) || !take_char(&text, ':') ||
        !take_digits(&text, 2, &second))
        return ERR_INVALID;
    if (take_char(&text, '.') && !take_fraction(&text, &ms))
        return ERR_INVALID;
    int64_t offset_ms;
    if (!take_zone(&text, &offset_ms) || text.bytes)
        return ERR_INVALID;
    if (!date_exists(year, month, day) || hour > 23 || minute > 59 || second > 60)
        return ERR_INVALID;
    *out_wall_ms = days_from_civil(year, month, day) * MS_PER_DAY + hour * MS_PER_HOUR +
                   minute * MS_PER_MIN + second * MS_PER_S + ms - offset_ms;
    return ERR_OK;
}

/* Seconds with up to three fraction digits and no trailing zeros: 5, 0.2, 1.25 */
static int seconds_text(int64_t ms, char *out, size_t out_bytes)
{
    int length = snprintf(out, out_bytes, "%lld", (long long)(ms / MS_PER_S));
    int fraction = (int)(ms % MS_PER_S);
    if (!fraction)
        return length;
    length += snprintf(out + length, out_bytes - (size_t)length, ".%03d", fraction);
    while (out[length - 1] == '0')
        out[--length] = '\0';
    return length;
}

char *duration_iso(int64_t duration_ms, char out[DURATION_TEXT_BYTES])
{
    int64_t hours = duration_ms / MS_PER_HOUR;
    int64_t minutes = duration_ms / MS_PER_MIN % 60;
    int64_t seconds_ms = duration_ms % MS_PER_MIN;
    int at = snprintf(out, DURATION_TEXT_BYTES, "PT");
    if (hours)
        at += snprintf(out + at, DURATION_TEXT_BYTES - (size_t)at, "%lldH",
                       (long long)hours);
    if (minutes)
        at += snprintf(out + at, DURATION_TEXT_BYTES - (size_t)at, "%lldM",
                       (long long)minutes);
    if (seconds_ms || duration_ms == 0) {
        at += seconds_text(seconds_ms, out + at, DURATION_TEXT_BYTES - (size_t)at - 2);
        snprintf(out + at, DURATION_TEXT_BYTES - (size_t)at, "S");
    }
    return out;
}

char *duration_human(int64_t duration_ms, char out[DURATION_TEXT_BYTES])
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {
        { MS_PER_DAY, "d" }, { MS_PER_HOUR, "h" }, { MS_PER_MIN, "m" }, { MS_PER_S, "s" }
    };
    if (duration_ms < MS_PER_S) {
        snprintf(out, DURATION_TEXT_BYTES, "%lldms", (long long)duration_ms);
        return out;
    }
    int at = 0;
    int parts = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units && parts < 2; i++) {
        int64_t count = duration_ms / units[i].ms;
        duration_ms %= units[i].ms;
        if (!count)
            continue;
        at += snprintf(out + at, DURATION_TEXT_BYTES - (size_t)at, "%lld%s",
                       (long long)count, units[i].unit);
        parts++;
    }
    return out;
}

typedef struct DurationUnit {
    const char *name;
    int64_t ms; /* 0: known, but of no fixed length */
} DurationUnit;

/* Units of the plain form, longest name first where one begins with another. */
static const DurationUnit plain_units[] = {
    { "ms", 1 },
    { "s", MS_PER_S },
    { "mo", 0 },
    { "m", MS_PER_MIN },
    { "h", MS_PER_HOUR },
    { "d", MS_PER_DAY },
    { "w", 7 * MS_PER_DAY },
    { "y", 0 },
};
static const DurationUnit iso_date_units[] = {
    { "W", 7 * MS_PER_DAY },
    { "D", MS_PER_DAY },
    { "Y", 0 },
    { "M", 0 },
};
static const DurationUnit iso_time_units[] = {
    { "H", MS_PER_HOUR },
    { "M", MS_PER_MIN },
    { "S", MS_PER_S },
};

static bool take_number(Slice *text, int64_t *out_whole, int *out_fraction_ms)
{
    int64_t whole = 0;
    size_t digits = 0;
    while (text->bytes && text->data[0] >= '0' && text->data[0] <= '9') {
        if (whole > DURATION_MAX_MS)
            return false;
        whole = whole * 10 + (text->data[0] - '0');
        digits++;
        *text = slice_from(*text, 1);
    }
    *out_whole = whole;
    *out_fraction_ms = 0;
    if (take_char(text, '.') || take_char(text, ','))
        return take_fraction(text, out_fraction_ms);
    return digits > 0;
}

static const DurationUnit *find_unit(Slice *text, const DurationUnit *units, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Slice name = slice_text(units[i].name);
        if (!slice_starts(*text, name))
            continue;
        *text = slice_from(*text, name.bytes);
        return &units[i];
    }
    return NULL;
}

static Err bad_duration(Error *why, Slice whole, const char *reason)
{
    return error_set(why, ERR_INVALID,
                     "\"" SLICE_FMT "\" is no duration: %s (90s, 1h30m, 200ms, PT20M)",
                     SLICE_ARG(whole), reason);
}

/* One `12.5h`; adds it to *total_ms. */
static Err take_part(Slice *text, const DurationUnit *units, size_t unit_count,
                     int64_t *total_ms, const char **out_reason)
{
    int64_t count;
    int fraction_ms;
    bool minus = text->bytes && text->data[0] == '-';
    if (!take_number(text, &count, &fraction_ms)) {
        bool digits_left = text->bytes && text->data[0] >= '0' && text->data[0] <= '9';
        *out_reason = minus         ? "it is negative"
                      : digits_left ? "its number is too large"
                                    : "a number is missing";
        return ERR_INVALID;
    }
    *out_reason = "unknown unit";
    const DurationUnit *unit = find_unit(text, units, unit_count);
    if (!unit)
        return ERR_INVALID;
    *out_reason = "months and years have no fixed length";
    if (!unit->ms)
        return ERR_INVALID;
    *out_reason = "too long";
    if (count > DURATION_MAX_MS / unit->ms)
        return ERR_INVALID;
    *total_ms += count * unit->ms + fraction_ms * unit->ms / MS_PER_S;
    return *total_ms > DURATION_MAX_MS ? ERR_INVALID : ERR_OK;
}

#define UNITS(table) (table), sizeof(table) / sizeof *(table)

static Err parse_iso(Slice whole, Slice text, int64_t *out_ms, Error *why)
{
    int64_t total_ms = 0;
    const char *reason = "nothing after the P";
    bool in_time = false;
    bool any = false;
    while (text.bytes) {
        if (!in_time && take_char(&text, 'T')) {
            in_time = true;
            any = false;
            continue;
        }
        Err err = in_time ? take_part(&text, UNITS(iso_time_units), &total_ms, &reason)
                          : take_part(&text, UNITS(iso_date_units), &total_ms, &reason);
        if (err)
            return bad_duration(why, whole, reason);
        any = true;
    }
    if (!any)
        return bad_duration(why, whole, reason);
    *out_ms = total_ms;
    return ERR_OK;
}

Err duration_parse(Slice text, int64_t *out_ms, Error *why)
{
    Slice whole = text;
    if (!text.bytes)
        return bad_duration(why, whole, "it is empty");
    if (text.data[0] == 'P' || text.data[0] == 'T') {
        take_char(&text, 'P');
        return parse_iso(whole, text, out_ms, why);
    }
    int64_t seconds;
    int fraction_ms;
    Slice bare = text;
    if (take_number(&bare, &seconds, &fraction_ms) && !bare.bytes) {
        if (seconds > DURATION_MAX_MS / MS_PER_S)
            return bad_duration(why, whole, "too long");
        *out_ms = seconds * MS_PER_S + fraction_ms;
        return ERR_OK;
    }
    int64_t total_ms = 0;
    const char *reason = "";
    while (text.bytes)
        if (take_part(&text, UNITS(plain_units), &total_ms, &reason))
            return bad_duration(why, whole, reason);
    *out_ms = total_ms;
    return ERR_OK;
}
