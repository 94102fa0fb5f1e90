/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_model.c - see scheduler_model.h. */
#include "testing/scheduler_model.h"

/* --- Order within a lane
 * ------------------------------------------------------------------------------ */

static bool job_before(const QueueDef *def, const ModelJob *a, const ModelJob *b)
{
    int64_t age_ms = queue_age_ms(def);
    int64_t first = a->dt_ms - a->priority * age_ms;
    int64_t second = b->dt_ms - b->priority * age_ms;
    if (!age_ms && a->priority != b->priority)
        return a->priority > b->priority;
    return first != second ? first < second : a->id < b->id;
}

/* The one that comes behind `last` (NULL: the first of all). */
static ModelJob *next_job(Model *model, unsigned lane, ModelState state,
                          const ModelJob *last)
{
    const QueueDef *def = &model->lanes[lane].def;
    ModelJob *next = NULL;
    for (size_t i = 0; i < model->count; i++) {
        ModelJob *job = &model->jobs[i];
        bool here = job->lane == lane && job->state == state &&
                    (!last || job_before(def, last, job));
        if (here && (!next || job_before(def, job, next)))
            next = job;
    }
    return next;
}

ModelJob *model_first(Model *model, unsigned lane, ModelState state)
{
    return next_job(model, lane, state, NULL);
}

/* Since when the lane waits: its head, or an older job that would be its head and is
 * held. */
static int64_t since_ms(Model *model, unsigned lane)
{
    const ModelJob *head = model_first(model, lane, MODEL_READY);
    int64_t since = head->dt_ms;
    for (size_t i = 0; i < model->count; i++) {
        const ModelJob *job = &model->jobs[i];
        if (job->lane == lane && job->state == MODEL_HELD && job->dt_ms < since &&
            job_before(&model->lanes[lane].def, job, head))
            since = job->dt_ms;
    }
    return since;
}

/* --- Order between lanes
 * ------------------------------------------------------------------------------ */

/* Who was away gets no turns for the time before, unless he is owed one. */
static uint64_t turn_of(const Model *model, unsigned at)
{
    const ModelLane *lane = &model->lanes[at];
    uint64_t turn = lane->turn;
    if (lane->owed)
        return turn;
    if (turn < model->tour)
        turn = model->tour;
    if (model->by_tenant && turn < model->tenant_turn[lane->tenant])
        turn = model->tenant_turn[lane->tenant];
    return turn;
}

static bool lane_goes_before(Model *model, unsigned a, unsigned b)
{
    uint64_t owed_a = model->lanes[a].owed;
    uint64_t owed_b = model->lanes[b].owed;
    if (owed_a && owed_b)
        return owed_a < owed_b;
    if (owed_a || owed_b)
        return owed_a > 0;
    if (turn_of(model, a) != turn_of(model, b))
        return turn_of(model, a) < turn_of(model, b);
    if (since_ms(model, a) != since_ms(model, b))
        return since_ms(model, a) < since_ms(model, b);
    return model_first(model, a, MODEL_READY)->id <
           model_first(model, b, MODEL_READY)->id;
}

/* --- Managers
 * ------------------------------------------------------------------------------ */

unsigned model_running(const Model *model)
{
    unsigned count = 0;
    for (size_t i = 0; i < model->count; i++)
        count += model->jobs[i].state == MODEL_RUNS;
    return count;
}

static unsigned running_in(const Model *model, unsigned lane)
{
    unsigned count = 0;
    for (size_t i = 0; i < model->count; i++)
        count += model->jobs[i].state == MODEL_RUNS && model->jobs[i].lane == lane;
    return count;
}

/* Of the last manager: at most one of a type, and all jobs of a tenant are of one. */
static bool another_runs(const Model *model, const ModelJob *job)
{
    for (size_t i = 0; i < model->count; i++) {
        const ModelJob *other = &model->jobs[i];
        if (other->state == MODEL_RUNS && other->needs[MODEL_MANAGERS] &&
            model->lanes[other->lane].tenant == model->lanes[job->lane].tenant)
            return true;
    }
    return false;
}

