/* SPDX-License-Identifier: Apache-2.0 */
/* sender.c - see sender.h. */
#include "pipeline/forward/sender.h"

#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "pipeline/forward/broker.h"
#include "pipeline/forward/divide.h"
#include "pipeline/forward/route.h"
#include "pipeline/forward/transfer.h"
#include "pipeline/pipeline.h"
#include "pipeline/processor/processor.h"
#include "pipeline/processor/reclaim.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_MAX    512 /* units examined in one step */
#define REFUSED_MS  (10 * MS_PER_S)
#define RETRIES     0  /* a new transfer is a new job: the directory decides again */
#define CARRY_AHEAD 48 /* given to carriers beyond the slots: they go in groups */
#define KIB         1024

typedef struct NotifyTarget {
    size_t forward;
    size_t place;
    const Place *to;
} NotifyTarget;

static void trouble(Sender *sender, const char *unit, const char *text)
{
    if (sender->processor)
        processor_trouble(sender->processor, unit, "%s", text);
    else
        broker_trouble(sender->broker, unit, text);
}

static void untrouble(Sender *sender, const char *unit)
{
    trouble_clear(sender->processor ? &sender->processor->troubles
                                    : &sender->broker->troubles,
                  unit);
}

void sender_forget(Sender *sender, const char *unit)
{
    if (unit)
        marks_forget(sender->buckets, sender->plan, unit);
    else
        marks_tidy(sender->buckets, sender->plan, sender->source_fd);
}

/* --- Opening --------------------------------------------------------------------------
 */

void sender_init(Sender *sender)
{
    size_t count = sender->plan->forward_count;
    sender->in_flight = MEM_ARRAY(size_t, count + 1);
    sender->carried = MEM_ARRAY(size_t, count + 1);
    sender->routed = MEM_ARRAY(bool, count + 1);
    sender->leaving = MEM_ARRAY(Leaving, LEAVING_MAX);
    sender->leaving_count = 0;
    sender->turns = MEM_ARRAY(uint64_t, count + 1);
    sender->states = MEM_ARRAY(PlaceState *, count + 1);
    for (size_t i = 0; i < count; i++)
        sender->states[i] = MEM_ARRAY(PlaceState, sender->plan->forwards[i].count);
    rate_start(&sender->rate, clock_now().boot_ms);
    sender->ready = true;
}

void sender_close(Sender *sender)
{
    if (!sender->ready)
        return;
    for (size_t i = 0; i < sender->plan->forward_count; i++)
        mem_free(sender->states[i]);
    mem_free(sender->states);
    mem_free(sender->in_flight);
    mem_free(sender->carried);
    mem_free(sender->routed);
    mem_free(sender->leaving);
    mem_free(sender->turns);
    while (sender->transfers) {
        Transfer *transfer = sender->transfers;
        sender->transfers = transfer->next;
        mem_free(transfer);
    }
    bucket_walk_end(&sender->walk);
    sender->ready = false;
}

static bool find_place(const Sender *sender, Slice key, NotifyTarget *out)
{
    for (size_t f = 0; f < sender->plan->forward_count; f++) {
        const Forward *forward = &sender->plan->forwards[f];
        for (size_t p = 0; p < forward->count; p++) {
            if (!slice_is(key, forward->places[p].key))
                continue;
            *out = (NotifyTarget){ f, p, &forward->places[p] };
            return true;
        }
    }
    return false;
}

static size_t *counter(const Sender *sender, const Transfer *transfer)
{
    return transfer->carried ? &sender->carried[transfer->forward]
                             : &sender->in_flight[transfer->forward];
}

static Transfer *transfer_new(Sender *sender, const NotifyTarget *target, JobId job,
                              const char *unit, const char *delivery)
{
    Transfer *transfer = MEM_NEW(Transfer);
    transfer->job = job;
    transfer->begun = job != 0;
    transfer->carried = !job && way_carries(sender->pipeline, target->to);
    transfer->forward = target->forward;
    transfer->place = target->place;
    snprintf(transfer->unit, sizeof transfer->unit, "%s", unit);
    snprintf(transfer->delivery, sizeof transfer->delivery, "%s", delivery);
    transfer->next = sender->transfers;
    sender->transfers = transfer;
    ++*counter(sender, transfer);
    return transfer;
}

static NotifyTarget notify_target_of(const Sender *sender, const Transfer *transfer)
{
    return (NotifyTarget){
        transfer->forward, transfer->place,
        &sender->plan->forwards[transfer->forward].places[transfer->place]
    };
}

