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
#include "noun/resource.h"

/* --- What a job wants: KEY=AMOUNT or *KIND=AMOUNT, each ended by NUL -----------------
 */

/* The amount that a list says for this manager, the key before the kind. False: it says
 * nothing. */
bool wants_find(Slice wants, const ResourceDef *def, int64_t *out_amount);

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
