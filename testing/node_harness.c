/* SPDX-License-Identifier: Apache-2.0 */
/* node_harness.c - see node_harness.h. Part of the node's tests, not of the program. */
#include "testing/node_harness.h"
#include "testing/node_harness_links.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROUNDS_MAX 1000 /* of questions and answers after one step */

static const char rig_sysid[] = "rig-0001";

/* --- The store -------------------------------------------------------------------- */

static Job *find(Rig *rig, JobId id)
{
    for (size_t i = 0; i < rig->count; i++)
        if (rig->jobs[i].id == id)
            return &rig->jobs[i];
    return NULL;
}

static void store_add(Rig *rig, const Job *job)
{
    assert_true(rig->count < RIG_JOBS_MAX);
    if (rig->shared && find(rig, job->id))
        return; /* another node was faster */
    assert_null(find(rig, job->id));
    rig->jobs[rig->count++] = job_copy(&rig->arena, job);
    if (job->flags & JOB_WAITS)
        rig_add_waits(rig, job->id, job->after, (RigWait){ 0 });
}

static void store_lines(Rig *rig, const Op *op, uint32_t node)
{
    Slice rest = op->body;
    Slice line;
    uint64_t k = 0;
    for (; lines_next(&rest, &line); k++) {
        Job job = *op->job;
        job.id = id_from_count(op->first + k, (uint16_t)node);
        job.payload = line;
        store_add(rig, &job);
    }
    assert_int_equal(k, op->count);
}

static void expect_guards(const Job *job, const Op *op)
{
    assert_non_null(job);
    bool changes_state = op->kind != OP_PROGRESS && op->kind != OP_PAUSE;
    if (changes_state)
        assert_true(state_in(job->state, op->from)); /* nothing goes unguarded */
    if (op->kind == OP_CLAIM)
        assert_int_equal(op->attempt, job->attempt + 1);
    if (op->kind == OP_FINISH || op->kind == OP_PROGRESS || op->kind == OP_PAUSE) {
        assert_int_equal(op->attempt, job->attempt);
        assert_true(slice_equal(op->lock, job->lock));
        assert_true(state_in(job->state, STATES_OWNED));
    }
}

static void move(Job *job, JobState to, int64_t dt_ms)
{
    assert_int_equal(job_move(job, to, dt_ms), ERR_OK);
}

static void store_claim(Rig *rig, Job *job, const Op *op)
{
    move(job, JOB_RUNNING, op->dt_ms);
    job->attempt = op->attempt;
    job->lock = slice_copy(&rig->arena, op->lock);
    job->bookings = slice_copy(&rig->arena, op->bookings);
    job->version = op->version;
    job->started_ms = op->at_ms;
    job->beat_ms = op->at_ms;
    job->message = slice_copy(&rig->arena, op->message);
    job->finished_ms = 0;
    job->outcome = job_default().outcome;
    job->flags &= ~(uint32_t)(JOB_CUT | JOB_CANCELLING | JOB_HALTING);
}

static void store_finish(Rig *rig, Job *job, const Op *op)
{
    job->finished_ms = op->at_ms;
    job->outcome = op->outcome;
    job->retry_number = op->retry_number;
    if (op->window_from_ms)
        job->window_from_ms = op->window_from_ms;
    job->error = slice_copy(&rig->arena, op->error);
    job->reason = slice_copy(&rig->arena, op->reason);
    job->message = slice_copy(&rig->arena, op->message);
    job->result_bytes = (int64_t)op->result.bytes;
    job->progress = op->progress;
    job->flags &= ~(uint32_t)(JOB_CANCELLING | JOB_HALTING);
    job->flags |= op->flags;
    move(job, op->to, op->dt_ms);
}

