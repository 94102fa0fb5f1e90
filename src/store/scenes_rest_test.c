/* SPDX-License-Identifier: Apache-2.0 */
/* scenes_rest_test.c - guards over whole domains, removal, definitions, keys, repeats and
 * queries, scene by scene: see conformance.h. */
#include "core/queue.h"
#include "store/rollup.h"
#include "testing/conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* --- Guards ------------------------------------------------------------------------- */

/* What row.h promises for an operation on a job in a state, attempt and lock right. */
static OpResult expected(const Op *op, JobState state)
{
    bool owned = state_in(state, STATES_OWNED);
    switch (op->kind) {
    case OP_CLAIM:
        return state == JOB_READY ? OP_APPLIED : owned ? OP_LOST : OP_CONFLICT;
    case OP_PROGRESS:
        return owned ? OP_APPLIED : OP_LOST;
    case OP_PAUSE:
        return !owned ? OP_LOST : state == op->to ? OP_CONFLICT : OP_APPLIED;
    case OP_FINISH:
        if (!owned)
            return OP_LOST;
        return state_step(state, op->to) && !state_in(op->to, STATES_OWNED) ? OP_APPLIED
                                                                            : OP_CONFLICT;
    case OP_MOVE:
        return !owned && state_step(state, op->to) && !state_in(op->to, STATES_OWNED)
                   ? OP_APPLIED
                   : OP_CONFLICT;
    case OP_REMOVE:
        return owned ? OP_CONFLICT : OP_APPLIED;
    case OP_ADD:
    case OP_ADD_LINES:
    case OP_BEAT:
    case OP_PURGE:
    case OP_PUT:
    case OP_DELETE:
    case OP_NODE:
    case OP_KEY:
    case OP_GIVE:
    case OP_MAIL:
    case OP_TAKEN:
    case OP_FENCE:
    case OP_TAKE:
    case OP_JOIN:
    case OP_DROP:
    case OP_SWEPT:
        break;
    }
    return OP_CONFLICT;
}

static bool same_job(const Job *a, const Job *b)
{
    Buf first = { 0 };
    Buf second = { 0 };
    job_pack(&first, a);
    job_pack(&second, b);
    bool same = slice_equal(buf_slice(&first), buf_slice(&second));
    buf_done(&first);
    buf_done(&second);
    return same;
}

static void try_op(Scene *scene, OpKind kind, JobState state, JobState to)
{
    JobId id = scene_add_in(scene, state);
    Job before = scene_must_get(scene, id);
    Op op = scene_op(kind, id);
    op.to = to;
    op.at_ms = SCENE_WALL + 5000;
    op.dt_ms = SCENE_WALL + 35000;
    op.fields = kind == OP_MOVE ? FIELD_RETRY : 0;
    if (kind == OP_CLAIM)
        op.attempt = before.attempt + 1;
    else if (kind != OP_MOVE && kind != OP_REMOVE)
        op.attempt = before.attempt;
    if (kind != OP_MOVE && kind != OP_REMOVE)
        op.lock = SLICE_LITERAL(SCENE_SYSID);
    OpResult result = scene_do(scene, &op);
    if (result != expected(&op, state))
        fail_msg("%s of a job that is %s to %s: %s", op_name(kind), state_name(state),
                 state_name(to), op_result_name(result));
    Job after = { 0 };
    bool found = scene_get(scene, id, &after);
    assert_int_equal(found, kind != OP_REMOVE || result != OP_APPLIED);
    if (found)
        assert_int_equal(same_job(&before, &after), result != OP_APPLIED);
}

static void every_operation_in_every_state(Scene *scene)
{
    static const OpKind kinds[] = { OP_CLAIM, OP_PROGRESS, OP_REMOVE };
    for (unsigned state = 0; state < JOB_STATES; state++)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            try_op(scene, kinds[i], (JobState)state, JOB_READY);
}

static void every_step_between_states(Scene *scene)
{
    static const OpKind kinds[] = { OP_FINISH, OP_MOVE };
    for (unsigned state = 0; state < JOB_STATES; state++)
        for (unsigned to = 0; to < JOB_STATES; to++)
            for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                try_op(scene, kinds[i], (JobState)state, (JobState)to);
}

static void from_guards_the_state(Scene *scene)
{
    JobId id = scene_add_ready(scene, "q");
    Op op = scene_move(scene, id, JOB_HELD);
    op.from = STATE_BIT(JOB_DEFERRED) | STATE_BIT(JOB_BLOCKED);
    assert_int_equal(scene_do(scene, &op), OP_CONFLICT);
    op.from |= STATE_BIT(JOB_READY);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    op = scene_op(OP_REMOVE, id);
    op.from = STATES_FINAL;
    assert_int_equal(scene_do(scene, &op), OP_CONFLICT);
    op.from = 0;
    op.attempt = 4;
    assert_int_equal(scene_do(scene, &op), OP_LOST);
}