static int64_t used_of(const Model *model, unsigned manager)
{
    int64_t used = 0;
    for (size_t i = 0; i < model->count; i++)
        if (model->jobs[i].state == MODEL_RUNS)
            used += model->jobs[i].needs[manager];
    return used;
}

static int64_t free_of(const Model *model, unsigned manager)
{
    int64_t left = model->capacity[manager] - used_of(model, manager);
    return left > 0 ? left : 0;
}

static int64_t end_of(const ModelJob *job, int64_t now_ms)
{
    int64_t end_ms = job->started_ms + job->service_ms;
    return job->service_ms && end_ms > now_ms ? end_ms : now_ms;
}

/* When there can be so much of it at the earliest: the first of the expected ends by
 * which enough has come back. */
static int64_t earliest(const Model *model, unsigned manager, int64_t amount, Now now)
{
    int64_t best = TIME_NEVER;
    if (free_of(model, manager) >= amount)
        return now.wall_ms;
    for (size_t i = 0; i < model->count; i++) {
        if (model->jobs[i].state != MODEL_RUNS || !model->jobs[i].needs[manager])
            continue;
        int64_t by_ms = end_of(&model->jobs[i], now.wall_ms);
        int64_t left = free_of(model, manager);
        for (size_t k = 0; k < model->count; k++)
            if (model->jobs[k].state == MODEL_RUNS &&
                end_of(&model->jobs[k], now.wall_ms) <= by_ms)
                left += model->jobs[k].needs[manager];
        if (left >= amount && by_ms < best)
            best = by_ms;
    }
    return best;
}

/* --- A pass
 * ------------------------------------------------------------------------------ */

typedef enum Answer { YES, NOT_ENOUGH, EXHAUSTED, NOT_THIS } Answer;

typedef struct Pass {
    Model *model;
    Now now;
    bool over[MODEL_LANES]; /* refused in this pass */
    bool full[MODEL_MANAGERS];
    int64_t lacks[MODEL_MANAGERS]; /* of the one for whom it is kept */
} Pass;

static bool ends_by(const Pass *pass, const ModelJob *job, int64_t by_ms)
{
    return job->service_ms && pass->now.wall_ms + job->service_ms <= by_ms;
}

static Answer ask(const Pass *pass, const ModelJob *job, unsigned manager)
{
    const Model *model = pass->model;
    int64_t amount = job->needs[manager];
    bool fills = model->lanes[job->lane].def.policy == POLICY_BACKFILL;
    if (!amount)
        return YES;
    if (manager >= MODEL_MANAGERS)
        return another_runs(model, job) ? NOT_THIS : YES;
    if (amount > model->capacity[manager])
        return NOT_THIS;
    if (!free_of(model, manager))
        return EXHAUSTED;
    if (free_of(model, manager) < amount)
        return NOT_ENOUGH;
    if (!pass->full[manager])
        return YES;
    int64_t by_ms = earliest(model, manager, pass->lacks[manager], pass->now);
    return fills && ends_by(pass, job, by_ms) ? YES : NOT_ENOUGH;
}

/* A job that was refused waits for what it was refused for, before anything else. */
static bool still_lacks(const Pass *pass, const ModelJob *job, Answer *out)
{
    const ModelLane *lane = &pass->model->lanes[job->lane];
    if (!lane->in_line || lane->refused != job->id)
        return false;
    *out = ask(pass, job, lane->manager);
    return *out == NOT_ENOUGH || *out == EXHAUSTED;
}

static Answer ask_all(const Pass *pass, const ModelJob *job, unsigned *out_lacking)
{
    Answer worst;
    *out_lacking = pass->model->lanes[job->lane].manager;
    if (still_lacks(pass, job, &worst))
        return worst;
    worst = YES;
    for (unsigned manager = 0; manager < MODEL_NEEDS; manager++) {
        Answer answer = ask(pass, job, manager);
        if (answer > worst) {
            worst = answer;
            *out_lacking = manager;
        }
    }
    return worst;
}

static bool queue_is_open(Model *model, unsigned at, Now now)
{
    ModelLane *lane = &model->lanes[at];
    int64_t boot_ms;
    return !queue_paused(&lane->def, now.wall_ms) &&
           (!lane->def.has_slots || running_in(model, at) < lane->def.slots) &&
           bucket_ready(&lane->bucket, &lane->def, now.boot_ms, &boot_ms);
}

