/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_model_test.c - the pass against a slow and obvious model of it
 * (scheduler_model.h): S3.3, S3.4, S3.14, S3.51, S3.52, S3.54, S3.55, S3.56, S3.57,
 * S3.58, S3.59, S3.60, S3.61, S3.62, S3.63.
 *
 * After every event the node must run exactly the jobs that the model runs: over all
 * histories of a bounded length in small worlds, and over long random ones in worlds with
 * everything in them. */
#include "core/dispatch/limits.h"
#include "testing/node_harness.h"
#include "testing/scheduler_model.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const queues[MODEL_LANES] = { "a", "b", "c", "d" };
static const char *const tenants[MODEL_TENANTS] = { "default", "other" };
static const char *const managers[MODEL_NEEDS] = { "m", "n", "one" };

typedef struct Both {
    Rig *rig;
    Model *model;
    unsigned long round;
    uint64_t passes; /* of the node */
    char history[8000];
    size_t at;
} Both;

PRINTF_LIKE(2, 3) static void note(Both *both, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(both->history + both->at, sizeof both->history - both->at,
                          format, args);
    va_end(args);
    if (bytes > 0 && both->at + (size_t)bytes < sizeof both->history)
        both->at += (size_t)bytes;
}

/* The model passes as often as the node did: an event may bring several passes, and what
 * the first one starts may have the second refuse a lane. Time alone brings none before
 * the next tick. */
static void compare(Both *both)
{
    uint64_t passes = node_facts(both->rig->node).passes;
    for (; both->passes < passes; both->passes++)
        model_pass(both->model, both->rig->now);
    for (size_t i = 0; i < both->model->count; i++) {
        const ModelJob *job = &both->model->jobs[i];
        bool runs = rig_state(both->rig, job->id) == JOB_RUNNING;
        if (job->state != MODEL_OVER && runs != (job->state == MODEL_RUNS))
            fail_msg("round %lu, after%s: job %zu of lane %s %s", both->round,
                     both->history + (both->at > 700 ? both->at - 700 : 0), i,
                     queues[job->lane],
                     runs ? "runs, and should not" : "does not run, and should");
    }
}

/* --- What can happen
 * ------------------------------------------------------------------------------ */

typedef enum Happens {
    ADD,      /* a job with `amounts`, `priority` and `service_ms` to the lane */
    END,      /* of the running job number `amount` */
    HOLD,     /* the lane's first job */
    RELEASE,  /* the lane's first held job */
    CANCEL,   /* the lane's first job */
    PRIORITY, /* `priority` for the lane's last job */
    PAUSE,    /* the lane's queue, or let it go on */
    WAIT,     /* `service_ms` go by */
    QUANTITY, /* there are `amount` units of the first manager now */
    ROOM,     /* there are `amount` slots now */
} Happens;

typedef struct Incident {
    Happens what;
    unsigned lane;
    unsigned amount;
    int64_t needs[MODEL_NEEDS];
    int64_t priority;
    int64_t service_ms;
} Incident;

static void tick(Both *both, int64_t ms)
{
    both->rig->now.wall_ms += ms;
    both->rig->now.boot_ms += ms;
}

static void do_add(Both *both, const Incident *incident)
{
    Model *model = both->model;
    Job job = rig_job();
    Buf wants = { 0 };
    for (unsigned i = 0; i < MODEL_NEEDS; i++) {
        if (!incident->needs[i])
            continue;
        buf_printf(&wants, "%s=%lld", managers[i], (long long)incident->needs[i]);
        buf_add_char(&wants, '\0');
    }
    job.tenant = slice_text(tenants[model->lanes[incident->lane].tenant]);
    job.queue = slice_text(queues[incident->lane]);
    job.resources = buf_slice(&wants);
    job.priority = incident->priority;
    job.service_ms = incident->service_ms;
    tick(both, 1);
    assert_true(model->count < MODEL_JOBS_MAX);
    ModelJob *added = &model->jobs[model->count++];
    *added = (ModelJob){ .id = rig_add(both->rig, &job),
                         .lane = incident->lane,
                         .priority = incident->priority,
                         .dt_ms = both->rig->now.wall_ms,
                         .service_ms = incident->service_ms };
    memcpy(added->needs, incident->needs, sizeof added->needs);
    buf_done(&wants);
}

