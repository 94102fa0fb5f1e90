/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - see explain.h. */
#include "api/jobs/explain.h"

#include "access/audit_find.h"
#include "api/common.h"
#include "api/definitions/handlers.h"
#include "api/jobs/explain_words.h"
#include "core/node/drain.h"
#include "core/operation.h"
#include "core/share/peer.h"

#include <stdio.h>

/* What is said of a job: a stable word, a sentence, and what would help. */
typedef struct Saying {
    const char *reason;
    Buf text;
    const char *help; /* a command; %s is the id. NULL: nothing to do */
    Buf command;      /* instead of it, if it has bytes */
    int64_t since_ms; /* 0: not said */
    int64_t until_ms;
} Saying;

static void say_in(Buf *out, int64_t until_ms, int64_t wall_ms)
{
    char human[DURATION_TEXT_BYTES];
    if (until_ms > wall_ms)
        buf_printf(out, " (in %s)", duration_human(until_ms - wall_ms, human));
}

/* "; by token:ops, 5 m ago" */
static void say_by(Buf *out, const AuditRow *by, int64_t wall_ms)
{
    char human[DURATION_TEXT_BYTES];
    int64_t ago_ms = wall_ms > by->at_ms ? wall_ms - by->at_ms : 0;
    if (by->at_ms)
        buf_printf(out, "; by " SLICE_FMT ", %s ago", SLICE_ARG(by->who),
                   duration_human(ago_ms, human));
}

static void say_tenant(Buf *command, const Job *job)
{
    if (!slice_is(job->tenant, "default"))
        buf_printf(command, " --tenant " SLICE_FMT, SLICE_ARG(job->tenant));
}

/* "pawl handler set TYPE ...", for the job's tenant. */
static void say_handler_command(Saying *saying, const Job *job, bool set)
{
    buf_printf(&saying->command, "pawl handler %s " SLICE_FMT "%s",
               set ? "set" : "enable", SLICE_ARG(job->type),
               set ? " --lang sh --file FILE" : "");
    say_tenant(&saying->command, job);
}

static void say_blocked(Saying *saying, const ExplainFacts *facts)
{
    const Job *job = facts->job;
    if (!slice_is(job->reason, "no_handler")) {
        saying->reason = "blocked";
        if (facts->waited.id) {
            waited_for_say(&facts->waited, job, &saying->text, &saying->command);
            return;
        }
        buf_printf(&saying->text, "it " SLICE_FMT,
                   SLICE_ARG(job->reason.bytes ? job->reason
                                               : SLICE_LITERAL("waits for other jobs")));
        return;
    }
    saying->reason = facts->disabled ? "handler_disabled" : "no_handler";
    if (facts->disabled)
        buf_printf(&saying->text,
                   "the handler for type " SLICE_FMT " is disabled; the job waits until "
                   "it is enabled",
                   SLICE_ARG(job->type));
    else
        buf_printf(&saying->text,
                   "no handler for type " SLICE_FMT "; the job waits until one is set",
                   SLICE_ARG(job->type));
    if (job->retry_window_ms >= 0) {
        saying->until_ms = job->dt_ms;
        buf_add_text(&saying->text, ", or its retry window is over");
        say_in(&saying->text, job->dt_ms, facts->wall_ms);
    }
    say_handler_command(saying, job, !facts->disabled);
}

static void say_reason(Saying *saying, const ExplainFacts *facts, const Reason *reason)
{
    saying->reason = reason_word(reason->kind);
    saying->until_ms = reason->until_ms;
    reason_text(reason, facts->job, facts->wall_ms, &saying->text);
    if (reason->kind == REASON_QUEUE_PAUSED)
        say_by(&saying->text, &facts->paused_by, facts->wall_ms);
    reason_help(reason, facts->job, &saying->command);
}

/* The first reason of one of these kinds; NULL: none. */
static const Reason *reason_among(const ExplainFacts *facts, ReasonKind from,
                                  ReasonKind to)
{
    for (size_t i = 0; i < facts->reason_count; i++)
        if (facts->reasons[i].kind >= from && facts->reasons[i].kind <= to)
            return &facts->reasons[i];
    return NULL;
}

