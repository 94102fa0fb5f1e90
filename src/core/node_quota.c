/* SPDX-License-Identifier: Apache-2.0 */
/* node_quota.c - how much of the node each tenant has, and where that ends.
 *
 * Numbers are kept as jobs move, so every question costs one look. At a start they come
 * from the store's own counts (jobs that wait) and from the attempts (those that run). */
#include "core/node_inside.h"

typedef struct TenantUse {
    uint64_t queued;
    uint64_t running;
} TenantUse;

#define STATES_QUEUED (~(JobStates)(STATES_FINAL | STATES_OWNED))

static TenantUse *use_of(Node *node, uint32_t tenant)
{
    TenantUse *use = map_find(&node->tenant_uses, tenant);
    if (!use) {
        use = MEM_NEW(TenantUse);
        map_put(&node->tenant_uses, tenant, use);
    }
    return use;
}

static const Tenant *settings_of(const Node *node, uint32_t tenant)
{
    return node->tenants.count ? map_find(&node->tenants, tenant) : NULL;
}

void node_load_count(Node *node, Slice tenant, JobState state, uint64_t count)
{
    if (state_in(state, STATES_QUEUED))
        use_of(node, names_intern(&node->names, tenant))->queued += count;
}

void node_quota_added(Node *node, uint32_t tenant, JobState state, uint64_t count)
{
    if (state_in(state, STATES_QUEUED))
        use_of(node, tenant)->queued += count;
}

void node_quota_moved(Node *node, uint32_t tenant, JobState was, JobState state)
{
    bool before = state_in(was, STATES_QUEUED);
    bool after = state_in(state, STATES_QUEUED);
    if (before == after)
        return;
    TenantUse *use = use_of(node, tenant);
    if (after)
        use->queued++;
    else
        use->queued -= use->queued > 0;
}

void node_quota_runs(Node *node, uint32_t tenant, int change)
{
    TenantUse *use = use_of(node, tenant);
    if (change > 0)
        use->running++;
    else
        use->running -= use->running > 0;
}

bool node_quota_full(const Node *node, uint32_t tenant)
{
    const Tenant *set = settings_of(node, tenant);
    const TenantUse *use = map_find(&node->tenant_uses, tenant);
    return set && set->max_running && use && use->running >= set->max_running;
}

const char *node_quota_refuses(const Node *node, const Job *job, uint64_t count,
                               Buf *detail)
{
    uint32_t tenant = names_find(&node->names, job->tenant);
    const Tenant *set = settings_of(node, tenant);
    const TenantUse *use = map_find(&node->tenant_uses, tenant);
    uint64_t queued = use ? use->queued : 0;
    if (!set || !set->max_queued || queued + count <= set->max_queued)
        return NULL;
    buf_printf(detail, "tenant " SLICE_FMT " has %llu jobs that wait, and may have %llu",
               SLICE_ARG(job->tenant), (unsigned long long)queued,
               (unsigned long long)set->max_queued);
    return PROBLEM_QUOTA;
}

void node_quota_free(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->tenant_uses, &at, &entry);)
        mem_free(entry.value);
    map_done(&node->tenant_uses);
}
