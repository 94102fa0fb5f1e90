/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h - what the parts of the loader share: config.c reads what stands in
 * texts, file.c what stands in files. */
#ifndef CONFIG_LOADER_H
#define CONFIG_LOADER_H

#include "config/config.h"
#include "config/yaml.h"

#define CONFIG_ERRORS_MAX 100 /* a file of another kind is not listed line by line */

typedef struct Loader {
    const ConfigSources *sources;
    Config *config;
    const char *cwd;
    Buf lines; /* the errors */
    size_t errors;
    Error first;
} Loader;

/* Where a text stands. */
typedef struct Place {
    const char *text;   /* the origin it gives; lives as long as the config's arena */
    const char *folder; /* relative paths are below it */
    bool names_key;     /* the place itself says which key it is */
} Place;

/* "path:line:column", kept with the config because it may become an origin. */
const char *loader_place(Loader *loader, const char *path, const YamlNode *node);

/* Adds an error; true while there is room for more. */
bool loader_error(Loader *loader, const char *place, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Gives a key its value, or adds an error. */
void loader_set(Loader *loader, ConfigKey key, Slice text, Place place);

/* "; did you mean ...?" or nothing, or what there is, for a word not in `words`. */
void loader_suggest(Slice word, const char *const *words, Buf *out);

/* The section is one that only later versions know. */
bool loader_later_section(Slice section);

/* Names of all sections, later ones included, or the keys of one; ended by NULL. */
#define LOADER_WORDS_MAX 32
void loader_words(const char *section, const char *words[LOADER_WORDS_MAX]);

/* A section of definitions: its items go to the end of config->declared. */
void loader_declare(Loader *loader, const char *path, const DeclareSection *section,
                    const YamlNode *body);

/* The file, then pawl.d. */
void loader_read_files(Loader *loader);

/* Value of a variable in the sources, or NULL when it is unset or empty. */
const char *loader_env(const Loader *loader, const char *name);

#endif
