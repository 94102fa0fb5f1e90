/* SPDX-License-Identifier: Apache-2.0 */
/* api_explain.c - see api_explain.h. */
#include "serve/api_explain.h"

#include "serve/api_common.h"
#include "serve/api_handlers.h"
#include "serve/explain_words.h"

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
        buf_printf(
            &saying->text, "it waits: " SLICE_FMT,
            SLICE_ARG(job->reason.bytes ? job->reason : SLICE_LITERAL("for other jobs")));
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

static void say_ready(Saying *saying, const ExplainFacts *facts)
{
    const Reason *queue = reason_among(facts, REASON_QUEUE_PAUSED, REASON_QUEUE_RATE);
    const Reason *resource =
        reason_among(facts, REASON_RESOURCE_MISSING, REASON_HIGHLANDER);
    saying->since_ms = job_ready_since(facts->job);
    if (facts->node.draining) {
        saying->reason = "draining";
        buf_add_text(&saying->text, "the node is draining: it starts nothing more");
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
        buf_printf(&saying->text,
                   "it is ready; %s%u job%s of its queue go%s first, and %u of %u slots "
                   "are in use",
                   facts->ahead_more ? "at least " : "", facts->ahead,
                   facts->ahead == 1 ? "" : "s", facts->ahead == 1 ? "es" : "",
                   facts->node.slots_used, facts->node.slots);
    } else if (facts->node.slots_used >= facts->node.slots) {
        saying->reason = "no_free_slot";
        saying->help = "pawl config set max_concurrent_jobs=N";
        buf_printf(&saying->text,
                   "it is the next of its queue, but all %u slots are in use",
                   facts->node.slots);
    } else {
        saying->reason = "next";
        buf_add_text(&saying->text, "it is ready and will start at once");
    }
}

static void say_running(Saying *saying, const Job *job)
{
    saying->since_ms = job->started_ms;
    if (job->max_run_ms)
        saying->until_ms = job->started_ms + job->max_run_ms;
    bool stopping = job->flags & JOB_CANCELLING;
    saying->reason = stopping ? "cancelling" : "running";
    saying->help = stopping ? "pawl kill %s" : NULL;
    buf_printf(&saying->text, "attempt %u runs on node " SLICE_FMT "%s", job->attempt,
               SLICE_ARG(job->node), stopping ? "; its end is asked for" : "");
}

static void say_retrying(Saying *saying, const Job *job, int64_t wall_ms)
{
    saying->reason = "retrying";
    saying->until_ms = job->dt_ms;
    saying->help = "pawl retry %s";
    buf_printf(&saying->text, "attempt %u ended with %s; it runs again", job->attempt,
               code_name(job->outcome.code));
    say_in(&saying->text, job->dt_ms, wall_ms);
}

static void say_final(Saying *saying, const Job *job)
{
    saying->reason = state_name(job->state);
    saying->since_ms = job->finished_ms;
    saying->help = job->state == JOB_DONE ? NULL : "pawl retry %s";
    buf_printf(&saying->text, "it is over: %s after %u attempt%s", state_name(job->state),
               job->attempt, job->attempt == 1 ? "" : "s");
    Slice why = job->error.bytes ? job->error : job->reason;
    if (why.bytes)
        buf_printf(&saying->text, " (" SLICE_FMT ")", SLICE_ARG(why));
}

static void say(Saying *saying, const ExplainFacts *facts)
{
    const Job *job = facts->job;
    switch (job->state) {
    case JOB_DEFERRED:
        saying->reason = "not_due";
        saying->until_ms = job->dt_ms;
        saying->help = "pawl set %s --at now";
        buf_add_text(&saying->text, "its time has not come");
        say_in(&saying->text, job->dt_ms, facts->wall_ms);
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
        return;
    case JOB_RUNNING:
        say_running(saying, job);
        return;
    case JOB_PAUSED:
    case JOB_HALTED:
        saying->reason = state_name(job->state);
        saying->help = "pawl resume %s";
        buf_printf(&saying->text, "it is %s until someone resumes it",
                   state_name(job->state));
        return;
    case JOB_RETRYING:
        say_retrying(saying, job, facts->wall_ms);
        return;
    case JOB_DONE:
    case JOB_FAILED:
    case JOB_REJECTED:
    case JOB_CANCELLED:
        say_final(saying, job);
        return;
    }
}

