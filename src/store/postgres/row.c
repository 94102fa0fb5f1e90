/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - see row.h. */
#include "store/postgres/row.h"

#define HOT                                                                              \
    "id, rank, dt, created, run_at, parent, service, started, finished, beat, "          \
    "result_bytes, owner, lane, lock, type, flags, attempt, retry, run_retry, slot, "    \
    "node, exitcode, exit_status, signal, progress, state, run_state, code, apart, "     \
    "name, reason, error, message, spec"

const char pg_all_columns[] = HOT ", payload";
const char pg_hot_columns[] = HOT;

typedef struct ColumnRow {
    const char *name;
    PgType type;
    bool changes; /* in a row that stays where it is */
} ColumnRow;

static const ColumnRow columns[PG_COLUMNS] = {
    [PG_ID] = { "id", PG_INT8, true },
    [PG_RANK] = { "rank", PG_INT8, true },
    [PG_DT] = { "dt", PG_INT8, true },
    [PG_CREATED] = { "created", PG_INT8, false },
    [PG_RUN_AT] = { "run_at", PG_INT8, true },
    [PG_PARENT] = { "parent", PG_INT8, false },
    [PG_SERVICE] = { "service", PG_INT8, false },
    [PG_STARTED] = { "started", PG_INT8, true },
    [PG_FINISHED] = { "finished", PG_INT8, true },
    [PG_BEAT] = { "beat", PG_INT8, true },
    [PG_RESULT_BYTES] = { "result_bytes", PG_INT8, true },
    [PG_OWNER] = { "owner", PG_INT4, true },
    [PG_LANE] = { "lane", PG_INT4, true },
    [PG_LOCK] = { "lock", PG_INT4, true },
    [PG_JOB_TYPE] = { "type", PG_INT4, false },
    [PG_FLAGS] = { "flags", PG_INT4, true },
    [PG_ATTEMPT] = { "attempt", PG_INT4, true },
    [PG_RETRY] = { "retry", PG_INT4, true },
    [PG_RUN_RETRY] = { "run_retry", PG_INT4, true },
    [PG_SLOT] = { "slot", PG_INT4, true },
    [PG_NODE] = { "node", PG_INT4, true },
    [PG_EXITCODE] = { "exitcode", PG_INT4, true },
    [PG_EXIT_STATUS] = { "exit_status", PG_INT4, true },
    [PG_SIGNAL] = { "signal", PG_INT4, true },
    [PG_PROGRESS] = { "progress", PG_INT4, true },
    [PG_STATE] = { "state", PG_INT2, true },
    [PG_RUN_STATE] = { "run_state", PG_INT2, true },
    [PG_CODE] = { "code", PG_INT2, true },
    [PG_APART] = { "apart", PG_INT2, false },
    [PG_NAME] = { "name", PG_BYTEA, false },
    [PG_REASON] = { "reason", PG_BYTEA, true },
    [PG_ERROR] = { "error", PG_BYTEA, true },
    [PG_MESSAGE] = { "message", PG_BYTEA, true },
    [PG_SPEC] = { "spec", PG_BYTEA, false },
    [PG_PAYLOAD] = { "payload", PG_BYTEA, false },
};

/* --- Out of a row ----------------------------------------------------------------------
 */

static void must(PgValues *out, PgColumn column, int64_t value)
{
    out->numbers[column] = value;
    out->given[column] = true;
}

static void unless(PgValues *out, PgColumn column, int64_t value, int64_t none)
{
    out->numbers[column] = value;
    out->given[column] = value != none;
}

static void text(PgValues *out, PgColumn column, Slice bytes)
{
    out->bytes[column] = bytes;
    out->given[column] = bytes.bytes > 0;
}

