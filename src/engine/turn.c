/* SPDX-License-Identifier: Apache-2.0 */
/* turn.c - the turn: collect, decide, make durable, and only then act.
 *
 * Everything a turn decides is appended to the journal as one record for the jobs that
 * came through the doors and one for all other operations; its effects are held until
 * the journal is durable behind both. Turns do not wait for each other: the next one is
 * decided while the disk works, and one sync covers all that waits. */
#include "engine/daemon_state.h"

#include "intake/control_run.h"

#include "access/security.h"
#include "base/log.h"
#include "base/pack.h"
#include "cluster/cluster.h"
#include "watch/alerts.h"

/* Of a large bulk only the first jobs can start soon. */
#define BODIES_PER_RECORD 16
#define BODIES_PER_LINES  256   /* a lane's window of them, */
#define BODIES_PER_WARM   16384 /* which is longer for warm contexts */

#define ALONE_EVENTS_MAX 2
#define SYNC_HERE_NS_MAX 2000000 /* slower disks must not hold up the loop */

enum { PACKED_JOB = 1 }; /* field of a RECORD_JOBS body, as record.h has it */

static Turn *take_turn(Daemon *daemon)
{
    Turn *turn = daemon->spare;
    if (!turn)
        return MEM_NEW(Turn);
    daemon->spare = turn->next;
    turn->next = NULL;
    turn->answers = turn->begun = false;
    turn->early_count = 0;
    return turn;
}

static void give_turn(Daemon *daemon, Turn *turn)
{
    outbox_clear(&turn->out);
    turn->next = daemon->spare;
    daemon->spare = turn;
}

static Record record_base(const Daemon *daemon, const Outbox *out, RecordKind kind)
{
    return (Record){
        .kind = kind,
        .date_ms = clock_now().wall_ms,
        .number = out->number,
        .node = daemon->identity.number,
    };
}

static void keep_lines(Daemon *daemon, const Op *op)
{
    Job job = *op->job;
    Slice rest = op->body;
    const Handler *handler = node_handler(daemon->node, job.tenant, job.type);
    bool warm = handler && handler_warm(handler);
    uint64_t most = warm ? BODIES_PER_WARM : BODIES_PER_LINES;
    if (job.state != JOB_READY)
        return;
    size_t kept = 0;
    for (uint64_t k = 0;
         k < most && kept < BODIES_AT_ONCE && lines_next(&rest, &job.payload); k++) {
        job.id = id_from_count(op->first + k, daemon->identity.number);
        kept += job_cache_put(&daemon->bodies, &job);
    }
}

static void append_lines(Daemon *daemon, const Outbox *out, const Op *op)
{
    Buf options = { 0 };
    Record record = record_base(daemon, out, RECORD_LINES);
    record.date_ms = op->job->created_ms;
    record.first = op->first;
    record.count = op->count;
    record.tenant = op->job->tenant;
    record.type = op->job->type;
    record.body = op->body;
    job_pack(&options, op->job);
    record.options = buf_slice(&options);
    journal_write(daemon->journal, &record, NULL);
    keep_lines(daemon, op);
    buf_done(&options);
}

/* One record for a run of single jobs; returns the index behind the last of them. */
static size_t append_jobs(Daemon *daemon, const Outbox *out, size_t from)
{
    const Batch *adds = &out->adds;
    Buf body = { 0 };
    Buf packed = { 0 };
    size_t at = from;
    for (; at < adds->count && adds->ops[at].kind == OP_ADD; at++) {
        const Op *op = &adds->ops[at];
        buf_clear(&packed);
        job_pack(&packed, op->job);
        pack_bytes(&body, PACKED_JOB, buf_slice(&packed));
        if (op->near && at - from < BODIES_PER_RECORD) /* others will be read again */
            job_cache_put_packed(&daemon->bodies, op->id, buf_slice(&packed));
    }
    Record record = record_base(daemon, out, RECORD_JOBS);
    record.tenant = adds->ops[from].job->tenant;
    record.type = adds->ops[from].job->type;
    record.count = at - from;
    record.body = buf_slice(&body);
    journal_write(daemon->journal, &record, NULL);
    buf_done(&packed);
    buf_done(&body);
    return at;
}

/* Bodies of jobs that were changed are of no use any more. */
static void drop_changed(Daemon *daemon, const Batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->ops[i].kind == OP_MOVE && batch->ops[i].fields)
            body_free(job_cache_take(&daemon->bodies, batch->ops[i].id));
}

static void append_batch(Daemon *daemon, const Outbox *out)
{
    Buf body = { 0 };
    Record record = record_base(daemon, out, RECORD_TURN);
    record.count = out->batch.count;
    drop_changed(daemon, &out->batch);
    batch_pack(&body, &out->batch);
    record.body = buf_slice(&body);
    journal_write(daemon->journal, &record, &body);
    buf_done(&body);
}

