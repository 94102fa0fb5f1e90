/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - see cluster.h. */
#include "cluster/cluster.h"

#include "api/nodes.h"
#include "base/log.h"
#include "cluster/node_retire.h"
#include "cluster/offline_start.h"
#include "cluster/remote_order.h"
#include "cluster/retired_nodes.h"
#include "cluster/snapshot_writer.h"
#include "core/share/peer.h"
#include "engine/daemon_state.h"
#include "engine/read_barrier.h"
#include "engine/store_await.h"

#include <stdio.h>
#include <unistd.h>

#define RENEWALS      5    /* within the lease */
#define ANSWERS       5    /* that may be waited for within the lease */
#define SILENT_PARTS  5    /* of the lease without a word: the store is not there */
#define ANSWER_MIN_MS 2000 /* less would take a busy server for a dead one */
#define MARGIN_PARTS  10   /* of the lease: kept between the last job's end and its own */
#define WAIT_MS       200  /* between two looks */
#define HINTED_MS     10   /* likewise, however many hints come */
#define REJOIN_TRIES  3
#define WAITERS_MS    500
#define WAITERS_MAX   200            /* questions at once */
#define OPEN_MS       (5 * MS_PER_S) /* then it looks whether it must begin cut off */

typedef struct ClusterNews {
    Mail mail; /* must be first */
    Arena arena;
    Peer *peers; /* NULL: nothing was heard of them */
    size_t count;
    size_t capacity;
    Change *changes;
    size_t change_count;
    size_t change_capacity;
    int64_t lease_boot;
    int64_t claims_boot;
    bool fenced;
    size_t forget; /* which peer is to be forgotten, from 1; 0: none */
    bool behind;   /* not all changes are known any more */
    bool silent;   /* the store is not there, and nothing else is known */
    bool back;     /* it answers a node that began without it */
} ClusterNews;

struct ClusterLink {
    Daemon *daemon;
    Store *store;    /* the thread's own */
    NodeRow row;     /* as it was last read; slices empty */
    uint32_t number; /* that it has, or wants */
    pthread_t thread;
    bool running;
    _Atomic bool stop;
    Mailbox box; /* of ClusterNews, for the loop */
    pthread_mutex_t lock;
    PeerFacts facts;    /* under the lock: what the loop last said */
    Buf loads;          /* likewise: what facts.loads is */
    int64_t lease_ms;   /* likewise */
    int64_t asked_ms;   /* the thread's: the lease that the last renewal asked for */
    uint64_t change;    /* the thread's: the last that was told */
    RetiredNodes *gone; /* the thread's */
    char host[64];

    int64_t lease_boot;   /* the loop's */
    int64_t forget_boot;  /* the next look for nodes that are gone for good */
    int64_t waiters_boot; /* the next look for those who wait for jobs of others */
    bool again;
    bool silent;
    Mail *used;
    Call *settling;      /* those who look for a job of another node */
    uint64_t marked_end; /* of the journal, when `marked_ids` were the next to be given */
    uint64_t marked_ids;
};

static Renewal renewal_of(ClusterLink *link, Buf *facts)
{
    pthread_mutex_lock(&link->lock);
    load_average(link->facts.load);
    link->facts.at_ms = clock_now().wall_ms;
    peer_pack(facts, &link->facts);
    Renewal renewal = { .sysid = slice_text(link->daemon->identity.sysid),
                        .number = link->number,
                        .lease_ms = link->lease_ms,
                        .controls = !link->facts.draining,
                        .facts = buf_slice(facts) };
    pthread_mutex_unlock(&link->lock);
    link->asked_ms = renewal.lease_ms;
    return renewal;
}

static Err renew(ClusterLink *link, NodeRow *out, Error *why)
{
    Buf facts = { 0 };
    Renewal renewal = renewal_of(link, &facts);
    Err err = link->store->kind->renew(link->store, &renewal, out, why);
    buf_done(&facts);
    return err;
}

static void first_facts(ClusterLink *link)
{
    const Daemon *daemon = link->daemon;
    if (gethostname(link->host, sizeof link->host - 1))
        snprintf(link->host, sizeof link->host, "unknown");
    link->facts = (PeerFacts){ .slots = daemon->options.settings.slots,
                               .pid = (uint32_t)getpid(),
                               .started_ms = clock_now().wall_ms,
                               .ids = 1, /* what its journal has is not known yet */
                               .host = slice_text(link->host),
                               .version = SLICE_LITERAL(PAWL_VERSION) };
    link->lease_ms = daemon->options.settings.lease_ms;
}

