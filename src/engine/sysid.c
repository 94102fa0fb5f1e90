/* SPDX-License-Identifier: Apache-2.0 */
/* sysid.c - see sysid.h. */
#include "engine/sysid.h"

#include "base/fields.h"

#include <stddef.h>

static const FieldRow rows[] = {
    { 1, offsetof(SysidClaim, device), FIELD_64 },
    { 2, offsetof(SysidClaim, inode), FIELD_64 },
    { 3, offsetof(SysidClaim, pid), FIELD_64 },
    { 4, offsetof(SysidClaim, reserved_ms), FIELD_64 },
    { 5, offsetof(SysidClaim, expires_ms), FIELD_64 },
    { 40, offsetof(SysidClaim, host), FIELD_SLICE },
    { 41, offsetof(SysidClaim, boot), FIELD_SLICE },
};

static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

void sysid_pack(Buf *out, const SysidClaim *claim)
{
    fields_pack(out, &fields, claim);
}

typedef struct Finding {
    Slice sysid;
    Arena arena;
    bool found;
    SysidClaim claim;
} Finding;

static void take(void *context, const Definition *definition)
{
    Finding *finding = context;
    SysidClaim claim = { 0 };
    if (!slice_equal(definition->key, finding->sysid) ||
        fields_unpack(definition->value, &fields, &claim))
        return;
    fields_keep(&fields, &finding->arena, &claim);
    finding->claim = claim;
    finding->found = true;
}

static Err find(Store *store, Finding *finding, Error *why)
{
    return store->kind->definitions(store, SLICE_LITERAL(SYSID_TABLE), take, finding,
                                    why);
}

static bool same_owner(const SysidClaim *a, const SysidClaim *b)
{
    return slice_equal(a->host, b->host) && a->device == b->device &&
           a->inode == b->inode;
}

/* No one can be alive behind it. */
static bool is_void(const SysidClaim *there, const SysidClaim *ours)
{
    bool restarted =
        slice_equal(there->host, ours->host) && !slice_equal(there->boot, ours->boot);
    return restarted || there->expires_ms <= ours->reserved_ms;
}

static Err write_row(Store *store, Slice sysid, const SysidClaim *claim, Error *why)
{
    Batch batch = { 0 };
    Buf value = { 0 };
    Op *op = batch_op(&batch, claim ? OP_PUT : OP_DELETE, 0);
    if (claim)
        sysid_pack(&value, claim);
    op->table = SLICE_LITERAL(SYSID_TABLE);
    op->key = sysid;
    op->value = buf_slice(&value);
    Err err = store->kind->commit(store, &batch, 1, NULL, why);
    buf_done(&value);
    batch_done(&batch);
    return err;
}

Err sysid_reserve(Store *store, Slice sysid, const SysidClaim *claim, bool alone,
                  Error *why)
{
    Finding finding = { .sysid = sysid };
    Err err = find(store, &finding, why);
    const SysidClaim *there = &finding.claim;
    if (!err && !alone && finding.found && !same_owner(there, claim) &&
        !is_void(there, claim))
        err = error_set(why, ERR_BUSY,
                        "the sysid " SLICE_FMT " is in use on this store, by process "
                        "%lld on " SLICE_FMT " with another data directory (a copy?); "
                        "stop that daemon, or give this one a new identity: an empty "
                        "--data",
                        SLICE_ARG(sysid), (long long)there->pid, SLICE_ARG(there->host));
    if (!err)
        err = write_row(store, sysid, claim, why);
    arena_done(&finding.arena);
    return err;
}

Err sysid_ours(Store *store, Slice sysid, const SysidClaim *claim, bool *out_ours,
               Error *why)
{
    Finding finding = { .sysid = sysid };
    Err err = find(store, &finding, why);
    if (!err)
        *out_ours = finding.found && same_owner(&finding.claim, claim);
    arena_done(&finding.arena);
    return err;
}

Err sysid_release(Store *store, Slice sysid, const SysidClaim *claim, Error *why)
{
    bool ours = false;
    Err err = sysid_ours(store, sysid, claim, &ours, why);
    if (!err && ours)
        err = write_row(store, sysid, NULL, why);
    return err;
}
