/* SPDX-License-Identifier: Apache-2.0 */
/* store_bench.c - how fast the embedded store is, in numbers that mean something:
 *
 *     store_bench [DIRECTORY]     (default: the current one; a file is made and removed)
 *
 * Adds in bulk, whole lives of jobs at an empty and at a deep queue, and the cost of
 * loading a window, a page of a list, and one job. One thread, no journal. Beside the
 * clock on the wall stands the time of the processor: the one to compare on a machine
 * that others use too. */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WALL_MS      1790000000000LL
#define PAYLOAD      100
#define LINES        10000
#define DEPTH        1000000
#define LIVES        200000
#define SYSID        "bench-1"
#define WINDOW       256
#define READ_REPEATS 2000

typedef struct Bench {
    Store *store;
    IdGen ids;
    uint64_t position;
    Buf body;
} Bench;

typedef struct Watch {
    double wall;
    double cpu;
} Watch;

static double clock_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static Watch watch_start(void)
{
    return (Watch){ clock_seconds(CLOCK_MONOTONIC),
                    clock_seconds(CLOCK_THREAD_CPUTIME_ID) };
}

static void watch_show(Watch begun, const char *what, double items)
{
    double wall = clock_seconds(CLOCK_MONOTONIC) - begun.wall;
    double cpu = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - begun.cpu;
    printf("%-46s %9.0f /s %9.2f us  (cpu %8.2f us)\n", what, items / wall,
           wall / items * 1e6, cpu / items * 1e6);
}

static void must(Err err, const Error *why)
{
    if (!err)
        return;
    fprintf(stderr, "store_bench: %s\n", why->text);
    exit(1);
}

static void commit(Bench *bench, Batch *batch)
{
    Error why = { 0 };
    batch->node = bench->ids.node;
    batch->has_read_point = true;
    batch->read_point = (ReadPoint){ batch->node, ++bench->position };
    must(bench->store->kind->commit(bench->store, batch, 1, NULL, &why), &why);
    batch_clear(batch);
}

static void sync_now(Bench *bench)
{
    Error why = { 0 };
    must(bench->store->kind->sync(bench->store, &why), &why);
}

static Job pattern(void)
{
    Job job = job_default();
    job.state = JOB_READY;
    job.created_ms = job.run_at_ms = job.dt_ms = job.window_from_ms = WALL_MS;
    job.tenant = SLICE_LITERAL("default");
    job.type = SLICE_LITERAL("resize");
    job.queue = SLICE_LITERAL("default");
    return job;
}

static void add_lines(Bench *bench, const char *queue)
{
    Batch batch = { 0 };
    Job job = pattern();
    job.queue = slice_text(queue);
    Op *op = batch_op(&batch, OP_ADD_LINES, 0);
    op->job = &job;
    op->body = buf_slice(&bench->body);
    op->count = LINES;
    op->first = id_take(&bench->ids, WALL_MS, LINES);
    commit(bench, &batch);
    batch_done(&batch);
}

static void fill(Bench *bench, uint64_t jobs, const char *queue)
{
    for (uint64_t i = 0; i < jobs; i += LINES) {
        add_lines(bench, queue);
        if (i / LINES % 50 == 49)
            sync_now(bench);
    }
}

static void claim(Batch *batch, JobId id)
{
    Op *op = batch_op(batch, OP_CLAIM, id);
    op->attempt = 1;
    op->lock = SLICE_LITERAL(SYSID);
    op->dt_ms = WALL_MS + 30000;
    op->at_ms = WALL_MS;
    op->count = 1;
}

static void finish(Batch *batch, JobId id)
{
    Op *op = batch_op(batch, OP_FINISH, id);
    op->attempt = 1;
    op->lock = SLICE_LITERAL(SYSID);
    op->to = JOB_DONE;
    op->at_ms = WALL_MS + 5;
    op->progress = -1;
    op->outcome = (Outcome){ .code = CODE_OK, .exitcode = 200 };
}

static void add(Bench *bench, Batch *batch, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        Job *job = ARENA_NEW(&batch->arena, Job);
        *job = pattern();
        job->id = id_from_count(first + i, bench->ids.node);
        job->payload = slice_of(bench->body.data, PAYLOAD);
        batch_op(batch, OP_ADD, 0)->job = job;
    }
}

/* Adds, claims and finishes, `apart` in three transactions or all in one. */
static void lives(Bench *bench, const char *what, uint64_t per_batch, bool apart)
{
    Batch batch = { 0 };
    Watch begun = watch_start();
    for (uint64_t done = 0; done < LIVES; done += per_batch) {
        uint64_t first = id_take(&bench->ids, WALL_MS, per_batch);
        add(bench, &batch, first, per_batch);
        if (apart)
            commit(bench, &batch);
        for (uint64_t i = 0; i < per_batch; i++)
            claim(&batch, id_from_count(first + i, bench->ids.node));
        if (apart)
            commit(bench, &batch);
        for (uint64_t i = 0; i < per_batch; i++)
            finish(&batch, id_from_count(first + i, bench->ids.node));
        commit(bench, &batch);
        if (done / 50000 != (done + per_batch) / 50000)
            sync_now(bench);
    }
    watch_show(begun, what, LIVES);
    batch_done(&batch);
}

