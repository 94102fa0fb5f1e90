/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - see signals.h: each signal is a row of stages. */
#include "pipeline/processor/signals.h"

#include "pipeline/pipeline.h"
#include "pipeline/processor/followup.h"
#include "pipeline/processor/processor.h"
#include "pipeline/processor/status.h"
#include "pipeline/processor/unit.h"
#include "run/files/sweep.h"

#include <assert.h>
#include <stdio.h>

#define CHUNK      500 /* entries handled before others get their turn */
#define STAGES_MAX 9

/* True: on to the next stage. An error is in order->err. */
typedef bool Stage(SignalOrder *order, Processor *processor);

static bool fail(SignalOrder *order, const char *problem, Err err, const char *text)
{
    order->problem = problem;
    order->err = error_set(&order->why, err, "%s", text);
    return true;
}

void signal_refuse(SignalOrder *order, const char *problem, Err err, const char *text)
{
    fail(order, problem, err, text);
    order->done(order);
}

static const char *unit_of(const SignalOrder *order)
{
    return order->unit.bytes ? order->unit_name : NULL;
}

static bool is_target(const SignalOrder *order, const char *name)
{
    return !order->unit.bytes || strcmp(order->unit_name, name) == 0;
}

/* --- Stages of resets ------------------------------------------------------------------
 */

/* No unit is taken and nothing new is forwarded until the order is done. */
static bool suspend(SignalOrder *order, Processor *processor)
{
    processor->suspended++;
    order->suspends = true;
    return true;
}

static void release(SignalOrder *order, Processor *processor)
{
    if (order->suspends)
        processor->suspended--;
    order->suspends = false;
    bucket_walk_end(&order->walk);
}

/* Ends what runs (TERM, grace, KILL) and waits until it has ended. */
static bool cancel(SignalOrder *order, Processor *processor)
{
    const JobsPort *engine = &pipeline_options(processor->pipeline)->engine;
    size_t left = 0;
    for (Unit *unit = processor->units; unit; unit = unit->next) {
        Error why = { 0 };
        if (!is_target(order, unit->name))
            continue;
        left++;
        if (unit->fate == FATE_BACK || state_in(unit->state, STATES_FINAL))
            continue;
        Err err = engine->act(engine->context, unit->job, ACT_CANCEL, &why);
        if (err == ERR_UNAVAILABLE)
            return fail(order, "draining", err, "the daemon is closing");
        unit->fate = FATE_BACK;
        order->count++;
        if (err == ERR_NOT_FOUND) /* removed by someone: no end will be told */
            processor_note(processor, unit->job, JOB_CANCELLED, 0);
    }
    return left == 0;
}

static bool active_back(SignalOrder *order, Processor *processor)
{
    char name[UNIT_BYTES_MAX + 1];
    BucketWalk walk = { 0 };
    Buckets *buckets = &processor->buckets;
    for (WalkStep step;
         (step = bucket_walk_next(&walk, buckets->fds[IN_ACTIVE], name)) != WALK_END;) {
        Error why = { 0 };
        if (step != WALK_UNIT || !is_target(order, name) ||
            processor_unit(processor, name))
            continue;
        if (unit_back(processor, name, &why))
            processor_trouble(processor, name, "%s", why.text);
    }
    if (!order->unit.bytes)
        units_sweep_output(processor); /* S4.24: all that is in it */
    if (buckets_sync(buckets, &order->why))
        return fail(order, "internal_error", ERR_IO, "the buckets cannot be synced");
    return true;
}

static bool transfers(SignalOrder *order, Processor *processor)
{
    return sender_busy(&processor->sender, unit_of(order)) == 0;
}

typedef Err UnitStep(Processor *processor, const char *name, Bucket bucket, Error *why);

static Err step_remove(Processor *processor, const char *name, Bucket bucket, Error *why)
{
    return bucket_remove(&processor->buckets, bucket, name, why);
}

static Err step_to_work(Processor *processor, const char *name, Bucket bucket, Error *why)
{
    return bucket_move(&processor->buckets, name, bucket, IN_WORK, why);
}