/* "2 jobs of its queue go first" */
static void say_ahead(Buf *out, const ExplainFacts *facts)
{
    buf_printf(out, "%s%u job%s of its queue go%s first",
               facts->ahead_more ? "at least " : "", facts->ahead,
               facts->ahead == 1 ? "" : "s", facts->ahead == 1 ? "es" : "");
}

/* If those before it start as others of the queue did of late. Told only where it rests
 * on something: enough starts, over a while, and how many go before is known. */
static void say_turn(Saying *saying, const ExplainFacts *facts)
{
    char span[DURATION_TEXT_BYTES];
    char left[DURATION_TEXT_BYTES];
    if (facts->ahead_more || facts->pace < EXPLAIN_PACE_JOBS ||
        facts->pace_ms < EXPLAIN_PACE_LEAST)
        return;
    int64_t left_ms =
        (int64_t)((uint64_t)facts->pace_ms * (facts->ahead + 1u) / facts->pace);
    saying->until_ms = facts->wall_ms + left_ms;
    buf_printf(&saying->text,
               "; at the pace of its queue (%llu started in the last %s) its turn comes "
               "in about %s",
               (unsigned long long)facts->pace, duration_human(facts->pace_ms, span),
               duration_human(left_ms, left));
}

static void say_draining(Saying *saying, const ExplainFacts *facts)
{
    saying->reason = "draining";
    buf_printf(&saying->text, "node " SLICE_FMT " is draining: it starts nothing more",
               SLICE_ARG(facts->sysid));
    if (facts->node.drained)
        buf_printf(&saying->command, "pawl node resume " SLICE_FMT,
                   SLICE_ARG(facts->sysid));
}

static void say_ready(Saying *saying, const ExplainFacts *facts)
{
    const Reason *queue = reason_among(facts, REASON_QUEUE_PAUSED, REASON_TENANT_FULL);
    const Reason *resource =
        reason_among(facts, REASON_RESOURCE_MISSING, REASON_HIGHLANDER);
    saying->since_ms = job_ready_since(facts->job);
    if (facts->lost) {
        saying->reason = "node_lost";
        buf_printf(&saying->text,
                   "its node " SLICE_FMT " no longer renews its lease: another takes it "
                   "over within a moment",
                   SLICE_ARG(facts->sysid));
    } else if (facts->node.draining) {
        say_draining(saying, facts);
    } else if (!facts->enabled) {
        saying->reason = "disabled";
        saying->help = "pawl config set enabled=true";
        buf_add_text(&saying->text, "starting jobs is switched off");
    } else if (queue) {
        say_reason(saying, facts, queue);
    } else if (resource && !facts->ahead) {
        say_reason(saying, facts, resource);
    } else if (facts->job->flags & JOB_PULL) {
        saying->reason = "no_worker";
        buf_printf(&saying->text, "it is ready and waits for a worker to take it");
        if (facts->ahead)
            buf_printf(&saying->text, "; %s%u of its queue go%s first",
                       facts->ahead_more ? "at least " : "", facts->ahead,
                       facts->ahead == 1 ? "es" : "");
        buf_printf(&saying->command, "pawl worker --type " SLICE_FMT,
                   SLICE_ARG(facts->job->type));
        say_tenant(&saying->command, facts->job);
        buf_add_text(&saying->command, " -- COMMAND");
    } else if (facts->ahead) {
        saying->reason = "behind_others";
        buf_add_text(&saying->text, "it is ready; ");
        say_ahead(&saying->text, facts);
        buf_printf(&saying->text, ", and %u of %u slots are in use",
                   facts->node.slots_used, facts->node.slots);
        say_turn(saying, facts);
    } else if (facts->node.slots_used >= facts->node.slots) {
        const Reason *full = reason_among(facts, REASON_NODE_FULL, REASON_NODE_FULL);
        buf_add_text(&saying->text, "it is the next of its queue, but ");
        say_reason(
            saying, facts,
            full ? full
                 : &(Reason){ .kind = REASON_NODE_FULL, .total = facts->node.slots });
    } else {
        saying->reason = "next";
        buf_add_text(&saying->text, "it is ready and will start at once");
    }
}

/* ": reason", as someone gave it. */
static void say_why(Buf *out, const Job *job)
{
    if (job->reason.bytes)
        buf_printf(out, ": " SLICE_FMT, SLICE_ARG(job->reason));
}

