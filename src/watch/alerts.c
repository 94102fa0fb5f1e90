/* SPDX-License-Identifier: Apache-2.0 */
/* alerts.c - see alerts.h. */
#include "watch/alerts.h"

#include "base/log.h"
#include "cluster/cluster.h"
#include "core/schedule.h"
#include "engine/daemon_state.h"
#include "watch/notices.h"

#include <stdio.h>
#include <sys/statvfs.h>

#define CHECK_EVERY_MS (2 * MS_PER_S)
#define DETAIL_BYTES   200

typedef struct Watched {
    struct Watched *next;
    Arena arena; /* of the rule */
    Slice tenant;
    Slice name;
    AlertRule rule; /* when empty: only its state is known */
    AlertWhen when;
    bool firing;
    int64_t since_ms;
    Buf detail;
} Watched;

struct Alerts {
    Daemon *daemon;
    Watched *rules;
    int64_t check_boot;
    struct Check *check; /* under way; NULL: none */
};

/* One rule on its way through a check. */
typedef struct CheckItem {
    Slice tenant;
    Slice name;
    AlertWhen when;
    bool judged; /* else this node cannot say, and nothing changes */
    bool bad;
    char detail[DETAIL_BYTES];
    uint64_t failures;
} CheckItem;

typedef struct Check {
    Call call; /* its arena holds the rest */
    Alerts *alerts;
    int64_t now_ms;
    CheckItem *items;
    size_t count;
} Check;

static void check_free(Check *check)
{
    arena_done(&check->call.arena);
    mem_free(check);
}

/* --- Rules ----------------------------------------------------------------------------
 */

static Watched *find(const Alerts *alerts, Slice tenant, Slice name)
{
    for (Watched *at = alerts->rules; at; at = at->next)
        if (slice_equal(at->name, name) && slice_equal(at->tenant, tenant))
            return at;
    return NULL;
}

static void watched_free(Watched *watched)
{
    arena_done(&watched->arena);
    buf_done(&watched->detail);
    mem_free(watched);
}

/* A place for the rule; what it had before but its state is gone. */
static Watched *renew(Alerts *alerts, Slice tenant, Slice name)
{
    Watched *watched = find(alerts, tenant, name);
    Arena arena = { 0 };
    tenant = slice_copy(&arena, tenant);
    name = slice_copy(&arena, name);
    if (!watched) {
        watched = MEM_NEW(Watched);
        watched->next = alerts->rules;
        alerts->rules = watched;
    }
    arena_done(&watched->arena);
    watched->arena = arena;
    watched->tenant = tenant;
    watched->name = name;
    watched->rule = (AlertRule){ 0 };
    return watched;
}

static void set_rule(Watched *watched, Slice value)
{
    AlertRule rule;
    if (alert_rule_unpack(value, &rule))
        return;
    watched->rule.when = slice_copy(&watched->arena, rule.when);
    watched->rule.to = slice_copy(&watched->arena, rule.to);
    if (alert_when_parse(watched->rule.when, &watched->when, NULL))
        watched->rule.when = (Slice){ NULL, 0 };
}

static void forget(Alerts *alerts, const Watched *gone)
{
    for (Watched **at = &alerts->rules; *at; at = &(*at)->next) {
        if (*at != gone)
            continue;
        Watched *watched = *at;
        *at = watched->next;
        watched_free(watched);
        return;
    }
}

void alerts_defined(Alerts *alerts, Slice tenant, Slice name, Slice value)
{
    if (value.data)
        set_rule(renew(alerts, tenant, name), value);
    else if (find(alerts, tenant, name))
        forget(alerts, find(alerts, tenant, name));
}

/* Rules come first, then which of them were firing. */
static void load(Alerts *alerts, Slice table, const Definition *definition)
{
    if (slice_is(table, ALERT_TABLE)) {
        alerts_defined(alerts, definition->tenant, definition->key, definition->value);
        return;
    }
    Watched *watched = find(alerts, definition->tenant, definition->key);
    Slice detail;
    int64_t since_ms;
    if (!watched || alert_state_unpack(definition->value, &since_ms, &detail))
        return;
    watched->firing = true;
    watched->since_ms = since_ms;
    buf_add_slice(&watched->detail, detail);
}

typedef struct StoredTable {
    Alerts *alerts;
    Slice table;
} StoredTable;

