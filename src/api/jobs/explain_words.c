/* SPDX-License-Identifier: Apache-2.0 */
/* explain_words.c - see explain_words.h. */
#include "api/jobs/explain_words.h"

const char *reason_word(ReasonKind kind)
{
    switch (kind) {
    case REASON_DRAINING:
        return "draining";
    case REASON_DISABLED:
        return "disabled";
    case REASON_QUEUE_PAUSED:
        return "queue_paused";
    case REASON_QUEUE_FULL:
        return "queue_full";
    case REASON_QUEUE_RATE:
        return "queue_rate";
    case REASON_TENANT_FULL:
        return "tenant_full";
    case REASON_NODE_FULL:
        return "no_free_slot";
    case REASON_RESOURCE_MISSING:
        return "resource_unknown";
    case REASON_RESOURCE_SMALL:
        return "resource_too_small";
    case REASON_RESOURCE_BUSY:
        return "resource_busy";
    case REASON_RESOURCE_KEPT:
        return "resource_kept";
    case REASON_HIGHLANDER:
        return "highlander";
    }
    return "?";
}

static void add_until(const Reason *reason, int64_t wall_ms, Buf *out)
{
    char human[DURATION_TEXT_BYTES];
    if (reason->until_ms > wall_ms)
        buf_printf(out, " (in %s)", duration_human(reason->until_ms - wall_ms, human));
}

/* Of those that run now. */
static void add_end(const Reason *reason, int64_t wall_ms, Buf *out)
{
    if (reason->until_ms > wall_ms)
        buf_add_text(out, "; the first of them should end");
    add_until(reason, wall_ms, out);
}

static void add_holders(const Reason *reason, Buf *out)
{
    char id[ID_TEXT_BYTES];
    uint32_t listed = reason_listed(reason);
    uint32_t more = reason->holder_count - listed + reason->other_count;
    for (uint32_t i = 0; i < listed; i++)
        buf_printf(out, "%s%s", i ? ", " : ", held by ", id_text(reason->holders[i], id));
    if (more)
        buf_printf(out, "%s%u %s", listed ? " and " : ", held by ", more,
                   listed ? "more" : "of other tenants");
}

static void resource_text(const Reason *reason, Buf *out)
{
    buf_printf(out, "it needs %lld of resource " SLICE_FMT ", of which ",
               (long long)reason->amount, SLICE_ARG(reason->key));
    if (reason->kind == REASON_RESOURCE_SMALL)
        buf_printf(out, "there are only %lld at all: it is passed over",
                   (long long)reason->total);
    else
        buf_printf(out, "%lld of %lld %s free", (long long)reason->free,
                   (long long)reason->total, reason->free == 1 ? "is" : "are");
}

