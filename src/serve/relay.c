/* SPDX-License-Identifier: Apache-2.0 */
/* relay.c - see relay.h. */
#include "serve/relay.h"

#include "base/map.h"
#include "pipeline/peers.h"
#include "serve/inside.h"
#include "serve/processors.h"
#include "serve/relay_text.h"

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
    Relay *relay;
    Arena arena;
    uint32_t from; /* 0: not for another node */
    uint64_t token;
    Gather *gather;
} Ours;

struct Relay {
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
    Afar *afar;
};

Relay *relay_new(Daemon *daemon)
{
    Relay *relay = MEM_NEW(Relay);
    relay->daemon = daemon;
    mailbox_init(&relay->box);
    relay->box.wake = daemon->answers.wake;
    relay->box.wake_context = daemon;
    relay->token = (uint64_t)clock_now().wall_ms
                   << 16; /* unlike those of a life before */
    relay->afar = afar_new(daemon);
    return relay;
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
    RelayPart *parts = MEM_ARRAY(RelayPart, gather->count);
    for (size_t i = 0; i < gather->count; i++)
        parts[i] = (RelayPart){ slice_text(gather->parts[i].sysid),
                                buf_slice(&gather->parts[i].text) };
    if (gather->order) {
        relay_merge(&gather->order->out, parts, gather->count);
        gather->order->done(gather->order);
    }
    for (size_t i = 0; i < gather->count; i++)
        buf_done(&gather->parts[i].text);
    mem_free(gather->parts);
    mem_free(parts);
    mem_free(gather);
}

static const char *sysid_of(const Relay *relay, uint32_t number)
{
    const Neighbour *peer = neighbour_numbered(&relay->peers, number);
    return peer ? peer->sysid : "?";
}

/* No answer came, and none will. */
static void give_up(const Relay *relay, Sent *sent)
{
    if (sent->gather)
        gathered(sent->gather);
    else
        unreachable(sent->order, sysid_of(relay, sent->node));
    mem_free(sent);
}

