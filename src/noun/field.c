/* SPDX-License-Identifier: Apache-2.0 */
/* field.c - see field.h. One case per type: how it is read, written and described. */
#include "noun/field.h"

#include "base/id.h"
#include "base/text.h"

#include <assert.h>
#include <stdio.h>

#define SHOWN_BYTES 40 /* of a wrong value, in a sentence */

#define BAD(in, code, ...) problem_set((in)->why, (code), __VA_ARGS__)

bool one_line(Slice text)
{
    for (size_t i = 0; i < text.bytes; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            return false;
    return utf8_valid(text);
}

Err field_wrong_type(NounIn *in, const JsonIn *value, const char *wanted)
{
    return BAD(in, "wrong_type", SLICE_FMT " must be %s, not %s", SLICE_ARG(value->key),
               wanted, json_in_kind_name(value->kind));
}

static void *member_of(const NounIn *in, const Field *field)
{
    return (char *)in->object + field->stored.offset;
}

/* A number of the struct, whatever its width. */
static int64_t number_of(const Field *field, const void *object)
{
    const char *at = (const char *)object + field->stored.offset;
    int64_t number = 0;
    uint32_t small = 0;
    bool truth = false;
    switch (field->stored.kind) {
    case FIELD_64:
        memcpy(&number, at, sizeof number);
        return number;
    case FIELD_32:
        memcpy(&small, at, sizeof small);
        return (int32_t)small;
    case FIELD_BOOL:
        memcpy(&truth, at, sizeof truth);
        return truth;
    case FIELD_SLICE:
        break;
    }
    assert(false); /* a slice is no number */
    return 0;
}

static void number_set(const NounIn *in, const Field *field, int64_t number)
{
    void *at = member_of(in, field);
    uint32_t small = (uint32_t)number;
    bool truth = number != 0;
    switch (field->stored.kind) {
    case FIELD_64:
        memcpy(at, &number, sizeof number);
        return;
    case FIELD_32:
        memcpy(at, &small, sizeof small);
        return;
    case FIELD_BOOL:
        memcpy(at, &truth, sizeof truth);
        return;
    case FIELD_SLICE:
        break;
    }
    assert(false); /* a slice is no number */
}

static Slice slice_at(const Field *field, const void *object)
{
    Slice slice;
    assert(field->stored.kind == FIELD_SLICE);
    memcpy(&slice, (const char *)object + field->stored.offset, sizeof slice);
    return slice;
}

static void slice_set(const NounIn *in, const Field *field, Slice slice)
{
    assert(field->stored.kind == FIELD_SLICE);
    memcpy(member_of(in, field), &slice, sizeof slice);
}

static void set_has(const NounIn *in, const Field *field, bool has)
{
    if (field->has)
        *((bool *)in->object + field->has - 1) = has;
}

/* --- Reading -------------------------------------------------------------------------
 */

static Err read_text(NounIn *in, const Field *field, const JsonIn *value)
{
    if (value->kind != JSON_IN_TEXT)
        return field_wrong_type(in, value, "a string");
    Slice text = value->as.text;
    if (text.bytes > (size_t)field->most)
        return BAD(in, "invalid_value", "%s is longer than %lld bytes", field->name,
                   (long long)field->most);
    if (field->type == AS_TEXT && !one_line(text))
        return BAD(in, "invalid_value", "%s must be text without control characters",
                   field->name);
    if (text.bytes && memchr(text.data, '\0', text.bytes))
        return BAD(in, "invalid_value", "%s cannot hold a NUL byte", field->name);
    if (!utf8_valid(text))
        return BAD(in, "invalid_value", "%s must be UTF-8 text", field->name);
    slice_set(in, field, text);
    return ERR_OK;
}

static Err read_name(NounIn *in, const Field *field, const JsonIn *value)
{
    bool queue = field->type == AS_QUEUE;
    if (value->kind != JSON_IN_TEXT)
        return field_wrong_type(in, value, "a string");
    if (!(queue ? queue_name_valid(value->as.text) : name_valid(value->as.text))) {
        BAD(in, "invalid_name", "this is no valid name for a " SLICE_FMT,
            SLICE_ARG(value->key));
        problem_name(in->why, value->as.text);
        problem_hint(in->why,
                     queue
                         ? "letters, digits and _.:+/;$()- without '..', up to 200 bytes"
                         : "letters, digits and _.:-, up to 128 bytes");
        return ERR_INVALID;
    }
    slice_set(in, field, value->as.text);
    return ERR_OK;
}

Err duration_read(const JsonIn *value, int64_t *out_ms, Error *why)
{
    if (value->kind == JSON_IN_TEXT)
        return duration_parse(value->as.text, out_ms, why);
    const int64_t most_ms = MS_PER_1000_YEARS;
    double seconds = 0;
    if (json_in_real(value, &seconds))
        return error_set(why, ERR_UNSUPPORTED, "not a duration");
    if (!(seconds >= 0) || seconds * MS_PER_S > (double)most_ms)
        return error_set(why, ERR_INVALID, "must be between 0 seconds and 1000 years");
    *out_ms = (int64_t)(seconds * MS_PER_S + 0.5);
    return ERR_OK;
}

Err field_duration(NounIn *in, const JsonIn *value, int64_t *out_ms)
{
    Error why = { 0 };
    Err err = duration_read(value, out_ms, &why);
    if (err == ERR_UNSUPPORTED)
        return field_wrong_type(in, value, "a duration: a string or a number of seconds");
    if (!err)
        return ERR_OK;
    BAD(in, "invalid_value", SLICE_FMT ": %s", SLICE_ARG(value->key), why.text);
    problem_hint(in->why, "as in PT1M30S, 90s, 1h30m or 200ms");
    return ERR_INVALID;
}

static Err read_duration(NounIn *in, const Field *field, const JsonIn *value)
{
    int64_t duration_ms = 0;
    bool endless = field->type == AS_WINDOW && value->kind == JSON_IN_TEXT &&
                   slice_is(value->as.text, "none");
    if (endless) {
        number_set(in, field, -1);
        return ERR_OK;
    }
    Err err = field_duration(in, value, &duration_ms);
    if (!err)
        number_set(in, field, duration_ms ? duration_ms : 1);
    return err;
}

static Err read_time(NounIn *in, const Field *field, const JsonIn *value)
{
    int64_t wall_ms;
    if (value->kind != JSON_IN_TEXT)
        return field_wrong_type(in, value, "a string");
    if (time_parse(value->as.text, &wall_ms) || wall_ms < 0 ||
        wall_ms > TIME_WALL_MAX_MS) {
        BAD(in, "invalid_value", "%s is not a time of the years 1970 to 2999",
            field->name);
        problem_hint(in->why, "RFC 3339, as in 2026-06-30T14:05:00Z");
        return ERR_INVALID;
    }
    number_set(in, field, wall_ms);
    return ERR_OK;
}

static Err read_count(NounIn *in, const Field *field, const JsonIn *value)
{
    int64_t number = 0;
    bool text = (field->use & USE_NUMERIC) && value->kind == JSON_IN_TEXT &&
                !int_parse(value->as.text, &number);
    if (!text && json_in_int(value, &number))
        return field_wrong_type(in, value, "an integer");
    if (number < field->least || number > field->most)
        return BAD(in, "invalid_value", "%s must be between %lld and %lld", field->name,
                   (long long)field->least, (long long)field->most);
    number_set(in, field, number);
    set_has(in, field, true);
    return ERR_OK;
}

static Err read_truth(NounIn *in, const Field *field, const JsonIn *value)
{
    bool truth;
    if (json_in_bool(value, &truth))
        return field_wrong_type(in, value, "true or false");
    if (field->type != AS_FLAG) {
        number_set(in, field, truth == (field->type == AS_BOOL));
        return ERR_OK;
    }
    uint32_t flag = (uint32_t)field->most;
    uint32_t flags = (uint32_t)number_of(field, in->object) & ~flag;
    number_set(in, field, (int64_t)(truth ? flags | flag : flags));
    return ERR_OK;
}

static Err read_word(NounIn *in, const Field *field, const JsonIn *value)
{
    if (value->kind != JSON_IN_TEXT)
        return field_wrong_type(in, value, "a string");
    Slice word = value->as.text;
    for (size_t i = 0; field->words[i]; i++) {
        if (!slice_is(word, field->words[i]))
            continue;
        number_set(in, field, (int64_t)i);
        return ERR_OK;
    }
    const char *nearest = nearest_word(word, field->words);
    word.bytes = word.bytes > SHOWN_BYTES ? SHOWN_BYTES : word.bytes;
    BAD(in, "invalid_value", "%s cannot be '" SLICE_FMT "'", field->name,
        SLICE_ARG(word));
    Buf words = { 0 };
    for (size_t i = 0; field->words[i]; i++)
        buf_printf(&words, "%s%s", i ? ", " : "", field->words[i]);
    if (nearest)
        problem_hint(in->why, "did you mean '%s'?", nearest);
    else
        problem_hint(in->why, "one of " SLICE_FMT, SLICE_ARG(buf_slice(&words)));
    buf_done(&words);
    return ERR_INVALID;
}

Err field_point_item(NounIn *in, const JsonIn *list, size_t index)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", index);
    problem_point(in->why, list->key);
    problem_point(in->why, slice_text(number));
    return ERR_INVALID;
}

