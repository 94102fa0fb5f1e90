/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.c - see pipeline.h. */
#include "pipeline/pipeline.h"

#include "base/log.h"
#include "pipeline/forward/broker.h"
#include "pipeline/processor/meters.h"
#include "pipeline/processor/processor.h"
#include "pipeline/processor/status.h"
#include "pipeline/processor/unit.h"
#include "run/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#define LOOK_MS   MS_PER_S       /* between looks at every directory */
#define REOPEN_MS (5 * MS_PER_S) /* between tries to open what could not be */
#define SCRATCH   65536

struct Pipeline {
    PipelineOptions options;
    char *data_dir;
    char *sysid;
    char *program;
    Mailbox orders;
    Mailbox notes;
    Mailbox carried;
    Mailbox heard; /* of PeersNews */
    Carrier *carrier;
    int wake_fd;
    int watch_fd;
    pthread_t thread;
    bool started;
    atomic_bool ready;
    atomic_bool stopping;

    /* Of its thread. */
    Processor *processors;
    Broker *brokers;
    Peers peers;
    uint64_t number; /* of the last carried order */
    int64_t reopen_boot;
};

typedef struct Note {
    Mail mail;
    JobId id;
    JobState state;
    int64_t run_ms;
    char queue[256];
} Note;

/* --- From outside ---------------------------------------------------------------------
 */

static void wake(void *context)
{
    const Pipeline *pipeline = context;
    uint64_t one = 1;
    ssize_t wrote = write(pipeline->wake_fd, &one, sizeof one);
    (void)wrote; /* only fails when it is awake already */
}

static char *text_copy(const char *text)
{
    return mem_copy(text, strlen(text) + 1);
}

Pipeline *pipeline_new(const PipelineOptions *options)
{
    Pipeline *pipeline = MEM_NEW(Pipeline);
    pipeline->options = *options;
    pipeline->options.data_dir = pipeline->data_dir = text_copy(options->data_dir);
    pipeline->options.sysid = pipeline->sysid = text_copy(options->sysid);
    pipeline->options.program = pipeline->program = text_copy(options->program);
    pipeline->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pipeline->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    Mailbox *boxes[] = { &pipeline->orders, &pipeline->notes, &pipeline->carried,
                         &pipeline->heard };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        mailbox_init(boxes[i]);
        boxes[i]->wake = wake;
        boxes[i]->wake_context = pipeline;
    }
    pipeline->carrier = carrier_new(&pipeline->carried);
    return pipeline;
}

const PipelineOptions *pipeline_options(const Pipeline *pipeline)
{
    return &pipeline->options;
}

Carrier *pipeline_carrier(const Pipeline *pipeline)
{
    return pipeline->carrier;
}

uint64_t pipeline_number(Pipeline *pipeline)
{
    return ++pipeline->number;
}

bool pipeline_ready(const Pipeline *pipeline)
{
    return pipeline->ready;
}

void pipeline_give(Pipeline *pipeline, SignalOrder *order)
{
    mailbox_put(&pipeline->orders, &order->mail);
}

void pipeline_tell(Pipeline *pipeline, PeersNews *news)
{
    mailbox_put(&pipeline->heard, &news->mail);
}

const Peers *pipeline_peers(const Pipeline *pipeline)
{
    return &pipeline->peers;
}

bool pipeline_queue(Slice queue)
{
    return slice_starts(queue, SLICE_LITERAL(PROCESSOR_QUEUE)) ||
           slice_starts(queue, SLICE_LITERAL(FORWARD_QUEUE));
}

void pipeline_note(Pipeline *pipeline, const PipelineNote *what)
{
    Note *note = MEM_NEW(Note);
    note->id = what->id;
    note->state = what->state;
    note->run_ms = what->run_ms;
    snprintf(note->queue, sizeof note->queue, SLICE_FMT, SLICE_ARG(what->queue));
    mailbox_put(&pipeline->notes, &note->mail);
}

/* --- Plans -----------------------------------------------------------------------------
 */

