/* SPDX-License-Identifier: Apache-2.0 */
/* sender.c - see sender.h. */
#include "pipeline/sender.h"

#include "base/log.h"
#include "base/map.h"
#include "base/text.h"
#include "pipeline/broker.h"
#include "pipeline/pipeline.h"
#include "pipeline/processor.h"
#include "pipeline/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_MAX     512 /* units examined in one step */
#define REFUSED_MS   (10 * MS_PER_S)
#define MARKS        "sent-to"
#define ROUTES       "route"
#define FOLDER_BYTES 64
#define RETRIES      0 /* a new transfer is a new job: the directory decides again */

typedef struct Target {
    size_t forward;
    size_t place;
    const Place *to;
} Target;

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

/* --- What is on disk ------------------------------------------------------------------
 */

/* Another state of the unit is another delivery: the rename into the source changed the
 * ctime. */
static bool delivery_of(const Sender *sender, const char *unit, char out[64])
{
    struct stat found;
    if (fstatat(sender->source_fd, unit, &found, AT_SYMLINK_NOFOLLOW))
        return false;
    snprintf(out, 64, "%" PRIu64 "-%" PRId64 ".%09ld", (uint64_t)found.st_ino,
             (int64_t)found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
    return true;
}

static void mark_folder(const Place *place, char out[FOLDER_BYTES])
{
    snprintf(out, FOLDER_BYTES, MARKS "/%s", place->key);
}

static void route_folder(size_t forward, char out[FOLDER_BYTES])
{
    snprintf(out, FOLDER_BYTES, ROUTES "/%zu", forward);
}

static bool marked(const Sender *sender, const Place *place, const char *unit,
                   const char *delivery)
{
    char folder[FOLDER_BYTES];
    Buf text = { 0 };
    mark_folder(place, folder);
    bool same = !own_read(sender->buckets, folder, unit, &text) &&
                slice_is(buf_slice(&text), delivery);
    buf_done(&text);
    return same;
}

static void forget_unit(Sender *sender, const char *unit)
{
    char folder[FOLDER_BYTES];
    for (size_t f = 0; f < sender->plan->forward_count; f++) {
        const Forward *forward = &sender->plan->forwards[f];
        route_folder(f, folder);
        own_remove(sender->buckets, folder, unit);
        for (size_t p = 0; p < forward->count; p++) {
            mark_folder(&forward->places[p], folder);
            own_remove(sender->buckets, folder, unit);
        }
    }
}

/* Files about units that are not in the source any more go. */
static void tidy_folder(const Sender *sender, const char *folder)
{
    char name[UNIT_BYTES_MAX + 1];
    BucketWalk walk = { 0 };
    struct stat found;
    int dir = openat(sender->buckets->own_fd, folder,
                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return;
    for (WalkStep step; (step = bucket_walk_next(&walk, dir, name)) != WALK_END;)
        if (step == WALK_UNIT &&
            fstatat(sender->source_fd, name, &found, AT_SYMLINK_NOFOLLOW))
            unlinkat(dir, name, 0);
    close(dir);
}

static void tidy(const Sender *sender)
{
    char folder[FOLDER_BYTES];
    for (size_t f = 0; f < sender->plan->forward_count; f++) {
        const Forward *forward = &sender->plan->forwards[f];
        route_folder(f, folder);
        tidy_folder(sender, folder);
        for (size_t p = 0; p < forward->count; p++) {
            mark_folder(&forward->places[p], folder);
            tidy_folder(sender, folder);
        }
    }
}

void sender_forget(Sender *sender, const char *unit)
{
    if (unit)
        forget_unit(sender, unit);
    else
        tidy(sender);
}

/* --- Opening --------------------------------------------------------------------------
 */

void sender_init(Sender *sender)
{
    size_t count = sender->plan->forward_count;
    sender->in_flight = MEM_ARRAY(size_t, count + 1);
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
    mem_free(sender->turns);
    while (sender->transfers) {
        Transfer *transfer = sender->transfers;
        sender->transfers = transfer->next;
        mem_free(transfer);
    }
    bucket_walk_end(&sender->walk);
    sender->ready = false;
}

static bool find_place(const Sender *sender, Slice key, Target *out)
{
    for (size_t f = 0; f < sender->plan->forward_count; f++) {
        const Forward *forward = &sender->plan->forwards[f];
        for (size_t p = 0; p < forward->count; p++) {
            if (!slice_is(key, forward->places[p].key))
                continue;
            *out = (Target){ f, p, &forward->places[p] };
            return true;
        }
    }
    return false;
}

static Transfer *transfer_new(Sender *sender, const Target *target, JobId job,
                              const char *unit, const char *delivery)
{
    Transfer *transfer = MEM_NEW(Transfer);
    transfer->job = job;
    transfer->forward = target->forward;
    transfer->place = target->place;
    snprintf(transfer->unit, sizeof transfer->unit, "%s", unit);
    snprintf(transfer->delivery, sizeof transfer->delivery, "%s", delivery);
    transfer->next = sender->transfers;
    sender->transfers = transfer;
    sender->in_flight[target->forward]++;
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
    Target target;
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
    const Engine *engine = &pipeline_options(sender->pipeline)->engine;
    EngineQuestion question = { .queue = slice_text(sender->queue),
                                .states = ((1u << JOB_STATES) - 1) & ~STATES_FINAL };
    Err err = engine->ask(engine->context, &question, take_live, sender, why);
    if (!err)
        tidy(sender);
    return err;
}

size_t sender_busy(const Sender *sender, const char *unit)
{
    size_t busy = 0;
    for (const Transfer *at = sender->transfers; at; at = at->next)
        busy += !unit || strcmp(unit, at->unit) == 0;
    return busy;
}

/* --- Which destination ----------------------------------------------------------------
 */

/* What waits at a destination: counted where it is ours to count, else what was begun
 * and has not arrived. */
static int64_t load_of(const Sender *sender, size_t f, size_t p)
{
    const Place *place = &sender->plan->forwards[f].places[p];
    const PlaceState *state = &sender->states[f][p];
    int64_t load = (int64_t)(state->given - state->delivered);
    if (place->kind != PLACE_LOCAL)
        return load;
    Processor *to = pipeline_find(sender->pipeline, place->path);
    if (!to || !to->open)
        return INT64_MAX;
    int64_t boot_ms = clock_now().boot_ms;
    return load + bucket_count(&to->buckets, IN_WORK, boot_ms) +
           bucket_count(&to->buckets, IN_ACTIVE, boot_ms);
}

static size_t choose(Sender *sender, size_t f, const char *unit)
{
    const Forward *forward = &sender->plan->forwards[f];
    size_t best = 0;
    switch (forward->mode) {
    case FORWARD_ALL:
        return 0;
    case FORWARD_ROUND_ROBIN:
        return (size_t)(sender->turns[f]++ % forward->count);
    case FORWARD_HASH:
        return (size_t)(hash_bytes(unit, strlen(unit)) % forward->count);
    case FORWARD_LEAST_LOADED:
        for (size_t p = 1; p < forward->count; p++)
            if (load_of(sender, f, p) < load_of(sender, f, best))
                best = p;
        return best;
    }
    return best;
}

/* The one destination of a unit, written down before it is used. False: not now. */
static bool route(Sender *sender, size_t f, const char *unit, const char *delivery,
                  size_t *out_place)
{
    const Forward *forward = &sender->plan->forwards[f];
    char folder[FOLDER_BYTES];
    Buf text = { 0 };
    Error why = { 0 };
    route_folder(f, folder);
    if (!own_read(sender->buckets, folder, unit, &text)) {
        Slice key = buf_slice(&text);
        Slice of = slice_cut(&key, ' ');
        for (size_t p = 0; p < forward->count && slice_is(of, delivery); p++) {
            if (!slice_is(key, forward->places[p].key))
                continue;
            *out_place = p;
            buf_done(&text);
            return true;
        }
    }
    *out_place = choose(sender, f, unit);
    buf_clear(&text);
    buf_printf(&text, "%s %s", delivery, forward->places[*out_place].key);
    Err err = own_write(sender->buckets, folder, unit, buf_slice(&text), &why);
    buf_done(&text);
    if (err)
        trouble(sender, unit, why.text);
    return !err;
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

static void fail(Sender *sender, const Target *target, const char *unit,
                 const char *problem)
{
    char text[ERROR_TEXT_BYTES];
    snprintf(text, sizeof text, "to " SLICE_FMT ": %s", SLICE_ARG(target->to->text),
             problem);
    trouble(sender, unit, text);
}

static void back_off(Sender *sender, const Target *target, int64_t boot_ms)
{
    PlaceState *state = &sender->states[target->forward][target->place];
    static const int64_t seconds[] = { 1, 2, 4, 8, 16, 30 };
    size_t last = sizeof seconds / sizeof *seconds - 1;
    state->try_boot =
        boot_ms + MS_PER_S * seconds[state->failures < last ? state->failures : last];
    state->failures++;
}

static Err add_job(Sender *sender, const TransferOrder *order, JobId *out_id, Error *why)
{
    const Engine *engine = &pipeline_options(sender->pipeline)->engine;
    Buf command = { 0 };
    Job job = job_default();
    Slice name = slice_text(order->unit);
    transfer_command(&command, order);
    job.tenant = SLICE_LITERAL("default");
    job.type = SLICE_LITERAL(FORWARD_TYPE);
    job.queue = slice_text(sender->queue);
    job.command = buf_slice(&command);
    job.cwd = SLICE_LITERAL("/");
    job.name = utf8_valid(name) ? name : order->place->text;
    job.max_retries = RETRIES;
    Err err = engine->add(engine->context, &job, 1, out_id, why);
    buf_done(&command);
    return err;
}

static bool place_dir(Sender *sender, const Target *target, const char **out_dir)
{
    *out_dir = "";
    if (target->to->kind != PLACE_LOCAL)
        return true;
    const Processor *to = pipeline_find(sender->pipeline, target->to->path);
    if (!to || !to->open)
        return false;
    *out_dir = to->buckets.dir;
    return true;
}

/* A broker gives units away: on one file system a single rename does it. */
static bool moved(Sender *sender, const Target *target, const char *unit)
{
    if (!sender->broker || target->to->kind != PLACE_LOCAL)
        return false;
    Processor *to = pipeline_find(sender->pipeline, target->to->path);
    if (!to || !to->open ||
        renameat2(sender->source_fd, unit, to->buckets.fds[IN_WORK], unit,
                  RENAME_NOREPLACE))
        return false;
    fsync(to->buckets.fds[IN_WORK]);
    fsync(sender->source_fd);
    return true;
}

static void start(Sender *sender, const Target *target, const char *unit,
                  const char *delivery, int64_t boot_ms)
{
    Error why = { 0 };
    JobId id = 0;
    Buf source = { 0 };
    const Forward *forward = &sender->plan->forwards[target->forward];
    TransferOrder order = { .place = target->to,
                            .forward = forward,
                            .unit = unit,
                            .sender = sender->id,
                            .delivery = delivery };
    PlaceState *state = &sender->states[target->forward][target->place];
    if (moved(sender, target, unit)) {
        state->given++;
        state->delivered++;
        rate_count(&sender->rate, boot_ms);
        forget_unit(sender, unit);
        return;
    }
    if (!place_dir(sender, target, &order.dir)) {
        fail(sender, target, unit, "there is no such processor on this node");
        back_off(sender, target, boot_ms);
        return;
    }
    buf_printf(&source, "%s/%s", sender->source_dir, unit);
    order.source = buf_cstr(&source);
    if (add_job(sender, &order, &id, &why)) {
        fail(sender, target, unit, why.text);
        back_off(sender, target, boot_ms);
    } else {
        transfer_new(sender, target, id, unit, delivery);
        state->given++;
    }
    buf_done(&source);
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

/* Whether this destination has the unit; if not, it may be sent there now. */
static bool has_or_send(Sender *sender, const Target *target, const char *unit,
                        const char *delivery, int64_t boot_ms)
{
    const Forward *forward = &sender->plan->forwards[target->forward];
    if (marked(sender, target->to, unit, delivery))
        return true;
    if (may_start(sender) && !in_hand(sender, unit, target->to) &&
        sender->in_flight[target->forward] < forward->slots &&
        sender->states[target->forward][target->place].try_boot <= boot_ms &&
        !refused(sender, unit, target->to, boot_ms))
        start(sender, target, unit, delivery, boot_ms);
    return false;
}

/* Every destination has it: it leaves the source. The marks go after that is durable. */
static void leave(Sender *sender, const char *unit, int64_t boot_ms)
{
    Error why = { 0 };
    Err err;
    if (sender->processor) {
        Buckets *buckets = &sender->processor->buckets;
        err = bucket_move(buckets, unit, OUT_FINISHED, OUT_SENT, &why);
        if (!err)
            err = buckets_sync(buckets, &why);
    } else {
        err = broker_remove(sender->broker, unit, &why);
    }
    if (err) {
        trouble(sender, unit, why.text);
        return;
    }
    forget_unit(sender, unit);
    untrouble(sender, unit);
    rate_count(&sender->rate, boot_ms);
}

static void examine(Sender *sender, const char *unit, int64_t boot_ms)
{
    char delivery[64];
    bool everywhere = true;
    if (!delivery_of(sender, unit, delivery))
        return;
    for (size_t f = 0; f < sender->plan->forward_count; f++) {
        const Forward *forward = &sender->plan->forwards[f];
        size_t first = 0;
        size_t end = forward->count;
        if (forward->mode != FORWARD_ALL) {
            if (!route(sender, f, unit, delivery, &first)) {
                everywhere = false;
                continue;
            }
            end = first + 1;
        }
        for (size_t p = first; p < end; p++) {
            Target target = { f, p, &forward->places[p] };
            if (!has_or_send(sender, &target, unit, delivery, boot_ms))
                everywhere = false;
        }
    }
    if (everywhere)
        leave(sender, unit, boot_ms);
}

static bool has_room(const Sender *sender)
{
    for (size_t f = 0; f < sender->plan->forward_count; f++)
        if (sender->in_flight[f] < sender->plan->forwards[f].slots)
            return true;
    return false;
}

bool sender_step(Sender *sender, int64_t boot_ms)
{
    char name[UNIT_BYTES_MAX + 1];
    if (!sender->ready || !sender->plan->forward_count || !may_start(sender))
        return false;
    for (int looked = 0; looked < LOOK_MAX && has_room(sender); looked++) {
        WalkStep step = bucket_walk_next(&sender->walk, sender->source_fd, name);
        if (step == WALK_END)
            return false;
        if (step == WALK_UNIT)
            examine(sender, name, boot_ms);
    }
    return has_room(sender);
}

/* --- Ends -----------------------------------------------------------------------------
 */

static void take_exit(void *context, const Job *job)
{
    *(int32_t *)context = job->outcome.exit_status;
}

static void ended_badly(Sender *sender, const Transfer *transfer, const Target *target,
                        int64_t boot_ms)
{
    const Engine *engine = &pipeline_options(sender->pipeline)->engine;
    Error why = { 0 };
    int32_t status = -1;
    char id[ID_TEXT_BYTES];
    char text[ERROR_TEXT_BYTES];
    if (engine->job(engine->context, transfer->job, take_exit, &status, &why))
        status = -1;
    snprintf(text, sizeof text, "%s (pawl logs %s)", transfer_problem(status),
             id_text(transfer->job, id));
    fail(sender, target, transfer->unit, text);
    sender->states[target->forward][target->place].given--;
    if (status == TRANSFER_CLASH)
        refuse(sender, transfer->unit, target->to, boot_ms);
    else
        back_off(sender, target, boot_ms);
}

static void ended_well(Sender *sender, const Transfer *transfer, const Target *target,
                       int64_t boot_ms)
{
    char folder[FOLDER_BYTES];
    Error why = { 0 };
    PlaceState *state = &sender->states[target->forward][target->place];
    state->failures = 0;
    state->try_boot = 0;
    state->delivered++;
    mark_folder(target->to, folder);
    if (own_write(sender->buckets, folder, transfer->unit, slice_text(transfer->delivery),
                  &why))
        fail(sender, target, transfer->unit, why.text);
    else
        examine(sender, transfer->unit, boot_ms);
}

void sender_note(Sender *sender, JobId id, JobState state, int64_t boot_ms)
{
    if (!state_in(state, STATES_FINAL))
        return;
    for (Transfer **at = &sender->transfers; *at; at = &(*at)->next) {
        Transfer *transfer = *at;
        if (transfer->job != id)
            continue;
        *at = transfer->next;
        sender->in_flight[transfer->forward]--;
        Target target = {
            transfer->forward, transfer->place,
            &sender->plan->forwards[transfer->forward].places[transfer->place]
        };
        if (state == JOB_DONE)
            ended_well(sender, transfer, &target, boot_ms);
        else
            ended_badly(sender, transfer, &target, boot_ms);
        mem_free(transfer);
        return;
    }
}
