/* SPDX-License-Identifier: Apache-2.0 */
/* noun.c - see noun.h. */
#include "noun/noun.h"

#include "base/text.h"

#include <assert.h>
#include <stdlib.h>

#define SHOWN_BYTES 80 /* of an unknown name, in a sentence */

/* --- Packing -------------------------------------------------------------------------
 */

static int by_tag(const void *a, const void *b)
{
    uint32_t first = ((const FieldRow *)a)->tag;
    uint32_t second = ((const FieldRow *)b)->tag;
    return (first > second) - (first < second);
}

void noun_rows(const Field *fields, size_t count, FieldRow *rows, Fields *out)
{
    size_t stored = 0;
    for (size_t i = 0; i < count; i++)
        if (fields[i].stored.tag)
            rows[stored++] = fields[i].stored;
    qsort(rows, stored, sizeof *rows, by_tag);
    for (size_t i = 1; i < stored; i++)
        assert(rows[i - 1].tag < rows[i].tag);
    out->count = stored;
}

bool noun_plausible(const Noun *noun, const void *object)
{
    for (size_t i = 0; i < noun->count; i++) {
        const Field *field = &noun->fields[i];
        uint32_t number = 0;
        if (field->type != AS_ENUM || !field->words)
            continue;
        assert(field->stored.kind == FIELD_32);
        memcpy(&number, (const char *)object + field->stored.offset, sizeof number);
        uint32_t count = 0;
        while (field->words[count])
            count++;
        if (number >= count)
            return false;
    }
    return true;
}

void noun_pack(Buf *out, const Noun *noun, const void *object)
{
    fields_pack(out, noun->stored, object);
}

Err noun_unpack(Slice packed, const Noun *noun, void *object)
{
    if (noun->stored->defaults)
        memcpy(object, noun->stored->defaults, noun->bytes);
    else
        memset(object, 0, noun->bytes);
    if (fields_unpack(packed, noun->stored, object) || !noun_plausible(noun, object))
        return ERR_CORRUPT;
    return ERR_OK;
}

void noun_keep(const Noun *noun, Arena *arena, void *object)
{
    fields_keep(noun->stored, arena, object);
}

/* --- Finding -------------------------------------------------------------------------
 */

const Field *noun_field(const Noun *noun, Slice name)
{
    for (size_t i = 0; i < noun->count; i++) {
        const char *field = noun->fields[i].name;
        if (field && name.bytes && field[0] == name.data[0] && slice_is(name, field))
            return &noun->fields[i];
    }
    return NULL;
}

const char *noun_own_name(const Noun *noun)
{
    for (size_t i = 0; i < noun->count; i++)
        if (noun->fields[i].type == AS_OWN_NAME)
            return noun->fields[i].name;
    return "name";
}

Err noun_unknown(const Noun *noun, Slice name, Problem *why)
{
    const char *words[NOUN_FIELDS_MAX + 1];
    size_t count = 0;
    for (size_t i = 0; i < noun->count; i++)
        if (noun->fields[i].name && (noun->fields[i].use & USE_SENT))
            words[count++] = noun->fields[i].name;
    words[count] = NULL;
    const char *nearest = nearest_word(name, words);
    Slice shown =
        slice_of(name.data, name.bytes > SHOWN_BYTES ? SHOWN_BYTES : name.bytes);
    problem_set(why, "unknown_field", "%s has no field '" SLICE_FMT "'", noun->a,
                SLICE_ARG(shown));
    if (nearest)
        problem_hint(why, "did you mean '%s'?", nearest);
    return ERR_INVALID;
}

/* --- Reading -------------------------------------------------------------------------
 */

static void mark_seen(NounIn *in, const Field *field)
{
    size_t at = (size_t)(field - in->noun->fields);
    in->seen[at / 64] |= 1ull << at % 64;
}

bool noun_seen(const NounIn *in, const char *name)
{
    const Field *field = noun_field(in->noun, slice_text(name));
    assert(field);
    size_t at = (size_t)(field - in->noun->fields);
    return in->seen[at / 64] >> at % 64 & 1;
}

/* null stands for "not given", so that an object of ours can be sent back; in a patch it
 * takes the field back to its default. */
static Err read_known(NounIn *in, const Field *field, const JsonIn *member)
{
    bool named = field->type == AS_TENANT || field->type == AS_OWN_NAME;
    if (!(field->use & USE_SENT) && !named) {
        if (!in->noun->read_only)
            return ERR_OK;
        return problem_set(in->why, "read_only_field", "'%s' is set by the daemon",
                           field->name);
    }
    if (member->kind == JSON_IN_NULL && !in->patch)
        return ERR_OK;
    if (member->kind == JSON_IN_NULL && (field->use & USE_REQUIRED))
        return problem_set(in->why, "missing_field", "%s needs %s: %s", in->noun->a,
                           field->name, field->meaning);
    if (member->kind == JSON_IN_NULL)
        field_clear(in, field);
    else if (field_read(in, field, member))
        return ERR_INVALID;
    mark_seen(in, field);
    return ERR_OK;
}

static Err read_member(NounIn *in, const JsonIn *member)
{
    const Field *field = noun_field(in->noun, member->key);
    if (field)
        return read_known(in, field, member);
    if (in->other)
        return in->other(in, member);
    return noun_unknown(in->noun, member->key, in->why);
}

