/* SPDX-License-Identifier: Apache-2.0 */
/* route.c - see route.h. */
#include "pipeline/forward/route.h"

#include "pipeline/forward/divide.h"
#include "pipeline/forward/peers.h"
#include "pipeline/pipeline.h"
#include "pipeline/processor/processor.h"

#include <string.h>

bool way_elsewhere(const Pipeline *pipeline, const Place *place)
{
    return place->kind == PLACE_LOCAL && place->node.bytes &&
           !slice_is(place->node, pipeline_options(pipeline)->sysid);
}

static Processor *processor_here(const Pipeline *pipeline, const Place *place)
{
    Processor *to = pipeline_find(pipeline, place->path);
    return to && to->open ? to : NULL;
}

/* By the address that its node has published. */
static void way_by_rsync(const PeerPlace *there, const Place *place, Way *out)
{
    if (place_parse(there->address, &out->place, &out->why))
        return;
    memcpy(out->place.key, place->key, sizeof out->place.key);
    out->kind = WAY_JOB;
}

static void way_to_node(const Pipeline *pipeline, const Place *place, Way *out)
{
    const Peers *peers = pipeline_peers(pipeline);
    PeerPlace *there = peers_place(peers, place->node, place->path);
    if (!peers_node(peers, place->node)) {
        error_set(&out->why, ERR_NOT_FOUND,
                  "no node " SLICE_FMT " shares the store of this one (%s)",
                  SLICE_ARG(place->node), pipeline_options(pipeline)->sysid);
    } else if (!there) {
        error_set(&out->why, ERR_NOT_FOUND,
                  "there is no such processor on node " SLICE_FMT,
                  SLICE_ARG(place->node));
    } else if (peers_seen(there, clock_now().boot_ms)) {
        out->kind = WAY_DIR;
        out->dir = there->dir;
    } else {
        way_by_rsync(there, place, out);
    }
}

void way_to(const Pipeline *pipeline, const Place *place, Way *out)
{
    *out = (Way){ .kind = WAY_NONE };
    if (place->kind != PLACE_LOCAL) {
        out->kind = WAY_JOB;
        out->place = *place;
        return;
    }
    if (way_elsewhere(pipeline, place)) {
        way_to_node(pipeline, place, out);
        return;
    }
    out->here = processor_here(pipeline, place);
    if (!out->here) {
        error_set(&out->why, ERR_NOT_FOUND, "there is no such processor on this node");
        return;
    }
    out->kind = WAY_HERE;
    out->dir = slice_text(out->here->buckets.dir);
}

bool way_carries(const Pipeline *pipeline, const Place *place)
{
    Way way;
    if (place->kind != PLACE_LOCAL || !way_elsewhere(pipeline, place))
        return place->kind == PLACE_LOCAL;
    way_to(pipeline, place, &way);
    return way.kind != WAY_JOB;
}

bool way_lost(const Pipeline *pipeline, const Place *place)
{
    if (!way_elsewhere(pipeline, place))
        return false;
    const PeerNode *node = peers_node(pipeline_peers(pipeline), place->node);
    return !node || !node->alive;
}

int64_t way_load(const Pipeline *pipeline, const Place *place)
{
    if (place->kind != PLACE_LOCAL)
        return 0;
    if (way_elsewhere(pipeline, place)) {
        const PeerNode *node = peers_node(pipeline_peers(pipeline), place->node);
        int64_t load = node ? peers_load(node, place->path) : 0;
        return way_lost(pipeline, place) ? DIVIDE_DOWN : load > 0 ? load : 0;
    }
    Processor *to = processor_here(pipeline, place);
    if (!to)
        return DIVIDE_DOWN;
    return bucket_guess(&to->buckets, IN_WORK, clock_now().boot_ms) +
           (int64_t)to->unit_count;
}