/* Claim and finish of jobs that wait already, in two large transactions. */
static void pairs(Bench *bench, const char *what, uint64_t count, const char *queue)
{
    Load load = { .kind = LOAD_WINDOW,
                  .tenant = SLICE_LITERAL("default"),
                  .queue = slice_text(queue),
                  .limit = (uint32_t)count };
    Loaded loaded = { 0 };
    Error why = { 0 };
    must(bench->store->kind->load(bench->store, &load, &loaded, &why), &why);
    Batch batch = { 0 };
    Watch begun = watch_start();
    for (size_t i = 0; i < loaded.count; i++)
        claim(&batch, loaded.jobs[i].id);
    commit(bench, &batch);
    for (size_t i = 0; i < loaded.count; i++)
        finish(&batch, loaded.jobs[i].id);
    commit(bench, &batch);
    watch_show(begun, what, (double)loaded.count);
    batch_done(&batch);
    loaded_done(&loaded);
}

static void time_load(Bench *bench, const char *what, const Load *load)
{
    Error why = { 0 };
    Watch begun = watch_start();
    for (int i = 0; i < READ_REPEATS; i++) {
        Loaded loaded = { 0 };
        must(bench->store->kind->load(bench->store, load, &loaded, &why), &why);
        loaded_done(&loaded);
    }
    watch_show(begun, what, READ_REPEATS);
}

static void ignore(void *context, const Job *job)
{
    (void)job;
    ++*(uint64_t *)context;
}

static void time_query(Bench *bench, const char *text)
{
    Arena arena = { 0 };
    JobQuery query = { .wall_ms = WALL_MS, .with_payload = true };
    Error why = { 0 };
    must(query_parse(slice_text(text), &arena, &query, &why), &why);
    uint64_t found = 0;
    JobSink sink = { ignore, &found };
    QueryEnd end;
    Watch begun = watch_start();
    must(bench->store->kind->query(bench->store, &query, &sink, &end, &why), &why);
    char what[64];
    snprintf(what, sizeof what, "query '%s', %llu found%s", text,
             (unsigned long long)found, end.partial ? ", partial" : "");
    watch_show(begun, what, 1);
    arena_done(&arena);
}

static void reads(Bench *bench)
{
    Load window = { .kind = LOAD_WINDOW,
                    .tenant = SLICE_LITERAL("default"),
                    .queue = SLICE_LITERAL("deep"),
                    .limit = WINDOW };
    time_load(bench, "window of 256 of the deep lane", &window);
    Load one = { .kind = LOAD_JOB, .id = id_from_count(bench->ids.next - 1, 1) };
    time_load(bench, "one job by id", &one);
    Load due = { .kind = LOAD_DUE, .dt_ms = WALL_MS, .limit = 500 };
    time_load(bench, "due jobs (none)", &due);
    time_query(bench, "");
    time_query(bench, "state:done");
    time_query(bench, "state:held");
    time_query(bench, "type:nothing");
    time_query(bench, "payload:nowhere");
}

static void all(Bench *bench)
{
    Watch begun = watch_start();
    fill(bench, LIVES, "first");
    watch_show(begun, "bulk adds, empty store", LIVES);
    pairs(bench, "claim + finish of 10,000", 10000, "first");
    lives(bench, "lives, 3 commits per 100", 100, true);
    lives(bench, "lives, 3 commits per 1,000", 1000, true);
    lives(bench, "lives, 1 commit per 1,000", 1000, false);
    begun = watch_start();
    fill(bench, DEPTH, "deep");
    watch_show(begun, "bulk adds, 1,000,000", DEPTH);
    pairs(bench, "claim + finish of 10,000, 1,000,000 waiting", 10000, "deep");
    lives(bench, "lives, 3 commits per 100, 1,000,000 waiting", 100, true);
    lives(bench, "lives, 3 commits per 1,000, 1,000,000 waiting", 1000, true);
    lives(bench, "lives, 1 commit per 1,000, 1,000,000 waiting", 1000, false);
    reads(bench);
}

int main(int argc, char **argv)
{
    char url[4096];
    Error why = { 0 };
    StoreOptions options = { 0 };
    Bench bench = { .ids = { .node = 1 } };
    snprintf(url, sizeof url, "sqlite:%s/store_bench.db", argc > 1 ? argv[1] : ".");
    must(store_open(url, &options, &bench.store, &why), &why);
    for (int i = 0; i < LINES; i++) {
        for (int k = 0; k < PAYLOAD; k++)
            buf_add_char(&bench.body, (char)('a' + k % 26));
        buf_add_char(&bench.body, '\n');
    }
    all(&bench);
    store_close(bench.store);
    buf_done(&bench.body);
    for (int i = 0; i < 2; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s%s", url + sizeof "sqlite:" - 1, i ? ".lock" : "");
        unlink(path);
    }
    return 0;
}