/* The step for the unit, or for some more of all units, of each bucket in turn. */
static bool each_bucket(SignalOrder *order, Processor *processor, const Bucket *list,
                        size_t count, UnitStep *each)
{
    char name[UNIT_BYTES_MAX + 1];
    Error why = { 0 };
    for (size_t i = 0; i < count && order->unit.bytes; i++) {
        if (bucket_has(&processor->buckets, list[i], order->unit_name) &&
            each(processor, order->unit_name, list[i], &why))
            return fail(order, "conflict", ERR_CONFLICT, why.text);
    }
    for (int done = 0; order->step < count && !order->unit.bytes;) {
        Bucket bucket = list[order->step];
        WalkStep step =
            bucket_walk_next(&order->walk, processor->buckets.fds[bucket], name);
        if (step == WALK_END) {
            order->step++;
            continue;
        }
        if (step != WALK_UNIT)
            continue;
        if (each(processor, name, bucket, &why))
            processor_trouble(processor, name, "%s", why.text);
        order->count++;
        if (++done == CHUNK)
            return false;
    }
    order->step = 0;
    if (buckets_sync(&processor->buckets, &why))
        return fail(order, "internal_error", ERR_IO, why.text);
    return true;
}

static bool drop_output(SignalOrder *order, Processor *processor)
{
    static const Bucket list[] = { OUT_FINISHED, OUT_SENT, OUT_FAILED };
    if (!each_bucket(order, processor, list, 3, step_remove))
        return false;
    sender_forget(&processor->sender, unit_of(order));
    return true;
}

static bool input_back(SignalOrder *order, Processor *processor)
{
    static const Bucket list[] = { IN_PROCESSED, IN_FAILED };
    return each_bucket(order, processor, list, 2, step_to_work);
}

static bool resumed(SignalOrder *order, Processor *processor)
{
    release(order, processor);
    return true;
}

static bool answer_count(SignalOrder *order, Processor *processor)
{
    JsonOut json = { .out = &order->out };
    json_object(&json, NULL);
    json_text(&json, "name", processor->plan.name);
    json_cstr(&json, "signal", signal_name(order->kind));
    if (order->unit.bytes)
        json_text(&json, "unit", order->unit);
    json_int(&json, "count", (int64_t)order->count);
    json_bool(&json, "processing", processor->monitor);
    json_bool(&json, "forwarding", processor->forwarder);
    json_object_end(&json);
    return true;
}

/* --- Work ----------------------------------------------------------------------------
 */

static bool answer_unit(SignalOrder *order, const Processor *processor,
                        const char *answer)
{
    JsonOut json = { .out = &order->out };
    const Unit *unit = processor_unit(processor, order->unit_name);
    char id[ID_TEXT_BYTES];
    order->job = unit ? unit->job : 0;
    json_object(&json, NULL);
    json_text(&json, "unit", order->unit);
    json_cstr(&json, "answer", answer);
    json_cstr(&json, "job", order->job ? id_text(order->job, id) : NULL);
    json_object_end(&json);
    return true;
}

/* A failed unit is tried again; one that never came cannot be. */
static Err make_ready(Processor *processor, const char *name, Error *why)
{
    Buckets *buckets = &processor->buckets;
    if (bucket_has(buckets, IN_WORK, name))
        return ERR_OK;
    if (!bucket_has(buckets, IN_FAILED, name))
        return error_set(why, ERR_NOT_FOUND, "the processor has no such unit");
    Err err = ERR_OK;
    if (bucket_has(buckets, OUT_FAILED, name))
        err = bucket_remove(buckets, OUT_FAILED, name, why);
    return err ? err : bucket_move(buckets, name, IN_FAILED, IN_WORK, why);
}

static bool process(SignalOrder *order, Processor *processor)
{
    const char *name = order->unit_name;
    bool done = bucket_has(&processor->buckets, IN_PROCESSED, name);
    if (order->next.bytes && next_keep(processor, name, order->next, &order->why))
        return fail(order, "internal_error", ERR_IO, "the next signal cannot be kept");
    if (processor_unit(processor, name))
        return answer_unit(order, processor, "in-progress");
    if (done) {
        next_send(processor, name);
        return answer_unit(order, processor, "already-done");
    }
    Error why = { 0 };
    Err err = make_ready(processor, name, &why);
    if (err == ERR_NOT_FOUND)
        return fail(order, "unit_not_found", err, why.text);
    if (!err)
        err = processor_claim(processor, name, &why);
    if (err)
        return fail(order, "conflict", err, why.text);
    return answer_unit(order, processor, "starting");
}