static void store_move(Rig *rig, Job *job, const Op *op)
{
    uint32_t had = job->flags;
    if (state_in(job->state, STATES_FINAL))
        assert_true(op->fields & FIELD_RETRY);
    if (state_in(op->to, STATES_FINAL)) {
        job->finished_ms = op->at_ms;
        job->flags &= ~(uint32_t)JOB_WAITS;
    }
    job->reason = slice_copy(&rig->arena, op->reason);
    if (op->fields & FIELD_HANDLER) {
        Job copy = job_copy(&rig->arena, op->job);
        job_take_handled(job, &copy);
    }
    if (op->fields & FIELD_PRIORITY) {
        job->priority = op->priority;
        job->flags &= ~(uint32_t)JOB_OPEN_PRIORITY;
    }
    if (op->fields & FIELD_QUEUE) {
        job->queue = slice_copy(&rig->arena, op->queue);
        job->flags &= ~(uint32_t)JOB_OPEN_QUEUE;
    }
    if (op->fields & FIELD_LANE) {
        uint32_t lane = JOB_PULL | JOB_SEGREGATED;
        job->flags = (job->flags & ~lane) | (op->flags & lane);
    }
    if (op->fields & FIELD_PAYLOAD)
        job->payload = slice_copy(&rig->arena, op->payload);
    if (op->fields & FIELD_TAGS)
        job->tags = slice_copy(&rig->arena, op->tags);
    if (op->fields & FIELD_MAX_RUN)
        job->max_run_ms = op->max_run_ms;
    if (op->fields & FIELD_RUN_AT)
        job->run_at_ms = op->dt_ms;
    if ((op->fields & (FIELD_RUN_AT | FIELD_RETRY)) && op->window_from_ms)
        job->window_from_ms = op->window_from_ms;
    if (op->fields & FIELD_RETRY) {
        job->retry_number = 0;
        job->flags &= ~(uint32_t)JOB_LOSSES;
    }
    if (op->fields & FIELD_SURE)
        job->flags &= ~(uint32_t)JOB_UNSURE;
    if (op->fields & FIELD_FREED) {
        job->window_from_ms = op->window_from_ms;
        job->flags &= ~(uint32_t)JOB_WAITS;
    }
    if (op->fields & FIELD_ALONE)
        job->flags &= ~(uint32_t)JOB_WAITS;
    if (op->fields & FIELD_WAITS)
        job->flags |= JOB_WAITS;
    bool was_final = state_in(job->state, STATES_FINAL);
    move(job, op->to, op->dt_ms);
    rig_change_waits(rig, job, op, had);
    if (was_final && !state_in(op->to, STATES_FINAL))
        rig_parent_again(rig, job->id);
}

static void store_key(Rig *rig, const Op *op)
{
    rig->keys[rig->key_count++] = (RigKey){
        .tenant = slice_copy(&rig->arena, op->tenant),
        .key = slice_copy(&rig->arena, op->key),
        .value = slice_copy(&rig->arena, op->value),
        .expiry_ms = op->dt_ms,
    };
}

static void store_put(Rig *rig, const Op *op)
{
    RigDefinition *at = NULL;
    for (size_t i = 0; i < rig->definition_count && !at; i++) {
        RigDefinition *old = &rig->definitions[i];
        if (slice_equal(old->table, op->table) && slice_equal(old->key, op->key) &&
            slice_equal(old->tenant, op->tenant))
            at = old;
    }
    if (!at) {
        assert_true(rig->definition_count < 64);
        at = &rig->definitions[rig->definition_count++];
    }
    *at = (RigDefinition){
        .table = slice_copy(&rig->arena, op->table),
        .tenant = slice_copy(&rig->arena, op->tenant),
        .key = slice_copy(&rig->arena, op->key),
        .value = slice_copy(&rig->arena, op->value),
    };
}

