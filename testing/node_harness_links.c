/* SPDX-License-Identifier: Apache-2.0 */
/* node_harness_links.c - see node_harness_links.h. Part of the node's tests, not of the
 * program.
 */
#include "testing/node_harness_links.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Whether the parent has ended, and how. */
static bool wait_ended(Rig *rig, const RigWait *wait, int32_t *out_state)
{
    const Job *parent = rig_find(rig, wait->parent);
    *out_state = parent ? (int32_t)parent->state : wait->state;
    if (wait->broke)
        return wait->state == STATE_REOPENED;
    if (!parent)
        return true;
    return state_in(parent->state, STATES_FINAL) &&
           (!wait->patient || after_met(wait->on, *out_state));
}

AfterCount rig_count_waits(Rig *rig, JobId child, bool *out_any)
{
    AfterTally tally = { 0 };
    *out_any = false;
    for (size_t i = 0; i < rig->wait_count; i++) {
        const RigWait *wait = &rig->waits[i];
        int32_t state;
        if (wait->child != child)
            continue;
        bool ended = wait_ended(rig, wait, &state);
        *out_any = *out_any || ended;
        AfterRow row = { wait->parent, wait->broke ? AFTER_BROKE : (int32_t)wait->on,
                         ended, state };
        after_tally(&tally, &row);
    }
    return after_tallied(&tally, &rig->arena);
}

void rig_add_waits(Rig *rig, JobId child, Slice list, RigWait how)
{
    AfterItem item;
    while (after_next(&list, &item)) {
        assert_true(rig->wait_count < RIG_JOBS_MAX);
        how.parent = item.id;
        how.child = child;
        how.on = item.on;
        how.state = STATE_GONE;
        rig->waits[rig->wait_count++] = how;
    }
}

void rig_change_waits(Rig *rig, const Job *job, const Op *op, uint32_t had)
{
    AfterSteps steps = after_steps(job, op, had);
    if (steps.settles_all || steps.settles_listed)
        rig_settle_waits(rig, job->id, steps.settles_all ? NULL : &op->value);
    if (steps.breaks)
        rig_add_waits(rig, job->id, op->value, (RigWait){ .broke = true });
    if (steps.waits)
        rig_add_waits(rig, job->id, op->value,
                      (RigWait){ .patient = (op->fields & FIELD_PATIENT) != 0 });
}

void rig_parent_again(Rig *rig, JobId parent)
{
    for (size_t i = 0; i < rig->wait_count; i++) {
        if (rig->waits[i].parent != parent)
            continue;
        rig->waits[i].patient = false;
        if (rig->waits[i].broke)
            rig->waits[i].state = STATE_REOPENED;
    }
}

void rig_settle_waits(Rig *rig, JobId child, const Slice *list)
{
    for (size_t i = rig->wait_count; i-- > 0;) {
        if (rig->waits[i].child != child ||
            (list && !after_names(*list, rig->waits[i].parent)))
            continue;
        rig->waits[i] = rig->waits[--rig->wait_count];
    }
}

void rig_parent_goes(Rig *rig, const Job *parent)
{
    bool final = state_in(parent->state, STATES_FINAL);
    for (size_t i = 0; i < rig->wait_count; i++)
        if (rig->waits[i].parent == parent->id && !rig->waits[i].broke)
            rig->waits[i].state = final ? (int32_t)parent->state : JOB_CANCELLED;
}

/* Of the jobs that wait those with something to look at. */
size_t rig_keep_ended(Rig *rig, const Job **jobs, size_t count, AfterCount *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool any;
        AfterCount after = rig_count_waits(rig, jobs[i]->id, &any);
        if (!any)
            continue;
        out[kept] = after;
        jobs[kept++] = jobs[i];
    }
    return kept;
}

static bool holds_key(const Job *job, Slice tenant, Slice key, int64_t wall_ms)
{
    bool holds = false;
    for (unsigned kind = 0; kind < UNIQUE_KINDS && !holds; kind++) {
        Buf own = { 0 };
        Unique unique = { 0 };
        bool has = unique_key(job, (UniqueKind)kind, &own) &&
                   slice_equal(job->tenant, tenant) && slice_equal(buf_slice(&own), key);
        if (has && kind == UNIQUE_MERGE)
            holds = state_in(job->state, STATES_WAITING) && !job->attempt;
        else if (has && unique_read(job->unique, &unique) && unique.for_ms)
            holds = job->created_ms + unique.for_ms > wall_ms;
        else if (has)
            holds = !state_in(job->state, STATES_FINAL);
        buf_done(&own);
    }
    return holds;
}

void rig_look_up_matches(Rig *rig, const Effect *effect, RigAnswer *answer)
{
    JobQuery query = { .tenant = effect->tenant, .wall_ms = effect->dt_ms };
    Error why = { 0 };
    JobId below = effect->behind_id;
    answer->err = query_parse(effect->key, &rig->arena, &query, &why);
    answer->jobs = arena_take(&rig->arena, (effect->limit + 1) * sizeof(Job));
    for (;;) {
        const Job *next = NULL;
        for (size_t i = 0; i < rig->count; i++)
            if (rig->jobs[i].id < below && (!next || rig->jobs[i].id > next->id))
                next = &rig->jobs[i];
        if (!next || answer->err)
            return;
        below = next->id;
        if (!query_matches(&query, next))
            continue;
        if (answer->count == effect->limit) {
            answer->cursor = answer->jobs[answer->count - 1].id;
            return;
        }
        answer->jobs[answer->count++] = job_copy(&rig->arena, next);
    }
}

/* One job for each key: the newest that holds it. */
void rig_look_up_keys(Rig *rig, const Effect *effect, RigAnswer *answer)
{
    Slice rest = effect->key;
    Slice tenant;
    Slice key;
    answer->jobs = arena_take(&rig->arena, (effect->key.bytes + 1) * sizeof(Job));
    while (list_next(&rest, &tenant) && list_next(&rest, &key)) {
        Job *job = &answer->jobs[answer->count++];
        *job = job_default();
        for (size_t i = 0; i < rig->count; i++)
            if (rig->jobs[i].id > job->id &&
                holds_key(&rig->jobs[i], tenant, key, effect->dt_ms))
                *job = job_copy(&rig->arena, &rig->jobs[i]);
    }
}

void rig_look_up_owed(Rig *rig, RigAnswer *answer)
{
    answer->jobs = arena_take(&rig->arena, (rig->definition_count + 1) * sizeof(Job));
    for (size_t i = 0; i < rig->definition_count; i++) {
        const RigDefinition *at = &rig->definitions[i];
        if (slice_is(at->table, OWED_TABLE) && at->value.bytes &&
            !job_unpack(at->value, &answer->jobs[answer->count]))
            answer->count++;
    }
}