static Err read_members(NounIn *in, const JsonIn *object)
{
    for (const JsonIn *at = json_in_first(object); at; at = at->next) {
        if (!read_member(in, at))
            continue;
        if (!in->why->pointer[0])
            problem_point(in->why, at->key);
        return ERR_INVALID;
    }
    return ERR_OK;
}

static Err check_required(NounIn *in)
{
    for (size_t i = 0; i < in->noun->count && !in->patch; i++) {
        const Field *field = &in->noun->fields[i];
        if (!(field->use & USE_REQUIRED) || noun_seen(in, field->name))
            continue;
        problem_set(in->why, "missing_field", "%s needs %s: %s", in->noun->a, field->name,
                    field->meaning);
        return ERR_INVALID;
    }
    return ERR_OK;
}

Err noun_read(NounIn *in, const JsonIn *object)
{
    const Noun *noun = in->noun;
    memset(in->seen, 0, sizeof in->seen);
    in->why->pointer[0] = '\0';
    if (object->kind != JSON_IN_OBJECT)
        return problem_set(in->why, "wrong_type", "%s must be an object, not %s", noun->a,
                           json_in_kind_name(object->kind));
    if (!in->patch && noun->defaults)
        memcpy(in->object, noun->defaults, noun->bytes);
    else if (!in->patch)
        memset(in->object, 0, noun->bytes);
    Err err = noun->begin ? noun->begin(in, &object) : ERR_OK;
    if (!err)
        err = read_members(in, object);
    if (!err)
        err = check_required(in);
    if (!err && noun->check)
        err = noun->check(in);
    return err;
}

/* The value as JSON would have it; what cannot be said in text stays text and is then
 * refused as of the wrong type. */
static void param_value(const Field *field, Slice text, JsonIn *out)
{
    bool truth =
        field->type == AS_BOOL || field->type == AS_NOT || field->type == AS_FLAG;
    bool yes = slice_is(text, "true") || slice_is(text, "1");
    bool no = slice_is(text, "false") || slice_is(text, "0");
    int64_t number;
    if (truth && (yes || no)) {
        out->kind = JSON_IN_BOOL;
        out->as.truth = yes;
    } else if (field->type == AS_COUNT && !int_parse(text, &number)) {
        out->kind = JSON_IN_INT;
        out->as.integer = number;
    }
}

Err noun_read_param(NounIn *in, Slice name, Slice text)
{
    const Field *field = noun_field(in->noun, name);
    JsonIn value = { .kind = JSON_IN_TEXT, .key = name, .as.text = text };
    in->why->pointer[0] = '\0';
    if (field)
        param_value(field, text, &value);
    if (!read_member(in, &value))
        return ERR_OK;
    if (in->why->kind == problem_find("unknown_field"))
        in->why->kind = problem_find("unknown_parameter");
    if (!in->why->pointer[0])
        problem_point(in->why, name);
    return ERR_INVALID;
}

/* --- Writing -------------------------------------------------------------------------
 */

void noun_members(JsonOut *json, const NounView *view)
{
    for (size_t i = 0; i < view->noun->count; i++) {
        const Field *field = &view->noun->fields[i];
        bool hidden = view->audit && (field->use & USE_SECRET);
        if (field->name && (field->use & USE_SHOWN) && field->type != AS_FACT && !hidden)
            field_write(json, field, view);
    }
}

static bool in_schema(const Noun *noun, const Field *field, NounSchema what)
{
    bool named = field->type == AS_TENANT || field->type == AS_OWN_NAME;
    if (!field->name)
        return false;
    switch (what) {
    case SCHEMA_SHOWN:
        return field->use & USE_SHOWN;
    case SCHEMA_SENT:
        return (field->use & USE_SENT) || named || !noun->read_only;
    case SCHEMA_PATCH:
        return noun->read_only ? (field->use & USE_PATCHED) != 0
                               : in_schema(noun, field, SCHEMA_SENT);
    }
    return false;
}

void noun_properties(JsonOut *json, const Noun *noun, NounSchema what)
{
    for (size_t i = 0; i < noun->count; i++) {
        const Field *field = &noun->fields[i];
        if (!in_schema(noun, field, what))
            continue;
        Buf text = { 0 };
        JsonOut quoted = { .out = &text };
        buf_add_char(&text, '{');
        field_schema(&text, field, what != SCHEMA_SHOWN);
        buf_add_text(&text, ",\"description\":");
        json_cstr(&quoted, NULL, field->meaning);
        buf_add_text(&text, field->use & USE_SENT ? "}" : ",\"readOnly\":true}");
        json_raw(json, field->name, buf_slice(&text));
        buf_done(&text);
    }
}

void noun_schema_head(JsonOut *json, const Noun *noun, NounSchema what)
{
    json_cstr(json, "type", "object");
    if (what == SCHEMA_SHOWN)
        return; /* later versions may show more */
    json_bool(json, "additionalProperties", false);
    if (noun->more_schema) {
        buf_add_char(json->out, ',');
        buf_add_text(json->out, noun->more_schema);
    }
    if (what == SCHEMA_PATCH)
        return;
    json_array(json, "required");
    for (size_t i = 0; i < noun->count; i++)
        if (noun->fields[i].use & USE_REQUIRED)
            json_cstr(json, NULL, noun->fields[i].name);
    json_array_end(json);
}

void noun_schema(JsonOut *json, const char *name, const Noun *noun, NounSchema what)
{
    json_object(json, name);
    noun_schema_head(json, noun, what);
    json_object(json, "properties");
    noun_properties(json, noun, what);
    json_object_end(json);
    json_object_end(json);
}
