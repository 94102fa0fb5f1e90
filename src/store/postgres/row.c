/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - see row.h. */
#include "store/postgres/row.h"

#include "store/damage.h"

#include <assert.h>
#include <stdio.h>

const char pg_all_columns[] = JOB_HOT_COLUMNS ", payload, owner";
const char pg_hot_columns[] = JOB_HOT_COLUMNS ", NULL::bytea AS no_payload, owner";

#define COLUMN_OF_H(number, NAME, column, type, changes) ", h." #column
const char pg_columns_of_h[] =
    "h.id, h.state" JOB_COLUMN_LIST(COLUMN_OF_H) ", h.payload, h.owner";

static const PgType types[] = { [COLUMN_INT8] = PG_INT8,
                                [COLUMN_INT4] = PG_INT4,
                                [COLUMN_INT2] = PG_INT2,
                                [COLUMN_TEXT] = PG_BYTEA,
                                [COLUMN_BYTES] = PG_BYTEA };

static PgType type_of(int column)
{
    return types[job_columns[column].type];
}

/* --- Out of a row ------------------------------------------------------------------ */

uint32_t pgrow_values(const RowColumns *saved, PgCatalog *catalog, Buf *scratch,
                      RowValues *out)
{
    const Job *job = &saved->row.job;
    RowNumbers numbers = { .lane = pgcatalog_lane(catalog, job, job_owner(job)),
                           .lock = pgcatalog_name(catalog, job->lock),
                           .type = pgcatalog_name(catalog, job->type) };
    if (row_columns_has_run(&saved->row)) {
        numbers.node = pgcatalog_name(catalog, job->node);
        if (numbers.node && saved->row.slot)
            pgcatalog_slot(catalog, numbers.node, saved->row.slot);
    }
    if (!numbers.lane) /* the link has failed: no one will write it */
        numbers.lane = 1;
    columns_fill(out, saved, &numbers, row_columns_spec(saved, scratch));
    return numbers.lane;
}

void pgrow_copy(Buf *out, const RowValues *values)
{
    copy_row(out, JOB_COLUMNS);
    for (int i = 0; i < JOB_COLUMNS; i++) {
        if (!values->given[i])
            copy_null(out);
        else if (column_has_bytes((unsigned)i))
            copy_bytes(out, values->bytes[i]);
        else
            copy_int(out, type_of(i), values->numbers[i]);
    }
}

/* --- Many changes at once
 * ----------------------------------------------------------------
 */

static bool is_sent(int column)
{
    return column == COL_ID || job_columns[column].changes;
}

void pgrow_change(PgChanges *changes, const RowValues *values)
{
    for (int i = 0; i < JOB_COLUMNS; i++) {
        if (!is_sent(i))
            continue;
        PgArray *array = &changes->columns[i];
        array->type = type_of(i);
        if (!values->given[i])
            array_null(array);
        else if (column_has_bytes((unsigned)i))
            array_bytes(array, values->bytes[i]);
        else
            array_int(array, values->numbers[i]);
    }
    changes->count++;
}

/* UPDATE ... SET state = u.state, ... FROM unnest($1, ...) AS u(id, ...)
 * WHERE id = u.id */
static void change_statement(Buf *sql)
{
    int number = 0;
    buf_add_text(sql, "UPDATE pawl.job_live j SET ");
    for (int i = 0; i < JOB_COLUMNS; i++)
        if (job_columns[i].changes)
            buf_printf(sql, "%s%s = u.%s", number++ ? ", " : "", job_columns[i].name,
                       job_columns[i].name);
    buf_add_text(sql, " FROM unnest($1");
    for (int i = 0; i < number; i++)
        buf_printf(sql, ", $%d", i + 2);
    buf_add_text(sql, ") AS u(id");
    for (int i = 0; i < JOB_COLUMNS; i++)
        if (job_columns[i].changes)
            buf_printf(sql, ", %s", job_columns[i].name);
    buf_add_text(sql, ") WHERE j.id = u.id");
}

