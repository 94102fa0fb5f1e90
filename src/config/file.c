/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - the YAML files of a configuration, checked against the table of
 * config.c. Goes on after an error, so that one check names them all. */
#include "config/loader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (1u << 20) /* what people write by hand is far below */
#define FOLDER_NAME    "pawl.d"
#define FILE_SUFFIX    ".yaml"

/* One file being checked. */
typedef struct File {
    Loader *loader;
    const char *path;
    const char *folder;              /* absolute or below cwd: for relative paths in it */
    unsigned key_lines[CONFIG_KEYS]; /* where a key stood first; 0: not yet */
    Arena arena;
} File;

const char *loader_place(Loader *loader, const char *path, const YamlNode *node)
{
    Buf text = { 0 };
    buf_printf(&text, "%s:%u:%u", path, node->line, node->column);
    const char *kept = slice_cstr(&loader->config->arena, buf_slice(&text));
    buf_done(&text);
    return kept;
}

static const char *place_of(File *file, const YamlNode *node)
{
    return loader_place(file->loader, file->path, node);
}

/* --- Keys and values ---------------------------------------------------------------- */

/* Whether this is the key's first time in the file; says so if not. */
static bool first_time(File *file, ConfigKey key, const YamlNode *at)
{
    char name[CONFIG_NAME_BYTES];
    if (!file->key_lines[key]) {
        file->key_lines[key] = at->line;
        return true;
    }
    loader_error(file->loader, place_of(file, at), "%s is set twice, first in line %u",
                 config_name(key, name), file->key_lines[key]);
    return false;
}

static void wrong_kind(File *file, const YamlNode *node, const char *name,
                       const char *expected)
{
    loader_error(file->loader, place_of(file, node), "%s: %s is expected, not %s", name,
                 expected, yaml_kind_name(node));
}

/* A list whose text has its items separated by commas. */
static void read_list(File *file, ConfigKey key, const YamlNode *list)
{
    Buf text = { 0 };
    char name[CONFIG_NAME_BYTES];
    for (const YamlNode *item = list->first; item; item = item->next) {
        if (item->kind != YAML_TEXT || item->null)
            wrong_kind(file, item, config_name(key, name),
                       value_expected(config_field(key)->rule.kind));
        buf_add_slice(&text, item->text);
        buf_add_char(&text, ',');
    }
    loader_set(file->loader, key, buf_slice(&text),
               (Place){ .text = place_of(file, list), .folder = file->folder });
    buf_done(&text);
}

static void read_value(File *file, ConfigKey key, const YamlNode *value)
{
    char name[CONFIG_NAME_BYTES];
    if (config_field(key)->rule.kind == VALUE_RANGES && value->kind == YAML_LIST) {
        read_list(file, key, value);
        return;
    }
    if (value->kind != YAML_TEXT || value->null) {
        wrong_kind(file, value, config_name(key, name),
                   value_expected(config_field(key)->rule.kind));
        return;
    }
    loader_set(file->loader, key, value->text,
               (Place){ .text = place_of(file, value), .folder = file->folder });
}

static void unknown_key(File *file, const char *section, const YamlNode *key)
{
    const char *words[LOADER_WORDS_MAX];
    char quoted[LOG_QUOTE_BYTES];
    Buf more = { 0 };
    loader_words(section, words);
    loader_suggest(key->text, words, &more);
    loader_error(file->loader, place_of(file, key), "unknown key %s in %s%s",
                 log_quote(key->text, quoted), section, buf_cstr(&more));
    buf_done(&more);
}

static void read_section(File *file, const char *section, const YamlNode *body)
{
    if (body->null)
        return;
    if (body->kind != YAML_MAP) {
        wrong_kind(file, body, section, "a mapping of keys");
        return;
    }
    for (const YamlNode *value = body->first; value; value = value->next) {
        ConfigKey key = 0;
        while (key < CONFIG_KEYS &&
               (strcmp(config_field(key)->section, section) != 0 ||
                !slice_is(value->key->text, config_field(key)->name)))
            key++;
        if (key == CONFIG_KEYS)
            unknown_key(file, section, value->key);
        else if (first_time(file, key, value->key))
            read_value(file, key, value);
        if (file->loader->errors >= CONFIG_ERRORS_MAX)
            return;
    }
}