/* Out of the list; the caller frees it. */
static Transfer *transfer_take(Sender *sender, Transfer **at)
{
    Transfer *transfer = *at;
    *at = transfer->next;
    --*counter(sender, transfer);
    return transfer;
}

/* A transfer that runs since before the start. One whose destination is not in the plan
 * any more ends by itself; nobody waits for it. */
static void take_live(void *context, const Job *job)
{
    Sender *sender = context;
    Slice unit;
    Slice key;
    Slice delivery;
    NotifyTarget target;
    char name[UNIT_BYTES_MAX + 1];
    char text[64];
    if (!transfer_parse(job->command, &unit, &key, &delivery) ||
        unit.bytes > UNIT_BYTES_MAX || delivery.bytes >= sizeof text ||
        !find_place(sender, key, &target))
        return;
    snprintf(name, sizeof name, SLICE_FMT, SLICE_ARG(unit));
    snprintf(text, sizeof text, SLICE_FMT, SLICE_ARG(delivery));
    transfer_new(sender, &target, job->id, name, text);
}

Err sender_open(Sender *sender, Error *why)
{
    const JobsPort *engine = &pipeline_options(sender->pipeline)->engine;
    JobsQuestion question = { .queue = slice_text(sender->queue),
                              .states = ((1u << JOB_STATES) - 1) & ~STATES_FINAL };
    Err err = engine->ask(engine->context, &question, take_live, sender, why);
    if (!err)
        sender_forget(sender, NULL);
    return err;
}

size_t sender_busy(const Sender *sender, const char *unit)
{
    size_t busy = 0;
    for (const Transfer *at = sender->transfers; at; at = at->next)
        busy += !unit || strcmp(unit, at->unit) == 0;
    return busy;
}

static Processor *processor_at(const Sender *sender, const Place *place)
{
    Way way;
    way_to(sender->pipeline, place, &way);
    return way.here;
}

/* --- Which destination ----------------------------------------------------------------
 */

/* What waits at a destination: counted where someone knows it, and what was begun and
 * has not arrived. */
static int64_t load_of(const Sender *sender, size_t f, size_t p)
{
    const PlaceState *state = &sender->states[f][p];
    int64_t load = way_load(sender->pipeline, &sender->plan->forwards[f].places[p]);
    return load == DIVIDE_DOWN ? load : load + (int64_t)(state->given - state->delivered);
}

/* Nodes that are lost get nothing new, whatever the mode. */
static size_t choose(Sender *sender, size_t f, const char *unit)
{
    const Forward *forward = &sender->plan->forwards[f];
    int64_t loads[PLAN_PLACES_MAX] = { 0 };
    for (size_t p = 0; p < forward->count; p++) {
        if (forward->mode == FORWARD_LEAST_LOADED)
            loads[p] = load_of(sender, f, p);
        else if (way_lost(sender->pipeline, &forward->places[p]))
            loads[p] = DIVIDE_DOWN;
    }
    return divide(forward, unit, &sender->turns[f], loads);
}

static bool has_room(const Sender *sender, size_t f, const Place *to)
{
    uint32_t slots = sender->plan->forwards[f].slots;
    return way_carries(sender->pipeline, to) ? sender->carried[f] < slots + CARRY_AHEAD
                                             : sender->in_flight[f] < slots;
}

/* A unit that cannot go to another node now is not given to it: that node may be lost
 * before it can. */
static bool can_commit(const Sender *sender, size_t f, size_t p, int64_t boot_ms)
{
    const Place *to = &sender->plan->forwards[f].places[p];
    return !way_elsewhere(sender->pipeline, to) ||
           (!way_lost(sender->pipeline, to) && has_room(sender, f, to) &&
            sender->states[f][p].try_boot <= boot_ms);
}

/* The one destination of a unit, written down before it is used. False: not now. */
static bool route(Sender *sender, size_t f, const Delivery *what, size_t *out_place)
{
    const Forward *forward = &sender->plan->forwards[f];
    Error why = { 0 };
    if (choice_find(sender->buckets, sender->plan, f, what, out_place))
        return true;
    *out_place = choose(sender, f, what->unit);
    if (!can_commit(sender, f, *out_place, clock_now().boot_ms))
        return false;
    if (choice_set(sender->buckets, f, &forward->places[*out_place], what, &why)) {
        trouble(sender, what->unit, why.text);
        return false;
    }
    sender->routed[f] = true;
    return true;
}