static void run_values(const Row *row, PgCatalog *catalog, PgValues *out)
{
    const Job *job = &row->job;
    uint32_t node = pgcatalog_name(catalog, job->node);
    if (node && row->slot)
        pgcatalog_slot(catalog, node, row->slot);
    must(out, PG_ATTEMPT, job->attempt);
    unless(out, PG_RETRY, job->retry_number, 0);
    unless(out, PG_RUN_RETRY, row->run_retry, 0);
    unless(out, PG_RUN_STATE, row->run_state, RUN_NONE);
    unless(out, PG_SLOT, row->slot, 0);
    unless(out, PG_NODE, node, 0);
    unless(out, PG_STARTED, job->started_ms, 0);
    unless(out, PG_FINISHED, job->finished_ms, 0);
    unless(out, PG_BEAT, job->beat_ms, 0);
    unless(out, PG_CODE, job->outcome.code, 0);
    unless(out, PG_EXITCODE, job->outcome.exitcode, 0);
    unless(out, PG_EXIT_STATUS, job->outcome.exit_status, -1);
    unless(out, PG_SIGNAL, job->outcome.signal, 0);
    unless(out, PG_PROGRESS, job->progress, -1);
    unless(out, PG_RESULT_BYTES, job->result_bytes, 0);
}

uint32_t pgrow_values(const RowColumns *saved, PgCatalog *catalog, Buf *scratch,
                      PgValues *out)
{
    const Job *job = &saved->row.job;
    uint32_t lane = pgcatalog_lane(catalog, job, job_owner(job));
    *out = (PgValues){ .numbers = { 0 } };
    must(out, PG_ID, (int64_t)job->id);
    must(out, PG_STATE, job->state);
    must(out, PG_LANE, lane);
    must(out, PG_OWNER, job_owner(job));
    must(out, PG_RANK, ~job->priority);
    must(out, PG_DT, job->dt_ms);
    unless(out, PG_LOCK, pgcatalog_name(catalog, job->lock), 0);
    unless(out, PG_FLAGS, (int32_t)job->flags, 0);
    unless(out, PG_RUN_AT, job->run_at_ms, 0);
    unless(out, PG_JOB_TYPE, pgcatalog_name(catalog, job->type), 0);
    unless(out, PG_CREATED, job->created_ms, 0);
    unless(out, PG_PARENT, (int64_t)job->parent, 0);
    unless(out, PG_SERVICE, job->service_ms, 0);
    unless(out, PG_APART, saved->apart, 0);
    text(out, PG_REASON, job->reason);
    text(out, PG_ERROR, job->error);
    text(out, PG_MESSAGE, job->message);
    text(out, PG_NAME, job->name);
    text(out, PG_SPEC, row_columns_spec(saved, scratch));
    text(out, PG_PAYLOAD, job->payload);
    if (row_columns_has_run(&saved->row))
        run_values(&saved->row, catalog, out);
    return lane;
}

void pgrow_copy(Buf *out, const PgValues *values)
{
    copy_row(out, PG_COLUMNS);
    for (int i = 0; i < PG_COLUMNS; i++) {
        if (!values->given[i])
            copy_null(out);
        else if (columns[i].type == PG_BYTEA)
            copy_bytes(out, values->bytes[i]);
        else
            copy_int(out, columns[i].type, values->numbers[i]);
    }
}

/* --- Many changes at once
 * ----------------------------------------------------------------
 */

void pgrow_change(PgChanges *changes, const PgValues *values)
{
    for (int i = 0; i < PG_COLUMNS; i++) {
        if (!columns[i].changes)
            continue;
        PgArray *array = &changes->columns[i];
        array->type = columns[i].type;
        if (!values->given[i])
            array_null(array);
        else if (columns[i].type == PG_BYTEA)
            array_bytes(array, values->bytes[i]);
        else
            array_int(array, values->numbers[i]);
    }
    changes->count++;
}

/* UPDATE ... SET dt = u.dt, ... FROM unnest($1, ...) AS u(id, ...) WHERE id = u.id */
static void change_statement(Buf *sql)
{
    int number = 0;
    buf_add_text(sql, "UPDATE pawl.job_live j SET ");
    for (int i = PG_ID + 1; i < PG_COLUMNS; i++)
        if (columns[i].changes)
            buf_printf(sql, "%s%s = u.%s", i == PG_ID + 1 ? "" : ", ", columns[i].name,
                       columns[i].name);
    buf_add_text(sql, " FROM unnest(");
    for (int i = 0; i < PG_COLUMNS; i++) {
        if (!columns[i].changes)
            continue;
        number++;
        buf_printf(sql, "%s$%d", number > 1 ? ", " : "", number);
    }
    buf_add_text(sql, ") AS u(");
    for (int i = 0; i < PG_COLUMNS; i++)
        if (columns[i].changes)
            buf_printf(sql, "%s%s", i ? ", " : "", columns[i].name);
    buf_add_text(sql, ") WHERE j.id = u.id");
}