static void do_end(Both *both, unsigned which)
{
    Model *model = both->model;
    unsigned running = model_running(model);
    if (!running)
        return;
    which %= running;
    for (size_t i = 0; i < model->count; i++) {
        ModelJob *job = &model->jobs[i];
        if (job->state != MODEL_RUNS || which--)
            continue;
        job->state = MODEL_OVER;
        rig_exit(both->rig, job->id, 0);
        return;
    }
}

static void act(Both *both, ModelJob *job, Action action, ModelState to)
{
    if (!job)
        return;
    assert_int_equal(rig_act(both->rig, job->id, action), ERR_OK);
    job->state = to;
}

static void set_priority(Both *both, unsigned lane, int64_t priority)
{
    Model *model = both->model;
    for (size_t i = model->count; i-- > 0;) {
        ModelJob *job = &model->jobs[i];
        if (job->lane != lane || job->state != MODEL_READY)
            continue;
        if (job->needs[0] > model->capacity[0])
            return; /* a change is a new request: refused (422) */
        Event event = { .kind = EVENT_ACT, .id = job->id, .action = ACT_PATCH };
        event.patch = (Patch){ .fields = FIELD_PRIORITY, .priority = priority };
        assert_int_equal(rig_send(both->rig, event), ERR_OK);
        job->priority = priority;
        job->state = MODEL_HELD; /* it leaves its place and comes anew */
        if (!model_first(model, lane, MODEL_READY))
            model_forget(model, lane);
        job->state = MODEL_READY;
        return;
    }
}

static void define(Both *both, const char *table, const char *tenant, const char *key,
                   Buf *value)
{
    Event event = { .kind = EVENT_DEFINE,
                    .table = slice_text(table),
                    .tenant = slice_text(tenant),
                    .key = slice_text(key),
                    .value = buf_slice(value) };
    assert_int_equal(rig_send(both->rig, event), ERR_OK);
    buf_done(value);
}

static void define_lane(Both *both, unsigned at)
{
    ModelLane *lane = &both->model->lanes[at];
    Buf value = { 0 };
    lane->def.has_default = true; /* a definition that says nothing is none */
    lane->def.default_priority = 5;
    queue_pack(&value, &lane->def);
    define(both, QUEUE_TABLE, tenants[lane->tenant], queues[at], &value);
}

static void define_manager(Both *both, unsigned at)
{
    bool counts = at < MODEL_MANAGERS;
    ResourceDef def = resource_default(slice_text(managers[at]),
                                       counts ? RESOURCE_QUANTITY : RESOURCE_HIGHLANDER);
    Buf value = { 0 };
    if (counts)
        def.quantity = both->model->capacity[at];
    resource_pack(&value, &def);
    define(both, RESOURCE_TABLE, "", managers[at], &value);
}

static void take(Both *both, const Incident *incident)
{
    Model *model = both->model;
    unsigned lane = incident->lane;
    switch (incident->what) {
    case ADD:
        do_add(both, incident);
        break;
    case END:
        do_end(both, incident->amount);
        break;
    case HOLD:
        act(both, model_first(model, lane, MODEL_READY), ACT_HOLD, MODEL_HELD);
        break;
    case RELEASE:
        act(both, model_first(model, lane, MODEL_HELD), ACT_RELEASE, MODEL_READY);
        break;
    case CANCEL:
        act(both, model_first(model, lane, MODEL_READY), ACT_CANCEL, MODEL_OVER);
        break;
    case PRIORITY:
        set_priority(both, lane, incident->priority);
        break;
    case PAUSE:
        model->lanes[lane].def.paused = !model->lanes[lane].def.paused;
        model->lanes[lane].in_line = false;
        define_lane(both, lane);
        break;
    case WAIT:
        rig_wait(both->rig, incident->service_ms);
        break;
    case QUANTITY:
        model->capacity[0] = incident->amount;
        for (unsigned i = 0; i < model->lane_count; i++)
            model->lanes[i].in_line = false;
        define_manager(both, 0);
        break;
    case ROOM:
        model->slots = incident->amount;
        rig_slots(both->rig, incident->amount);
        break;
    }
}