/* --- Sending --------------------------------------------------------------------------
 */

static uint64_t refusal_key(const char *unit, const Place *place)
{
    return hash_bytes(unit, strlen(unit)) ^ hash_bytes(place->key, PLACE_KEY_BYTES);
}

static bool refused(const Sender *sender, const char *unit, const Place *place,
                    int64_t boot_ms)
{
    uint64_t key = refusal_key(unit, place);
    for (size_t i = 0; i < REFUSALS_MAX; i++)
        if (sender->refusals[i].unit == key && sender->refusals[i].until_boot > boot_ms)
            return true;
    return false;
}

static void refuse(Sender *sender, const char *unit, const Place *place, int64_t boot_ms)
{
    sender->refusals[sender->refusal_next++ % REFUSALS_MAX] =
        (Refusal){ refusal_key(unit, place), boot_ms + REFUSED_MS };
}

static void fail(Sender *sender, const NotifyTarget *target, const char *unit,
                 const char *problem)
{
    char text[2 * ERROR_TEXT_BYTES];
    snprintf(text, sizeof text, "to " SLICE_FMT ": %s", SLICE_ARG(target->to->text),
             problem);
    trouble(sender, unit, text);
}

static void back_off(Sender *sender, const NotifyTarget *target, int64_t boot_ms)
{
    PlaceState *state = &sender->states[target->forward][target->place];
    static const int64_t seconds[] = { 1, 2, 4, 8, 16, 30 };
    size_t last = sizeof seconds / sizeof *seconds - 1;
    state->try_boot =
        boot_ms + MS_PER_S * seconds[state->failures < last ? state->failures : last];
    state->failures++;
}

static Err add_job(Sender *sender, Transfer *transfer, const Place *to, Error *why)
{
    const JobsPort *engine = &pipeline_options(sender->pipeline)->engine;
    const Forward *forward = &sender->plan->forwards[transfer->forward];
    Buf command = { 0 };
    Buf source = { 0 };
    Job job = job_default();
    Slice name = slice_text(transfer->unit);
    buf_printf(&source, "%s/%s", sender->source_dir, transfer->unit);
    TransferOrder order = { .place = to,
                            .forward = forward,
                            .source = buf_cstr(&source),
                            .unit = transfer->unit,
                            .sender = sender->id,
                            .delivery = transfer->delivery };
    transfer_command(&command, &order);
    job.tenant = SLICE_LITERAL("default");
    job.type = SLICE_LITERAL(FORWARD_TYPE);
    job.queue = slice_text(sender->queue);
    job.command = buf_slice(&command);
    job.cwd = SLICE_LITERAL("/");
    job.name = utf8_valid(name) ? name : order.place->text;
    job.max_retries = RETRIES;
    job.flags = JOB_STAYS;
    Err err = engine->add(engine->context, &job, 1, &transfer->job, why);
    buf_done(&command);
    buf_done(&source);
    return err;
}

static Err carry(Sender *sender, Transfer *transfer, Slice dir)
{
    const Forward *forward = &sender->plan->forwards[transfer->forward];
    Buf to = { 0 };
    buf_add_slice(&to, dir);
    CarryOrder *order = carry_order_new(sender->source_dir, buf_cstr(&to));
    buf_done(&to);
    snprintf(order->unit, sizeof order->unit, "%s", transfer->unit);
    snprintf(order->record, sizeof order->record, "%s %s", sender->id,
             transfer->delivery);
    order->sender_bytes = strlen(sender->id) + 1;
    order->rate = forward->bandwidth * KIB;
    transfer->number = order->number = pipeline_number(sender->pipeline);
    uint64_t lane = hash_bytes(sender->queue, strlen(sender->queue)) + transfer->forward;
    carrier_give(pipeline_carrier(sender->pipeline), order,
                 (CarrierLane){ lane, forward->slots });
    return ERR_OK;
}

/* The way may have become another since it was counted: then it is counted anew. */
static Err begin(Sender *sender, Transfer *transfer, Error *why)
{
    Way way;
    way_to(sender->pipeline, notify_target_of(sender, transfer).to, &way);
    --*counter(sender, transfer);
    transfer->carried = way.kind != WAY_JOB;
    ++*counter(sender, transfer);
    switch (way.kind) {
    case WAY_NONE:
        *why = way.why;
        return way.why.code;
    case WAY_HERE:
    case WAY_DIR:
        return carry(sender, transfer, way.dir);
    case WAY_JOB:
        return add_job(sender, transfer, &way.place, why);
    }
    return ERR_UNSUPPORTED;
}