static void say_at(Buf *out, int64_t at_ms, int64_t wall_ms)
{
    char text[TIME_TEXT_BYTES];
    buf_printf(out, " at %s", time_text(at_ms, text));
    say_in(out, at_ms, wall_ms);
}

/* "exit status 1" or "signal 9", where there is one. */
static void say_outcome(Buf *out, const Outcome *outcome)
{
    if (outcome->signal)
        buf_printf(out, " by signal %d", outcome->signal);
    else if (outcome->exit_status >= 0)
        buf_printf(out, " with exit status %d", outcome->exit_status);
}

static void say_running(Saying *saying, const ExplainFacts *facts)
{
    const Job *job = facts->job;
    int64_t expected_ms = job->service_ms ? job->started_ms + job->service_ms : 0;
    bool stopping = job->flags & JOB_CANCELLING;
    saying->since_ms = job->started_ms;
    saying->until_ms = job->max_run_ms ? job->started_ms + job->max_run_ms : expected_ms;
    saying->reason = stopping ? "cancelling" : "running";
    saying->help = stopping ? "pawl kill %s" : "pawl logs -f %s";
    buf_printf(&saying->text, "attempt %u runs on node " SLICE_FMT, job->attempt,
               SLICE_ARG(job->node));
    if (facts->slot)
        buf_printf(&saying->text, ", slot %u", facts->slot);
    if (stopping) {
        buf_add_text(&saying->text, "; its end is asked for");
        say_by(&saying->text, &facts->by, facts->wall_ms);
    }
    if (expected_ms > facts->wall_ms) {
        buf_add_text(&saying->text, "; it should end");
        say_in(&saying->text, expected_ms, facts->wall_ms);
    } else if (expected_ms) {
        buf_add_text(&saying->text, "; it takes longer than expected");
    }
}

static void say_stopped(Saying *saying, const ExplainFacts *facts)
{
    const Job *job = facts->job;
    saying->reason = state_name(job->state);
    saying->help = "pawl resume %s";
    if (job->state == JOB_PAUSED) {
        saying->since_ms = job->started_ms;
        buf_printf(&saying->text,
                   "attempt %u is paused until someone resumes it, and keeps its slot",
                   job->attempt);
    } else {
        buf_add_text(&saying->text,
                     "it is halted, with its progress kept, until someone resumes it");
    }
    say_why(&saying->text, job);
    say_by(&saying->text, &facts->by, facts->wall_ms);
}

static void say_retrying(Saying *saying, const Job *job, int64_t wall_ms)
{
    saying->reason = "retrying";
    saying->until_ms = job->dt_ms;
    saying->help = "pawl retry %s";
    buf_printf(&saying->text, "attempt %u ended %s", job->attempt,
               code_name(job->outcome.code));
    say_outcome(&saying->text, &job->outcome);
    buf_printf(&saying->text, "; retry %u", job->retry_number);
    if (job->max_retries >= 0)
        buf_printf(&saying->text, " of %d", job->max_retries);
    buf_add_text(&saying->text, " follows");
    say_at(&saying->text, job->dt_ms, wall_ms);
}

static void say_final(Saying *saying, const ExplainFacts *facts)
{
    const Job *job = facts->job;
    saying->reason = state_name(job->state);
    saying->since_ms = job->finished_ms;
    saying->help = job->state == JOB_DONE ? NULL : "pawl retry %s";
    buf_printf(&saying->text, "it is over: %s after %u attempt%s", state_name(job->state),
               job->attempt, job->attempt == 1 ? "" : "s");
    if (job->state != JOB_DONE && !job->error.bytes)
        say_outcome(&saying->text, &job->outcome);
    Slice why = job->error.bytes ? job->error : job->reason;
    if (why.bytes)
        buf_printf(&saying->text, " (" SLICE_FMT ")", SLICE_ARG(why));
    if (job->state == JOB_REJECTED && job->error.bytes && job->reason.bytes)
        buf_printf(&saying->text, "; " SLICE_FMT, SLICE_ARG(job->reason));
    say_by(&saying->text, &facts->by, facts->wall_ms);
}

