/* SPDX-License-Identifier: Apache-2.0 */
/* bulk.c - see bulk.h.
 *
 * The body is cut into chunks. Each is read and checked in one go and becomes one call;
 * a few are out at a time, so reading goes on while the journal is being written, and
 * other connections have their turn between two chunks. Answers are written in the order
 * of the lines. What must hold:
 *   - the first chunk is answered before any other is sent: if the daemon takes nothing
 *     now, or the idempotency key was used for another body, the whole request is
 * refused;
 *   - an array that is not JSON adds nothing: it is read twice. */
#include "api/jobs/bulk.h"

#include "api/common.h"
#include "api/jobs/jobs.h"

#include <stdio.h>

typedef struct Entry {
    uint64_t line;
    int32_t job; /* which of the call's jobs; -1: refused */
    Slice error; /* the members of its problem, without braces */
    const char *code;
} Entry;

/* So many refused items are explained in full; after them only the code is told, for a
 * body of nothing but mistakes must not become an answer many times its size. */
#define BULK_EXPLAINED_MAX 1000

typedef struct Chunk {
    struct Chunk *next;
    Call *call;
    Entry *entries;
    size_t entry_count;
    bool done;
} Chunk;

typedef struct Bulk {
    const JobRules *rules;
    bool ndjson;
    Slice rest;        /* of the body */
    uint64_t line;     /* of the last item read */
    bool end;          /* all has been read */
    bool first_passed; /* the first chunk was accepted */
    size_t calls_out;
    uint64_t chunk_count;
    Chunk *oldest; /* not yet written */
    Chunk **newest;
    uint64_t accepted;
    uint64_t rejected;
    Slice key;
    Slice key_hash;
} Bulk;

/* --- Items
 * ------------------------------------------------------------------------------ */

static bool is_blank(Slice text)
{
    for (size_t i = 0; i < text.bytes; i++)
        if (!strchr(" \t\r", text.data[i]) || !text.data[i])
            return false;
    return true;
}

/* The next line that is not blank. False at the end. */
static bool next_line(Bulk *bulk, Slice *out)
{
    while (bulk->rest.bytes) {
        *out = slice_cut(&bulk->rest, '\n');
        bulk->line++;
        if (!is_blank(*out))
            return true;
    }
    return false;
}

static bool is_space(Slice text)
{
    for (size_t i = 0; i < text.bytes; i++)
        if (!strchr(" \t\r\n", text.data[i]) || !text.data[i])
            return false;
    return true;
}

/* Behind an item of an array: a comma and another one, or the end. */
static Err array_goes_on(Bulk *bulk, JsonFault *fault)
{
    char c = bulk->rest.bytes ? bulk->rest.data[0] : '\0';
    if (c == ',') {
        bulk->rest = slice_from(bulk->rest, 1);
        return ERR_OK;
    }
    bulk->end = true;
    if (c == ']' && is_space(slice_from(bulk->rest, 1)))
        return ERR_OK;
    fault->code = "malformed_json";
    snprintf(fault->text, sizeof fault->text, "the array does not go on with , or ]");
    return ERR_INVALID;
}

/* Steps over the opening bracket; true if there is nothing in the array. */
static bool array_is_empty(Bulk *bulk)
{
    while (bulk->rest.data[0] != '[')
        bulk->rest = slice_from(bulk->rest, 1);
    bulk->rest = slice_from(bulk->rest, 1);
    Slice look = bulk->rest;
    while (look.bytes && look.data[0] && strchr(" \t\r\n", look.data[0]))
        look = slice_from(look, 1);
    return look.bytes && look.data[0] == ']';
}

/* --- Chunks
 * ------------------------------------------------------------------------------ */

static void refuse_entry(Entry *entry, const Problem *problem, Arena *arena)
{
    Buf text = { 0 };
    JsonOut json = { .out = &text };
    problem_members(&json, problem);
    entry->job = -1;
    entry->code = problem->kind->code;
    entry->error = slice_copy(arena, buf_slice(&text));
    buf_done(&text);
}

