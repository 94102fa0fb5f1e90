/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - see peers.h. */
#include "pipeline/forward/peers.h"

#include "base/text.h"
#include "base/times.h"
#include "pipeline/processor/bucket.h"

#include <fcntl.h>
#include <unistd.h>

#define LOOK_MS  (2 * MS_PER_S)
#define ID_BYTES 512

PeersNews *peers_news(PeersKind kind)
{
    PeersNews *news = MEM_NEW(PeersNews);
    news->kind = kind;
    return news;
}

void peers_news_node(PeersNews *news, const PeerNode *node)
{
    MEM_PUSH(news->nodes, news->count, news->capacity) =
        (PeerNode){ .sysid = slice_copy(&news->arena, node->sysid),
                    .alive = node->alive,
                    .fenced = node->fenced,
                    .loads = slice_copy(&news->arena, node->loads) };
}

void peers_news_free(PeersNews *news)
{
    if (!news)
        return;
    arena_done(&news->arena);
    mem_free(news->nodes);
    mem_free(news);
}

static void place_free(PeerPlace *place)
{
    arena_done(&place->arena);
    mem_free(place);
}

static void put_place(Peers *peers, const PeerPlace *from)
{
    size_t at = 0;
    while (at < peers->count && !(slice_equal(peers->places[at]->node, from->node) &&
                                  slice_equal(peers->places[at]->name, from->name)))
        at++;
    if (at < peers->count) {
        place_free(peers->places[at]);
        peers->places[at] = peers->places[--peers->count];
    }
    if (!from->dir.bytes)
        return;
    PeerPlace *place = MEM_NEW(PeerPlace);
    place->node = slice_copy(&place->arena, from->node);
    place->name = slice_copy(&place->arena, from->name);
    place->dir = slice_copy(&place->arena, from->dir);
    place->address = slice_copy(&place->arena, from->address);
    MEM_PUSH(peers->places, peers->count, peers->capacity) = place;
}

void peers_take(Peers *peers, PeersNews *news)
{
    if (news->kind == PEERS_PLACE) {
        put_place(peers, &news->place);
        peers_news_free(news);
        return;
    }
    int64_t boot_ms = clock_now().boot_ms;
    for (size_t i = 0; i < news->count; i++) {
        const PeerNode *before = peers_node(peers, news->nodes[i].sysid);
        bool same = before && before->alive == news->nodes[i].alive &&
                    before->fenced == news->nodes[i].fenced;
        news->nodes[i].boot = same ? before->boot : boot_ms;
    }
    peers_news_free(peers->nodes);
    peers->nodes = news;
}

void peers_done(Peers *peers)
{
    peers_news_free(peers->nodes);
    for (size_t i = 0; i < peers->count; i++)
        place_free(peers->places[i]);
    mem_free(peers->places);
    *peers = (Peers){ 0 };
}

const PeerNode *peers_node(const Peers *peers, Slice sysid)
{
    for (size_t i = 0; peers->nodes && i < peers->nodes->count; i++)
        if (slice_equal(peers->nodes->nodes[i].sysid, sysid))
            return &peers->nodes->nodes[i];
    return NULL;
}

PeerPlace *peers_place(const Peers *peers, Slice sysid, Slice name)
{
    for (size_t i = 0; i < peers->count; i++)
        if (slice_equal(peers->places[i]->node, sysid) &&
            slice_equal(peers->places[i]->name, name))
            return peers->places[i];
    return NULL;
}

int64_t peers_load(const PeerNode *node, Slice name)
{
    for (Slice rest = node->loads; rest.bytes;) {
        Slice line = slice_cut(&rest, '\n');
        Slice word = slice_cut(&line, ' ');
        int64_t units = 0;
        if (slice_equal(word, name))
            return int_parse(line, &units) ? -1 : units;
    }
    return -1;
}

bool peers_seen(PeerPlace *place, int64_t boot_ms)
{
    Buf path = { 0 };
    Buf id = { 0 };
    char text[ID_BYTES];
    if (place->looked_boot && boot_ms - place->looked_boot < LOOK_MS)
        return place->seen;
    buf_printf(&path, SLICE_FMT "/" OWN_DIR "/" PEERS_ID_FILE, SLICE_ARG(place->dir));
    buf_printf(&id, SLICE_FMT ":" SLICE_FMT, SLICE_ARG(place->node),
               SLICE_ARG(place->name));
    int fd = open(buf_cstr(&path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t bytes = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0)
        close(fd);
    place->seen = bytes > 0 && slice_equal(slice_of(text, (size_t)bytes), buf_slice(&id));
    place->looked_boot = boot_ms;
    buf_done(&path);
    buf_done(&id);
    return place->seen;
}