static void store_change(Rig *rig, const Op *op)
{
    Job *job = find(rig, op->id);
    expect_guards(job, op);
    if (op->kind == OP_CLAIM)
        store_claim(rig, job, op);
    if (op->kind == OP_FINISH)
        store_finish(rig, job, op);
    if (op->kind == OP_MOVE)
        store_move(rig, job, op);
    if (op->kind == OP_PAUSE)
        move(job, op->to, op->dt_ms);
    if (op->kind == OP_PROGRESS) {
        job->flags |= op->flags;
        if (op->progress >= 0)
            job->progress = op->progress;
        if (op->message.bytes)
            job->message = slice_copy(&rig->arena, op->message);
        if (op->reason.bytes)
            job->reason = slice_copy(&rig->arena, op->reason);
        job->beat_ms = op->at_ms;
        if (op->dt_ms)
            job->dt_ms = op->dt_ms;
    }
    if (op->kind == OP_REMOVE) {
        assert_false(state_in(job->state, STATES_OWNED));
        rig_settle_waits(rig, job->id, NULL);
        rig_parent_goes(rig, job);
        *job = rig->jobs[--rig->count];
    }
}

static void store_op(Rig *rig, const Op *op, uint32_t node)
{
    rig->operations++;
    rig->fences += op->kind == OP_FENCE;
    rig->given += op->kind == OP_GIVE;
    rig->mails += op->kind == OP_MAIL;
    if (op->kind == OP_MAIL)
        rig->last_mail = slice_copy(&rig->arena, op->value);
    switch (op->kind) {
    case OP_ADD:
        store_add(rig, op->job);
        return;
    case OP_ADD_LINES:
        store_lines(rig, op, node);
        return;
    case OP_CLAIM:
    case OP_PROGRESS:
    case OP_FINISH:
    case OP_MOVE:
    case OP_PAUSE:
    case OP_REMOVE:
        store_change(rig, op);
        return;
    case OP_KEY:
        store_key(rig, op);
        return;
    case OP_PUT:
    case OP_DELETE:
        store_put(rig, op);
        return;
    case OP_BEAT:
    case OP_PURGE:
    case OP_NODE:
    case OP_GIVE:
    case OP_MAIL:
    case OP_TAKEN:
    case OP_FENCE:
    case OP_TAKE:
    case OP_JOIN:
        return;
    case OP_DROP:
        rig->drop = *op;
        return;
    case OP_SWEPT:
        rig->swept = *op;
        return;
    }
}

/* --- Questions -------------------------------------------------------------------- */

static bool before(const Job *a, const Job *b, LoadWhat what, int64_t age_ms)
{
    if (what == WANT_WINDOW && age_ms) {
        int64_t first = a->dt_ms - a->priority * age_ms;
        int64_t second = b->dt_ms - b->priority * age_ms;
        return first != second ? first < second : a->id < b->id;
    }
    if (what == WANT_WINDOW && a->priority != b->priority)
        return a->priority > b->priority;
    if (a->dt_ms != b->dt_ms)
        return a->dt_ms < b->dt_ms;
    return a->id < b->id;
}

static bool wanted(const Effect *effect, const Job *job)
{
    Job key = { .id = effect->behind_id,
                .priority = effect->priority,
                .dt_ms = effect->dt_ms };
    if (effect->owner && job_owner(job) != effect->owner)
        return false;
    switch (effect->what) {
    case WANT_WINDOW:
        return job->state == JOB_READY && slice_equal(job->tenant, effect->tenant) &&
               slice_equal(job->queue, effect->queue) &&
               slice_equal(job_lane_type(job), effect->key) &&
               ((job->flags & JOB_PULL) != 0) == effect->pull &&
               (!effect->behind || before(&key, job, WANT_WINDOW, effect->age_ms));
    case WANT_DUE:
        return state_in(job->state, STATES_TIMED);
    case WANT_BLOCKED:
        return job->state == JOB_BLOCKED && !(job->flags & JOB_WAITS) &&
               slice_equal(job->tenant, effect->tenant) &&
               slice_equal(job->type, effect->key);
    case WANT_JOB:
    case WANT_LAST:
        return job->id == effect->id &&
               (!effect->tenant.bytes || slice_equal(effect->tenant, job->tenant));
    case WANT_OLD_DONE:
        return job->state == JOB_DONE && job->finished_ms < effect->dt_ms;
    case WANT_OLD_OTHER:
        return state_in(job->state, STATES_FINAL) && job->state != JOB_DONE &&
               job->finished_ms < effect->dt_ms;
    case WANT_AFTER:
        return (job->flags & JOB_WAITS) ||
               (job->after.bytes && job->state == JOB_CANCELLED);
    case WANT_KEY:
    case WANT_UNIQUE:
    case WANT_MATCH:
    case WANT_INBOX:
    case WANT_GIVEN:
    case WANT_LANES:
    case WANT_RUNNING:
    case WANT_GROUP:
    case WANT_OWED:
        break;
    }
    return false;
}