/* What was decided begins, once the routes are on disk. */
static void begin_all(Sender *sender, int64_t boot_ms)
{
    Error why = { 0 };
    Err err = ERR_OK;
    for (size_t f = 0; f < sender->plan->forward_count && !err; f++) {
        if (sender->routed[f])
            err = choice_sync(sender->buckets, f, &why);
        sender->routed[f] = sender->routed[f] && err;
    }
    for (Transfer **at = &sender->transfers; *at;) {
        Transfer *transfer = *at;
        NotifyTarget target = notify_target_of(sender, transfer);
        Err failed = err;
        if (!transfer->begun && !failed)
            failed = begin(sender, transfer, &why);
        if (transfer->begun || !failed) {
            transfer->begun = true;
            at = &transfer->next;
            continue;
        }
        fail(sender, &target, transfer->unit, why.text);
        back_off(sender, &target, boot_ms);
        sender->states[target.forward][target.place].given--;
        mem_free(transfer_take(sender, at));
    }
}

static bool in_hand(const Sender *sender, const char *unit, const Place *place)
{
    for (const Transfer *at = sender->transfers; at; at = at->next)
        if (strcmp(at->unit, unit) == 0 &&
            strcmp(sender->plan->forwards[at->forward].places[at->place].key,
                   place->key) == 0)
            return true;
    return false;
}

static bool may_start(const Sender *sender)
{
    const Processor *processor = sender->processor;
    return !processor || (processor->forwarder && !processor->suspended);
}

/* Whether anything could begin now; if not, nothing needs to be looked at. */
static bool can_begin(const Sender *sender, int64_t boot_ms)
{
    for (size_t f = 0; f < sender->plan->forward_count; f++) {
        const Forward *forward = &sender->plan->forwards[f];
        for (size_t p = 0; p < forward->count; p++)
            if (has_room(sender, f, &forward->places[p]) &&
                sender->states[f][p].try_boot <= boot_ms)
                return true;
    }
    return false;
}

/* Whether this destination has the unit; if not, it will be sent there. */
static bool has_or_send(Sender *sender, const NotifyTarget *target, const Leaving *unit,
                        int64_t boot_ms)
{
    PlaceState *state = &sender->states[target->forward][target->place];
    if (target->to == unit->last ||
        mark_has(sender->buckets, target->to, &(Delivery){ unit->unit, unit->delivery }))
        return true;
    if (may_start(sender) && !in_hand(sender, unit->unit, target->to) &&
        has_room(sender, target->forward, target->to) && state->try_boot <= boot_ms &&
        !refused(sender, unit->unit, target->to, boot_ms)) {
        transfer_new(sender, target, 0, unit->unit, unit->delivery);
        state->given++;
    }
    return false;
}

/* --- Giving away ---------------------------------------------------------------------
 */

static bool taken_there(const Processor *to, const char *unit)
{
    static const Bucket buckets[] = { IN_WORK, IN_ACTIVE, IN_PROCESSED, IN_FAILED };
    for (size_t i = 0; i < sizeof buckets / sizeof *buckets; i++)
        if (bucket_has(&to->buckets, buckets[i], unit))
            return true;
    return false;
}

static bool renamed_into(const Sender *sender, Processor *to, const char *unit)
{
    if (taken_there(to, unit) ||
        renameat2(sender->source_fd, unit, to->buckets.fds[IN_WORK], unit,
                  RENAME_NOREPLACE))
        return false;
    to->buckets.dirty[IN_WORK] = true;
    bucket_counted(&to->buckets, IN_WORK, 1);
    return true;
}

/* A broker keeps nothing: where one destination gets the unit and is on the same file
 * system, a rename is all. If not, the choice is kept for the transfer. */
