/* SPDX-License-Identifier: Apache-2.0 */
/* effects.c - what is done outside once it is safe: answers, starts, signals, questions,
 * and telling everyone who listens. */
#include "engine/daemon_state.h"

#include "cluster/cluster.h"

#include "watch/alerts.h"

#include "access/security.h"
#include "base/log.h"
#include "cluster/remote_events.h"
#include "cluster/remote_order.h"
#include "config/settings.h"
#include "core/operation.h"
#include "engine/processors.h"
#include "intake/control_run.h"
#include "model/handler_order.h"
#include "model/job_json.h"
#include "model/resource_json.h"
#include "watch/notices.h"
#include "watch/notify.h"

#include <signal.h>

#define TRIAL_SLOTS (1u << 20) /* contexts of trials: slots that no node has */

/* What was sent to an attempt before it could be started. */
typedef enum EarlySignal {
    EARLY_NONE = 1, /* so that an entry is not NULL */
    EARLY_STOP = 2,
    EARLY_TERM = 4,
    EARLY_KILL = 8,
} EarlySignal;

/* With a claim go the jobs that were accepted a moment ago. */
static void reply_items(Daemon *daemon, Call *call, const Effect *effect)
{
    size_t count = (size_t)effect->count;
    call->items = arena_copy(&call->arena, effect->items, count * sizeof *effect->items);
    if (call->event.kind != EVENT_CLAIM)
        return;
    call->jobs = arena_take(&call->arena, count * sizeof *call->jobs);
    for (size_t i = 0; i < count; i++) {
        Body *body = job_cache_take(&daemon->bodies, effect->items[i].id);
        Job job;
        if (body && !body_job(body, &job))
            call->jobs[i] = job_copy(&call->arena, &job);
        body_free(body);
    }
}

static const Refused *refused_copy(Arena *arena, const Effect *effect)
{
    if (!effect->refused_count)
        return NULL;
    Refused *copy =
        arena_copy(arena, effect->refused, effect->refused_count * sizeof *copy);
    for (size_t i = 0; i < effect->refused_count; i++) {
        copy[i].problem = slice_cstr(arena, slice_text(copy[i].problem));
        copy[i].detail = slice_copy(arena, copy[i].detail);
    }
    return copy;
}

static void reply(Daemon *daemon, const Effect *effect)
{
    Call *call = map_remove(&daemon->open_calls, effect->request);
    if (!call)
        return; /* no one waits */
    call->err = effect->err;
    if (effect->problem) /* another node's word lives only as long as the turn */
        call->problem = slice_cstr(&call->arena, slice_text(effect->problem));
    if (effect->detail.bytes)
        error_set(&call->why, effect->err, SLICE_FMT, SLICE_ARG(effect->detail));
    call->refused_count = effect->refused_count;
    call->refused = refused_copy(&call->arena, effect);
    call->allowed = effect->allowed;
    call->first = effect->first;
    call->count = effect->count;
    call->node = daemon->identity.number;
    call->replayed = effect->replayed;
    if (effect->added_items)
        call->added = arena_copy(&call->arena, effect->added_items,
                                 effect->count * sizeof *effect->added_items);
    if (effect->job) {
        call->job = job_copy(&call->arena, effect->job);
        call->has_job = true;
    }
    if (effect->items)
        reply_items(daemon, call, effect);
    call->done(call);
}

/* Told as an end in the next turn. */
static void cannot_start(Daemon *daemon, const Job *job, const char *text, bool gone)
{
    RunNews *news = MEM_NEW(RunNews);
    news->kind = RUN_FAILED;
    news->id = job->id;
    news->attempt = job->attempt;
    news->node_fault = gone; /* not charged: it waits for a handler again */
    buf_printf(&news->text, "cannot start: %s", text);
    mailbox_put(&daemon->news, &news->mail);
}

static void start_call(Daemon *daemon, const Job *job, const Handler *handler,
                       int64_t deadline_ms)
{
    WebOrder order = { .job = job,
                       .url = handler->body,
                       .headers = handler->headers,
                       .version = handler->version,
                       .batch = handler->batch,
                       .deadline_ms = deadline_ms };
    web_start(daemon->web, &order);
}