static void last_change(void *context, const Change *change)
{
    *(uint64_t *)context = change->change;
}

static int64_t answer_ms(const ClusterLink *link)
{
    int64_t part_ms = link->lease_ms / ANSWERS;
    return part_ms > ANSWER_MIN_MS ? part_ms : ANSWER_MIN_MS;
}

Err cluster_begin(Daemon *daemon, Error *why)
{
    if (!daemon->store->kind->shared)
        return ERR_OK;
    ClusterLink *link = MEM_NEW(ClusterLink);
    daemon->cluster_link = link;
    link->daemon = daemon;
    pthread_mutex_init(&link->lock, NULL);
    mailbox_init(&link->box);
    link->box.wake = daemon->engine.answers.wake;
    link->box.wake_context = daemon;
    link->gone = retired_nodes_new();
    first_facts(link);
    if (daemon->offline_start) {
        link->silent = true;
        return ERR_OK;
    }
    /* A node that is new takes no number of which a journal was read: the store would
     * take what it accepts for what that one had brought already, so its own journal
     * would be refused; and that one could not come back. */
    if (identity_has_begun(daemon->data_dir))
        link->number = daemon->identity.number;
    StoreOptions options = { .answer_ms = answer_ms(link) };
    Err err = store_await(daemon->store_url, &options, &(Patience){ .most_ms = OPEN_MS },
                          &link->store, why);
    if (!err)
        err = renew(link, &link->row, why);
    /* Before definitions are read: what changes meanwhile is told again, none is missed.
     */
    if (!err)
        err = link->store->kind->changes(link->store, CHANGES_LAST, last_change,
                                         &link->change, why);
    if (!err)
        err = link->store->kind->definitions(link->store,
                                             SLICE_LITERAL(RETIRED_NODES_TABLE),
                                             retired_nodes_defined, link->gone, why);
    link->number = link->row.number;
    if (!err && link->row.number != daemon->identity.number)
        err = identity_number(daemon->data_dir, &daemon->identity,
                              (uint16_t)link->row.number, why);
    return err;
}

Err cluster_join(Daemon *daemon, Error *why)
{
    ClusterLink *link = daemon->cluster_link;
    if (!link)
        return ERR_OK;
    for (int tries = 0; tries < REJOIN_TRIES; tries++) {
        link->lease_boot =
            clock_now().boot_ms + link->lease_ms - link->lease_ms / MARGIN_PARTS;
        Err err = renew(link, &link->row, why);
        if (err || (link->row.epoch && !link->row.fenced))
            return err;
        Op ops[] = { { .kind = OP_JOIN, .count = link->row.epoch + 1 },
                     { .kind = OP_DELETE,
                       .table = SLICE_LITERAL(RETIRED_NODES_TABLE),
                       .key = slice_text(daemon->identity.sysid) } };
        Batch batch = { .node = link->row.number, .ops = ops, .count = 2 };
        err = daemon->store->kind->commit(daemon->store, &batch, 1, NULL, why);
        if (err)
            return err;
        log_event(LOG_INFO, "node.joined", "sysid=%s number=%u epoch=%llu",
                  daemon->identity.sysid, link->row.number,
                  (unsigned long long)(link->row.epoch + 1));
    }
    return error_set(why, ERR_BUSY,
                     "this node is fenced again and again: is another "
                     "daemon using its sysid?");
}

uint32_t cluster_owner(const Daemon *daemon)
{
    return daemon->cluster_link ? daemon->identity.number : 0;
}

/* --- The thread --------------------------------------------------------------------- */

static void take_peer(void *context, const NodeRow *row)
{
    ClusterNews *news = context;
    Peer peer = { .number = row->number,
                  .epoch = row->epoch,
                  .left_ms = row->left_ms,
                  .fenced = row->fenced,
                  .controls = row->controls,
                  .sysid = slice_copy(&news->arena, row->sysid) };
    if (peer_unpack(slice_copy(&news->arena, row->facts), &peer.facts))
        peer.facts = (PeerFacts){ 0 };
    MEM_PUSH(news->peers, news->count, news->capacity) = peer;
}

