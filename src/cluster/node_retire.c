/* SPDX-License-Identifier: Apache-2.0 */
/* node_retire.c - see node_retire.h. */
#include "cluster/node_retire.h"

#include "access/tokens.h"
#include "base/log.h"
#include "cluster/retired_nodes.h"
#include "engine/daemon_state.h"

typedef struct Forgetting {
    Call call; /* must be first */
    Daemon *daemon;
    uint32_t number;
    uint64_t epoch;
    bool owns;
    Caller caller;
} Forgetting;

static void forgotten(Call *call)
{
    Forgetting *forgetting = (Forgetting *)(void *)call;
    arena_done(&call->arena);
    mem_free(forgetting);
}

static void look_for_jobs(Call *call, Store *store)
{
    Forgetting *forgetting = (Forgetting *)(void *)call;
    call->err =
        retired_nodes_owns(store, forgetting->number, &forgetting->owns, &call->why);
}

static void say_gone(Call *call)
{
    Forgetting *forgetting = (Forgetting *)(void *)call;
    Buf value = { 0 };
    if (call->err || forgetting->owns) {
        forgotten(call);
        return;
    }
    log_event(LOG_INFO, "node.forgotten", "sysid=" SLICE_FMT " number=%u",
              SLICE_ARG(call->event.key), forgetting->number);
    retired_nodes_value(&value, forgetting->epoch);
    call->kind = CALL_EVENT;
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(RETIRED_NODES_TABLE);
    call->event.value = slice_copy(&call->arena, buf_slice(&value));
    call->caller = &forgetting->caller;
    call->done = forgotten;
    buf_done(&value);
    daemon_call(forgetting->daemon, call);
}

void forget_lost(Daemon *daemon, const Peer *peer)
{
    bool controls;
    node_controller_lock(daemon->engine.node, &controls);
    if (!controls)
        return;
    Forgetting *forgetting = MEM_NEW(Forgetting);
    Call *call = &forgetting->call;
    forgetting->daemon = daemon;
    forgetting->number = peer->number;
    forgetting->epoch = peer->epoch;
    snprintf(forgetting->caller.who, sizeof forgetting->caller.who, "pawl");
    snprintf(forgetting->caller.from, sizeof forgetting->caller.from, "controller");
    call->kind = CALL_READ;
    call->read = look_for_jobs;
    call->done = say_gone;
    call->event.key = slice_copy(&call->arena, peer->sysid);
    daemon_call(daemon, call);
}
