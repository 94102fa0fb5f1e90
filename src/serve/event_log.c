/* SPDX-License-Identifier: Apache-2.0 */
/* event_log.c - see event_log.h. */
#include "serve/event_log.h"

#include "base/json_out.h"
#include "base/text.h"

#include <stdio.h>

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

Err event_cursor_parse(Slice text, EventCursor *out)
{
    int64_t epoch;
    int64_t number;
    Slice first = slice_cut(&text, '-');
    if (int_parse(first, &epoch) || int_parse(text, &number) || epoch < 0 || number < 0)
        return ERR_INVALID;
    *out = (EventCursor){ (uint64_t)epoch, (uint64_t)number };
    return ERR_OK;
}

/* The words of the log's own lines (S2.11): added, started, finished, else changed. */
static const char *type_of(const EventRow *row)
{
    if (row->code || state_in(row->state, STATES_FINAL))
        return "pawl.job.finished";
    if (row->added)
        return "pawl.job.added";
    if (row->state == JOB_RUNNING && row->was == JOB_READY)
        return "pawl.job.started";
    return "pawl.job.changed";
}

static void data_members(JsonOut *json, const EventRow *row)
{
    char id[ID_TEXT_BYTES];
    json_cstr(json, "id", id_text(row->id, id));
    json_text(json, "tenant", row->tenant);
    json_text(json, "type", row->type);
    json_text(json, "queue", row->queue);
    json_int(json, "priority", row->priority);
    json_cstr(json, "state", state_name(row->state));
    json_cstr(json, "was", row->added ? NULL : state_name(row->was));
    json_int(json, "attempt", row->attempt);
    if (row->code)
        json_cstr(json, "code", code_name(row->code));
    if (row->code)
        json_int(json, "run_ms", row->run_ms);
    if (row->state == JOB_RUNNING && row->was == JOB_READY)
        json_int(json, "wait_ms", row->wait_ms);
    if (row->count > 1)
        json_int(json, "count", (int64_t)row->count);
}

static void write_event(const EventLog *log, uint64_t number, Buf *out)
{
    const EventRow *row = row_at(log, number);
    char text[96];
    char job[ID_TEXT_BYTES];
    JsonOut json = { .out = out };
    snprintf(text, sizeof text, "%llu-%llu", (unsigned long long)log->epoch,
             (unsigned long long)number);
    buf_printf(out, "id: %s\ndata: ", text);
    json_object(&json, NULL);
    json_cstr(&json, "specversion", "1.0");
    json_cstr(&json, "id", text);
    snprintf(text, sizeof text, "/nodes/%s", log->sysid);
    json_cstr(&json, "source", text);
    json_cstr(&json, "type", type_of(row));
    json_cstr(&json, "subject", id_text(row->id, job));
    json_time(&json, "time", row->wall_ms);
    json_cstr(&json, "datacontenttype", "application/json");
    json_object(&json, "data");
    data_members(&json, row);
    json_object_end(&json);
    json_object_end(&json);
    buf_add_text(out, "\n\n");
}

static void write_reset(const EventLog *log, const EventCursor *cursor, Buf *out)
{
    buf_printf(out, "event: reset\nid: %llu-%llu\ndata: {}\n\n",
               (unsigned long long)log->epoch, (unsigned long long)cursor->number);
}

bool event_log_read(const EventLog *log, EventCursor *cursor, Slice tenant, Buf *out)
{
    EventCursor first = event_log_first(log);
    bool elsewhere = cursor->epoch != log->epoch || cursor->number >= log->next;
    if (elsewhere || cursor->number < first.number) {
        *cursor = event_log_now(log);
        write_reset(log, cursor, out);
        return false;
    }
    for (size_t i = 0; i < EVENT_READ_MAX && cursor->number + 1 < log->next; i++) {
        uint64_t number = ++cursor->number;
        if (!tenant.bytes || slice_equal(tenant, row_at(log, number)->tenant))
            write_event(log, number, out);
    }
    return cursor->number + 1 < log->next;
}
