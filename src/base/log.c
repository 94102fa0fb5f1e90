/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - see log.h. A line is one write(2), so lines of threads never mix. */
#include "base/log.h"

#include "base/buf.h"
#include "base/times.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_BYTES_MAX 4096

#define HELD_BYTES_MAX (256 * 1024)

static _Atomic int threshold = LOG_INFO;
static _Thread_local bool holding;
static _Thread_local Buf held;

static const char *level_name(LogLevel level)
{
    switch (level) {
    case LOG_DEBUG:
        return "debug";
    case LOG_INFO:
        return "info";
    case LOG_WARN:
        return "warn";
    case LOG_OFF:
    case LOG_ERROR:
        return "error";
    }
    return "?";
}

void log_level_set(LogLevel level)
{
    threshold = (int)level;
}

bool log_enabled(LogLevel level)
{
    return (int)level >= threshold;
}

Err log_level_parse(Slice text, LogLevel *out_level)
{
    for (LogLevel level = LOG_DEBUG; level <= LOG_ERROR; level++) {
        if (!slice_is(text, level_name(level)))
            continue;
        *out_level = level;
        return ERR_OK;
    }
    return ERR_INVALID;
}

/* A log that cannot be written must not stop the daemon. */
static void put(const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t put_bytes = write(STDERR_FILENO, text, bytes);
        if (put_bytes <= 0)
            return;
        text += put_bytes;
        bytes -= (size_t)put_bytes;
    }
}

static void put_held(void)
{
    put(held.data, held.bytes);
    buf_done(&held);
}

void log_event(LogLevel level, const char *event, const char *format, ...)
{
    if ((int)level < threshold)
        return;
    char line[LINE_BYTES_MAX];
    char ts[TIME_TEXT_BYTES];
    int at = snprintf(line, sizeof line, "ts=%s level=%s event=%s ",
                      time_text(clock_now().wall_ms, ts), level_name(level), event);
    va_list args;
    va_start(args, format);
    int more = vsnprintf(line + at, sizeof line - (size_t)at - 1, format, args);
    va_end(args);
    size_t bytes = (size_t)at + (more > 0 ? (size_t)more : 0);
    if (bytes > sizeof line - 2)
        bytes = sizeof line - 2;
    line[bytes++] = '\n';
    if (!holding) {
        put(line, bytes);
        return;
    }
    buf_add(&held, line, bytes);
    if (held.bytes >= HELD_BYTES_MAX)
        put_held();
}

void log_hold(void)
{
    holding = true;
}

void log_flush(void)
{
    holding = false;
    if (held.bytes)
        put_held();
}

char *log_quote(Slice text, char out[LOG_QUOTE_BYTES])
{
    size_t at = 0;
    out[at++] = '"';
    for (size_t i = 0; i < text.bytes && at < LOG_QUOTE_BYTES - 8; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '"' || c == '\\') {
            out[at++] = '\\';
            out[at++] = (char)c;
        } else if (c == '\n') {
            out[at++] = '\\';
            out[at++] = 'n';
        } else if (c < 0x20 || c >= 0x7f) {
            at += (size_t)snprintf(out + at, 5, "\\x%02x", c);
        } else {
            out[at++] = (char)c;
        }
    }
    out[at++] = '"';
    out[at] = '\0';
    return out;
}
