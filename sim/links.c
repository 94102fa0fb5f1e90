/* SPDX-License-Identifier: Apache-2.0 */
/* links.c - see links.h. */
#include "sim/links.h"

#include "core/after.h"

static const Slice groups[] = { { "day", 3 }, { "night", 5 } };

void links_choose(World *world, Submission *submission, Job *job)
{
    Truth *truth = &world->truth;
    Buf list = { 0 };
    if (chance(world, 10))
        job->group = groups[below(world, 2)];
    if (!truth->job_count || !chance(world, 15))
        return;
    for (unsigned i = 0; i < 1 + below(world, 3); i++) {
        size_t recent = truth->job_count < 20 ? truth->job_count : 20;
        const JobTruth *parent = truth->jobs[truth->job_count - 1 - below(world, recent)];
        AfterItem item = { (AfterOn)below(world, 3), parent->id };
        if (parent->acked && parent->machine == submission->machine &&
            !after_names(buf_slice(&list), parent->id))
            after_add(&list, item);
    }
    job->after = slice_copy(&submission->arena, buf_slice(&list));
    buf_done(&list);
}

/* One of another tenant is not there. */
static const JobTruth *parent_of(World *world, const Job *job, JobId id)
{
    const JobTruth *parent = truth_job(world, id);
    bool own = parent && parent->submission &&
               slice_equal(parent->submission->jobs[0].tenant, job->tenant);
    return own ? parent : NULL;
}

/* Whether the parent has once ended as asked. */
static bool has_been_met(World *world, const Job *job, AfterItem item)
{
    const JobTruth *parent = parent_of(world, job, item.id);
    if (!parent || parent->gone)
        if (item.on == AFTER_ANY)
            return true;
    for (int32_t state = JOB_DONE; parent && state < JOB_STATES; state++)
        if ((parent->ends & STATE_BIT(state)) && after_met(item.on, state))
            return true;
    return false;
}

static bool all_met(World *world, const Job *job)
{
    Slice rest = job->after;
    AfterItem item;
    while (after_next(&rest, &item))
        if (!has_been_met(world, job, item))
            return false;
    return true;
}

/* Whether one of its parents is over, gone, or another tenant's. */
static bool any_over(World *world, const Job *job)
{
    Slice rest = job->after;
    AfterItem item;
    while (after_next(&rest, &item)) {
        const JobTruth *parent = parent_of(world, job, item.id);
        if (!parent || parent->gone || parent->ends)
            return true;
    }
    return false;
}

void links_decided(World *world, const Job *job, const Op *op)
{
    char id[ID_TEXT_BYTES];
    JobTruth *truth = truth_job(world, job->id);
    bool ends = op->kind == OP_FINISH || op->kind == OP_MOVE;
    if (ends && state_in(op->to, STATES_FINAL))
        truth->ends |= STATE_BIT(op->to);
    if (op->kind == OP_MOVE && (op->fields & FIELD_ALONE))
        truth->alone = true;
    if (op->kind == OP_REMOVE && !state_in(job->state, STATES_FINAL))
        truth->ends |= STATE_BIT(JOB_CANCELLED);
    if (op->kind == OP_CLAIM && !truth->alone && !all_met(world, job))
        violate(world, "L1", "%s starts before what it waits for", id_text(job->id, id));
}

/* Whether one of its parents has been retried, by someone or in turn. */
static bool revives(World *world, const Job *job, const Op *op)
{
    Slice rest = job->after;
    AfterItem item;
    if (job->state != JOB_CANCELLED || op->to != JOB_BLOCKED)
        return false;
    while (after_next(&rest, &item)) {
        const JobTruth *parent = parent_of(world, job, item.id);
        if (parent && parent->retried)
            return true;
    }
    return false;
}

bool links_may_move(World *world, const Job *job, const Op *op)
{
    if (state_in(job->state, STATES_FINAL))
        return (op->fields & FIELD_RETRY) && revives(world, job, op); /* L4 */
    if (!(job->flags & JOB_WAITS))
        return false;
    if (op->fields & FIELD_FREED)
        return all_met(world, job); /* L1 */
    if (op->to == JOB_CANCELLED)
        return any_over(world, job); /* L2 */
    return (op->fields & FIELD_MET) ||
           (job->state == JOB_BLOCKED && op->to == JOB_BLOCKED);
}

typedef struct GroupSums {
    uint64_t of[2][JOB_STATES];
} GroupSums;

static size_t group_at(Slice name)
{
    return slice_equal(name, groups[1]);
}

static void take_counted(void *context, const GroupCount *count)
{
    GroupSums *sums = context;
    sums->of[group_at(count->name)][count->state] += count->count;
}

static void take_job(void *context, const Job *job)
{
    GroupSums *sums = context;
    if (job->group.bytes)
        sums->of[group_at(job->group)][job->state]++;
}

void links_check_groups(World *world, Machine *machine)
{
    GroupSums counted = { 0 };
    GroupSums held = { 0 };
    Store *store = machine->store;
    JobQuery all = { .limit = QUERY_LIMIT_MAX };
    JobSink sink = { take_job, &held };
    QueryEnd end = { 0 };
    (void)!store->kind->groups(store, NULL, take_counted, &counted, NULL);
    do {
        (void)!store->kind->query(store, &all, &sink, &end, NULL);
        all.before = end.cursor;
    } while (end.cursor);
    for (size_t i = 0; i < 2; i++)
        for (unsigned state = 0; state < JOB_STATES; state++)
            if (counted.of[i][state] != held.of[i][state])
                violate(world, "L3", "m%u counts %llu %s jobs of a group, but holds %llu",
                        machine->index, (unsigned long long)counted.of[i][state],
                        state_name((JobState)state),
                        (unsigned long long)held.of[i][state]);
}
