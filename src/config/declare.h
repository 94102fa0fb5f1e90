/* SPDX-License-Identifier: Apache-2.0 */
/* declare.h - definitions that stand in the configuration file.
 *
 * A section such as `handlers:` is a list of mappings with names. Each kind of definition
 * is one row of declare_sections(); its read() makes of an item what an API call would
 * put into the store. All of them are checked when the file is read, with their places,
 * and applied by declare_apply.h at the start and at each reload. */
#ifndef CONFIG_DECLARE_H
#define CONFIG_DECLARE_H

#include "base/buf.h"
#include "noun/noun.h"

/* One item on its way from the file into a definition. */
typedef struct Declaring {
    Slice tenant; /* "" in sections without tenants */
    Slice name;
    const JsonIn *object; /* the item without `tenant` and `name` */
    Arena *arena;
    Problem why; /* read() says in it what is wrong; its pointer finds the line */
} Declaring;

typedef struct DeclareSection {
    const Noun *noun; /* its section, its table, how its names are checked */
    /* Adds the packed value of an EVENT_DEFINE; never nothing. */
    Err (*read)(const Noun *noun, Declaring *, Buf *);
} DeclareSection;

/* What this version can declare, in the order in which it is applied; ended by a row
 * without a noun. */
const DeclareSection *declare_sections(void);

/* NULL: no such section. `sections` as declare_sections() gives them, or NULL. */
const DeclareSection *declare_section_find(const DeclareSection *sections, Slice name);

typedef struct Declared Declared;
struct Declared {
    Declared *next; /* in the order of the files */
    const DeclareSection *section;
    Slice tenant;
    Slice name;
    Slice value;       /* packed */
    Slice text;        /* as JSON, for people */
    const char *place; /* file:line:column */
};

#endif