/* The lane is refused for lack of this: it is owed a turn, and the manager is kept for
 * the first of those whom it refused. */
static void refuse(Pass *pass, unsigned lane, unsigned manager, int64_t amount)
{
    ModelLane *refused = &pass->model->lanes[lane];
    refused->turn = turn_of(pass->model, lane);
    if (!refused->owed)
        refused->owed = ++pass->model->refusals;
    if (!pass->full[manager])
        pass->lacks[manager] = amount;
    pass->full[manager] = true;
}

/* The job of the lane that may start now, or NULL. */
static ModelJob *choose(Pass *pass, unsigned lane)
{
    Model *model = pass->model;
    QueuePolicy policy = model->lanes[lane].def.policy;
    const ModelJob *refused = NULL;
    unsigned lacking = 0;
    int64_t by_ms = 0;
    if (!queue_is_open(model, lane, pass->now))
        return NULL;
    for (ModelJob *job = NULL; (job = next_job(model, lane, MODEL_READY, job));) {
        unsigned manager = 0;
        Answer answer = ask_all(pass, job, &manager);
        if (answer == YES && (!refused || ends_by(pass, job, by_ms)))
            return job;
        if (answer == YES || answer == NOT_THIS ||
            (answer == NOT_ENOUGH && policy == POLICY_SKIP))
            continue; /* passed over */
        if (!refused) {
            refused = job;
            lacking = manager;
            by_ms = earliest(model, manager, job->needs[manager], pass->now);
        }
        if (policy != POLICY_BACKFILL)
            break;
    }
    if (refused)
        refuse(pass, lane, lacking, refused->needs[lacking]);
    /* With policy skip nothing is kept for a job: it lacks what it lacks now. */
    model->lanes[lane].in_line = refused && policy != POLICY_SKIP;
    model->lanes[lane].manager = lacking;
    model->lanes[lane].refused = refused ? refused->id : 0;
    return NULL;
}

static void start(Pass *pass, ModelJob *job)
{
    Model *model = pass->model;
    ModelLane *lane = &model->lanes[job->lane];
    uint64_t turn = turn_of(model, job->lane);
    if (turn > model->tour && !lane->owed)
        model->tour = turn;
    lane->owed = 0;
    lane->in_line = false;
    lane->turn = turn + 1;
    lane->turn = turn_of(model, job->lane);
    if (model->tenant_turn[lane->tenant] < lane->turn)
        model->tenant_turn[lane->tenant] = lane->turn;
    bucket_take(&lane->bucket, &lane->def, pass->now.boot_ms);
    job->state = MODEL_RUNS;
    job->started_ms = pass->now.wall_ms;
}

static unsigned first_lane(Pass *pass)
{
    Model *model = pass->model;
    unsigned first = model->lane_count;
    for (unsigned i = 0; i < model->lane_count; i++)
        if (!pass->over[i] && model_first(model, i, MODEL_READY) &&
            (first == model->lane_count || lane_goes_before(model, i, first)))
            first = i;
    return first;
}

/* Everyone was offered: all are even. */
static void end_tour(Model *model)
{
    for (unsigned i = 0; i < model->lane_count; i++)
        if (model->lanes[i].turn > model->tour)
            model->tour = model->lanes[i].turn;
}

void model_forget(Model *model, unsigned lane)
{
    model->lanes[lane].owed = 0;
    model->lanes[lane].in_line = false;
}

void model_pass(Model *model, Now now)
{
    Pass pass = { .model = model, .now = now };
    for (unsigned i = 0; i < model->lane_count; i++)
        if (!model_first(model, i, MODEL_READY))
            model_forget(model, i);
    for (unsigned lane; (lane = first_lane(&pass)) < model->lane_count;) {
        ModelJob *job = choose(&pass, lane);
        if (job && model_running(model) >= model->slots)
            return;
        if (job)
            start(&pass, job);
        else
            pass.over[lane] = true;
    }
    end_tour(model);
}
