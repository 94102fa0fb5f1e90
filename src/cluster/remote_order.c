/* SPDX-License-Identifier: Apache-2.0 */
/* remote_order.c - see remote_order.h. */
#include "cluster/remote_order.h"

#include "base/map.h"
#include "cluster/remote_order_text.h"
#include "engine/daemon_state.h"
#include "engine/processors.h"
#include "pipeline/forward/peers.h"

#include <stdio.h>

#define LIST_WAIT_MS  (5 * MS_PER_S)
#define ORDER_WAIT_MS (60 * MS_PER_S) /* a reset waits for the end of what runs */
#define LOADS_MS      MS_PER_S
#define LOADS_BYTES   8192 /* of them are told; those of the others are not known */

/* A list that is asked of all nodes; part 0 is this one's. */
typedef struct Part {
    Buf text;
    char sysid[SIGNAL_HOME_BYTES];
} Part;

typedef struct Gather {
    SignalOrder *order; /* NULL: who asked has been told already */
    size_t open;
    size_t count;
    Part *parts;
} Gather;

/* Asked of another node. */
typedef struct Sent {
    uint32_t node;
    uint64_t epoch; /* in another life it knows nothing of it */
    int64_t until_boot;
    SignalOrder *order; /* or, for a part of a list: */
    Gather *gather;
    size_t part;
} Sent;

/* Given to the pipeline of this node, for another, for a list, or for what waits here. */
typedef struct Ours {
    SignalOrder order; /* first: it is the mail, too */
    RemoteOrder *remote_order;
    Arena arena;
    uint32_t from; /* 0: not for another node */
    uint64_t token;
    Gather *gather;
} Ours;

struct RemoteOrder {
    Daemon *daemon;
    Mailbox box; /* of Ours, done; from the pipeline's thread */
    Map sent;    /* Sent by token */
    uint64_t token;
    Neighbours peers;
    uint64_t told; /* what the pipeline was told of them last, as a hash */
    Buf loads;
    bool loading;
    int64_t loads_boot;
    bool closed;
    RemoteQuery *remote_query;
};

RemoteOrder *remote_order_new(Daemon *daemon)
{
    RemoteOrder *remote_order = MEM_NEW(RemoteOrder);
    remote_order->daemon = daemon;
    mailbox_init(&remote_order->box);
    remote_order->box.wake = daemon->engine.answers.wake;
    remote_order->box.wake_context = daemon;
    remote_order->token = (uint64_t)clock_now().wall_ms
                          << 16; /* unlike those of a life before */
    remote_order->remote_query = remote_query_new(daemon);
    return remote_order;
}

static void ours_free(Ours *ours)
{
    buf_done(&ours->order.out);
    arena_done(&ours->arena);
    mem_free(ours);
}

/* --- Answers -------------------------------------------------------------------------
 */

static void unreachable(SignalOrder *order, const char *sysid)
{
    char text[ERROR_TEXT_BYTES];
    snprintf(text, sizeof text, "node %s has the processor and does not answer", sysid);
    signal_refuse(order, "node_unreachable", ERR_UNAVAILABLE, text);
}

static void gathered(Gather *gather)
{
    if (--gather->open)
        return;
    RemoteOrderPart *parts = MEM_ARRAY(RemoteOrderPart, gather->count);
    for (size_t i = 0; i < gather->count; i++)
        parts[i] = (RemoteOrderPart){ slice_text(gather->parts[i].sysid),
                                      buf_slice(&gather->parts[i].text) };
    if (gather->order) {
        remote_order_merge(&gather->order->out, parts, gather->count);
        gather->order->done(gather->order);
    }
    for (size_t i = 0; i < gather->count; i++)
        buf_done(&gather->parts[i].text);
    mem_free(gather->parts);
    mem_free(parts);
    mem_free(gather);
}

static const char *sysid_of(const RemoteOrder *remote_order, uint32_t number)
{
    const Neighbour *peer = neighbour_numbered(&remote_order->peers, number);
    return peer ? peer->sysid : "?";
}

/* No answer came, and none will. */
static void give_up(const RemoteOrder *remote_order, Sent *sent)
{
    if (sent->gather)
        gathered(sent->gather);
    else
        unreachable(sent->order, sysid_of(remote_order, sent->node));
    mem_free(sent);
}