static void take_change(void *context, const Change *from)
{
    ClusterNews *news = context;
    Change change = *from;
    Arena *arena = &news->arena;
    change.table = slice_copy(arena, from->table);
    change.definition.tenant = slice_copy(arena, from->definition.tenant);
    change.definition.key = slice_copy(arena, from->definition.key);
    if (from->definition.value.data)
        change.definition.value = slice_of(arena_copy(arena, from->definition.value.data,
                                                      from->definition.value.bytes + 0),
                                           from->definition.value.bytes);
    MEM_PUSH(news->changes, news->change_count, news->change_capacity) = change;
}

static void news_free(ClusterNews *news)
{
    arena_done(&news->arena);
    mem_free(news->peers);
    mem_free(news->changes);
    mem_free(news);
}

static void free_used(ClusterLink *link)
{
    while (link->used) {
        Mail *next = link->used->next;
        news_free((ClusterNews *)(void *)link->used);
        link->used = next;
    }
}

/* Those that are gone for good are as if they had said that they leave: no one waits for
 * them. Others may have been lost for so long that it should be said of them. */
static void look_for_gone(const ClusterLink *link, ClusterNews *news)
{
    int64_t keep_ms = link->daemon->options.forget_ms;
    for (size_t i = 0; i < news->count; i++) {
        Peer *peer = &news->peers[i];
        if (retired_nodes_has(link->gone, peer->sysid, peer->epoch))
            peer->facts.draining = true;
        else if (peer->fenced && keep_ms && -peer->left_ms >= keep_ms)
            news->forget = i + 1;
    }
}

/* One renewal and what there is to hear; NULL: the store is not there. */
static ClusterNews *look(ClusterLink *link)
{
    Error why = { 0 };
    NodeRow row;
    Store *store = link->store;
    int64_t begun = clock_now().boot_ms;
    ClusterNews *news = MEM_NEW(ClusterNews);
    Err err = renew(link, &row, &why);
    if (!err)
        err = store->kind->nodes(store, take_peer, news, &why);
    if (!err)
        err = store->kind->changes(store, link->change, take_change, news, &why);
    if (err) {
        log_event(LOG_WARN, "node.lease_failing", "err=%s why=%s", err_name(err),
                  LOG_QUOTED(why.text));
        news_free(news);
        return NULL;
    }
    for (size_t i = 0; i < news->change_count; i++) {
        if (slice_is(news->changes[i].table, RETIRED_NODES_TABLE))
            retired_nodes_defined(link->gone, &news->changes[i].definition);
        if (snapshot_has(news->changes[i].table))
            snapshot_writer_touch(link->daemon->snapshot_writer);
    }
    look_for_gone(link, news);
    if (news->change_count) {
        uint64_t last = news->changes[news->change_count - 1].change;
        news->behind = last - link->change > CHANGES_KEPT;
        link->change = last;
    }
    news->fenced = row.fenced || row.epoch != link->row.epoch;
    news->lease_boot = begun + link->asked_ms - link->asked_ms / MARGIN_PARTS;
    news->claims_boot = begun + link->asked_ms * 2 / 3;
    return news;
}

static void wait_for_hint(ClusterLink *link, int64_t until_boot)
{
    Store *store = link->store;
    while (!link->stop && clock_now().boot_ms < until_boot) {
        if (!store->kind->watch) {
            usleep(10000);
            continue;
        }
        int64_t left = until_boot - clock_now().boot_ms;
        if (left > 0 && store->kind->watch(store, link->row.number,
                                           (int)(left < WAIT_MS ? left : WAIT_MS)))
            return;
    }
}

/* Told with each look that fails, once that has gone on for a while. */
static ClusterNews *tell_silence(const ClusterLink *link, int64_t since_boot)
{
    if (clock_now().boot_ms - since_boot < link->asked_ms / SILENT_PARTS)
        return NULL;
    ClusterNews *news = MEM_NEW(ClusterNews);
    news->silent = true;
    return news;
}

/* Instead of all else: the daemon was started without its store. */
static void *link_seek(void *context)
{
    ClusterLink *link = context;
    Err said = ERR_OK;
    while (!link->stop && !offline_start_is_over(link->daemon, &said))
        usleep(STORE_TRY_MS * 1000);
    ClusterNews *news = MEM_NEW(ClusterNews);
    news->silent = true;
    news->back = !link->stop;
    mailbox_put(&link->box, &news->mail);
    return NULL;
}