static Err check_item(NounIn *in, const Field *field, const JsonIn *item)
{
    if (item->kind != JSON_IN_TEXT)
        return BAD(in, "wrong_type", "each item must be a string, not %s",
                   json_in_kind_name(item->kind));
    if (field->hooks && field->hooks->check_item)
        return field->hooks->check_item(in, item->as.text);
    return ERR_OK;
}

static Err read_list(NounIn *in, const Field *field, const JsonIn *value)
{
    if (value->kind != JSON_IN_LIST)
        return field_wrong_type(in, value, "an array of strings");
    if (value->as.items.count > (size_t)field->most)
        return BAD(in, "invalid_value", "%s has more than %lld items", field->name,
                   (long long)field->most);
    size_t bytes = 0;
    size_t index = 0;
    for (const JsonIn *item = json_in_first(value); item; item = item->next, index++) {
        if (check_item(in, field, item))
            return field_point_item(in, value, index);
        bytes += item->as.text.bytes + 1;
    }
    char *text = arena_take(in->arena, bytes);
    slice_set(in, field, slice_of(text, bytes));
    for (const JsonIn *item = json_in_first(value); item; item = item->next) {
        if (item->as.text.bytes)
            memcpy(text, item->as.text.data, item->as.text.bytes);
        text += item->as.text.bytes + 1;
    }
    return ERR_OK;
}

