/* SPDX-License-Identifier: Apache-2.0 */
/* node_tours_test.c - the pass against a slow and obvious model of it: S3.51, S3.52,
 * S3.54, S3.56, S3.57, S3.58, S3.59, S3.60, S3.61, S3.62, S3.63.
 *
 * The model looks at every lane in every pass and keeps nothing in heaps or lines; it
 * must start the same jobs as the node, after every event of short histories (every third
 * of those of four events: all of them take too long under sanitizers). Of long random
 * histories only what must always hold is checked: the model does not follow how the node
 * ends a tour while refused lanes stand in line. Three lanes share a manager of three
 * units. */
#include "core/node_limits.h"
#include "core/node_rig.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define LANES    3
#define UNITS    3
#define SLOTS    2
#define JOBS_MAX 200

typedef struct ModelJob {
    JobId id;
    int64_t dt_ms;
    int64_t need;
    unsigned lane;
    bool waits;
    bool runs;
} ModelJob;

typedef struct ModelLane {
    uint64_t tour;
    bool owed;
    bool rested; /* it was empty after its turn in this tour */
} ModelLane;

typedef struct Model {
    ModelJob jobs[JOBS_MAX];
    size_t count;
    ModelLane lanes[LANES];
    uint64_t tour;
} Model;

/* First come, first served: all have the same priority. */
static ModelJob *head_of_lane(Model *model, unsigned lane)
{
    for (size_t i = 0; i < model->count; i++)
        if (model->jobs[i].lane == lane && model->jobs[i].waits)
            return &model->jobs[i];
    return NULL;
}

static int64_t units_left(const Model *model)
{
    int64_t left = UNITS;
    for (size_t i = 0; i < model->count; i++)
        left -= model->jobs[i].runs ? model->jobs[i].need : 0;
    return left;
}

static unsigned running_of(const Model *model)
{
    unsigned count = 0;
    for (size_t i = 0; i < model->count; i++)
        count += model->jobs[i].runs;
    return count;
}

static bool goes_before(Model *model, unsigned a, unsigned b)
{
    const ModelLane *left = &model->lanes[a];
    const ModelLane *right = &model->lanes[b];
    if (left->owed != right->owed)
        return left->owed;
    if (left->tour != right->tour)
        return left->tour < right->tour;
    const ModelJob *first = head_of_lane(model, a);
    const ModelJob *second = head_of_lane(model, b);
    return first->dt_ms != second->dt_ms ? first->dt_ms < second->dt_ms
                                         : first->id < second->id;
}

/* A lane that has something to offer and has not been refused in this pass. */
static unsigned next_lane(Model *model, const bool *over)
{
    unsigned best = LANES;
    for (unsigned i = 0; i < LANES; i++)
        if (head_of_lane(model, i) && !over[i] &&
            (best == LANES || goes_before(model, i, best)))
            best = i;
    return best;
}

static void begin_tour(Model *model, uint64_t tour)
{
    model->tour = tour;
    for (unsigned i = 0; i < LANES; i++)
        model->lanes[i].rested = false;
}

static void model_pass(Model *model)
{
    bool over[LANES] = { false };
    bool full = false;
    unsigned lane = LANES;
    while (running_of(model) < SLOTS && (lane = next_lane(model, over)) < LANES) {
        ModelJob *job = head_of_lane(model, lane);
        if (job->need && (full || job->need > units_left(model))) {
            full = true; /* kept for the one who was refused first */
            over[lane] = true;
            model->lanes[lane].owed = true;
            continue;
        }
        if (model->lanes[lane].tour > model->tour)
            begin_tour(model, model->lanes[lane].tour);
        job->waits = false;
        job->runs = true;
        model->lanes[lane].owed = false;
        model->lanes[lane].tour++;
        if (!head_of_lane(model, lane) && model->lanes[lane].tour > model->tour)
            model->lanes[lane].rested = true;
    }
    /* Everyone had his turn: who is empty now may begin with the next tour. */
    bool rests = false;
    for (unsigned i = 0; i < LANES; i++)
        rests = rests || model->lanes[i].rested;
    if (next_lane(model, over) == LANES && rests)
        begin_tour(model, model->tour + 1);
}

/* --- Both at once ----------------------------------------------------------------------
 */

typedef struct Both {
    Rig *rig;
    Model model;
    char history[1024];
    size_t at;
} Both;

static void note(Both *both, const char *text)
{
    int bytes =
        snprintf(both->history + both->at, sizeof both->history - both->at, "%s ", text);
    both->at +=
        bytes > 0 && both->at + (size_t)bytes < sizeof both->history ? (size_t)bytes : 0;
}

static void compare(Both *both)
{
    for (size_t i = 0; i < both->model.count; i++) {
        const ModelJob *job = &both->model.jobs[i];
        bool runs = rig_state(both->rig, job->id) == JOB_RUNNING;
        if (runs != job->runs)
            fail_msg("after %s: job %zu of lane %u %s", both->history, i, job->lane,
                     runs ? "runs, and should not" : "does not run, and should");
    }
}