static void *link_run(void *context)
{
    ClusterLink *link = context;
    int64_t heard_boot = clock_now().boot_ms;
    while (!link->stop) {
        ClusterNews *news = look(link);
        int64_t pause_ms = link->asked_ms / RENEWALS;
        if (news)
            heard_boot = clock_now().boot_ms;
        else
            news = tell_silence(link, heard_boot);
        if (news)
            mailbox_put(&link->box, &news->mail);
        usleep(HINTED_MS * 1000);
        pause_ms = pause_ms < WAIT_MS ? pause_ms : WAIT_MS;
        wait_for_hint(link, clock_now().boot_ms + pause_ms - HINTED_MS);
    }
    return NULL;
}

static void set_deadline(void *context, const RunningJob *job)
{
    Daemon *daemon = context;
    runner_deadline(daemon->runner, job->id, job->attempt,
                    daemon->cluster_link->lease_boot);
}

/* What was taken over runs at most as long as the lease that was had at the start, until
 * the next one is told. */
void cluster_start(Daemon *daemon)
{
    ClusterLink *link = daemon->cluster_link;
    if (!link)
        return;
    if (!daemon->offline_start) {
        node_running(daemon->engine.node, set_deadline, daemon);
        runner_lease(daemon->runner, link->lease_boot);
        daemon->snapshot_writer = snapshot_writer_open(
            &(SnapshotWriterOptions){ .data_dir = daemon->data_dir,
                                      .store_url = daemon->store_url,
                                      .identity = &daemon->identity,
                                      .answer_ms = answer_ms(link) });
    }
    pthread_create(&link->thread, NULL, daemon->offline_start ? link_seek : link_run,
                   link);
    link->running = true;
}

static void settle_refuse(Call *call, const char *problem, const char *text)
{
    error_set(&call->why, ERR_UNAVAILABLE, "%s", text);
    call->err = ERR_UNAVAILABLE;
    call->problem = problem;
    call->done(call);
}

void cluster_stop(Daemon *daemon)
{
    ClusterLink *link = daemon->cluster_link;
    if (!link)
        return;
    link->stop = true;
    if (link->running)
        pthread_join(link->thread, NULL);
    link->running = false;
    snapshot_writer_close(daemon->snapshot_writer);
    daemon->snapshot_writer = NULL;
    for (Call *call = link->settling; call;) {
        Call *next = (Call *)(void *)call->mail.next;
        settle_refuse(call, "draining", "the daemon is closing");
        call = next;
    }
    link->settling = NULL;
}

static void count_running(void *context, const RunningJob *job)
{
    (void)job;
    ++*(size_t *)context;
}

/* Nothing here needs the lease: no attempt runs, and no processor holds units, which
 * would be taken from it. */
static bool is_idle(const Daemon *daemon)
{
    size_t running = 0;
    node_running(daemon->engine.node, count_running, &running);
    return !running && !remote_order_loads(daemon).bytes;
}

bool cluster_may_leave(const Daemon *daemon)
{
    if (!daemon->cluster_link || is_idle(daemon) ||
        !node_facts(daemon->engine.node).spare)
        return true;
    const Neighbours *all = remote_order_neighbours(daemon);
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].alive)
            return false;
    return true;
}

static void give_lease_back(Daemon *daemon)
{
    ClusterLink *link = daemon->cluster_link;
    Error why = { 0 };
    NodeRow row;
    if (!daemon->ingest || !daemon->stop || link->again || daemon->offline_start ||
        !is_idle(daemon) ||
        ingest_thread_applied(daemon->ingest) < journal_end(daemon->journal))
        return;
    link->lease_ms = 0;
    if (renew(link, &row, &why))
        log_event(LOG_WARN, "node.lease_kept", "why=\"%s\"", why.text);
    else
        log_event(LOG_INFO, "node.left",
                  "sysid=%s msg=\"its lease is given back: others take over what waits\"",
                  daemon->identity.sysid);
}

void cluster_close(Daemon *daemon)
{
    ClusterLink *link = daemon->cluster_link;
    if (!link)
        return;
    give_lease_back(daemon);
    for (Mail *mail = mailbox_take(&link->box); mail;) {
        Mail *next = mail->next;
        news_free((ClusterNews *)(void *)mail);
        mail = next;
    }
    free_used(link);
    store_close(link->store);
    retired_nodes_free(link->gone);
    buf_done(&link->loads);
    mailbox_done(&link->box);
    pthread_mutex_destroy(&link->lock);
    mem_free(link);
    daemon->cluster_link = NULL;
}

/* --- The loop ----------------------------------------------------------------------- */

