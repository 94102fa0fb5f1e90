/* SPDX-License-Identifier: Apache-2.0 */
/* plan_test.c - what each step costs on a store that holds many jobs, as the
 * server itself says: every plan is logged with the rows that it touched, and none of
 * what a node does all the time may touch more than it returns. PAWL_ROWS: how many jobs.
 */
#include "base/text.h"
#include "store/postgres/postgres.h"
#include "testing/conformance.h"
#include "testing/testserver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROWS_DEFAULT 30000
#define OTHER        5
#define TOUCHED_MAX  600 /* rows; what is asked for here is at most some hundred */
#define LIMIT        100

static Scene scene;
static char log_path[160];
static long log_from; /* what stands behind it is of the step under way */

/* --- The server's log
 * -------------------------------------------------------------------- */

static long log_bytes(void)
{
    FILE *log = fopen(log_path, "rb");
    assert_non_null(log);
    fseek(log, 0, SEEK_END);
    long bytes = ftell(log);
    fclose(log);
    return bytes;
}

/* The number behind `word` in the line; 0 if it is not there. */
static double number_behind(const char *line, const char *word)
{
    const char *at = strstr(line, word);
    return at ? strtod(at + strlen(word), NULL) : 0;
}

/* "... Scan ... on job_live ... (actual rows=2 loops=3)", and below it perhaps
 * "Rows Removed by Filter: 4". */
static bool is_scan_of_jobs(const char *line)
{
    const char *scan = strstr(line, "Scan");
    return scan && strstr(scan, " on ") && strstr(scan, "job_") && strstr(line, "actual");
}

static void expect_cheap(const char *what)
{
    char line[8192];
    char scan[8192] = "";
    double loops = 1;
    double touched = 0;
    FILE *log = fopen(log_path, "rb");
    assert_non_null(log);
    fseek(log, log_from, SEEK_SET);
    log_from = log_bytes();
    while (fgets(line, sizeof line, log)) {
        if (is_scan_of_jobs(line)) {
            snprintf(scan, sizeof scan, "%s", line);
            loops = number_behind(line, "loops=");
            touched = number_behind(strstr(line, "actual"), "rows=") * loops;
        } else {
            touched = number_behind(line, "Rows Removed by Filter: ") * loops;
        }
        if (touched > TOUCHED_MAX)
            fail_msg("%s touches %.0f rows:\n%s%s", what, touched, scan, line);
        if (strstr(line, "Seq Scan on job_"))
            fail_msg("%s reads a whole table:\n%s", what, line);
    }
    fclose(log);
}

/* --- A store that holds many
 * ------------------------------------------------------------- */

static long long number_of(const char *text, int64_t otherwise)
{
    int64_t number;
    return text && !int_parse(slice_text(text), &number) ? number : otherwise;
}

static long long rows_wanted(void)
{
    return number_of(getenv("PAWL_ROWS"), ROWS_DEFAULT);
}

/* As the one job that is there, but in another state, or another's. */
static void multiply(JobId one, JobState state, uint32_t owner, int64_t first)
{
    char sql[1024];
    snprintf(sql, sizeof sql,
             "WITH one AS MATERIALIZED (SELECT j.*, pawl.lane_add(l.tenant, l.queue,"
             " l.type, l.pull, %u) AS its FROM pawl.job_live j"
             " JOIN pawl.lane l ON l.id = j.lane WHERE j.id = %llu)"
             " INSERT INTO pawl.job_live(id, rank, dt, created, owner, lane, type, state,"
             " spec, payload) SELECT %lld + g, rank, dt + g, created, %u, its, type, %d,"
             " spec, payload FROM generate_series(1, %lld) g, one",
             owner, (unsigned long long)one, (long long)first, owner, (int)state,
             rows_wanted());
    testserver_ask(sql);
}

static int begin(void **state)
{
    static const char *const settings[] = {
        "session_preload_libraries = 'auto_explain'",
        "auto_explain.log_min_duration = 0",
        "auto_explain.log_analyze = on",
        "auto_explain.log_timing = off",
        "auto_explain.log_nested_statements = on",
    };
    (void)state;
    Error why = { 0 };
    testserver_fresh();
    snprintf(log_path, sizeof log_path, "%s/server.log", testserver_directory());
    scene = (Scene){ .ids.node = SCENE_NODE };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char sql[160];
        snprintf(sql, sizeof sql, "ALTER ROLE pawl SET %s", settings[i]);
        testserver_ask(sql);
    }
    assert_int_equal(
        store_open(testserver_url(), &(StoreOptions){ 0 }, &scene.store, &why), ERR_OK);
    scene_renew(&scene, SCENE_SYSID, true);
    scene_join(&scene, SCENE_NODE, 1);
    JobId first = scene_add_ready(&scene, "q");
    multiply(first, JOB_READY, SCENE_NODE, (int64_t)first + ((int64_t)1 << 40));
    multiply(first, JOB_DEFERRED, SCENE_NODE, (int64_t)first + ((int64_t)2 << 40));
    multiply(first, JOB_READY, OTHER, (int64_t)first + ((int64_t)3 << 40));
    testserver_ask("UPDATE pawl.point SET last_id = (SELECT max(id) FROM pawl.job_live)");
    testserver_ask("DELETE FROM pawl.lane_count; INSERT INTO pawl.lane_count(node, lane,"
                   " state, count) SELECT 1, lane, state, count(*) FROM pawl.job_live"
                   " GROUP BY lane, state");
    log_from = log_bytes();
    return 0;
}

