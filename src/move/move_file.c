/* SPDX-License-Identifier: Apache-2.0 */
/* move_file.c - see move_file.h. */
#include "move/move_file.h"

#include "base/json_out.h"
#include "json/base64.h"
#include "json/json_in.h"

#include <errno.h>
#include <xxhash.h>

#define FORMAT     1
#define MARK       "{\"pawl_export\":"
#define HASH_BYTES 17 /* of its text */

static void hash_text(uint64_t hash, char out[HASH_BYTES])
{
    snprintf(out, HASH_BYTES, "%016llx", (unsigned long long)hash);
}

/* --- Out ---------------------------------------------------------------------------- */

typedef struct Writing {
    FILE *file;
    XXH3_state_t *hash;
    Buf line;
    Buf packed;
    uint64_t rows;
    int failed; /* errno */
} Writing;

static void put_line(Writing *writing)
{
    buf_add_char(&writing->line, '\n');
    XXH3_64bits_update(writing->hash, writing->line.data, writing->line.bytes);
    errno = 0;
    if (!writing->failed && fwrite(writing->line.data, 1, writing->line.bytes,
                                   writing->file) != writing->line.bytes)
        writing->failed = errno ? errno : EIO;
    buf_clear(&writing->line);
}

static void put_job(void *context, const Row *row)
{
    Writing *writing = context;
    JsonOut json = { .out = &writing->line };
    buf_clear(&writing->packed);
    job_pack(&writing->packed, &row->job);
    json_object(&json, NULL);
    json_base64(&json, "job", buf_slice(&writing->packed));
    json_int(&json, "slot", row->slot);
    json_int(&json, "run_retry", row->run_retry);
    json_int(&json, "run_state", row->run_state);
    json_object_end(&json);
    writing->rows++;
    put_line(writing);
}

static bool is_bytes(MoveType type)
{
    return type == MOVE_TEXT || type == MOVE_BYTES || type == MOVE_NAME;
}

static void put_row(void *context, const MoveTable *table, const MoveValue *values)
{
    Writing *writing = context;
    JsonOut json = { .out = &writing->line };
    json_object(&json, NULL);
    json_cstr(&json, "table", table->name);
    json_array(&json, "row");
    for (size_t i = 0; i < move_columns(table); i++) {
        if (values[i].null)
            json_null(&json, NULL);
        else if (is_bytes(table->columns[i].type))
            json_base64(&json, NULL, values[i].bytes);
        else
            json_int(&json, NULL, values[i].number);
    }
    json_array_end(&json);
    json_object_end(&json);
    writing->rows++;
    put_line(writing);
}

Err move_file_write(Store *store, FILE *out, uint64_t *out_rows, Error *why)
{
    Writing writing = { .file = out, .hash = XXH3_createState() };
    const MoveSink sink = { put_job, put_row, &writing };
    char hash[HASH_BYTES];
    XXH3_64bits_reset(writing.hash);
    buf_printf(&writing.line, MARK "%d}", FORMAT);
    put_line(&writing);
    Err err = move_out(store, &sink, why);
    hash_text(XXH3_64bits_digest(writing.hash), hash);
    buf_printf(&writing.line, "{\"rows\":%llu,\"xxh3\":\"%s\"}",
               (unsigned long long)writing.rows, hash);
    put_line(&writing);
    if (!writing.failed && fflush(out))
        writing.failed = errno;
    if (!err && writing.failed) {
        errno = writing.failed;
        err = error_errno(why, "cannot write the export");
    }
    XXH3_freeState(writing.hash);
    buf_done(&writing.line);
    buf_done(&writing.packed);
    *out_rows = writing.rows;
    return err;
}

/* --- In ----------------------------------------------------------------------------- */

static Err check_format(Slice text, Error *why)
{
    char first[32];
    Slice line = slice_cut(&text, '\n');
    snprintf(first, sizeof first, MARK "%d}", FORMAT);
    if (slice_is(line, first))
        return ERR_OK;
    if (slice_starts(line, SLICE_LITERAL(MARK)))
        return error_set(why, ERR_UNSUPPORTED,
                         "the export has another format than this pawl reads, which is "
                         "%s: use the pawl that made it",
                         first);
    return error_set(why, ERR_INVALID,
                     "this is no export of a store: its first line must be %s", first);
}

/* The last line, and what stands before it. */
static bool split_end(Slice text, Slice *out_body, Slice *out_end)
{
    if (!text.bytes || text.data[text.bytes - 1] != '\n')
        return false;
    size_t at = text.bytes - 1;
    while (at > 0 && text.data[at - 1] != '\n')
        at--;
    *out_body = slice_of(text.data, at);
    *out_end = slice_of(text.data + at, text.bytes - at - 1);
    return true;
}

static uint64_t lines_of(Slice text)
{
    uint64_t lines = 0;
    while (text.bytes) {
        slice_cut(&text, '\n');
        lines++;
    }
    return lines;
}