static void do_add(Both *both, unsigned lane, int64_t need)
{
    static const char *const queues[LANES] = { "a", "b", "c" };
    static const char *const wants[UNITS + 1] = { NULL, "m=1", "m=2", "m=3" };
    char text[32];
    snprintf(text, sizeof text, "add:%s:%lld", queues[lane], (long long)need);
    note(both, text);
    Job job = rig_job();
    job.queue = slice_text(queues[lane]);
    if (need)
        job.resources = slice_of(wants[need], 4);
    both->rig->now.wall_ms++;
    both->rig->now.boot_ms++;
    Model *model = &both->model;
    bool was_owed = model->lanes[lane].owed && head_of_lane(model, lane);
    if (!was_owed) {
        model->lanes[lane].owed = false;
        if (model->lanes[lane].tour < model->tour)
            model->lanes[lane].tour = model->tour;
    }
    assert_true(model->count < JOBS_MAX);
    JobId id = rig_add(both->rig, &job);
    model->jobs[model->count++] = (ModelJob){ .id = id,
                                              .dt_ms = both->rig->now.wall_ms,
                                              .need = need,
                                              .lane = lane,
                                              .waits = true };
    model_pass(model);
    compare(both);
}

static void do_end(Both *both, unsigned which)
{
    Model *model = &both->model;
    unsigned running = running_of(model);
    if (!running)
        return;
    which %= running;
    for (size_t i = 0; i < model->count; i++) {
        if (!model->jobs[i].runs || which--)
            continue;
        note(both, "end");
        model->jobs[i].runs = false;
        rig_exit(both->rig, model->jobs[i].id, 0);
        model_pass(model);
        compare(both);
        return;
    }
}

static void settings(NodeSettings *settings)
{
    settings->slots = SLOTS;
}

static Both both_open(void)
{
    Both both = { .rig = rig_open(settings) };
    ResourceDef def = resource_default(SLICE_LITERAL("m"), RESOURCE_QUANTITY);
    Buf value = { 0 };
    def.quantity = UNITS;
    resource_pack(&value, &def);
    Event event = { .kind = EVENT_DEFINE,
                    .table = SLICE_LITERAL(RESOURCE_TABLE),
                    .key = SLICE_LITERAL("m"),
                    .value = buf_slice(&value) };
    assert_int_equal(rig_send(both.rig, event), ERR_OK);
    buf_done(&value);
    return both;
}

/* What a digit of a history stands for: an add to one of the lanes, or an end. */
#define EVENTS (LANES * 3 + 1)

static void play(Both *both, unsigned event)
{
    static const int64_t needs[] = { 0, 1, 3 };
    if (event == EVENTS - 1)
        do_end(both, 0);
    else
        do_add(both, event / 3, needs[event % 3]);
}

/* Every third history of four events, ended by ends until nothing runs. */
static void every_short_history(void **state)
{
    (void)state;
    for (unsigned number = 0; number < EVENTS * EVENTS * EVENTS * EVENTS; number += 3) {
        Both both = both_open();
        for (unsigned rest = number, i = 0; i < 4; i++, rest /= EVENTS)
            play(&both, rest % EVENTS);
        while (running_of(&both.model))
            do_end(&both, 0);
        rig_close(both.rig);
    }
}

/* What must hold whatever came before: order within a lane, nothing beyond what there is,
 * and a free slot only where every lane waits for units, one of them for more than there
 * are. */
static void expect_sound(Both *both)
{
    Model *model = &both->model;
    bool short_of_units = false;
    bool waits = false;
    assert_true(units_left(model) >= 0);
    assert_true(running_of(model) <= SLOTS);
    for (unsigned lane = 0; lane < LANES; lane++) {
        const ModelJob *head = head_of_lane(model, lane);
        for (size_t i = 0; head && i < model->count; i++)
            if (model->jobs[i].lane == lane && &model->jobs[i] > head)
                assert_true(model->jobs[i].waits);
        waits = waits || head;
        short_of_units = short_of_units || (head && head->need > units_left(model));
        if (head && running_of(model) < SLOTS)
            assert_true(head->need > 0);
    }
    if (waits && running_of(model) < SLOTS)
        assert_true(short_of_units);
}

/* The model takes over what the node did, instead of deciding itself. */
static void follow(Both *both)
{
    for (size_t i = 0; i < both->model.count; i++) {
        ModelJob *job = &both->model.jobs[i];
        JobState state = rig_state(both->rig, job->id);
        job->runs = state == JOB_RUNNING;
        job->waits = state == JOB_READY;
    }
    expect_sound(both);
}

static void long_histories(void **state)
{
    (void)state;
    static const char *const queues[LANES] = { "a", "b", "c" };
    static const char *const wants[UNITS + 1] = { NULL, "m=1", "m=2", "m=3" };
    Rng rng = { 7 };
    for (int round = 0; round < 60; round++) {
        Both both = both_open();
        for (int i = 0; i < 120; i++) {
            Model *model = &both.model;
            size_t which = rng_below(&rng, JOBS_MAX);
            bool ended = false;
            for (size_t k = 0; rng_percent(&rng, 45) && k < model->count && !ended; k++) {
                const ModelJob *job = &model->jobs[(which + k) % model->count];
                if (!job->runs)
                    continue;
                rig_exit(both.rig, job->id, 0);
                ended = true;
            }
            if (!ended) {
                int64_t need = (int64_t)rng_below(&rng, UNITS + 1);
                unsigned lane = (unsigned)rng_below(&rng, LANES);
                Job job = rig_job();
                job.queue = slice_text(queues[lane]);
                if (need)
                    job.resources = slice_of(wants[need], 4);
                both.rig->now.wall_ms++;
                both.rig->now.boot_ms++;
                model->jobs[model->count].need = need;
                model->jobs[model->count].lane = lane;
                model->jobs[model->count++].id = rig_add(both.rig, &job);
            }
            follow(&both);
        }
        rig_close(both.rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_short_history),
        cmocka_unit_test(long_histories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
