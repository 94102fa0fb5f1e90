/* SPDX-License-Identifier: Apache-2.0 */
/* json_in.c - see json_in.h. The only file that knows jansson. */
#include "json/json_in.h"

#include "json/json_fast.h"

#include <jansson.h>
#include <stdio.h>

#define LOAD_FLAGS (JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL)

/* --- Where a value ends, and how much it would cost -------------------------- */

typedef struct Extent {
    size_t bytes; /* up to the end of the value, or of the text if it has none */
    size_t values;
    unsigned depth;
    size_t deep_at;
} Extent;

/* Goes over a text up to its closing quote; returns where it stopped. */
static size_t text_end(Slice text, size_t at)
{
    for (at++; at < text.bytes && text.data[at] != '"'; at++)
        if (text.data[at] == '\\')
            at++;
    return at;
}

/* Looks only at brackets, commas and quotes, so it is right for every text that is JSON
 * and harmless for all others. Stops early at a limit. */
static Extent value_extent(Slice text)
{
    Extent extent = { .values = 1 };
    unsigned depth = 0;
    size_t at = 0;
    for (; at < text.bytes; at++) {
        char c = text.data[at];
        if (c == '"') {
            at = text_end(text, at);
        } else if (c == '[' || c == '{') {
            if (++depth > extent.depth)
                extent.depth = depth;
            extent.values++;
        } else if (c == ']' || c == '}') {
            if (!depth || !--depth)
                break;
        } else if (c == ',') {
            if (!depth)
                break;
            extent.values++;
        }
        extent.deep_at = at;
        if (extent.depth > JSON_DEPTH_MAX || extent.values > JSON_VALUES_MAX)
            break;
    }
    bool closed = at < text.bytes && extent.depth && !depth;
    extent.bytes = at + closed;
    if (extent.bytes > text.bytes)
        extent.bytes = text.bytes;
    return extent;
}

/* --- Faults ------------------------------------------------------------------- */

static Err fault(JsonFault *why, Err err, const char *code, Slice text, size_t offset)
{
    if (!why)
        return err;
    if (offset > text.bytes)
        offset = text.bytes;
    why->code = code;
    why->offset = offset;
    why->line = 1;
    why->column = 1;
    for (size_t i = 0; i < offset; i++) {
        why->column++;
        if (text.data[i] != '\n')
            continue;
        why->line++;
        why->column = 1;
    }
    return err;
}

static const char *fault_code(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    if (code == json_error_invalid_utf8)
        return "invalid_utf8";
    if (code == json_error_duplicate_key)
        return "duplicate_key";
    if (code == json_error_numeric_overflow)
        return "number_too_large";
    if (code == json_error_stack_overflow)
        return "too_deep";
    return "malformed_json";
}

static Err fault_of_jansson(JsonFault *why, Slice text, const json_error_t *error)
{
    size_t offset = error->position > 0 ? (size_t)error->position : 0;
    const char *code = fault_code(error);
    if (why)
        snprintf(why->text, sizeof why->text, "%s", error->text);
    return fault(why, ERR_INVALID, code, text, offset);
}

/* --- jansson's tree to ours ----------------------------------------------------- */

static Slice copy_text(Arena *arena, const char *text, size_t bytes)
{
    return slice_of(arena_copy(arena, text, bytes), bytes);
}

static void fill(JsonIn *out, json_t *from, Arena *arena);

/* A new item at the end of a list or object, to which *last points. */
static JsonIn *append(JsonIn *list, JsonIn ***last, Arena *arena)
{
    JsonIn *item = ARENA_NEW(arena, JsonIn);
    **last = item;
    *last = &item->next;
    list->as.items.count++;
    return item;
}

static void fill_object(JsonIn *out, json_t *from, Arena *arena)
{
    JsonIn **last = &out->as.items.first;
    for (void *at = json_object_iter(from); at; at = json_object_iter_next(from, at)) {
        JsonIn *item = append(out, &last, arena);
        const char *key = json_object_iter_key(at);
        item->key = copy_text(arena, key, strlen(key));
        fill(item, json_object_iter_value(at), arena);
    }
}

static void fill_list(JsonIn *out, json_t *from, Arena *arena)
{
    JsonIn **last = &out->as.items.first;
    for (size_t i = 0; i < json_array_size(from); i++)
        fill(append(out, &last, arena), json_array_get(from, i), arena);
}

static void fill(JsonIn *out, json_t *from, Arena *arena)
{
    switch (json_typeof(from)) {
    case JSON_OBJECT:
        out->kind = JSON_IN_OBJECT;
        fill_object(out, from, arena);
        return;
    case JSON_ARRAY:
        out->kind = JSON_IN_LIST;
        fill_list(out, from, arena);
        return;
    case JSON_STRING:
        out->kind = JSON_IN_TEXT;
        out->as.text =
            copy_text(arena, json_string_value(from), json_string_length(from));
        return;
    case JSON_INTEGER:
        out->kind = JSON_IN_INT;
        out->as.integer = json_integer_value(from);
        return;
    case JSON_REAL:
        out->kind = JSON_IN_REAL;
        out->as.real = json_real_value(from);
        return;
    case JSON_TRUE:
    case JSON_FALSE:
        out->kind = JSON_IN_BOOL;
        out->as.truth = json_typeof(from) == JSON_TRUE;
        return;
    case JSON_NULL:
        out->kind = JSON_IN_NULL;
        return;
    }
}