static void say(Saying *saying, const ExplainFacts *facts)
{
    const Job *job = facts->job;
    switch (job->state) {
    case JOB_DEFERRED:
        saying->reason = "not_due";
        saying->until_ms = job->dt_ms;
        saying->help = "pawl set %s --at now";
        buf_add_text(&saying->text, "its time has not come: it is due");
        say_at(&saying->text, job->dt_ms, facts->wall_ms);
        return;
    case JOB_BLOCKED:
        say_blocked(saying, facts);
        return;
    case JOB_READY:
        say_ready(saying, facts);
        return;
    case JOB_HELD:
        saying->reason = "held";
        saying->help = "pawl release %s";
        buf_add_text(&saying->text, "it is held until someone releases it");
        say_why(&saying->text, job);
        say_by(&saying->text, &facts->by, facts->wall_ms);
        return;
    case JOB_RUNNING:
        say_running(saying, facts);
        return;
    case JOB_PAUSED:
    case JOB_HALTED:
        say_stopped(saying, facts);
        return;
    case JOB_RETRYING:
        say_retrying(saying, job, facts->wall_ms);
        return;
    case JOB_DONE:
    case JOB_FAILED:
    case JOB_REJECTED:
    case JOB_CANCELLED:
        say_final(saying, facts);
        return;
    }
}

static void help_json(JsonOut *json, const Saying *saying)
{
    if (saying->command.bytes)
        json_text(json, "help", buf_slice(&saying->command));
    else
        json_cstr(json, "help", saying->help);
}

static void saying_members(JsonOut *json, const Saying *saying)
{
    json_cstr(json, "reason", saying->reason);
    json_text(json, "text", buf_slice(&saying->text));
    help_json(json, saying);
    json_time(json, "until", saying->until_ms);
}

static void reason_json(JsonOut *json, const ExplainFacts *facts, const Reason *reason)
{
    char id[ID_TEXT_BYTES];
    Saying saying = { 0 };
    say_reason(&saying, facts, reason);
    json_object(json, NULL);
    saying_members(json, &saying);
    if (reason->key.bytes)
        json_text(json, "resource", reason->key);
    if (reason->holder)
        json_cstr(json, "held_by", id_text(reason->holder, id));
    if (reason->holder_count) {
        json_array(json, "holders");
        for (uint32_t k = 0; k < reason_listed(reason); k++)
            json_cstr(json, NULL, id_text(reason->holders[k], id));
        json_array_end(json);
    }
    json_object_end(json);
    buf_done(&saying.text);
    buf_done(&saying.command);
}

static void behind_json(JsonOut *json, const ExplainFacts *facts)
{
    Saying saying = { .reason = "behind_others" };
    say_ahead(&saying.text, facts);
    json_object(json, NULL);
    saying_members(json, &saying);
    json_object_end(json);
    buf_done(&saying.text);
}

/* Every reason, in order. Of a job that is not ready the first is its state, and then
 * what will still stand in its way when that is over. Of a ready one those of its queue
 * that go before come behind what stops the node or the queue, and before what only it
 * lacks. */
static void reasons_json(JsonOut *json, const ExplainFacts *facts, const Saying *own)
{
    bool ready = facts->job->state == JOB_READY;
    size_t at = 0;
    json_array(json, "reasons");
    if (!ready) {
        json_object(json, NULL);
        saying_members(json, own);
        json_object_end(json);
    }
    while (at < facts->reason_count && facts->reasons[at].kind < REASON_RESOURCE_MISSING)
        reason_json(json, facts, &facts->reasons[at++]);
    if (ready && facts->ahead && strcmp(own->reason, "behind_others") != 0)
        behind_json(json, facts);
    while (at < facts->reason_count)
        reason_json(json, facts, &facts->reasons[at++]);
    json_array_end(json);
}

/* A help that names the job becomes a command that can be typed. */
static void say_command(Saying *saying, const Job *job)
{
    char id[ID_TEXT_BYTES];
    Slice rest = slice_text(saying->help);
    Slice before = slice_cut(&rest, '%');
    if (!rest.data || saying->command.bytes)
        return;
    buf_printf(&saying->command, SLICE_FMT "%s" SLICE_FMT, SLICE_ARG(before),
               id_text(job->id, id), SLICE_ARG(slice_from(rest, 1)));
    say_tenant(&saying->command, job);
}