/* Every reason, in order; the first of them is the one that `reason` tells unless others
 * of the queue go before. */
static void reasons_json(JsonOut *json, const ExplainFacts *facts)
{
    char id[ID_TEXT_BYTES];
    json_array(json, "reasons");
    for (size_t i = 0; i < facts->reason_count; i++) {
        const Reason *reason = &facts->reasons[i];
        Saying saying = { 0 };
        say_reason(&saying, facts, reason);
        json_object(json, NULL);
        json_cstr(json, "reason", saying.reason);
        json_text(json, "text", buf_slice(&saying.text));
        if (saying.command.bytes)
            json_text(json, "help", buf_slice(&saying.command));
        else
            json_null(json, "help");
        json_time(json, "until", saying.until_ms);
        if (reason->key.bytes)
            json_text(json, "resource", reason->key);
        if (reason->holder)
            json_cstr(json, "held_by", id_text(reason->holder, id));
        json_object_end(json);
        buf_done(&saying.text);
        buf_done(&saying.command);
    }
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
    if (saying.command.bytes)
        json_text(json, "help", buf_slice(&saying.command));
    else
        json_cstr(json, "help", saying.help);
    json_time(json, "since", saying.since_ms);
    json_time(json, "until", saying.until_ms);
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
    reasons_json(json, facts);
    json_object_end(json);
    buf_done(&saying.text);
    buf_done(&saying.command);
}

/* --- Collecting the facts
 * --------------------------------------------------------------- */

static void count_ahead(ExplainFacts *facts, Call *call, Store *store)
{
    const Job *job = facts->job;
    Load load = { .kind = LOAD_WINDOW,
                  .tenant = job->tenant,
                  .queue = job->queue,
                  .pull = job->flags & JOB_PULL,
                  .limit = EXPLAIN_AHEAD_MAX };
    Loaded loaded = { 0 };
    call->err = store->kind->load(store, &load, &loaded, &call->why);
    while (!call->err && facts->ahead < loaded.count &&
           loaded.jobs[facts->ahead].id != job->id)
        facts->ahead++;
    facts->ahead_more = facts->ahead == loaded.count && loaded.more;
    loaded_done(&loaded);
}

static void find_handler(ExplainFacts *facts, Call *call, Store *store)
{
    HandlerSeek seek = { .tenant = facts->job->tenant,
                         .type = facts->job->type,
                         .arena = &call->arena };
    call->err = handler_seek(store, &seek, &call->why);
    facts->disabled = seek.found && !seek.handler.deleted && seek.handler.disabled;
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
    if (call->job.state == JOB_BLOCKED)
        find_handler(facts, call, store);
}

typedef struct ReasonList {
    Arena *arena;
    Reason *items;
    size_t count;
    size_t capacity;
} ReasonList;

static void take_reason(void *context, const Reason *reason)
{
    ReasonList *list = context;
    Reason copy = *reason;
    copy.key = slice_copy(list->arena, reason->key);
    copy.text = slice_copy(list->arena, reason->text);
    MEM_PUSH(list->items, list->count, list->capacity) = copy;
}

static void look_at_node(Call *call, Daemon *daemon)
{
    Exchange *exchange = call->context;
    ExplainFacts *facts = exchange->state;
    const Node *node = daemon_node(daemon);
    facts->node = node_facts(node);
    facts->enabled = node_settings(node)->enabled;
    if (facts->job->state != JOB_READY)
        return;
    ReasonList list = { .arena = &call->arena };
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
    Call *next = exchange_call(exchange, CALL_LOOK, node_looked_at);
    next->look = look_at_node;
    exchange_send(exchange, next);
}

static void explain(Exchange *exchange)
{
    ExplainFacts *facts = ARENA_NEW(&exchange->arena, ExplainFacts);
    facts->wall_ms = clock_now().wall_ms;
    exchange->state = facts;
    Call *call = exchange_call(exchange, CALL_READ, facts_read);
    call->read = read_facts;
    exchange_send(exchange, call);
}

void api_job_explain(Exchange *exchange)
{
    api_with_job(exchange, explain);
}