static void stored(void *context, const Definition *definition)
{
    const StoredTable *from = context;
    load(from->alerts, from->table, definition);
}

Err alerts_open(Daemon *daemon, Error *why)
{
    static const char *const tables[] = { ALERT_TABLE, ALERT_STATES };
    Err err = ERR_OK;
    daemon->alerts = MEM_NEW(Alerts);
    daemon->alerts->daemon = daemon;
    for (size_t i = 0; i < 2 && !err; i++) {
        StoredTable from = { daemon->alerts, slice_text(tables[i]) };
        err = daemon->store->kind->definitions(daemon->store, from.table, stored, &from,
                                               why);
    }
    return err;
}

const Alerts *daemon_alerts(const Daemon *daemon)
{
    return daemon->alerts;
}

void alerts_free(Alerts *alerts)
{
    if (!alerts)
        return;
    if (alerts->check) /* its answer will not be taken any more */
        check_free(alerts->check);
    while (alerts->rules)
        forget(alerts, alerts->rules);
    mem_free(alerts);
}

/* --- Judging --------------------------------------------------------------------------
 */

static void judge_oldest(const Daemon *daemon, CheckItem *item, int64_t now_ms)
{
    char waited[DURATION_TEXT_BYTES];
    int64_t since_ms = node_oldest(daemon->engine.node, item->tenant, item->when.name);
    item->judged = true;
    item->bad = since_ms != TIME_NEVER && now_ms - since_ms > item->when.limit;
    if (item->bad)
        snprintf(item->detail, sizeof item->detail,
                 "the head of queue " SLICE_FMT " has waited %s",
                 SLICE_ARG(item->when.name), duration_human(now_ms - since_ms, waited));
}

static void judge_disk(const Daemon *daemon, CheckItem *item)
{
    struct statvfs disk;
    if (statvfs(daemon->data_dir, &disk))
        return;
    uint64_t bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    item->judged = true;
    item->bad = bytes < (uint64_t)item->when.limit;
    snprintf(item->detail, sizeof item->detail, "%llu MiB are free in %.120s",
             (unsigned long long)(bytes >> 20), daemon->data_dir);
}

static void judge_controller(const Daemon *daemon, CheckItem *item, int64_t now_ms)
{
    bool mine;
    ControllerLock lock = node_controller_lock(daemon->engine.node, &mine);
    int64_t stale_ms = node_settings(daemon->engine.node)->controller_stale_ms;
    item->judged = true;
    item->bad = !mine && lock.timestamp_ms && now_ms - lock.timestamp_ms > stale_ms;
    snprintf(item->detail, sizeof item->detail,
             "node " SLICE_FMT " no longer renews the controller lock",
             SLICE_ARG(lock.owner));
}

static void judge_nodes(const Daemon *daemon, CheckItem *item)
{
    Slice sysid;
    item->judged = true;
    item->bad = node_lost_peer(daemon->engine.node, &sysid);
    if (item->bad)
        snprintf(item->detail, sizeof item->detail,
                 "node " SLICE_FMT " no longer renews its lease", SLICE_ARG(sysid));
}

/* What can be said without the store. Only the holder of the controller lock judges, but
 * for the lock itself. */
static void judge(const Daemon *daemon, CheckItem *item, int64_t now_ms, bool mine)
{
    switch (item->when.kind) {
    case ALERT_OLDEST:
        if (mine)
            judge_oldest(daemon, item, now_ms);
        return;
    case ALERT_DISK:
        if (mine)
            judge_disk(daemon, item);
        return;
    case ALERT_NODE:
        if (cluster_owner(daemon)) {
            if (mine)
                judge_nodes(daemon, item);
            return;
        }
        judge_controller(daemon, item, now_ms);
        return;
    case ALERT_CONTROLLER:
        judge_controller(daemon, item, now_ms);
        return;
    case ALERT_FAILURES:
    case ALERT_SCHEDULE:
        item->judged = mine; /* the store knows */
        return;
    }
}

static void count_failures(void *context, const Rollup *rollup)
{
    Check *check = context;
    for (size_t i = 0; i < check->count; i++) {
        CheckItem *item = &check->items[i];
        if (item->when.kind != ALERT_FAILURES ||
            rollup->at_ms <= check->now_ms - item->when.window_ms - MS_PER_MIN ||
            !slice_equal(rollup->tenant, item->tenant))
            continue;
        if (slice_is(item->when.name, "*") ||
            slice_equal(rollup->type, item->when.name) ||
            slice_equal(rollup->queue, item->when.name))
            item->failures += rollup->counts.finished[CODE_FAILED - CODE_OK] +
                              rollup->counts.finished[CODE_ERROR - CODE_OK];
    }
}

