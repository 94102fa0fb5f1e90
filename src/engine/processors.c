/* SPDX-License-Identifier: Apache-2.0 */
/* processors.c - see processors.h. */
#include "engine/processors.h"

#include "base/log.h"
#include "cluster/remote_order.h"
#include "engine/daemon_state.h"
#include "pipeline/pipeline.h"
#include "json/json_in.h"

#include <ctype.h>
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOST_BYTES 256

/* --- Calls of the pipeline's thread ---------------------------------------------------
 */

typedef struct Asked {
    Call call; /* first: done() gets it */
    sem_t answered;
    const JobsQuestion *question;
    uint16_t node; /* only jobs that it took; 0: any */
    JobId id;
    JobsSink *sink;
    void *sink_context;
} Asked;

static void answered(Call *call)
{
    sem_post(&((Asked *)(void *)call)->answered);
}

/* A refusal without a text of its own: what its code means and what to do, as the rest of
 * a sentence. */
static void say_problem(const Call *call, Error *why)
{
    const ProblemKind *kind = call->problem ? problem_find(call->problem) : NULL;
    if (!kind) {
        error_set(why, call->err, "%s", err_name(call->err));
        return;
    }
    error_set(why, call->err, "%s%s%s", kind->title, kind->hint[0] ? "; " : "",
              kind->hint);
    why->text[0] = (char)tolower((unsigned char)why->text[0]);
}

/* Waits for the answer; the caller ends with asked_done. */
static Err ask_and_wait(Daemon *daemon, Asked *asked, Error *why)
{
    sem_init(&asked->answered, 0, 0);
    asked->call.done = answered;
    daemon_call(daemon, &asked->call);
    while (sem_wait(&asked->answered)) {
    } /* only a signal ends it early */
    sem_destroy(&asked->answered);
    const Call *call = &asked->call;
    if (call->err && !why->text[0] && call->why.text[0])
        error_set(why, call->err, "%s", call->why.text);
    else if (call->err && !why->text[0])
        say_problem(call, why);
    why->code = call->err;
    return call->err;
}

static Err engine_add_event(Daemon *daemon, Asked *asked, Job *jobs, size_t count,
                            Error *why)
{
    asked->call.kind = CALL_EVENT;
    asked->call.event = (Event){ .kind = EVENT_ADD,
                                 .jobs = jobs,
                                 .count = count,
                                 .tenant = jobs[0].tenant,
                                 .key = asked->call.event.key,
                                 .key_hash = asked->call.event.key_hash };
    return ask_and_wait(daemon, asked, why);
}

static Err engine_add(void *context, Job *jobs, size_t count, JobId *out_ids, Error *why)
{
    Asked asked = { 0 };
    Err err = engine_add_event(context, &asked, jobs, count, why);
    for (size_t i = 0; i < count && !err; i++)
        out_ids[i] = id_from_count(asked.call.first + i, asked.call.node);
    arena_done(&asked.call.arena);
    return err;
}

static Err engine_add_once(void *context, Job *job, Slice key, Error *why)
{
    Asked asked = { 0 };
    asked.call.event.key = key;
    asked.call.event.key_hash = SLICE_LITERAL("next");
    Err err = engine_add_event(context, &asked, job, 1, why);
    arena_done(&asked.call.arena);
    return err;
}

static Err engine_act(void *context, JobId id, Action action, Error *why)
{
    Asked asked = { 0 };
    asked.call.kind = CALL_EVENT;
    asked.call.event = (Event){ .kind = EVENT_ACT, .action = action, .id = id };
    Err err = ask_and_wait(context, &asked, why);
    arena_done(&asked.call.arena);
    return err;
}

/* Nodes that share a store may have processors of the same name. */
static void take_own(void *context, const Job *job)
{
    const Asked *asked = context;
    if (!asked->node || id_node(job->id) == asked->node)
        asked->sink(asked->sink_context, job);
}

