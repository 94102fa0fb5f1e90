/* SPDX-License-Identifier: Apache-2.0 */
/* when.c - see when.h. */
#include "cli/print/when.h"

#include "base/text.h"
#include "base/times.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define SECOND_MAX 59 /* leap seconds are nobody's plan */

static struct tm local_tm(int64_t wall_ms)
{
    time_t seconds = (time_t)(wall_ms / MS_PER_S);
    struct tm tm = { 0 };
    localtime_r(&seconds, &tm);
    return tm;
}

/* A local date and time that does not exist (clocks go forward) becomes the moment
 * that long after the gap's start; one that is there twice becomes the first. */
static int64_t moment_of(struct tm tm)
{
    tm.tm_isdst = -1;
    return (int64_t)mktime(&tm) * MS_PER_S;
}

static bool take_number(Slice *text, size_t digits_min, size_t digits_max, int *out)
{
    int value = 0;
    size_t digits = 0;
    while (digits < text->bytes && digits < digits_max) {
        char c = text->data[digits];
        if (c < '0' || c > '9')
            break;
        value = value * 10 + (c - '0');
        digits++;
    }
    if (digits < digits_min)
        return false;
    *text = slice_from(*text, digits);
    *out = value;
    return true;
}

static bool take_char(Slice *text, char c)
{
    if (!text->bytes || text->data[0] != c)
        return false;
    *text = slice_from(*text, 1);
    return true;
}

/* am and pm: 12am is midnight, 12pm noon. False: there is no such hour. */
static bool take_half(Slice *text, int *hour)
{
    bool morning = slice_is(*text, "am");
    if (*hour < 1 || *hour > 12)
        return false;
    *hour = *hour % 12 + (morning ? 0 : 12);
    *text = slice_from(*text, 2);
    return true;
}

/* H:MM, HH:MM or HH:MM:SS, also with am or pm behind it, or H and am or pm; and nothing
 * after it. */
static bool clock_time(Slice text, struct tm *tm)
{
    int hour;
    int minute = 0;
    int second = 0;
    if (!take_number(&text, 1, 2, &hour))
        return false;
    bool colon = take_char(&text, ':');
    if (colon && !take_number(&text, 2, 2, &minute))
        return false;
    if (colon && take_char(&text, ':') && !take_number(&text, 2, 2, &second))
        return false;
    take_char(&text, ' ');
    bool half = slice_is(text, "am") || slice_is(text, "pm");
    if ((!half && !colon) || (half && !take_half(&text, &hour)))
        return false;
    if (text.bytes || hour > 23 || minute > 59 || second > SECOND_MAX)
        return false;
    tm->tm_hour = hour;
    tm->tm_min = minute;
    tm->tm_sec = second;
    return true;
}

/* YYYY-MM-DD, then T or a space and a clock time; a date alone is its midnight. */
static bool date_time(Slice text, int64_t *out_ms)
{
    struct tm tm = { 0 };
    int year;
    int month;
    int day;
    if (!take_number(&text, 4, 4, &year) || !take_char(&text, '-') ||
        !take_number(&text, 2, 2, &month) || !take_char(&text, '-') ||
        !take_number(&text, 2, 2, &day))
        return false;
    bool alone = !text.bytes;
    if (!alone && !take_char(&text, 'T') && !take_char(&text, 't') &&
        !take_char(&text, ' '))
        return false;
    if (!alone && !clock_time(text, &tm))
        return false;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    tm.tm_mday = day;
    struct tm asked = tm;
    tm.tm_isdst = -1;
    int64_t seconds = (int64_t)mktime(&tm);
    /* The 31st of a short month would silently become another day. */
    if (tm.tm_mon != asked.tm_mon || tm.tm_mday != asked.tm_mday)
        return false;
    *out_ms = seconds * MS_PER_S;
    return true;
}

static bool day_and_clock(Slice text, int64_t now_ms, int64_t *out_ms)
{
    struct tm tm = local_tm(now_ms);
    Slice rest = text;
    Slice word = slice_cut(&rest, ' ');
    while (rest.bytes && rest.data[0] == ' ')
        rest = slice_from(rest, 1);
    bool tomorrow = slice_is(word, "tomorrow");
    if (!tomorrow && !slice_is(word, "today"))
        return false;
    if (!clock_time(rest, &tm))
        return false;
    tm.tm_mday += tomorrow;
    *out_ms = moment_of(tm);
    return true;
}

/* 0 for Sunday; the whole English name or its first three letters. */
static bool weekday(Slice word, int *out)
{
    static const char *const names[] = { "sunday",   "monday", "tuesday", "wednesday",
                                         "thursday", "friday", "saturday" };
    for (int i = 0; i < 7; i++)
        if (slice_is(word, names[i]) ||
            (word.bytes == 3 && strncmp(word.data, names[i], 3) == 0)) {
            *out = i;
            return true;
        }
    return false;
}

