/* SPDX-License-Identifier: Apache-2.0 */
/* cron_words.c - see cron_words.h. */
#include "cli/print/cron_words.h"

#include "base/text.h"

#include <strings.h>

#define FIELDS 5

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY };

typedef struct Cron {
    Slice fields[FIELDS];
} Cron;

static bool split(Slice text, Cron *out)
{
    size_t count = 0;
    while (text.bytes) {
        Slice word = slice_cut(&text, ' ');
        if (!word.bytes)
            continue;
        if (count == FIELDS)
            return false;
        out->fields[count++] = word;
    }
    return count == FIELDS;
}

static bool is_any(Slice field)
{
    return slice_is(field, "*");
}

static bool is_number(Slice field, int64_t *out)
{
    return !int_parse(field, out);
}

/* The N of a step over everything. */
static bool is_step(Slice field, int64_t *out)
{
    return slice_starts(field, SLICE_LITERAL("*/")) &&
           is_number(slice_from(field, 2), out);
}

static const char *const weekdays[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday" };
static const char *const months[] = { "January",   "February", "March",    "April",
                                      "May",       "June",     "July",     "August",
                                      "September", "October",  "November", "December" };

/* A number or the first three letters of a name. */
static void add_name(Buf *out, Slice word, const char *const *names, size_t count,
                     int64_t first)
{
    int64_t number;
    for (size_t i = 0; i < count; i++)
        if (word.bytes == 3 && strncasecmp(word.data, names[i], 3) == 0) {
            buf_add_text(out, names[i]);
            return;
        }
    if (is_number(word, &number) && number >= first)
        buf_add_text(out, names[(size_t)(number - first) % count]);
    else
        buf_add_slice(out, word);
}

/* "1-5" as "Monday to Friday", "1,3" as "Monday, Wednesday". */
static void add_names(Buf *out, Slice field, const char *const *names, size_t count,
                      int64_t first)
{
    for (bool more = false; field.bytes; more = true) {
        Slice rest = slice_cut(&field, ',');
        Slice from = slice_cut(&rest, '-');
        buf_add_text(out, more ? ", " : "");
        add_name(out, from, names, count, first);
        if (!rest.bytes)
            continue;
        buf_add_text(out, " to ");
        add_name(out, rest, names, count, first);
    }
}

static void add_time(const Cron *cron, Buf *out)
{
    Slice minute = cron->fields[MINUTE];
    Slice hour = cron->fields[HOUR];
    int64_t m;
    int64_t h;
    if (is_number(minute, &m) && is_number(hour, &h))
        buf_printf(out, "at %02lld:%02lld", (long long)h, (long long)m);
    else if (is_any(minute) && is_any(hour))
        buf_add_text(out, "every minute");
    else if (is_step(minute, &m) && is_any(hour))
        buf_printf(out, "every %lld minutes", (long long)m);
    else if (is_number(minute, &m) && is_any(hour))
        buf_printf(out, "every hour at minute %lld", (long long)m);
    else if (is_number(minute, &m) && is_step(hour, &h))
        buf_printf(out, "every %lld hours at minute %lld", (long long)h, (long long)m);
    else
        buf_printf(out, "at minutes " SLICE_FMT " of hours " SLICE_FMT, SLICE_ARG(minute),
                   SLICE_ARG(hour));
}

static void add_days(const Cron *cron, Buf *out)
{
    Slice day = cron->fields[DAY];
    Slice weekday = cron->fields[WEEKDAY];
    if (slice_is(day, "L"))
        buf_add_text(out, "on the last day of the month");
    else if (!is_any(day))
        buf_printf(out, "on day " SLICE_FMT " of the month", SLICE_ARG(day));
    if (!is_any(day) && !is_any(weekday))
        buf_add_text(out, " or on ");
    if (!is_any(weekday))
        add_names(out, weekday, weekdays, sizeof weekdays / sizeof *weekdays, 0);
    if (is_any(day) && is_any(weekday))
        buf_add_text(out, "every day");
}

static bool add_nickname(Slice text, Buf *out)
{
    static const struct {
        const char *name;
        const char *words;
    } rows[] = {
        { "@hourly", "every hour at minute 0" },
        { "@daily", "every day at 00:00" },
        { "@midnight", "every day at 00:00" },
        { "@weekly", "Sunday at 00:00" },
        { "@monthly", "on day 1 of the month at 00:00" },
        { "@yearly", "on day 1 of the month in January at 00:00" },
        { "@annually", "on day 1 of the month in January at 00:00" },
    };
    Slice every = SLICE_LITERAL("@every ");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (slice_is(text, rows[i].name)) {
            buf_add_text(out, rows[i].words);
            return true;
        }
    if (!slice_starts(text, every))
        return false;
    buf_printf(out, "every " SLICE_FMT, SLICE_ARG(slice_from(text, every.bytes)));
    return true;
}

void cron_words(Slice text, Buf *out)
{
    Cron cron;
    if (add_nickname(text, out))
        return;
    if (!split(text, &cron)) {
        buf_add_slice(out, text);
        return;
    }
    add_days(&cron, out);
    if (!is_any(cron.fields[MONTH])) {
        buf_add_text(out, " in ");
        add_names(out, cron.fields[MONTH], months, sizeof months / sizeof *months, 1);
    }
    buf_add_char(out, ' ');
    add_time(&cron, out);
}

bool cron_names_both_days(Slice text)
{
    Cron cron;
    return split(text, &cron) && !is_any(cron.fields[DAY]) &&
           !is_any(cron.fields[WEEKDAY]);
}
