/* SPDX-License-Identifier: Apache-2.0 */
/* event_log.c - see event_log.h. */
#include "watch/event_log.h"

void event_log_init(EventLog *log, uint64_t epoch, const char *sysid)
{
    *log = (EventLog){ .rows = MEM_ARRAY(EventRow, EVENT_LOG_ROWS),
                       .next = 1,
                       .epoch = epoch,
                       .sysid = sysid };
}

void event_log_done(EventLog *log)
{
    mem_free(log->rows);
    *log = (EventLog){ 0 };
}

static EventRow *row_at(const EventLog *log, uint64_t number)
{
    return &log->rows[number % EVENT_LOG_ROWS];
}

void event_log_add(EventLog *log, const Effect *effect, int64_t wall_ms)
{
    *row_at(log, log->next++) = (EventRow){
        .wall_ms = wall_ms,
        .id = effect->id,
        .attempt = effect->attempt,
        .state = effect->state,
        .was = effect->was,
        .code = effect->code,
        .added = effect->added,
        .priority = effect->priority,
        .wait_ms = effect->wait_ms,
        .run_ms = effect->run_ms,
        .count = effect->count,
        .tenant = effect->tenant,
        .queue = effect->queue,
        .type = effect->type,
    };
}

EventCursor event_log_now(const EventLog *log)
{
    return (EventCursor){ log->epoch, log->next - 1 };
}

EventCursor event_log_first(const EventLog *log)
{
    uint64_t kept = log->next - 1 < EVENT_LOG_ROWS ? log->next - 1 : EVENT_LOG_ROWS;
    return (EventCursor){ log->epoch, log->next - 1 - kept };
}

bool event_log_keeps(const EventLog *log, EventCursor cursor)
{
    return cursor.epoch == log->epoch && cursor.number < log->next &&
           cursor.number >= event_log_first(log).number;
}

const EventRow *event_log_behind(const EventLog *log, EventCursor cursor)
{
    return cursor.number + 1 < log->next ? row_at(log, cursor.number + 1) : NULL;
}