static void play(Both *both, const Incident *incident)
{
    static const char *const names[] = { "add",      "end",      "hold",  "release",
                                         "cancel",   "priority", "pause", "wait",
                                         "quantity", "room" };
    note(both, " %s", names[incident->what]);
    if (incident->what == ADD)
        note(both, ":%s:%lld,%lld,%lld:p%lld:%lldms", queues[incident->lane],
             (long long)incident->needs[0], (long long)incident->needs[1],
             (long long)incident->needs[2], (long long)incident->priority,
             (long long)incident->service_ms);
    else
        note(both, ":%s:%u:%lldms", queues[incident->lane], incident->amount,
             (long long)incident->service_ms);
    take(both, incident);
    compare(both);
}

/* --- Worlds
 * ------------------------------------------------------------------------------ */

typedef struct Setting {
    unsigned lanes;
    unsigned slots;
    bool by_tenant;
    int64_t capacity[MODEL_MANAGERS];
    unsigned tenant_of[MODEL_LANES];
    QueueDef defs[MODEL_LANES];
} Setting;

static unsigned opening_slots;
static bool opening_by_tenant;

static void settings(NodeSettings *settings)
{
    settings->slots = opening_slots;
    settings->fair_tenants = opening_by_tenant;
}

static Both both_open(const Setting *setting)
{
    opening_slots = setting->slots;
    opening_by_tenant = setting->by_tenant;
    Both both = { .rig = rig_open(settings), .model = MEM_NEW(Model) };
    Model *model = both.model;
    model->lane_count = setting->lanes;
    model->slots = setting->slots;
    model->by_tenant = setting->by_tenant;
    memcpy(model->capacity, setting->capacity, sizeof model->capacity);
    for (unsigned i = 0; i < MODEL_NEEDS; i++)
        define_manager(&both, i);
    for (unsigned i = 0; i < setting->lanes; i++) {
        model->lanes[i].tenant = setting->tenant_of[i];
        model->lanes[i].def = setting->defs[i];
        define_lane(&both, i);
    }
    both.passes = node_facts(both.rig->node).passes;
    return both;
}

static void both_close(Both *both)
{
    rig_close(both->rig);
    mem_free(both->model);
}

/* Until nothing runs or waits that could start: then all lanes are even, and the next
 * history begins as if in a new world. */
static void run_out(Both *both)
{
    Model *model = both->model;
    for (unsigned i = 0; i < model->lane_count; i++) {
        if (model->lanes[i].def.paused)
            play(both, &(Incident){ .what = PAUSE, .lane = i });
        while (model_first(model, i, MODEL_HELD))
            play(both, &(Incident){ .what = RELEASE, .lane = i });
    }
    while (model_running(model))
        play(both, &(Incident){ .what = END });
    for (unsigned i = 0; i < model->lane_count; i++)
        while (model_first(model, i, MODEL_READY))
            play(both, &(Incident){ .what = CANCEL, .lane = i });
}

/* --- Every short history
 * ------------------------------------------------------------------------------ */

/* Lanes that are alike are used in order: the others are the same history again. */
static bool is_new(const Incident *incidents, const unsigned *history, unsigned length)
{
    unsigned used = 0;
    for (unsigned i = 0; i < length; i++) {
        const Incident *incident = &incidents[history[i]];
        if (incident->what != ADD)
            continue;
        if (incident->lane > used)
            return false;
        if (incident->lane == used)
            used++;
    }
    return true;
}