static void read_stores(File *file, const YamlNode *body)
{
    if (body->null)
        return;
    if (body->kind != YAML_LIST) {
        wrong_kind(file, body, "stores", "a list of stores");
        return;
    }
    if (!body->first)
        loader_error(file->loader, place_of(file, body), "stores: the list is empty");
    for (const YamlNode *item = body->first; item; item = item->next) {
        if (item->kind == YAML_MAP) /* what YAML makes of `- sqlite:` */
            wrong_kind(file, item, "stores", "the address of a store in quotes");
        else
            read_value(file, CONFIG_STORES, item);
        if (!item->next)
            return;
        loader_error(file->loader, place_of(file, item->next),
                     "stores: this version takes one store");
        return;
    }
}

/* --- Sections --------------------------------------------------------------------------
 */

/* The full name of a key that stands at the top by mistake; empty: none. */
static void misplaced(Slice name, Buf *out)
{
    char known[CONFIG_NAME_BYTES];
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++) {
        const char *own = config_field(key)->name;
        if (own && slice_is(name, own))
            buf_printf(out, "%s%s", out->bytes ? " or " : "", config_name(key, known));
    }
}

static void unknown_section(File *file, const YamlNode *key)
{
    const char *words[LOADER_WORDS_MAX];
    char quoted[LOG_QUOTE_BYTES];
    const char *place = place_of(file, key);
    if (loader_later_section(key->text)) {
        loader_error(file->loader, place, "%s is not supported by this version",
                     log_quote(key->text, quoted));
        return;
    }
    Buf more = { 0 };
    misplaced(key->text, &more);
    if (more.bytes) {
        loader_error(file->loader, place, "unknown section %s; did you mean %s?",
                     log_quote(key->text, quoted), buf_cstr(&more));
    } else {
        loader_words(NULL, words);
        loader_suggest(key->text, words, &more);
        loader_error(file->loader, place, "unknown section %s%s",
                     log_quote(key->text, quoted), buf_cstr(&more));
    }
    buf_done(&more);
}

/* Whether the section is one of definitions; then it is read. */
static bool read_declared(File *file, const YamlNode *body, Buf *seen)
{
    const DeclareSection *section =
        declare_section_find(file->loader->sources->sections, body->key->text);
    if (!section)
        return false;
    Slice rest = buf_slice(seen);
    Slice name;
    while (list_next(&rest, &name))
        if (slice_is(name, section->noun->section)) {
            loader_error(file->loader, place_of(file, body->key),
                         "section %s stands twice", section->noun->section);
            return true;
        }
    buf_add(seen, section->noun->section, strlen(section->noun->section) + 1);
    loader_declare(file->loader, file->path, section, body);
    return true;
}

static void read_top(File *file, const YamlNode *body)
{
    Buf declared = { 0 }; /* sections of definitions, each ended by NUL */
    /* A section's own place in key_lines is that of its first key. */
    unsigned section_lines[CONFIG_KEYS] = { 0 };
    for (; body && file->loader->errors < CONFIG_ERRORS_MAX; body = body->next) {
        ConfigKey key = 0;
        while (key < CONFIG_KEYS &&
               !slice_is(body->key->text, config_field(key)->section))
            key++;
        if (key == CONFIG_KEYS) {
            if (!read_declared(file, body, &declared))
                unknown_section(file, body->key);
            continue;
        }
        const char *section = config_field(key)->section;
        if (section_lines[key]) {
            loader_error(file->loader, place_of(file, body->key),
                         "section %s stands twice, first in line %u", section,
                         section_lines[key]);
            continue;
        }
        section_lines[key] = body->key->line;
        if (key == CONFIG_STORES)
            read_stores(file, body);
        else
            read_section(file, section, body);
    }
    buf_done(&declared);
}

static void read_text(File *file, Slice text)
{
    YamlNode *root = NULL;
    YamlFault fault = { 0 };
    if (yaml_read(text, &file->arena, &root, &fault)) {
        YamlNode place = { .line = fault.line, .column = fault.column };
        loader_error(file->loader, place_of(file, &place), "%s", fault.text);
        return;
    }
    if (!root || root->null)
        return;
    if (root->kind == YAML_MAP)
        read_top(file, root->first);
    else
        loader_error(file->loader, place_of(file, root),
                     "sections are expected (daemon:, stores:, ...), not %s",
                     yaml_kind_name(root));
}