static void tell_changes(Daemon *daemon, const ClusterNews *news)
{
    for (size_t i = 0; i < news->change_count; i++) {
        const Change *change = &news->changes[i];
        if (slice_is(change->table, RETIRED_NODES_TABLE))
            declares_gone(daemon->declares, &change->definition);
        if (change->node == daemon->identity.number &&
            !slice_is(change->table, HOME_TABLE))
            continue; /* it said so itself; but the home may be refused */
        if (slice_is(change->table, DECLARED_TABLE))
            declares_heard(daemon->declares, &change->definition);
        Event *event = engine_event(&daemon->engine, EVENT_CHANGE);
        event->table = slice_copy(&daemon->engine.in.step, change->table);
        event->tenant = slice_copy(&daemon->engine.in.step, change->definition.tenant);
        event->key = slice_copy(&daemon->engine.in.step, change->definition.key);
        if (change->definition.value.data)
            event->value = slice_of(arena_copy(&daemon->engine.in.step,
                                               change->definition.value.data,
                                               change->definition.value.bytes),
                                    change->definition.value.bytes);
    }
}

static void tell_peers(Daemon *daemon, const ClusterNews *news)
{
    ClusterLink *link = daemon->cluster_link;
    link->lease_boot = news->lease_boot;
    Event *event = engine_event(&daemon->engine, EVENT_PEERS);
    event->peers =
        arena_copy(&daemon->engine.in.step, news->peers, news->count * sizeof(Peer));
    event->count = news->count;
    remote_order_peers(daemon, news->peers, news->count);
    event->lease_boot = news->lease_boot;
    event->claims_boot = news->claims_boot;
    node_running(daemon->engine.node, set_deadline, daemon);
    runner_lease(daemon->runner, news->lease_boot);
    engine_event(&daemon->engine, EVENT_HINT);
}

/* All ids below what it returns were given out in what the store has. */
static uint64_t settled_ids(Daemon *daemon, uint64_t ids)
{
    ClusterLink *link = daemon->cluster_link;
    if (daemon->engine.applied < link->marked_end)
        return link->facts.settled;
    uint64_t settled = link->marked_ids;
    link->marked_end = journal_end(daemon->journal);
    link->marked_ids = ids;
    return daemon->engine.applied < link->marked_end ? settled : ids;
}

static void say_facts(Daemon *daemon, Now now)
{
    ClusterLink *link = daemon->cluster_link;
    NodeFacts node = node_facts(daemon->engine.node);
    uint64_t ids = node_ids_pass(daemon->engine.node, now.wall_ms);
    uint64_t settled = settled_ids(daemon, ids);
    pthread_mutex_lock(&link->lock);
    link->facts.ids = ids;
    link->facts.settled = settled;
    link->facts.slots = node.slots;
    link->facts.used = node.slots_used;
    link->facts.ready = node.spare;
    link->facts.pull = node.pull;
    link->facts.listen = slice_text(daemon->listen);
    link->facts.draining = node.draining || daemon->stop || daemon->leaving;
    buf_clear(&link->loads);
    buf_add_slice(&link->loads, remote_order_loads(daemon));
    link->facts.loads = buf_slice(&link->loads);
    link->lease_ms = node_settings(daemon->engine.node)->lease_ms;
    pthread_mutex_unlock(&link->lock);
    if (daemon->snapshot_writer)
        snapshot_writer_point(daemon->snapshot_writer, ids, daemon->engine.applied);
}

/* The end of a job that another node has is not told here: who waits for it looks. */
static void look_for_waiters(Daemon *daemon, Now now)
{
    ClusterLink *link = daemon->cluster_link;
    MapEntry entry;
    if (!daemon->engine.waiting.ends_count || now.boot_ms < link->waiters_boot)
        return;
    link->waiters_boot = now.boot_ms + WAITERS_MS;
    size_t asked = 0;
    for (size_t at = 0;
         asked < WAITERS_MAX && map_next(&daemon->engine.waiting.ends, &at, &entry);)
        asked += engine_wait_ask(&daemon->engine, entry.key);
}

/* --- Jobs that another node accepted a moment ago ----------------------------------- */