static Plan keep_plan(Arena *arena, const Plan *plan);

static Forward keep_forward(Arena *arena, const Forward *forward)
{
    Forward kept = *forward;
    kept.ssh = slice_copy(arena, forward->ssh);
    kept.places = arena_take(arena, forward->count * sizeof *kept.places);
    for (size_t i = 0; i < forward->count; i++) {
        Error why;
        if (place_parse(slice_copy(arena, forward->places[i].text), &kept.places[i],
                        &why))
            kept.count = i; /* cannot be: it was parsed before */
    }
    return kept;
}

static Plan keep_plan(Arena *arena, const Plan *plan)
{
    Plan kept = *plan;
    Slice *texts[] = { &kept.name, &kept.command, &kept.type, &kept.dir,
                       &kept.from, &kept.cwd,     &kept.env,  &kept.address };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = slice_copy(arena, *texts[i]);
    kept.forwards = arena_take(arena, (plan->forward_count + 1) * sizeof(Forward));
    for (size_t i = 0; i < plan->forward_count; i++)
        kept.forwards[i] = keep_forward(arena, &plan->forwards[i]);
    return kept;
}

static Processor *add_processor(Pipeline *pipeline, const Plan *plan)
{
    Arena arena = { 0 };
    Plan kept = keep_plan(&arena, plan);
    Processor *processor = processor_new(pipeline, &kept);
    processor->arena = arena;
    Processor **at = &pipeline->processors;
    while (*at)
        at = &(*at)->next;
    *at = processor;
    return processor;
}

void pipeline_plan(Pipeline *pipeline, const Plan *plan)
{
    if (!pipeline_find(pipeline, plan->name))
        add_processor(pipeline, plan);
}

void pipeline_plan_broker(Pipeline *pipeline, const Plan *plan)
{
    Arena arena = { 0 };
    for (const Broker *at = pipeline->brokers; at; at = at->next)
        if (slice_equal(at->plan.name, plan->name))
            return;
    Plan kept = keep_plan(&arena, plan);
    Broker *broker = broker_new(pipeline, &kept);
    broker->arena = arena;
    broker->next = pipeline->brokers;
    pipeline->brokers = broker;
}

Processor *pipeline_first(const Pipeline *pipeline)
{
    return pipeline->processors;
}

Broker *pipeline_brokers(const Pipeline *pipeline)
{
    return pipeline->brokers;
}

Processor *pipeline_find(const Pipeline *pipeline, Slice name)
{
    for (Processor *at = pipeline->processors; at; at = at->next)
        if (!at->gone && (slice_equal(at->plan.name, name) || slice_is(name, at->id)))
            return at;
    return NULL;
}

/* --- Watching --------------------------------------------------------------------------
 */

static int watch_path(const Pipeline *pipeline, const char *path)
{
    return inotify_add_watch(pipeline->watch_fd, path,
                             IN_MOVED_TO | IN_CREATE | IN_CLOSE_WRITE | IN_ONLYDIR);
}

static void watch_processor(Pipeline *pipeline, Processor *processor)
{
    static const Bucket buckets[] = { IN_WORK, OUT_FINISHED, IN_RECEIVE };
    Buf path = { 0 };
    for (size_t i = 0; i < 3; i++) {
        bucket_unit_path(&processor->buckets, buckets[i], "", &path);
        processor->watches[i] = watch_path(pipeline, buf_cstr(&path));
    }
    buf_done(&path);
}

static void unwatch(Pipeline *pipeline, Processor *processor)
{
    for (size_t i = 0; i < 3; i++)
        if (processor->watches[i] >= 0)
            inotify_rm_watch(pipeline->watch_fd, processor->watches[i]);
}

/* Which directory it was does not matter: all are looked at. */
static bool drain(int fd)
{
    char scratch[SCRATCH];
    bool any = false;
    while (read(fd, scratch, sizeof scratch) > 0)
        any = true;
    return any;
}

/* --- Opening ---------------------------------------------------------------------------
 */