static bool given_away(Sender *sender, const char *unit, int64_t boot_ms)
{
    const Forward *forward = &sender->plan->forwards[0];
    char delivery[DELIVERY_BYTES];
    size_t place = 0;
    Error why = { 0 };
    if (!sender->broker || (forward->mode == FORWARD_ALL && forward->count > 1) ||
        !delivery_of(sender->source_fd, unit, delivery))
        return false;
    Delivery what = { unit, delivery };
    bool before = forward->mode != FORWARD_ALL &&
                  choice_find(sender->buckets, sender->plan, 0, &what, &place);
    if (before)
        return false; /* a transfer may be under way */
    place = choose(sender, 0, unit);
    const Place *to = &forward->places[place];
    if (!can_commit(sender, 0, place, boot_ms))
        return false;
    Processor *there = processor_at(sender, to);
    if (!there || in_hand(sender, unit, to) || !renamed_into(sender, there, unit)) {
        if (forward->mode != FORWARD_ALL)
            sender->routed[0] =
                !choice_set(sender->buckets, 0, to, &what, &why) || sender->routed[0];
        return false;
    }
    sender->gave = true;
    sender->states[0][place].given++;
    sender->states[0][place].delivered++;
    rate_count(&sender->rate, boot_ms);
    return true;
}

/* What was renamed is durable, there and here. */
static void sync_given(Sender *sender)
{
    const Forward *forward = &sender->plan->forwards[0];
    Error why = { 0 };
    if (!sender->gave)
        return;
    sender->gave = false;
    Err err = broker_sync(sender->broker, &why);
    for (size_t p = 0; p < forward->count && !err; p++) {
        Processor *to = processor_at(sender, &forward->places[p]);
        if (to)
            err = buckets_sync(&to->buckets, &why);
    }
    if (err)
        trouble(sender, "", why.text);
}

/* --- Leaving the source --------------------------------------------------------------
 */

static Err leave(Sender *sender, const char *unit, Error *why)
{
    if (sender->broker)
        return broker_remove(sender->broker, unit, why);
    return bucket_move(&sender->processor->buckets, unit, OUT_FINISHED, OUT_SENT, why);
}

/* It stays: what it was given to just now must not be forgotten. */
static void stays(Sender *sender, const Leaving *unit, const char *text)
{
    Error why = { 0 };
    trouble(sender, unit->unit, text);
    if (unit->last && mark_set(sender->buckets, unit->last,
                               &(Delivery){ unit->unit, unit->delivery }, &why))
        trouble(sender, unit->unit, why.text);
}

/* The marks go after the leaving is durable. */
void sender_settle(Sender *sender, int64_t boot_ms)
{
    Error why = { 0 };
    size_t count = sender->leaving_count;
    bool gone[LEAVING_MAX] = { false };
    if (!sender->ready || !count)
        return;
    sender->leaving_count = 0;
    for (size_t i = 0; i < count; i++) {
        gone[i] = !leave(sender, sender->leaving[i].unit, &why);
        if (!gone[i])
            stays(sender, &sender->leaving[i], why.text);
    }
    Err err = sender->broker ? broker_sync(sender->broker, &why)
                             : buckets_sync(&sender->processor->buckets, &why);
    if (err)
        trouble(sender, "", why.text);
    for (size_t i = 0; i < count && !err; i++) {
        if (!gone[i])
            continue;
        sender_forget(sender, sender->leaving[i].unit);
        untrouble(sender, sender->leaving[i].unit);
        rate_count(&sender->rate, boot_ms);
    }
}

/* --- Looking -------------------------------------------------------------------------
 */

/* `last`: a destination that has just got the unit. */
static void examine(Sender *sender, const char *unit, const Place *last, int64_t boot_ms)
{
    Leaving leaving = { .last = last };
    bool everywhere = true;
    Error why = { 0 };
    Delivery what = { unit, leaving.delivery };
    snprintf(leaving.unit, sizeof leaving.unit, "%s", unit);
    if (!delivery_of(sender->source_fd, unit, leaving.delivery))
        return;
    for (size_t f = 0; f < sender->plan->forward_count; f++) {
        const Forward *forward = &sender->plan->forwards[f];
        size_t first = 0;
        size_t end = forward->count;
        if (forward->mode != FORWARD_ALL) {
            if (!route(sender, f, &what, &first)) {
                everywhere = false;
                continue;
            }
            end = first + 1;
        }
        for (size_t p = first; p < end; p++) {
            NotifyTarget target = { f, p, &forward->places[p] };
            if (!has_or_send(sender, &target, &leaving, boot_ms))
                everywhere = false;
        }
    }
    if (!everywhere) {
        if (last && mark_set(sender->buckets, last, &what, &why))
            trouble(sender, unit, why.text);
        return;
    }
    if (sender->leaving_count == LEAVING_MAX)
        sender_settle(sender, boot_ms);
    sender->leaving[sender->leaving_count++] = leaving;
}