/* Of a trial its own, else the newest of the type. */
static const Handler *handler_of(const Daemon *daemon, const Job *job)
{
    const Handler *trial = daemon_trial_handler(daemon, job->id);
    return trial ? trial : node_handler(daemon->node, job->tenant, job->type);
}

/* The runner is told to start it, or only to prepare it. */
typedef void TellRunner(Runner *runner, const RunOrder *order);

static void start_process(Daemon *daemon, const Job *job, const Handler *handler,
                          int64_t deadline_ms, TellRunner *tell)
{
    Buf document = { 0 };
    JsonOut json = { .out = &document };
    Job running = *job;
    Arena arena = { 0 };
    Error why = { 0 };
    running.state = JOB_RUNNING;
    if (handler && handler_order(handler, &arena, &running, &why)) {
        cannot_start(daemon, job, why.text, false);
        arena_done(&arena);
        return;
    }
    Buf variables = { 0 };
    if (control_order(daemon, &running, &variables, &why)) {
        cannot_start(daemon, job, why.text, false);
        buf_done(&variables);
        arena_done(&arena);
        return;
    }
    running.node = slice_text(daemon->identity.sysid);
    if (job->flags & JOB_CONTROL)
        buf_add_slice(&document, job->payload);
    else
        job_json(&json, NULL, &running);
    booking_env(running.bookings, &variables);
    if ((running.flags & JOB_UNIT) && running.attempt > 1)
        running.command = processors_command(&arena, running.command);
    RunOrder order = {
        .job = &running,
        .nice = node_job_nice(daemon->node, job),
        .lease_boot = cluster_lease_boot(daemon),
        .document = buf_slice(&document),
        .env = buf_slice(&variables),
        .deadline_ms = deadline_ms,
        .children_now = slice_is(running.children, "immediate"),
    };
    tell(daemon->runner, &order);
    buf_done(&document);
    buf_done(&variables);
    arena_done(&arena);
}

/* The core has decided by the handler as it was then; one that came meanwhile, of the
 * other kind, gets the job in a moment. */
static void start_job(Daemon *daemon, const Job *job, const StartHow *how)
{
    Error why = { 0 };
    bool own = job->command.bytes > 0;
    const Handler *handler = own ? NULL : handler_of(daemon, job);
    if (!own && !handler)
        cannot_start(daemon, job, "its handler is gone", true);
    else if (handler && handler->lang == LANG_PULL) /* since it was claimed */
        cannot_start(daemon, job, "its handler is for pull workers now", true);
    else if (how->warm != (handler && handler_warm(handler)))
        cannot_start(daemon, job, "its handler was changed", true);
    else if (handler && handler->lang == LANG_HTTP && job->user.bytes)
        cannot_start(daemon, job, "user is for jobs that are processes", false);
    else if (handler && handler->lang == LANG_HTTP)
        start_call(daemon, job, handler, how->deadline_ms);
    else if (!processors_have(job))
        cannot_start(daemon, job, "its unit is gone", false);
    else if (!how->warm)
        start_process(daemon, job, handler, how->deadline_ms, runner_start);
    else if (warm_add(&daemon->warm, handler, job, how->slot, &why))
        cannot_start(daemon, job, why.text, false);
}

void daemon_start_trial(Daemon *daemon, const Job *job, int64_t deadline_ms)
{
    bool warm = handler_warm(daemon_trial_handler(daemon, job->id));
    uint32_t slot = TRIAL_SLOTS | (uint32_t)(job->id & 0xfff); /* beside all others */
    start_job(daemon, job, &(StartHow){ deadline_ms, slot, warm });
    warm_flush(&daemon->warm);
}

/* To whoever has the attempt: the other does not know it. */
void daemon_tell_signal(Daemon *daemon, JobId id, uint32_t attempt, int number)
{
    runner_signal(daemon->runner, id, attempt, number);
    web_signal(daemon->web, id, attempt, number);
}