void remote_order_refuse(RemoteOrder *remote_order)
{
    MapEntry entry;
    if (!remote_order)
        return;
    remote_order->closed = true;
    remote_query_refuse(remote_order->remote_query);
    for (size_t at = 0; map_next(&remote_order->sent, &at, &entry);) {
        Sent *sent = entry.value;
        if (sent->gather && sent->gather->order) {
            SignalOrder *order = sent->gather->order;
            sent->gather->order = NULL;
            signal_refuse(order, "draining", ERR_UNAVAILABLE, "the daemon is closing");
        }
        if (sent->gather)
            gathered(sent->gather);
        else
            signal_refuse(sent->order, "draining", ERR_UNAVAILABLE,
                          "the daemon is closing");
        mem_free(sent);
    }
    map_done(&remote_order->sent);
    remote_order->sent = (Map){ 0 };
}

/* --- Orders of this node -------------------------------------------------------------
 */

static void ours_done(SignalOrder *order)
{
    Ours *ours = (Ours *)(void *)order;
    mailbox_put(&ours->remote_order->box, &order->mail);
}

static Ours *ours_new(RemoteOrder *remote_order, SignalKind kind)
{
    Ours *ours = MEM_NEW(Ours);
    ours->remote_order = remote_order;
    ours->order.kind = kind;
    ours->order.done = ours_done;
    return ours;
}

void remote_order_post(Daemon *daemon, uint32_t to, Slice packed)
{
    Event *event = engine_event(&daemon->engine, EVENT_POST);
    event->number = to;
    event->body = slice_copy(&daemon->engine.in.step, packed);
}

static void post(const RemoteOrder *remote_order, uint32_t to,
                 const RemoteOrderText *text)
{
    Buf packed = { 0 };
    remote_order_pack(&packed, text);
    remote_order_post(remote_order->daemon, to, buf_slice(&packed));
    buf_done(&packed);
}

static void answer_peer(RemoteOrder *remote_order, const Ours *ours)
{
    const SignalOrder *order = &ours->order;
    bool named = order->kind == SIGNAL_DESTROY;
    RemoteOrderText text = { .kind = REMOTE_ORDER_ANSWER,
                             .token = ours->token,
                             .err = order->err,
                             .problem = slice_text(order->problem ? order->problem : ""),
                             .why = slice_text(order->why.text),
                             .out = buf_slice(&order->out),
                             .unit = named ? slice_text(order->unit_name)
                                           : (Slice){ NULL, 0 },
                             .job = order->job,
                             .created = order->created };
    post(remote_order, ours->from, &text);
}

static void take_done(RemoteOrder *remote_order, Ours *ours)
{
    if (ours->from) {
        if (!remote_order->closed)
            answer_peer(remote_order, ours);
    } else if (ours->gather) {
        buf_add_slice(&ours->gather->parts[0].text, buf_slice(&ours->order.out));
        gathered(ours->gather);
    } else {
        remote_order->loading = false;
        buf_clear(&remote_order->loads);
        buf_add_slice(&remote_order->loads, buf_slice(&ours->order.out));
        while (remote_order->loads.bytes > LOADS_BYTES) /* whole lines */
            for (remote_order->loads.bytes--;
                 remote_order->loads.bytes &&
                 remote_order->loads.data[remote_order->loads.bytes - 1] != '\n';)
                remote_order->loads.bytes--;
    }
    ours_free(ours);
}

static void take_all_done(RemoteOrder *remote_order)
{
    for (Mail *mail = mailbox_take(&remote_order->box); mail;) {
        Mail *next = mail->next;
        take_done(remote_order, (Ours *)(void *)mail);
        mail = next;
    }
}

void remote_order_free(RemoteOrder *remote_order)
{
    if (!remote_order)
        return;
    remote_order->closed = true;
    take_all_done(remote_order);
    remote_order_refuse(remote_order);
    mailbox_done(&remote_order->box);
    map_done(&remote_order->sent);
    buf_done(&remote_order->loads);
    remote_query_free(remote_order->remote_query);
    neighbours_done(&remote_order->peers);
    mem_free(remote_order);
}

Slice remote_order_loads(const Daemon *daemon)
{
    return buf_slice(&daemon->remote_order->loads);
}

/* --- Whose it is ---------------------------------------------------------------------
 */

/* NAME, NAME@NODE or NODE:NAME. *out_peer NULL: of this node. False: no such node. */
static bool resolve(const Daemon *daemon, Slice text, Slice *out_name,
                    const Neighbour **out_peer)
{
    const RemoteOrder *remote_order = daemon->remote_order;
    Slice name = text;
    Slice node = text;
    *out_peer = NULL;
    *out_name = text;
    if (memchr(text.data, '@', text.bytes)) {
        name = slice_cut(&node, '@');
        *out_name = name;
        if (slice_is(node, daemon->identity.sysid))
            return true;
        *out_peer = neighbour_named(&remote_order->peers, node);
        return *out_peer != NULL;
    }
    for (size_t i = 0; i < remote_order->peers.count; i++) {
        Slice sysid = slice_text(remote_order->peers.list[i].sysid);
        if (text.bytes <= sysid.bytes + 1 || !slice_starts(text, sysid) ||
            text.data[sysid.bytes] != ':')
            continue;
        *out_name = slice_from(text, sysid.bytes + 1);
        *out_peer = &remote_order->peers.list[i];
        return true;
    }
    return true;
}