static size_t sorted(Rig *rig, const Effect *effect, const Job **out)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->count; i++) {
        if (!wanted(effect, &rig->jobs[i]))
            continue;
        size_t at = count++;
        for (; at > 0 && before(&rig->jobs[i], out[at - 1], effect->what, effect->age_ms);
             at--)
            out[at] = out[at - 1];
        out[at] = &rig->jobs[i];
    }
    return count;
}

static void look_up(Rig *rig, const Effect *effect)
{
    static const Job *found[RIG_JOBS_MAX];
    RigAnswer answer = { .token = effect->token,
                         .number = rig->number,
                         .err = rig->store_fails ? ERR_IO : ERR_OK,
                         .next_due_ms = TIME_NEVER };
    size_t count = sorted(rig, effect, found);
    if (effect->what == WANT_OLD_DONE)
        rig->old_late_ms = effect->late_ms;
    if (effect->what == WANT_AFTER) {
        rig->after_asked++;
        answer.after = arena_take(&rig->arena, (count + 1) * sizeof(AfterCount));
        count = rig_keep_ended(rig, found, count, answer.after);
        if (rig->wait_count)
            answer.value = SLICE_LITERAL("some");
    }
    answer.jobs = arena_take(&rig->arena, (count + 1) * sizeof(Job));
    for (size_t i = 0; i < count && !answer.err; i++) {
        bool due = effect->what != WANT_DUE || found[i]->dt_ms <= effect->dt_ms;
        if (due && (!effect->limit || answer.count < effect->limit)) {
            answer.jobs[answer.count++] = job_copy(&rig->arena, found[i]);
            continue;
        }
        answer.more = due;
        answer.next_due_ms = found[i]->dt_ms;
        break;
    }
    if (effect->what == WANT_INBOX && rig->letter.body.bytes) {
        answer.letter = arena_copy(&rig->arena, &rig->letter, sizeof rig->letter);
        rig->letter = (Letter){ 0 };
    }
    if (effect->what == WANT_UNIQUE)
        rig_look_up_keys(rig, effect, &answer);
    if (effect->what == WANT_MATCH && !answer.err)
        rig_look_up_matches(rig, effect, &answer);
    if (effect->what == WANT_OWED && !answer.err)
        rig_look_up_owed(rig, &answer);
    for (size_t i = 0; i < rig->key_count && effect->what == WANT_KEY; i++)
        if (slice_equal(rig->keys[i].key, effect->key) &&
            slice_equal(rig->keys[i].tenant, effect->tenant) &&
            rig->keys[i].expiry_ms > effect->dt_ms)
            answer.value = rig->keys[i].value;
    MEM_PUSH(rig->answers, rig->answer_count, rig->answer_capacity) = answer;
}

/* --- Steps ------------------------------------------------------------------------ */

