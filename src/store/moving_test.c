/* SPDX-License-Identifier: Apache-2.0 */
/* moving_test.c - everything moves from one kind of store to the other and back: the
 * scenes of the conformance suite are played, and what they leave behind is moved. */
#include "store/moving.h"

#include "store/postgres/postgres.h"
#include "store/sqlite/sqlite.h"
#include "testing/conformance.h"
#include "testing/testdir.h"
#include "testing/testserver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* --- Rows as text ---------------------------------------------------------------------
 */

static void text_job(void *context, const Row *row)
{
    Buf *out = context;
    buf_printf(out, "job %u %u %d ", row->slot, row->run_retry, row->run_state);
    job_pack(out, &row->job);
    buf_add_text(out, "\n");
}

static void text_row(void *context, const MoveTable *table, const MoveValue *values)
{
    Buf *out = context;
    buf_printf(out, "%s", table->name);
    for (size_t i = 0; i < move_columns(table); i++)
        buf_printf(out, " %d:%lld:" SLICE_FMT, values[i].null,
                   (long long)values[i].number, SLICE_ARG(values[i].bytes));
    buf_add_text(out, "\n");
}

static Buf rows_of(Store *store)
{
    Buf out = { 0 };
    Error why = { 0 };
    const MoveSink sink = { text_job, text_row, &out };
    if (move_out(store, &sink, &why))
        fail_msg("%s", why.text);
    return out;
}

/* --- Moving ---------------------------------------------------------------------------
 */

static void into_job(void *context, const Row *row)
{
    move_in_job(context, row);
}

static void into_row(void *context, const MoveTable *table, const MoveValue *values)
{
    move_in_row(context, table, values);
}

static void move(Store *from, Store *to, bool replace)
{
    Error why = { 0 };
    const MoveSink sink = { into_job, into_row, to };
    if (move_in_begin(to, replace, &why) || move_out(from, &sink, &why) ||
        move_in_end(to, true, &why))
        fail_msg("%s", why.text);
}

static Store *open_store(const char *url)
{
    Store *store;
    Error why = { 0 };
    if (store_open(url, &(StoreOptions){ 0 }, &store, &why))
        fail_msg("%s: %s", url, why.text);
    if (strcmp(store->kind->name, "sqlite") == 0) /* a page is whole, however slow */
        sqlite_of(store)->scan_ms = MS_PER_HOUR;
    if (strcmp(store->kind->name, "postgres") == 0)
        postgres_of(store)->scan_ms = MS_PER_HOUR;
    return store;
}

static Store *open_file(const TestDir *dir, const char *name)
{
    char url[256];
    snprintf(url, sizeof url, "sqlite:%s", testdir_file(dir, name));
    return open_store(url);
}

static void play(const SceneRow *row, Store *store)
{
    Scene scene = { .store = store, .number = 1 };
    scene.ids = (IdGen){ .node = SCENE_NODE };
    row->play(&scene);
    scene_done(&scene);
}

/* Around a place; packed jobs are no text. */
static const char *shown(Slice all, size_t at, char *out, size_t room)
{
    size_t from = at > 200 ? at - 200 : 0;
    size_t length = 0;
    for (size_t i = from; i < all.bytes && length + 1 < room; i++)
        out[length++] = (all.data[i] < ' ' && all.data[i] != '\n') || all.data[i] > '~'
                            ? '.'
                            : (char)all.data[i];
    out[length] = '\0';
    return out;
}

static void fail_at(const char *what, Slice a, Slice b)
{
    char of_a[500];
    char of_b[500];
    size_t at = 0;
    while (at < a.bytes && at < b.bytes && a.data[at] == b.data[at])
        at++;
    fail_msg("%s differs at %zu of %zu and %zu:\n%s\n---\n%s", what, at, a.bytes, b.bytes,
             shown(a, at, of_a, sizeof of_a), shown(b, at, of_b, sizeof of_b));
}

static void expect_same(Store *a, Store *b, const char *what)
{
    Buf rows_a = rows_of(a);
    Buf rows_b = rows_of(b);
    if (!slice_equal(buf_slice(&rows_a), buf_slice(&rows_b)))
        fail_at(what, buf_slice(&rows_a), buf_slice(&rows_b));
    Buf dump_a = { 0 };
    Buf dump_b = { 0 };
    store_dump(a, &dump_a);
    store_dump(b, &dump_b);
    if (!slice_equal(buf_slice(&dump_a), buf_slice(&dump_b)))
        fail_at(what, buf_slice(&dump_a), buf_slice(&dump_b));
    buf_done(&rows_a);
    buf_done(&rows_b);
    buf_done(&dump_a);
    buf_done(&dump_b);
}