static void by_json(JsonOut *json, const AuditRow *by)
{
    if (!by->at_ms)
        return;
    json_object(json, "by");
    json_text(json, "who", by->who);
    json_time(json, "at", by->at_ms);
    json_object_end(json);
}

void explain_json(JsonOut *json, const ExplainFacts *facts)
{
    const Job *job = facts->job;
    Saying saying = { 0 };
    say(&saying, facts);
    char id[ID_TEXT_BYTES];
    id_text(job->id, id);
    json_object(json, NULL);
    json_cstr(json, "id", id);
    json_cstr(json, "state", state_name(job->state));
    json_bool(json, "running", job->state == JOB_RUNNING);
    json_cstr(json, "reason", saying.reason);
    json_text(json, "text", buf_slice(&saying.text));
    say_command(&saying, job);
    help_json(json, &saying);
    json_time(json, "since", saying.since_ms);
    json_time(json, "until", saying.until_ms);
    by_json(json, &facts->by);
    if (job->state == JOB_READY) {
        json_int(json, "ahead", facts->ahead);
        json_bool(json, "ahead_more", facts->ahead_more);
    } else {
        json_null(json, "ahead");
        json_bool(json, "ahead_more", false);
    }
    json_object(json, "slots");
    json_int(json, "total", facts->node.slots);
    json_int(json, "used", facts->node.slots_used);
    json_object_end(json);
    reasons_json(json, facts, &saying);
    json_object_end(json);
    buf_done(&saying.text);
    buf_done(&saying.command);
}

/* --- Collecting the facts
 * --------------------------------------------------------------- */

typedef struct Aging {
    const Job *job;
    int64_t age_ms;
} Aging;

static void take_aging(void *context, const Definition *definition)
{
    Aging *aging = context;
    QueueDef def;
    if (slice_equal(definition->tenant, aging->job->tenant) &&
        slice_equal(definition->key, aging->job->queue) &&
        !queue_unpack(definition->value, &def))
        aging->age_ms = queue_age_ms(&def);
}

/* In the order of the queue, which is that of its priorities or, with aging, another. */
static void count_ahead(ExplainFacts *facts, Call *call, Store *store)
{
    const Job *job = facts->job;
    Load load = { .kind = LOAD_WINDOW,
                  .tenant = job->tenant,
                  .queue = job->queue,
                  .pull = job->flags & JOB_PULL,
                  .limit = EXPLAIN_AHEAD_MAX };
    Aging aging = { .job = job };
    Loaded loaded = { 0 };
    call->err = store->kind->definitions(store, SLICE_LITERAL(QUEUE_TABLE), take_aging,
                                         &aging, &call->why);
    if (call->err)
        return;
    load.age_ms = aging.age_ms;
    if (job->flags & JOB_SEGREGATED)
        load.key = job->type;
    call->err = store->kind->load(store, &load, &loaded, &call->why);
    while (!call->err && facts->ahead < loaded.count &&
           loaded.jobs[facts->ahead].id != job->id)
        facts->ahead++;
    facts->ahead_more = facts->ahead == loaded.count && loaded.more;
    loaded_done(&loaded);
}

static void take_pace(void *context, const Rollup *rollup)
{
    ExplainFacts *facts = context;
    if (!rollup->counts.started || !slice_equal(rollup->tenant, facts->job->tenant) ||
        !slice_equal(rollup->queue, facts->job->queue))
        return;
    if (facts->wall_ms - rollup->at_ms > facts->pace_ms)
        facts->pace_ms = facts->wall_ms - rollup->at_ms;
    facts->pace += rollup->counts.started;
}

static void find_pace(ExplainFacts *facts, Call *call, Store *store)
{
    facts->wall_ms = clock_now().wall_ms;
    call->err = store->kind->rollups(store, facts->wall_ms - EXPLAIN_PACE_MS, take_pace,
                                     facts, &call->why);
}

static void find_handler(ExplainFacts *facts, Call *call, Store *store)
{
    HandlerSeek seek = { .tenant = facts->job->tenant,
                         .type = facts->job->type,
                         .arena = &call->arena };
    call->err = handler_seek(store, &seek, &call->why);
    facts->disabled = seek.found && !seek.handler.deleted && seek.handler.disabled;
}