/* One item into the chunk: a job, or the reason why not. */
static void read_item(Chunk *chunk, const JsonIn *value, JobReader *reader,
                      const JsonFault *fault)
{
    Entry *entry = &chunk->entries[chunk->entry_count++];
    Event *event = &chunk->call->event;
    if (!value) {
        Problem problem;
        problem_of_json(&problem, fault);
        refuse_entry(entry, &problem, reader->arena);
    } else if (job_read(reader, value)) {
        refuse_entry(entry, &reader->why, reader->arena);
    } else {
        entry->job = (int32_t)event->count;
        event->jobs[event->count++] = reader->job;
    }
}

static bool chunk_full(const Chunk *chunk, size_t bytes)
{
    return chunk->entry_count == BULK_JOBS_MAX || bytes > BULK_BYTES_MAX;
}

static void read_lines(Bulk *bulk, Chunk *chunk, JobReader *reader)
{
    const char *from = bulk->rest.data;
    Slice line;
    while (!chunk_full(chunk, (size_t)(bulk->rest.data - from))) {
        if (!next_line(bulk, &line)) {
            bulk->end = true;
            return;
        }
        const JsonIn *value = NULL;
        JsonFault fault = { 0 };
        chunk->entries[chunk->entry_count].line = bulk->line;
        if (json_in_load(line, reader->arena, &value, &fault))
            value = NULL;
        read_item(chunk, value, reader, &fault);
        if (!bulk->rest.data) {
            bulk->end = true;
            return;
        }
    }
}

/* The array was found to be JSON before. */
static void read_items(Bulk *bulk, Chunk *chunk, JobReader *reader)
{
    const char *from = bulk->rest.data;
    JsonFault fault = { 0 };
    while (!bulk->end && !chunk_full(chunk, (size_t)(bulk->rest.data - from))) {
        const JsonIn *value = NULL;
        chunk->entries[chunk->entry_count].line = ++bulk->line;
        if (json_in_take(&bulk->rest, reader->arena, &value, &fault) ||
            array_goes_on(bulk, &fault))
            bulk->end = true;
        read_item(chunk, value, reader, &fault);
    }
}

static void chunk_done(Exchange *exchange, Call *call);

static void set_key(const Bulk *bulk, Event *event, Arena *arena)
{
    Buf key = { 0 };
    buf_printf(&key, SLICE_FMT "#%llu", SLICE_ARG(bulk->key),
               (unsigned long long)bulk->chunk_count);
    event->key = slice_copy(arena, buf_slice(&key));
    event->key_hash = bulk->key_hash;
    buf_done(&key);
}

static void read_chunk(Exchange *exchange, Bulk *bulk)
{
    Call *call = exchange_call(exchange, CALL_EVENT, chunk_done);
    Chunk *chunk = ARENA_NEW(&exchange->arena, Chunk);
    JobReader *reader = ARENA_NEW(&call->arena, JobReader);
    reader->rules = bulk->rules;
    reader->arena = &call->arena;
    chunk->call = call;
    chunk->entries = arena_take(&call->arena, BULK_JOBS_MAX * sizeof *chunk->entries);
    call->event.kind = EVENT_ADD;
    call->event.tenant = bulk->rules->tenant;
    call->event.jobs = arena_take(&call->arena, BULK_JOBS_MAX * sizeof(Job));
    if (bulk->ndjson)
        read_lines(bulk, chunk, reader);
    else
        read_items(bulk, chunk, reader);
    if (bulk->key.bytes)
        set_key(bulk, &call->event, &call->arena);
    bulk->chunk_count++;
    *bulk->newest = chunk;
    bulk->newest = &chunk->next;
    chunk->done = call->event.count == 0;
    if (chunk->done)
        return;
    bulk->calls_out++;
    exchange_send(exchange, call);
}