bool pgrow_changes_send(PgChanges *changes, PgLink *link, PgParams *params)
{
    if (!changes->count)
        return true;
    Buf sql = { 0 };
    change_statement(&sql);
    for (int i = 0; i < PG_COLUMNS; i++) {
        if (!columns[i].changes)
            continue;
        param_array(params, &changes->columns[i]);
        array_clear(&changes->columns[i]);
    }
    int32_t wanted = changes->count;
    changes->count = 0;
    bool all = link_run(link, buf_cstr(&sql), params) == wanted;
    buf_done(&sql);
    return all;
}

void pgrow_changes_done(PgChanges *changes)
{
    for (int i = 0; i < PG_COLUMNS; i++)
        array_done(&changes->columns[i]);
}

/* --- Into a row ------------------------------------------------------------------------
 */

void pgrow_fields(PgFields *out, const PGresult *result, int at)
{
    int columns_there = PQnfields(result);
    for (int i = 0; i < PG_COLUMNS; i++) {
        bool there = i < columns_there && !PQgetisnull(result, at, i);
        out->bytes[i] = there ? PQgetlength(result, at, i) : -1;
        out->data[i] = there ? PQgetvalue(result, at, i) : NULL;
    }
}

static uint32_t be32(const char *data)
{
    const unsigned char *bytes = (const unsigned char *)data;
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
           bytes[3];
}

void pgrow_fields_of(PgFields *out, Slice row)
{
    const char *at = row.data + 2; /* behind how many there are */
    for (int i = 0; i < PG_COLUMNS; i++) {
        out->bytes[i] = (int32_t)be32(at);
        out->data[i] = at + 4;
        at += 4 + (out->bytes[i] > 0 ? out->bytes[i] : 0);
    }
}

void pgrow_fields_copy(Buf *out, const PgFields *fields)
{
    copy_row(out, PG_COLUMNS);
    for (int i = 0; i < PG_COLUMNS; i++) {
        if (fields->bytes[i] < 0)
            copy_null(out);
        else
            copy_bytes(out, slice_of(fields->data[i], (size_t)fields->bytes[i]));
    }
}

typedef struct Reading {
    const PgFields *fields;
    PgCatalog *catalog;
    Arena *arena;
} Reading;

static int64_t number(const Reading *in, PgColumn column)
{
    int32_t length = in->fields->bytes[column];
    if (length <= 0)
        return 0;
    const unsigned char *bytes = (const unsigned char *)in->fields->data[column];
    uint64_t value = length > 1 && (bytes[0] & 0x80) ? UINT64_MAX : 0;
    for (int32_t i = 0; i < length; i++)
        value = value << 8 | bytes[i];
    return (int64_t)value;
}

static int32_t small(const Reading *in, PgColumn column, int32_t absent)
{
    return in->fields->bytes[column] < 0 ? absent : (int32_t)number(in, column);
}

static Slice bytes_of(const Reading *in, PgColumn column)
{
    int32_t length = in->fields->bytes[column];
    if (length <= 0)
        return (Slice){ NULL, 0 };
    Slice bytes = slice_of(in->fields->data[column], (size_t)length);
    return in->arena ? slice_copy(in->arena, bytes) : bytes;
}

static Slice name_of(const Reading *in, PgColumn column)
{
    return pgcatalog_text(in->catalog, (uint32_t)number(in, column));
}