/* The action that brings a job into the state it is in; NULL: none of a person's. */
static const char *action_into(const Job *job)
{
    switch (job->state) {
    case JOB_HELD:
        return "hold";
    case JOB_PAUSED:
        return "pause";
    case JOB_HALTED:
        return "halt";
    case JOB_CANCELLED:
        return "cancel";
    case JOB_RUNNING:
        return job->flags & JOB_CANCELLING ? "cancel" : NULL;
    case JOB_DEFERRED:
    case JOB_BLOCKED:
    case JOB_READY:
    case JOB_RETRYING:
    case JOB_DONE:
    case JOB_FAILED:
    case JOB_REJECTED:
        return NULL;
    }
    return NULL;
}

/* Who it was, out of the audit: himself, or by an operation, which is then the reason. */
static void find_who(ExplainFacts *facts, Call *call, Store *store)
{
    const Job *job = facts->job;
    const char *action = action_into(job);
    char id[ID_TEXT_BYTES];
    if (!action)
        return;
    AuditSeek seek = { .kind = SLICE_LITERAL("job"),
                       .target = slice_text(id_text(job->id, id)),
                       .tenant = job->tenant,
                       .action = slice_text(action),
                       .from_ms = job->created_ms };
    Slice rest = job->reason;
    if (slice_is(slice_cut(&rest, ' '), REASON_OPERATION))
        seek = (AuditSeek){ .kind = SLICE_LITERAL("operation"),
                            .target = rest,
                            .action = SLICE_LITERAL("put"),
                            .from_ms = 0 };
    call->err = audit_find(store, &seek, &call->arena, &facts->by, &call->why);
    seek.action = SLICE_LITERAL("kill");
    if (!call->err && !facts->by.at_ms && slice_is(slice_text(action), "cancel"))
        call->err = audit_find(store, &seek, &call->arena, &facts->by, &call->why);
    seek.action = SLICE_LITERAL("add");
    if (!call->err && !facts->by.at_ms && job->state == JOB_HELD)
        call->err = audit_find(store, &seek, &call->arena, &facts->by, &call->why);
}

typedef struct Paused {
    const Job *job;
    bool paused;
} Paused;

static void take_paused(void *context, const Definition *definition)
{
    Paused *paused = context;
    QueueDef def;
    if (slice_equal(definition->tenant, paused->job->tenant) &&
        slice_equal(definition->key, paused->job->queue) &&
        !queue_unpack(definition->value, &def))
        paused->paused = def.paused;
}

static void find_who_paused(ExplainFacts *facts, Call *call, Store *store)
{
    Paused paused = { .job = facts->job };
    AuditSeek seek = { .kind = SLICE_LITERAL("queue"),
                       .target = facts->job->queue,
                       .tenant = facts->job->tenant,
                       .action = SLICE_LITERAL("put"),
                       .after = "\"paused\":true" };
    call->err = store->kind->definitions(store, SLICE_LITERAL(QUEUE_TABLE), take_paused,
                                         &paused, &call->why);
    if (!call->err && paused.paused)
        call->err = audit_find(store, &seek, &call->arena, &facts->paused_by, &call->why);
}

typedef struct Owner {
    ExplainFacts *facts;
    uint32_t number;
    Arena *arena;
} Owner;

static void take_owner(void *context, const NodeRow *row)
{
    const Owner *owner = context;
    ExplainFacts *facts = owner->facts;
    PeerFacts says;
    if (row->number != owner->number || peer_unpack(row->facts, &says))
        return;
    facts->elsewhere = true;
    facts->lost = row->left_ms <= 0 || row->fenced;
    facts->sysid = slice_copy(owner->arena, row->sysid);
    facts->node = (NodeFacts){ .slots = says.slots,
                               .slots_used = says.used,
                               .draining = says.draining != 0 };
}

static void take_drain(void *context, const Definition *definition)
{
    ExplainFacts *facts = context;
    if (slice_equal(definition->key, facts->sysid))
        facts->node.drained = true;
}

