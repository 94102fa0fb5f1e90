/* SPDX-License-Identifier: Apache-2.0 */
/* event_log.h - what has happened to jobs lately, for those who listen.
 *
 * A ring of the last changes that this node decided, as they became durable; only the
 * loop thread touches it. How they are written is in event_text.h, who reads them in
 * event_listener.h. */
#ifndef WATCH_EVENT_LOG_H
#define WATCH_EVENT_LOG_H

#include "core/effect.h"

#define EVENT_LOG_ROWS 16384 /* kept; a power of two */

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
    Slice tenant; /* in the log, names of the node: they live as long as it */
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

/* Where a listener stands: behind this event of this start. */
typedef struct EventCursor {
    uint64_t epoch;
    uint64_t number;
} EventCursor;

EventCursor event_log_now(const EventLog *log);   /* nothing of what was */
EventCursor event_log_first(const EventLog *log); /* everything that is kept */

/* Whether everything behind the cursor is still there. */
bool event_log_keeps(const EventLog *log, EventCursor cursor);

/* The event behind the cursor, which is kept; NULL: it has not happened yet. */
const EventRow *event_log_behind(const EventLog *log, EventCursor cursor);

#endif