static void open_processor(Pipeline *pipeline, Processor *processor)
{
    Error why = { 0 };
    Err err = processor_open(processor, &why);
    if (!err)
        watch_processor(pipeline, processor);
    else if (err != ERR_UNAVAILABLE)
        processor_trouble(processor, "", "%s", why.text);
}

static void open_all(Pipeline *pipeline, int64_t boot_ms)
{
    pipeline->reopen_boot = boot_ms + REOPEN_MS;
    for (Processor *at = pipeline->processors; at; at = at->next)
        if (!at->open && !at->gone)
            open_processor(pipeline, at);
    for (Broker *at = pipeline->brokers; at; at = at->next) {
        Error why = { 0 };
        if (at->open)
            continue;
        if (!broker_open(at, &why))
            at->watch = watch_path(pipeline, at->sender.source_dir);
        else if (why.code != ERR_UNAVAILABLE)
            broker_trouble(at, "", why.text);
    }
}

static void plan_text(Buf *out, const Plan *plan)
{
    JsonOut json = { .out = out };
    json_object(&json, NULL);
    json_text(&json, "from", plan->from);
    plan_members(&json, plan);
    json_object_end(&json);
}

static bool same_plan(const Plan *a, const Plan *b)
{
    Buf first = { 0 };
    Buf second = { 0 };
    plan_text(&first, a);
    plan_text(&second, b);
    bool same =
        slice_equal(buf_slice(&first), buf_slice(&second)) && a->declared == b->declared;
    buf_done(&first);
    buf_done(&second);
    return same;
}

/* Transfers belong to the destinations of a plan: it changes when none is under way. */
static Err change_plan(Pipeline *pipeline, Processor *processor, const Plan *plan,
                       Error *why)
{
    Arena arena = { 0 };
    if (same_plan(&processor->plan, plan))
        return ERR_OK;
    if (!slice_equal(processor->plan.dir, plan->dir))
        return error_set(why, ERR_CONFLICT,
                         "the directory of a processor cannot be changed: destroy it and "
                         "make it anew");
    if (sender_busy(&processor->sender, NULL))
        return error_set(why, ERR_CONFLICT,
                         "transfers are under way: stop the forwarder and wait for them");
    sender_close(&processor->sender);
    Arena old = processor->arena;
    processor->plan = keep_plan(&arena, plan);
    processor->arena = arena;
    arena_done(&old);
    if (!processor->open) {
        open_processor(pipeline, processor);
        return ERR_OK;
    }
    sender_init(&processor->sender);
    processor_publish(processor, false);
    return ERR_OK;
}

Err pipeline_put(Pipeline *pipeline, const Plan *plan, bool *out_new, Error *why)
{
    Processor *processor = pipeline_find(pipeline, plan->name);
    *out_new = !processor;
    if (processor)
        return change_plan(pipeline, processor, plan, why);
    processor = add_processor(pipeline, plan);
    Err err = processor_open(processor, why);
    if (err) {
        processor->gone = true; /* dropped after this step */
        return err;
    }
    watch_processor(pipeline, processor);
    return ERR_OK;
}

/* --- Orders ----------------------------------------------------------------------------
 */

static void list_elsewhere(JsonOut *json, const Peers *peers)
{
    json_array(json, "elsewhere");
    for (size_t i = 0; i < peers->count; i++) {
        const PeerPlace *place = peers->places[i];
        Buf id = { 0 };
        buf_printf(&id, SLICE_FMT ":" SLICE_FMT, SLICE_ARG(place->node),
                   SLICE_ARG(place->name));
        json_object(json, NULL);
        json_text(json, "name", place->name);
        json_text(json, "id", buf_slice(&id));
        json_text(json, "node", place->node);
        json_text(json, "directory", place->dir);
        json_object_end(json);
        buf_done(&id);
    }
    json_array_end(json);
}

