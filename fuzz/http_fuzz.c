/* SPDX-License-Identifier: Apache-2.0 */
/* http_fuzz.c - any bytes as what a client sends: requests one behind the other, as far
 * as they go. A head and a body in chunks mean the same however the bytes came; what is
 * taken has nothing in it with two meanings, and what is refused is refused with a
 * reason; a body that is JSON is read as each of the objects that requests have. */
#include "api/routes.h"
#include "core/query.h"
#include "http/chunks.h"
#include "http/head.h"
#include "http/origin_check.h"
#include "model/claim_read.h"
#include "json/json_fast.h"
#include "json/json_write.h"

#include <stdio.h>
#include <stdlib.h>

#define BODY_BYTES_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "http_fuzz: %s\n", what);
    abort();
}

/* --- Heads ---------------------------------------------------------------------------
 */

static void check_field(const HeadField *field)
{
    must(field->name.bytes > 0, "a header without a name");
    must(strlen(field->value.data) == field->value.bytes, "no NUL behind a value");
    must(!strpbrk(field->value.data, "\r\n\x7f"), "a control character in a value");
    must(!memchr(field->name.data, ' ', field->name.bytes), "a space in a name");
}

static void check_head(const HttpHead *head)
{
    must(head->method.bytes > 0, "a request without a method");
    must(head->target.bytes > 0, "a request without a target");
    must(strlen(head->target.data) == head->target.bytes, "no NUL behind the target");
    must(!strpbrk(head->target.data, " \t\r\n"), "a space in the target");
    must(head->field_count <= HEAD_FIELDS_MAX, "too many headers");
    for (size_t i = 0; i < head->field_count; i++) {
        check_field(&head->fields[i]);
        head_field_has(head, "Connection", "close");
    }
    Slice host = head_field(head, "Host");
    Slice origin = head_field(head, "Origin");
    if (host.data)
        host_is_local(host);
    if (host.data && origin.data)
        origin_is_host(origin, host);
}

