/* SPDX-License-Identifier: Apache-2.0 */
/* declared.c - sections of definitions in the files of a configuration: YAML items
 * as the JSON objects that the API takes, and the API's own errors with their lines. */
#include "config/loader.h"

#include "base/json_out.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#define NUMBER_CHARS_MAX 40

const DeclareSection *declare_section_find(const DeclareSection *sections, Slice name)
{
    for (const DeclareSection *at = sections; at && at->noun; at++)
        if (slice_is(name, at->noun->section))
            return at;
    return NULL;
}

/* One section being read. */
typedef struct Section {
    Loader *loader;
    const char *path;
    const DeclareSection *kind;
    Arena *arena;
    bool failed; /* the item at hand */
} Section;

static void refuse(Section *in, const YamlNode *at, const char *text)
{
    in->failed = true;
    loader_error(in->loader, loader_place(in->loader, in->path, at), "%s: %s",
                 in->kind->noun->section, text);
}

/* --- YAML as JSON ------------------------------------------------------------------- */

static bool real_parse(Slice text, double *out)
{
    char number[NUMBER_CHARS_MAX];
    if (!text.bytes || text.bytes >= sizeof number)
        return false;
    for (size_t i = 0; i < text.bytes; i++)
        if (!strchr("0123456789.-+eE", text.data[i]))
            return false;
    if (!memchr(text.data, '.', text.bytes))
        return false;
    memcpy(number, text.data, text.bytes);
    number[text.bytes] = '\0';
    char *end;
    *out = strtod(number, &end);
    return end == number + text.bytes;
}

/* As JSON writes it: 08 stays a text. */
static bool integer_parse(Slice text, int64_t *out)
{
    char canonical[NUMBER_CHARS_MAX];
    if (int_parse(text, out))
        return false;
    snprintf(canonical, sizeof canonical, "%lld", (long long)*out);
    return slice_is(text, canonical);
}

/* A word without quotes is what JSON would make of it. */
static void scalar(const YamlNode *node, JsonIn *out)
{
    int64_t integer;
    double real;
    Slice text = node->text;
    out->kind = JSON_IN_TEXT;
    out->as.text = text;
    if (node->null) {
        out->kind = JSON_IN_NULL;
    } else if (node->plain && integer_parse(text, &integer)) {
        out->kind = JSON_IN_INT;
        out->as.integer = integer;
    } else if (node->plain && (slice_is(text, "true") || slice_is(text, "false"))) {
        out->kind = JSON_IN_BOOL;
        out->as.truth = slice_is(text, "true");
    } else if (node->plain && real_parse(text, &real)) {
        out->kind = JSON_IN_REAL;
        out->as.real = real;
    }
}

static bool stands_before(const YamlNode *first, const YamlNode *node)
{
    for (const YamlNode *at = first; at != node; at = at->next)
        if (slice_equal(at->key->text, node->key->text))
            return true;
    return false;
}

static JsonIn *json_of(Section *in, const YamlNode *node)
{
    JsonIn *out = ARENA_NEW(in->arena, JsonIn);
    if (node->key)
        out->key = node->key->text;
    if (node->kind == YAML_TEXT) {
        scalar(node, out);
        return out;
    }
    out->kind = node->kind == YAML_LIST ? JSON_IN_LIST : JSON_IN_OBJECT;
    JsonIn **end = &out->as.items.first;
    for (const YamlNode *at = node->first; at; at = at->next) {
        if (node->kind == YAML_MAP && stands_before(node->first, at))
            refuse(in, at->key, "this key stands twice");
        *end = json_of(in, at); /* as deep as YAML_DEPTH_MAX */
        end = &(*end)->next;
        out->as.items.count++;
    }
    return out;
}

static void write_value(JsonOut *json, const char *key, const JsonIn *value)
{
    switch (value->kind) {
    case JSON_IN_NULL:
        json_null(json, key);
        return;
    case JSON_IN_BOOL:
        json_bool(json, key, value->as.truth);
        return;
    case JSON_IN_INT:
        json_int(json, key, value->as.integer);
        return;
    case JSON_IN_REAL:
        json_double(json, key, value->as.real);
        return;
    case JSON_IN_TEXT:
        json_text(json, key, value->as.text);
        return;
    case JSON_IN_LIST:
        json_array(json, key);
        for (const JsonIn *at = json_in_first(value); at; at = at->next)
            write_value(json, NULL, at);
        json_array_end(json);
        return;
    case JSON_IN_OBJECT:
        json_object(json, key);
        for (const JsonIn *at = json_in_first(value); at; at = at->next) {
            Arena arena = { 0 };
            write_value(json, slice_cstr(&arena, at->key), at);
            arena_done(&arena);
        }
        json_object_end(json);
        return;
    }
}

/* --- Places --------------------------------------------------------------------------
 */

static const YamlNode *child_at(const YamlNode *node, Slice name)
{
    int64_t index = -1;
    if (node->kind == YAML_LIST && int_parse(name, &index))
        return NULL;
    const YamlNode *at = node->kind == YAML_TEXT ? NULL : node->first;
    for (; at; at = at->next)
        if (node->kind == YAML_LIST ? index-- == 0 : slice_equal(at->key->text, name))
            return at;
    return NULL;
}

