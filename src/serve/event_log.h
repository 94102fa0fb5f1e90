/* SPDX-License-Identifier: Apache-2.0 */
/* event_log.h - what has happened to jobs lately, for those who listen.
 *
 * A ring of the last changes, as they became durable; only the loop thread touches it.
 * Written out, each is a server-sent event whose datum is a CloudEvents 1.0 object. Its
 * id names the daemon's start and the event's number: who has missed too much, or asks
 * after a restart, is told so by an event `reset`. */
#ifndef SERVE_EVENT_LOG_H
#define SERVE_EVENT_LOG_H

#include "core/effect.h"

#define EVENT_LOG_ROWS 16384 /* kept; a power of two */
#define EVENT_READ_MAX 1000  /* written at once */

typedef struct EventRow {
    int64_t wall_ms;
    JobId id;
    uint32_t attempt;
    JobState state;
    JobState was;
    JobCode code;
    bool added;
    int64_t priority;
    int64_t wait_ms;
    int64_t run_ms;
    uint64_t count;
    Slice tenant; /* names of the node: they live as long as it */
    Slice queue;
    Slice type;
} EventRow;

typedef struct EventLog {
    EventRow *rows;
    uint64_t next;  /* number of the next event; the first is 1 */
    uint64_t epoch; /* which start of the daemon this is */
    const char *sysid;
} EventLog;

void event_log_init(EventLog *log, uint64_t epoch, const char *sysid);
void event_log_done(EventLog *log);

/* EFFECT_CHANGED. */
void event_log_add(EventLog *log, const Effect *effect, int64_t wall_ms);

/* Where a listener stands: after this event. */
typedef struct EventCursor {
    uint64_t epoch;
    uint64_t number;
} EventCursor;

EventCursor event_log_now(const EventLog *log);   /* nothing of what was */
EventCursor event_log_first(const EventLog *log); /* everything that is kept */
MUST_CHECK Err event_cursor_parse(Slice text, EventCursor *out); /* an event's id */

/* Appends up to EVENT_READ_MAX events behind the cursor, of one tenant if it is named,
 * and moves it. False: that was all. */
bool event_log_read(const EventLog *log, EventCursor *cursor, Slice tenant, Buf *out);

#endif
