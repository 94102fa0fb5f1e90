/* SPDX-License-Identifier: Apache-2.0 */
/* conformance.c - see conformance.h. */
#include "testing/conformance.h"

#include "base/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TRIES_MAX 3 /* of one call; a scene never sees more than one failure of it */

/* Calls and repeats `call` (an Err that fills `why`); a second failure is one too many.
 */
#define MUST(scene, call)                                                                \
    do {                                                                                 \
        Error why = { 0 };                                                               \
        int tries = 0;                                                                   \
        Err err;                                                                         \
        while ((err = (call)) && ++tries < TRIES_MAX)                                    \
            (scene)->failures++;                                                         \
        if (err)                                                                         \
            fail_msg("%s", why.text);                                                    \
    } while (0)

void scene_done(Scene *scene)
{
    arena_done(&scene->arena);
}

Job *scene_job(Scene *scene, const char *queue)
{
    Job *job = ARENA_NEW(&scene->arena, Job);
    *job = job_default();
    job->id = id_from_count(id_take(&scene->ids, SCENE_WALL, 1), SCENE_NODE);
    job->created_ms = job->run_at_ms = job->dt_ms = job->window_from_ms = SCENE_WALL;
    job->tenant = SLICE_LITERAL(SCENE_TENANT);
    job->type = SLICE_LITERAL("mail");
    job->queue = slice_text(queue);
    job->payload = SLICE_LITERAL("hello");
    return job;
}

Op scene_op(OpKind kind, JobId id)
{
    return (Op){ .kind = kind, .id = id, .at_ms = SCENE_WALL + 1000, .progress = -1 };
}

Op scene_claim(Scene *scene, JobId id, uint32_t attempt)
{
    (void)scene;
    Op op = scene_op(OP_CLAIM, id);
    op.attempt = attempt;
    op.lock = SLICE_LITERAL(SCENE_SYSID);
    op.dt_ms = SCENE_WALL + 31000;
    op.count = 1;
    return op;
}

Op scene_finish(Scene *scene, JobId id, uint32_t attempt, JobState to)
{
    (void)scene;
    Op op = scene_op(OP_FINISH, id);
    op.attempt = attempt;
    op.lock = SLICE_LITERAL(SCENE_SYSID);
    op.at_ms = SCENE_WALL + 2000;
    op.dt_ms = SCENE_WALL + 7000;
    op.to = to;
    op.outcome.exitcode = to == JOB_DONE ? 200 : 500;
    op.outcome.code = to == JOB_DONE ? CODE_OK : CODE_ERROR;
    op.outcome.exit_status = to == JOB_DONE ? 0 : 1;
    return op;
}

Op scene_move(Scene *scene, JobId id, JobState to)
{
    (void)scene;
    Op op = scene_op(OP_MOVE, id);
    op.to = to;
    op.dt_ms = SCENE_WALL;
    return op;
}

void scene_commit(Scene *scene, const Batch *batches, size_t count, OpResult *out)
{
    MUST(scene, scene->store->kind->commit(scene->store, batches, count, out, &why));
}

OpResult scene_do_as(Scene *scene, uint32_t node, const Op *op)
{
    OpResult result = OP_CONFLICT;
    Op copy = *op;
    Batch batch = { .number = ++scene->number, .node = node, .ops = &copy, .count = 1 };
    scene_commit(scene, &batch, 1, &result);
    return result;
}

OpResult scene_do(Scene *scene, const Op *op)
{
    return scene_do_as(scene, SCENE_NODE, op);
}

uint32_t scene_number(Scene *scene, const char *sysid, uint32_t wanted)
{
    Renewal renewal = { .sysid = slice_text(sysid),
                        .number = wanted,
                        .lease_ms = MS_PER_HOUR };
    NodeRow row = { 0 };
    MUST(scene, scene->store->kind->renew(scene->store, &renewal, &row, &why));
    return row.number;
}