static void every_history(const Setting *setting, const Incident *incidents,
                          unsigned count, unsigned length)
{
    unsigned all = 1;
    unsigned history[8];
    for (unsigned i = 0; i < length; i++)
        all *= count;
    Both both = both_open(setting);
    for (unsigned number = 0; number < all; number++) {
        unsigned rest = number;
        for (unsigned i = 0; i < length; i++, rest /= count)
            history[i] = rest % count;
        if (!is_new(incidents, history, length))
            continue;
        both.at = 0;
        for (unsigned i = 0; i < length; i++)
            play(&both, &incidents[history[i]]);
        run_out(&both);
        if (both.model->count < 100)
            continue;
        both_close(&both);
        both = both_open(setting);
    }
    both_close(&both);
}

#define EVERY(setting, incidents, length)                                                \
    every_history(&(setting), incidents, sizeof(incidents) / sizeof *(incidents), length)

/* Three lanes share three units and two slots. */
static void lanes_that_share_a_manager(void **state)
{
    (void)state;
    static const Setting setting = { .lanes = 3, .slots = 2, .capacity = { 3, 1 } };
    static const Incident incidents[] = {
        { .what = ADD, .lane = 0 },
        { .what = ADD, .lane = 0, .needs = { 1 } },
        { .what = ADD, .lane = 0, .needs = { 3 } },
        { .what = ADD, .lane = 1 },
        { .what = ADD, .lane = 1, .needs = { 2 } },
        { .what = ADD, .lane = 1, .needs = { 3 } },
        { .what = ADD, .lane = 2, .needs = { 1 } },
        { .what = END },
    };
    EVERY(setting, incidents, 5);
}

/* Jobs that are held, cancelled, made urgent, in queues that are paused; jobs that need
 * two things, or must not run beside each other. */
static void lanes_that_people_work_on(void **state)
{
    (void)state;
    static const Setting setting = { .lanes = 2, .slots = 2, .capacity = { 2, 1 } };
    static const Incident incidents[] = {
        { .what = ADD, .lane = 0, .needs = { 1 } },
        { .what = ADD, .lane = 0, .needs = { 2 } },
        { .what = ADD, .lane = 0, .needs = { 1, 1 }, .priority = 9 },
        { .what = ADD, .lane = 1, .needs = { 0, 1 } },
        { .what = ADD, .lane = 1, .needs = { 0, 0, 1 } },
        { .what = HOLD, .lane = 0 },
        { .what = RELEASE, .lane = 0 },
        { .what = CANCEL, .lane = 1 },
        { .what = PAUSE, .lane = 0 },
        { .what = END },
    };
    EVERY(setting, incidents, 4);
}

/* One queue of each policy. */
static void lanes_of_every_policy(void **state)
{
    (void)state;
    static const Setting setting = { .lanes = 3,
                                     .slots = 3,
                                     .capacity = { 3, 1 },
                                     .defs = { { .policy = POLICY_FAIR },
                                               { .policy = POLICY_SKIP },
                                               { .policy = POLICY_BACKFILL } } };
    static const Incident incidents[] = {
        { .what = ADD, .lane = 0, .needs = { 3 }, .service_ms = 1000 },
        { .what = ADD, .lane = 0, .needs = { 2 }, .service_ms = 1000 },
        { .what = ADD, .lane = 1, .needs = { 2 } },
        { .what = ADD, .lane = 1 },
        { .what = ADD, .lane = 2, .needs = { 2 }, .service_ms = 500 },
        { .what = ADD, .lane = 2, .needs = { 1 }, .service_ms = 100 },
        { .what = END },
    };
    EVERY(setting, incidents, 5);
}