static Err read_own(NounIn *in, const Field *field, const JsonIn *value)
{
    Slice named = field->type == AS_TENANT ? in->tenant : in->name;
    if (!named.data ||
        (value->kind == JSON_IN_TEXT && slice_equal(value->as.text, named)))
        return ERR_OK;
    return BAD(in, "conflicting_fields", "'%s' is not the one that the path names",
               field->name);
}

Err field_read(NounIn *in, const Field *field, const JsonIn *value)
{
    if (field->hooks && field->hooks->read)
        return field->hooks->read(in, field, value);
    switch (field->type) {
    case AS_TEXT:
    case AS_LONG:
        return read_text(in, field, value);
    case AS_NAME:
    case AS_QUEUE:
        return read_name(in, field, value);
    case AS_DURATION:
    case AS_WINDOW:
        return read_duration(in, field, value);
    case AS_TIME:
        return read_time(in, field, value);
    case AS_COUNT:
        return read_count(in, field, value);
    case AS_BOOL:
    case AS_NOT:
    case AS_FLAG:
        return read_truth(in, field, value);
    case AS_LIST:
        return read_list(in, field, value);
    case AS_ENUM:
        return read_word(in, field, value);
    case AS_TENANT:
    case AS_OWN_NAME:
        return read_own(in, field, value);
    case AS_PAIRS:
    case AS_AMOUNTS:
    case AS_ID:
    case AS_CUSTOM:
    case AS_FACT:
        break;
    }
    assert(false); /* a field that can be sent has a reader */
    return ERR_INVALID;
}