static bool process_all(SignalOrder *order, Processor *processor)
{
    JsonOut json = { .out = &order->out };
    int64_t boot_ms = clock_now().boot_ms;
    bucket_walk_end(&processor->work_walk);
    processor->all_once = true;
    json_object(&json, NULL);
    json_text(&json, "name", processor->plan.name);
    json_cstr(&json, "answer", "starting");
    json_int(&json, "count", bucket_count(&processor->buckets, IN_WORK, boot_ms));
    json_object_end(&json);
    return true;
}

/* --- Pause, resume, halt ---------------------------------------------------------------
 */

static bool act(SignalOrder *order, Processor *processor, Action action)
{
    const JobsPort *engine = &pipeline_options(processor->pipeline)->engine;
    bool found = false;
    for (const Unit *unit = processor->units; unit; unit = unit->next) {
        Error why = { 0 };
        if (!is_target(order, unit->name))
            continue;
        found = true;
        Err err = engine->act(engine->context, unit->job, action, &why);
        if (!err)
            order->count++;
        else if (order->unit.bytes)
            return fail(order, "invalid_state", ERR_CONFLICT,
                        "the unit is not in a state for this");
    }
    if (order->unit.bytes && !found)
        return fail(order, "unit_not_found", ERR_NOT_FOUND,
                    "the unit is not being processed");
    return answer_count(order, processor);
}

static bool pause_units(SignalOrder *order, Processor *processor)
{
    return act(order, processor, ACT_PAUSE);
}

static bool resume_units(SignalOrder *order, Processor *processor)
{
    return act(order, processor, ACT_RESUME);
}

static bool halt_units(SignalOrder *order, Processor *processor)
{
    return act(order, processor, ACT_HALT);
}

/* --- Switches, questions, the end ------------------------------------------------------
 */

static bool set_switch(SignalOrder *order, Processor *processor, bool *which, bool on)
{
    bool before = *which;
    Error why = { 0 };
    *which = on;
    if (before != on && processor_remember(processor, &why)) {
        *which = before;
        return fail(order, "internal_error", ERR_IO, why.text);
    }
    return answer_count(order, processor);
}

static bool start_monitor(SignalOrder *order, Processor *processor)
{
    return set_switch(order, processor, &processor->monitor, true);
}

static bool stop_monitor(SignalOrder *order, Processor *processor)
{
    return set_switch(order, processor, &processor->monitor, false);
}

static bool start_forwarder(SignalOrder *order, Processor *processor)
{
    if (!processor->plan.forward_count)
        return fail(order, "conflict", ERR_CONFLICT,
                    "the processor has no forwarder: its `forward` is empty");
    return set_switch(order, processor, &processor->forwarder, true);
}

static bool stop_forwarder(SignalOrder *order, Processor *processor)
{
    return set_switch(order, processor, &processor->forwarder, false);
}

static bool identify(SignalOrder *order, Processor *processor)
{
    JsonOut json = { .out = &order->out };
    json_object(&json, NULL);
    json_cstr(&json, "id", processor->id);
    json_text(&json, "name", processor->plan.name);
    json_object_end(&json);
    return true;
}

static bool status(SignalOrder *order, Processor *processor)
{
    JsonOut json = { .out = &order->out };
    if (!order->unit.bytes) {
        processor_json(&json, processor, clock_now().boot_ms);
        return true;
    }
    char id[ID_TEXT_BYTES];
    const Unit *unit = processor_unit(processor, order->unit_name);
    json_object(&json, NULL);
    json_text(&json, "unit", order->unit);
    json_cstr(&json, "status", unit_status(processor, order->unit_name));
    json_cstr(&json, "job", unit ? id_text(unit->job, id) : NULL);
    json_object_end(&json);
    return true;
}

static bool destroy(SignalOrder *order, Processor *processor)
{
    char *dir = mem_copy(processor->buckets.dir, strlen(processor->buckets.dir) + 1);
    static const char *const parts[] = { "input", "output", OWN_DIR };
    processor->gone = true;
    snprintf(order->unit_name, sizeof order->unit_name, SLICE_FMT,
             SLICE_ARG(processor->plan.name));
    answer_count(order, processor);
    release(order, processor);
    for (size_t i = 0; i < 3; i++) {
        Buf path = { 0 };
        buf_printf(&path, "%s/%s", dir, parts[i]);
        sweep_path(buf_cstr(&path));
        buf_done(&path);
    }
    sweep_path(dir); /* with what else was there: it is the processor's own */
    mem_free(dir);
    return true;
}