static int end(void **state)
{
    (void)state;
    testserver_ask("ALTER ROLE pawl RESET ALL");
    store_close(scene.store);
    scene_done(&scene);
    return 0;
}

/* --- What a node does all the time
 * ------------------------------------------------------- */

static void load(const char *what, Load asked)
{
    asked.limit = LIMIT;
    asked.owner = SCENE_NODE;
    Loaded loaded = scene_load(&scene, &asked);
    loaded_done(&loaded);
    expect_cheap(what);
}

static void loads_cost_what_they_return(void **state)
{
    (void)state;
    Loaded window = scene_load(&scene, &(Load){ .kind = LOAD_WINDOW,
                                                .tenant = slice_text(SCENE_TENANT),
                                                .queue = SLICE_LITERAL("q"),
                                                .owner = SCENE_NODE,
                                                .limit = LIMIT });
    assert_int_equal(window.count, LIMIT);
    const Job *last = &window.jobs[LIMIT - 1];
    Load behind = { .kind = LOAD_WINDOW,
                    .tenant = slice_text(SCENE_TENANT),
                    .queue = SLICE_LITERAL("q"),
                    .behind = true,
                    .priority = last->priority,
                    .dt_ms = last->dt_ms,
                    .behind_id = last->id };
    JobId id = last->id;
    loaded_done(&window);
    expect_cheap("a window");
    load("the window behind it", behind);
    behind.age_ms = 1000;
    load("a window with aging", behind);
    load("heads of lanes", (Load){ .kind = LOAD_LANES });
    load("what is due", (Load){ .kind = LOAD_DUE, .dt_ms = INT64_MAX });
    load("what is blocked", (Load){ .kind = LOAD_BLOCKED,
                                    .tenant = slice_text(SCENE_TENANT),
                                    .key = SLICE_LITERAL("type") });
    load("what runs", (Load){ .kind = LOAD_RUNNING, .lock = slice_text(SCENE_SYSID) });
    load("what waits for others", (Load){ .kind = LOAD_AFTER });
    load("one job", (Load){ .kind = LOAD_JOB, .id = id });
    load("some jobs",
         (Load){ .kind = LOAD_IDS, .key = slice_of((const char *)&id, sizeof id) });
    load("mail", (Load){ .kind = LOAD_INBOX });
    load("what is old",
         (Load){ .kind = LOAD_OLD, .states = STATE_BIT(JOB_DONE), .dt_ms = INT32_MAX });
}

static void expect_done(const char *what, Op op)
{
    assert_int_equal(scene_do(&scene, &op), OP_APPLIED);
    expect_cheap(what);
}

static void commits_cost_what_they_change(void **state)
{
    (void)state;
    JobId id = scene_add_ready(&scene, "q");
    expect_cheap("an add");
    expect_done("a claim", scene_claim(&scene, id, 1));
    Op beat = scene_op(OP_BEAT, 0);
    beat.lock = slice_text(SCENE_SYSID);
    beat.at_ms = beat.dt_ms = SCENE_WALL;
    expect_done("a beat", beat);
    expect_done("an end", scene_finish(&scene, id, 1, JOB_DONE));
    Op give = scene_op(OP_GIVE, scene_add_ready(&scene, "q"));
    give.node = OTHER;
    expect_done("a gift", give);
    Op purge = scene_op(OP_PURGE, 0);
    purge.dt_ms = SCENE_WALL;
    purge.count = LIMIT;
    expect_done("a purge", purge);
}

static void taking_over_costs_what_it_moves(void **state)
{
    (void)state;
    scene_renew(&scene, SCENE_OTHER, false);
    testserver_ask("UPDATE pawl.node SET number = 5, fenced = true, epoch = 1"
                   " WHERE sysid = '" SCENE_OTHER "'");
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM pawl.job_live WHERE owner = %d",
             OTHER);
    long long before = number_of(testserver_ask(sql), 0);
    log_from = log_bytes();
    Op take = scene_op(OP_TAKE, 0);
    take.node = OTHER;
    take.count = LIMIT;
    expect_done("taking over", take);
    assert_int_equal(before - number_of(testserver_ask(sql), 0), LIMIT);
}

static void count_job(void *context, const Job *job)
{
    (void)job;
    ++*(size_t *)context;
}

static void lists_cost_a_page(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "state:ready", "queue:q" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        JobQuery query = { .limit = LIMIT, .wall_ms = SCENE_WALL };
        QueryEnd end_of_it;
        Error why = { 0 };
        size_t count = 0;
        JobSink sink = { count_job, &count };
        assert_int_equal(query_parse(slice_text(texts[i]), &scene.arena, &query, &why),
                         ERR_OK);
        assert_int_equal(
            scene.store->kind->query(scene.store, &query, &sink, &end_of_it, &why),
            ERR_OK);
        assert_int_equal(count, LIMIT);
        expect_cheap(texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_cost_what_they_return),
        cmocka_unit_test(commits_cost_what_they_change),
        cmocka_unit_test(taking_over_costs_what_it_moves),
        cmocka_unit_test(lists_cost_a_page),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
