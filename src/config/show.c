/* SPDX-License-Identifier: Apache-2.0 */
/* show.c - a configuration printed, compared and taken over (config.h). */
#include "base/json_out.h"
#include "config/config.h"

#define ORIGIN_COLUMN 44 /* comments stand below each other, also behind a path */

static void yaml_list(Slice items, Buf *out)
{
    buf_add_char(out, '[');
    for (bool first = true; items.bytes; first = false) {
        Slice item = slice_cut(&items, ',');
        if (slice_starts(items, SLICE_LITERAL(" ")))
            items = slice_from(items, 1);
        buf_printf(out, "%s\"" SLICE_FMT "\"", first ? "" : ", ", SLICE_ARG(item));
    }
    buf_add_char(out, ']');
}

/* Words that YAML would read as something else than text are quoted. */
static void yaml_value(const ConfigField *field, const void *at, Buf *out)
{
    if (field->rule.kind == VALUE_RANGES) {
        yaml_list(slice_text(*(const char *const *)at), out);
        return;
    }
    bool quoted = field->rule.kind == VALUE_PATH || field->rule.kind == VALUE_FILE ||
                  field->rule.kind == VALUE_STORE || field->rule.kind == VALUE_ADDRESS;
    Buf text = { 0 };
    value_text(&field->rule, at, &text);
    if (quoted)
        buf_add_char(out, '"');
    if (quoted)
        json_escape(out, buf_slice(&text));
    else
        buf_add_slice(out, buf_slice(&text));
    if (quoted)
        buf_add_char(out, '"');
    buf_done(&text);
}

static void show_section(const Declared *first, bool with_origin, Buf *out)
{
    buf_printf(out, "%s:\n", first->section->noun->section);
    for (const Declared *at = first; at; at = at->next) {
        if (at->section != first->section)
            continue;
        buf_printf(out, "  - " SLICE_FMT, SLICE_ARG(at->text)); /* JSON is YAML too */
        if (with_origin)
            buf_printf(out, " # %s", at->place);
        buf_add_char(out, '\n');
    }
}

static void show_declared(const Config *config, bool with_origin, Buf *out)
{
    for (const Declared *first = config->declared; first; first = first->next) {
        bool seen = false;
        for (const Declared *at = config->declared; at != first; at = at->next)
            seen = seen || at->section == first->section;
        if (!seen)
            show_section(first, with_origin, out);
    }
}

void config_show(const Config *config, bool with_origin, Buf *out)
{
    const char *section = "";
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++) {
        const ConfigField *field = config_field(key);
        if (field->name && strcmp(section, field->section) != 0)
            buf_printf(out, "%s:\n", field->section);
        section = field->section;
        size_t start = out->bytes;
        if (field->name)
            buf_printf(out, "  %s: ", field->name);
        else
            buf_printf(out, "%s: [", field->section);
        yaml_value(field, config_at(config, key), out);
        if (!field->name)
            buf_add_char(out, ']');
        if (with_origin) {
            while (out->bytes - start < ORIGIN_COLUMN)
                buf_add_char(out, ' ');
            buf_printf(out, " # %s", config->origins[key]);
        }
        buf_add_char(out, '\n');
    }
    show_declared(config, with_origin, out);
}

static const char *text_of(const Config *config, ConfigKey key, Arena *arena)
{
    Buf text = { 0 };
    value_text(&config_field(key)->rule, config_at(config, key), &text);
    const char *kept = slice_cstr(arena, buf_slice(&text));
    buf_done(&text);
    return kept;
}

void config_diff(const Config *before, const Config *after, ConfigDiff *out)
{
    *out = (ConfigDiff){ 0 };
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++) {
        const ConfigField *field = config_field(key);
        if (value_equal(&field->rule, config_at(before, key), config_at(after, key)))
            continue;
        out->changes[out->count++] = (ConfigChange){
            .key = key,
            .before = text_of(before, key, &out->arena),
            .after = text_of(after, key, &out->arena),
            .live = field->live,
        };
        out->restart_count += !field->live;
    }
}

void config_diff_done(ConfigDiff *diff)
{
    arena_done(&diff->arena);
    *diff = (ConfigDiff){ 0 };
}

void config_adopt(Config *running, Config *loaded)
{
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++) {
        const ConfigField *field = config_field(key);
        const void *new_value = config_at(loaded, key);
        bool same = value_equal(&field->rule, config_at(running, key), new_value);
        if (!field->live && !same)
            continue;
        if (!same)
            value_copy(&field->rule, new_value, &running->arena,
                       (char *)running + field->offset);
        /* Only what differs is copied: the arena does not grow with every reload. */
        if (strcmp(running->origins[key], loaded->origins[key]) != 0)
            running->origins[key] =
                slice_cstr(&running->arena, slice_text(loaded->origins[key]));
    }
    Arena definitions = running->declared_arena;
    running->declared = loaded->declared;
    running->declared_arena = loaded->declared_arena;
    loaded->declared = NULL;
    loaded->declared_arena = (Arena){ 0 };
    arena_done(&definitions);
    config_done(loaded);
}
