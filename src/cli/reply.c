/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c - see reply.h. */
#include "cli/reply.h"

#include "base/times.h"
#include "json/json_write.h"

/* A document owns its text and all values; the root stands first, so that a pointer to
 * it is a pointer to the document. */
typedef struct Root {
    JsonIn value;
    Arena arena;
    char *text;
} Root;

Err doc_parse(Slice text, Doc **out_doc, Error *why)
{
    Root *root = MEM_NEW(Root);
    root->text = mem_copy(text.bytes ? text.data : "", text.bytes + !text.bytes);
    const JsonIn *value;
    JsonFault fault;
    Err err =
        json_in_load(slice_of(root->text, text.bytes), &root->arena, &value, &fault);
    if (err) {
        doc_free(&root->value);
        return error_set(why, err, "line %u, column %u: %s", fault.line, fault.column,
                         fault.text);
    }
    root->value = *value;
    *out_doc = &root->value;
    return ERR_OK;
}

void doc_free(Doc *doc)
{
    if (!doc)
        return;
    Root *root = (Root *)doc;
    arena_done(&root->arena);
    mem_free(root->text);
    mem_free(root);
}

const Doc *doc_get(const Doc *object, const char *key)
{
    return json_in_find(object, key);
}

const Doc *doc_first(const Doc *value)
{
    return value ? json_in_first(value) : NULL;
}

const Doc *doc_next(const Doc *item)
{
    return item->next;
}

Slice doc_key(const Doc *field)
{
    return field->key;
}

const Doc *doc_at(const Doc *array, size_t index)
{
    const Doc *item = doc_is_array(array) ? doc_first(array) : NULL;
    for (; item && index; index--)
        item = item->next;
    return item;
}

size_t doc_count(const Doc *value)
{
    return doc_is_array(value) || doc_is_object(value) ? value->as.items.count : 0;
}

bool doc_is_object(const Doc *value)
{
    return value && value->kind == JSON_IN_OBJECT;
}

bool doc_is_array(const Doc *value)
{
    return value && value->kind == JSON_IN_LIST;
}

bool doc_is_null(const Doc *value)
{
    return !value || value->kind == JSON_IN_NULL;
}

bool doc_is_text(const Doc *value)
{
    return value && value->kind == JSON_IN_TEXT;
}

Slice doc_as_text(const Doc *value)
{
    return doc_is_text(value) ? value->as.text : (Slice){ 0 };
}

Slice doc_text(const Doc *object, const char *key)
{
    return doc_as_text(doc_get(object, key));
}

int64_t doc_int(const Doc *object, const char *key, int64_t fallback)
{
    return json_in_int_of(object, key, fallback);
}

double doc_as_number(const Doc *value, double fallback)
{
    double number;
    return json_in_real(value, &number) ? fallback : number;
}

double doc_number(const Doc *object, const char *key, double fallback)
{
    return doc_as_number(doc_get(object, key), fallback);
}

bool doc_bool(const Doc *object, const char *key)
{
    return json_in_bool_of(object, key, false);
}

int64_t doc_time(const Doc *object, const char *key)
{
    int64_t wall_ms;
    Slice text = doc_text(object, key);
    return text.bytes && !time_parse(text, &wall_ms) ? wall_ms : 0;
}

void doc_write(const Doc *value, Buf *out)
{
    if (value)
        json_in_write(value, out);
    else
        buf_add_text(out, "null");
}

void doc_show(const Doc *value, Buf *out)
{
    if (doc_is_null(value))
        buf_add_char(out, '-');
    else if (doc_is_text(value))
        buf_add_slice(out, doc_as_text(value));
    else
        doc_write(value, out);
}

void setting_show(Slice text, Buf *out)
{
    int64_t duration_ms;
    char human[DURATION_TEXT_BYTES];
    if (slice_starts(text, SLICE_LITERAL("P")) &&
        !duration_parse(text, &duration_ms, NULL))
        buf_add_text(out, duration_human(duration_ms, human));
    else
        buf_add_slice(out, text);
}

void doc_show_setting(const Doc *value, Buf *out)
{
    if (doc_is_text(value))
        setting_show(doc_as_text(value), out);
    else
        doc_show(value, out);
}