NodeRow scene_renew(Scene *scene, const char *sysid, bool alive)
{
    Renewal renewal = { .sysid = slice_text(sysid),
                        .number = SCENE_NODE,
                        .lease_ms = alive ? MS_PER_HOUR : 0,
                        .controls = true,
                        .facts = SLICE_LITERAL("facts") };
    NodeRow row = { 0 };
    MUST(scene, scene->store->kind->renew(scene->store, &renewal, &row, &why));
    return row;
}

void scene_join(Scene *scene, uint32_t node, uint64_t epoch)
{
    Op op = scene_op(OP_JOIN, 0);
    op.count = epoch;
    assert_int_equal(scene_do_as(scene, node, &op), OP_APPLIED);
}

JobId scene_add(Scene *scene, const Job *job)
{
    Op op = scene_op(OP_ADD, 0);
    op.job = job;
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    return job->id;
}

JobId scene_add_ready(Scene *scene, const char *queue)
{
    return scene_add(scene, scene_job(scene, queue));
}

Loaded scene_load(Scene *scene, const Load *load)
{
    Loaded loaded = { 0 };
    MUST(scene, scene->store->kind->load(scene->store, load, &loaded, &why));
    return loaded;
}

Job *scene_job_of(Scene *scene, const char *queue, int64_t came_ms)
{
    IdGen ids = { .node = SCENE_NODE };
    Job *job = scene_job(scene, queue);
    job->id = id_from_count(id_take(&ids, came_ms, 1), SCENE_NODE);
    job->created_ms = job->run_at_ms = job->dt_ms = job->window_from_ms = came_ms;
    return job;
}

void scene_run(Scene *scene, JobId id, uint32_t attempt, int64_t at_ms, JobState to)
{
    static const char books[] = "mem=#1"; /* and a NUL */
    Op op = scene_claim(scene, id, attempt);
    op.at_ms = at_ms;
    op.bookings = slice_of(books, sizeof books);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    op = scene_finish(scene, id, attempt, to);
    op.at_ms = at_ms;
    op.dt_ms = at_ms + 5000;
    op.result = SLICE_LITERAL("x");
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
}

#define ROUNDS_MAX 50

static bool let_some_go(Scene *scene, const Load *load)
{
    Loaded old = scene_load(scene, load);
    bool some = old.count || old.whole;
    for (size_t i = 0; i < old.count && !old.gone; i++) {
        Op op = scene_op(OP_REMOVE, old.jobs[i].id);
        op.from = STATES_FINAL;
        assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    }
    if (old.gone) {
        Op op = scene_op(OP_SWEPT, old.jobs[old.count - 1].id);
        op.from = load->states;
        assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    }
    if (old.whole) {
        Op op = scene_op(OP_DROP, 0);
        op.from = load->states;
        op.dt_ms = load->dt_ms;
        assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    }
    loaded_done(&old);
    return some;
}

void scene_let_go(Scene *scene, JobStates family, int64_t due_ms, int64_t late_ms)
{
    const Load load = { .kind = LOAD_OLD,
                        .states = family,
                        .dt_ms = due_ms,
                        .late_ms = late_ms,
                        .limit = 2 };
    for (int round = 0; let_some_go(scene, &load); round++)
        assert_true(round < ROUNDS_MAX);
    /* However many steps it took: the last number is the same. */
    scene->number += 100 - scene->number % 100;
    Batch nothing = { .node = SCENE_NODE, .number = scene->number };
    scene_commit(scene, &nothing, 1, NULL);
}

bool scene_get(Scene *scene, JobId id, Job *out)
{
    Loaded loaded = scene_load(scene, &(Load){ .kind = LOAD_JOB, .id = id });
    bool found = loaded.count == 1;
    if (found)
        *out = job_copy(&scene->arena, &loaded.jobs[0]);
    loaded_done(&loaded);
    return found;
}

Loaded scene_window(Scene *scene, const char *queue)
{
    return scene_load(scene, &(Load){ .kind = LOAD_WINDOW,
                                      .tenant = SLICE_LITERAL(SCENE_TENANT),
                                      .queue = slice_text(queue),
                                      .limit = 100 });
}

