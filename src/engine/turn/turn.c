/* SPDX-License-Identifier: Apache-2.0 */
/* turn.c - see engine.h. Here: append, hold, release.
 *
 * Everything a turn decides is appended to the journal as one record for the jobs that
 * came through the doors and one for all other operations; its effects are held until
 * the journal is durable behind both. Turns do not wait for each other: the next one is
 * decided while the disk works, and one sync covers all that waits. */
#include "engine/turn/engine.h"

#include "base/log.h"
#include "base/pack.h"

#include <assert.h>

/* Of a large bulk only the first jobs can start soon. */
#define BODIES_PER_RECORD 16
#define BODIES_PER_LINES  256   /* a lane's window of them, */
#define BODIES_PER_WARM   16384 /* which is longer for warm contexts */

#define ALONE_EVENTS_MAX 2

static Turn *take_turn(Turns *turns)
{
    Turn *turn = turns->spare;
    if (!turn)
        return MEM_NEW(Turn);
    turns->spare = turn->next;
    turn->next = NULL;
    turn->begun = false;
    turn->early_count = 0;
    return turn;
}

static void give_turn(Turns *turns, Turn *turn)
{
    outbox_clear(&turn->out);
    turn->next = turns->spare;
    turns->spare = turn;
}

/* --- Appending ---------------------------------------------------------------------- */

static Record record_base(const Engine *engine, const Outbox *out, RecordKind kind)
{
    return (Record){
        .kind = kind,
        .date_ms = engine->ports->now(engine->world).wall_ms,
        .number = out->number,
        .node = engine->number,
    };
}

static void keep_lines(Engine *engine, const Op *op)
{
    Job job = *op->job;
    Slice rest = op->body;
    const Handler *handler = node_handler(engine->node, job.tenant, job.type);
    bool warm = handler && handler_warm(handler);
    uint64_t most = warm ? BODIES_PER_WARM : BODIES_PER_LINES;
    if (job.state != JOB_READY)
        return;
    size_t kept = 0;
    for (uint64_t k = 0;
         k < most && kept < BODIES_AT_ONCE && lines_next(&rest, &job.payload); k++) {
        job.id = id_from_count(op->first + k, engine->number);
        kept += job_cache_put(&engine->bodies, &job);
    }
}

static void append_lines(Engine *engine, const Outbox *out, const Op *op)
{
    Buf options = { 0 };
    Record record = record_base(engine, out, RECORD_LINES);
    record.date_ms = op->job->created_ms;
    record.first = op->first;
    record.count = op->count;
    record.tenant = op->job->tenant;
    record.type = op->job->type;
    record.body = op->body;
    job_pack(&options, op->job);
    record.options = buf_slice(&options);
    engine->ports->journal_write(engine->world, &record, NULL);
    keep_lines(engine, op);
    buf_done(&options);
}

/* One record for a run of single jobs; returns the index behind the last of them. */
static size_t append_jobs(Engine *engine, const Outbox *out, size_t from)
{
    const Batch *adds = &out->adds;
    Buf body = { 0 };
    Buf packed = { 0 };
    size_t at = from;
    for (; at < adds->count && adds->ops[at].kind == OP_ADD; at++) {
        const Op *op = &adds->ops[at];
        buf_clear(&packed);
        job_pack(&packed, op->job);
        pack_bytes(&body, RECORD_JOBS_TAG, buf_slice(&packed));
        if (op->near && at - from < BODIES_PER_RECORD) /* others will be read again */
            job_cache_put_packed(&engine->bodies, op->id, buf_slice(&packed));
    }
    Record record = record_base(engine, out, RECORD_JOBS);
    record.tenant = adds->ops[from].job->tenant;
    record.type = adds->ops[from].job->type;
    record.count = at - from;
    record.body = buf_slice(&body);
    engine->ports->journal_write(engine->world, &record, NULL);
    buf_done(&packed);
    buf_done(&body);
    return at;
}