static Err load_slowly(Slice text, Arena *arena, JsonIn *out, JsonFault *why)
{
    json_error_t error;
    json_t *tree = json_loadb(text.data ? text.data : "", text.bytes, LOAD_FLAGS, &error);
    if (!tree)
        return fault_of_jansson(why, text, &error);
    fill(out, tree, arena);
    json_decref(tree);
    return ERR_OK;
}

static Err limits(Slice text, const Extent *extent, JsonFault *why)
{
    if (extent->depth > JSON_DEPTH_MAX) {
        if (why)
            snprintf(why->text, sizeof why->text, "nested more than %d levels deep",
                     JSON_DEPTH_MAX);
        return fault(why, ERR_LIMIT, "too_deep", text, extent->deep_at);
    }
    if (extent->values > JSON_VALUES_MAX) {
        if (why)
            snprintf(why->text, sizeof why->text, "more than %d values in one document",
                     JSON_VALUES_MAX);
        return fault(why, ERR_LIMIT, "too_many_values", text, extent->deep_at);
    }
    return ERR_OK;
}

static Slice skip_space(Slice text)
{
    size_t at = 0;
    while (at < text.bytes && text.data[at] && strchr(" \n\r\t", text.data[at]))
        at++;
    return slice_from(text, at);
}

Err json_in_load(Slice text, Arena *arena, const JsonIn **out_value, JsonFault *why)
{
    JsonIn *value = ARENA_NEW(arena, JsonIn);
    Slice rest = text;
    if (!json_fast_take(&rest, arena, value) || rest.bytes) {
        *value = (JsonIn){ .kind = JSON_IN_NULL };
        Extent extent = value_extent(text);
        Err err = limits(text, &extent, why);
        if (!err)
            err = load_slowly(text, arena, value, why);
        if (err)
            return err;
    }
    *out_value = value;
    return ERR_OK;
}

Err json_in_take(Slice *rest, Arena *arena, const JsonIn **out_value, JsonFault *why)
{
    JsonIn *value = ARENA_NEW(arena, JsonIn);
    Slice after = *rest;
    if (!json_fast_take(&after, arena, value)) {
        *value = (JsonIn){ .kind = JSON_IN_NULL };
        Slice text = skip_space(*rest);
        Extent extent = value_extent(text);
        Err err = limits(text, &extent, why);
        if (!err)
            err = load_slowly(slice_of(text.data, extent.bytes), arena, value, why);
        if (err)
            return err;
        after = skip_space(slice_from(text, extent.bytes));
    }
    *rest = after;
    *out_value = value;
    return ERR_OK;
}

/* --- Looking at values ------------------------------------------------------------ */

const JsonIn *json_in_find(const JsonIn *object, const char *key)
{
    if (!object || object->kind != JSON_IN_OBJECT)
        return NULL;
    for (const JsonIn *at = object->as.items.first; at; at = at->next)
        if (slice_is(at->key, key))
            return at;
    return NULL;
}

const JsonIn *json_in_first(const JsonIn *value)
{
    if (!value || (value->kind != JSON_IN_OBJECT && value->kind != JSON_IN_LIST))
        return NULL;
    return value->as.items.first;
}

const char *json_in_kind_name(JsonKind kind)
{
    switch (kind) {
    case JSON_IN_NULL:
        return "null";
    case JSON_IN_BOOL:
        return "true or false";
    case JSON_IN_INT:
        return "an integer";
    case JSON_IN_REAL:
        return "a number with a fraction";
    case JSON_IN_TEXT:
        return "a string";
    case JSON_IN_LIST:
        return "an array";
    case JSON_IN_OBJECT:
        return "an object";
    }
    return "?";
}

Err json_in_text(const JsonIn *value, Slice *out)
{
    if (!value || value->kind != JSON_IN_TEXT)
        return ERR_INVALID;
    *out = value->as.text;
    return ERR_OK;
}

Err json_in_int(const JsonIn *value, int64_t *out)
{
    if (!value || value->kind != JSON_IN_INT)
        return ERR_INVALID;
    *out = value->as.integer;
    return ERR_OK;
}

Err json_in_real(const JsonIn *value, double *out)
{
    if (!value || (value->kind != JSON_IN_INT && value->kind != JSON_IN_REAL))
        return ERR_INVALID;
    *out = value->kind == JSON_IN_INT ? (double)value->as.integer : value->as.real;
    return ERR_OK;
}

Err json_in_bool(const JsonIn *value, bool *out)
{
    if (!value || value->kind != JSON_IN_BOOL)
        return ERR_INVALID;
    *out = value->as.truth;
    return ERR_OK;
}

Slice json_in_text_of(const JsonIn *object, const char *key)
{
    Slice text = { NULL, 0 };
    return json_in_text(json_in_find(object, key), &text) ? (Slice){ NULL, 0 } : text;
}

int64_t json_in_int_of(const JsonIn *object, const char *key, int64_t otherwise)
{
    int64_t number = 0;
    return json_in_int(json_in_find(object, key), &number) ? otherwise : number;
}

bool json_in_bool_of(const JsonIn *object, const char *key, bool otherwise)
{
    bool truth = false;
    return json_in_bool(json_in_find(object, key), &truth) ? otherwise : truth;
}