/* On a reader thread, while the pipeline's waits. */
static void read_jobs(Call *call, Store *store)
{
    Asked *asked = (Asked *)(void *)call;
    const JobsQuestion *question = asked->question;
    JobQuery *query = ARENA_NEW(&call->arena, JobQuery);
    JobSink sink = { take_own, asked };
    QueryEnd end = { 0 };
    query->limit = QUERY_LIMIT_MAX;
    call->err = query_term("queue", question->queue, &call->arena, query, &call->why);
    query->terms[query->term_count++] =
        (QueryTerm){ .field = QUERY_STATE, .states = question->states };
    uint32_t pages = question->limit ? 1 + (question->limit - 1) / QUERY_LIMIT_MAX : 0;
    for (uint32_t page = 0; !call->err && (!pages || page < pages); page++) {
        call->err = store->kind->query(store, query, &sink, &end, &call->why);
        query->before = end.cursor;
        if (!end.cursor)
            return;
    }
}

static Err engine_ask(void *context, const JobsQuestion *question, JobsSink *sink,
                      void *sink_context, Error *why)
{
    const Daemon *daemon = context;
    Asked asked = { .question = question, .sink = sink, .sink_context = sink_context };
    asked.node = daemon->store->kind->shared ? daemon->identity.number : 0;
    asked.call.kind = CALL_READ;
    asked.call.read = read_jobs;
    Err err = ask_and_wait(context, &asked, why);
    arena_done(&asked.call.arena);
    return err;
}

static void read_one(Call *call, Store *store)
{
    const Asked *asked = (const Asked *)(const void *)call;
    Load load = { .kind = LOAD_JOB, .id = asked->id };
    Loaded loaded = { 0 };
    call->err = store->kind->load(store, &load, &loaded, &call->why);
    if (!call->err && !loaded.count)
        call->err = ERR_NOT_FOUND;
    if (!call->err)
        asked->sink(asked->sink_context, &loaded.jobs[0]);
    loaded_done(&loaded);
}

static Err engine_job(void *context, JobId id, JobsSink *sink, void *sink_context,
                      Error *why)
{
    Asked asked = { .id = id, .sink = sink, .sink_context = sink_context };
    asked.call.kind = CALL_READ;
    asked.call.read = read_one;
    Err err = ask_and_wait(context, &asked, why);
    arena_done(&asked.call.arena);
    return err;
}

/* Through ssh, if nothing else is said: the name of this host and the directory. */
static Slice address_of(Arena *arena, Slice dir, Slice address)
{
    char host[HOST_BYTES] = "localhost";
    Buf text = { 0 };
    if (address.bytes)
        return address;
    if (gethostname(host, sizeof host - 1))
        snprintf(host, sizeof host, "localhost");
    buf_printf(&text, "ssh:%s:" SLICE_FMT, host, SLICE_ARG(dir));
    Slice kept = slice_copy(arena, buf_slice(&text));
    buf_done(&text);
    return kept;
}

static Err engine_publish(void *context, Slice name, Slice dir, Slice address, Error *why)
{
    Daemon *daemon = context;
    Asked asked = { 0 };
    Buf value = { 0 };
    JsonOut json = { .out = &value };
    asked.call.kind = CALL_EVENT;
    asked.call.event = (Event){ .kind = EVENT_DEFINE,
                                .table = SLICE_LITERAL(PLACE_TABLE),
                                .tenant = processors_home(daemon),
                                .key = name };
    if (dir.bytes) {
        json_object(&json, NULL);
        json_text(&json, "dir", dir);
        json_text(&json, "address", address_of(&asked.call.arena, dir, address));
        json_object_end(&json);
        asked.call.event.value = buf_slice(&value);
    }
    Err err = ask_and_wait(daemon, &asked, why);
    buf_done(&value);
    arena_done(&asked.call.arena);
    return err;
}

/* --- Plans -----------------------------------------------------------------------------
 */

typedef struct PlanText {
    Slice table;
    Slice name;
    Slice text;
} PlanText;

Slice processors_home(const Daemon *daemon)
{
    return daemon->store->kind->shared ? slice_text(daemon->identity.sysid)
                                       : (Slice){ NULL, 0 };
}

/* One that came into a shared store from elsewhere belongs to whoever has its directory.
 */
static bool is_ours(const Daemon *daemon, Slice table, Slice tenant, Slice name)
{
    Buf path = { 0 };
    if (slice_equal(tenant, processors_home(daemon)))
        return true;
    if (tenant.bytes)
        return false;
    buf_printf(&path, "%s/processors/%s" SLICE_FMT, daemon->data_dir,
               slice_is(table, BROKER_TABLE) ? ".brokers/" : "", SLICE_ARG(name));
    bool there = access(buf_cstr(&path), F_OK) == 0;
    buf_done(&path);
    return there;
}

