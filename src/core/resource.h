/* SPDX-License-Identifier: Apache-2.0 */
/* resource.h - scarce things, and the manager that counts one of them.
 *
 * A manager gives one of three answers (S3.13): booked, not enough, exhausted. Three
 * kinds: `quantity` counts units, `discrete` gives out items by name, `highlander` lets
 * at most one job of a type run. What is booked is written down as text, so that it can
 * be kept with the attempt and counted again after a restart:
 *     KEY=#3     three units          KEY=a,b    the items a and b
 * What must hold (resource_check):
 *   R1  used = units or items booked and not released; an item has one holder.
 *   R2  nothing is booked beyond what is there; only a smaller definition, which keeps
 *       its bookings, can leave more in use than there is. */
#ifndef CORE_RESOURCE_H
#define CORE_RESOURCE_H

#include "base/buf.h"
#include "base/map.h"

#include <stdint.h>

#define RESOURCE_TABLE        "resource" /* of definitions; tenant "" */
#define RESOURCE_QUANTITY_MAX 1000000000000
#define RESOURCE_ITEMS_MAX    10000
#define RESOURCE_ITEM_BYTES   128
#define RESOURCES_PER_JOB     32 /* that a job, a handler or a queue may name */

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

/* 003's defaults: 10 units and 1 of them each; item01 to item10 and none of them. */
ResourceDef resource_default(Slice key, ResourceKind kind);

int64_t resource_capacity(const ResourceDef *def); /* INT64_MAX: has none */

void resource_pack(Buf *out, const ResourceDef *def);
MUST_CHECK Err resource_unpack(Slice packed, ResourceDef *out_def);
ResourceDef resource_copy(Arena *arena, const ResourceDef *def);

/* --- What a job wants: KEY=AMOUNT or *KIND=AMOUNT, each ended by NUL -----------------
 */

/* The amount that a list says for this manager, the key before the kind. False: it says
 * nothing. */
bool wants_find(Slice wants, const ResourceDef *def, int64_t *out_amount);

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

/* --- A manager at work ----------------------------------------------------------------
 */

typedef enum ResourceAnswer {
    RESOURCE_BOOKED,     /* "go for it" */
    RESOURCE_NOT_ENOUGH, /* "not enough, but not empty" */
    RESOURCE_EXHAUSTED,  /* "empty" */
} ResourceAnswer;

typedef struct Resource {
    Arena arena;
    ResourceDef def;
    int64_t used;
    Slice *items;
    bool *taken; /* by item */
    size_t item_count;
    Map types; /* highlander: whose -> how many run (never 0) */
} Resource;

/* Nothing is in use after it: the caller counts again what is held. */
void resource_define(Resource *resource, const ResourceDef *def);
void resource_done(Resource *resource);

int64_t resource_free(const Resource *resource); /* units or items left; never < 0 */

/* `whose` is the type of the job, as a number that is not 0. */
ResourceAnswer resource_ask(const Resource *resource, int64_t amount, uint64_t whose);

/* resource_ask said yes. Adds "KEY=...", NUL, to *out unless nothing is taken. */
void resource_book(Resource *resource, int64_t amount, uint64_t whose, Buf *out);

/* A booking that exists is counted, or given back; value is what stands behind KEY=. */
void resource_hold(Resource *resource, Slice value, uint64_t whose);
void resource_release(Resource *resource, Slice value, uint64_t whose);

/* How much of this manager a booking's value takes. */
int64_t booking_amount(Slice value);

/* Whether it names items (and not an amount). */
static inline bool booking_has_items(Slice value)
{
    return value.bytes && value.data[0] != '#';
}

void resource_check(const Resource *resource);

#endif
