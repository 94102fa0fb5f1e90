/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - see log.h. A line is one write(2), so lines of threads never mix. */
#include "base/log.h"

#include "base/buf.h"
#include "base/times.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_BYTES_MAX 4096

static _Atomic int threshold = LOG_INFO;

static const char *level_name(LogLevel level)
{
    switch (level) {
    case LOG_DEBUG:
        return "debug";
    case LOG_INFO:
        return "info";
    case LOG_WARN:
        return "warn";
    case LOG_ERROR:
        return "error";
    }
    return "?";
}

void log_level_set(LogLevel level)
{
    threshold = (int)level;
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
    /* A log that cannot be written must not stop the daemon. */
    ssize_t ignored = write(STDERR_FILENO, line, bytes);
    (void)ignored;
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