/* The whole job: at hand if it was accepted a moment ago, else from the store. */
static void start(Daemon *daemon, const Effect *effect)
{
    StartHow how = { effect->deadline_ms, effect->slot, effect->warm };
    if (!cluster_may_start(daemon)) {
        Job late = { .id = effect->id, .attempt = effect->attempt };
        cannot_start(daemon, &late, "the lease of this node is over", true);
        return;
    }
    Body *body = job_cache_take(&daemon->bodies, effect->id);
    Job job;
    if (body && !body_job(body, &job)) {
        job.attempt = effect->attempt;
        job.bookings = effect->bookings;
        map_remove(&daemon->early_signals, effect->id); /* of an attempt before */
        start_job(daemon, &job, &how);
        body_free(body);
        return;
    }
    body_free(body);
    Ask *ask = MEM_NEW(Ask);
    ask->purpose = ASK_START;
    ask->load = (Load){ .kind = LOAD_JOB, .id = effect->id };
    ask->attempt = effect->attempt;
    ask->how = how;
    ask->needs = daemon->durable;
    map_put(&daemon->early_signals, effect->id, (void *)(uintptr_t)EARLY_NONE);
    ingest_ask(daemon->ingest, ask);
}

/* Whether it is a process without doubt: everything else is decided when it is durable.
 */
static bool is_process(const Daemon *daemon, const Job *job, const Handler **out_handler)
{
    *out_handler = job->command.bytes ? NULL : handler_of(daemon, job);
    if (job->command.bytes)
        return true;
    const Handler *handler = *out_handler;
    return handler && handler->lang != LANG_PULL && handler->lang != LANG_HTTP &&
           !handler_warm(handler);
}

bool daemon_start_early(Daemon *daemon, const Effect *effect)
{
    const Body *found = effect->warm ? NULL : job_cache_find(&daemon->bodies, effect->id);
    const Handler *handler;
    Job job;
    if (!found || body_job(found, &job) || !is_process(daemon, &job, &handler) ||
        !processors_have(&job))
        return false;
    job.attempt = effect->attempt;
    job.bookings = effect->bookings;
    start_process(daemon, &job, handler, effect->deadline_ms, runner_prepare);
    body_free(job_cache_take(&daemon->bodies, effect->id));
    return true;
}

/* A signal must not overtake the start that waits for its job. */
static void send_signal(Daemon *daemon, const Effect *effect)
{
    uintptr_t early = (uintptr_t)map_find(&daemon->early_signals, effect->id);
    if (!early) {
        warm_flush(&daemon->warm); /* it may be among them */
        daemon_tell_signal(daemon, effect->id, effect->attempt, effect->signal);
        return;
    }
    if (effect->signal == SIGCONT)
        early &= ~(uintptr_t)EARLY_STOP;
    else
        early |= effect->signal == SIGSTOP   ? EARLY_STOP
                 : effect->signal == SIGKILL ? EARLY_KILL
                                             : EARLY_TERM;
    map_put(&daemon->early_signals, effect->id, (void *)early);
}

void daemon_start_asked(Daemon *daemon, const Job *job, const StartHow *how)
{
    static const struct {
        EarlySignal bit;
        int number;
    } signals[] = { { EARLY_STOP, SIGSTOP },
                    { EARLY_TERM, SIGTERM },
                    { EARLY_KILL, SIGKILL } };
    start_job(daemon, job, how);
    uintptr_t early = (uintptr_t)map_remove(&daemon->early_signals, job->id);
    if (early > EARLY_NONE)
        warm_flush(&daemon->warm); /* it must be there to get them */
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (early & signals[i].bit)
            daemon_tell_signal(daemon, job->id, job->attempt, signals[i].number);
}

static void ask_store(Daemon *daemon, const Effect *effect)
{
    Ask *ask = MEM_NEW(Ask);
    ask->purpose = ASK_NODE;
    ask->token = effect->token;
    ask->needs = journal_end(daemon->journal);
    ask->load = load_of(effect, &ask->arena);
    ingest_ask(daemon->ingest, ask);
}