Loaded scene_attempts(Scene *scene, JobId id)
{
    return scene_load(scene, &(Load){ .kind = LOAD_ATTEMPTS, .id = id });
}

Job scene_must_get(Scene *scene, JobId id)
{
    Job job = { 0 };
    assert_true(scene_get(scene, id, &job));
    return job;
}

void scene_expect_state(Scene *scene, JobId id, JobState state)
{
    assert_string_equal(state_name(scene_must_get(scene, id).state), state_name(state));
}

void scene_expect_window(Scene *scene, const char *queue, const JobId *ids, size_t count)
{
    Loaded loaded = scene_window(scene, queue);
    JobId found[16] = { 0 };
    for (size_t i = 0; i < loaded.count && i < 16; i++)
        found[i] = loaded.jobs[i].id;
    assert_string_equal(scene_ids(scene, found, loaded.count),
                        scene_ids(scene, ids, count));
    loaded_done(&loaded);
}

JobId scene_add_running(Scene *scene)
{
    JobId id = scene_add_ready(scene, "q");
    Op op = scene_claim(scene, id, 1);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    return id;
}

static JobId add_final(Scene *scene, JobState state)
{
    JobId id = scene_add_running(scene);
    Op op = scene_finish(scene, id, 1, state);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    return id;
}

JobId scene_add_in(Scene *scene, JobState state)
{
    JobId id = state_in(state, STATES_FINAL)   ? add_final(scene, state)
               : state_in(state, STATES_OWNED) ? scene_add_running(scene)
                                               : scene_add_ready(scene, "q");
    Op op = scene_move(scene, id, state);
    if (state == JOB_PAUSED) {
        op = scene_op(OP_PAUSE, id);
        op.attempt = 1;
        op.lock = SLICE_LITERAL(SCENE_SYSID);
        op.to = JOB_PAUSED;
    }
    if (state == JOB_HALTED) { /* only a running job can be halted */
        Op claim = scene_claim(scene, id, 1);
        assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
        op = scene_finish(scene, id, 1, JOB_HALTED);
    }
    if (state != JOB_RUNNING && !state_in(state, STATES_FINAL))
        assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    scene_expect_state(scene, id, state);
    return id;
}

Slice scene_result(Scene *scene, JobId id)
{
    Buf out = { 0 };
    Error why = { 0 };
    Err err;
    int tries = 0;
    while ((err = scene->store->kind->result(scene->store, id, &out, &why)) &&
           err != ERR_NOT_FOUND && ++tries < TRIES_MAX)
        scene->failures++;
    assert_true(!err || err == ERR_NOT_FOUND);
    Slice result = slice_copy(&scene->arena, buf_slice(&out));
    buf_done(&out);
    return result;
}

typedef struct Wanted {
    Slice queue;
    JobState state;
    uint64_t count;
} Wanted;

static void add_up(void *context, const LaneCount *count)
{
    Wanted *wanted = context;
    if (slice_equal(count->queue, wanted->queue) && count->state == wanted->state)
        wanted->count += count->count;
}

uint64_t scene_count(Scene *scene, const char *queue, JobState state)
{
    Wanted wanted = { .queue = slice_text(queue), .state = state };
    MUST(scene, scene->store->kind->counts(scene->store, add_up, &wanted, &why));
    return wanted.count;
}

/* --- Queries ----------------------------------------------------------------------- */

static void add_id(void *context, const Job *job)
{
    char text[ID_TEXT_BYTES];
    buf_printf(context, "%s ", id_text(job->id, text));
}

const char *scene_ids(Scene *scene, const JobId *ids, size_t count)
{
    Buf out = { 0 };
    for (size_t i = 0; i < count; i++)
        add_id(&out, &(Job){ .id = ids[i] });
    char *text = slice_cstr(&scene->arena, buf_slice(&out));
    buf_done(&out);
    return text;
}