static void read_run(Row *row, const Reading *in)
{
    Job *job = &row->job;
    job->attempt = (uint32_t)number(in, PG_ATTEMPT);
    job->retry_number = (uint32_t)number(in, PG_RETRY);
    job->node = name_of(in, PG_NODE);
    job->started_ms = number(in, PG_STARTED);
    job->finished_ms = number(in, PG_FINISHED);
    job->beat_ms = number(in, PG_BEAT);
    job->outcome.code = (JobCode)number(in, PG_CODE);
    job->outcome.exitcode = small(in, PG_EXITCODE, 0);
    job->outcome.exit_status = small(in, PG_EXIT_STATUS, -1);
    job->outcome.signal = small(in, PG_SIGNAL, 0);
    job->progress = small(in, PG_PROGRESS, -1);
    job->result_bytes = number(in, PG_RESULT_BYTES);
    row->run_state = small(in, PG_RUN_STATE, RUN_NONE);
    row->run_retry = (uint32_t)number(in, PG_RUN_RETRY);
    row->slot = (uint32_t)number(in, PG_SLOT);
}

/* What the program would stumble over if someone had changed the tables by hand. */
static bool makes_sense(const Reading *in)
{
    int64_t state = number(in, PG_STATE);
    int64_t code = number(in, PG_CODE);
    int64_t run_state = small(in, PG_RUN_STATE, RUN_NONE);
    return pgcatalog_knows_lane(in->catalog, (uint32_t)number(in, PG_LANE)) &&
           state >= 0 && state < JOB_STATES && code >= 0 && code <= CODE_ERROR &&
           run_state >= RUN_NONE && run_state < JOB_STATES;
}

bool pgrow_take(RowColumns *out, const PgFields *fields, PgCatalog *catalog, Arena *arena)
{
    const Reading in = { fields, catalog, arena };
    if (!makes_sense(&in)) {
        link_fail(catalog->link, ERR_CORRUPT, "a job's row is damaged");
        return false;
    }
    *out = (RowColumns){ .row.job = job_default() };
    Job *job = &out->row.job;
    job->id = (JobId)number(&in, PG_ID);
    job->state = (JobState)number(&in, PG_STATE);
    out->lane = (uint32_t)number(&in, PG_LANE);
    job_set_owner(job, (uint32_t)number(&in, PG_OWNER));
    const PgLane *lane = &catalog->lanes[out->lane - 1];
    job->tenant = pgcatalog_text(catalog, lane->key.tenant);
    job->queue = pgcatalog_text(catalog, lane->key.queue);
    job->priority = ~number(&in, PG_RANK);
    job->dt_ms = number(&in, PG_DT);
    job->lock = name_of(&in, PG_LOCK);
    job->type = name_of(&in, PG_JOB_TYPE);
    job->flags = (uint32_t)number(&in, PG_FLAGS);
    job->created_ms = number(&in, PG_CREATED);
    job->run_at_ms = number(&in, PG_RUN_AT);
    job->parent = (JobId)number(&in, PG_PARENT);
    job->service_ms = number(&in, PG_SERVICE);
    job->name = bytes_of(&in, PG_NAME);
    job->reason = bytes_of(&in, PG_REASON);
    job->error = bytes_of(&in, PG_ERROR);
    job->message = bytes_of(&in, PG_MESSAGE);
    out->row.run_state = RUN_NONE;
    if (fields->bytes[PG_ATTEMPT] >= 0)
        read_run(&out->row, &in);
    out->apart = number(&in, PG_APART) != 0;
    out->spec = bytes_of(&in, PG_SPEC);
    job->payload = bytes_of(&in, PG_PAYLOAD);
    return true;
}

bool pgrow_read(RowColumns *out, const PGresult *result, int at, PgCatalog *catalog,
                Arena *arena)
{
    PgFields fields;
    pgrow_fields(&fields, result, at);
    return pgrow_take(out, &fields, catalog, arena);
}

/* Whose it is has a column here, whatever was packed. */
void pgrow_open(RowColumns *saved, PgLink *link)
{
    uint32_t owner = job_owner(&saved->row.job);
    if (row_columns_unpack(saved))
        link_fail(link, ERR_CORRUPT, "a job's packed fields are damaged");
    job_set_owner(&saved->row.job, owner);
}
