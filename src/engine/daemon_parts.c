/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_parts.c - what hangs on the daemon's turn, one row each, in order. They do not
 * see each other. */
#include "engine/daemon_state.h"

#include "access/security.h"
#include "base/log.h"
#include "cluster/cluster.h"
#include "cluster/remote_events.h"
#include "cluster/remote_order.h"
#include "cluster/remote_query.h"
#include "cluster/usage.h"
#include "config/settings.h"
#include "engine/leftovers.h"
#include "engine/processors.h"
#include "engine/read_barrier.h"
#include "intake/control_run.h"
#include "watch/alerts.h"
#include "watch/notices.h"
#include "watch/notify.h"

#include <stdio.h>

#define TRIALS_LOOK_MS 100 /* between two looks at their deadlines */

/* --- The name of this node ------------------------------------------------------------
 */

static bool name_collect(void *world, Now now)
{
    name_lease_look(world, now);
    return true;
}

static const EnginePart name_part = { .name = "name", .collect = name_collect };

/* --- Who may do what ------------------------------------------------------------------
 */

static bool access_collect(void *world, Now now)
{
    const Daemon *daemon = world;
    usage_look(daemon->security->usage, now);
    return true;
}

static void access_decided(void *world, Outbox *out, Now now)
{
    Daemon *daemon = world;
    audit_turn(daemon->security->audit, out, &daemon->engine.waiting.calls, now);
}

static void access_effect(void *world, const Effect *effect)
{
    const Daemon *daemon = world;
    if (effect->kind == EFFECT_DEFINED)
        security_defined(daemon->security, effect);
}

static const EnginePart access_part = { .name = "access",
                                        .collect = access_collect,
                                        .decided = access_decided,
                                        .effect = access_effect };

/* --- Trials of handlers ---------------------------------------------------------------
 */

static bool trials_collect(void *world, Now now)
{
    daemon_trials_look(world, now);
    return true;
}

static bool trials_news(void *world, RunNews *news)
{
    return news->kind == RUN_CHILD &&
           daemon_trial_child(world, news->id, buf_slice(&news->text));
}

static bool trials_event(void *world, const Event *event)
{
    return daemon_trial_event(world, event);
}

static int64_t trials_wake(const void *world, Now now)
{
    const Daemon *daemon = world;
    return daemon->trials.count ? now.boot_ms + TRIALS_LOOK_MS : TIME_NEVER;
}

static const EnginePart trials_part = { .name = "trials",
                                        .collect = trials_collect,
                                        .news = trials_news,
                                        .event = trials_event,
                                        .wake_boot = trials_wake };

/* --- Definitions of the configuration file --------------------------------------------
 */

static Event *define(Daemon *daemon, Slice table, const DeclareChange *change)
{
    Event *event = engine_event(&daemon->engine, EVENT_DEFINE);
    event->table = table;
    event->tenant = change->tenant;
    event->key = change->name;
    event->value = change->value;
    return event;
}

/* A definition and the mark of it, in one turn. */
static void take_declared(void *context, const DeclareChange *change)
{
    Daemon *daemon = context;
    Buf key = { 0 };
    if (!change->mark_only)
        define(daemon, change->table, change);
    declares_mark(daemon->declares, change, &key);
    define(daemon, SLICE_LITERAL(DECLARED_TABLE), change)->key =
        slice_copy(&daemon->engine.in.step, buf_slice(&key));
    buf_clear(&key);
    buf_printf(&key, "table=" SLICE_FMT " tenant=" SLICE_FMT " name=" SLICE_FMT,
               SLICE_ARG(change->table), SLICE_ARG(change->tenant),
               SLICE_ARG(change->name));
    if (change->value.data)
        log_event(LOG_INFO, "config.declared", "%s", buf_cstr(&key));
    else
        log_event(LOG_INFO, "config.undeclared", "%s", buf_cstr(&key));
    buf_done(&key);
}

/* Calls see the turn after it. */
static bool declares_collect(void *world, Now now)
{
    Daemon *daemon = world;
    (void)now;
    if (!declares_pending(daemon->declares) || daemon->engine.no_room)
        return true;
    declares_changes(daemon->declares, take_declared, daemon);
    uv_async_send(&daemon->wake);
    return false;
}