static void a_refused_operation_does_not_stop_the_others(Scene *scene)
{
    JobId first = scene_add_ready(scene, "q");
    JobId second = scene_add_ready(scene, "q");
    Batch batch = { .number = ++scene->number, .node = SCENE_NODE };
    *batch_op(&batch, OP_CLAIM, 0) = scene_claim(scene, first, 1);
    *batch_op(&batch, OP_CLAIM, 0) = scene_claim(scene, first, 2);
    *batch_op(&batch, OP_CLAIM, 0) = scene_claim(scene, 12345, 1);
    *batch_op(&batch, OP_CLAIM, 0) = scene_claim(scene, second, 1);
    OpResult results[4];
    scene_commit(scene, &batch, 1, results);
    assert_int_equal(results[0], OP_APPLIED);
    assert_int_equal(results[1], OP_LOST);
    assert_int_equal(results[2], OP_MISSING);
    assert_int_equal(results[3], OP_APPLIED);
    batch_done(&batch);
}

/* --- Repeats ------------------------------------------------------------------------ */

/* S2.66 to S2.74, at this end: what was ingested is not ingested again. */
static void a_read_point_makes_ingestion_happen_once(Scene *scene)
{
    Batch batch = { .node = SCENE_NODE, .has_read_point = true };
    batch.read_point = (ReadPoint){ SCENE_NODE, 1000 };
    Job *job = scene_job(scene, "q");
    batch_op(&batch, OP_ADD, 0)->job = job;
    Op *put = batch_op(&batch, OP_PUT, 0);
    put->table = SLICE_LITERAL("config");
    put->key = SLICE_LITERAL("k");
    put->value = SLICE_LITERAL("1");
    OpResult results[2] = { OP_LOST, OP_LOST };
    scene_commit(scene, &batch, 1, results);
    assert_int_equal(results[0], OP_APPLIED);
    Op remove = scene_op(OP_REMOVE, job->id);
    assert_int_equal(scene_do(scene, &remove), OP_APPLIED);
    scene_commit(scene, &batch, 1, results); /* again, and older */
    batch.read_point.position = 900;
    scene_commit(scene, &batch, 1, results);
    assert_int_equal(results[0], OP_APPLIED);
    Job found;
    assert_false(scene_get(scene, job->id, &found));
    batch.read_point.position = 1001;
    scene_commit(scene, &batch, 1, results);
    assert_true(scene_get(scene, job->id, &found));
    batch_done(&batch);
    ReadPoint point = { 0 };
    Error why = { 0 };
    while (scene->store->kind->read_point(scene->store, SCENE_NODE, &point, &why))
        scene->failures++;
    assert_int_equal(point.position, 1001);
}

/* Unknown outcome of a commit: asked again it changes nothing and answers the same. */
static void a_repeated_number_gives_the_same_answer(Scene *scene)
{
    JobId id = scene_add_ready(scene, "q");
    Batch batches[2] = { { .node = SCENE_NODE }, { .node = SCENE_NODE } };
    batches[0].number = ++scene->number;
    batches[1].number = ++scene->number;
    *batch_op(&batches[0], OP_CLAIM, 0) = scene_claim(scene, id, 1);
    *batch_op(&batches[0], OP_CLAIM, 0) = scene_claim(scene, id, 2);
    *batch_op(&batches[1], OP_CLAIM, 0) = scene_claim(scene, id + 1000, 1);
    OpResult first[3];
    OpResult second[3];
    scene_commit(scene, batches, 2, first);
    scene_commit(scene, batches, 2, second);
    for (size_t i = 0; i < 3; i++) {
        static const OpResult expect[] = { OP_APPLIED, OP_LOST, OP_MISSING };
        assert_int_equal(first[i], expect[i]);
        assert_int_equal(second[i], expect[i]);
    }
    scene_commit(scene, &batches[1], 1, second); /* a part of it, too */
    assert_int_equal(second[0], OP_MISSING);
    assert_int_equal(scene_must_get(scene, id).attempt, 1);
    /* Without a number it is not the same batch. */
    Batch bare = { .node = SCENE_NODE };
    *batch_op(&bare, OP_CLAIM, 0) = scene_claim(scene, id, 1);
    scene_commit(scene, &bare, 1, second);
    assert_int_equal(second[0], OP_LOST);
    batch_done(&bare);
    batch_done(&batches[0]);
    batch_done(&batches[1]);
    uint64_t number = 0;
    Error why = { 0 };
    while (scene->store->kind->last_number(scene->store, SCENE_NODE, &number, &why))
        scene->failures++;
    assert_int_equal(number, scene->number);
}

