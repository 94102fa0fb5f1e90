/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.c - see yaml.h. The events of libyaml, gathered into a tree.
 *
 * libyaml itself and not libcyaml above it, which fills structs but stops at the first
 * error: a check must name them all. */
#include "config/yaml.h"

#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <yaml.h>

typedef struct Reader {
    yaml_parser_t parser;
    Slice text;
    Arena *arena;
    YamlFault *why;
} Reader;

static Err fault(Reader *reader, yaml_mark_t mark, const char *text)
{
    reader->why->line = (unsigned)mark.line + 1;
    reader->why->column = (unsigned)mark.column + 1;
    snprintf(reader->why->text, sizeof reader->why->text, "%s", text);
    return ERR_INVALID;
}

/* Line and column of a byte. */
static yaml_mark_t mark_of(Slice text, size_t offset)
{
    yaml_mark_t mark = { 0 };
    for (size_t i = 0; i < offset && i < text.bytes; i++) {
        if (text.data[i] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if (((unsigned char)text.data[i] & 0xc0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

static Err parser_fault(Reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    char text[YAML_FAULT_BYTES];
    const char *problem = parser->problem ? parser->problem : "it cannot be read";
    if (parser->error == YAML_READER_ERROR) {
        snprintf(text, sizeof text, "not valid YAML: %s", problem);
        return fault(reader, mark_of(reader->text, parser->problem_offset), text);
    }
    snprintf(text, sizeof text, "not valid YAML: %s%s%s",
             parser->context ? parser->context : "", parser->context ? ", " : "",
             problem);
    return fault(reader, parser->problem_mark, text);
}

static Err next_event(Reader *reader, yaml_event_t *out_event)
{
    return yaml_parser_parse(&reader->parser, out_event) ? ERR_OK : parser_fault(reader);
}

static bool means_null(Slice text)
{
    return !text.bytes || slice_is(text, "~") || slice_is(text, "null");
}

/* A node without its children; NULL where the event begins none. */
static YamlNode *node_of(Reader *reader, const yaml_event_t *event)
{
    YamlNode *node = ARENA_NEW(reader->arena, YamlNode);
    node->line = (unsigned)event->start_mark.line + 1;
    node->column = (unsigned)event->start_mark.column + 1;
    if (event->type == YAML_SEQUENCE_START_EVENT) {
        node->kind = YAML_LIST;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        node->kind = YAML_MAP;
    } else {
        Slice text =
            slice_of((const char *)event->data.scalar.value, event->data.scalar.length);
        node->kind = YAML_TEXT;
        node->text = slice_copy(reader->arena, text);
        node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        node->null = node->plain && means_null(text);
    }
    return node;
}

/* What this reader refuses although it is YAML; NULL: nothing. */
static const char *refused(const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL;
    const yaml_char_t *tag = NULL;
    if (event->type == YAML_ALIAS_EVENT)
        return "aliases (*name) are not supported";
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor)
        return "anchors (&name) are not supported";
    return tag ? "tags (!name) are not supported" : NULL;
}

/* One open list or mapping. */
typedef struct Level {
    YamlNode *node;
    YamlNode **end; /* where its next child goes */
    YamlNode *key;  /* of a mapping: read, its value not yet */
} Level;

/* Hangs a node below the innermost level, or keeps it as the key of what follows. */
static Err attach(Reader *reader, Level *level, YamlNode *node)
{
    assert(level->node);
    if (level->node->kind == YAML_MAP && !level->key) {
        if (node->kind != YAML_TEXT)
            return fault(reader, (yaml_mark_t){ 0, node->line - 1, node->column - 1 },
                         "a key must be a single word");
        level->key = node;
        return ERR_OK;
    }
    node->key = level->key;
    level->key = NULL;
    *level->end = node;
    level->end = &node->next;
    return ERR_OK;
}

/* One event inside the document. *depth is the number of open levels. */
static Err take_event(Reader *reader, const yaml_event_t *event, Level *levels,
                      size_t *depth, YamlNode **out_root)
{
    const char *reason = refused(event);
    if (reason)
        return fault(reader, event->start_mark, reason);
    if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT) {
        assert(*depth > 0);
        --*depth;
        return ERR_OK;
    }
    YamlNode *node = node_of(reader, event);
    if (*depth == 0)
        *out_root = node;
    else if (attach(reader, &levels[*depth - 1], node))
        return ERR_INVALID;
    if (node->kind == YAML_TEXT)
        return ERR_OK;
    if (*depth == YAML_DEPTH_MAX)
        return fault(reader, event->start_mark, "nested too deep");
    levels[(*depth)++] = (Level){ .node = node, .end = &node->first };
    return ERR_OK;
}

static Err read_events(Reader *reader, YamlNode **out_root)
{
    Level levels[YAML_DEPTH_MAX] = { 0 };
    size_t depth = 0;
    size_t documents = 0;
    for (;;) {
        yaml_event_t event;
        Err err = next_event(reader, &event);
        if (err)
            return err;
        yaml_event_type_t type = event.type;
        if (type == YAML_DOCUMENT_START_EVENT && ++documents > 1)
            err = fault(reader, event.start_mark, "only one document in a file");
        else if (type != YAML_STREAM_START_EVENT && type != YAML_STREAM_END_EVENT &&
                 type != YAML_DOCUMENT_START_EVENT && type != YAML_DOCUMENT_END_EVENT)
            err = take_event(reader, &event, levels, &depth, out_root);
        yaml_event_delete(&event);
        if (err || type == YAML_STREAM_END_EVENT)
            return err;
    }
}

/* Where the first character that is no valid UTF-8 begins. */
static size_t utf8_valid_bytes(Slice text)
{
    size_t at = 0;
    while (at < text.bytes) {
        size_t length = 1;
        while (length <= 4 && (length > text.bytes - at ||
                               !utf8_valid(slice_of(text.data + at, length))))
            length++;
        if (length > 4)
            break;
        at += length;
    }
    return at;
}

Err yaml_read(Slice text, Arena *arena, YamlNode **out_root, YamlFault *why)
{
    Reader reader = { .text = text, .arena = arena, .why = why };
    if (!utf8_valid(text))
        return fault(&reader, mark_of(text, utf8_valid_bytes(text)), "not valid UTF-8");
    if (!yaml_parser_initialize(&reader.parser))
        return fault(&reader, (yaml_mark_t){ 0 }, "no memory");
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text.data,
                                 text.bytes);
    YamlNode *root = NULL;
    Err err = read_events(&reader, &root);
    yaml_parser_delete(&reader.parser);
    if (!err)
        *out_root = root;
    return err;
}

const char *yaml_kind_name(const YamlNode *node)
{
    switch (node->kind) {
    case YAML_TEXT:
        return node->null ? "nothing" : "a single value";
    case YAML_LIST:
        return "a list";
    case YAML_MAP:
        return "a mapping";
    }
    return "something else";
}