/* Cached jobs that were changed are of no use any more. */
static void drop_changed(Engine *engine, const Batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->ops[i].kind == OP_MOVE && batch->ops[i].fields)
            body_free(job_cache_take(&engine->bodies, batch->ops[i].id));
}

static void append_batch(Engine *engine, const Outbox *out)
{
    Buf body = { 0 };
    Record record = record_base(engine, out, RECORD_TURN);
    record.count = out->batch.count;
    drop_changed(engine, &out->batch);
    batch_pack(&body, &out->batch);
    record.body = buf_slice(&body);
    engine->ports->journal_write(engine->world, &record, &body);
    buf_done(&body);
}

/* Whether waiting for the disk here keeps no one else waiting: nothing is under way, the
 * turn is about one thing, and the disk is quick. Many clients are served by the writer's
 * thread, which syncs what has gathered while the loop goes on. */
static bool alone(const Engine *engine)
{
    return !engine->turns.held && engine->in.count <= ALONE_EVENTS_MAX &&
           engine->ports->journal_quick(engine->world);
}

/* What can be done for starts while the disk works. */
static void start_early(Engine *engine, Turn *turn)
{
    const Outbox *out = &turn->out;
    if (engine->shared)
        return; /* its lease is asked when it is really to begin */
    for (size_t i = 0; i < out->effect_count && turn->early_count < EARLY_STARTS_MAX; i++)
        if (out->effects[i].kind == EFFECT_START && out->effects[i].wait != WAIT_NONE &&
            engine_start_early(engine, &out->effects[i]))
            turn->early[turn->early_count++] = i;
}

static bool started_early(const Turn *turn, size_t effect)
{
    for (size_t i = 0; i < turn->early_count; i++)
        if (turn->early[i] == effect)
            return true;
    return false;
}

static void append(Engine *engine, Turn *turn)
{
    const Outbox *out = &turn->out;
    for (size_t i = 0; i < out->adds.count;) {
        if (out->adds.ops[i].kind == OP_ADD) {
            i = append_jobs(engine, out, i);
            continue;
        }
        append_lines(engine, out, &out->adds.ops[i++]);
    }
    if (out->batch.count)
        append_batch(engine, out);
    start_early(engine, turn);
    TurnMark mark = { out->number, engine->ports->journal_end(engine->world) };
    bool here = alone(engine);
    if (!here)
        engine->asked = mark.end; /* its end will wake the loop: see loop_comes */
    engine->ports->journal_flush(engine->world, here);
    Turns *turns = &engine->turns;
    MEM_PUSH(turns->marks, turns->mark_count, turns->mark_capacity) = mark;
}

/* --- Releasing ---------------------------------------------------------------------- */

void engine_durable(Engine *engine, uint64_t position)
{
    assert(position >= engine->durable);
    engine->durable = position;
}

/* What needs no durability is done at the end of the turn it was decided in. */
static void run_unheld(Engine *engine, const Turn *turn)
{
    const Outbox *out = &turn->out;
    for (size_t i = 0; i < out->effect_count; i++)
        if (out->effects[i].wait == WAIT_NONE)
            engine_effect(engine, &out->effects[i]);
}

/* What the journal alone makes safe; on a shared store the rest, once that has it. */
static void release(Engine *engine, const Turn *turn, bool held)
{
    for (size_t i = 0; i < turn->out.effect_count; i++) {
        const Effect *effect = &turn->out.effects[i];
        if (engine_holds(engine, effect) != held)
            continue;
        if (started_early(turn, i))
            engine->ports->go(engine->world, effect->id, effect->attempt);
        else if (effect->wait != WAIT_NONE)
            engine_effect(engine, effect);
    }
}

static void begin_turn(Engine *engine, Turn *turn)
{
    if (!turn->begun)
        release(engine, turn, false);
    turn->begun = true;
}

