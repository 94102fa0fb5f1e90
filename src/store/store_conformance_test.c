/* SPDX-License-Identifier: Apache-2.0 */
/* store_conformance_test.c - every scene on every kind of store; every scene again with
 * each call failing, before and after it happened; and long random histories on two kinds
 * side by side (PAWL_STEPS operations, PAWL_SEED). With the argument `postgres` the same
 * on a server of its own. */
#include "testing/conformance.h"

#include "base/map.h"
#include "base/rng.h"
#include "base/text.h"
#include "store/memory/memory.h"
#include "store/postgres/postgres.h"
#include "store/sqlite/sqlite.h"
#include "testing/testdir.h"
#include "testing/testserver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define FAILING_CALLS_MAX 12 /* of one scene; more are tried at even distances */
#define SCENE_CALLS_MAX   80 /* longer scenes are about states, not about calls */
#define STEPS_DEFAULT     3000
#define STEPS_SERVER      900
#define BATCH_OPS_MAX     6

/* --- Kinds -------------------------------------------------------------------------- */

typedef struct Opened {
    Store *store; /* what is tested */
    Store *inner; /* what is dumped */
    TestDir dir;
    Buf trace;
    StoreFault fault;
} Opened;

typedef struct KindRow {
    const char *name;
    void (*open)(Opened *opened);
    uint64_t failing_max; /* calls of a scene that are made to fail; 0: the usual; 1: one,
                             whose answer is lost */
} KindRow;

static void open_memory(Opened *opened)
{
    Error why = { 0 };
    StoreOptions options = { 0 };
    if (store_open("memory:", &options, &opened->inner, &why))
        fail_msg("%s", why.text);
    opened->store = opened->inner;
}

static void open_sqlite(Opened *opened)
{
    testdir_make(&opened->dir);
    opened->inner = testdir_store(&opened->dir, &(StoreOptions){ 0 });
    opened->store = opened->inner;
}

static void open_trace(Opened *opened)
{
    open_sqlite(opened);
    opened->store = store_trace_new(opened->inner, &opened->trace);
}

static void open_fault(Opened *opened)
{
    open_sqlite(opened);
    opened->store = store_fault_new(opened->inner, &opened->fault);
}

static void open_fault_memory(Opened *opened)
{
    open_memory(opened);
    opened->store = store_fault_new(opened->inner, &opened->fault);
}

static void open_again(Opened *opened)
{
    Error why = { 0 };
    StoreOptions options = { 0 };
    if (store_open(testserver_url(), &options, &opened->inner, &why))
        fail_msg("%s", why.text);
    postgres_of(opened->inner)->scan_ms = MS_PER_HOUR;
    opened->store = opened->inner;
}

static void open_postgres(Opened *opened)
{
    static bool made;
    if (made)
        testserver_empty();
    made = true;
    open_again(opened);
}

static void open_fault_postgres(Opened *opened)
{
    open_postgres(opened);
    opened->store = store_fault_new(opened->inner, &opened->fault);
}

static void close_all(Opened *opened)
{
    store_close(opened->store);
    testdir_remove(&opened->dir);
    buf_done(&opened->trace);
}

static const KindRow kinds[] = {
    { "memory", open_memory, 0 },
    { "sqlite", open_sqlite, 0 },
    { "trace(sqlite)", open_trace, 0 },
    { "fault(sqlite)", open_fault, 0 },
};

static const KindRow faulty_kinds[] = {
    { "fault(memory)", open_fault_memory, 0 },
    { "fault(sqlite)", open_fault, 0 },
};

static const KindRow kind_postgres = { "postgres", open_postgres, 0 };
static const KindRow faulty_postgres = { "fault(postgres)", open_fault_postgres, 1 };

typedef struct Case {
    const KindRow *kind;
    const SceneRow *scene;
    char name[128];
} Case;

static uint64_t play(Opened *opened, const SceneRow *row, Buf *out_dump)
{
    Scene scene = { .store = opened->store, .ids.node = SCENE_NODE };
    row->play(&scene);
    store_dump(opened->inner, out_dump);
    uint64_t failures = scene.failures;
    scene_done(&scene);
    return failures;
}