/* 002's analytics live on these three lines (S2.11, S2.12). */
static void log_change(const Daemon *daemon, const Effect *effect)
{
    char id[ID_TEXT_BYTES];
    char fields[640];
    if (!log_enabled(effect->chain_over ? LOG_WARN : LOG_INFO))
        return;
    snprintf(fields, sizeof fields,
             "job=%s type=" SLICE_FMT " queue=" SLICE_FMT " tenant=" SLICE_FMT
             " priority=%lld node=%s",
             id_text(effect->id, id), SLICE_ARG(effect->type), SLICE_ARG(effect->queue),
             SLICE_ARG(effect->tenant), (long long)effect->priority,
             daemon->identity.sysid);
    if (effect->chain_over)
        log_event(LOG_WARN, "job.chain_over", "%s chain_max=%u", fields,
                  node_settings(daemon->node)->chain_max);
    if (effect->code || state_in(effect->state, STATES_FINAL))
        log_event(LOG_INFO, "job.finished", "%s attempt=%u state=%s code=%s dur_ms=%lld",
                  fields, effect->attempt, state_name(effect->state),
                  code_name(effect->code), (long long)effect->run_ms);
    else if (effect->state == JOB_RUNNING && effect->was == JOB_READY)
        log_event(LOG_INFO, "job.started", "%s attempt=%u wait_ms=%lld", fields,
                  effect->attempt, (long long)effect->wait_ms);
    else if (effect->added)
        log_event(LOG_INFO, "job.added", "%s state=%s count=%llu", fields,
                  state_name(effect->state), (unsigned long long)effect->count);
    else
        log_event(LOG_INFO, "job.changed", "%s state=%s was=%s", fields,
                  state_name(effect->state), state_name(effect->was));
}

static void changed(Daemon *daemon, const Effect *effect)
{
    metrics_changed(daemon->metrics, effect);
    event_log_add(&daemon->event_log, effect, clock_now().wall_ms);
    if (daemon->cluster_link)
        remote_events_happened(remote_query_events(remote_order_afar(daemon)));
    log_change(daemon, effect);
    processors_changed(daemon, effect); /* before anyone hears that it is final */
    if (!state_in(effect->state, STATES_FINAL))
        return;
    daemon_waiters_answer(daemon, effect->id, ERR_OK);
    notify_ended(daemon, effect);
}

static void defined(Daemon *daemon, const Effect *effect)
{
    Error why = { 0 };
    processors_defined(daemon, effect);
    security_defined(daemon->security, effect);
    if (slice_is(effect->table, ALERT_TABLE))
        alerts_defined(daemon->alerts, effect->tenant, effect->key, effect->value);
    JobId operation;
    if (slice_is(effect->table, OPERATION_TABLE) && !id_parse(effect->key, &operation))
        daemon_waiters_answer(daemon, operation, ERR_OK);
    if (slice_is(effect->table, NOTICE_TABLE))
        notices_kept(daemon->notices, &(NoticeName){ effect->tenant, effect->key },
                     effect->value);
    if (slice_is(effect->table, ALERT_STATES))
        alerts_kept(daemon->alerts, effect->tenant, effect->key);
    if (!slice_is(effect->table, SETTINGS_TABLE))
        return;
    NodeSettings settings = *node_settings(daemon->node);
    uint32_t bit = setting_bit(effect->key);
    if (!effect->value.data) {
        daemon->settings_stored &= ~bit;
        settings_first(&settings, &daemon->node_first, daemon->settings_stored);
    } else if (settings_apply(&settings, effect->key, effect->value, &why)) {
        log_event(LOG_ERROR, "config.refused", "why=%s", LOG_QUOTED(why.text));
        return;
    } else {
        daemon->settings_stored |= bit;
    }
    node_settings_set(daemon->node, &settings);
    log_event(LOG_INFO, "config.changed", "key=" SLICE_FMT " value=" SLICE_FMT,
              SLICE_ARG(effect->key), SLICE_ARG(effect->value));
}