static void send_to(RemoteOrder *remote_order, const Neighbour *peer,
                    const SignalOrder *order, Sent sent)
{
    Sent *kept = MEM_NEW(Sent);
    *kept = sent;
    kept->node = peer->number;
    kept->epoch = peer->epoch;
    map_put(&remote_order->sent, ++remote_order->token, kept);
    post(remote_order, peer->number,
         &(RemoteOrderText){ .kind = REMOTE_ORDER_ORDER,
                             .token = remote_order->token,
                             .signal = sent.gather ? ORDER_LIST : order->kind,
                             .name = order->name,
                             .unit = order->unit,
                             .next = order->next,
                             .plan = order->plan_text });
}

/* All nodes at once. One that is known to be gone is not asked: what is known of it is
 * told by this one. */
static void list_all(RemoteOrder *remote_order, SignalOrder *order, int64_t boot_ms)
{
    Gather *gather = MEM_NEW(Gather);
    Ours *ours = ours_new(remote_order, ORDER_LIST_KNOWN);
    gather->order = order;
    gather->open = gather->count = 1;
    gather->parts = MEM_ARRAY(Part, remote_order->peers.count + 1);
    snprintf(gather->parts[0].sysid, SIGNAL_HOME_BYTES, "%s",
             remote_order->daemon->identity.sysid);
    for (size_t i = 0; i < remote_order->peers.count; i++) {
        const Neighbour *peer = &remote_order->peers.list[i];
        if (!peer->alive)
            continue;
        size_t part = gather->count++;
        snprintf(gather->parts[part].sysid, SIGNAL_HOME_BYTES, "%s", peer->sysid);
        gather->open++;
        send_to(remote_order, peer, order,
                (Sent){ .until_boot = boot_ms + LIST_WAIT_MS,
                        .gather = gather,
                        .part = part });
    }
    ours->gather = gather;
    pipeline_give(remote_order->daemon->pipeline, &ours->order);
}

static void order_done(SignalOrder *order)
{
    Call *call = order->context;
    call->err = order->err;
    call->problem = order->problem;
    call->why = order->why;
    call->done(call);
}

void remote_order_take(Daemon *daemon, Call *call)
{
    RemoteOrder *remote_order = daemon->remote_order;
    SignalOrder *order = call->order;
    const Neighbour *peer = NULL;
    Slice home = processors_home(daemon);
    order->done = order_done;
    order->context = call;
    if (daemon->offline_start) {
        signal_refuse(order, "store_failing", ERR_UNAVAILABLE,
                      "no processor works until the store answers");
        return;
    }
    if (order->kind == ORDER_LIST && remote_order->peers.count && !remote_order->closed) {
        list_all(remote_order, order, clock_now().boot_ms);
        return;
    }
    if (order->name.bytes && !resolve(daemon, order->name, &order->name, &peer)) {
        signal_refuse(order, "node_not_found", ERR_NOT_FOUND,
                      "no node of this name shares the store");
        return;
    }
    snprintf(order->home, sizeof order->home, SLICE_FMT,
             SLICE_ARG(peer ? slice_text(peer->sysid) : home));
    if (!peer)
        processors_give(daemon, order);
    else if (!peer->alive || remote_order->closed)
        unreachable(order, peer->sysid);
    else
        send_to(
            remote_order, peer, order,
            (Sent){ .until_boot = clock_now().boot_ms + ORDER_WAIT_MS, .order = order });
}

/* --- Letters -------------------------------------------------------------------------
 */

static void take_order(Daemon *daemon, uint32_t from, const RemoteOrderText *text)
{
    Ours *ours = ours_new(daemon->remote_order, text->signal);
    SignalOrder *order = &ours->order;
    ours->from = from;
    ours->token = text->token;
    order->name = slice_copy(&ours->arena, text->name);
    order->unit = slice_copy(&ours->arena, text->unit);
    order->next = slice_copy(&ours->arena, text->next);
    if (order->kind == ORDER_PUT) {
        order->plan = ARENA_NEW(&ours->arena, Plan);
        if (processors_read_plan(order->name, text->plan, &ours->arena, order->plan,
                                 &order->why)) {
            order->err = ERR_INVALID;
            order->problem = "invalid_value";
            ours_done(order);
            return;
        }
    }
    if (order->unit.bytes > UNIT_BYTES_MAX) {
        signal_refuse(order, "invalid_name", ERR_INVALID, "no unit has such a name");
        return;
    }
    processors_give(daemon, order);
}

