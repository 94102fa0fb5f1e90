/* SPDX-License-Identifier: Apache-2.0 */
/* quota.c - see quota.h.
 *
 * Numbers are kept as jobs move, so every question costs one look. At a start they come
 * from the store's own counts (jobs that wait) and from the attempts (those that run). */
#include "core/dispatch/quota.h"

#include "core/dispatch/limits.h"
#include "core/node/inside.h"

typedef struct Use {
    int64_t queued; /* that this node's changes have made; below 0: it ran others' */
    int64_t owned;  /* likewise of jobs that someone runs */
    int64_t queued_elsewhere;
    int64_t owned_elsewhere;
    uint64_t running;     /* attempts of this node */
    int64_t bytes;        /* as the store last said */
    int64_t bytes_since;  /* accepted since it was asked for that */
    int64_t bytes_asking; /* accepted since it was asked the last time */
    bool heard;           /* it stands in the answer that is read */
} Use;

#define NOT_KNOWN UINT64_MAX

static Use *use_of(Node *node, uint32_t tenant)
{
    Use *use = map_find(&node->tenant_uses, tenant);
    if (!use) {
        use = MEM_NEW(Use);
        map_put(&node->tenant_uses, tenant, use);
    }
    return use;
}

static const Tenant *settings_of(const Node *node, uint32_t tenant)
{
    return node->tenants.count ? map_find(&node->tenants, tenant) : NULL;
}

static uint64_t sum(int64_t here, int64_t elsewhere)
{
    return here + elsewhere > 0 ? (uint64_t)(here + elsewhere) : 0;
}

/* --- As it happens ------------------------------------------------------------------ */

void node_quota_added(Node *node, uint32_t tenant, const Job *job, uint64_t count,
                      uint64_t bytes)
{
    Use *use = use_of(node, tenant);
    if (state_in(job->state, STATES_WAITING))
        use->queued += (int64_t)count;
    use->bytes_since += (int64_t)bytes;
    use->bytes_asking += (int64_t)bytes;
}

static int64_t step(JobStates set, JobState was, JobState state)
{
    return (int64_t)state_in(state, set) - (int64_t)state_in(was, set);
}

void node_quota_moved(Node *node, uint32_t tenant, JobState was, JobState state)
{
    int64_t queued = step(STATES_WAITING, was, state);
    int64_t owned = step(STATES_OWNED, was, state);
    if (!queued && !owned)
        return;
    Use *use = use_of(node, tenant);
    use->queued += queued;
    use->owned += owned;
}

void node_quota_runs(Node *node, uint32_t tenant, int change)
{
    Use *use = use_of(node, tenant);
    if (change > 0)
        use->running++;
    else
        use->running -= use->running > 0;
}

/* --- What the store says ------------------------------------------------------------ */

static void take_use(Use *use, const TenantUse *from, bool exact)
{
    use->queued_elsewhere = from->queued_elsewhere;
    use->owned_elsewhere = from->running_elsewhere;
    use->bytes = from->bytes;
    if (!exact)
        return;
    use->queued = from->queued_here;
    use->owned = from->running_here;
}

void node_load_use(Node *node, const TenantUse *use)
{
    take_use(use_of(node, names_intern(&node->names, use->tenant)), use, true);
}

bool node_wants_uses(const Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->tenants, &at, &entry);) {
        const Tenant *set = entry.value;
        if (set->max_bytes || (node->share && (set->max_queued || set->max_running)))
            return true;
    }
    return false;
}

static bool has_decided(const Node *node)
{
    return node->out->adds.count || node->out->batch.count;
}

static void begin_asking(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->tenant_uses, &at, &entry);)
        ((Use *)entry.value)->bytes_asking = 0;
    node->uses_asked = has_decided(node) ? NOT_KNOWN : node->turn;
}

/* If nothing was decided since the question it also says what this node has made: should
 * its own count ever have gone astray, it is right again. */
static void take_answer(Node *node, const Event *event)
{
    static const TenantUse nothing;
    bool exact = node->uses_asked == node->turn && !has_decided(node);
    bool freed = false;
    MapEntry entry;
    for (size_t i = 0; i < event->count; i++) {
        const TenantUse *from = &event->uses[i];
        Use *use = use_of(node, names_intern(&node->names, from->tenant));
        freed = freed || from->running_elsewhere < use->owned_elsewhere;
        take_use(use, from, exact);
        use->heard = true;
    }
    for (size_t at = 0; map_next(&node->tenant_uses, &at, &entry);) {
        Use *use = entry.value;
        if (!use->heard)
            take_use(use, &nothing, exact);
        use->heard = false;
        use->bytes_since = use->bytes_asking;
    }
    if (!freed)
        return;
    node_unstick(node);
    node->touched_pass = true;
}

void node_quota_heard(Node *node, const Event *event)
{
    if (event->flag)
        take_answer(node, event);
    else
        begin_asking(node);
    node_reply(node, event->request, ERR_OK, NULL);
}

/* --- Limits ------------------------------------------------------------------------- */

uint64_t node_quota_running_max(const Node *node, uint32_t tenant)
{
    const Tenant *set = settings_of(node, tenant);
    return set ? set->max_running : 0;
}

bool node_quota_full(const Node *node, uint32_t tenant)
{
    const Tenant *set = settings_of(node, tenant);
    const Use *use = map_find(&node->tenant_uses, tenant);
    if (!set || !set->max_running || !use)
        return false;
    return use->running >= set->max_running ||
           (node->share && sum(use->owned, use->owned_elsewhere) >= set->max_running);
}

const char *node_quota_refuses(const Node *node, const Job *job, uint64_t count,
                               uint64_t bytes, Buf *detail)
{
    static const Use none;
    uint32_t tenant = names_find(&node->names, job->tenant);
    const Tenant *set = settings_of(node, tenant);
    const Use *use = map_find(&node->tenant_uses, tenant);
    if (!set)
        return NULL;
    use = use ? use : &none;
    uint64_t queued = sum(use->queued, use->queued_elsewhere);
    uint64_t kept = sum(use->bytes, use->bytes_since);
    if (set->max_queued && queued + count > set->max_queued)
        buf_printf(detail,
                   "tenant " SLICE_FMT " has %llu jobs that wait, and may have %llu",
                   SLICE_ARG(job->tenant), (unsigned long long)queued,
                   (unsigned long long)set->max_queued);
    else if (set->max_bytes && kept + bytes > set->max_bytes)
        buf_printf(detail,
                   "tenant " SLICE_FMT " keeps %llu bytes of bodies and results, and may "
                   "keep %llu: these are %llu more",
                   SLICE_ARG(job->tenant), (unsigned long long)kept,
                   (unsigned long long)set->max_bytes, (unsigned long long)bytes);
    else
        return NULL;
    return PROBLEM_QUOTA;
}

void node_quota_free(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->tenant_uses, &at, &entry);)
        mem_free(entry.value);
    map_done(&node->tenant_uses);
}
