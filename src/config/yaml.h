/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.h - a YAML text as a tree in which every node knows its place.
 *
 * Only what a configuration needs: one document of mappings, lists and scalars. Anchors,
 * aliases and tags are refused, so a small text is never a large tree. Scalars stay
 * text: what a word means is decided by who asks for it, so `no` and `08` surprise
 * nobody. */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include "base/err.h"
#include "base/slice.h"

typedef enum YamlKind {
    YAML_TEXT,
    YAML_LIST,
    YAML_MAP,
} YamlKind;

typedef struct YamlNode YamlNode;
struct YamlNode {
    YamlKind kind;
    unsigned line; /* both from 1; columns are characters */
    unsigned column;
    Slice text;    /* TEXT */
    bool null;     /* TEXT: nothing, ~ or null, not in quotes */
    bool plain;    /* TEXT: not in quotes, no block: a number or a switch may be meant */
    YamlNode *key; /* inside a map: always a TEXT */
    YamlNode *first; /* LIST, MAP */
    YamlNode *next;
};

#define YAML_DEPTH_MAX   16 /* the deepest key of any version has 4 */
#define YAML_FAULT_BYTES 200

typedef struct YamlFault {
    unsigned line;
    unsigned column;
    char text[YAML_FAULT_BYTES];
} YamlFault;

/* The tree lives in the arena. *out_root is NULL for a text without a document. */
MUST_CHECK Err yaml_read(Slice text, Arena *arena, YamlNode **out_root, YamlFault *why);

/* "a list", "a mapping", "nothing" or "a single value". */
const char *yaml_kind_name(const YamlNode *node);

#endif