static bool is_broker(Slice table)
{
    return slice_is(table, BROKER_TABLE);
}

static Err plan_from_text(const PlanText *from, Arena *arena, Plan *out, Error *why)
{
    const JsonIn *object;
    JsonFault fault;
    PlanFault refused = { 0 };
    Err err = json_in_load(from->text, arena, &object, &fault);
    if (err)
        return error_set(why, err, "%s", fault.text);
    if (is_broker(from->table))
        err = plan_read_broker(object, from->name, arena, out, &refused);
    else
        err = plan_read(object, from->name, arena, out, &refused);
    return err ? error_set(why, err, "%s", refused.why.text) : ERR_OK;
}

Err processors_read_plan(Slice name, Slice text, Arena *arena, Plan *out, Error *why)
{
    PlanText from = { SLICE_LITERAL(PROCESSOR_TABLE), name, text };
    return plan_from_text(&from, arena, out, why);
}

static void begin_with(Daemon *daemon, const PlanText *from)
{
    Arena arena = { 0 };
    Plan plan;
    Error why = { 0 };
    if (plan_from_text(from, &arena, &plan, &why)) {
        log_event(LOG_ERROR, "processor.refused", "name=" SLICE_FMT " why=%s",
                  SLICE_ARG(from->name), LOG_QUOTED(why.text));
    } else {
        plan.declared = declares_has(daemon->declares, from->table,
                                     processors_home(daemon), from->name);
        if (is_broker(from->table))
            pipeline_plan_broker(daemon->pipeline, &plan);
        else
            pipeline_plan(daemon->pipeline, &plan);
    }
    arena_done(&arena);
}

static void stored(Daemon *daemon, Slice table, const Definition *definition)
{
    if (is_ours(daemon, table, definition->tenant, definition->key))
        begin_with(daemon, &(PlanText){ table, definition->key, definition->value });
}

static void stored_processor(void *context, const Definition *definition)
{
    stored(context, SLICE_LITERAL(PROCESSOR_TABLE), definition);
}

static void stored_broker(void *context, const Definition *definition)
{
    stored(context, SLICE_LITERAL(BROKER_TABLE), definition);
}

static void tell_place(Daemon *daemon, Slice node, Slice name, Slice value)
{
    PeersNews *news = peers_news(PEERS_PLACE);
    const JsonIn *object = NULL;
    JsonFault fault;
    Slice text = slice_copy(&news->arena, value);
    if (value.bytes && json_in_load(text, &news->arena, &object, &fault))
        object = NULL;
    news->place = (PeerPlace){ .node = slice_copy(&news->arena, node),
                               .name = slice_copy(&news->arena, name),
                               .dir = json_in_text_of(object, "dir"),
                               .address = json_in_text_of(object, "address") };
    pipeline_tell(daemon->pipeline, news);
}

static void stored_place(void *context, const Definition *definition)
{
    tell_place(context, definition->tenant, definition->key, definition->value);
}

void processors_give(Daemon *daemon, SignalOrder *order)
{
    bool changes = order->kind == ORDER_PUT || order->kind == SIGNAL_DESTROY;
    if (changes && declares_has(daemon->declares, SLICE_LITERAL(PROCESSOR_TABLE),
                                processors_home(daemon), order->name))
        signal_refuse(order, "declared", ERR_CONFLICT,
                      "it is declared in the configuration file: change it there and "
                      "reload");
    else
        pipeline_give(daemon->pipeline, order);
}

static void on_ready(void *context)
{
    Daemon *daemon = context;
    uv_async_send(&daemon->wake);
}