static void list_all(Pipeline *pipeline, SignalOrder *order)
{
    JsonOut json = { .out = &order->out };
    int64_t boot_ms = clock_now().boot_ms;
    json_object(&json, NULL);
    json_array(&json, "items");
    for (Processor *at = pipeline->processors; at; at = at->next)
        if (!at->gone)
            processor_json(&json, at, boot_ms);
    json_array_end(&json);
    json_cstr(&json, "next_cursor", NULL);
    json_array(&json, "brokers");
    for (Broker *at = pipeline->brokers; at; at = at->next)
        broker_json(&json, at, boot_ms);
    json_array_end(&json);
    if (order->kind == ORDER_LIST_KNOWN)
        list_elsewhere(&json, &pipeline->peers);
    json_object_end(&json);
}

static void loads_of_all(Pipeline *pipeline, SignalOrder *order)
{
    int64_t boot_ms = clock_now().boot_ms;
    for (Processor *at = pipeline->processors; at; at = at->next)
        if (at->open && !at->gone)
            buf_printf(&order->out, SLICE_FMT " %lld\n", SLICE_ARG(at->plan.name),
                       (long long)bucket_guess(&at->buckets, IN_WORK, boot_ms) +
                           (long long)at->unit_count);
}

static void meter_all(Pipeline *pipeline, SignalOrder *order)
{
    meters_write(&order->out, pipeline->processors, pipeline->brokers,
                 clock_now().boot_ms);
}

static void put_plan(Pipeline *pipeline, SignalOrder *order)
{
    Err err = pipeline_put(pipeline, order->plan, &order->created, &order->why);
    if (err) {
        order->err = err;
        order->problem = err == ERR_CONFLICT ? "conflict" : "invalid_value";
        return;
    }
    JsonOut json = { .out = &order->out };
    processor_json(&json, pipeline_find(pipeline, order->plan->name),
                   clock_now().boot_ms);
}

/* For one processor. True: it is answered. */
static bool for_one(SignalOrder *order, Processor *processor)
{
    if (!processor->open && order->kind != SIGNAL_STATUS) {
        const Troubles *troubles = &processor->troubles;
        signal_refuse(order, "processor_down", ERR_UNAVAILABLE,
                      troubles->count ? troubles->items[0].text
                                      : "the processor is not open yet");
        return true;
    }
    if (!signal_advance(order, processor))
        return false;
    order->done(order);
    return true;
}

static Broker **find_broker(Pipeline *pipeline, Slice name)
{
    Broker **at = &pipeline->brokers;
    while (*at && !slice_equal((*at)->plan.name, name))
        at = &(*at)->next;
    return at;
}

static void drop_broker(Pipeline *pipeline, SignalOrder *order)
{
    Broker **at = find_broker(pipeline, order->name);
    Broker *broker = *at;
    if (!broker)
        return;
    *at = broker->next;
    if (broker->watch >= 0)
        inotify_rm_watch(pipeline->watch_fd, broker->watch);
    broker_free(broker); /* transfers that run are examined by who comes next */
}

static void put_broker(Pipeline *pipeline, SignalOrder *order)
{
    Broker *before = *find_broker(pipeline, order->name);
    if (before && same_plan(&before->plan, order->plan))
        return;
    drop_broker(pipeline, order);
    pipeline_plan_broker(pipeline, order->plan);
    pipeline->reopen_boot = 0;
}

/* It stops: what runs goes on, its directory stays as it is. */
static void drop_plan(Pipeline *pipeline, SignalOrder *order)
{
    Processor *processor = pipeline_find(pipeline, order->name);
    if (processor)
        processor->gone = true;
}

/* Orders about the list of processors, not to one of them. */
static bool about_list(Pipeline *pipeline, SignalOrder *order)
{
    static const struct {
        SignalKind kind;
        void (*take)(Pipeline *, SignalOrder *);
    } rows[] = {
        { ORDER_METERS, meter_all },      { ORDER_LIST, list_all },
        { ORDER_PUT, put_plan },          { ORDER_DROP, drop_plan },
        { ORDER_PUT_BROKER, put_broker }, { ORDER_DROP_BROKER, drop_broker },
        { ORDER_LIST_KNOWN, list_all },   { ORDER_LOADS, loads_of_all },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].kind != order->kind)
            continue;
        rows[i].take(pipeline, order);
        order->done(order);
        return true;
    }
    return false;
}