void relay_refuse(Relay *relay)
{
    MapEntry entry;
    if (!relay)
        return;
    relay->closed = true;
    afar_refuse(relay->afar);
    for (size_t at = 0; map_next(&relay->sent, &at, &entry);) {
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
    map_done(&relay->sent);
    relay->sent = (Map){ 0 };
}

/* --- Orders of this node -------------------------------------------------------------
 */

static void ours_done(SignalOrder *order)
{
    Ours *ours = (Ours *)(void *)order;
    mailbox_put(&ours->relay->box, &order->mail);
}

static Ours *ours_new(Relay *relay, SignalKind kind)
{
    Ours *ours = MEM_NEW(Ours);
    ours->relay = relay;
    ours->order.kind = kind;
    ours->order.done = ours_done;
    return ours;
}

void relay_post(Daemon *daemon, uint32_t to, Slice packed)
{
    Event *event = daemon_event(daemon, EVENT_POST);
    event->number = to;
    event->body = slice_copy(&daemon->step, packed);
}

static void post(const Relay *relay, uint32_t to, const RelayText *text)
{
    Buf packed = { 0 };
    relay_pack(&packed, text);
    relay_post(relay->daemon, to, buf_slice(&packed));
    buf_done(&packed);
}

static void answer_peer(Relay *relay, const Ours *ours)
{
    const SignalOrder *order = &ours->order;
    bool named = order->kind == SIGNAL_DESTROY;
    RelayText text = { .kind = RELAY_ANSWER,
                       .token = ours->token,
                       .err = order->err,
                       .problem = slice_text(order->problem ? order->problem : ""),
                       .why = slice_text(order->why.text),
                       .out = buf_slice(&order->out),
                       .unit = named ? slice_text(order->unit_name) : (Slice){ NULL, 0 },
                       .job = order->job,
                       .created = order->created };
    post(relay, ours->from, &text);
}

static void take_done(Relay *relay, Ours *ours)
{
    if (ours->from) {
        if (!relay->closed)
            answer_peer(relay, ours);
    } else if (ours->gather) {
        buf_add_slice(&ours->gather->parts[0].text, buf_slice(&ours->order.out));
        gathered(ours->gather);
    } else {
        relay->loading = false;
        buf_clear(&relay->loads);
        buf_add_slice(&relay->loads, buf_slice(&ours->order.out));
        while (relay->loads.bytes > LOADS_BYTES) /* whole lines */
            for (relay->loads.bytes--;
                 relay->loads.bytes && relay->loads.data[relay->loads.bytes - 1] != '\n';)
                relay->loads.bytes--;
    }
    ours_free(ours);
}

static void take_all_done(Relay *relay)
{
    for (Mail *mail = mailbox_take(&relay->box); mail;) {
        Mail *next = mail->next;
        take_done(relay, (Ours *)(void *)mail);
        mail = next;
    }
}

void relay_free(Relay *relay)
{
    if (!relay)
        return;
    relay->closed = true;
    take_all_done(relay);
    relay_refuse(relay);
    mailbox_done(&relay->box);
    map_done(&relay->sent);
    buf_done(&relay->loads);
    afar_free(relay->afar);
    neighbours_done(&relay->peers);
    mem_free(relay);
}

Slice relay_loads(const Daemon *daemon)
{
    return buf_slice(&daemon->relay->loads);
}

/* --- Whose it is ---------------------------------------------------------------------
 */

/* NAME, NAME@NODE or NODE:NAME. *out_peer NULL: of this node. False: no such node. */
static bool resolve(const Daemon *daemon, Slice text, Slice *out_name,
                    const Neighbour **out_peer)
{
    const Relay *relay = daemon->relay;
    Slice name = text;
    Slice node = text;
    *out_peer = NULL;
    *out_name = text;
    if (memchr(text.data, '@', text.bytes)) {
        name = slice_cut(&node, '@');
        *out_name = name;
        if (slice_is(node, daemon->identity.sysid))
            return true;
        *out_peer = neighbour_named(&relay->peers, node);
        return *out_peer != NULL;
    }
    for (size_t i = 0; i < relay->peers.count; i++) {
        Slice sysid = slice_text(relay->peers.list[i].sysid);
        if (text.bytes <= sysid.bytes + 1 || !slice_starts(text, sysid) ||
            text.data[sysid.bytes] != ':')
            continue;
        *out_name = slice_from(text, sysid.bytes + 1);
        *out_peer = &relay->peers.list[i];
        return true;
    }
    return true;
}

static void send_to(Relay *relay, const Neighbour *peer, const SignalOrder *order,
                    Sent sent)
{
    Sent *kept = MEM_NEW(Sent);
    *kept = sent;
    kept->node = peer->number;
    kept->epoch = peer->epoch;
    map_put(&relay->sent, ++relay->token, kept);
    post(relay, peer->number,
         &(RelayText){ .kind = RELAY_ORDER,
                       .token = relay->token,
                       .signal = sent.gather ? ORDER_LIST : order->kind,
                       .name = order->name,
                       .unit = order->unit,
                       .next = order->next,
                       .plan = order->plan_text });
}

/* All nodes at once. One that is known to be gone is not asked: what is known of it is
 * told by this one. */
static void list_all(Relay *relay, SignalOrder *order, int64_t boot_ms)
{
    Gather *gather = MEM_NEW(Gather);
    Ours *ours = ours_new(relay, ORDER_LIST_KNOWN);
    gather->order = order;
    gather->open = gather->count = 1;
    gather->parts = MEM_ARRAY(Part, relay->peers.count + 1);
    snprintf(gather->parts[0].sysid, SIGNAL_HOME_BYTES, "%s",
             relay->daemon->identity.sysid);
    for (size_t i = 0; i < relay->peers.count; i++) {
        const Neighbour *peer = &relay->peers.list[i];
        if (!peer->alive)
            continue;
        size_t part = gather->count++;
        snprintf(gather->parts[part].sysid, SIGNAL_HOME_BYTES, "%s", peer->sysid);
        gather->open++;
        send_to(relay, peer, order,
                (Sent){ .until_boot = boot_ms + LIST_WAIT_MS,
                        .gather = gather,
                        .part = part });
    }
    ours->gather = gather;
    pipeline_give(relay->daemon->pipeline, &ours->order);
}

static void order_done(SignalOrder *order)
{
    Call *call = order->context;
    call->err = order->err;
    call->problem = order->problem;
    call->why = order->why;
    call->done(call);
}

void relay_take(Daemon *daemon, Call *call)
{
    Relay *relay = daemon->relay;
    SignalOrder *order = call->order;
    const Neighbour *peer = NULL;
    Slice home = processors_home(daemon);
    order->done = order_done;
    order->context = call;
    if (daemon->cut_off) {
        signal_refuse(order, "store_failing", ERR_UNAVAILABLE,
                      "no processor works until the store answers");
        return;
    }
    if (order->kind == ORDER_LIST && relay->peers.count && !relay->closed) {
        list_all(relay, order, clock_now().boot_ms);
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
    else if (!peer->alive || relay->closed)
        unreachable(order, peer->sysid);
    else
        send_to(
            relay, peer, order,
            (Sent){ .until_boot = clock_now().boot_ms + ORDER_WAIT_MS, .order = order });
}

/* --- Letters -------------------------------------------------------------------------
 */

static void take_order(Daemon *daemon, uint32_t from, const RelayText *text)
{
    Ours *ours = ours_new(daemon->relay, text->signal);
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

static void fill(SignalOrder *order, const RelayText *text)
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

static void take_answer(Relay *relay, const RelayText *text)
{
    Sent *sent = map_remove(&relay->sent, text->token);
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

void relay_letter(Daemon *daemon, const Effect *effect)
{
    RelayText text;
    if (afar_letter(daemon->relay->afar, effect))
        return;
    if (daemon->relay->closed || relay_unpack(effect->value, &text))
        return; /* of a version that says it in other words */
    if (text.kind == RELAY_ORDER)
        take_order(daemon, effect->owner, &text);
    else
        take_answer(daemon->relay, &text);
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

static void tell_pipeline(Relay *relay, const Peer *peers, size_t count)
{
    uint64_t hash = hash_of(peers, count);
    if (hash == relay->told)
        return;
    relay->told = hash;
    PeersNews *news = peers_news(PEERS_NODES);
    for (size_t i = 0; i < count; i++)
        peers_news_node(news, &(PeerNode){ .sysid = peers[i].sysid,
                                           .alive = peer_alive(&peers[i]),
                                           .fenced = peers[i].fenced,
                                           .loads = peers[i].facts.loads });
    pipeline_tell(relay->daemon->pipeline, news);
}

void relay_peers(Daemon *daemon, const Peer *peers, size_t count)
{
    Relay *relay = daemon->relay;
    neighbours_hear(&relay->peers, peers, count, daemon->identity.number);
    tell_pipeline(relay, peers, count);
}

Afar *relay_afar(const Daemon *daemon)
{
    return daemon->relay->afar;
}

const Neighbours *relay_neighbours(const Daemon *daemon)
{
    return &daemon->relay->peers;
}

static bool is_over(const Relay *relay, const Sent *sent, int64_t boot_ms)
{
    if (boot_ms >= sent->until_boot)
        return true;
    const Neighbour *peer = neighbour_numbered(&relay->peers, sent->node);
    return !peer || !peer->alive || peer->epoch != sent->epoch;
}

static void expire(Relay *relay, int64_t boot_ms)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&relay->sent, &at, &entry);) {
        if (!is_over(relay, entry.value, boot_ms))
            continue;
        map_remove(&relay->sent, entry.key);
        give_up(relay, entry.value);
        at = 0; /* what follows may have moved */
    }
}

/* What waits here is counted only if there is someone to be told. */
static void ask_loads(Relay *relay, int64_t boot_ms)
{
    if (!relay->peers.count || relay->loading || boot_ms < relay->loads_boot)
        return;
    relay->loads_boot = boot_ms + LOADS_MS;
    relay->loading = true;
    pipeline_give(relay->daemon->pipeline, &ours_new(relay, ORDER_LOADS)->order);
}

void relay_collect(Daemon *daemon, Now now)
{
    Relay *relay = daemon->relay;
    take_all_done(relay);
    expire(relay, now.boot_ms);
    afar_collect(relay->afar, now);
    if (!relay->closed)
        ask_loads(relay, now.boot_ms);
}
