/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - one event per line on stderr, logfmt.
 *
 *     log_event(LOG_INFO, "job.added", "job=%s queue=%s", id, queue);
 *
 * The line gets ts, level and event in front. Text that came from outside goes
 * through log_quote. Payloads and tokens are never logged. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>

typedef enum LogLevel {
    LOG_DEBUG,
    LOG_INFO,
    LOG_WARN,
    LOG_ERROR,
    LOG_OFF, /* for log_level_set only: nothing is written */
} LogLevel;

void log_level_set(LogLevel level);
MUST_CHECK Err log_level_parse(Slice text, LogLevel *out_level);
bool log_enabled(LogLevel level); /* for those whose line costs much to make */
void log_event(LogLevel level, const char *event, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Between the two, the lines of this thread are kept and then written at once: a turn of
 * many jobs costs one write. */
void log_hold(void);
void log_flush(void);

#define LOG_QUOTE_BYTES 512

/* A quoted, escaped, capped copy for one field. Returns out. */
char *log_quote(Slice text, char out[LOG_QUOTE_BYTES]);

/* The same of a C string, in a buffer that lives as long as the block it stands in. */
#define LOG_QUOTED(text) log_quote(slice_text(text), (char[LOG_QUOTE_BYTES]){ 0 })

#endif