/* --- Answers
 * ------------------------------------------------------------------------------ */

static void write_number(Buf *out, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    buf_add(out, digits + at, sizeof digits - at);
}

static void write_refused(Buf *out, const Entry *entry, bool explained)
{
    buf_add_text(out, ",\"error\":{");
    if (explained) {
        buf_add_slice(out, entry->error);
    } else {
        buf_add_text(out, "\"code\":\"");
        buf_add_text(out, entry->code);
        buf_add_char(out, '"');
    }
    buf_add_text(out, "}}\n");
}

static void write_entry(Buf *out, const Entry *entry, const Call *call, bool explained)
{
    buf_add(out, "{\"line\":", 8);
    write_number(out, entry->line);
    if (entry->job < 0) {
        write_refused(out, entry, explained);
        return;
    }
    char id[ID_TEXT_BYTES];
    id_text(api_added_id(call, (uint64_t)entry->job), id);
    buf_add(out, ",\"id\":\"", 7);
    buf_add(out, id, ID_TEXT_BYTES - 1);
    if (call->added && call->added[entry->job].existed)
        buf_add_text(out, "\",\"existing\":true}\n");
    else
        buf_add(out, "\"}\n", 3);
}

/* What only the node could tell: its queue or a resource does not allow the job. */
static void refuse_taken(Entry *entry, const Refused *refused, Arena *arena)
{
    Problem problem;
    bool known = problem_find(refused->problem) != NULL;
    problem_set(&problem, known ? refused->problem : "invalid_value", SLICE_FMT,
                SLICE_ARG(refused->detail));
    refuse_entry(entry, &problem, arena);
}

static void write_chunk(Exchange *exchange, Bulk *bulk, Chunk *chunk)
{
    const Call *call = chunk->call;
    Problem problem;
    size_t refused = 0;
    if (call->err)
        problem_of_call(&problem, call);
    for (size_t i = 0; i < chunk->entry_count; i++) {
        Entry *entry = &chunk->entries[i];
        if (call->err && entry->job >= 0)
            refuse_entry(entry, &problem, &chunk->call->arena);
        else if (refused < call->refused_count &&
                 (size_t)entry->job == call->refused[refused].index)
            refuse_taken(entry, &call->refused[refused++], &chunk->call->arena);
        if (entry->job < 0)
            bulk->rejected++;
        else
            bulk->accepted++;
        write_entry(&exchange->out, entry, call, bulk->rejected <= BULK_EXPLAINED_MAX);
    }
    /* Its memory goes now: a large body has hundreds of chunks. */
    arena_done(&chunk->call->arena);
}

static void write_done(Exchange *exchange, Bulk *bulk)
{
    while (bulk->oldest && bulk->oldest->done) {
        Chunk *chunk = bulk->oldest;
        bulk->oldest = chunk->next;
        if (!bulk->oldest)
            bulk->newest = &bulk->oldest;
        write_chunk(exchange, bulk, chunk);
    }
}

static void reply_summary(Exchange *exchange, const Bulk *bulk)
{
    buf_printf(&exchange->out,
               "{\"summary\":{\"accepted\":%llu,\"rejected\":%llu,\"durable\":true}}\n",
               (unsigned long long)bulk->accepted, (unsigned long long)bulk->rejected);
    exchange_reply(exchange, 200, "application/x-ndjson");
}

static void go_on(Exchange *exchange, Call *call)
{
    (void)call;
    Bulk *bulk = exchange->state;
    write_done(exchange, bulk);
    size_t most = bulk->first_passed ? BULK_CALLS_MAX : 1;
    while (!bulk->end && bulk->calls_out < most) {
        read_chunk(exchange, bulk);
        write_done(exchange, bulk);
        if (bulk->calls_out == 0 && !bulk->end) {
            exchange_yield(exchange, go_on); /* nothing but refused lines so far */
            return;
        }
    }
    if (bulk->end && bulk->calls_out == 0)
        reply_summary(exchange, bulk);
}