static void a_life_in_one_batch(Scene *scene)
{
    Batch batch = { .number = ++scene->number, .node = SCENE_NODE };
    JobId ids[3];
    for (size_t i = 0; i < 3; i++) {
        Job *job = scene_job(scene, "q");
        ids[i] = job->id;
        batch_op(&batch, OP_ADD, 0)->job = job;
        *batch_op(&batch, OP_CLAIM, 0) = scene_claim(scene, job->id, 1);
    }
    Op *done = batch_op(&batch, OP_FINISH, 0);
    *done = scene_finish(scene, ids[0], 1, JOB_DONE);
    done->result = SLICE_LITERAL("r");
    *batch_op(&batch, OP_FINISH, 0) = scene_finish(scene, ids[1], 1, JOB_RETRYING);
    *batch_op(&batch, OP_MOVE, 0) = scene_move(scene, ids[1], JOB_READY);
    *batch_op(&batch, OP_CLAIM, 0) = scene_claim(scene, ids[1], 2);
    *batch_op(&batch, OP_FINISH, 0) = scene_finish(scene, ids[2], 1, JOB_FAILED);
    *batch_op(&batch, OP_REMOVE, 0) = scene_op(OP_REMOVE, ids[2]);
    Job *again = scene_job(scene, "q");
    again->id = ids[2];
    batch_op(&batch, OP_ADD, 0)->job = again;
    Op *beat = batch_op(&batch, OP_BEAT, 0);
    beat->lock = SLICE_LITERAL(SCENE_SYSID);
    beat->dt_ms = SCENE_WALL + 77000;
    OpResult results[16];
    scene_commit(scene, &batch, 1, results);
    for (size_t i = 0; i < batch.count; i++)
        assert_int_equal(results[i], OP_APPLIED);
    batch_done(&batch);
    scene_expect_state(scene, ids[0], JOB_DONE);
    assert_true(slice_is(scene_result(scene, ids[0]), "r"));
    assert_int_equal(scene_must_get(scene, ids[1]).attempt, 2);
    assert_int_equal(scene_must_get(scene, ids[1]).dt_ms, SCENE_WALL + 77000);
    scene_expect_state(scene, ids[2], JOB_READY);
    assert_int_equal(scene_count(scene, "q", JOB_DONE), 1);
    assert_int_equal(scene_count(scene, "q", JOB_RUNNING), 1);
    assert_int_equal(scene_count(scene, "q", JOB_READY), 1);
    assert_int_equal(scene_count(scene, "q", JOB_FAILED), 0);
}

static void ids_and_numbers_are_remembered(Scene *scene)
{
    Error why = { 0 };
    JobId last = 1;
    while (scene->store->kind->last_id(scene->store, SCENE_NODE, &last, &why))
        scene->failures++;
    assert_int_equal(last, 0);
    scene_add_ready(scene, "q");
    JobId id = scene_add_ready(scene, "q");
    Op remove = scene_op(OP_REMOVE, id);
    assert_int_equal(scene_do(scene, &remove), OP_APPLIED);
    while (scene->store->kind->last_id(scene->store, SCENE_NODE, &last, &why))
        scene->failures++;
    assert_true(last == id); /* also after it is gone: ids are never given out twice */
}

/* --- Removal ------------------------------------------------------------------------ */

static void a_removed_job_leaves_nothing(Scene *scene)
{
    JobId id = scene_add_running(scene);
    Op finish = scene_finish(scene, id, 1, JOB_READY);
    finish.result = SLICE_LITERAL("part");
    assert_int_equal(scene_do(scene, &finish), OP_APPLIED);
    Op claim = scene_claim(scene, id, 2);
    assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
    Op remove = scene_op(OP_REMOVE, id);
    assert_int_equal(scene_do(scene, &remove), OP_CONFLICT);
    finish = scene_finish(scene, id, 2, JOB_DONE);
    finish.result = SLICE_LITERAL("all");
    assert_int_equal(scene_do(scene, &finish), OP_APPLIED);
    assert_int_equal(scene_do(scene, &remove), OP_APPLIED);
    assert_int_equal(scene_do(scene, &remove), OP_MISSING);
    Job job;
    assert_false(scene_get(scene, id, &job));
    assert_null(scene_result(scene, id).data);
    Loaded attempts = scene_attempts(scene, id);
    assert_int_equal(attempts.count, 0);
    loaded_done(&attempts);
    assert_int_equal(scene_count(scene, "q", JOB_DONE), 0);
    Job *again = scene_job(scene, "q"); /* the id may be used again: nothing old shows */
    again->id = id;
    scene_add(scene, again);
    assert_null(scene_result(scene, id).data);
    attempts = scene_attempts(scene, id);
    assert_int_equal(attempts.count, 0);
    loaded_done(&attempts);
}