bool pgrow_changes_send(PgChanges *changes, PgLink *link, PgParams *params)
{
    if (!changes->count)
        return true;
    Buf sql = { 0 };
    change_statement(&sql);
    for (int i = 0; i < JOB_COLUMNS; i++) {
        if (!is_sent(i))
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
    for (int i = 0; i < JOB_COLUMNS; i++)
        array_done(&changes->columns[i]);
}

/* --- Into a row ------------------------------------------------------------------------
 */

void pgrow_fields(PgFields *out, const PGresult *result, int at)
{
    int columns_there = PQnfields(result);
    assert(columns_there >= JOB_COLUMNS);
    out->trusted = false;
    out->whole = strcmp(PQfname(result, COL_PAYLOAD), "payload") == 0;
    for (int i = 0; i < JOB_COLUMNS; i++) {
        bool there = !PQgetisnull(result, at, i);
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
    out->whole = true;
    out->trusted = true;
    for (int i = 0; i < JOB_COLUMNS; i++) {
        out->bytes[i] = (int32_t)be32(at);
        out->data[i] = at + 4;
        at += 4 + (out->bytes[i] > 0 ? out->bytes[i] : 0);
    }
}

void pgrow_fields_copy(Buf *out, const PgFields *fields)
{
    copy_row(out, JOB_COLUMNS);
    for (int i = 0; i < JOB_COLUMNS; i++) {
        if (fields->bytes[i] < 0)
            copy_null(out);
        else
            copy_bytes(out, slice_of(fields->data[i], (size_t)fields->bytes[i]));
    }
}

static int64_t number_of(const PgFields *fields, int column)
{
    const unsigned char *bytes = (const unsigned char *)fields->data[column];
    int32_t length = fields->bytes[column];
    uint64_t value = length > 1 && (bytes[0] & 0x80) ? UINT64_MAX : 0;
    for (int32_t i = 0; i < length; i++)
        value = value << 8 | bytes[i];
    return (int64_t)value;
}

static void read_values(RowValues *out, const PgFields *fields, Arena *arena)
{
    memset(out->given, 0, sizeof out->given);
    out->whole = fields->whole;
    out->trusted = fields->trusted;
    for (int i = 0; i < JOB_COLUMNS; i++) {
        int32_t length = fields->bytes[i];
        if (length < 0 || (!length && column_has_bytes((unsigned)i)))
            continue;
        out->given[i] = true;
        if (!column_has_bytes((unsigned)i)) {
            out->numbers[i] = number_of(fields, i);
            continue;
        }
        Slice bytes = slice_of(fields->data[i], (size_t)length);
        out->bytes[i] = arena ? slice_copy(arena, bytes) : bytes;
    }
}

static Slice name_of(const RowValues *values, JobColumn column, PgCatalog *catalog)
{
    int64_t number = values->given[column] ? values->numbers[column] : 0;
    return pgcatalog_text(catalog, (uint32_t)number);
}

static bool is_damaged(RowColumns *out, JobId id)
{
    *out = (RowColumns){ .row.job.id = id, .damaged = true };
    damage_note(id);
    return false;
}

bool pgrow_take(RowColumns *out, const PgFields *fields, PgCatalog *catalog, Arena *arena)
{
    RowValues values;
    read_values(&values, fields, arena);
    JobId id = (JobId)values.numbers[COL_ID];
    if (!values.given[COL_LANE] ||
        !pgcatalog_knows_lane(catalog, (uint32_t)values.numbers[COL_LANE]) ||
        !columns_make_sense(&values))
        return is_damaged(out, id);
    const PgLaneKey *lane = &catalog->lanes[values.numbers[COL_LANE] - 1].key;
    const RowTexts texts = { .tenant = pgcatalog_text(catalog, lane->tenant),
                             .queue = pgcatalog_text(catalog, lane->queue),
                             .lock = name_of(&values, COL_LOCK, catalog),
                             .type = name_of(&values, COL_TYPE, catalog),
                             .node = name_of(&values, COL_NODE, catalog) };
    columns_read(out, &values, &texts);
    return out->damaged ? is_damaged(out, id) : true;
}

bool pgrow_read(RowColumns *out, const PGresult *result, int at, PgCatalog *catalog,
                Arena *arena)
{
    PgFields fields;
    pgrow_fields(&fields, result, at);
    return pgrow_take(out, &fields, catalog, arena);
}

void pgrow_fail_damaged(PgLink *link, JobId id)
{
    char text[ID_TEXT_BYTES];
    char failure[128];
    snprintf(failure, sizeof failure, DAMAGE_TEXT, id_text(id, text));
    link_fail(link, ERR_CORRUPT, failure);
}

/* Whose it is has a column here, whatever was packed. */
void pgrow_open(RowColumns *saved, PgLink *link)
{
    uint32_t owner = job_owner(&saved->row.job);
    if (row_columns_unpack(saved))
        link_fail(link, ERR_CORRUPT, "a job's packed fields are damaged");
    job_set_owner(&saved->row.job, owner);
}