/* A planned time was missed, and no later one has given a job. */
static void take_schedule(void *context, const Definition *definition)
{
    Check *check = context;
    ScheduleState state;
    if (schedule_state_unpack(definition->value, &state) || !state.missed_ms ||
        state.fired_ms > state.missed_ms)
        return;
    for (size_t i = 0; i < check->count; i++) {
        CheckItem *item = &check->items[i];
        if (item->when.kind != ALERT_SCHEDULE || item->bad ||
            !slice_equal(definition->tenant, item->tenant))
            continue;
        item->bad = true;
        snprintf(item->detail, sizeof item->detail,
                 "schedule " SLICE_FMT " missed a planned time",
                 SLICE_ARG(definition->key));
    }
}

static int64_t longest_window(const Check *check)
{
    int64_t longest_ms = 0;
    for (size_t i = 0; i < check->count; i++)
        if (check->items[i].when.window_ms > longest_ms)
            longest_ms = check->items[i].when.window_ms;
    return longest_ms;
}

static void judge_failures(Check *check)
{
    for (size_t i = 0; i < check->count; i++) {
        CheckItem *item = &check->items[i];
        if (item->when.kind != ALERT_FAILURES)
            continue;
        item->bad = item->failures > (uint64_t)item->when.limit;
        snprintf(item->detail, sizeof item->detail,
                 "%llu attempts of " SLICE_FMT " failed",
                 (unsigned long long)item->failures, SLICE_ARG(item->when.name));
    }
}

static void read_check(Call *call, Store *store)
{
    Check *check = call->context;
    int64_t longest_ms = longest_window(check);
    if (longest_ms)
        call->err = store->kind->rollups(store, check->now_ms - longest_ms - MS_PER_MIN,
                                         count_failures, check, &call->why);
    if (!call->err)
        call->err = store->kind->definitions(store, SLICE_LITERAL(SCHEDULE_STATES),
                                             take_schedule, check, &call->why);
    judge_failures(check);
}

/* --- Telling --------------------------------------------------------------------------
 */

static void body_of(const Watched *watched, const char *status, int64_t now_ms, Buf *out)
{
    JsonOut json = { .out = out };
    json_object(&json, NULL);
    json_text(&json, "alert", watched->name);
    json_text(&json, "tenant", watched->tenant);
    json_cstr(&json, "status", status);
    json_text(&json, "when", watched->rule.when);
    json_text(&json, "detail", buf_slice(&watched->detail));
    json_time(&json, "since", watched->since_ms);
    json_time(&json, "at", now_ms);
    json_object_end(&json);
}

static void log_change(const Watched *watched)
{
    char quoted[LOG_QUOTE_BYTES];
    log_event(watched->firing ? LOG_WARN : LOG_INFO,
              watched->firing ? "alert.firing" : "alert.cleared",
              "alert=" SLICE_FMT " tenant=" SLICE_FMT " msg=%s", SLICE_ARG(watched->name),
              SLICE_ARG(watched->tenant), log_quote(buf_slice(&watched->detail), quoted));
}

/* With this turn, as the state itself: whoever is to be told will be. */
static void tell(const Alerts *alerts, const Watched *watched, int64_t now_ms)
{
    const char *status = watched->firing ? "firing" : "cleared";
    Buf body = { 0 };
    Slice rest = watched->rule.to;
    Slice target;
    body_of(watched, status, now_ms, &body);
    for (int i = 0; list_next(&rest, &target); i++) {
        Buf key = { 0 };
        if (slice_is(target, "log"))
            continue;
        buf_printf(&key, "alert." SLICE_FMT ".%lld.%s.%d", SLICE_ARG(watched->name),
                   (long long)watched->since_ms, status, i);
        Notice notice = { .target = target, .body = buf_slice(&body) };
        notices_add(alerts->daemon, &(NoticeName){ watched->tenant, buf_slice(&key) },
                    &notice);
        buf_done(&key);
    }
    buf_done(&body);
}

/* Into the store with this turn; what the event points to lives until its step is over.
 */