/* --- The table ------------------------------------------------------------------------
 */

typedef struct SignalRow {
    const char *name;
    bool needs_unit;
    Stage *stages[STAGES_MAX]; /* ended by NULL */
} SignalRow;

#define UNDO suspend, cancel, active_back
#define AWAY transfers, drop_output

static const SignalRow rows[SIGNALS] = {
    [SIGNAL_START_MONITOR] = { "start-monitor", false, { start_monitor } },
    [SIGNAL_STOP_MONITOR] = { "stop-monitor", false, { stop_monitor } },
    [SIGNAL_START_FORWARDER] = { "start-forwarder", false, { start_forwarder } },
    [SIGNAL_STOP_FORWARDER] = { "stop-forwarder", false, { stop_forwarder } },
    [SIGNAL_RESET_ACTIVE] = { "reset-active", false, { UNDO, resumed, answer_count } },
    [SIGNAL_RESET_PROCESSED] = { "reset-processed",
                                 false,
                                 { suspend, AWAY, input_back, resumed, answer_count } },
    [SIGNAL_RESET_ALL] = { "reset-all",
                           false,
                           { UNDO, AWAY, input_back, resumed, answer_count } },
    [SIGNAL_PROCESS] = { "process", true, { process } },
    [SIGNAL_PROCESS_ALL] = { "process-all", false, { process_all } },
    [SIGNAL_RE_PROCESS] = { "re-process",
                            true,
                            { UNDO, AWAY, input_back, resumed, process } },
    [SIGNAL_RE_PROCESS_ALL] = { "re-process-all",
                                false,
                                { UNDO, AWAY, input_back, resumed, process_all } },
    [SIGNAL_PURGE] = { "purge", true, { UNDO, AWAY, resumed, answer_count } },
    [SIGNAL_PURGE_ALL] = { "purge-all", false, { UNDO, AWAY, resumed, answer_count } },
    [SIGNAL_PAUSE] = { "pause", false, { pause_units } },
    [SIGNAL_PAUSE_ALL] = { "pause-all", false, { pause_units } },
    [SIGNAL_RESUME] = { "resume", false, { resume_units } },
    [SIGNAL_RESUME_ALL] = { "resume-all", false, { resume_units } },
    [SIGNAL_HALT] = { "halt", false, { halt_units } },
    [SIGNAL_HALT_ALL] = { "halt-all", false, { halt_units } },
    [SIGNAL_IDENTIFY] = { "identify", false, { identify } },
    [SIGNAL_STATUS] = { "status", false, { status } },
    [SIGNAL_DESTROY] = { "destroy", false, { suspend, cancel, transfers, destroy } },
};

const char *signal_name(SignalKind kind)
{
    return kind < SIGNALS ? rows[kind].name : "";
}

bool signal_changes(SignalKind kind)
{
    return kind < SIGNAL_IDENTIFY || kind == SIGNAL_DESTROY;
}

Err signal_parse(Slice text, SignalKind *out_kind)
{
    for (SignalKind kind = 0; kind < SIGNALS; kind++) {
        if (!slice_is(text, rows[kind].name))
            continue;
        *out_kind = kind;
        return ERR_OK;
    }
    return ERR_NOT_FOUND;
}

bool signal_needs_unit(SignalKind kind)
{
    return kind < SIGNALS && rows[kind].needs_unit;
}

bool signal_advance(SignalOrder *order, Processor *processor)
{
    assert(order->kind < SIGNALS);
    Stage *const *stages = rows[order->kind].stages;
    processor_count_time(processor, clock_now().boot_ms);
    if (order->unit.bytes && !order->unit_name[0])
        snprintf(order->unit_name, sizeof order->unit_name, SLICE_FMT,
                 SLICE_ARG(order->unit));
    while (!order->err && stages[order->stage]) {
        if (!stages[order->stage](order, processor))
            return false;
        order->stage++;
    }
    release(order, processor);
    return true;
}