/* [next] WEEKDAY [CLOCK]: the first such moment from now on; with `next` not today. */
static bool weekday_and_clock(Slice text, int64_t now_ms, int64_t *out_ms)
{
    struct tm tm = local_tm(now_ms);
    int today = tm.tm_wday;
    int day;
    Slice rest = text;
    Slice word = slice_cut(&rest, ' ');
    bool next = slice_is(word, "next");
    if (next)
        word = slice_cut(&rest, ' ');
    while (rest.bytes && rest.data[0] == ' ')
        rest = slice_from(rest, 1);
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    if (!weekday(word, &day) || (rest.bytes && !clock_time(rest, &tm)))
        return false;
    tm.tm_mday += (day - today + 7) % 7;
    *out_ms = moment_of(tm);
    if (day == today && (next || *out_ms <= now_ms)) {
        tm.tm_mday += 7;
        *out_ms = moment_of(tm);
    }
    return true;
}

static bool next_clock(Slice text, int64_t now_ms, int64_t *out_ms)
{
    struct tm tm = local_tm(now_ms);
    if (!clock_time(text, &tm))
        return false;
    struct tm today = tm;
    *out_ms = moment_of(today);
    if (*out_ms <= now_ms) {
        tm.tm_mday += 1;
        *out_ms = moment_of(tm);
    }
    return true;
}

Err when_parse(Slice text, int64_t now_ms, int64_t *out_wall_ms, Error *why)
{
    int64_t at_ms = now_ms;
    if (text.bytes > 1 && text.data[0] == '+') {
        int64_t delay_ms;
        Err err = duration_parse(slice_from(text, 1), &delay_ms, why);
        if (err)
            return err;
        at_ms = now_ms + delay_ms;
    } else if (!slice_is(text, "now") && time_parse(text, &at_ms) != ERR_OK &&
               !next_clock(text, now_ms, &at_ms) && !date_time(text, &at_ms) &&
               !day_and_clock(text, now_ms, &at_ms) &&
               !weekday_and_clock(text, now_ms, &at_ms)) {
        return error_set(why, ERR_INVALID,
                         "\"" SLICE_FMT "\" is not a time (see: pawl help times)",
                         SLICE_ARG(text));
    }
    if (at_ms < 0 || at_ms > TIME_WALL_MAX_MS)
        return error_set(why, ERR_INVALID, "\"" SLICE_FMT "\" is too far away",
                         SLICE_ARG(text));
    *out_wall_ms = at_ms;
    return ERR_OK;
}

char *when_echo(int64_t wall_ms, char out[WHEN_TEXT_BYTES])
{
    char local[40];
    char utc[TIME_TEXT_BYTES];
    struct tm tm = local_tm(wall_ms);
    if (!strftime(local, sizeof local, "%a %d %b %Y %H:%M:%S %Z", &tm))
        local[0] = '\0';
    snprintf(out, WHEN_TEXT_BYTES, "%s (%.30s)", local, time_text(wall_ms, utc));
    return out;
}

char *when_local(int64_t wall_ms, char out[WHEN_TEXT_BYTES])
{
    struct tm tm = local_tm(wall_ms);
    if (wall_ms <= 0 || wall_ms == TIME_NEVER ||
        !strftime(out, WHEN_TEXT_BYTES, "%Y-%m-%d %H:%M:%S", &tm))
        snprintf(out, WHEN_TEXT_BYTES, "-");
    return out;
}

char *when_age(int64_t ms, char out[WHEN_TEXT_BYTES])
{
    long long passed = ms < 0 ? 0 : ms;
    if (passed < MS_PER_MIN)
        snprintf(out, WHEN_TEXT_BYTES, "%llds", passed / MS_PER_S);
    else if (passed < MS_PER_HOUR)
        snprintf(out, WHEN_TEXT_BYTES, "%lldm", passed / MS_PER_MIN);
    else if (passed < 2 * MS_PER_DAY)
        snprintf(out, WHEN_TEXT_BYTES, "%lldh", passed / MS_PER_HOUR);
    else
        snprintf(out, WHEN_TEXT_BYTES, "%lldd", passed / MS_PER_DAY);
    return out;
}

char *when_span(int64_t ms, char out[WHEN_TEXT_BYTES])
{
    long long took = ms < 0 ? 0 : ms;
    if (took < MS_PER_S)
        snprintf(out, WHEN_TEXT_BYTES, "%lld.%02llds", took / MS_PER_S,
                 took % MS_PER_S / 10);
    else if (took < 10 * MS_PER_S)
        snprintf(out, WHEN_TEXT_BYTES, "%lld.%llds", took / MS_PER_S,
                 took % MS_PER_S / 100);
    else
        duration_human(took / MS_PER_S * MS_PER_S, out);
    return out;
}