const char *scene_query(Scene *scene, const char *text, uint32_t limit)
{
    JobQuery query = { .wall_ms = SCENE_WALL,
                       .limit = limit,
                       .tenant = SLICE_LITERAL(SCENE_TENANT) };
    Error refused = { 0 };
    Buf out = { 0 };
    JobSink sink = { add_id, &out };
    QueryEnd end = { 0 };
    if (text[0] == '!') {
        query.order = QUERY_DISPATCH;
        text++;
    }
    if (query_parse(slice_text(text), &scene->arena, &query, &refused))
        fail_msg("%s", refused.text);
    do {
        MUST(scene, scene->store->kind->query(scene->store, &query, &sink, &end, &why));
        query.before = end.cursor;
        query.skip = (uint32_t)end.cursor;
    } while (end.cursor);
    char *ids = slice_cstr(&scene->arena, buf_slice(&out));
    buf_done(&out);
    return ids;
}

/* --- Dump -------------------------------------------------------------------------- */

typedef struct Dump {
    Store *store;
    Buf *out;
    Buf lanes; /* tenant, NUL, queue, NUL, pull, NUL of every count */
} Dump;

static void must(Err err, const Error *why)
{
    if (err)
        fail_msg("dump: %s", why->text);
}

static void dump_bytes(Buf *out, Slice bytes)
{
    for (size_t i = 0; i < bytes.bytes; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        if (c >= ' ' && c < 127 && c != '\\')
            buf_add_char(out, (char)c);
        else
            buf_printf(out, "\\%02x", c);
    }
    buf_add_char(out, '\n');
}

static void dump_job(Buf *out, const char *what, const Job *job)
{
    char id[ID_TEXT_BYTES];
    Buf packed = { 0 };
    job_pack(&packed, job);
    buf_printf(out, "%s %s %s attempt=%u dt=%lld ", what, id_text(job->id, id),
               state_name(job->state), job->attempt, (long long)job->dt_ms);
    dump_bytes(out, buf_slice(&packed));
    buf_done(&packed);
}

static void dump_load(Dump *dump, const char *what, const Load *load)
{
    Error why = { 0 };
    Loaded loaded = { 0 };
    must(dump->store->kind->load(dump->store, load, &loaded, &why), &why);
    for (size_t i = 0; i < loaded.count; i++)
        dump_job(dump->out, what, &loaded.jobs[i]);
    if (loaded.more || loaded.next_due_ms != TIME_NEVER)
        buf_printf(dump->out, "%s more=%d next=%lld\n", what, loaded.more,
                   (long long)loaded.next_due_ms);
    loaded_done(&loaded);
}

static void dump_found(void *context, const Job *job)
{
    Dump *dump = context;
    dump_job(dump->out, "job", job);
}

static void collect_id(void *context, const Job *job)
{
    buf_add(context, &job->id, sizeof job->id);
}

static void dump_jobs(Dump *dump)
{
    Error why = { 0 };
    QueryEnd end = { 0 };
    JobQuery query = { .limit = QUERY_LIMIT_MAX, .with_payload = true };
    Buf ids = { 0 };
    do {
        query.before = end.cursor;
        JobSink shown = { dump_found, dump };
        must(dump->store->kind->query(dump->store, &query, &shown, &end, &why), &why);
        JobSink kept = { collect_id, &ids };
        must(dump->store->kind->query(dump->store, &query, &kept, &end, &why), &why);
    } while (end.cursor);
    for (size_t at = 0; at < ids.bytes; at += sizeof(JobId)) {
        JobId id;
        memcpy(&id, ids.data + at, sizeof id);
        dump_load(dump, "attempt", &(Load){ .kind = LOAD_ATTEMPTS, .id = id });
        dump_load(dump, "again", &(Load){ .kind = LOAD_JOB, .id = id });
        Buf result = { 0 };
        if (!dump->store->kind->result(dump->store, id, &result, &why)) {
            buf_add_text(dump->out, "result ");
            dump_bytes(dump->out, buf_slice(&result));
        }
        buf_done(&result);
    }
    buf_done(&ids);
}

