/* SPDX-License-Identifier: Apache-2.0 */
/* declare_apply.h - the definitions of the configuration file, put into the store.
 *
 * What was applied is itself a definition (table DECLARED_TABLE, key `table name`, the
 * packed value), written in the same turn: the next start sees which ones are new, which
 * have changed and which have left the file. A definition that stands in the file cannot
 * be changed by an API call; switches (enable, pause) can be turned.
 *
 * Nodes that share a store have a file each. Their marks carry who wrote them (key
 * `@sysid table name`): a definition goes when it has left the last file that had it. */
#ifndef ENGINE_DECLARE_APPLY_H
#define ENGINE_DECLARE_APPLY_H

#include "config/declare.h"
#include "core/event.h"
#include "store/store.h"

#define DECLARED_TABLE "declared"

typedef struct Declares Declares;

Declares *declares_new(void);
void declares_free(Declares *declares);

/* On a store of several nodes: whose marks are ours, and whose definitions those are that
 * are a node's own. They stand under it as their tenant, and those of others are none of
 * ours. Before all else. */
void declares_home(Declares *declares, Slice sysid);

/* What the store holds of DECLARED_TABLE: a DefinitionSink, before the first turn. */
void declares_stored(void *declares, const Definition *definition);

/* Another node has written or removed (value without data) a mark. Loop thread. */
void declares_heard(Declares *declares, const Definition *mark);

/* A definition of RETIRED_NODES_TABLE (retired_nodes.h): marks of such a node hold
 * nothing. A DefinitionSink; loop thread. */
void declares_gone(void *declares, const Definition *definition);

/* What the file says from now on; everything is copied. */
void declares_set(Declares *declares, const Declared *first);

/* There are changes that declares_changes() has not told yet. Loop thread. */
bool declares_pending(const Declares *declares);

/* Tells what has to be defined: value without data deletes. The slices live until the
 * next declares_set(). Loop thread. */
typedef struct DeclareChange {
    Slice table;
    Slice tenant;
    Slice name;
    Slice value;
    bool mark_only; /* the definition stays as it is: another file has it too */
} DeclareChange;
typedef void DeclareSink(void *context, const DeclareChange *change);
void declares_changes(Declares *declares, DeclareSink *sink, void *context);

/* The key of the mark of a change. */
void declares_mark(const Declares *declares, const DeclareChange *change, Buf *out);

/* Whether the file has it, or that of another node of the store. Any thread. */
bool declares_has(Declares *declares, Slice table, Slice tenant, Slice name);

#endif