/* S2.92: old archived jobs go, in small steps, the oldest first. */
static void the_archive_is_purged_by_age(Scene *scene)
{
    JobId ids[6];
    for (size_t i = 0; i < 6; i++) {
        ids[i] = scene_add_running(scene);
        Op op = scene_finish(scene, ids[i], 1, i % 2 ? JOB_DONE : JOB_FAILED);
        op.at_ms = SCENE_WALL + 6000 - (int64_t)i * 1000;
        op.result = SLICE_LITERAL("x");
        assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    }
    JobId ready = scene_add_ready(scene, "q");
    Load load = { .kind = LOAD_OLD,
                  .states = STATE_BIT(JOB_DONE),
                  .dt_ms = SCENE_WALL + 4000,
                  .limit = 1 };
    Loaded old = scene_load(scene, &load);
    assert_int_equal(old.count, 1);
    assert_true(old.jobs[0].id == ids[5]);
    assert_true(old.more);
    loaded_done(&old);
    load.states = STATES_FINAL & ~STATE_BIT(JOB_DONE);
    load.limit = 0;
    old = scene_load(scene, &load);
    assert_int_equal(old.count, 1);
    assert_true(old.jobs[0].id == ids[4]);
    loaded_done(&old);
    Op purge = scene_op(OP_PURGE, 0);
    purge.dt_ms = SCENE_WALL + 5000;
    purge.count = 3;
    assert_int_equal(scene_do(scene, &purge), OP_APPLIED);
    const JobId left[] = { ready, ids[2], ids[1], ids[0] };
    assert_string_equal(scene_query(scene, "", 0), scene_ids(scene, left, 4));
    assert_null(scene_result(scene, ids[5]).data);
    purge.from = STATE_BIT(JOB_DONE);
    purge.dt_ms = SCENE_WALL + 99000;
    assert_int_equal(scene_do(scene, &purge), OP_APPLIED);
    const JobId failed[] = { ready, ids[2], ids[0] };
    assert_string_equal(scene_query(scene, "", 0), scene_ids(scene, failed, 3));
    assert_int_equal(scene_count(scene, "q", JOB_DONE), 0);
    assert_int_equal(scene_count(scene, "q", JOB_FAILED), 2);
}

/* --- Definitions, keys, nodes
 * ----------------------------------------------------------- */

static void write_definition(void *context, const Definition *definition)
{
    buf_printf(context, SLICE_FMT "/" SLICE_FMT "=" SLICE_FMT " ",
               SLICE_ARG(definition->tenant), SLICE_ARG(definition->key),
               SLICE_ARG(definition->value));
}

static void expect_definitions(Scene *scene, const char *table, const char *text)
{
    Buf out = { 0 };
    Error why = { 0 };
    while (scene->store->kind->definitions(scene->store, slice_text(table),
                                           write_definition, &out, &why))
        scene->failures++;
    assert_string_equal(buf_cstr(&out), text);
    buf_done(&out);
}

static void expect_definition(Scene *scene, const DefinitionName *name, const char *text)
{
    Buf out = { 0 };
    Error why = { 0 };
    while (
        scene->store->kind->definition(scene->store, name, write_definition, &out, &why))
        scene->failures++;
    assert_string_equal(buf_cstr(&out), text);
    buf_done(&out);
}

static OpResult define(Scene *scene, OpKind kind, const char *table, const char *key,
                       const char *value)
{
    Op op = scene_op(kind, 0);
    op.table = slice_text(table);
    op.tenant = SLICE_LITERAL(SCENE_TENANT);
    op.key = slice_text(key);
    op.value = slice_text(value);
    return scene_do(scene, &op);
}

/* S2.79 to S2.82: set, get and delete; they persist until deleted. */
static void definitions_stay_until_deleted(Scene *scene)
{
    define(scene, OP_PUT, "handler", "b", "two");
    define(scene, OP_PUT, "handler", "a", "one");
    define(scene, OP_PUT, "queue", "a", "other");
    expect_definitions(scene, "handler", "acme/a=one acme/b=two ");
    define(scene, OP_PUT, "handler", "a", "three");
    expect_definitions(scene, "handler", "acme/a=three acme/b=two ");
    assert_int_equal(define(scene, OP_DELETE, "handler", "a", ""), OP_APPLIED);
    assert_int_equal(define(scene, OP_DELETE, "handler", "a", ""), OP_MISSING);
    expect_definitions(scene, "handler", "acme/b=two ");
    expect_definitions(scene, "queue", "acme/a=other ");
    expect_definitions(scene, "none", "");
}