static void play_case(void **state)
{
    const Case *test = *state;
    Opened opened = { 0 };
    Opened reference = { 0 };
    Buf dump = { 0 };
    Buf expected = { 0 };
    test->kind->open(&opened);
    play(&opened, test->scene, &dump);
    open_memory(&reference);
    play(&reference, test->scene, &expected);
    assert_string_equal(buf_cstr(&dump), buf_cstr(&expected));
    close_all(&opened);
    close_all(&reference);
    buf_done(&dump);
    buf_done(&expected);
}

static void play_failing(const Case *test, StoreFault fault, Buf *expected)
{
    Opened opened = { 0 };
    Buf dump = { 0 };
    test->kind->open(&opened);
    opened.fault = fault;
    uint64_t failures = play(&opened, test->scene, &dump);
    if (failures != 1)
        fail_msg("call %llu: %llu failures", (unsigned long long)fault.fail_at,
                 (unsigned long long)failures);
    if (strcmp(buf_cstr(&dump), buf_cstr(expected)) != 0)
        fail_msg("call %llu failing %s leaves another state",
                 (unsigned long long)fault.fail_at, fault.after ? "after" : "before");
    close_all(&opened);
    buf_done(&dump);
}

static void play_case_failing(void **state)
{
    const Case *test = *state;
    Opened whole = { 0 };
    Buf expected = { 0 };
    test->kind->open(&whole);
    play(&whole, test->scene, &expected);
    uint64_t calls = whole.fault.calls;
    close_all(&whole);
    if (calls > SCENE_CALLS_MAX)
        calls = 0;
    uint64_t most = test->kind->failing_max;
    uint64_t stride = calls / (most ? most : FAILING_CALLS_MAX) + 1;
    for (uint64_t at = stride / 2 + 1; at <= calls; at += stride)
        for (int after = most == 1; after < 2; after++)
            play_failing(test,
                         (StoreFault){ .fail_at = at,
                                       .times = 1,
                                       .err = ERR_UNAVAILABLE,
                                       .after = after != 0 },
                         &expected);
    buf_done(&expected);
}

/* --- Two histories side by side -------------------------------------------------------
 */

typedef struct Walk {
    Rng rng;
    IdGen ids;
    JobId known[64]; /* some ids, old and new */
    size_t known_count;
    int64_t wall_ms;
    uint64_t number;
    uint64_t position;
    Arena arena;
} Walk;

static Slice one_of(Walk *walk, const char *const *words, size_t count)
{
    return slice_text(words[rng_below(&walk->rng, count)]);
}

static Slice owner(Walk *walk)
{
    static const char *const owners[] = { SCENE_SYSID, SCENE_SYSID, SCENE_OTHER, "" };
    return one_of(walk, owners, 4);
}