/* The deepest node that a JSON pointer names. Names with ~ or / are not unescaped: then
 * it is the node around them. */
static const YamlNode *node_at(const YamlNode *item, const char *pointer)
{
    Slice rest = slice_text(pointer);
    slice_cut(&rest, '/');
    while (rest.data) {
        const YamlNode *child = child_at(item, slice_cut(&rest, '/'));
        if (!child)
            break;
        item = child;
    }
    return item->key ? item->key : item;
}

static void refuse_problem(Section *in, const YamlNode *item, const Declaring *declaring)
{
    const Problem *why = &declaring->why;
    const char *hint = why->hint[0] ? why->hint : "";
    const YamlNode *at = why->pointer[0] ? node_at(item, why->pointer) : item;
    loader_error(in->loader, loader_place(in->loader, in->path, at),
                 "%s, " SLICE_FMT ": %s%s%s", in->kind->noun->section,
                 SLICE_ARG(declaring->name), why->detail, hint[0] ? "; " : "", hint);
    in->failed = true;
}

/* --- Items ---------------------------------------------------------------------------
 */

/* Takes a text off the object; its data is NULL if it is not there. */
static Slice take_text(Section *in, const YamlNode *item, JsonIn *object, const char *key)
{
    JsonIn **at = &object->as.items.first;
    while (*at && !slice_is((*at)->key, key))
        at = &(*at)->next;
    if (!*at)
        return (Slice){ NULL, 0 };
    const YamlNode *node = child_at(item, slice_text(key));
    *at = (*at)->next;
    object->as.items.count--;
    if (node->kind == YAML_TEXT && !node->null)
        return node->text; /* also one that looks like a number */
    refuse(in, node, "a name is expected");
    return (Slice){ NULL, 0 };
}

static bool read_names(Section *in, const YamlNode *item, Declaring *out, JsonIn *object)
{
    out->name = take_text(in, item, object, "name");
    if (!in->failed && !out->name.data)
        refuse(in, item, "the item has no name");
    else if (!in->failed && !in->kind->noun->name_valid(out->name))
        refuse(in, child_at(item, SLICE_LITERAL("name")), "this name is not valid");
    if (!in->kind->noun->tenants)
        return !in->failed;
    out->tenant = take_text(in, item, object, "tenant");
    if (!out->tenant.data)
        out->tenant = SLICE_LITERAL("default");
    else if (!tenant_name_valid(out->tenant))
        refuse(in, child_at(item, SLICE_LITERAL("tenant")),
               "this name of a tenant is not valid");
    return !in->failed;
}

/* Where the same one was declared before; NULL: nowhere. */
static const char *declared_at(const Config *config, const Declared *one)
{
    for (const Declared *at = config->declared; at; at = at->next)
        if (at->section == one->section && slice_equal(at->name, one->name) &&
            slice_equal(at->tenant, one->tenant))
            return at->place;
    return NULL;
}

static void keep(Section *in, const YamlNode *item, const Declared *one)
{
    Config *config = in->loader->config;
    Arena *arena = &config->declared_arena;
    const char *before = declared_at(config, one);
    if (before) {
        char text[ERROR_TEXT_BYTES];
        snprintf(text, sizeof text, SLICE_FMT " is declared twice, first at %s",
                 SLICE_ARG(one->name), before);
        refuse(in, item, text);
        return;
    }
    Declared **end = &config->declared;
    while (*end)
        end = &(*end)->next;
    *end = ARENA_NEW(arena, Declared);
    **end = (Declared){
        .section = one->section,
        .tenant = slice_copy(arena, one->tenant),
        .name = slice_copy(arena, one->name),
        .value = slice_copy(arena, one->value),
        .text = slice_copy(arena, one->text),
        .place = slice_cstr(arena, slice_text(loader_place(in->loader, in->path, item))),
    };
}

static void read_item(Section *in, const YamlNode *item)
{
    in->failed = false;
    if (item->kind != YAML_MAP) {
        refuse(in, item, "each item is a mapping with a name");
        return;
    }
    Buf text = { 0 };
    Buf value = { 0 };
    JsonIn *object = json_of(in, item);
    object->key = (Slice){ NULL, 0 };
    JsonOut json = { .out = &text };
    write_value(&json, NULL, object);
    Declaring declaring = { .object = object, .arena = in->arena };
    if (!in->failed && read_names(in, item, &declaring, object)) {
        if (in->kind->read(in->kind->noun, &declaring, &value))
            refuse_problem(in, item, &declaring);
        else
            keep(in, item,
                 &(Declared){ .section = in->kind,
                              .tenant = declaring.tenant,
                              .name = declaring.name,
                              .value = buf_slice(&value),
                              .text = buf_slice(&text) });
    }
    buf_done(&text);
    buf_done(&value);
}

void loader_declare(Loader *loader, const char *path, const DeclareSection *section,
                    const YamlNode *body)
{
    Arena arena = { 0 };
    Section in = { .loader = loader, .path = path, .kind = section, .arena = &arena };
    if (body->kind != YAML_LIST && !body->null)
        refuse(&in, body, "a list of definitions with names is expected");
    const YamlNode *item = body->kind == YAML_LIST ? body->first : NULL;
    for (; item && loader->errors < CONFIG_ERRORS_MAX; item = item->next)
        read_item(&in, item);
    arena_done(&arena);
}