static void take_effects(Rig *rig)
{
    for (size_t i = 0; i < rig->out.effect_count; i++) {
        Effect effect = rig->out.effects[i];
        if (effect.kind == EFFECT_LOAD) {
            look_up(rig, &effect);
            continue;
        }
        effect.key = slice_copy(&rig->arena, effect.key);
        effect.value = slice_copy(&rig->arena, effect.value);
        if (effect.added_items)
            effect.added_items = arena_copy(&rig->arena, effect.added_items,
                                            effect.count * sizeof *effect.added_items);
        if (effect.job) {
            Job *copy = ARENA_NEW(&rig->arena, Job);
            *copy = job_copy(&rig->arena, effect.job);
            effect.job = copy;
        }
        rig->starts += effect.kind == EFFECT_START;
        MEM_PUSH(rig->log, rig->log_count, rig->log_capacity) = effect;
    }
}

static void one_step(Rig *rig, const Event *events, size_t count)
{
    outbox_clear(&rig->out);
    node_step(rig->node, rig->now, events, count, &rig->out);
    node_check(rig->node);
    for (size_t i = 0; i < rig->out.adds.count; i++)
        store_op(rig, &rig->out.adds.ops[i], rig->out.adds.node);
    for (size_t i = 0; i < rig->out.batch.count; i++)
        store_op(rig, &rig->out.batch.ops[i], rig->out.batch.node);
    if (rig->out.adds.count || rig->out.batch.count) {
        assert_int_equal(rig->out.number, rig->number + 1);
        rig->number = rig->out.number;
    }
    take_effects(rig);
}

void rig_answer(Rig *rig)
{
    for (int round = 0; rig->answer_count; round++) {
        assert_true(round < ROUNDS_MAX);
        RigAnswer *answers = rig->answers;
        size_t count = rig->answer_count;
        rig->answers = NULL;
        rig->answer_count = rig->answer_capacity = 0;
        for (size_t i = 0; i < count; i++) {
            const RigAnswer *answer = &answers[i];
            Event events[2] = { { .kind = EVENT_LOADED,
                                  .token = answer->token,
                                  .number = answer->number,
                                  .err = answer->err,
                                  .loaded = answer->jobs,
                                  .loaded_count = answer->count,
                                  .more = answer->more,
                                  .gone = answer->gone,
                                  .whole = answer->whole,
                                  .next_due_ms = answer->next_due_ms,
                                  .after = answer->after,
                                  .cursor = answer->cursor,
                                  .letters = answer->letter,
                                  .letter_count = answer->letter != NULL,
                                  .value = answer->value },
                                { .kind = EVENT_APPLIED, .number = answer->number } };
            one_step(rig, events, 2);
        }
        mem_free(answers);
    }
}

/* Processes run as soon as they are to. */
static void tell_started(Rig *rig)
{
    for (; rig->told < rig->log_count; rig->told++) {
        const Effect *effect = &rig->log[rig->told];
        Event started = { .kind = EVENT_STARTED,
                          .id = effect->id,
                          .attempt = effect->attempt,
                          .pid = 4711 };
        if (effect->kind == EFFECT_START && !rig->slow_starts)
            one_step(rig, &started, 1);
    }
}

void rig_step(Rig *rig, const Event *events, size_t count)
{
    one_step(rig, events, count);
    if (!rig->hold_answers)
        rig_answer(rig);
    tell_started(rig);
}

void rig_wait(Rig *rig, int64_t ms)
{
    rig->now.wall_ms += ms;
    rig->now.boot_ms += ms;
    rig_step(rig, NULL, 0);
}

void rig_slots(Rig *rig, uint32_t slots)
{
    rig->settings.slots = slots;
    node_settings_set(rig->node, &rig->settings);
    rig_step(rig, NULL, 0);
}

static Node *new_node(Rig *rig)
{
    NodeOptions options = { .sysid = slice_of(rig_sysid, strlen(rig_sysid)),
                            .number = 1,
                            .seed = 42,
                            .turn = rig->number,
                            .shared = rig->shared,
                            .settings = rig->settings };
    for (size_t i = 0; i < rig->count; i++)
        if (id_node(rig->jobs[i].id) == 1 && rig->jobs[i].id > options.last_id)
            options.last_id = rig->jobs[i].id;
    return node_new(&options);
}

