/* SPDX-License-Identifier: Apache-2.0 */
/* read_barrier.c - see read_barrier.h. */
#include "engine/read_barrier.h"

/* What is heard was said up to this many sayings ago: one may be on its way to the store,
 * one packed, and one waits to be. */
#define CHANGES_OLD 4

/* An id that was never given out may lie ahead of all that the node counts. But whatever
 * it had accepted before the first look is below what it said after it. */
static bool passed_bar(Settling *settling, const Neighbour *neighbour)
{
    if (neighbour->ids != settling->said) {
        settling->said = neighbour->ids;
        settling->changes++;
    }
    if (!settling->bar && settling->changes > CHANGES_OLD)
        settling->bar = neighbour->ids;
    return settling->bar && neighbour->settled >= settling->bar;
}

Settled settle_judge(Settling *settling, const Neighbours *neighbours)
{
    const Neighbour *neighbour = neighbour_numbered(neighbours, id_node(settling->id));
    if (!neighbour || neighbour->settled > id_count(settling->id))
        return SETTLED;
    if (!neighbour->ids)
        return SETTLED; /* of a version that does not say */
    if (!neighbour->alive)
        return SETTLED_NO_ONE;
    return passed_bar(settling, neighbour) ? SETTLED : SETTLED_NOT_YET;
}