static const EnginePart declares_part = { .name = "declares",
                                          .collect = declares_collect };

/* --- Other nodes ----------------------------------------------------------------------
 */

static bool nodes_collect(void *world, Now now)
{
    cluster_collect(world, now);
    return true;
}

static void nodes_stored(void *world, const IngestNews *news)
{
    if (news->lost)
        cluster_refused(world);
}

static void nodes_effect(void *world, const Effect *effect)
{
    Daemon *daemon = world;
    if (effect->kind == EFFECT_LETTER)
        remote_order_letter(daemon, effect);
    if (!daemon->cluster_link)
        return;
    if (effect->kind == EFFECT_CHANGED)
        remote_events_happened(remote_query_events(remote_order_afar(daemon)));
    if (effect->kind == EFFECT_ERASE)
        remote_query_erased(remote_order_afar(daemon), effect->id, effect->attempt);
}

static int64_t nodes_wake(const void *world, Now now)
{
    return cluster_awaits(world) ? now.boot_ms + SETTLE_LOOK_MS : TIME_NEVER;
}

static const EnginePart nodes_part = { .name = "nodes",
                                       .collect = nodes_collect,
                                       .stored = nodes_stored,
                                       .effect = nodes_effect,
                                       .wake_boot = nodes_wake };

/* --- Metrics, events, log -------------------------------------------------------------
 */

/* Seconds per write and per sync since the last turn: the mean of a few, because only
 * sums are kept. */
static void count_syncs(Daemon *daemon)
{
    JournalStats now;
    JournalStats *seen = &daemon->journal_seen;
    journal_stats(daemon->journal, &now);
    uint64_t syncs = now.syncs - seen->syncs;
    for (uint64_t i = 0; i < syncs; i++) {
        double each = 1e-9 / (double)syncs;
        metrics_journal_append(daemon->metrics,
                               (double)(now.write_ns - seen->write_ns) * each);
        metrics_journal_sync(daemon->metrics,
                             (double)(now.sync_ns - seen->sync_ns) * each);
    }
    if (syncs)
        daemon->sync_ns = (int64_t)((now.sync_ns - seen->sync_ns) / syncs);
    *seen = now;
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
                  node_settings(daemon->engine.node)->chain_max);
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

static void watch_stored(void *world, const IngestNews *news)
{
    const Daemon *daemon = world;
    if (news->refused && !daemon->cluster_link)
        log_event(LOG_ERROR, "store.refused", "operations=%llu",
                  (unsigned long long)news->refused);
    if (news->ops)
        metrics_store_commit(daemon->metrics, news->commit_seconds);
}

static void watch_effect(void *world, const Effect *effect)
{
    Daemon *daemon = world;
    if (effect->kind != EFFECT_CHANGED)
        return;
    metrics_changed(daemon->metrics, effect);
    event_log_add(&daemon->event_log, effect, clock_now().wall_ms);
    log_change(daemon, effect);
}

static void watch_turned(void *world, Now now)
{
    Daemon *daemon = world;
    (void)now;
    count_syncs(daemon);
    metrics_journal_lag(daemon->metrics,
                        journal_end(daemon->journal) - daemon->engine.applied);
}

static const EnginePart watch_part = { .name = "watch",
                                       .stored = watch_stored,
                                       .effect = watch_effect,
                                       .turned = watch_turned };

/* --- Processors of directories --------------------------------------------------------
 */

static void pipeline_effect(void *world, const Effect *effect)
{
    if (effect->kind == EFFECT_CHANGED)
        processors_changed(world, effect);
    if (effect->kind == EFFECT_DEFINED)
        processors_defined(world, effect);
}

static const EnginePart pipeline_part = { .name = "pipeline", .effect = pipeline_effect };

/* --- Files of jobs --------------------------------------------------------------------
 */

static void files_collect_last(void *world, Now now)
{
    const Daemon *daemon = world;
    leftovers_look(daemon->leftovers, now);
}