void daemon_effect(Daemon *daemon, const Effect *effect)
{
    switch (effect->kind) {
    case EFFECT_REPLY:
        reply(daemon, effect);
        return;
    case EFFECT_START:
        start(daemon, effect);
        return;
    case EFFECT_SIGNAL:
        send_signal(daemon, effect);
        return;
    case EFFECT_FORGET:
        runner_forget(daemon->runner, effect->id, effect->attempt);
        return;
    case EFFECT_LOAD:
        ask_store(daemon, effect);
        return;
    case EFFECT_CHANGED:
        changed(daemon, effect);
        return;
    case EFFECT_ERASE:
        runner_erase(daemon->runner, effect->id, effect->attempt);
        if (daemon->cluster_link)
            remote_query_erased(remote_order_afar(daemon), effect->id, effect->attempt);
        return;
    case EFFECT_DEFINED:
        defined(daemon, effect);
        return;
    case EFFECT_LETTER:
        remote_order_letter(daemon, effect);
        return;
    }
}

bool daemon_waiter_ask(Daemon *daemon, JobId id)
{
    const Call *call = map_find(&daemon->waiters, id);
    if (!call || call->event.table.bytes)
        return false; /* for an operation: whoever waits looks again after a while */
    Ask *ask = MEM_NEW(Ask);
    ask->purpose = ASK_WAIT;
    ask->load = (Load){ .kind = LOAD_JOB, .id = id };
    ask->needs = journal_end(daemon->journal);
    ingest_ask(daemon->ingest, ask);
    return true;
}

/* Someone waits for a job's end. It may have come already: the store is asked once, after
 * the waiter is in place, so that no end falls between. */
void daemon_waiter_add(Daemon *daemon, Call *call)
{
    JobId id = call->event.id;
    call->deadline_boot = clock_now().boot_ms + call->timeout_ms;
    call->mail.next = map_find(&daemon->waiters, id);
    map_put(&daemon->waiters, id, call);
    daemon->waiter_count++;
    daemon_waiter_ask(daemon, id);
}

static void answer_list(Daemon *daemon, Call *call, Err err)
{
    while (call) {
        Call *next = (Call *)(void *)call->mail.next;
        daemon->waiter_count--;
        call->err = err;
        call->problem = err == ERR_NOT_FOUND ? "job_not_found" : NULL;
        call->done(call);
        call = next;
    }
}

void daemon_waiters_answer(Daemon *daemon, JobId id, Err err)
{
    if (daemon->waiter_count)
        answer_list(daemon, map_remove(&daemon->waiters, id), err);
}

void daemon_waiters_end(Daemon *daemon)
{
    MapEntry entry;
    for (size_t at = 0; daemon->waiter_count && map_next(&daemon->waiters, &at, &entry);
         at = 0) /* what follows may have moved */
        answer_list(daemon, map_remove(&daemon->waiters, entry.key), ERR_OK);
}

/* Splits the waiters of one job into those whose time is up and those who stay. */
static Call *take_expired(Call **list, int64_t boot_ms)
{
    Call *expired = NULL;
    for (Call **at = list; *at;) {
        Call *call = *at;
        if (call->deadline_boot > boot_ms) {
            at = (Call **)(void *)&call->mail.next;
            continue;
        }
        *at = (Call *)(void *)call->mail.next;
        call->mail.next = (Mail *)(void *)expired;
        expired = call;
    }
    return expired;
}

void daemon_waiters_expire(Daemon *daemon, Now now)
{
    Call *expired = NULL;
    JobId id = 0;
    do {
        MapEntry entry;
        expired = NULL;
        for (size_t at = 0; !expired && daemon->waiter_count &&
                            map_next(&daemon->waiters, &at, &entry);) {
            Call *list = entry.value;
            expired = take_expired(&list, now.boot_ms);
            if (!expired)
                continue;
            id = entry.key;
            map_remove(&daemon->waiters, id);
            if (list)
                map_put(&daemon->waiters, id, list);
        }
        answer_list(daemon, expired, ERR_TIMEOUT);
    } while (expired);
}
