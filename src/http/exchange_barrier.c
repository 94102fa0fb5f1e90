/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_barrier.c - a job that this node does not find may be one that another has
 * just accepted: then it is looked for until that is known, before anyone is told that
 * there is none. Calls about the job of the exchange are simply given to the daemon
 * again. */
#include "http/server_state.h"

static void look_again(Exchange *exchange, Call *settle)
{
    Errand *errand = ((Errand *)settle)->of;
    Call *call = &errand->call;
    if (settle->err) {
        call->err = settle->err;
        call->problem = settle->problem;
        call->why = settle->why;
        errand->then(exchange, call);
        return;
    }
    errand->settled = settle->count > 0;
    call->err = ERR_OK;
    call->problem = NULL;
    call->why = (Error){ 0 };
    exchange_send(exchange, call);
}

static Call *settle_call(Exchange *exchange, Errand *errand)
{
    Call *call = exchange_call(exchange, CALL_SETTLE, look_again);
    call->settling = ARENA_NEW(&call->arena, Settling);
    call->settling->id = exchange->id;
    ((Errand *)call)->of = errand;
    errand->until_boot = clock_now().boot_ms + SETTLE_WAIT_MS;
    return call;
}

bool exchange_settles(Exchange *exchange, Errand *errand)
{
    const DaemonFacts *facts = daemon_facts(exchange->daemon);
    const Call *call = &errand->call;
    bool missing = call->err == ERR_NOT_FOUND && call->problem &&
                   strcmp(call->problem, "job_not_found") == 0;
    if (!missing || errand->settled || !facts->shared || !exchange->id ||
        id_node(exchange->id) == facts->node)
        return false;
    if (!errand->settle)
        errand->settle = settle_call(exchange, errand);
    errand->settle->timeout_ms = errand->until_boot - clock_now().boot_ms;
    exchange_send(exchange, errand->settle);
    return true;
}