/* What lies at a member of the defaults. */
static int64_t usual_number(const NounIn *in, const Field *field)
{
    return in->noun->defaults ? number_of(field, in->noun->defaults) : 0;
}

void field_clear(NounIn *in, const Field *field)
{
    if (field->hooks && field->hooks->clear) {
        field->hooks->clear(in->object);
        return;
    }
    if (field->type == AS_TENANT || field->type == AS_OWN_NAME || field->type == AS_FACT)
        return;
    set_has(in, field, false);
    if (field->stored.kind == FIELD_SLICE) {
        Slice usual =
            in->noun->defaults ? slice_at(field, in->noun->defaults) : (Slice){ NULL, 0 };
        slice_set(in, field, usual);
        return;
    }
    int64_t usual = usual_number(in, field);
    if (field->type == AS_FLAG) {
        int64_t flag = field->most;
        usual = (number_of(field, in->object) & ~flag) | (usual & flag);
    }
    number_set(in, field, usual);
}

/* --- Writing -------------------------------------------------------------------------
 */

void list_json(JsonOut *json, const char *key, Slice items)
{
    Slice item;
    json_array(json, key);
    while (list_next(&items, &item))
        json_text(json, NULL, item);
    json_array_end(json);
}

void pairs_json(JsonOut *json, const char *key, Slice items, bool numbers)
{
    Slice item;
    json_object(json, key);
    while (list_next(&items, &item)) {
        Slice name = slice_cut(&item, '=');
        int64_t number = 0;
        if (numbers && !int_parse(item, &number)) {
            Arena arena = { 0 };
            json_int(json, slice_cstr(&arena, name), number); /* such names are plain */
            arena_done(&arena);
        } else {
            json_text_key(json, name, item);
        }
    }
    json_object_end(json);
}

static void write_text(JsonOut *json, const Field *field, Slice text)
{
    if (field->use & USE_ALWAYS)
        json_text(json, field->name, text);
    else
        text_or_null(json, field->name, text);
}

static void write_number(JsonOut *json, const Field *field, const void *object)
{
    char id[ID_TEXT_BYTES];
    int64_t number = number_of(field, object);
    switch (field->type) {
    case AS_DURATION:
    case AS_WINDOW:
        duration_or_null(json, field->name, number);
        return;
    case AS_TIME:
        json_time(json, field->name, number);
        return;
    case AS_COUNT:
        if (field->has && !*((const bool *)object + field->has - 1))
            json_null(json, field->name);
        else
            json_int(json, field->name, number);
        return;
    case AS_BOOL:
        json_bool(json, field->name, number);
        return;
    case AS_NOT:
        json_bool(json, field->name, !number);
        return;
    case AS_FLAG:
        json_bool(json, field->name, number & field->most);
        return;
    case AS_ENUM:
        json_cstr(json, field->name, field->words[number]);
        return;
    case AS_ID:
        json_cstr(json, field->name, number ? id_text((JobId)number, id) : NULL);
        return;
    case AS_TEXT:
    case AS_LONG:
    case AS_NAME:
    case AS_QUEUE:
    case AS_LIST:
    case AS_PAIRS:
    case AS_AMOUNTS:
    case AS_TENANT:
    case AS_OWN_NAME:
    case AS_CUSTOM:
    case AS_FACT:
        break;
    }
    assert(false); /* no number */
}