/* Two lanes of one tenant and one of another, and turns go by tenant. */
static void lanes_that_share_a_turn(void **state)
{
    (void)state;
    static const Setting setting = { .lanes = 3,
                                     .slots = 1,
                                     .by_tenant = true,
                                     .capacity = { 1, 1 },
                                     .tenant_of = { 0, 0, 1 } };
    static const Incident incidents[] = {
        { .what = ADD, .lane = 0 },
        { .what = ADD, .lane = 0, .needs = { 1 } },
        { .what = ADD, .lane = 1 },
        { .what = ADD, .lane = 1, .needs = { 1 } },
        { .what = ADD, .lane = 2 },
        { .what = ROOM, .amount = 2 },
        { .what = END },
    };
    EVERY(setting, incidents, 5);
}

/* --- Histories that were found
 * ------------------------------------------------------------------------------ */

/* What a job with policy backfill was refused for stays kept for it when someone else
 * takes the last of something that it needs, too. An end brings several passes: the first
 * starts the job of c, and those after it must start nothing. */
static void what_is_kept_stays_kept(void **state)
{
    (void)state;
    static const Setting setting = { .lanes = 3,
                                     .slots = 4,
                                     .capacity = { 2, 2 },
                                     .defs = { { .policy = POLICY_BACKFILL },
                                               { .policy = POLICY_BACKFILL },
                                               { .policy = POLICY_FAIR } } };
    static const Incident incidents[] = {
        { .what = ADD, .lane = 1, .needs = { 1, 1 }, .service_ms = 900 },
        { .what = ADD, .lane = 0, .needs = { 1, 2 } },
        { .what = ADD, .lane = 1, .needs = { 1, 1 }, .service_ms = 600 },
        { .what = ADD, .lane = 1, .needs = { 0, 1 } },
        { .what = ADD, .lane = 2, .needs = { 1 } },
        { .what = END },
    };
    static const JobState states[] = { JOB_DONE, JOB_READY, JOB_RUNNING, JOB_READY,
                                       JOB_RUNNING };
    Both both = both_open(&setting);
    for (size_t i = 0; i < sizeof incidents / sizeof *incidents; i++)
        play(&both, &incidents[i]);
    for (size_t i = 0; i < both.model->count; i++)
        assert_int_equal(rig_state(both.rig, both.model->jobs[i].id), states[i]);
    run_out(&both);
    both_close(&both);
}

/* While someone changes a job that could start as soon as there is a slot, its lane is
 * not refused in its place: it is owed nothing that it would have been owed without. */
static void a_change_refuses_no_one(void **state)
{
    (void)state;
    static const Setting setting = { .lanes = 3,
                                     .slots = 2,
                                     .capacity = { 4, 2 },
                                     .defs = { { .policy = POLICY_FAIR },
                                               { .policy = POLICY_BACKFILL,
                                                 .aging_milli = 330817 },
                                               { .policy = POLICY_SKIP } } };
    static const Incident incidents[] = {
        { .what = ADD, .lane = 0, .priority = 1 },
        { .what = ADD, .lane = 2, .priority = 1 },
        { .what = ADD, .lane = 1, .needs = { 0, 1 }, .priority = 2, .service_ms = 900 },
        { .what = WAIT, .service_ms = 300 },
        { .what = ADD, .lane = 2, .needs = { 0, 2 }, .priority = 1 },
        { .what = ADD, .lane = 1, .priority = 1, .service_ms = 900 },
        { .what = ADD, .lane = 1, .needs = { 0, 2 }, .priority = 3 },
        { .what = END },
        { .what = ADD, .lane = 1, .priority = 1, .service_ms = 300 },
        { .what = PRIORITY, .lane = 1, .priority = 1 },
        { .what = END, .amount = 3 },
    };
    Both both = both_open(&setting);
    for (size_t i = 0; i < sizeof incidents / sizeof *incidents; i++)
        play(&both, &incidents[i]);
    run_out(&both);
    both_close(&both);
}