static void dump_count(void *context, const LaneCount *count)
{
    Dump *dump = context;
    buf_printf(dump->out, "count " SLICE_FMT " " SLICE_FMT " %d %s %llu\n",
               SLICE_ARG(count->tenant), SLICE_ARG(count->queue), count->pull,
               state_name(count->state), (unsigned long long)count->count);
    if (count->state != JOB_READY)
        return;
    buf_add_slice(&dump->lanes, count->tenant);
    buf_add_char(&dump->lanes, '\0');
    buf_add_slice(&dump->lanes, count->queue);
    buf_add_char(&dump->lanes, '\0');
    buf_add_char(&dump->lanes, count->pull ? 'p' : 'n');
    buf_add_char(&dump->lanes, '\0');
}

static void dump_use(void *context, const TenantUse *use)
{
    buf_printf(context, "use " SLICE_FMT " bytes=%lld queued=%lld running=%lld\n",
               SLICE_ARG(use->tenant), (long long)use->bytes,
               (long long)(use->queued_here + use->queued_elsewhere),
               (long long)(use->running_here + use->running_elsewhere));
}

static void dump_lanes(Dump *dump)
{
    Error why = { 0 };
    must(dump->store->kind->uses(dump->store, SCENE_NODE, dump_use, dump->out, &why),
         &why);
    must(dump->store->kind->counts(dump->store, dump_count, dump, &why), &why);
    Slice rest = buf_slice(&dump->lanes);
    while (rest.bytes) {
        Load load = { .kind = LOAD_WINDOW, .limit = 50 };
        load.tenant = slice_cut(&rest, '\0');
        load.queue = slice_cut(&rest, '\0');
        load.pull = slice_is(slice_cut(&rest, '\0'), "p");
        dump_load(dump, "window", &load);
    }
    JobQuery query = { .order = QUERY_DISPATCH, .limit = 100 };
    QueryEnd end;
    JobSink sink = { dump_found, dump };
    buf_add_text(dump->out, "dispatch\n");
    must(dump->store->kind->query(dump->store, &query, &sink, &end, &why), &why);
    buf_printf(dump->out, "cursor %llu\n", (unsigned long long)end.cursor);
    Loaded heads = { 0 };
    must(
        dump->store->kind->load(dump->store, &(Load){ .kind = LOAD_LANES }, &heads, &why),
        &why);
    JobId sum = 0; /* heads come in no order */
    for (size_t i = 0; i < heads.count; i++)
        sum += heads.jobs[i].id;
    buf_printf(dump->out, "heads %zu %llu\n", heads.count, (unsigned long long)sum);
    loaded_done(&heads);
}

static void dump_definition(void *context, const Definition *definition)
{
    Buf *out = context;
    buf_printf(out, "definition " SLICE_FMT " " SLICE_FMT " ",
               SLICE_ARG(definition->tenant), SLICE_ARG(definition->key));
    dump_bytes(out, definition->value);
}

static void dump_small(Dump *dump)
{
    static const char *const tables[] = { "handler", "queue", "config",
                                          STORE_TABLE_NODE };
    static const char *const keys[] = { "k0", "k1", "k2", "k3", "k4", "k5" };
    Store *store = dump->store;
    Error why = { 0 };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        must(store->kind->definitions(store, slice_text(tables[i]), dump_definition,
                                      dump->out, &why),
             &why);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        Loaded loaded = { 0 };
        Load load = { .kind = LOAD_KEY,
                      .tenant = SLICE_LITERAL(SCENE_TENANT),
                      .key = slice_text(keys[i]) };
        must(store->kind->load(store, &load, &loaded, &why), &why);
        buf_printf(dump->out, "key %s %d ", keys[i], loaded.value.data != NULL);
        dump_bytes(dump->out, loaded.value);
        loaded_done(&loaded);
    }
    for (uint32_t node = 0; node <= SCENE_NODE + 1; node++) {
        ReadPoint point;
        JobId id;
        uint64_t number;
        must(store->kind->read_point(store, node, &point, &why), &why);
        must(store->kind->last_id(store, node, &id, &why), &why);
        must(store->kind->last_number(store, node, &number, &why), &why);
        buf_printf(dump->out, "node %u position=%llu id=%llu number=%llu\n", node,
                   (unsigned long long)point.position, (unsigned long long)id,
                   (unsigned long long)number);
    }
}