static void files_effect(void *world, const Effect *effect)
{
    const Daemon *daemon = world;
    if (effect->kind == EFFECT_ERASE)
        runner_erase(daemon->runner, effect->id, effect->attempt);
}

static int64_t files_wake(const void *world, Now now)
{
    const Daemon *daemon = world;
    (void)now;
    return leftovers_wake_boot(daemon->leftovers);
}

static const EnginePart files_part = { .name = "files",
                                       .collect_last = files_collect_last,
                                       .effect = files_effect,
                                       .wake_boot = files_wake };

/* --- Control files --------------------------------------------------------------------
 */

static void control_edit(void *world, Event *events, size_t count)
{
    control_ends(world, events, count);
}

static const EnginePart control_part = { .name = "control", .edit = control_edit };

/* --- Alerts and notices ---------------------------------------------------------------
 */

static void alerts_effect(void *world, const Effect *effect)
{
    const Daemon *daemon = world;
    if (effect->kind != EFFECT_DEFINED)
        return;
    if (slice_is(effect->table, ALERT_TABLE))
        alerts_defined(daemon->alerts, effect->tenant, effect->key, effect->value);
    if (slice_is(effect->table, ALERT_STATES))
        alerts_kept(daemon->alerts, effect->tenant, effect->key);
}

static void alerts_turned(void *world, Now now)
{
    const Daemon *daemon = world;
    alerts_tick(daemon->alerts, now);
}

static const EnginePart alerts_part = { .name = "alerts",
                                        .effect = alerts_effect,
                                        .turned = alerts_turned };

static void notices_collect_last(void *world, Now now)
{
    const Daemon *daemon = world;
    notices_tick(daemon->notices, now);
}

static bool notices_own_event(void *world, const Event *event)
{
    const Daemon *daemon = world;
    return notices_event(daemon->notices, event);
}

static int64_t notices_wake(const void *world, Now now)
{
    const Daemon *daemon = world;
    bool trying = daemon->notices && notices_trying(daemon->notices);
    return trying ? now.boot_ms + TRIALS_LOOK_MS : TIME_NEVER;
}

static void notices_answered(void *world, const Ask *ask)
{
    notify_loaded(world, ask);
}

static void notices_effect(void *world, const Effect *effect)
{
    const Daemon *daemon = world;
    if (effect->kind == EFFECT_CHANGED && state_in(effect->state, STATES_FINAL))
        notify_ended(world, effect);
    if (effect->kind == EFFECT_DEFINED && slice_is(effect->table, NOTICE_TABLE))
        notices_kept(daemon->notices, &(NoticeName){ effect->tenant, effect->key },
                     effect->value);
}

static const EnginePart notices_part = { .name = "notices",
                                         .collect_last = notices_collect_last,
                                         .event = notices_own_event,
                                         .wake_boot = notices_wake,
                                         .answered = notices_answered,
                                         .effect = notices_effect };

/* --- Settings and readiness -----------------------------------------------------------
 */

static void settings_effect(void *world, const Effect *effect)
{
    Daemon *daemon = world;
    Error why = { 0 };
    if (effect->kind != EFFECT_DEFINED || !slice_is(effect->table, SETTINGS_TABLE))
        return;
    NodeSettings settings = *node_settings(daemon->engine.node);
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
    node_settings_set(daemon->engine.node, &settings);
    log_event(LOG_INFO, "config.changed", "key=" SLICE_FMT " value=" SLICE_FMT,
              SLICE_ARG(effect->key), SLICE_ARG(effect->value));
}

static void settings_turned(void *world, Now now)
{
    (void)now;
    daemon_state_changed(world);
}

static const EnginePart settings_part = { .name = "settings",
                                          .effect = settings_effect,
                                          .turned = settings_turned };

/* --- All of them ----------------------------------------------------------------------
 */

const EnginePart *const daemon_parts[] = {
    &name_part,    &access_part,   &trials_part, &declares_part, &nodes_part,
    &watch_part,   &pipeline_part, &files_part,  &control_part,  &alerts_part,
    &notices_part, &settings_part, NULL,
};
