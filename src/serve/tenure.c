/* SPDX-License-Identifier: Apache-2.0 */
/* tenure.c - the daemon's hold on its own sysid (sysid.h): reserved when it opens, looked
 * after while it runs, released when it closes. A daemon that finds its name taken stops
 * taking work and says so: two owners of one name would each believe the other's jobs to
 * be theirs. */
#include "serve/inside.h"

#include "base/boot.h"
#include "base/log.h"

#include <stdio.h>
#include <unistd.h>

static SysidClaim claim_now(const Daemon *daemon)
{
    int64_t now_ms = clock_now().wall_ms;
    return (SysidClaim){
        .host = slice_text(daemon->tenure.host),
        .boot = slice_text(daemon->tenure.boot),
        .device = (int64_t)daemon->data_device,
        .inode = (int64_t)daemon->data_inode,
        .pid = getpid(),
        .reserved_ms = now_ms,
        .expires_ms = now_ms + SYSID_LIFE_MS,
    };
}

/* The store is a file in the data directory. */
static bool store_inside(const Daemon *daemon)
{
    size_t bytes = strlen(daemon->data_dir);
    const char *path = strchr(daemon->store_url, ':');
    return path && strncmp(path + 1, daemon->data_dir, bytes) == 0 &&
           path[1 + bytes] == '/';
}

Err tenure_begin(Daemon *daemon, Error *why)
{
    Tenure *tenure = &daemon->tenure;
    if (gethostname(tenure->host, sizeof tenure->host - 1))
        snprintf(tenure->host, sizeof tenure->host, "unknown");
    boot_id(tenure->boot);
    SysidClaim claim = claim_now(daemon);
    tenure->renew_boot = clock_now().boot_ms + SYSID_RENEW_MS;
    Err err = sysid_reserve(daemon->store, slice_text(daemon->identity.sysid), &claim,
                            store_inside(daemon), why);
    tenure->held = !err;
    return err;
}

/* On the reader's thread. */
static void look(Call *call, Store *store)
{
    Daemon *daemon = call->context;
    bool ours = true;
    SysidClaim claim = claim_now(daemon);
    call->err =
        sysid_ours(store, slice_text(daemon->identity.sysid), &claim, &ours, &call->why);
    if (!call->err && !ours)
        daemon->tenure.lost = true;
}

static void looked(Call *call)
{
    Daemon *daemon = call->context;
    daemon->tenure.looking = false;
    arena_done(&call->arena);
    mem_free(call);
}

static void renew(Daemon *daemon)
{
    Buf value = { 0 };
    SysidClaim claim = claim_now(daemon);
    sysid_pack(&value, &claim);
    Event *event = daemon_event(daemon, EVENT_DEFINE);
    event->table = SLICE_LITERAL(SYSID_TABLE);
    event->key = slice_text(daemon->identity.sysid);
    event->value = slice_copy(&daemon->step, buf_slice(&value));
    buf_done(&value);
}

void tenure_look(Daemon *daemon, Now now)
{
    Tenure *tenure = &daemon->tenure;
    if (tenure->lost && tenure->held) {
        tenure->held = false;
        log_event(LOG_ERROR, "daemon.sysid_lost",
                  "sysid=%s msg=\"another daemon has this sysid on the store: no more "
                  "work is taken; stop one of them\"",
                  daemon->identity.sysid);
        daemon_event(daemon, EVENT_DRAIN);
    }
    if (!tenure->held || tenure->looking || now.boot_ms < tenure->look_boot)
        return;
    tenure->look_boot = now.boot_ms + node_settings(daemon->node)->lease_ms / 6;
    if (now.boot_ms >= tenure->renew_boot) {
        tenure->renew_boot = now.boot_ms + SYSID_RENEW_MS;
        renew(daemon);
    }
    Call *call = MEM_NEW(Call);
    call->kind = CALL_READ;
    call->read = look;
    call->done = looked;
    call->context = daemon;
    tenure->looking = true;
    reader_give(daemon->reader, call);
}

void tenure_end(Daemon *daemon)
{
    Error why = { 0 };
    SysidClaim claim = claim_now(daemon);
    if (!daemon->store || !daemon->tenure.held)
        return;
    if (sysid_release(daemon->store, slice_text(daemon->identity.sysid), &claim, &why))
        log_event(LOG_WARN, "daemon.sysid_kept", "why=%s", LOG_QUOTED(why.text));
}