Rig *rig_open(void (*change)(NodeSettings *settings))
{
    Rig *rig = MEM_NEW(Rig);
    rig->now = (Now){ .wall_ms = 1790000000000, .boot_ms = 5000000 };
    rig->settings = node_settings_default();
    rig->settings.slots = 2;
    if (change)
        change(&rig->settings);
    rig->node = new_node(rig);
    node_recovered(rig->node);
    rig_step(rig, NULL, 0);
    rig_forget(rig);
    return rig;
}

void rig_close(Rig *rig)
{
    node_free(rig->node);
    outbox_done(&rig->out);
    arena_done(&rig->arena);
    mem_free(rig->answers);
    mem_free(rig->log);
    mem_free(rig);
}

static void load_groups(Rig *rig)
{
    for (size_t i = 0; i < rig->count; i++) {
        const Job *job = &rig->jobs[i];
        uint64_t same = 0;
        for (size_t k = 0; k < rig->count; k++)
            same += rig->jobs[k].state == job->state &&
                    slice_equal(rig->jobs[k].group, job->group) &&
                    slice_equal(rig->jobs[k].tenant, job->tenant);
        if (job->group.bytes)
            node_load_group(rig->node, job->tenant, job->group, job->state, same);
    }
}

static void load_versions(Rig *rig)
{
    for (size_t i = 0; i < rig->definition_count && node_wants_versions(rig->node); i++) {
        const RigDefinition *at = &rig->definitions[i];
        Definition definition = { at->tenant, at->key, at->value };
        if (slice_is(at->table, HANDLER_VERSIONS))
            node_load_version(rig->node, &definition);
    }
}

void rig_reopen(Rig *rig, bool alive)
{
    node_free(rig->node);
    rig->answer_count = 0;
    rig->node = new_node(rig);
    for (size_t i = 0; i < rig->definition_count; i++) {
        const RigDefinition *at = &rig->definitions[i];
        if (!at->value.bytes)
            continue; /* deleted */
        node_load_definition(rig->node, at->table,
                             &(Definition){ at->tenant, at->key, at->value });
    }
    load_groups(rig);
    for (size_t i = 0; i < rig->count; i++) {
        const Job *job = &rig->jobs[i];
        if (job->state == JOB_READY)
            node_load_lane(rig->node, job);
        if (!state_in(job->state, STATES_OWNED))
            continue;
        node_load_running(rig->node, job);
        load_versions(rig);
        if (alive && !(job->flags & JOB_PULL))
            assert_true(node_adopt(rig->node, job->id, job->attempt, rig->now));
    }
    node_recovered(rig->node);
    rig_forget(rig);
}

/* --- What stories are made of ------------------------------------------------------ */

Job rig_job(void)
{
    Job job = job_default();
    job.tenant = SLICE_LITERAL("default");
    job.queue = SLICE_LITERAL("default");
    job.type = SLICE_LITERAL("run");
    job.command = SLICE_LITERAL("true\0");
    return job;
}

Job rig_typed_job(const char *type)
{
    Job job = job_default();
    job.tenant = SLICE_LITERAL("default");
    job.type = slice_text(type);
    job.priority = PRIORITY_UNSET;
    job.max_retries = RETRIES_OPEN;
    return job;
}

Err rig_send(Rig *rig, Event event)
{
    event.request = ++rig->last_request;
    rig_step(rig, &event, 1);
    for (size_t i = rig->log_count; i-- > 0;)
        if (rig->log[i].kind == EFFECT_REPLY && rig->log[i].request == rig->last_request)
            return rig->log[i].err;
    return ERR_BUSY;
}

