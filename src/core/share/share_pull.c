/* SPDX-License-Identifier: Apache-2.0 */
/* share_pull.c - jobs for pull workers that another node has; see share.h.
 *
 * Workers ask whichever node they like. One whose claims wait writes to the nodes that
 * say they have such jobs, in turn, and what they give it waits in its own lanes from
 * then on. The longer nothing comes of it, the less often it asks: what the others have
 * may be for other workers. */
#include "core/share/share_state.h"

#define ASK_MIN_MS 200
#define ASK_MAX_MS (2 * MS_PER_S)
#define WISHES_MAX                                                                       \
    16 /* that are told at once; the rest has its turn when they are met                 \
        */

/* What several claims want alike. */
typedef struct WishSum {
    const Claim *claim;
    uint64_t count;
} WishSum;

void node_share_pull_heard(Node *node)
{
    Share *share = node->share;
    uint64_t all = 0;
    for (size_t i = 0; i < share->peer_count; i++)
        if (share->peers[i].number != node->options.number)
            all += share->peers[i].facts.pull;
    if (all != share->pull_seen)
        share->pull_boot = share->pull_wait_ms = 0;
    share->pull_seen = all;
}

static bool alike(const Claim *a, const Claim *b)
{
    return slice_equal(a->tenant, b->tenant) &&
           slice_equal(a->ask.queues, b->ask.queues) &&
           slice_equal(a->ask.types, b->ask.types);
}

static size_t sum_wishes(const Node *node, WishSum sums[WISHES_MAX])
{
    size_t count = 0;
    for (const Claim *claim = node->claims; claim; claim = claim->next) {
        size_t at = 0;
        while (at < count && !alike(sums[at].claim, claim))
            at++;
        if (at == WISHES_MAX)
            continue;
        if (at == count)
            sums[count++] = (WishSum){ .claim = claim };
        sums[at].count += claim->max;
    }
    return count;
}

static const Peer *next_giver(Node *node)
{
    Share *share = node->share;
    for (size_t i = 0; i < share->peer_count; i++) {
        const Peer *peer = &share->peers[(share->pull_turn + i) % share->peer_count];
        if (peer->number == node->options.number || !peer_alive(peer) ||
            !peer->facts.pull)
            continue;
        share->pull_turn = (share->pull_turn + i + 1) % share->peer_count;
        return peer;
    }
    return NULL;
}

static bool may_ask(const Node *node)
{
    return node->claims && node->settings.enabled && !node->draining && !node->no_room &&
           node->now.boot_ms >= node->share->pull_boot && node_share_may_start(node);
}

void node_share_pull_ask(Node *node)
{
    Share *share = node->share;
    const Peer *peer = may_ask(node) ? next_giver(node) : NULL;
    if (!peer)
        return;
    WishSum sums[WISHES_MAX];
    size_t count = sum_wishes(node, sums);
    for (size_t i = 0; i < count; i++) {
        const Claim *claim = sums[i].claim;
        node_share_mail(node, peer->number,
                        &(NodeMessage){ .kind = MESSAGE_PULL,
                                        .count = sums[i].count,
                                        .tenant = claim->tenant,
                                        .queues = claim->ask.queues,
                                        .types = claim->ask.types });
    }
    share->pull_wait_ms = share->pull_wait_ms ? share->pull_wait_ms * 2 : ASK_MIN_MS;
    if (share->pull_wait_ms > ASK_MAX_MS)
        share->pull_wait_ms = ASK_MAX_MS;
    share->pull_boot = node->now.boot_ms + share->pull_wait_ms;
    share->busy_boot = node->now.boot_ms + MS_PER_S;
}

static bool gives(Node *node, const Lane *lane)
{
    return !lane->shut && lane_count(lane) && node_share_may_give(node, lane_first(lane));
}

uint64_t node_share_pull_spare(Node *node)
{
    uint64_t spare = 0;
    MapEntry entry;
    for (size_t at = 0; map_next(&node->pull_tenants, &at, &entry);) {
        const PullTenant *tenant = entry.value;
        for (size_t i = 0; i < tenant->count; i++)
            if (gives(node, tenant->lanes[i].lane))
                spare += lane_count(tenant->lanes[i].lane);
    }
    return spare;
}

/* What a letter asks for, as this node calls it. */
typedef struct Asking {
    PullTenant *tenant; /* NULL: it has nothing of that one */
    Wanted queues;
    Wanted types;
} Asking;

static Asking asking_of(const Node *node, const NodeMessage *text)
{
    uint32_t number = names_find(&node->names, text->tenant);
    return (Asking){ .tenant = number ? map_find(&node->pull_tenants, number) : NULL,
                     .queues = wanted_of(node, text->queues),
                     .types = wanted_of(node, text->types) };
}

/* Lanes that have something for it; how many jobs those are. */
static uint64_t givers(Node *node, const Asking *asking, Lane **lanes, size_t *out_count)
{
    uint64_t ready = 0;
    *out_count = 0;
    for (size_t i = 0; i < asking->tenant->count; i++) {
        Lane *lane = asking->tenant->lanes[i].lane;
        if (!gives(node, lane) || !wants(&asking->queues, lane->queue) ||
            !wants(&asking->types, lane->type))
            continue;
        lanes[(*out_count)++] = lane;
        ready += lane_count(lane);
    }
    return ready;
}

/* One of each lane in turn, and at most half of what is there. */
void node_share_pull_give(Node *node, uint32_t to, const NodeMessage *text)
{
    const Asking asking = asking_of(node, text);
    if (!asking.tenant)
        return;
    Lane **lanes = MEM_ARRAY(Lane *, asking.tenant->count + 1);
    size_t count;
    uint64_t half = (givers(node, &asking, lanes, &count) + 1) / 2;
    uint64_t most = half < text->count ? half : text->count;
    Buf ids = { 0 };
    for (uint64_t given = 0; given < most && count;) {
        for (size_t i = 0; i < count && given < most; i++, given++)
            node_share_give_head(node, lanes[i], to, &ids);
        givers(node, &asking, lanes, &count); /* an empty one may be gone */
    }
    node_share_tell_given(node, to, &ids);
    buf_done(&ids);
    mem_free(lanes);
}
