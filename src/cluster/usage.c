/* SPDX-License-Identifier: Apache-2.0 */
/* usage.c - see usage.h.
 *
 * A question begins with an event, so that the node knows what it accepts from then on;
 * the reader waits until the store has all that was accepted before; the answer is an
 * event again. */
#include "cluster/usage.h"

#include "cluster/cluster.h"
#include "engine/daemon_state.h"

#define LOOK_MS   500
#define COST_PART 20 /* of its time is spent on looking, at most */

struct Usage {
    Daemon *daemon;
    int64_t next_boot;
    _Atomic int64_t took_ms; /* the last answer */
    atomic_bool asking;
};

typedef struct UsageAsk {
    Call call; /* must be first */
    Usage *usage;
    TenantUse *uses;
    size_t count;
    size_t capacity;
} UsageAsk;

Usage *usage_new(Daemon *daemon)
{
    Usage *usage = MEM_NEW(Usage);
    usage->daemon = daemon;
    return usage;
}

void usage_free(Usage *usage)
{
    mem_free(usage);
}

static void load_use(void *context, const TenantUse *use)
{
    node_load_use(context, use);
}

Err usage_load(Daemon *daemon, Store *store, Error *why)
{
    return store->kind->uses(store, daemon->identity.number, load_use,
                             daemon->engine.node, why);
}

static void take_use(void *context, const TenantUse *use)
{
    UsageAsk *ask = context;
    TenantUse copy = *use;
    copy.tenant = slice_copy(&ask->call.arena, use->tenant);
    MEM_PUSH(ask->uses, ask->count, ask->capacity) = copy;
}

static void read_uses(Call *call, Store *store)
{
    UsageAsk *ask = (UsageAsk *)(void *)call;
    const Daemon *daemon = ask->usage->daemon;
    int64_t begun = clock_now().boot_ms;
    call->err =
        store->kind->uses(store, daemon->identity.number, take_use, ask, &call->why);
    ask->usage->took_ms = clock_now().boot_ms - begun;
}

static void ask_done(Call *call)
{
    UsageAsk *ask = (UsageAsk *)(void *)call;
    ask->usage->asking = false;
    arena_done(&call->arena);
    mem_free(ask->uses);
    mem_free(ask);
}

static void answered(Call *call)
{
    UsageAsk *ask = (UsageAsk *)(void *)call;
    Daemon *daemon = ask->usage->daemon;
    if (call->err) {
        ask_done(call);
        return;
    }
    call->kind = CALL_EVENT;
    call->event.kind = EVENT_USES;
    call->event.flag = true;
    call->event.uses = ask->uses;
    call->event.count = ask->count;
    call->done = ask_done;
    daemon_call(daemon, call);
}

void usage_look(Usage *usage, Now now)
{
    Daemon *daemon = usage->daemon;
    if (now.boot_ms < usage->next_boot || usage->asking)
        return;
    int64_t pause_ms = usage->took_ms * COST_PART;
    usage->next_boot = now.boot_ms + (pause_ms > LOOK_MS ? pause_ms : LOOK_MS);
    if (!node_wants_uses(daemon->engine.node) || cluster_silent(daemon))
        return;
    usage->asking = true;
    engine_event(&daemon->engine, EVENT_USES);
    UsageAsk *ask = MEM_NEW(UsageAsk);
    ask->usage = usage;
    ask->call.kind = CALL_READ;
    ask->call.read = read_uses;
    ask->call.done = answered;
    daemon_call(daemon, &ask->call);
}