static void fill(SignalOrder *order, const RemoteOrderText *text)
{
    order->err = text->err;
    order->job = text->job;
    order->created = text->created;
    snprintf(order->why.text, sizeof order->why.text, SLICE_FMT, SLICE_ARG(text->why));
    order->why.code = text->err;
    snprintf(order->unit_name, sizeof order->unit_name, SLICE_FMT, SLICE_ARG(text->unit));
    buf_add_slice(&order->out, text->out);
    Call *call = order->context;
    if (text->problem.bytes)
        order->problem = slice_cstr(&call->arena, text->problem);
}

static void take_answer(RemoteOrder *remote_order, const RemoteOrderText *text)
{
    Sent *sent = map_remove(&remote_order->sent, text->token);
    if (!sent)
        return; /* it took too long */
    if (sent->gather) {
        buf_add_slice(&sent->gather->parts[sent->part].text, text->out);
        gathered(sent->gather);
    } else {
        fill(sent->order, text);
        sent->order->done(sent->order);
    }
    mem_free(sent);
}

void remote_order_letter(Daemon *daemon, const Effect *effect)
{
    RemoteOrderText text;
    if (remote_query_letter(daemon->remote_order->remote_query, effect))
        return;
    if (daemon->remote_order->closed || remote_order_unpack(effect->value, &text))
        return; /* of a version that says it in other words */
    if (text.kind == REMOTE_ORDER_ORDER)
        take_order(daemon, effect->owner, &text);
    else
        take_answer(daemon->remote_order, &text);
}

/* --- Time ----------------------------------------------------------------------------
 */

static uint64_t hash_of(const Peer *peers, size_t count)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t words[] = { hash,
                             peers[i].number,
                             peers[i].epoch,
                             peer_alive(&peers[i]),
                             peers[i].fenced,
                             hash_bytes(peers[i].facts.loads.data,
                                        peers[i].facts.loads.bytes) };
        hash = hash_bytes(words, sizeof words);
    }
    return hash;
}

static void tell_pipeline(RemoteOrder *remote_order, const Peer *peers, size_t count)
{
    uint64_t hash = hash_of(peers, count);
    if (hash == remote_order->told)
        return;
    remote_order->told = hash;
    PeersNews *news = peers_news(PEERS_NODES);
    for (size_t i = 0; i < count; i++)
        peers_news_node(news, &(PeerNode){ .sysid = peers[i].sysid,
                                           .alive = peer_alive(&peers[i]),
                                           .fenced = peers[i].fenced,
                                           .loads = peers[i].facts.loads });
    pipeline_tell(remote_order->daemon->pipeline, news);
}

void remote_order_peers(Daemon *daemon, const Peer *peers, size_t count)
{
    RemoteOrder *remote_order = daemon->remote_order;
    neighbours_hear(&remote_order->peers, peers, count, daemon->identity.number);
    tell_pipeline(remote_order, peers, count);
}

RemoteQuery *remote_order_afar(const Daemon *daemon)
{
    return daemon->remote_order->remote_query;
}

const Neighbours *remote_order_neighbours(const Daemon *daemon)
{
    return &daemon->remote_order->peers;
}

static bool is_over(const RemoteOrder *remote_order, const Sent *sent, int64_t boot_ms)
{
    if (boot_ms >= sent->until_boot)
        return true;
    const Neighbour *peer = neighbour_numbered(&remote_order->peers, sent->node);
    return !peer || !peer->alive || peer->epoch != sent->epoch;
}

static void expire(RemoteOrder *remote_order, int64_t boot_ms)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&remote_order->sent, &at, &entry);) {
        if (!is_over(remote_order, entry.value, boot_ms))
            continue;
        map_remove(&remote_order->sent, entry.key);
        give_up(remote_order, entry.value);
        at = 0; /* what follows may have moved */
    }
}

/* What waits here is counted only if there is someone to be told. */
static void ask_loads(RemoteOrder *remote_order, int64_t boot_ms)
{
    if (!remote_order->peers.count || remote_order->loading ||
        boot_ms < remote_order->loads_boot)
        return;
    remote_order->loads_boot = boot_ms + LOADS_MS;
    remote_order->loading = true;
    pipeline_give(remote_order->daemon->pipeline,
                  &ours_new(remote_order, ORDER_LOADS)->order);
}

void remote_order_collect(Daemon *daemon, Now now)
{
    RemoteOrder *remote_order = daemon->remote_order;
    take_all_done(remote_order);
    expire(remote_order, now.boot_ms);
    remote_query_collect(remote_order->remote_query, now);
    if (!remote_order->closed)
        ask_loads(remote_order, now.boot_ms);
}