/* False: it waits on. */
static bool settle_answer(const Daemon *daemon, Call *call, Now now)
{
    const Neighbours *all = remote_order_neighbours(daemon);
    const Neighbour *neighbour = neighbour_numbered(all, id_node(call->settling->id));
    const char *sysid = neighbour ? neighbour->sysid : "?";
    char text[ERROR_TEXT_BYTES];
    switch (settle_judge(call->settling, all)) {
    case SETTLED:
        call->count = 1;
        call->done(call);
        return true;
    case SETTLED_NO_ONE:
        snprintf(text, sizeof text,
                 "node %s made this id and is down: whether it had accepted such a job "
                 "is known when it is back",
                 sysid);
        settle_refuse(call, "node_unreachable", text);
        return true;
    case SETTLED_NOT_YET:
        break;
    }
    if (call->timeout_ms <= 0) {
        snprintf(text, sizeof text,
                 "node %s made this id and has jobs that the store does not have yet: "
                 "ask again, or ask it",
                 sysid);
        settle_refuse(call, "node_unreachable", text);
        return true;
    }
    if (now.boot_ms < call->deadline_boot)
        return false;
    call->count = 0;
    call->done(call);
    return true;
}

void cluster_settle(Daemon *daemon, Call *call)
{
    ClusterLink *link = daemon->cluster_link;
    Now now = clock_now();
    call->deadline_boot = now.boot_ms + SETTLE_LOOK_MS;
    if (settle_answer(daemon, call, now))
        return;
    call->mail.next = (Mail *)(void *)link->settling;
    link->settling = call;
}

static void settle_all(Daemon *daemon, Now now)
{
    ClusterLink *link = daemon->cluster_link;
    for (Call **at = &link->settling; *at;) {
        Call *call = *at;
        Call *next = (Call *)(void *)call->mail.next;
        if (settle_answer(daemon, call, now))
            *at = next;
        else
            at = (Call **)(void *)&call->mail.next;
    }
}

bool cluster_awaits(const Daemon *daemon)
{
    return daemon->cluster_link && daemon->cluster_link->settling;
}

void cluster_collect(Daemon *daemon, Now now)
{
    ClusterLink *link = daemon->cluster_link;
    if (!link)
        return;
    free_used(link); /* of the last turn: events borrow from it */
    for (Mail *mail = mailbox_take(&link->box); mail;) {
        ClusterNews *news = (ClusterNews *)(void *)mail;
        mail = mail->next;
        if (news->fenced && !link->again) {
            log_event(LOG_WARN, "node.fenced",
                      "sysid=%s msg=\"its lease was over and its jobs were taken over: "
                      "beginning anew\"",
                      daemon->identity.sysid);
            link->again = true;
        }
        if (news->behind && !link->again) {
            log_event(LOG_WARN, "node.behind",
                      "sysid=%s msg=\"more definitions have changed than are kept: "
                      "beginning anew\"",
                      daemon->identity.sysid);
            link->again = true;
        }
        if (news->back && !link->again) {
            log_event(LOG_INFO, "node.back",
                      "sysid=%s msg=\"its store answers: beginning anew with it\"",
                      daemon->identity.sysid);
            link->again = true;
        }
        link->silent = news->silent;
        if (news->silent)
            engine_refuse_calls(&daemon->engine);
        if (!news->fenced && !news->silent) {
            tell_changes(daemon, news);
            tell_peers(daemon, news);
            if (news->forget && now.boot_ms >= link->forget_boot) {
                forget_lost(daemon, &news->peers[news->forget - 1]);
                link->forget_boot = now.boot_ms + MS_PER_MIN;
            }
        }
        news->mail.next = link->used;
        link->used = &news->mail;
    }
    say_facts(daemon, now);
    remote_order_collect(daemon, now);
    settle_all(daemon, now);
    look_for_waiters(daemon, now);
}

void cluster_refused(Daemon *daemon)
{
    ClusterLink *link = daemon->cluster_link;
    if (!link || link->again)
        return;
    log_event(LOG_WARN, "node.refused",
              "sysid=%s msg=\"it has decided about jobs that are another's: beginning "
              "anew\"",
              daemon->identity.sysid);
    link->again = true;
}

bool cluster_must_restart(const Daemon *daemon)
{
    return daemon->cluster_link && daemon->cluster_link->again;
}

bool cluster_may_start(const Daemon *daemon)
{
    const ClusterLink *link = daemon->cluster_link;
    return !link || (!link->again && clock_now().boot_ms < link->lease_boot);
}

int64_t cluster_lease_boot(const Daemon *daemon)
{
    return daemon->cluster_link ? daemon->cluster_link->lease_boot : 0;
}

bool cluster_silent(const Daemon *daemon)
{
    return daemon->cluster_link && daemon->cluster_link->silent;
}
