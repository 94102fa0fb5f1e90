/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours.c - see neighbours.h. */
#include "cluster/neighbours.h"

#include "base/mem.h"

#include <stdio.h>

void neighbours_hear(Neighbours *neighbours, const Peer *peers, size_t count,
                     uint32_t own)
{
    neighbours_done(neighbours);
    neighbours->list = MEM_ARRAY(Neighbour, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (peers[i].number == own)
            continue;
        Neighbour *neighbour = &neighbours->list[neighbours->count++];
        *neighbour = (Neighbour){ .number = peers[i].number,
                                  .epoch = peers[i].epoch,
                                  .alive = peer_alive(&peers[i]),
                                  .fenced = peers[i].fenced,
                                  .ids = peers[i].facts.ids,
                                  .settled = peers[i].facts.settled };
        snprintf(neighbour->sysid, sizeof neighbour->sysid, SLICE_FMT,
                 SLICE_ARG(peers[i].sysid));
    }
}

void neighbours_done(Neighbours *neighbours)
{
    mem_free(neighbours->list);
    *neighbours = (Neighbours){ 0 };
}

const Neighbour *neighbour_numbered(const Neighbours *neighbours, uint32_t number)
{
    for (size_t i = 0; i < neighbours->count; i++)
        if (neighbours->list[i].number == number)
            return &neighbours->list[i];
    return NULL;
}

const Neighbour *neighbour_named(const Neighbours *neighbours, Slice sysid)
{
    for (size_t i = 0; i < neighbours->count; i++)
        if (slice_is(sysid, neighbours->list[i].sysid))
            return &neighbours->list[i];
    return NULL;
}