/* On a shared store a waiting job may be another node's. */
static void find_owner(ExplainFacts *facts, Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    Owner owner = { facts, job_owner(facts->job), &call->arena };
    if (owner.number == daemon_facts(exchange->daemon)->node)
        return;
    call->err = store->kind->nodes(store, take_owner, &owner, &call->why);
    if (!call->err && facts->elsewhere)
        call->err = store->kind->definitions(store, SLICE_LITERAL(DRAIN_TABLE),
                                             take_drain, facts, &call->why);
}

static void read_facts(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    ExplainFacts *facts = exchange->state;
    if (!call_load_job(call, store, exchange->id))
        return;
    facts->job = &call->job;
    if (call->job.state == JOB_READY)
        count_ahead(facts, call, store);
    if (!call->err && facts->ahead)
        find_pace(facts, call, store);
    if (call->job.state == JOB_BLOCKED)
        find_handler(facts, call, store);
    if (!call->err && call->job.state == JOB_BLOCKED && (call->job.flags & JOB_WAITS))
        call->err = waited_for_find(store, facts->job, &facts->waited, &call->why);
    if (!call->err)
        find_who(facts, call, store);
    if (!call->err && !state_in(call->job.state, STATES_FINAL | STATES_OWNED))
        find_who_paused(facts, call, store);
    if (!call->err && store->kind->shared && call->job.state == JOB_READY)
        find_owner(facts, call, store);
}

typedef struct ReasonList {
    Arena *arena;
    bool ready;
    bool elsewhere;
    Reason *items;
    size_t count;
    size_t capacity;
} ReasonList;

/* What is so only for the moment says nothing about a job that may not start yet. */
static bool lasts(ReasonKind kind)
{
    switch (kind) {
    case REASON_DRAINING:
    case REASON_DISABLED:
    case REASON_QUEUE_PAUSED:
    case REASON_RESOURCE_MISSING:
    case REASON_RESOURCE_SMALL:
        return true;
    case REASON_QUEUE_FULL:
    case REASON_QUEUE_RATE:
    case REASON_TENANT_FULL:
    case REASON_NODE_FULL:
    case REASON_RESOURCE_BUSY:
    case REASON_RESOURCE_KEPT:
    case REASON_HIGHLANDER:
        return false;
    }
    return false;
}

static void take_reason(void *context, const Reason *reason)
{
    ReasonList *list = context;
    Reason copy = *reason;
    if ((!list->ready || list->elsewhere) && !lasts(reason->kind))
        return;
    if (list->elsewhere && reason->kind == REASON_DRAINING)
        return; /* so does this one */
    copy.key = slice_copy(list->arena, reason->key);
    copy.text = slice_copy(list->arena, reason->text);
    MEM_PUSH(list->items, list->count, list->capacity) = copy;
}

static void look_at_node(Call *call, Daemon *daemon)
{
    Exchange *exchange = call->context;
    ExplainFacts *facts = exchange->state;
    const Node *node = daemon_node(daemon);
    if (!facts->elsewhere) {
        facts->node = node_facts(node);
        facts->sysid = slice_text(daemon_facts(daemon)->sysid);
    }
    facts->enabled = node_settings(node)->enabled;
    RunningJob running;
    if (node_running_find(node, facts->job->id, &running))
        facts->slot = running.slot;
    if (state_in(facts->job->state, STATES_FINAL | STATES_OWNED))
        return;
    ReasonList list = { .arena = &call->arena,
                        .ready = facts->job->state == JOB_READY,
                        .elsewhere = facts->elsewhere };
    node_reasons(node, facts->job, clock_now(), take_reason, &list);
    facts->reason_count = list.count;
    facts->reasons =
        list.count ? arena_copy(&call->arena, list.items, list.count * sizeof *list.items)
                   : NULL;
    mem_free(list.items);
}

static void node_looked_at(Exchange *exchange, Call *call)
{
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    explain_json(&json, exchange->state);
    exchange_reply_json(exchange, 200);
}

static void facts_read(Exchange *exchange, Call *call)
{
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    exchange_look(exchange, look_at_node, node_looked_at);
}

static void explain(Exchange *exchange)
{
    ExplainFacts *facts = ARENA_NEW(&exchange->arena, ExplainFacts);
    facts->wall_ms = clock_now().wall_ms;
    exchange->state = facts;
    exchange_read(exchange, read_facts, facts_read);
}

void api_job_explain(Exchange *exchange)
{
    api_with_job(exchange, explain);
}