/* --- Files
 * ------------------------------------------------------------------------------ */

/* All bytes of a file, one more than allowed at most. */
static Err slurp(const char *path, Buf *out, Error *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_errno(why, "cannot be opened");
    Err err = ERR_OK;
    while (!err && out->bytes <= FILE_BYTES_MAX) {
        ssize_t bytes = read(fd, buf_room(out, 65536), 65536);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0)
            err = error_errno(why, "cannot be read");
        if (bytes <= 0)
            break;
        out->bytes += (size_t)bytes;
    }
    close(fd);
    if (!err && out->bytes > FILE_BYTES_MAX)
        err = error_set(why, ERR_LIMIT, "larger than %u bytes", FILE_BYTES_MAX);
    return err;
}

static void read_file(Loader *loader, const char *path, const char *folder)
{
    Buf text = { 0 };
    Error why = { 0 };
    File file = { .loader = loader, .path = path, .folder = folder };
    if (slurp(path, &text, &why))
        loader_error(loader, path, "%s", why.text);
    else
        read_text(&file, buf_slice(&text));
    arena_done(&file.arena);
    buf_done(&text);
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t bytes = strlen(name);
    size_t end = strlen(suffix);
    return bytes > end && strcmp(name + bytes - end, suffix) == 0;
}

static int is_ours(const struct dirent *entry)
{
    return entry->d_name[0] != '.' &&
           (ends_with(entry->d_name, FILE_SUFFIX) || ends_with(entry->d_name, ".yml"));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* whatever the locale */
}

/* The files of `folder`/pawl.d; `base` is the folder as an absolute path. */
static void read_folder(Loader *loader, const char *folder, const char *base)
{
    Buf path = { 0 };
    Buf base_path = { 0 };
    struct dirent **entries = NULL;
    buf_printf(&path, "%s/" FOLDER_NAME, folder);
    buf_printf(&base_path, "%s/" FOLDER_NAME, base);
    int count = scandir(buf_cstr(&path), &entries, is_ours, by_name);
    if (count < 0 && errno != ENOENT)
        loader_error(loader, buf_cstr(&path), "cannot be read: %s", strerror(errno));
    size_t bytes = path.bytes;
    for (int i = 0; i < count; i++) {
        path.bytes = bytes;
        buf_printf(&path, "/%s", entries[i]->d_name);
        if (ends_with(entries[i]->d_name, FILE_SUFFIX))
            read_file(loader, buf_cstr(&path), buf_cstr(&base_path));
        else
            loader_error(loader, buf_cstr(&path),
                         "only *" FILE_SUFFIX " is read here: rename it");
        free(entries[i]);
    }
    free(entries);
    buf_done(&path);
    buf_done(&base_path);
}

/* $XDG_CONFIG_HOME/pawl/pawl.yaml; false when there is no such place. */
static bool usual_file(const Loader *loader, Buf *out)
{
    const char *config = loader_env(loader, "XDG_CONFIG_HOME");
    const char *home = loader_env(loader, "HOME");
    if (config && config[0] == '/')
        buf_printf(out, "%s/pawl/pawl.yaml", config);
    else if (home)
        buf_printf(out, "%s/.config/pawl/pawl.yaml", home);
    return out->bytes > 0;
}

void loader_read_files(Loader *loader)
{
    Buf path = { 0 };
    Buf base = { 0 };
    struct stat facts;
    bool asked = loader->sources->file != NULL;
    if (asked)
        buf_add_text(&path, loader->sources->file);
    else if (!usual_file(loader, &path))
        return;
    const char *slash = strrchr(buf_cstr(&path), '/');
    size_t folder_bytes = slash ? (size_t)(slash - path.data) : 0;
    Slice folder = slash ? slice_of(path.data, folder_bytes) : SLICE_LITERAL(".");
    Arena *arena = &loader->config->arena;
    if (!slash || path.data[0] != '/')
        buf_printf(&base, "%s/", loader->cwd);
    buf_add_slice(&base, folder);
    const char *kept = slice_cstr(arena, buf_slice(&path));
    if (asked || stat(kept, &facts) == 0 || errno != ENOENT)
        read_file(loader, kept, buf_cstr(&base));
    read_folder(loader, slice_cstr(arena, folder), buf_cstr(&base));
    buf_done(&path);
    buf_done(&base);
}