/* One scene: played in a file, moved to a server, and from there into another file. */
static void there_and_back(const SceneRow *row)
{
    TestDir dir;
    testdir_make(&dir);
    Store *first = open_file(&dir, "first.db");
    play(row, first);
    Store *server = open_store(testserver_url());
    move(first, server, true);
    expect_same(first, server, row->name);
    Store *last = open_file(&dir, "last.db");
    move(server, last, false);
    expect_same(first, last, row->name);
    store_close(first);
    store_close(server);
    store_close(last);
    testdir_remove(&dir);
}

/* What can be asked of a store is much, and each scene leaves little: every fourth will
 * do here. */
#define SCENES_STEP 4

static void what_scenes_leave_moves_there_and_back(void **state)
{
    (void)state;
    testserver_fresh();
    const SceneRow *lists[] = { scenes_of_jobs, scenes_of_the_rest, scenes_of_links };
    size_t number = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const SceneRow *row = lists[i]; row->name; row++)
            if (number++ % SCENES_STEP == 0 &&
                strcmp(row->name, "nodes_have_a_row_each") != 0) /* of the moment */
                there_and_back(row);
}

/* --- Refusing -------------------------------------------------------------------------
 */

static void a_store_that_is_not_empty_is_left_alone(void **state)
{
    (void)state;
    TestDir dir;
    Error why = { 0 };
    testdir_make(&dir);
    Store *file = open_file(&dir, "full.db");
    Store *server = open_store(testserver_fresh());
    Store *both[] = { file, server };
    for (size_t i = 0; i < 2; i++) {
        play(&scenes_of_jobs[0], both[i]);
        Buf before = rows_of(both[i]);
        assert_true(before.bytes > 0);
        assert_int_equal(move_in_begin(both[i], false, &why), ERR_CONFLICT);
        assert_non_null(strstr(why.text, "not empty"));
        assert_int_equal(move_in_begin(both[i], true, &why), ERR_OK);
        assert_int_equal(move_in_end(both[i], false, &why), ERR_OK); /* given up */
        Buf after = rows_of(both[i]);
        assert_true(slice_equal(buf_slice(&before), buf_slice(&after)));
        buf_done(&before);
        buf_done(&after);
    }
    store_close(file);
    store_close(server);
    testdir_remove(&dir);
}

static void a_store_in_memory_cannot_be_moved(void **state)
{
    (void)state;
    Error why = { 0 };
    Store *store = open_store("memory:");
    assert_int_equal(move_in_begin(store, false, &why), ERR_INVALID);
    const MoveSink sink = { text_job, text_row, NULL };
    assert_int_equal(move_out(store, &sink, &why), ERR_INVALID);
    store_close(store);
}

/* Every table of the schema is moved, or follows from others, or is of the moment: who
 * adds one must say which. */
static void no_table_is_forgotten(void **state)
{
    (void)state;
    static const char *const others[] = {
        "meta",     "name",      "lane", "lane_count", "job_live",        "job_done",
        "job_dead", "slot",      "node", "payload",    "sqlite_sequence", "state",
        "code",     "part_gone", /* what went with it is gone before anything moves */
    };
    TestDir dir;
    testdir_make(&dir);
    Store *store = open_file(&dir, "all.db");
    sqlite3_stmt *stmt;
    sqlite3 *handle = sqlite_of(store)->db.handle;
    assert_int_equal(sqlite3_prepare_v2(handle,
                                        "SELECT name FROM sqlite_master WHERE type = "
                                        "'table'",
                                        -1, &stmt, NULL),
                     SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        bool known = move_table_find(slice_text(name)) != NULL;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            known = known || strcmp(name, others[i]) == 0;
        if (!known)
            fail_msg("table %s is not moved", name);
    }
    sqlite3_finalize(stmt);
    store_close(store);
    testdir_remove(&dir);
    /* Likewise on the server, parts of the archive left out. */
    Buf sql = { 0 };
    buf_add_text(&sql, "SELECT coalesce(string_agg(tablename, ' '), '') FROM pg_tables"
                       " WHERE schemaname = 'pawl' AND tablename !~ '^job_(done|dead)_'"
                       " AND tablename NOT IN ('sqlite_sequence'");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        buf_printf(&sql, ", '%s'", others[i]);
    for (size_t i = 0; i < move_table_count; i++)
        buf_printf(&sql, ", '%s'", move_tables[i].name);
    buf_add_text(&sql, ")");
    store_close(open_store(testserver_url()));
    assert_string_equal(testserver_ask(buf_cstr(&sql)), "");
    buf_done(&sql);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_scenes_leave_moves_there_and_back),
        cmocka_unit_test(a_store_that_is_not_empty_is_left_alone),
        cmocka_unit_test(a_store_in_memory_cannot_be_moved),
        cmocka_unit_test(no_table_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