static void take_order(Pipeline *pipeline, SignalOrder *order)
{
    if (about_list(pipeline, order))
        return;
    Processor *processor = pipeline_find(pipeline, order->name);
    if (!processor) {
        signal_refuse(order, "processor_not_found", ERR_NOT_FOUND,
                      "there is no such processor on this node");
        return;
    }
    if (for_one(order, processor))
        return;
    SignalOrder **at = &processor->pending;
    while (*at)
        at = &(*at)->pending;
    order->pending = NULL;
    *at = order;
}

/* Orders that wait for something, in the order they came. True: one has more to do. */
static bool advance_pending(Processor *processor)
{
    bool more = false;
    for (SignalOrder **at = &processor->pending; *at;) {
        SignalOrder *order = *at;
        SignalOrder *next = order->pending;
        if (signal_advance(order, processor)) {
            *at = next;
            order->done(order);
            continue;
        }
        more = more || order->walk.stream;
        at = &order->pending;
    }
    return more;
}

static void take_note(Pipeline *pipeline, const Note *note, int64_t boot_ms)
{
    Slice queue = slice_text(note->queue);
    for (Processor *at = pipeline->processors; at; at = at->next) {
        if (slice_is(queue, at->queue))
            processor_note(at, note->id, note->state, note->run_ms);
        else if (at->open && slice_is(queue, at->sender.queue))
            sender_note(&at->sender, note->id, note->state, boot_ms);
    }
    for (Broker *at = pipeline->brokers; at; at = at->next)
        if (at->open && slice_is(queue, at->sender.queue))
            sender_note(&at->sender, note->id, note->state, boot_ms);
}

/* --- The thread ------------------------------------------------------------------------
 */

static void drop_gone(Pipeline *pipeline)
{
    for (Processor **at = &pipeline->processors; *at;) {
        Processor *processor = *at;
        if (!processor->gone || processor->pending) {
            at = &processor->next;
            continue;
        }
        *at = processor->next;
        processor_publish(processor, true);
        unwatch(pipeline, processor);
        processor_free(processor);
    }
}

static void take_carried(Pipeline *pipeline, const CarryOrder *order, int64_t boot_ms)
{
    bool found = false;
    for (Processor *at = pipeline->processors; at && !found; at = at->next)
        found = at->open && sender_carried(&at->sender, order, boot_ms);
    for (Broker *at = pipeline->brokers; at && !found; at = at->next)
        found = at->open && sender_carried(&at->sender, order, boot_ms);
}

static void settle_all(Pipeline *pipeline, int64_t boot_ms)
{
    for (Processor *at = pipeline->processors; at; at = at->next)
        if (at->open)
            sender_settle(&at->sender, boot_ms);
    for (Broker *at = pipeline->brokers; at; at = at->next)
        if (at->open)
            sender_settle(&at->sender, boot_ms);
}

static void take_heard(Pipeline *pipeline)
{
    for (Mail *mail = mailbox_take(&pipeline->heard); mail;) {
        Mail *next = mail->next;
        peers_take(&pipeline->peers, (PeersNews *)(void *)mail);
        mail = next;
    }
}

/* Orders are taken out first: what had happened when one was given is then among the
 * notes. So who waited for the end of a job and asks finds the unit where it belongs. */
static void take_mail(Pipeline *pipeline, int64_t boot_ms)
{
    take_heard(pipeline);
    Mail *orders = mailbox_take(&pipeline->orders);
    for (Mail *mail = mailbox_take(&pipeline->notes); mail;) {
        Mail *next = mail->next;
        take_note(pipeline, (const Note *)(const void *)mail, boot_ms);
        mem_free(mail);
        mail = next;
    }
    for (Mail *mail = mailbox_take(&pipeline->carried); mail;) {
        Mail *next = mail->next;
        take_carried(pipeline, (const CarryOrder *)(const void *)mail, boot_ms);
        carry_order_free((CarryOrder *)(void *)mail);
        mail = next;
    }
    settle_all(pipeline, boot_ms);
    for (Processor *at = pipeline->processors; at && orders; at = at->next)
        units_finish(at, boot_ms);
    for (Mail *mail = orders; mail;) {
        Mail *next = mail->next;
        take_order(pipeline, (SignalOrder *)(void *)mail);
        mail = next;
    }
}

