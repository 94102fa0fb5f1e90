/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - one field of a noun, said once, and the noun: the table of its fields.
 *
 * A row says a field's name outside, where it lies in the struct and in packed bytes,
 * its type, its limits, who may set it, what it means. From it come packing
 * (base/fields.h), JSON both ways, PATCH, the schema of the API description and the
 * option of the command line. A row without a name is only packed. */
#ifndef NOUN_TYPES_H
#define NOUN_TYPES_H

#include "base/fields.h"
#include "base/json_out.h"
#include "noun/problem.h"
#include "json/json_in.h"

#include <stddef.h>

typedef enum FieldType {
    AS_TEXT,     /* one line of at most `most` bytes; empty is null */
    AS_LONG,     /* UTF-8 of at most `most` bytes without NUL; empty is null */
    AS_NAME,     /* name_valid(); empty is null */
    AS_QUEUE,    /* queue_name_valid(); empty is null */
    AS_DURATION, /* ms; 0 is null, so that an explicit zero becomes 1 */
    AS_WINDOW,   /* as a duration; negative is "none": without an end */
    AS_TIME,     /* ms since 1970; 0 is null */
    AS_COUNT,    /* an integer from `least` to `most`; null where `has` says so */
    AS_BOOL,     /* true or false */
    AS_NOT,      /* the member says the opposite */
    AS_FLAG,     /* the bit `most` of a uint32_t */
    AS_LIST,     /* texts, each ended by NUL; at most `most` of them */
    AS_PAIRS,    /* NAME=VALUE, each ended by NUL, shown as an object of texts */
    AS_AMOUNTS,  /* the same with numbers as values */
    AS_ENUM,     /* the index of one of `words` */
    AS_ID,       /* of a job; 0 is null */
    AS_TENANT,   /* stands in the path too: the tenant, or */
    AS_OWN_NAME, /* ... the name; must be the same when it is sent */
    AS_CUSTOM,   /* by its hooks */
    AS_FACT,     /* not in the struct: whoever shows the noun writes it */
} FieldType;

/* What is done with a field. */
enum {
    USE_SENT = 1 << 0,     /* a client may set it */
    USE_SHOWN = 1 << 1,    /* it stands in answers */
    USE_PATCHED = 1 << 2,  /* PATCH may change it: for nouns that say it field by field */
    USE_NUMERIC = 1 << 3,  /* AS_COUNT: a number in quotes is taken too */
    USE_REQUIRED = 1 << 4, /* a new one must have it */
    USE_SECRET = 1 << 5,   /* not in the audit trail */
    USE_ALWAYS = 1 << 6,   /* AS_TEXT and the like: shown as "" when it is empty */
};
#define USE_BOTH (USE_SENT | USE_SHOWN)

typedef struct Field Field;
typedef struct NounIn NounIn;
typedef struct NounView NounView;

/* What a type of its own does. Any of them may be NULL. */
typedef struct FieldHooks {
    Err (*read)(NounIn *in, const Field *field, const JsonIn *value);
    void (*write)(JsonOut *json, const Field *field, const NounView *view);
    void (*clear)(void *object);               /* gives the default back */
    Err (*check_item)(NounIn *in, Slice item); /* AS_LIST: one of them */
} FieldHooks;

struct Field {
    const char *name; /* outside; NULL: only packed */
    FieldRow stored;  /* tag 0: not packed */
    FieldType type;
    unsigned use;
    int64_t least;
    int64_t most;
    size_t has;               /* HAS() of the bool that says it is set; 0: none */
    const char *const *words; /* AS_ENUM, ended by NULL */
    const FieldHooks *hooks;
    const char *schema;  /* AS_CUSTOM, AS_FACT: JSON Schema without its braces */
    const char *option;  /* on the command line, without dashes; NULL: none */
    const char *meaning; /* one line, for the API description and the reference */
};

/* Tag, member and kind of a row; and of one that has a bool beside it. */
#define STORED(type, tag, member, kind)                                                  \
    {                                                                                    \
        (tag), offsetof(type, member), (kind)                                            \
    }
#define HAS(type, member) (offsetof(type, member) + 1)
#define NOT_STORED                                                                       \
    {                                                                                    \
        0, 0, FIELD_64                                                                   \
    }

#define NOUN_FIELDS_MAX 128

typedef struct Noun {
    const char *name;    /* "queue" */
    const char *a;       /* "a queue", for sentences */
    const char *plural;  /* "queues": in paths */
    const char *section; /* of the configuration file; NULL: it cannot stand there */
    const char *table;   /* of definitions */
    const char *missing; /* code of the problem that there is none */
    const Field *fields;
    size_t count;
    size_t bytes;         /* of the struct */
    const void *defaults; /* NULL: all zero */
    const Fields *stored;
    const char *more_schema; /* of what it takes besides; JSON members, or NULL */
    bool (*name_valid)(Slice name);
    bool tenants;   /* belongs to a tenant; else to all of them */
    bool own;       /* in a file: of the node that has it, not of all of the store */
    bool undefined; /* there without a definition: PATCH makes one */
    bool read_only; /* a field that only the daemon sets is refused, not passed over */
    /* What is true before the fields are read: replaces the object that is read, or
     * gives defaults that depend on it. May be NULL. */
    Err (*begin)(NounIn *in, const JsonIn **object);
    /* Whether it makes sense as a whole. May be NULL. */
    Err (*check)(NounIn *in);
} Noun;

/* One object on its way in. */
struct NounIn {
    const Noun *noun;
    void *object; /* begins as the defaults, or as what is patched */
    Slice tenant; /* that the path names */
    Slice name;
    Arena *arena;
    Problem *why;
    bool patch; /* null is the default; what is not named stays */
    uint64_t seen[NOUN_FIELDS_MAX / 64];
    /* A member that the table does not know; NULL: it is refused. */
    Err (*other)(NounIn *in, const JsonIn *member);
    void *context; /* of other() and of hooks */
};

/* One object on its way out. */
struct NounView {
    const Noun *noun;
    const void *object;
    Slice tenant;
    Slice name;
    bool audit; /* without secrets */
};

#endif