/* --- Long random histories
 * ------------------------------------------------------------------------------ */

static QueueDef any_queue(Rng *rng)
{
    QueueDef def = { .policy = (QueuePolicy)rng_below(rng, QUEUE_POLICIES) };
    def.has_slots = rng_percent(rng, 30);
    def.slots = def.has_slots ? 1 + (uint32_t)rng_below(rng, 2) : 0;
    def.has_min = def.has_max = rng_percent(rng, 30);
    def.priority_min = def.has_min ? 1 : 0;
    def.priority_max = def.has_max ? 10 : 0;
    def.rate_jobs = rng_percent(rng, 25) ? 1 + (uint32_t)rng_below(rng, 3) : 0;
    def.rate_ms = def.rate_jobs ? 1000 : 0;
    def.aging_milli = rng_percent(rng, 30) ? 60000 + (int64_t)rng_below(rng, 600000) : 0;
    return def;
}

static Setting any_setting(Rng *rng)
{
    Setting setting = { .lanes = 2 + (unsigned)rng_below(rng, 3),
                        .slots = 1 + (unsigned)rng_below(rng, 4),
                        .by_tenant = rng_percent(rng, 40) };
    setting.capacity[0] = 1 + (int64_t)rng_below(rng, 4);
    setting.capacity[1] = 1 + (int64_t)rng_below(rng, 3);
    bool plain = rng_percent(rng, 30); /* fair queues alone */
    for (unsigned i = 0; i < setting.lanes; i++) {
        setting.tenant_of[i] = (unsigned)rng_below(rng, MODEL_TENANTS);
        setting.defs[i] = plain ? (QueueDef){ 0 } : any_queue(rng);
    }
    return setting;
}

static Incident any_incident(Rng *rng, const Model *model)
{
    static const Happens kinds[] = { ADD,   ADD,  ADD,     ADD,    ADD,      ADD,
                                     ADD,   END,  END,     END,    END,      END,
                                     END,   HOLD, RELEASE, CANCEL, PRIORITY, PAUSE,
                                     PAUSE, WAIT, WAIT,    WAIT,   QUANTITY, ROOM };
    Incident incident = { .what = kinds[rng_below(rng, sizeof kinds / sizeof *kinds)],
                          .lane = (unsigned)rng_below(rng, model->lane_count),
                          .amount = 1 + (unsigned)rng_below(rng, 4),
                          .priority = 1 + (int64_t)rng_below(rng, 3),
                          .service_ms = (int64_t)rng_below(rng, 4) * 300 };
    for (unsigned i = 0; i < MODEL_MANAGERS; i++)
        if (rng_percent(rng, 40))
            incident.needs[i] = 1 + (int64_t)rng_below(rng, (uint64_t)model->capacity[i]);
    incident.needs[MODEL_MANAGERS] = rng_percent(rng, 10);
    return incident;
}

static void long_histories(void **state)
{
    (void)state;
    const char *more = getenv("PAWL_TOURS_ROUNDS"); /* tests/prove/seeds runs many */
    unsigned long rounds = more ? strtoul(more, NULL, 10) : 300;
    for (unsigned long round = 0; round < rounds; round++) {
        Rng rng = { round };
        Setting setting = any_setting(&rng);
        Both both = both_open(&setting);
        both.round = round;
        for (unsigned i = 0; i < 120; i++) {
            Incident incident = any_incident(&rng, both.model);
            play(&both, &incident);
        }
        run_out(&both);
        both_close(&both);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_that_share_a_manager),
        cmocka_unit_test(lanes_that_people_work_on),
        cmocka_unit_test(lanes_of_every_policy),
        cmocka_unit_test(lanes_that_share_a_turn),
        cmocka_unit_test(what_is_kept_stays_kept),
        cmocka_unit_test(a_change_refuses_no_one),
        cmocka_unit_test(long_histories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