static Slice text_of(Walk *walk, size_t bytes_max)
{
    size_t bytes = rng_below(&walk->rng, bytes_max + 1);
    char *text = arena_take(&walk->arena, bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        text[i] = (char)('a' + rng_below(&walk->rng, 26));
    return slice_of(text, bytes);
}

static Slice payload_of(Walk *walk)
{
    return text_of(walk, rng_percent(&walk->rng, 5) ? 3 * STORE_PAYLOAD_SMALL : 40);
}

static JobId some_id(Walk *walk)
{
    if (!walk->known_count || rng_percent(&walk->rng, 2))
        return 1 + rng_below(&walk->rng, 1000000);
    return walk->known[rng_below(&walk->rng, walk->known_count)];
}

static void snapshot_writer(Walk *walk, JobId id)
{
    size_t at = walk->known_count < 64 ? walk->known_count++ : rng_below(&walk->rng, 64);
    walk->known[at] = id;
}

static const Job *random_job(Walk *walk)
{
    static const char *const queues[] = { "q", "p", "r" };
    static const char *const tenants[] = { SCENE_TENANT, SCENE_TENANT, "other" };
    static const JobState states[] = { JOB_READY,    JOB_READY,   JOB_READY,
                                       JOB_DEFERRED, JOB_BLOCKED, JOB_HELD };
    Job *job = ARENA_NEW(&walk->arena, Job);
    *job = job_default();
    uint16_t node = rng_percent(&walk->rng, 90) ? SCENE_NODE : SCENE_NODE + 1;
    job->id = rng_percent(&walk->rng, 5)
                  ? some_id(walk)
                  : id_from_count(id_take(&walk->ids, walk->wall_ms, 1), node);
    job->state = states[rng_below(&walk->rng, 6)];
    job->priority = (int64_t)rng_below(&walk->rng, 3) - 1;
    job->created_ms = walk->wall_ms;
    job->run_at_ms = job->dt_ms = walk->wall_ms + (int64_t)rng_below(&walk->rng, 50);
    job->tenant = one_of(walk, tenants, 3);
    job->queue = one_of(walk, queues, 3);
    job->type = text_of(walk, 1);
    job->flags = rng_percent(&walk->rng, 20) ? JOB_PULL : 0;
    job->payload = payload_of(walk);
    if (rng_percent(&walk->rng, 30))
        job->tags = (Slice){ "t1\0t2\0", 6 };
    if (rng_percent(&walk->rng, 30))
        job->name = text_of(walk, 10);
    snapshot_writer(walk, job->id);
    return job;
}

static void random_lines(Walk *walk, Op *op)
{
    Buf body = { 0 };
    uint64_t count = rng_percent(&walk->rng, 20) ? 70 : rng_below(&walk->rng, 5);
    for (uint64_t i = 0; i < count; i++) {
        buf_add_char(&body, 'x');
        buf_add_slice(&body, payload_of(walk));
        buf_add_char(&body, '\n');
    }
    op->job = random_job(walk);
    op->body = slice_copy(&walk->arena, buf_slice(&body));
    op->count = count;
    op->first = id_take(&walk->ids, walk->wall_ms, count + 1);
    if (rng_percent(&walk->rng, 10) && op->first > 40)
        op->first -= 40; /* some of them may be there already */
    if (count)
        snapshot_writer(walk, id_from_count(op->first, SCENE_NODE));
    buf_done(&body);
}

static OpKind random_kind(Walk *walk)
{
    static const OpKind often[] = { OP_ADD,    OP_CLAIM,  OP_CLAIM,
                                    OP_FINISH, OP_FINISH, OP_MOVE };
    if (rng_percent(&walk->rng, 80))
        return often[rng_below(&walk->rng, 6)];
    return (OpKind)(OP_ADD + rng_below(&walk->rng, OP_KEY - OP_ADD + 1));
}

/* Half of the operations know the job; the others guess, and mostly fail. */
static void aim(Walk *walk, Store *store, Op *op)
{
    Loaded loaded = { 0 };
    Load load = { .kind = LOAD_JOB, .id = op->id };
    if (rng_percent(&walk->rng, 30) || store->kind->load(store, &load, &loaded, NULL) ||
        !loaded.count) {
        loaded_done(&loaded);
        return;
    }
    const Job *job = &loaded.jobs[0];
    op->attempt = job->attempt + (op->kind == OP_CLAIM);
    if (op->kind != OP_CLAIM)
        op->lock = slice_copy(&walk->arena, job->lock);
    loaded_done(&loaded);
}

static Op random_op(Walk *walk, Store *store)
{
    static const char *const words[] = { "k0", "k1", "k2", "k3", "k4", "k5" };
    static const char *const tables[] = { "handler", "queue", "config" };
    Op op = { .kind = random_kind(walk), .id = some_id(walk) };
    op.at_ms = walk->wall_ms;
    op.dt_ms = walk->wall_ms + (int64_t)rng_below(&walk->rng, 100) - 30;
    op.lock = owner(walk);
    op.attempt = (uint32_t)rng_below(&walk->rng, 3);
    op.to = (JobState)rng_below(&walk->rng, JOB_STATES);
    op.from = rng_percent(&walk->rng, 10) ? (JobStates)rng_below(&walk->rng, 4096) : 0;
    op.fields = rng_percent(&walk->rng, 30) ? (uint32_t)rng_below(&walk->rng, 256) : 0;
    op.priority = (int64_t)rng_below(&walk->rng, 3);
    op.progress = (int32_t)rng_below(&walk->rng, 102) - 1;
    op.retry_number = (uint32_t)rng_below(&walk->rng, 4);
    op.max_run_ms = (int64_t)rng_below(&walk->rng, 9);
    op.window_from_ms = walk->wall_ms;
    op.outcome = (Outcome){ (JobCode)rng_below(&walk->rng, 5), 200, -1, 0 };
    op.queue = SLICE_LITERAL("p");
    op.payload = payload_of(walk);
    op.reason = text_of(walk, 5);
    op.error = text_of(walk, 5);
    op.message = text_of(walk, 5);
    op.result = text_of(walk, 8);
    op.count = rng_below(&walk->rng, 4);
    op.table = one_of(walk, tables, 3);
    op.tenant = SLICE_LITERAL(SCENE_TENANT);
    op.key = one_of(walk, words, 6);
    op.value = text_of(walk, 12);
    if (op.kind == OP_ADD)
        op.job = random_job(walk);
    if (op.kind == OP_ADD_LINES)
        random_lines(walk, &op);
    if (op.kind == OP_CLAIM || op.kind == OP_FINISH || op.kind == OP_PAUSE ||
        op.kind == OP_PROGRESS)
        aim(walk, store, &op);
    if (op.kind == OP_MOVE && (op.fields & FIELD_HANDLER))
        op.job = random_job(walk);
    if (op.kind == OP_MOVE || op.kind == OP_REMOVE) {
        op.attempt = 0;
        op.lock = (Slice){ NULL, 0 };
    }
    return op;
}

static void random_batch(Walk *walk, Store *store, Batch *batch)
{
    batch_clear(batch);
    batch->node = SCENE_NODE;
    batch->number = rng_percent(&walk->rng, 50) ? ++walk->number : 0;
    batch->has_read_point = rng_percent(&walk->rng, 30);
    walk->position += rng_below(&walk->rng, 50);
    batch->read_point = (ReadPoint){ SCENE_NODE, walk->position };
    size_t count = 1 + rng_below(&walk->rng, BATCH_OPS_MAX);
    for (size_t i = 0; i < count; i++)
        *batch_op(batch, OP_ADD, 0) = random_op(walk, store);
}

static void commit_both(Store *const *stores, const Batch *batch, uint64_t step)
{
    OpResult results[2][BATCH_OPS_MAX] = { 0 };
    Error why = { 0 };
    for (size_t i = 0; i < 2; i++)
        if (stores[i]->kind->commit(stores[i], batch, 1, results[i], &why))
            fail_msg("step %llu: %s", (unsigned long long)step, why.text);
    for (size_t i = 0; i < batch->count; i++)
        if (results[0][i] != results[1][i])
            fail_msg("step %llu: %s: %s in one, %s in the other",
                     (unsigned long long)step, op_name(batch->ops[i].kind),
                     op_result_name(results[0][i]), op_result_name(results[1][i]));
}

/* Every kind of term, in both directions, in pages. */
static void expect_same_answers(Store *const *stores, uint64_t step)
{
    static const char *const texts[] = {
        "state:ready",
        "state:running,paused",
        "state:done",
        "-state:done,ready",
        "state:retrying",
        "type:a,b*",
        "-type:a",
        "queue:p",
        "tag:t1",
        "-tag:t2",
        "tag:t*",
        "name:a*",
        "-name:a*",
        "node:node-a",
        "-node:node-b",
        "priority:>0",
        "-priority:0",
        "priority:0,1",
        "run:>10ms",
        "-run:<20ms",
        "error:a",
        "-error:a",
        "payload:xa",
        "-payload:e",
        "created:>-1h",
        "state:ready tag:t1 -payload:e",
        "!",
        "!queue:p,q",
        "!-type:a",
        "id:0",
        "parent:<7",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Scene scenes[2] = { { .store = stores[0] }, { .store = stores[1] } };
        const char *found[2];
        for (size_t k = 0; k < 2; k++)
            found[k] = scene_query(&scenes[k], texts[i], k ? 37 : 0);
        if (strcmp(found[0], found[1]) != 0)
            fail_msg("step %llu: '%s' finds %s in one, %s in the other",
                     (unsigned long long)step, texts[i], found[0], found[1]);
        scene_done(&scenes[0]);
        scene_done(&scenes[1]);
    }
}

static void expect_same(Store *const *stores, uint64_t step)
{
    expect_same_answers(stores, step);
    Buf dumps[2] = { { 0 }, { 0 } };
    for (size_t i = 0; i < 2; i++)
        store_dump(stores[i], &dumps[i]);
    if (strcmp(buf_cstr(&dumps[0]), buf_cstr(&dumps[1])) != 0) {
        size_t at = 0;
        while (dumps[0].data[at] == dumps[1].data[at])
            at++;
        while (at && dumps[0].data[at - 1] != '\n')
            at--;
        fail_msg("step %llu:\n%.300s\n---\n%.300s", (unsigned long long)step,
                 dumps[0].data + at, dumps[1].data + at);
    }
    buf_done(&dumps[0]);
    buf_done(&dumps[1]);
}

/* What no one can ask through the interface: nothing is left over in the file, and the
 * counts are those of the rows. */
static void expect_sound(Store *store)
{
    static const char *const wrong[] = {
        "SELECT count(*) FROM payload WHERE job NOT IN"
        " (SELECT id FROM job_any WHERE apart AND payload IS NULL)",
        "SELECT count(*) FROM job_any WHERE apart AND id NOT IN (SELECT job FROM "
        "payload)",
        "SELECT count(*) FROM result WHERE job NOT IN"
        " (SELECT id FROM job_any WHERE result_bytes > 0)",
        "SELECT count(*) FROM attempt a WHERE NOT EXISTS"
        " (SELECT 1 FROM job_any j WHERE j.id = a.job AND j.attempt >= a.attempt)",
        "SELECT count(*) FROM (SELECT lane, state, count FROM lane_count WHERE count <> 0"
        " AND state >= 0 EXCEPT SELECT lane, state, count(*) FROM job_any GROUP BY lane, "
        "state)",
        "SELECT count(*) FROM (SELECT lane, state, count(*) FROM job_any"
        " GROUP BY lane, state EXCEPT SELECT lane, state, count FROM lane_count)",
        "SELECT count(*) FROM (SELECT tenant, sum(count) AS sum FROM lane_count c"
        " JOIN lane l ON l.id = c.lane WHERE state = -1 GROUP BY tenant HAVING sum <> 0"
        " EXCEPT SELECT tenant, sum(coalesce(length(j.payload), 0)"
        " + coalesce(result_bytes, 0) + coalesce(length(p.data), 0)) FROM job_any j"
        " JOIN lane l ON l.id = j.lane LEFT JOIN payload p ON p.job = j.id"
        " GROUP BY tenant)",
        "SELECT count(*) FROM job_live WHERE state >= 8",
        "SELECT count(*) FROM job_done WHERE state <> 8",
        "SELECT count(*) FROM job_dead WHERE state <= 8",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sqlite3_stmt *stmt = NULL;
        sqlite3 *handle = sqlite_of(store)->db.handle;
        assert_int_equal(sqlite3_prepare_v2(handle, wrong[i], -1, &stmt, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        if (sqlite3_column_int(stmt, 0))
            fail_msg("%d of: %s", sqlite3_column_int(stmt, 0), wrong[i]);
        sqlite3_finalize(stmt);
    }
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    int64_t value;
    const char *text = getenv(name);
    return text && !int_parse(slice_text(text), &value) ? (uint64_t)value : otherwise;
}

#define SCAN_MS 600000

static void reopen_sqlite(Opened *real)
{
    store_close(real->store);
    real->store = testdir_store(&real->dir, &(StoreOptions){ 0 });
    sqlite_of(real->store)->scan_ms = SCAN_MS; /* a slow machine finds all, too */
}

static void reopen_postgres(Opened *real)
{
    store_close(real->store);
    open_again(real);
}

/* As a node of a cluster: then a store may trust what it knows of the node's jobs. */
static void join_both(Store *const *stores)
{
    Error why = { 0 };
    Renewal renewal = { .sysid = slice_text(SCENE_SYSID),
                        .number = SCENE_NODE,
                        .lease_ms = MS_PER_DAY };
    for (size_t i = 0; i < 2; i++) {
        NodeRow row;
        assert_int_equal(stores[i]->kind->renew(stores[i], &renewal, &row, &why), ERR_OK);
        assert_int_equal(row.number, SCENE_NODE);
    }
    Op join = { .kind = OP_JOIN, .count = 1 };
    commit_both(stores, &(Batch){ .node = SCENE_NODE, .ops = &join, .count = 1 }, 0);
}

/* The memory store and another: same answers, same end. */
static void live_the_same_history(Opened *real, uint64_t steps,
                                  void (*reopen)(Opened *real), bool joined)
{
    Opened model = { 0 };
    open_memory(&model);
    Store *stores[] = { model.store, real->store };
    Walk walk = { .rng = { setting("PAWL_SEED", 1) },
                  .ids.node = SCENE_NODE,
                  .wall_ms = SCENE_WALL };
    Batch batch = { 0 };
    uint64_t ops = 0;
    if (joined)
        join_both(stores);
    for (uint64_t step = 0; ops < steps; step++) {
        walk.wall_ms += (int64_t)rng_below(&walk.rng, 20);
        random_batch(&walk, model.store, &batch);
        commit_both(stores, &batch, step);
        if (batch.number && rng_percent(&walk.rng, 10))
            commit_both(stores, &batch, step); /* the answer was lost */
        ops += batch.count;
        arena_reset(&walk.arena);
        if (rng_percent(&walk.rng, 2)) {
            reopen(real);
            stores[1] = real->store;
        }
        if (step % 400 == 0)
            expect_same(stores, step);
    }
    expect_same(stores, UINT64_MAX);
    batch_done(&batch);
    arena_done(&walk.arena);
    close_all(&model);
}

static void two_kinds_live_the_same_history(void **state)
{
    (void)state;
    Opened real = { 0 };
    open_sqlite(&real);
    reopen_sqlite(&real);
    live_the_same_history(&real, setting("PAWL_STEPS", STEPS_DEFAULT), reopen_sqlite,
                          false);
    expect_sound(real.store);
    close_all(&real);
}

static void expect_sound_on_server(void)
{
    static const char *const wrong[] = {
        "SELECT count(*) FROM pawl.payload WHERE job NOT IN"
        " (SELECT id FROM pawl.job_any WHERE apart = 1 AND payload IS NULL)",
        "SELECT count(*) FROM pawl.job_any WHERE apart = 1"
        " AND id NOT IN (SELECT job FROM pawl.payload)",
        "SELECT count(*) FROM pawl.result WHERE job NOT IN"
        " (SELECT id FROM pawl.job_any WHERE result_bytes > 0)",
        "SELECT count(*) FROM pawl.attempt a WHERE NOT EXISTS (SELECT 1"
        " FROM pawl.job_any j WHERE j.id = a.job AND j.attempt >= a.attempt)",
        "SELECT count(*) FROM ((SELECT lane, state, sum(count) FROM pawl.lane_count"
        " WHERE state >= 0 GROUP BY lane, state HAVING sum(count) <> 0) EXCEPT"
        " (SELECT lane, state, count(*) FROM pawl.job_any GROUP BY lane, state)) x",
        "SELECT count(*) FROM ((SELECT lane, state, count(*) FROM pawl.job_any"
        " GROUP BY lane, state) EXCEPT (SELECT lane, state, sum(count)"
        " FROM pawl.lane_count GROUP BY lane, state)) x",
        "SELECT count(*) FROM ((SELECT tenant, sum(count) FROM pawl.lane_count c"
        " JOIN pawl.lane l ON l.id = c.lane WHERE state = -1 GROUP BY tenant"
        " HAVING sum(count) <> 0) EXCEPT (SELECT tenant, sum(coalesce("
        "octet_length(j.payload), 0) + coalesce(result_bytes, 0)"
        " + coalesce(octet_length(p.data), 0)) FROM pawl.job_any j"
        " JOIN pawl.lane l ON l.id = j.lane LEFT JOIN pawl.payload p ON p.job = j.id"
        " GROUP BY tenant)) x",
        "SELECT count(*) FROM pawl.job_live WHERE state >= 8",
        "SELECT count(*) FROM pawl.job_done WHERE state <> 8",
        "SELECT count(*) FROM pawl.job_dead WHERE state <= 8",
        "SELECT count(*) FROM pawl.job_any j JOIN pawl.lane l ON l.id = j.lane"
        " WHERE j.owner <> l.owner",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (strcmp(testserver_ask(wrong[i]), "0") != 0)
            fail_msg("%s of: %s", testserver_ask(wrong[i]), wrong[i]);
}

static void the_server_lives_the_same_history(void **state)
{
    Opened real = { 0 };
    open_postgres(&real);
    live_the_same_history(&real, setting("PAWL_STEPS", STEPS_SERVER), reopen_postgres,
                          *state != NULL);
    expect_sound_on_server();
    close_all(&real);
}

/* --- All of it
 * -------------------------------------------------------------------------- */

typedef struct Cases {
    Case *items;
    size_t count;
    size_t capacity;
} Cases;

static void add_cases(Cases *cases, const KindRow *kind, const char *suffix)
{
    const SceneRow *lists[] = { scenes_of_jobs,  scenes_of_dispatch, scenes_of_the_rest,
                                scenes_of_links, scenes_of_clusters, scenes_of_the_old };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const SceneRow *scene = lists[i]; scene->name; scene++) {
            Case *test = &MEM_PUSH(cases->items, cases->count, cases->capacity);
            *test = (Case){ .kind = kind, .scene = scene };
            snprintf(test->name, sizeof test->name, "%s: %s%s", kind->name, scene->name,
                     suffix);
        }
}

static int run(Cases *cases, void (*function)(void **), const char *group)
{
    struct CMUnitTest *tests = MEM_ARRAY(struct CMUnitTest, cases->count);
    for (size_t i = 0; i < cases->count; i++)
        tests[i] = (struct CMUnitTest){ .name = cases->items[i].name,
                                        .test_func = function,
                                        .initial_state = &cases->items[i] };
    int failed = _cmocka_run_group_tests(group, tests, cases->count, NULL, NULL);
    mem_free(tests);
    mem_free(cases->items);
    return failed;
}

static int on_server(void)
{
    Cases plain = { 0 };
    Cases failing = { 0 };
    add_cases(&plain, &kind_postgres, "");
    add_cases(&failing, &faulty_postgres, ", calls failing");
    int failed = run(&plain, play_case, "scenes");
    failed += run(&failing, play_case_failing, "scenes with failing calls");
    static char joined[] = "joined";
    const struct CMUnitTest walks[] = {
        cmocka_unit_test(the_server_lives_the_same_history),
        { .name = "the_server_lives_the_same_history, joined",
          .test_func = the_server_lives_the_same_history,
          .initial_state = joined },
    };
    return failed + cmocka_run_group_tests(walks, NULL, NULL);
}

int main(int count, char **words)
{
    Cases plain = { 0 };
    Cases failing = { 0 };
    if (count > 1 && strcmp(words[1], "postgres") == 0)
        return on_server();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        add_cases(&plain, &kinds[i], "");
    for (size_t i = 0; i < sizeof faulty_kinds / sizeof *faulty_kinds; i++)
        add_cases(&failing, &faulty_kinds[i], ", calls failing");
    int failed = run(&plain, play_case, "scenes");
    failed += run(&failing, play_case_failing, "scenes with failing calls");
    const struct CMUnitTest walks[] = {
        cmocka_unit_test(two_kinds_live_the_same_history),
    };
    return failed + cmocka_run_group_tests(walks, NULL, NULL);
}
