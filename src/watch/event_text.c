/* SPDX-License-Identifier: Apache-2.0 */
/* event_text.c - see event_text.h. */
#include "watch/event_text.h"

#include "base/fields.h"
#include "base/json_out.h"

#include <stddef.h>
#include <stdio.h>

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

void event_write(Buf *out, const EventRow *row, const EventName *name)
{
    char text[96];
    char job[ID_TEXT_BYTES];
    JsonOut json = { .out = out };
    buf_add_text(out, "id: ");
    buf_add_slice(out, name->place);
    buf_add_text(out, "\ndata: ");
    json_object(&json, NULL);
    json_cstr(&json, "specversion", "1.0");
    snprintf(text, sizeof text, "%llu-%llu", (unsigned long long)name->at.epoch,
             (unsigned long long)name->at.number);
    json_cstr(&json, "id", text);
    snprintf(text, sizeof text, "/nodes/%s", name->sysid);
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

void event_write_reset(Buf *out, Slice place)
{
    buf_printf(out, "event: reset\nid: " SLICE_FMT "\ndata: {}\n\n", SLICE_ARG(place));
}

/* --- Between daemons ------------------------------------------------------------------
 */

enum { PACKED_EVENT = 1 };

static const FieldRow rows[] = {
    { 1, offsetof(EventRow, wall_ms), FIELD_64 },
    { 2, offsetof(EventRow, id), FIELD_64 },
    { 3, offsetof(EventRow, attempt), FIELD_32 },
    { 4, offsetof(EventRow, state), FIELD_32 },
    { 5, offsetof(EventRow, was), FIELD_32 },
    { 6, offsetof(EventRow, code), FIELD_32 },
    { 7, offsetof(EventRow, added), FIELD_BOOL },
    { 8, offsetof(EventRow, priority), FIELD_64 },
    { 9, offsetof(EventRow, wait_ms), FIELD_64 },
    { 10, offsetof(EventRow, run_ms), FIELD_64 },
    { 11, offsetof(EventRow, count), FIELD_64 },
    { 12, offsetof(EventRow, tenant), FIELD_SLICE },
    { 13, offsetof(EventRow, queue), FIELD_SLICE },
    { 14, offsetof(EventRow, type), FIELD_SLICE },
};
static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

void event_pack(Buf *out, const EventRow *row)
{
    size_t begun = pack_begin(out, PACKED_EVENT);
    fields_pack(out, &fields, row);
    pack_end(out, begun);
}

static bool makes_sense(const EventRow *row)
{
    return (unsigned)row->state < JOB_STATES && (unsigned)row->was < JOB_STATES &&
           (unsigned)row->code <= CODE_ERROR;
}

bool event_unpack(Slice *rest, EventRow *out)
{
    PackField field;
    EventRow row = { 0 };
    if (!pack_next(rest, &field) || field.tag != PACKED_EVENT ||
        fields_unpack(field.bytes, &fields, &row) || !makes_sense(&row))
        return false;
    *out = row;
    return true;
}