JobId rig_add(Rig *rig, const Job *job)
{
    Job copy = *job;
    Event event = { .kind = EVENT_ADD, .tenant = job->tenant, .jobs = &copy, .count = 1 };
    assert_int_equal(rig_send(rig, event), ERR_OK);
    for (size_t i = rig->log_count; i-- > 0;)
        if (rig->log[i].kind == EFFECT_REPLY && rig->log[i].request == rig->last_request)
            return id_from_count(rig->log[i].first, 1);
    return 0;
}

static Err send_handler(Rig *rig, const char *type, const Handler *handler, bool flag)
{
    Buf value = { 0 };
    Event event = { .kind = EVENT_DEFINE,
                    .tenant = SLICE_LITERAL("default"),
                    .table = SLICE_LITERAL(HANDLER_TABLE),
                    .key = slice_text(type),
                    .flag = flag };
    if (handler)
        handler_pack(&value, handler);
    event.value = buf_slice(&value);
    Err err = rig_send(rig, event);
    buf_done(&value);
    return err;
}

uint32_t rig_define(Rig *rig, const char *type, const Handler *handler)
{
    if (send_handler(rig, type, handler, false))
        return 0;
    for (size_t i = rig->log_count; i-- > 0;)
        if (rig->log[i].kind == EFFECT_REPLY && rig->log[i].request == rig->last_request)
            return (uint32_t)rig->log[i].count;
    return 0;
}

void rig_switch(Rig *rig, const char *type, bool enabled)
{
    const Handler handler = { .version = 1, .disabled = !enabled }; /* no data: delete */
    assert_int_equal(send_handler(rig, type, &handler, true), ERR_OK);
}

const RigDefinition *rig_definition(const Rig *rig, const char *table, const char *key)
{
    for (size_t i = 0; i < rig->definition_count; i++)
        if (slice_is(rig->definitions[i].table, table) &&
            slice_is(rig->definitions[i].key, key))
            return &rig->definitions[i];
    return NULL;
}

JobId rig_add_default(Rig *rig)
{
    Job job = rig_job();
    return rig_add(rig, &job);
}

Err rig_act(Rig *rig, JobId id, Action action)
{
    return rig_send(rig, (Event){ .kind = EVENT_ACT, .id = id, .action = action });
}

void rig_end(Rig *rig, JobId id, const Ending *ending)
{
    const Job *job = rig_find(rig, id);
    assert_non_null(job);
    Event event = { .kind = EVENT_ENDED, .id = id, .attempt = job->attempt };
    event.ending = *ending;
    rig_step(rig, &event, 1);
}

void rig_exit(Rig *rig, JobId id, int32_t exit_status)
{
    Ending ending = { .kind = END_EXITED, .exit_status = exit_status, .progress = -1 };
    rig_end(rig, id, &ending);
}

const Job *rig_find(const Rig *rig, JobId id)
{
    for (size_t i = 0; i < rig->count; i++)
        if (rig->jobs[i].id == id)
            return &rig->jobs[i];
    return NULL;
}

JobState rig_state(const Rig *rig, JobId id)
{
    const Job *job = rig_find(rig, id);
    assert_non_null(job);
    return job->state;
}

void rig_forget(Rig *rig)
{
    rig->log_count = rig->told = 0;
}

size_t rig_count(const Rig *rig, EffectKind kind, JobId id)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->log_count; i++)
        count += rig->log[i].kind == kind && (!id || rig->log[i].id == id);
    return count;
}

const Effect *rig_last(const Rig *rig, EffectKind kind)
{
    for (size_t i = rig->log_count; i-- > 0;)
        if (rig->log[i].kind == kind)
            return &rig->log[i];
    return NULL;
}

size_t rig_signals(const Rig *rig, JobId id, int32_t signal)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->log_count; i++)
        count += rig->log[i].kind == EFFECT_SIGNAL && rig->log[i].id == id &&
                 rig->log[i].signal == signal;
    return count;
}