static void one_definition_is_found_by_its_name(Scene *scene)
{
    DefinitionName name = { SLICE_LITERAL("handler"), SLICE_LITERAL(SCENE_TENANT),
                            SLICE_LITERAL("b") };
    define(scene, OP_PUT, "handler", "a", "one");
    expect_definition(scene, &name, "");
    define(scene, OP_PUT, "handler", "b", "two");
    define(scene, OP_PUT, "handler", "bb", "three");
    define(scene, OP_PUT, "queue", "b", "other");
    expect_definition(scene, &name, SCENE_TENANT "/b=two ");
    name.tenant = SLICE_LITERAL("someone");
    expect_definition(scene, &name, "");
    name.tenant = SLICE_LITERAL("");
    expect_definition(scene, &name, "");
    name.tenant = SLICE_LITERAL(SCENE_TENANT);
    define(scene, OP_PUT, "handler", "b", "newer");
    expect_definition(scene, &name, SCENE_TENANT "/b=newer ");
    define(scene, OP_DELETE, "handler", "b", "");
    expect_definition(scene, &name, "");
}

/* Whose journal the store has read, though it has no row (the store was moved), can come
 * back; its number is for no one else. */
static void the_number_of_a_journal_is_kept_for_it(Scene *scene)
{
    Batch batch = { .node = 1, .has_read_point = true, .read_point = { 1, 1000 } };
    Op *put = batch_op(&batch, OP_PUT, 0);
    put->table = SLICE_LITERAL("config");
    put->key = SLICE_LITERAL("k");
    put->value = SLICE_LITERAL("1");
    scene_commit(scene, &batch, 1, NULL);
    batch_done(&batch);
    assert_int_equal(scene_number(scene, "new", 0), 2);
    assert_int_equal(scene_number(scene, "old", 1), 1);
    assert_int_equal(scene_number(scene, "newer", 2), 3);
}

static void nodes_have_a_row_each(Scene *scene)
{
    Op op = scene_op(OP_NODE, 0);
    op.lock = SLICE_LITERAL(SCENE_SYSID);
    op.value = SLICE_LITERAL("facts");
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    op.value = SLICE_LITERAL("newer");
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    expect_definitions(scene, STORE_TABLE_NODE, "/" SCENE_SYSID "=newer ");
}

static Slice find_key(Scene *scene, const char *key, int64_t now_ms)
{
    Load load = { .kind = LOAD_KEY,
                  .tenant = SLICE_LITERAL(SCENE_TENANT),
                  .key = slice_text(key),
                  .dt_ms = now_ms };
    Loaded loaded = scene_load(scene, &load);
    Slice value = loaded.value;
    if (value.data)
        value.data = arena_copy(&scene->arena, value.data, value.bytes);
    loaded_done(&loaded);
    return value;
}

static OpResult put_key(Scene *scene, const char *key, int64_t at_ms, int64_t expiry_ms)
{
    Op op = scene_op(OP_KEY, 0);
    op.tenant = SLICE_LITERAL(SCENE_TENANT);
    op.key = slice_text(key);
    op.value = slice_text(key);
    op.at_ms = at_ms;
    op.dt_ms = expiry_ms;
    return scene_do(scene, &op);
}

static void keys_hold_until_they_expire(Scene *scene)
{
    assert_int_equal(put_key(scene, "k1", 10, 100), OP_APPLIED);
    assert_int_equal(put_key(scene, "k1", 99, 500), OP_EXISTS);
    assert_true(slice_is(find_key(scene, "k1", 99), "k1"));
    assert_null(find_key(scene, "k1", 100).data);
    assert_true(slice_is(find_key(scene, "k1", 0), "k1"));
    assert_null(find_key(scene, "k2", 0).data);
    assert_int_equal(put_key(scene, "k1", 100, 600), OP_APPLIED);
    assert_int_equal(put_key(scene, "k2", 100, 601), OP_APPLIED);
    assert_int_equal(put_key(scene, "k3", 100, 602), OP_APPLIED);
    assert_int_equal(put_key(scene, "k4", 700, 800), OP_APPLIED); /* two expire */
    assert_null(find_key(scene, "k1", 0).data);
    assert_null(find_key(scene, "k2", 0).data);
    assert_non_null(find_key(scene, "k3", 0).data);
}