/* A chunk of one job fails with it, and only with it. */
static bool is_jobs_own(const Call *call)
{
    return call->event.count == 1 && call->err == ERR_INVALID && call->problem &&
           strcmp(call->problem, "idempotency_mismatch") != 0;
}

static void chunk_done(Exchange *exchange, Call *call)
{
    Bulk *bulk = exchange->state;
    bulk->calls_out--;
    for (Chunk *chunk = bulk->oldest; chunk; chunk = chunk->next)
        chunk->done = chunk->done || chunk->call == call;
    if (call->err && !bulk->first_passed && !is_jobs_own(call)) {
        exchange_failed(exchange, call);
        return;
    }
    if (!bulk->first_passed && call->replayed)
        exchange_add_header(exchange, "Idempotency-Replayed", "true");
    bulk->first_passed = true;
    go_on(exchange, NULL);
}

/* --- The first look at an array
 * ------------------------------------------------------------- */

static void begin_reading(Exchange *exchange, Bulk *bulk)
{
    bulk->rest = buf_slice(&exchange->body);
    bulk->line = 0;
    bulk->end = array_is_empty(bulk);
    go_on(exchange, NULL);
}

static void refuse_array(Exchange *exchange, JsonFault *fault, size_t offset)
{
    Problem problem;
    fault->line = 1;
    fault->column = 1;
    for (size_t i = 0; i < offset && i < exchange->body.bytes; i++) {
        bool newline = exchange->body.data[i] == '\n';
        fault->line += newline;
        fault->column = newline ? 1 : fault->column + 1;
    }
    problem_of_json(&problem, fault);
    exchange_problem(exchange, &problem);
}

static void check_array(Exchange *exchange, Call *call)
{
    (void)call;
    Bulk *bulk = exchange->state;
    Arena arena = { 0 };
    JsonFault fault = { 0 };
    const char *from = bulk->rest.data;
    Err err = ERR_OK;
    for (int i = 0; i < BULK_JOBS_MAX && !bulk->end && !err; i++) {
        const JsonIn *value;
        fault.offset = 0;
        err = json_in_take(&bulk->rest, &arena, &value, &fault);
        if (!err)
            err = array_goes_on(bulk, &fault);
        arena_reset(&arena);
        if (bulk->rest.data - from > (ptrdiff_t)BULK_BYTES_MAX)
            break;
    }
    arena_done(&arena);
    size_t at = (size_t)(bulk->rest.data - exchange->body.data);
    if (err)
        refuse_array(exchange, &fault, at + fault.offset);
    else if (bulk->end)
        begin_reading(exchange, bulk);
    else
        exchange_yield(exchange, check_array);
}

void api_bulk_add(Exchange *exchange, const JobRules *rules, bool ndjson)
{
    Bulk *bulk = ARENA_NEW(&exchange->arena, Bulk);
    exchange->state = bulk;
    bulk->rules = rules;
    bulk->ndjson = ndjson;
    bulk->newest = &bulk->oldest;
    bulk->rest = buf_slice(&exchange->body);
    bulk->key = api_idempotency_key(exchange);
    if (!bulk->key.data)
        return;
    if (exchange_param(exchange, "wait").data) {
        exchange_refuse(exchange, "invalid_value", "wait is for one job only");
        return;
    }
    if (bulk->key.bytes)
        bulk->key_hash = api_body_hash(exchange, rules->tenant);
    if (ndjson) {
        bulk->end = !bulk->rest.bytes;
        go_on(exchange, NULL);
    } else if (array_is_empty(bulk)) {
        JsonFault fault = { 0 };
        while (bulk->rest.data[0] != ']')
            bulk->rest = slice_from(bulk->rest, 1);
        if (array_goes_on(bulk, &fault))
            refuse_array(exchange, &fault, exchange->body.bytes);
        else
            begin_reading(exchange, bulk);
    } else {
        check_array(exchange, NULL);
    }
}