void reason_text(const Reason *reason, const Job *job, int64_t wall_ms, Buf *out)
{
    char id[ID_TEXT_BYTES];
    char human[DURATION_TEXT_BYTES];
    switch (reason->kind) {
    case REASON_DRAINING:
        buf_add_text(out, "the node is draining: it starts nothing more");
        return;
    case REASON_DISABLED:
        buf_add_text(out, "starting jobs is switched off");
        return;
    case REASON_QUEUE_PAUSED:
        buf_printf(out, "queue " SLICE_FMT " is paused", SLICE_ARG(job->queue));
        if (reason->text.bytes)
            buf_printf(out, ": " SLICE_FMT, SLICE_ARG(reason->text));
        if (reason->until_ms)
            buf_add_text(out, "; it goes on by itself");
        add_until(reason, wall_ms, out);
        return;
    case REASON_QUEUE_FULL:
        buf_printf(out, "queue " SLICE_FMT " runs %lld job%s here and has %lld slot%s",
                   SLICE_ARG(job->queue), (long long)reason->used,
                   reason->used == 1 ? "" : "s", (long long)reason->total,
                   reason->total == 1 ? "" : "s");
        add_end(reason, wall_ms, out);
        return;
    case REASON_QUEUE_RATE:
        buf_printf(out, "queue " SLICE_FMT " starts %lld jobs per %s; the next may start",
                   SLICE_ARG(job->queue), (long long)reason->total,
                   duration_human(reason->every_ms, human));
        add_until(reason, wall_ms, out);
        return;
    case REASON_TENANT_FULL:
        buf_printf(out,
                   "tenant " SLICE_FMT " runs as many jobs as it may at once "
                   "(max_running %lld)",
                   SLICE_ARG(job->tenant), (long long)reason->total);
        return;
    case REASON_NODE_FULL:
        buf_printf(out, "all %lld slots are in use", (long long)reason->total);
        add_end(reason, wall_ms, out);
        return;
    case REASON_RESOURCE_MISSING:
        buf_printf(out, "there is no resource " SLICE_FMT, SLICE_ARG(reason->key));
        return;
    case REASON_RESOURCE_SMALL:
        resource_text(reason, out);
        return;
    case REASON_RESOURCE_BUSY:
        resource_text(reason, out);
        add_holders(reason, out);
        add_until(reason, wall_ms, out);
        return;
    case REASON_RESOURCE_KEPT:
        buf_printf(out, "what is left of resource " SLICE_FMT " is kept for %s",
                   SLICE_ARG(reason->key),
                   reason->holder ? id_text(reason->holder, id) : "another job");
        buf_add_text(out, ", which waits longer");
        return;
    case REASON_HIGHLANDER:
        buf_printf(out, "another job of type " SLICE_FMT " runs (%s), and only one may",
                   SLICE_ARG(job->type),
                   reason->holder ? id_text(reason->holder, id) : "elsewhere");
        return;
    }
}

void reason_help(const Reason *reason, const Job *job, Buf *out)
{
    char id[ID_TEXT_BYTES];
    switch (reason->kind) {
    case REASON_DISABLED:
        buf_add_text(out, "pawl config set enabled=true");
        return;
    case REASON_QUEUE_PAUSED:
        buf_printf(out, "pawl queue resume " SLICE_FMT, SLICE_ARG(job->queue));
        break;
    case REASON_QUEUE_FULL:
        if (reason->own) {
            buf_printf(out, "pawl node set self -q " SLICE_FMT "=%lld",
                       SLICE_ARG(job->queue), (long long)reason->total + 1);
            return;
        }
        buf_printf(out, "pawl queue set " SLICE_FMT " --slots %lld",
                   SLICE_ARG(job->queue), (long long)reason->total + 1);
        break;
    case REASON_QUEUE_RATE:
        buf_printf(out, "pawl queue set " SLICE_FMT " --rate none",
                   SLICE_ARG(job->queue));
        break;
    case REASON_TENANT_FULL:
        buf_printf(out, "pawl tenant set " SLICE_FMT " --max-running %lld",
                   SLICE_ARG(job->tenant), (long long)reason->total + 1);
        return;
    case REASON_NODE_FULL:
        buf_printf(out, "pawl config set max_concurrent_jobs=%lld",
                   (long long)reason->total + 1);
        return;
    case REASON_RESOURCE_MISSING:
        buf_printf(out, "pawl resource set " SLICE_FMT, SLICE_ARG(reason->key));
        return;
    case REASON_RESOURCE_SMALL:
    case REASON_RESOURCE_BUSY:
        buf_printf(out, "pawl resource ls");
        return;
    case REASON_RESOURCE_KEPT:
    case REASON_HIGHLANDER:
        if (!reason->holder)
            return;
        buf_printf(out, "pawl explain %s", id_text(reason->holder, id));
        break;
    case REASON_DRAINING:
        return;
    }
    if (!slice_is(job->tenant, "default"))
        buf_printf(out, " --tenant " SLICE_FMT, SLICE_ARG(job->tenant));
}