/* --- Queries ------------------------------------------------------------------------ */

static void queries_look_everywhere(Scene *scene)
{
    JobId done = scene_add_in(scene, JOB_DONE);
    JobId ready = scene_add_ready(scene, "other");
    JobId failed = scene_add_in(scene, JOB_FAILED);
    JobId running = scene_add_running(scene);
    JobId held = scene_add_in(scene, JOB_HELD);
    Job *job = scene_job(scene, "q");
    job->tags = (Slice){ "import\0eu\0", 10 };
    job->name = SLICE_LITERAL("nightly");
    job->priority = 9;
    job->group = SLICE_LITERAL("g7");
    job->payload = SLICE_LITERAL("needle in hay");
    job->type = SLICE_LITERAL("mail.send");
    JobId odd = scene_add(scene, job);
    Job *foreign = scene_job(scene, "q");
    foreign->tenant = SLICE_LITERAL("other");
    scene_add(scene, foreign);
    const struct {
        const char *text;
        JobId ids[6];
    } rows[] = {
        { "", { odd, held, running, failed, ready, done } },
        { "state:done,failed", { failed, done } },
        { "state:running", { running } },
        { "state:held", { held } },
        { "state:running,held,done", { held, running, done } },
        { "-state:ready", { held, running, failed, done } },
        { "state:done -state:done", { 0 } },
        { "queue:other", { ready } },
        { "-queue:q", { ready } },
        { "type:mail.*", { odd } },
        { "-type:mail", { odd } },
        { "type:unheard", { 0 } },
        { "tag:eu", { odd } },
        { "tag:imp*", { odd } },
        { "-tag:eu state:ready", { ready } },
        { "name:night*", { odd } },
        { "-name:nightly state:ready", { ready } },
        { "group:g7", { odd } },
        { "priority:>5", { odd } },
        { "priority:4,9", { odd } },
        { "-priority:5", { odd } },
        { "payload:NEEDLE", { odd } },
        { "payload:hello -state:ready", { held, running, failed, done } },
        { "node:" SCENE_SYSID, { running, failed, done } },
        { "-node:node*", { odd, held, ready } },
        { "run:>=1s -state:running", { failed, done } },
        { "created:<2020-01-01", { 0 } },
        { "parent:0000000000001", { 0 } },
        { "error:nothing", { 0 } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t count = 0;
        while (count < 6 && rows[i].ids[count])
            count++;
        const char *ids = scene_ids(scene, rows[i].ids, count);
        for (uint32_t limit = 0; limit < 4; limit++)
            if (strcmp(scene_query(scene, rows[i].text, limit), ids) != 0)
                fail_msg("'%s' by %u gives %s instead of %s", rows[i].text, limit,
                         scene_query(scene, rows[i].text, limit), ids);
    }
}

static void queries_find_by_id(Scene *scene)
{
    JobId done = scene_add_in(scene, JOB_DONE);
    JobId ready = scene_add_ready(scene, "q");
    JobId failed = scene_add_in(scene, JOB_FAILED);
    JobId held = scene_add_in(scene, JOB_HELD);
    char id[ID_TEXT_BYTES];
    char text[64];
    snprintf(text, sizeof text, "id:%s", id_text(failed, id));
    assert_string_equal(scene_query(scene, text, 0), scene_ids(scene, &failed, 1));
    snprintf(text, sizeof text, "-id:%s", id);
    const JobId others[] = { held, ready, done };
    assert_string_equal(scene_query(scene, text, 0), scene_ids(scene, others, 3));
    snprintf(text, sizeof text, "id:<%s", id);
    const JobId below[] = { ready, done };
    assert_string_equal(scene_query(scene, text, 1), scene_ids(scene, below, 2));
}

static void an_empty_store_answers(Scene *scene)
{
    assert_string_equal(scene_query(scene, "", 0), "");
    assert_string_equal(scene_query(scene, "!", 0), "");
    scene_expect_window(scene, "q", NULL, 0);
    Loaded loaded = scene_load(scene, &(Load){ .kind = LOAD_DUE, .dt_ms = INT64_MAX });
    assert_int_equal(loaded.count, 0);
    assert_true(loaded.next_due_ms == TIME_NEVER);
    loaded_done(&loaded);
    Batch nothing = { .node = SCENE_NODE, .number = ++scene->number };
    scene_commit(scene, &nothing, 1, NULL);
    Error why = { 0 };
    while (scene->store->kind->sync(scene->store, &why))
        scene->failures++;
}

/* S1.20, S1.40: what an attempt holds is kept with it, while it runs and after. */
static void bookings_stay_with_their_attempt(Scene *scene)
{
    static const char first[] = "gpu=a,b\0mem=#512";
    static const char second[] = "mem=#1";
    JobId id = scene_add_ready(scene, "q");
    Op claim = scene_claim(scene, id, 1);
    claim.bookings = slice_of(first, sizeof first);
    assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
    Loaded running = scene_load(scene, &(Load){ .kind = LOAD_RUNNING });
    assert_int_equal(running.count, 1);
    assert_true(slice_equal(running.jobs[0].bookings, claim.bookings));
    loaded_done(&running);
    Op finish = scene_finish(scene, id, 1, JOB_READY);
    assert_int_equal(scene_do(scene, &finish), OP_APPLIED);
    claim = scene_claim(scene, id, 2);
    claim.bookings = slice_of(second, sizeof second);
    assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
    Loaded attempts = scene_attempts(scene, id);
    assert_int_equal(attempts.count, 2);
    assert_true(slice_equal(attempts.jobs[0].bookings, slice_of(first, sizeof first)));
    assert_true(slice_equal(attempts.jobs[1].bookings, slice_of(second, sizeof second)));
    loaded_done(&attempts);
    finish = scene_finish(scene, id, 2, JOB_DONE);
    assert_int_equal(scene_do(scene, &finish), OP_APPLIED);
    assert_true(
        slice_equal(scene_must_get(scene, id).bookings, slice_of(second, sizeof second)));
    Op remove = scene_op(OP_REMOVE, id);
    assert_int_equal(scene_do(scene, &remove), OP_APPLIED);
}

/* A queue with aging gives jobs out by dt - priority * age, page by page. */
static void an_aged_window_is_in_its_own_order(Scene *scene)
{
    static const struct {
        int64_t priority;
        int64_t age_ms; /* how long it has waited */
    } rows[] = {
        { 5, 0 }, { 4, 1500 }, { 3, 500 }, { 5, 100 }, { -2, 7100 }, { 4, 900 }
    };
    static const size_t order[] = { 1, 3, 4, 0, 5, 2 };
    JobId ids[6];
    for (size_t i = 0; i < 6; i++) {
        Job *job = scene_job(scene, "q");
        job->priority = rows[i].priority;
        job->dt_ms = SCENE_WALL - rows[i].age_ms;
        ids[i] = scene_add(scene, job);
    }
    for (uint32_t limit = 1; limit < 8; limit++) {
        Load load = { .kind = LOAD_WINDOW,
                      .tenant = SLICE_LITERAL(SCENE_TENANT),
                      .queue = SLICE_LITERAL("q"),
                      .age_ms = 1000,
                      .limit = limit };
        for (size_t at = 0; at < 6;) {
            Loaded loaded = scene_load(scene, &load);
            assert_int_equal(loaded.count, 6 - at < limit ? 6 - at : limit);
            assert_int_equal(loaded.more, at + limit < 6);
            for (size_t i = 0; i < loaded.count; i++)
                assert_true(loaded.jobs[i].id == ids[order[at + i]]);
            at += loaded.count;
            const Job *last = &loaded.jobs[loaded.count - 1];
            load.behind = true;
            load.priority = last->priority;
            load.dt_ms = last->dt_ms;
            load.behind_id = last->id;
            loaded_done(&loaded);
        }
    }
}

/* --- Statistics -----------------------------------------------------------------------
 */

static void sum_rollup(void *context, const Rollup *row)
{
    rollup_sum(context, &row->counts);
}

static RollupCounts sums(Scene *scene)
{
    RollupCounts all = { 0 };
    Error why = { 0 };
    Err err;
    do {
        all = (RollupCounts){ 0 };
        err = scene->store->kind->rollups(scene->store, 0, sum_rollup, &all, &why);
        scene->failures += err != ERR_OK;
    } while (err);
    return all;
}

/* Whatever call fails and is repeated, each event is counted once. */
static void each_event_is_counted_once(Scene *scene)
{
    JobId ids[6];
    for (size_t i = 0; i < 6; i++)
        ids[i] = scene_add_ready(scene, i % 2 ? "a" : "b");
    for (size_t i = 0; i < 4; i++) {
        Op claim = scene_claim(scene, ids[i], 1);
        assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
        assert_int_equal(scene_do(scene, &claim), OP_LOST); /* refused: not counted */
    }
    for (size_t i = 0; i < 3; i++) {
        Op finish = scene_finish(scene, ids[i], 1, i ? JOB_DONE : JOB_FAILED);
        finish.outcome.code = i ? CODE_OK : CODE_FAILED;
        assert_int_equal(scene_do(scene, &finish), OP_APPLIED);
    }
    RollupCounts counts = sums(scene);
    assert_int_equal(counts.added, 6);
    assert_int_equal(counts.started, 4);
    assert_int_equal(counts.finished[0], 2);
    assert_int_equal(counts.finished[1], 1);
    assert_int_equal(counts.finished[2] + counts.finished[3], 0);
}

/* S1.11: the lease of a pull worker is renewed by the worker, not by its node. */
static void a_pull_workers_lease_is_its_own(Scene *scene)
{
    Job *job = scene_job(scene, "q");
    job->flags = JOB_PULL;
    JobId id = scene_add(scene, job);
    Op claim = scene_claim(scene, id, 1);
    claim.message = SLICE_LITERAL("worker-7");
    assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
    assert_true(slice_is(scene_must_get(scene, id).message, "worker-7"));
    Op beat = scene_op(OP_BEAT, 0);
    beat.lock = SLICE_LITERAL(SCENE_SYSID);
    beat.at_ms = SCENE_WALL + 9000;
    beat.dt_ms = SCENE_WALL + 39000;
    assert_int_equal(scene_do(scene, &beat), OP_APPLIED);
    assert_int_equal(scene_must_get(scene, id).dt_ms, claim.dt_ms);
    Op renew = scene_op(OP_PROGRESS, id);
    renew.attempt = 1;
    renew.lock = SLICE_LITERAL(SCENE_SYSID);
    renew.progress = -1;
    renew.at_ms = SCENE_WALL + 10000;
    renew.dt_ms = SCENE_WALL + 70000;
    assert_int_equal(scene_do(scene, &renew), OP_APPLIED);
    assert_int_equal(scene_must_get(scene, id).dt_ms, renew.dt_ms);
    assert_int_equal(scene_must_get(scene, id).beat_ms, renew.at_ms);
    assert_int_equal(scene_must_get(scene, id).progress, -1);
}

/* A ready job may go from the lane of runners to that of pull workers and back. */
static void a_job_changes_its_lane(Scene *scene)
{
    JobId id = scene_add_ready(scene, "q");
    JobId other = scene_add_ready(scene, "q");
    Op move = scene_move(scene, id, JOB_READY);
    move.dt_ms = SCENE_WALL;
    move.fields = FIELD_LANE;
    move.flags = JOB_PULL | JOB_SEGREGATED;
    assert_int_equal(scene_do(scene, &move), OP_APPLIED);
    Job job = scene_must_get(scene, id);
    assert_int_equal(job.flags & (JOB_PULL | JOB_SEGREGATED), JOB_PULL | JOB_SEGREGATED);
    scene_expect_window(scene, "q", &other, 1);
    Loaded window = scene_load(scene, &(Load){ .kind = LOAD_WINDOW,
                                               .tenant = SLICE_LITERAL(SCENE_TENANT),
                                               .queue = SLICE_LITERAL("q"),
                                               .key = job.type,
                                               .pull = true });
    assert_int_equal(window.count, 1);
    assert_true(window.jobs[0].id == id);
    loaded_done(&window);
    move.flags = 0;
    assert_int_equal(scene_do(scene, &move), OP_APPLIED);
    const JobId both[] = { id, other };
    scene_expect_window(scene, "q", both, 2);
}

const SceneRow scenes_of_the_rest[] = {
    SCENE(a_pull_workers_lease_is_its_own),
    SCENE(a_job_changes_its_lane),
    SCENE(bookings_stay_with_their_attempt),
    SCENE(an_aged_window_is_in_its_own_order),
    SCENE(each_event_is_counted_once),
    SCENE(every_operation_in_every_state),
    SCENE(from_guards_the_state),
    SCENE(a_refused_operation_does_not_stop_the_others),
    SCENE(a_read_point_makes_ingestion_happen_once),
    SCENE(a_repeated_number_gives_the_same_answer),
    SCENE(a_life_in_one_batch),
    SCENE(ids_and_numbers_are_remembered),
    SCENE(a_removed_job_leaves_nothing),
    SCENE(the_archive_is_purged_by_age),
    SCENE(definitions_stay_until_deleted),
    SCENE(one_definition_is_found_by_its_name),
    SCENE(nodes_have_a_row_each),
    SCENE(the_number_of_a_journal_is_kept_for_it),
    SCENE(keys_hold_until_they_expire),
    SCENE(queries_look_everywhere),
    SCENE(queries_find_by_id),
    SCENE(an_empty_store_answers),
    SCENE(every_step_between_states),
    { NULL, NULL },
};