Err processors_open(Daemon *daemon, Error *why)
{
    char program[DAEMON_PATH_BYTES] = "pawl";
    ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);
    program[bytes > 0 ? (size_t)bytes : strlen("pawl")] = '\0';
    PipelineOptions options = {
        .data_dir = daemon->data_dir,
        .sysid = daemon->identity.sysid,
        .program = program,
        .engine = { .context = daemon,
                    .add = engine_add,
                    .add_once = engine_add_once,
                    .act = engine_act,
                    .ask = engine_ask,
                    .publish = daemon->store->kind->shared ? engine_publish : NULL,
                    .job = engine_job },
        .on_ready = on_ready,
        .context = daemon,
    };
    daemon->remote_order = remote_order_new(daemon);
    daemon->pipeline = pipeline_new(&options);
    /* What the file says first: a stored plan of the same name is an older one. */
    Declared *const *declared = daemon->options.declared;
    for (const Declared *at = declared ? *declared : NULL; at; at = at->next) {
        Slice table = slice_text(at->section->noun->table);
        if (is_broker(table) || slice_is(table, PROCESSOR_TABLE))
            begin_with(daemon, &(PlanText){ table, at->name, at->value });
    }
    Store *store = daemon->store;
    Err err = store->kind->definitions(store, SLICE_LITERAL(PROCESSOR_TABLE),
                                       stored_processor, daemon, why);
    if (!err)
        err = store->kind->definitions(store, SLICE_LITERAL(BROKER_TABLE), stored_broker,
                                       daemon, why);
    if (!err && store->kind->shared)
        err = store->kind->definitions(store, SLICE_LITERAL(PLACE_TABLE), stored_place,
                                       daemon, why);
    return err;
}

void processors_start(Daemon *daemon)
{
    pipeline_start(daemon->pipeline);
}

/* --- News for it -----------------------------------------------------------------------
 */

void processors_changed(Daemon *daemon, const Effect *effect)
{
    PipelineNote note = { .queue = effect->queue,
                          .id = effect->id,
                          .state = effect->state,
                          .run_ms = effect->run_ms };
    if (daemon->pipeline && pipeline_queue(effect->queue))
        pipeline_note(daemon->pipeline, &note);
}

typedef struct Defined {
    SignalOrder order; /* first */
    Arena arena;
    Plan plan;
} Defined;

static void defined_done(SignalOrder *order)
{
    Defined *defined = (Defined *)(void *)order;
    if (order->err)
        log_event(LOG_ERROR, "processor.refused", "name=" SLICE_FMT " why=%s",
                  SLICE_ARG(order->name), LOG_QUOTED(order->why.text));
    buf_done(&order->out);
    arena_done(&defined->arena);
    mem_free(defined);
}

void processors_defined(Daemon *daemon, const Effect *effect)
{
    bool broker = is_broker(effect->table);
    if (daemon->pipeline && slice_is(effect->table, PLACE_TABLE))
        tell_place(daemon, effect->tenant, effect->key, effect->value);
    if (!daemon->pipeline || (!broker && !slice_is(effect->table, PROCESSOR_TABLE)) ||
        !is_ours(daemon, effect->table, effect->tenant, effect->key))
        return;
    Defined *defined = MEM_NEW(Defined);
    SignalOrder *order = &defined->order;
    order->name = slice_copy(&defined->arena, effect->key);
    order->done = defined_done;
    PlanText text = { effect->table, order->name,
                      slice_copy(&defined->arena, effect->value) };
    if (!effect->value.data) {
        order->kind = broker ? ORDER_DROP_BROKER : ORDER_DROP;
    } else if (plan_from_text(&text, &defined->arena, &defined->plan, &order->why)) {
        order->err = ERR_INVALID;
        defined_done(order);
        return;
    } else {
        order->kind = broker ? ORDER_PUT_BROKER : ORDER_PUT;
        defined->plan.declared = declares_has(daemon->declares, effect->table,
                                              processors_home(daemon), effect->key);
        order->plan = &defined->plan;
    }
    pipeline_give(daemon->pipeline, order);
}

/* --- Starting --------------------------------------------------------------------------
 */

bool processors_have(const Job *job)
{
    static const Slice input = { "PAWL_INPUT=", 11 };
    Slice env = job->env;
    Slice item;
    struct stat found;
    while ((job->flags & JOB_UNIT) && list_next(&env, &item)) /* each ends with NUL */
        if (slice_starts(item, input))
            return lstat(item.data + input.bytes, &found) == 0 || errno != ENOENT;
    return true;
}

Slice processors_command(Arena *arena, Slice command)
{
    static const char before[] =
        "/bin/sh\0-c\0"
        "if [ -e \"$PAWL_OUTPUT\" ] || [ -L \"$PAWL_OUTPUT\" ]; then "
        "rm -rf -- \"$PAWL_OUTPUT\" || exit 75; fi; exec \"$@\"\0pawl-unit";
    char *words = arena_take(arena, sizeof before + command.bytes);
    memcpy(words, before, sizeof before);
    memcpy(words + sizeof before, command.data, command.bytes);
    return slice_of(words, sizeof before + command.bytes);
}
