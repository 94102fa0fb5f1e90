/* SPDX-License-Identifier: Apache-2.0 */
/* definitions.h - list, get, put, patch and delete of everything that is defined under a
 * name: queues, resources, schedules, tenants, handlers, alert rules.
 *
 * The noun says which fields there are (noun/noun.h). A DefinitionKind says what else is
 * told about one of them, and where that comes from. */
#ifndef API_DEFINITIONS_DEFINITIONS_H
#define API_DEFINITIONS_DEFINITIONS_H

#include "api/common.h"
#include "base/map.h"
#include "noun/noun.h"

typedef struct DefinitionKind DefinitionKind;
typedef struct DefinitionView DefinitionView;

/* One of them, while an answer is written. */
typedef struct DefinitionRow {
    Slice name;
    void *object; /* of the noun; its defaults if no one has defined it */
    void *facts;  /* kind->facts_bytes, zero at first */
    bool defined;
} DefinitionRow;

struct DefinitionKind {
    const Noun *noun;
    size_t facts_bytes;
    /* Reads one object; NULL: noun_read(). in->context is the DefinitionView. */
    Err (*read)(NounIn *in, const JsonIn *object);
    /* Adds facts to the rows of the table, and with `adds` more rows. May be NULL. */
    void (*gather)(Call *call, Store *store, DefinitionView *view);
    bool adds;
    /* Finds the rows in the node instead of the store. May be NULL. */
    void (*look)(Call *call, Daemon *daemon, DefinitionView *view);
    /* The members of AS_FACT but `declared`. May be NULL. */
    void (*facts)(JsonOut *json, DefinitionView *view, DefinitionRow *row);
    /* Whether it only marks that there was one. May be NULL. */
    bool (*is_mark)(const void *object);
    bool empty;  /* no body stands for {} */
    bool unsure; /* the node does not say whether it was there: it is asked first */
};

/* What a request is about: exchange->state. */
struct DefinitionView {
    const DefinitionKind *kind;
    Exchange *exchange;
    Slice tenant; /* of nouns without tenants: data NULL */
    Slice name;   /* data NULL: all of them */
    ListPage page;
    unsigned status; /* of a good answer */
    bool ok;         /* the answer says so first (founding paths) */
    bool plain;      /* no 201 (founding paths) */
    bool only_switch;
    void *put;          /* the object that is on its way in */
    const JsonIn *body; /* of a PATCH */
    void *context;      /* of the kind */
    void *found;        /* its facts, after definition_find() */
    uint64_t current;   /* hash of what is there; 0: nothing */
    Step *then;         /* after the definition */

    /* Of the call under way. */
    Arena *arena;
    const Node *node; /* look() only */
    JsonOut json;
    DefinitionRow *rows;
    size_t count;
    size_t capacity;
    Names names; /* of the rows: number n is rows[n - 1] until they are sorted */
    size_t bytes;
    bool more;
};

/* For the routes. */
void definitions_list(Exchange *exchange, const DefinitionKind *kind);
void definition_get(Exchange *exchange, const DefinitionKind *kind);
void definition_put(Exchange *exchange, const DefinitionKind *kind);
void definition_patch(Exchange *exchange, const DefinitionKind *kind);
void definition_delete(Exchange *exchange, const DefinitionKind *kind);

/* For gather() and look(): the row of a name, made if need be; NULL: the request is not
 * about it. */
DefinitionRow *definition_row(DefinitionView *view, Slice name);
/* Gives it the object that was defined. */
void definition_set(DefinitionView *view, Slice name, const void *object);
bool definition_concerns(const DefinitionView *view, Slice tenant, Slice name);

/* For more routes of a kind. NULL after it refused; name without data: all. */
DefinitionView *definition_view(Exchange *exchange, const DefinitionKind *kind,
                                Slice name);
DefinitionView *definition_view_of(Exchange *exchange, const DefinitionKind *kind,
                                   Slice tenant, Slice name);

/* Reads it with its facts: view->found, and view->put unless that is set. A call that
 * failed: there is none. */
void definition_find(Exchange *exchange, Step *then);

/* Answers with what is there now. */
void definition_show(Exchange *exchange);

/* The same as the step after a call that changed it, with 201 if it is new. */
void definition_changed(Exchange *exchange, Call *call);

/* Defines `object` (NULL: it is deleted), then goes on with `then`. */
void definition_define(Exchange *exchange, const void *object, Step *then);

/* One object of the kind that has no facts. */
void definition_write(JsonOut *json, const DefinitionView *view, Slice name,
                      const void *object);

/* The answer to a delete. */
void definition_deleted(Exchange *exchange, Call *call);

/* Reads the body into view->put. False after it refused. */
bool definition_read(Exchange *exchange, const JsonIn *body);

#endif