/* What the last line says about those before it. */
static Err check_end(const JsonIn *last, Slice body, Error *why)
{
    char hash[HASH_BYTES];
    uint64_t rows = lines_of(body) - 1; /* the first has the format */
    int64_t promised = json_in_int_of(last, "rows", -1);
    hash_text(XXH3_64bits(body.data, body.bytes), hash);
    if (promised < 0)
        return error_set(why, ERR_CORRUPT,
                         "the export is cut off: its last line, with the number of "
                         "rows, is missing");
    if ((uint64_t)promised != rows)
        return error_set(why, ERR_CORRUPT,
                         "the export is damaged: it has %llu rows, its last line says "
                         "%lld",
                         (unsigned long long)rows, (long long)promised);
    if (!slice_is(json_in_text_of(last, "xxh3"), hash))
        return error_set(why, ERR_CORRUPT,
                         "the export is damaged: its checksum is %s, its last line says "
                         "another",
                         hash);
    return ERR_OK;
}

/* Whole, of this format and undamaged. */
static Err check(Slice text, Slice *out_body, Error *why)
{
    Arena arena = { 0 };
    Slice end;
    const JsonIn *last = NULL;
    Err err = check_format(text, why);
    if (err)
        return err;
    if (!split_end(text, out_body, &end) || json_in_load(end, &arena, &last, NULL))
        last = NULL;
    err = check_end(last, *out_body, why);
    arena_done(&arena);
    return err;
}

static Err job_in(const MoveSink *sink, const JsonIn *line, Arena *arena)
{
    Slice packed;
    int64_t slot = json_in_int_of(line, "slot", -1);
    int64_t retry = json_in_int_of(line, "run_retry", -1);
    int64_t state = json_in_int_of(line, "run_state", INT64_MIN);
    Row row = { .slot = (uint32_t)slot,
                .run_retry = (uint32_t)retry,
                .run_state = (int32_t)state };
    if (slot != row.slot || retry != row.run_retry || state != row.run_state ||
        base64_decode(json_in_text_of(line, "job"), arena, &packed) ||
        job_unpack(packed, &row.job))
        return ERR_CORRUPT;
    sink->job(sink->context, &row);
    return ERR_OK;
}

static Err value_in(MoveType type, const JsonIn *from, Arena *arena, MoveValue *out)
{
    out->null = from->kind == JSON_IN_NULL;
    if (out->null)
        return type == MOVE_LONG_OR_NULL || type == MOVE_INT_OR_NULL ? ERR_OK
                                                                     : ERR_CORRUPT;
    switch (type) {
    case MOVE_TEXT:
    case MOVE_BYTES:
    case MOVE_NAME:
        return from->kind == JSON_IN_TEXT
                   ? base64_decode(from->as.text, arena, &out->bytes)
                   : ERR_CORRUPT;
    case MOVE_LONG:
    case MOVE_LONG_OR_NULL:
        return json_in_int(from, &out->number);
    case MOVE_INT:
    case MOVE_INT_OR_NULL:
    case MOVE_BOOL:
        if (json_in_int(from, &out->number))
            return ERR_CORRUPT;
        return out->number == (int32_t)out->number ? ERR_OK : ERR_CORRUPT;
    }
    return ERR_CORRUPT;
}

static Err row_in(const MoveSink *sink, const JsonIn *line, Arena *arena)
{
    const MoveTable *table = move_table_find(json_in_text_of(line, "table"));
    const JsonIn *at = json_in_first(json_in_find(line, "row"));
    MoveValue values[MOVE_COLUMNS_MAX] = { 0 };
    if (!table)
        return ERR_CORRUPT;
    for (size_t i = 0; i < move_columns(table); i++, at = at->next)
        if (!at || value_in(table->columns[i].type, at, arena, &values[i]))
            return ERR_CORRUPT;
    if (at)
        return ERR_CORRUPT;
    sink->row(sink->context, table, values);
    return ERR_OK;
}

Err move_file_read(Slice text, const MoveSink *sink, uint64_t *out_rows, Error *why)
{
    Arena arena = { 0 };
    Slice body = { 0 };
    uint64_t rows = 0;
    Err err = check(text, &body, why);
    if (err)
        return err;
    slice_cut(&body, '\n'); /* the format */
    while (!err && body.bytes) {
        const JsonIn *line = NULL;
        arena_reset(&arena);
        rows++;
        err = json_in_load(slice_cut(&body, '\n'), &arena, &line, NULL);
        if (!err)
            err = json_in_find(line, "job") ? job_in(sink, line, &arena)
                                            : row_in(sink, line, &arena);
        if (err)
            err = error_set(why, ERR_CORRUPT,
                            "line %llu of the export cannot be understood",
                            (unsigned long long)rows + 1);
    }
    arena_done(&arena);
    *out_rows = rows;
    return err;
}