static void dump_node(void *context, const NodeRow *row)
{
    buf_printf(context, "node %u " SLICE_FMT " epoch=%llu fenced=%d controls=%d ",
               row->number, SLICE_ARG(row->sysid), (unsigned long long)row->epoch,
               row->fenced, row->controls);
    dump_bytes(context, row->facts);
}

static void dump_change(void *context, const Change *change)
{
    buf_printf(context, "change " SLICE_FMT " " SLICE_FMT " by %u there=%d\n",
               SLICE_ARG(change->table), SLICE_ARG(change->definition.key), change->node,
               change->definition.value.data != NULL);
}

static void dump_cluster(Dump *dump)
{
    Store *store = dump->store;
    Error why = { 0 };
    must(store->kind->nodes(store, dump_node, dump->out, &why), &why);
    must(store->kind->changes(store, 0, dump_change, dump->out, &why), &why);
    for (uint32_t node = 1; node <= SCENE_NODE + 1; node++) {
        Loaded loaded = { 0 };
        Load load = { .kind = LOAD_INBOX, .owner = node };
        must(store->kind->load(store, &load, &loaded, &why), &why);
        for (size_t i = 0; i < loaded.letter_count; i++) {
            buf_printf(dump->out, "letter %u from %u ", node, loaded.letters[i].from);
            dump_bytes(dump->out, loaded.letters[i].body);
        }
        loaded_done(&loaded);
    }
}

static void dump_rollup(void *context, const Rollup *row)
{
    const RollupCounts *counts = &row->counts;
    buf_printf(
        context,
        "rollup %lld %lld " SLICE_FMT " " SLICE_FMT " " SLICE_FMT
        " %d: %llu %llu %llu %llu %llu %llu %lld %lld\n",
        (long long)row->span_ms, (long long)row->at_ms, SLICE_ARG(row->tenant),
        SLICE_ARG(row->queue), SLICE_ARG(row->type), row->priority,
        (unsigned long long)counts->added, (unsigned long long)counts->started,
        (unsigned long long)counts->finished[0], (unsigned long long)counts->finished[1],
        (unsigned long long)counts->finished[2], (unsigned long long)counts->finished[3],
        (long long)counts->wait_ms, (long long)counts->run_ms);
}

void store_dump(Store *store, Buf *out)
{
    Dump dump = { .store = store, .out = out };
    dump_jobs(&dump);
    dump_lanes(&dump);
    dump_load(&dump, "due", &(Load){ .kind = LOAD_DUE, .dt_ms = SCENE_WALL, .limit = 5 });
    static const char *const types[] = { "a", "b", "c", "resize" };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        dump_load(&dump, "blocked",
                  &(Load){ .kind = LOAD_BLOCKED,
                           .tenant = SLICE_LITERAL(SCENE_TENANT),
                           .key = slice_text(types[i]),
                           .limit = 50 });
    dump_load(&dump, "running", &(Load){ .kind = LOAD_RUNNING });
    for (int i = 0; i < 2; i++)
        dump_load(&dump, "old",
                  &(Load){ .kind = LOAD_OLD,
                           .dt_ms = SCENE_WALL + 5000,
                           .states = i ? STATE_BIT(JOB_DONE)
                                       : STATES_FINAL & ~STATE_BIT(JOB_DONE) });
    dump_small(&dump);
    dump_cluster(&dump);
    buf_done(&dump.lanes);
    Error why = { 0 };
    if (store->kind->rollups(store, 0, dump_rollup, out, &why))
        buf_printf(out, "rollups: %s\n", why.text);
}