/* Whether waiting for the disk here keeps no one else waiting: nothing is under way, the
 * turn is about one thing, and the disk is quick. Many clients are served by the writer's
 * thread, which syncs what has gathered while the loop goes on. */
static bool alone(const Daemon *daemon)
{
    return !daemon->held && daemon->event_count <= ALONE_EVENTS_MAX &&
           daemon->sync_ns < SYNC_HERE_NS_MAX;
}

/* What can be done for starts while the disk works. */
static void start_early(Daemon *daemon, Turn *turn)
{
    const Outbox *out = &turn->out;
    if (daemon->cluster_link)
        return; /* its lease is asked when it is really to begin */
    for (size_t i = 0; i < out->effect_count && turn->early_count < EARLY_STARTS_MAX; i++)
        if (out->effects[i].kind == EFFECT_START && out->effects[i].wait != WAIT_NONE &&
            daemon_start_early(daemon, &out->effects[i]))
            turn->early[turn->early_count++] = i;
}

static bool started_early(const Turn *turn, size_t effect)
{
    for (size_t i = 0; i < turn->early_count; i++)
        if (turn->early[i] == effect)
            return true;
    return false;
}

static void append(Daemon *daemon, Turn *turn)
{
    const Outbox *out = &turn->out;
    for (size_t i = 0; i < out->adds.count;) {
        if (out->adds.ops[i].kind == OP_ADD) {
            i = append_jobs(daemon, out, i);
            continue;
        }
        append_lines(daemon, out, &out->adds.ops[i++]);
    }
    if (out->batch.count)
        append_batch(daemon, out);
    start_early(daemon, turn);
    TurnMark mark = { out->number, journal_end(daemon->journal) };
    if (alone(daemon)) {
        journal_flush_here(daemon->journal);
    } else {
        daemon->asked = mark.end; /* its end will wake the loop: see loop_comes */
        journal_flush(daemon->journal);
    }
    MEM_PUSH(daemon->marks, daemon->mark_count, daemon->mark_capacity) = mark;
}

/* What needs no durability is done at the end of the turn it was decided in. */
static void run_unheld(Daemon *daemon, Turn *turn)
{
    const Outbox *out = &turn->out;
    for (size_t i = 0; i < out->effect_count; i++) {
        if (out->effects[i].wait == WAIT_NONE)
            daemon_effect(daemon, &out->effects[i]);
        else if (out->effects[i].kind == EFFECT_REPLY)
            turn->answers = true;
    }
}

/* What the journal alone makes safe; on a shared store the rest, once that has it. */
static void release(Daemon *daemon, Turn *turn, bool held)
{
    for (size_t i = 0; i < turn->out.effect_count; i++) {
        const Effect *effect = &turn->out.effects[i];
        if (cluster_holds(daemon, effect) != held)
            continue;
        if (started_early(turn, i))
            runner_go(daemon->runner, effect->id, effect->attempt);
        else if (effect->wait != WAIT_NONE)
            daemon_effect(daemon, effect);
    }
}

static void begin_turn(Daemon *daemon, Turn *turn)
{
    if (!turn->begun)
        release(daemon, turn, false);
    turn->begun = true;
}

void daemon_release(Daemon *daemon)
{
    uint64_t durable = daemon->durable;
    if (daemon->options.ack_store && daemon->applied < durable)
        durable = daemon->applied;
    size_t answered = daemon->open_calls.count;
    for (Turn *turn = daemon->held; turn && turn->end <= durable; turn = turn->next)
        begin_turn(daemon, turn);
    if (daemon->cluster_link && daemon->applied < durable)
        durable = daemon->applied;
    while (daemon->held && daemon->held->end <= durable) {
        Turn *turn = daemon->held;
        daemon->held = turn->next;
        if (!daemon->held)
            daemon->held_last = &daemon->held;
        if (daemon->cluster_link)
            release(daemon, turn, true);
        give_turn(daemon, turn);
    }
    warm_flush(&daemon->warm);
    answered -= daemon->open_calls.count;
    if (answered)
        daemon->crowd = answered;
}

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

void daemon_turn(Daemon *daemon)
{
    Now now = clock_now();
    log_hold();
    daemon_release(daemon);
    daemon_collect(daemon, now);
    control_ends(daemon);
    Turn *turn = take_turn(daemon);
    node_step(daemon->node, now, daemon->events, daemon->event_count, &turn->out);
    audit_turn(daemon->security->audit, &turn->out, &daemon->open_calls, now);
    if (turn->out.adds.count || turn->out.batch.count)
        append(daemon, turn);
    turn->end = journal_end(daemon->journal);
    daemon_collected_free(daemon);
    run_unheld(daemon, turn);
    *daemon->held_last = turn;
    daemon->held_last = &turn->next;
    daemon_release(daemon);
    daemon_waiters_expire(daemon, now);
    alerts_tick(daemon->alerts, now);
    count_syncs(daemon);
    metrics_journal_lag(daemon->metrics, journal_end(daemon->journal) - daemon->applied);
    daemon_state_changed(daemon);
    log_flush();
}