static void keep_state(const Alerts *alerts, const Watched *watched)
{
    Daemon *daemon = alerts->daemon;
    Event *event = engine_event(&daemon->engine, EVENT_DEFINE);
    event->table = SLICE_LITERAL(ALERT_STATES);
    event->tenant = slice_copy(&daemon->engine.in.step, watched->tenant);
    event->key = slice_copy(&daemon->engine.in.step, watched->name);
    if (!watched->firing)
        return;
    Buf value = { 0 };
    alert_state_pack(&value, watched->since_ms, buf_slice(&watched->detail));
    event->value = slice_copy(&daemon->engine.in.step, buf_slice(&value));
    buf_done(&value);
}

static void apply_item(Alerts *alerts, const CheckItem *item, int64_t now_ms)
{
    Watched *watched = find(alerts, item->tenant, item->name);
    if (!watched || !watched->rule.when.bytes || !item->judged ||
        watched->firing == item->bad)
        return;
    watched->firing = item->bad;
    if (item->bad) {
        watched->since_ms = now_ms;
        buf_clear(&watched->detail);
        buf_add_text(&watched->detail, item->detail);
    }
    keep_state(alerts, watched);
    tell(alerts, watched, now_ms);
}

/* Only what a crash cannot undo is logged. */
void alerts_kept(const Alerts *alerts, Slice tenant, Slice name)
{
    const Watched *watched = find(alerts, tenant, name);
    if (watched && watched->rule.when.bytes)
        log_change(watched);
}

static void apply_check(Call *call, Daemon *daemon)
{
    Check *check = call->context;
    (void)daemon;
    for (size_t i = 0; i < check->count; i++)
        apply_item(check->alerts, &check->items[i], check->now_ms);
}

static void check_done(Call *call)
{
    Check *check = call->context;
    check->alerts->check = NULL;
    check_free(check);
}

/* From the reader's thread back to the loop's. */
static void check_read(Call *call)
{
    Check *check = call->context;
    for (size_t i = 0; i < check->count && call->err; i++)
        if (check->items[i].when.kind == ALERT_FAILURES ||
            check->items[i].when.kind == ALERT_SCHEDULE)
            check->items[i].judged = false;
    call->err = ERR_OK;
    call->kind = CALL_LOOK;
    call->look = apply_check;
    call->done = check_done;
    daemon_call(check->alerts->daemon, call);
}

void alerts_tick(Alerts *alerts, Now now)
{
    const Daemon *daemon = alerts->daemon;
    bool mine;
    if (!alerts->rules || alerts->check || now.boot_ms < alerts->check_boot ||
        daemon->stop)
        return;
    alerts->check_boot = now.boot_ms + CHECK_EVERY_MS;
    node_controller_lock(daemon->engine.node, &mine);
    Check *check = MEM_NEW(Check);
    for (const Watched *at = alerts->rules; at; at = at->next)
        check->count++;
    check->alerts = alerts;
    alerts->check = check;
    check->now_ms = now.wall_ms;
    check->items = arena_take(&check->call.arena, check->count * sizeof *check->items);
    CheckItem *item = check->items;
    for (const Watched *at = alerts->rules; at; at = at->next, item++) {
        item->tenant = slice_copy(&check->call.arena, at->tenant);
        item->name = slice_copy(&check->call.arena, at->name);
        item->when = at->when;
        item->when.name = slice_copy(&check->call.arena, at->when.name);
        judge(daemon, item, now.wall_ms, mine);
    }
    check->call.context = check;
    check->call.kind = CALL_READ;
    check->call.read = read_check;
    check->call.done = check_read;
    daemon_call(alerts->daemon, &check->call);
}

/* --- Showing --------------------------------------------------------------------------
 */

void alerts_firing(const Alerts *alerts, AlertSink *sink, void *context)
{
    for (const Watched *at = alerts->rules; at; at = at->next) {
        Alert alert = { .tenant = at->tenant,
                        .name = at->name,
                        .when = at->rule.when,
                        .detail = buf_slice(&at->detail),
                        .since_ms = at->since_ms };
        if (at->firing && at->rule.when.bytes)
            sink(context, &alert);
    }
}

size_t alerts_firing_count(const Alerts *alerts)
{
    size_t count = 0;
    for (const Watched *at = alerts->rules; at; at = at->next)
        count += at->firing && at->rule.when.bytes;
    return count;
}