/* Paths, their parts and parameters. */
static void check_target(const HttpHead *head, Arena *arena)
{
    Slice query = head->target;
    Slice path = slice_cut(&query, '?');
    Slice parts[EXCHANGE_PARTS_MAX] = { { 0 } };
    Param *params = NULL;
    size_t count = 0;
    for (unsigned method = 0; method <= METHODS; method++) {
        unsigned allowed;
        const Route *route = route_find((Method)method, path, arena, parts, &allowed);
        must(!route || route->method == (Method)method, "a route of another method");
        must(!route || !allowed || route->path, "a route without a path");
    }
    if (params_parse(query, arena, &params, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        JobQuery found = { .wall_ms = 1 };
        Error why = { 0 };
        if (query_parse(params[i].value, arena, &found, &why))
            must(why.text[0], "a query refused without a reason");
        must(found.term_count <= QUERY_TERMS_MAX, "more terms than there may be");
    }
}

/* --- Bodies --------------------------------------------------------------------------
 */

static bool same(const JsonIn *a, const JsonIn *b)
{
    Buf texts[2] = { { 0 }, { 0 } };
    json_in_write(a, &texts[0]);
    json_in_write(b, &texts[1]);
    bool equal = slice_equal(buf_slice(&texts[0]), buf_slice(&texts[1]));
    buf_done(&texts[0]);
    buf_done(&texts[1]);
    return equal;
}

/* What is read, written and read again is the same. */
static void check_json(Slice body, const JsonIn *value, Arena *arena)
{
    Buf text = { 0 };
    const JsonIn *again;
    JsonIn fast;
    Slice rest = body;
    json_in_write(value, &text);
    must(!json_in_load(buf_slice(&text), arena, &again, NULL), "its own JSON is none");
    must(same(value, again), "other JSON than was read");
    if (json_fast_take(&rest, arena, &fast) && !rest.bytes)
        must(same(value, &fast), "the quick reader sees something else");
    buf_done(&text);
}

static void read_objects(const JsonIn *value, Arena *arena)
{
    JobRules rules = { .tenant = SLICE_LITERAL("default"),
                       .wall_ms = 1,
                       .payload_bytes_max = BODY_BYTES_MAX };
    JobReader reader = { .rules = &rules, .arena = arena };
    ClaimKey key = { 0 };
    ClaimReader claims = {
        .arena = arena, .key = &key, .rules = &rules, .result_bytes_max = BODY_BYTES_MAX
    };
    Patch patch;
    if (job_read(&reader, value))
        must(reader.why.kind != NULL, "a job refused without a reason");
    else
        must(reader.job.type.bytes || reader.job.command.bytes,
             "a job that does nothing");
    reader = (JobReader){ .rules = &rules, .arena = arena };
    if (patch_read(&reader, value, &patch))
        must(reader.why.kind != NULL, "a patch refused without a reason");
    if (claim_read(&claims, value))
        must(claims.why.kind != NULL, "a claim refused without a reason");
    for (int finish = 0; finish < 2; finish++)
        if (claim_read_items(&claims, value, finish))
            must(claims.why.kind != NULL, "items refused without a reason");
}

static void check_body(Slice body, Arena *arena)
{
    const JsonIn *value;
    JsonFault fault = { 0 };
    if (json_in_load(body, arena, &value, &fault)) {
        must(fault.code != NULL, "JSON refused without a reason");
        must(fault.offset <= body.bytes, "a fault behind the end");
        return;
    }
    check_json(body, value, arena);
    read_objects(value, arena);
}

static ChunksState feed(Slice all, size_t piece, Buf *out, size_t *out_used)
{
    Chunks chunks = { 0 };
    size_t used = 0;
    while (used < all.bytes && chunks.state < CHUNKS_DONE) {
        size_t left = all.bytes - used;
        Slice in = slice_of(all.data + used, left < piece ? left : piece);
        size_t given = in.bytes;
        while (in.bytes && chunks.state < CHUNKS_DONE)
            buf_add_slice(out, chunks_take(&chunks, &in));
        used += given - in.bytes;
    }
    *out_used = used;
    return chunks.state;
}

/* Takes a body in chunks off *rest; false: it is none, or its end has not come. */
static bool take_chunks(Slice *rest, size_t piece, Arena *arena)
{
    Buf whole = { 0 };
    Buf pieces = { 0 };
    size_t used;
    size_t used_so;
    ChunksState state = feed(*rest, rest->bytes + 1, &whole, &used);
    must(feed(*rest, piece, &pieces, &used_so) == state, "pieces end otherwise");
    must(used == used_so, "pieces end elsewhere");
    must(slice_equal(buf_slice(&whole), buf_slice(&pieces)), "pieces are other data");
    if (state == CHUNKS_DONE)
        check_body(slice_copy(arena, buf_slice(&whole)), arena);
    buf_done(&whole);
    buf_done(&pieces);
    *rest = slice_from(*rest, used);
    return state == CHUNKS_DONE;
}

static bool take_body(const HttpHead *head, Slice *rest, size_t piece, Arena *arena)
{
    Slice length = head_field(head, "Content-Length");
    uint64_t bytes = 0;
    if (head_field(head, "Transfer-Encoding").data)
        return take_chunks(rest, piece, arena);
    if (length.data && !head_content_length(length, &bytes))
        return false;
    if (bytes > rest->bytes)
        return false;
    check_body(slice_copy(arena, slice_of(rest->data, (size_t)bytes)), arena);
    *rest = slice_from(*rest, (size_t)bytes);
    return true;
}

/* --- Requests ------------------------------------------------------------------------
 */

/* Takes one off *rest; false: nothing can follow. */
static bool take_request(Slice *rest, size_t piece, Arena *arena)
{
    HttpHead head;
    HeadFault fault = { 0 };
    size_t bytes = head_length(*rest);
    size_t before = piece < bytes ? piece : bytes ? bytes - 1 : 0;
    must(!head_length(slice_of(rest->data, before)), "a head ends twice");
    if (!bytes) {
        fault = head_too_long(*rest, piece);
        must(fault.code != NULL, "too long without a reason");
        return false;
    }
    char *text = arena_copy(arena, rest->data, bytes);
    *rest = slice_from(*rest, bytes);
    if (!head_parse(text, bytes, arena, &head, &fault)) {
        must(fault.code != NULL, "refused without a code");
        must(fault.detail != NULL, "refused without a reason");
        return false;
    }
    check_head(&head);
    check_target(&head, arena);
    return take_body(&head, rest, piece, arena);
}

/* data: how large the pieces are, and what is sent. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    Arena arena = { 0 };
    if (!bytes)
        return 0;
    size_t piece = 1 + data[0] % 64;
    Slice rest = slice_of((const char *)data + 1, bytes - 1);
    while (rest.bytes && take_request(&rest, piece, &arena))
        continue;
    arena_done(&arena);
    return 0;
}