void engine_release(Engine *engine)
{
    Turns *turns = &engine->turns;
    uint64_t durable = engine->durable;
    if (engine->ack_store && engine->applied < durable)
        durable = engine->applied;
    size_t answered = engine->waiting.calls.count;
    for (Turn *turn = turns->held; turn && turn->end <= durable; turn = turn->next)
        begin_turn(engine, turn);
    if (engine->shared && engine->applied < durable)
        durable = engine->applied;
    while (turns->held && turns->held->end <= durable && !engine->refused) {
        Turn *turn = turns->held;
        turns->held = turn->next;
        if (!turns->held)
            turns->held_last = &turns->held;
        if (engine->shared)
            release(engine, turn, true);
        give_turn(turns, turn);
    }
    engine->ports->starts_done(engine->world);
    answered -= engine->waiting.calls.count;
    if (answered)
        engine->crowd = answered;
}

/* --- The turn ----------------------------------------------------------------------- */

static void decide(Engine *engine, Turn *turn, Now now)
{
    for (const EnginePart *const *part = engine->parts; *part; part++)
        if ((*part)->edit)
            (*part)->edit(engine->world, engine->in.events, engine->in.count);
    node_step(engine->node, now, engine->in.events, engine->in.count, &turn->out);
    for (const EnginePart *const *part = engine->parts; *part; part++)
        if ((*part)->decided)
            (*part)->decided(engine->world, &turn->out, now);
}

void engine_turn(Engine *engine)
{
    Now now = engine->ports->now(engine->world);
    log_hold();
    engine_release(engine);
    engine_collect(engine, now);
    Turn *turn = take_turn(&engine->turns);
    decide(engine, turn, now);
    if (turn->out.adds.count || turn->out.batch.count)
        append(engine, turn);
    turn->end = engine->ports->journal_end(engine->world);
    engine_collected_free(engine);
    run_unheld(engine, turn);
    *engine->turns.held_last = turn;
    engine->turns.held_last = &turn->next;
    engine_release(engine);
    engine_wait_expire(engine, now);
    for (const EnginePart *const *part = engine->parts; *part; part++)
        if ((*part)->turned)
            (*part)->turned(engine->world, now);
    log_flush();
}

int64_t engine_wake_boot(const Engine *engine, Now now)
{
    int64_t wake_boot = node_next_wake(engine->node);
    if (engine->waiting.ends_count && wake_boot > now.boot_ms + WAITERS_LOOK_MS)
        wake_boot = now.boot_ms + WAITERS_LOOK_MS; /* they have deadlines of their own */
    for (const EnginePart *const *part = engine->parts; *part; part++) {
        int64_t part_boot =
            (*part)->wake_boot ? (*part)->wake_boot(engine->world, now) : TIME_NEVER;
        wake_boot = part_boot < wake_boot ? part_boot : wake_boot;
    }
    return wake_boot;
}

bool engine_at_rest(const Engine *engine)
{
    return !engine->turns.held &&
           engine->ports->journal_end(engine->world) <= engine->durable;
}

/* --- Opening and closing ------------------------------------------------------------ */

void engine_init(Engine *engine, const EnginePorts *ports, void *world)
{
    static const EnginePart *const no_parts[] = { NULL };
    *engine = (Engine){ .ports = ports, .parts = no_parts, .world = world };
    engine->turns.held_last = &engine->turns.held;
    engine->waiting.reads_last = &engine->waiting.reads;
    mailbox_init(&engine->calls);
    mailbox_init(&engine->answers);
    mailbox_init(&engine->news);
}

static void free_turns(Turns *turns)
{
    Turn *lists[] = { turns->held, turns->spare };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (Turn *turn = lists[i]; turn;) {
            Turn *next = turn->next;
            outbox_done(&turn->out);
            mem_free(turn);
            turn = next;
        }
    }
    mem_free(turns->marks);
}

void engine_done(Engine *engine)
{
    engine_collected_drop(engine);
    free_turns(&engine->turns);
    node_free(engine->node);
    job_cache_done(&engine->bodies);
    map_done(&engine->waiting.ends);
    map_done(&engine->waiting.calls);
    map_done(&engine->early_signals);
    mem_free(engine->in.events);
    arena_done(&engine->in.step);
    mailbox_done(&engine->calls);
    mailbox_done(&engine->answers);
    mailbox_done(&engine->news);
}
