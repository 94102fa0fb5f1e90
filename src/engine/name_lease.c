/* SPDX-License-Identifier: Apache-2.0 */
/* name_lease.c - the daemon's hold on its own sysid (sysid.h): reserved when it opens,
 * looked after while it runs, released when it closes. A daemon that finds its name taken
 * stops taking work and says so: two owners of one name would each believe the other's
 * jobs to be theirs. */
#include "engine/daemon_state.h"

#include "base/boot.h"
#include "base/log.h"

#include <stdio.h>
#include <unistd.h>

static SysidClaim claim_now(const Daemon *daemon)
{
    int64_t now_ms = clock_now().wall_ms;
    return (SysidClaim){
        .host = slice_text(daemon->name_lease.host),
        .boot = slice_text(daemon->name_lease.boot),
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

Err name_lease_begin(Daemon *daemon, Error *why)
{
    NameLease *name_lease = &daemon->name_lease;
    if (gethostname(name_lease->host, sizeof name_lease->host - 1))
        snprintf(name_lease->host, sizeof name_lease->host, "unknown");
    boot_id(name_lease->boot);
    SysidClaim claim = claim_now(daemon);
    name_lease->renew_boot = clock_now().boot_ms + SYSID_RENEW_MS;
    Err err = sysid_reserve(daemon->store, slice_text(daemon->identity.sysid), &claim,
                            store_inside(daemon), why);
    name_lease->held = !err;
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
        daemon->name_lease.lost = true;
}

static void looked(Call *call)
{
    Daemon *daemon = call->context;
    daemon->name_lease.looking = false;
    arena_done(&call->arena);
    mem_free(call);
}

static void renew(Daemon *daemon)
{
    Buf value = { 0 };
    SysidClaim claim = claim_now(daemon);
    sysid_pack(&value, &claim);
    Event *event = engine_event(&daemon->engine, EVENT_DEFINE);
    event->table = SLICE_LITERAL(SYSID_TABLE);
    event->key = slice_text(daemon->identity.sysid);
    event->value = slice_copy(&daemon->engine.in.step, buf_slice(&value));
    buf_done(&value);
}

void name_lease_look(Daemon *daemon, Now now)
{
    NameLease *name_lease = &daemon->name_lease;
    if (name_lease->lost && name_lease->held) {
        name_lease->held = false;
        log_event(LOG_ERROR, "daemon.sysid_lost",
                  "sysid=%s msg=\"another daemon has this sysid on the store: no more "
                  "work is taken; stop one of them\"",
                  daemon->identity.sysid);
        engine_event(&daemon->engine, EVENT_DRAIN);
    }
    if (!name_lease->held || name_lease->looking || now.boot_ms < name_lease->look_boot)
        return;
    name_lease->look_boot =
        now.boot_ms + node_settings(daemon->engine.node)->lease_ms / 6;
    if (now.boot_ms >= name_lease->renew_boot) {
        name_lease->renew_boot = now.boot_ms + SYSID_RENEW_MS;
        renew(daemon);
    }
    Call *call = MEM_NEW(Call);
    call->kind = CALL_READ;
    call->read = look;
    call->done = looked;
    call->context = daemon;
    name_lease->looking = true;
    reader_give(daemon->reader, call);
}

void name_lease_end(Daemon *daemon)
{
    Error why = { 0 };
    SysidClaim claim = claim_now(daemon);
    if (!daemon->store || !daemon->name_lease.held)
        return;
    if (sysid_release(daemon->store, slice_text(daemon->identity.sysid), &claim, &why))
        log_event(LOG_WARN, "daemon.sysid_kept", "why=%s", LOG_QUOTED(why.text));
}
