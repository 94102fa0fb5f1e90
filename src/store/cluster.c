/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - see cluster.h. */
#include "store/cluster.h"

#include "core/share/peer.h"
#include "core/unique.h"

bool cluster_tells(Slice table)
{
    return !slice_is(table, AUDIT_TABLE) && !slice_is(table, OWED_TABLE) &&
           !slice_starts(table, SLICE_LITERAL(AUDIT_HOUR_TABLE));
}

bool cluster_trims(uint32_t *changes)
{
    return (*changes)++ % (CHANGES_KEPT / 10) == 0;
}

bool cluster_outlives_fence(const Op *op)
{
    switch (op->kind) {
    case OP_ADD:
    case OP_ADD_LINES:
    case OP_KEY:
    case OP_PUT:
    case OP_DELETE:
        return !op->own;
    case OP_JOIN:
    case OP_NODE:
        return true;
    case OP_CLAIM:
    case OP_BEAT:
    case OP_PROGRESS:
    case OP_FINISH:
    case OP_MOVE:
    case OP_PAUSE:
    case OP_REMOVE:
    case OP_PURGE:
    case OP_GIVE:
    case OP_MAIL:
    case OP_TAKEN:
    case OP_FENCE:
    case OP_TAKE:
    case OP_DROP:
    case OP_SWEPT:
        break;
    }
    return false;
}

bool cluster_needs_owner(const Op *op)
{
    switch (op->kind) {
    case OP_CLAIM:
    case OP_PROGRESS:
    case OP_FINISH:
    case OP_MOVE:
    case OP_PAUSE:
    case OP_REMOVE:
    case OP_GIVE:
        return true;
    case OP_ADD:
    case OP_ADD_LINES:
    case OP_BEAT:
    case OP_PURGE:
    case OP_PUT:
    case OP_DELETE:
    case OP_NODE:
    case OP_KEY:
    case OP_MAIL:
    case OP_TAKEN:
    case OP_FENCE:
    case OP_TAKE:
    case OP_JOIN:
    case OP_DROP:
    case OP_SWEPT:
        break;
    }
    return false;
}

OpResult cluster_guard(const Op *op, uint32_t node, const Job *job)
{
    bool foreign = cluster_needs_owner(op) && !state_in(job->state, STATES_FINAL) &&
                   job_owner(job) != node;
    return foreign ? OP_LOST : OP_APPLIED;
}

void cluster_claim_final(const Op *op, uint32_t node, JobState was, Job *job)
{
    if (op->kind == OP_MOVE && state_in(was, STATES_FINAL))
        job_set_owner(job, node);
}

bool cluster_home_free(const Op *op, uint32_t node, Slice now, bool now_fenced)
{
    Home was = home_read(now);
    Home next = home_read(op->value);
    return next.count == was.count + 1 && (!was.node || was.node == node || now_fenced);
}