void field_write(JsonOut *json, const Field *field, const NounView *view)
{
    if (field->hooks && field->hooks->write) {
        field->hooks->write(json, field, view);
        return;
    }
    switch (field->type) {
    case AS_TEXT:
    case AS_LONG:
    case AS_NAME:
    case AS_QUEUE:
        write_text(json, field, slice_at(field, view->object));
        return;
    case AS_LIST:
        list_json(json, field->name, slice_at(field, view->object));
        return;
    case AS_PAIRS:
    case AS_AMOUNTS:
        pairs_json(json, field->name, slice_at(field, view->object),
                   field->type == AS_AMOUNTS);
        return;
    case AS_TENANT:
        json_text(json, field->name, view->tenant);
        return;
    case AS_OWN_NAME:
        json_text(json, field->name, view->name);
        return;
    case AS_DURATION:
    case AS_WINDOW:
    case AS_TIME:
    case AS_COUNT:
    case AS_BOOL:
    case AS_NOT:
    case AS_FLAG:
    case AS_ENUM:
    case AS_ID:
        write_number(json, field, view->object);
        return;
    case AS_CUSTOM:
    case AS_FACT:
        break;
    }
    assert(false); /* a field that is shown has a writer */
}

/* --- Describing ----------------------------------------------------------------------
 */

static const char *type_schema(FieldType type)
{
    switch (type) {
    case AS_TEXT:
    case AS_LONG:
        return "\"type\":[\"string\",\"null\"]";
    case AS_NAME:
        return "\"type\":[\"string\",\"null\"],"
               "\"pattern\":\"^\\\\w[\\\\w.:-]{0,127}$\"";
    case AS_QUEUE:
        return "\"type\":[\"string\",\"null\"],\"maxLength\":200";
    case AS_DURATION:
    case AS_WINDOW:
        return "\"type\":[\"string\",\"number\",\"null\"]";
    case AS_TIME:
        return "\"type\":[\"string\",\"null\"],\"format\":\"date-time\"";
    case AS_COUNT:
        return "\"type\":[\"integer\",\"null\"]";
    case AS_BOOL:
    case AS_NOT:
    case AS_FLAG:
        return "\"type\":\"boolean\"";
    case AS_LIST:
        return "\"type\":\"array\",\"items\":{\"type\":\"string\"}";
    case AS_PAIRS:
        return "\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}";
    case AS_AMOUNTS:
        return "\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}";
    case AS_ENUM:
        return "\"type\":\"string\"";
    case AS_ID:
        return "\"type\":[\"string\",\"null\"],"
               "\"pattern\":\"^[0-9a-hjkmnp-tv-z]{13}$\"";
    case AS_TENANT:
    case AS_OWN_NAME:
        return "\"type\":\"string\"";
    case AS_CUSTOM:
    case AS_FACT:
        break;
    }
    return "";
}

void field_schema(Buf *out, const Field *field, bool sent)
{
    buf_add_text(out, field->schema ? field->schema : type_schema(field->type));
    if (field->type == AS_ENUM && !field->schema) {
        buf_add_text(out, ",\"enum\":[");
        for (size_t i = 0; field->words[i]; i++)
            buf_printf(out, "%s\"%s\"", i ? "," : "", field->words[i]);
        buf_add_char(out, ']');
    }
    if (field->type == AS_COUNT && sent)
        buf_printf(out, ",\"minimum\":%lld,\"maximum\":%lld", (long long)field->least,
                   (long long)field->most);
    if ((field->type == AS_TEXT || field->type == AS_LONG) && sent)
        buf_printf(out, ",\"maxLength\":%lld", (long long)field->most);
}