static bool look(Sender *sender, int64_t boot_ms)
{
    char name[UNIT_BYTES_MAX + 1];
    for (int looked = 0; looked < LOOK_MAX && can_begin(sender, boot_ms); looked++) {
        WalkStep step = bucket_walk_next(&sender->walk, sender->source_fd, name);
        if (step == WALK_END)
            return false;
        if (step == WALK_UNIT &&
            !(sender->broker && reclaim_holds(sender->broker, name)) &&
            !given_away(sender, name, boot_ms))
            examine(sender, name, NULL, boot_ms);
    }
    return can_begin(sender, boot_ms);
}

bool sender_step(Sender *sender, int64_t boot_ms)
{
    if (!sender->ready || !sender->plan->forward_count || !may_start(sender) ||
        !can_begin(sender, boot_ms) ||
        !bucket_walk_due(&sender->walk, sender->source_fd, boot_ms))
        return false;
    bool more = look(sender, boot_ms);
    sync_given(sender);
    begin_all(sender, boot_ms);
    sender_settle(sender, boot_ms);
    return more;
}

/* --- Ends -----------------------------------------------------------------------------
 */

static void take_exit(void *context, const Job *job)
{
    *(int32_t *)context = job->outcome.exit_status;
}

typedef struct Failure {
    bool clash;
    char text[ERROR_TEXT_BYTES];
} Failure;

static void ended_badly(Sender *sender, const Transfer *transfer, const Failure *failure,
                        int64_t boot_ms)
{
    const NotifyTarget target = notify_target_of(sender, transfer);
    fail(sender, &target, transfer->unit, failure->text);
    sender->states[target.forward][target.place].given--;
    if (failure->clash)
        refuse(sender, transfer->unit, target.to, boot_ms);
    else
        back_off(sender, &target, boot_ms);
}

static void ended_well(Sender *sender, const Transfer *transfer, int64_t boot_ms)
{
    const NotifyTarget target = notify_target_of(sender, transfer);
    char delivery[DELIVERY_BYTES];
    PlaceState *state = &sender->states[target.forward][target.place];
    state->failures = 0;
    state->try_boot = 0;
    state->delivered++;
    /* Another state of the unit meanwhile: that one was not delivered. */
    if (delivery_of(sender->source_fd, transfer->unit, delivery))
        examine(sender, transfer->unit,
                strcmp(delivery, transfer->delivery) == 0 ? target.to : NULL, boot_ms);
    begin_all(sender, boot_ms);
}

static void job_failed(const Sender *sender, const Transfer *transfer, Failure *out)
{
    const JobsPort *engine = &pipeline_options(sender->pipeline)->engine;
    Error why = { 0 };
    int32_t status = -1;
    char id[ID_TEXT_BYTES];
    if (engine->job(engine->context, transfer->job, take_exit, &status, &why))
        status = -1;
    out->clash = status == TRANSFER_CLASH;
    snprintf(out->text, sizeof out->text, "%s (pawl logs %s)", transfer_problem(status),
             id_text(transfer->job, id));
}

void sender_note(Sender *sender, JobId id, JobState state, int64_t boot_ms)
{
    if (!state_in(state, STATES_FINAL))
        return;
    for (Transfer **at = &sender->transfers; *at; at = &(*at)->next) {
        if ((*at)->job != id)
            continue;
        Transfer *transfer = transfer_take(sender, at);
        Failure failure = { 0 };
        if (state != JOB_DONE)
            job_failed(sender, transfer, &failure);
        if (state == JOB_DONE)
            ended_well(sender, transfer, boot_ms);
        else
            ended_badly(sender, transfer, &failure, boot_ms);
        mem_free(transfer);
        return;
    }
}

bool sender_carried(Sender *sender, const CarryOrder *order, int64_t boot_ms)
{
    for (Transfer **at = &sender->transfers; *at; at = &(*at)->next) {
        if ((*at)->number != order->number)
            continue;
        Transfer *transfer = transfer_take(sender, at);
        Processor *to = processor_at(sender, notify_target_of(sender, transfer).to);
        Failure failure = { .clash = order->end == CARRY_CLASH };
        snprintf(failure.text, sizeof failure.text, "%s", order->why.text);
        if (order->end == CARRY_DONE && to)
            bucket_counted(&to->buckets, IN_WORK, 1);
        if (order->end == CARRY_DONE)
            ended_well(sender, transfer, boot_ms);
        else
            ended_badly(sender, transfer, &failure, boot_ms);
        mem_free(transfer);
        return true;
    }
    return false;
}
