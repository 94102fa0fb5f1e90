/* SPDX-License-Identifier: Apache-2.0 */
/* resource.h - scarce things as someone has defined them, and what a job wants of them.
 * The manager that counts one of them is in core/resource.h. */
#ifndef NOUN_RESOURCE_H
#define NOUN_RESOURCE_H

#include "noun/limits.h"
#include "noun/noun.h"

#define RESOURCE_TABLE        "resource" /* of definitions; tenant "" */
#define RESOURCE_QUANTITY_MAX 1000000000000
#define RESOURCE_ITEMS_MAX    10000
#define RESOURCE_ITEM_BYTES   128

typedef enum ResourceKind {
    RESOURCE_QUANTITY,
    RESOURCE_DISCRETE,
    RESOURCE_HIGHLANDER,
} ResourceKind;
#define RESOURCE_KINDS (RESOURCE_HIGHLANDER + 1)

typedef enum ResourceScope {
    SCOPE_NODE,    /* counted by each node for itself */
    SCOPE_CLUSTER, /* counted for all nodes of a store together */
} ResourceScope;

const char *resource_kind_name(ResourceKind kind);
/* Also takes 003's class names: com.enioka.jqm.tools.QuantityResourceManager, ... */
MUST_CHECK Err resource_kind_parse(Slice text, ResourceKind *out_kind);
const char *resource_scope_name(ResourceScope scope);

typedef struct ResourceDef {
    Slice key;
    ResourceKind kind;
    ResourceScope scope;
    int64_t quantity;    /* units of a `quantity` */
    int64_t consumption; /* of a job that says nothing */
    Slice list;          /* items of a `discrete`, each ended by NUL */
} ResourceDef;

extern const Noun resource_noun;

/* 003's defaults: 10 units and 1 of them each; item01 to item10 and none of them. */
ResourceDef resource_default(Slice key, ResourceKind kind);

int64_t resource_capacity(const ResourceDef *def); /* INT64_MAX: has none */

void resource_pack(Buf *out, const ResourceDef *def);
MUST_CHECK Err resource_unpack(Slice packed, ResourceDef *out_def);
ResourceDef resource_copy(Arena *arena, const ResourceDef *def);

/* "a, b" as a list of items; "yes" is the default one. */
MUST_CHECK Err resource_list_parse(Slice text, Arena *arena, Slice *out, Error *why);

/* A parameter of 003: com.enioka.jqm.rm.KIND.KEY.PARAM, ...rm.KEY.PARAM or
 * ...rm.KIND.PARAM. */
typedef struct RmParam {
    bool has_kind;
    ResourceKind kind;
    Slice key;   /* empty: of every manager of the kind */
    Slice param; /* quantity, list, consumption */
} RmParam;
bool rm_param_parse(Slice name, RmParam *out); /* false: it is no such name */

/* How exact a spelling is: of two for the same manager the larger counts. */
int rm_param_rank(const RmParam *param);

#endif