/* Everything that can be done now. Returns how long to sleep. */
static int turn(Pipeline *pipeline)
{
    int64_t boot_ms = clock_now().boot_ms;
    bool more = false;
    take_mail(pipeline, boot_ms);
    if (boot_ms >= pipeline->reopen_boot)
        open_all(pipeline, boot_ms);
    for (Processor *at = pipeline->processors; at; at = at->next) {
        if (processor_step(at, boot_ms))
            more = true;
        if (advance_pending(at))
            more = true;
    }
    for (Broker *at = pipeline->brokers; at; at = at->next)
        if (broker_step(at, boot_ms))
            more = true;
    drop_gone(pipeline);
    return more ? 0 : (int)LOOK_MS;
}

static void *run(void *context)
{
    Pipeline *pipeline = context;
    struct pollfd fds[] = { { .fd = pipeline->wake_fd, .events = POLLIN },
                            { .fd = pipeline->watch_fd, .events = POLLIN } };
    open_all(pipeline, clock_now().boot_ms);
    pipeline->ready = true;
    if (pipeline->options.on_ready)
        pipeline->options.on_ready(pipeline->options.context);
    while (!pipeline->stopping) {
        int sleep_ms = turn(pipeline);
        poll(fds, 2, sleep_ms);
        drain(pipeline->wake_fd);
        drain(pipeline->watch_fd);
    }
    return NULL;
}

void pipeline_start(Pipeline *pipeline)
{
    pipeline->started = true;
    pipeline->thread = thread_start(run, pipeline);
}

void pipeline_stop(Pipeline *pipeline)
{
    pipeline->stopping = true;
    wake(pipeline);
}

static void refuse_list(SignalOrder *order)
{
    while (order) {
        SignalOrder *next = order->pending;
        bucket_walk_end(&order->walk);
        signal_refuse(order, "draining", ERR_UNAVAILABLE, "the daemon is closing");
        order = next;
    }
}

void pipeline_free(Pipeline *pipeline)
{
    if (!pipeline)
        return;
    pipeline_stop(pipeline);
    if (pipeline->started)
        pthread_join(pipeline->thread, NULL);
    for (Mail *mail = mailbox_take(&pipeline->orders); mail;) {
        Mail *next = mail->next;
        signal_refuse((SignalOrder *)(void *)mail, "draining", ERR_UNAVAILABLE,
                      "the daemon is closing");
        mail = next;
    }
    for (Mail *mail = mailbox_take(&pipeline->notes); mail;) {
        Mail *next = mail->next;
        mem_free(mail);
        mail = next;
    }
    while (pipeline->processors) {
        Processor *processor = pipeline->processors;
        pipeline->processors = processor->next;
        refuse_list(processor->pending);
        processor_free(processor);
    }
    while (pipeline->brokers) {
        Broker *broker = pipeline->brokers;
        pipeline->brokers = broker->next;
        broker_free(broker);
    }
    carrier_free(pipeline->carrier);
    for (Mail *mail = mailbox_take(&pipeline->carried); mail;) {
        Mail *next = mail->next;
        carry_order_free((CarryOrder *)(void *)mail);
        mail = next;
    }
    take_heard(pipeline);
    peers_done(&pipeline->peers);
    mailbox_done(&pipeline->heard);
    mailbox_done(&pipeline->carried);
    mailbox_done(&pipeline->orders);
    mailbox_done(&pipeline->notes);
    close(pipeline->wake_fd);
    close(pipeline->watch_fd);
    mem_free(pipeline->data_dir);
    mem_free(pipeline->sysid);
    mem_free(pipeline->program);
    mem_free(pipeline);
}
