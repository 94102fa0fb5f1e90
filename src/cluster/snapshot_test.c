/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_test.c - what a node remembers of its store: as it was, or not at all. */
#include "cluster/snapshot.h"

#include "access/token.h"
#include "cluster/store_offline.h"
#include "core/handler.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_BYTES 1024

static char dir[64];
static char path[128];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/pawl-snapshot-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/" SNAPSHOT_FILE, dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(path); /* not every test makes one */
    return rmdir(dir);
}

static void put(Store *store, const char *table, const char *key, const char *value)
{
    Error why = { 0 };
    Op op = { .kind = OP_PUT,
              .table = slice_text(table),
              .tenant = SLICE_LITERAL("acme"),
              .key = slice_text(key),
              .value = slice_text(value) };
    Batch batch = { .node = 7, .ops = &op, .count = 1 };
    assert_int_equal(store->kind->commit(store, &batch, 1, NULL, &why), ERR_OK);
}

static void add(Store *store, const char *payload)
{
    Error why = { 0 };
    Job job = job_default();
    job.id = id_from_count(1000, 7);
    job.state = JOB_READY;
    job.tenant = SLICE_LITERAL("acme");
    job.queue = SLICE_LITERAL("q");
    job.type = SLICE_LITERAL("x");
    job.payload = slice_text(payload);
    Op op = { .kind = OP_ADD, .id = job.id, .job = &job };
    Batch batch = { .node = 7, .ops = &op, .count = 1 };
    assert_int_equal(store->kind->commit(store, &batch, 1, NULL, &why), ERR_OK);
}

static void write_one(void)
{
    Error why = { 0 };
    Store *store;
    Snapshot snapshot = { .sysid = SLICE_LITERAL("here-1"),
                          .number = 7,
                          .store = SLICE_LITERAL("postgresql://db/pawl"),
                          .position = 4711,
                          .ids = (uint64_t)1 << 50 };
    assert_int_equal(store_open("memory:", &(StoreOptions){ 0 }, &store, &why), ERR_OK);
    put(store, HANDLER_TABLE, "mail", "sh");
    put(store, TOKEN_TABLE, "ci", "");
    put(store, "notice", "n", "not for it");
    add(store, "12345");
    assert_int_equal(snapshot_take(&snapshot, store, &why), ERR_OK);
    assert_int_equal(snapshot_write(&snapshot, dir, &why), ERR_OK);
    snapshot_done(&snapshot);
    store_close(store);
}

static ssize_t read_bytes(int fd, char out[FILE_BYTES])
{
    ssize_t length = read(fd, out, FILE_BYTES);
    assert_in_range(length, 100, FILE_BYTES - 1);
    return length;
}

static void it_is_read_as_it_was_written(void **state)
{
    (void)state;
    Error why = { 0 };
    Snapshot read;
    write_one();
    write_one(); /* it is replaced */
    assert_int_equal(snapshot_read(dir, &read, &why), ERR_OK);
    assert_true(slice_is(read.sysid, "here-1"));
    assert_true(slice_is(read.store, "postgresql://db/pawl"));
    assert_int_equal(read.number, 7);
    assert_int_equal(read.position, 4711);
    assert_true(read.ids == (uint64_t)1 << 50);
    assert_int_equal(read.count, 2);
    assert_true(slice_is(read.rows[0].table, HANDLER_TABLE));
    assert_true(slice_is(read.rows[0].definition.tenant, "acme"));
    assert_true(slice_is(read.rows[0].definition.key, "mail"));
    assert_true(slice_is(read.rows[0].definition.value, "sh"));
    assert_true(slice_is(read.rows[1].table, TOKEN_TABLE));
    assert_non_null(read.rows[1].definition.value.data); /* it is there, though empty */
    assert_int_equal(read.use_count, 1);
    assert_true(slice_is(read.uses[0].tenant, "acme"));
    assert_int_equal(read.uses[0].queued_here, 1);
    assert_int_equal(read.uses[0].bytes, 5);
    snapshot_done(&read);
}

static void a_node_without_one_is_told_so(void **state)
{
    (void)state;
    Error why = { 0 };
    Snapshot read;
    assert_int_equal(snapshot_read(dir, &read, &why), ERR_NOT_FOUND);
}

/* Any byte that differs, and any length but the right one. */
static void a_damaged_one_is_refused(void **state)
{
    (void)state;
    Error why = { 0 };
    Snapshot read;
    char bytes[FILE_BYTES];
    write_one();
    int fd = open(path, O_RDWR);
    ssize_t length = read_bytes(fd, bytes);
    for (ssize_t at = 0; at < length; at++) {
        char other = (char)(bytes[at] ^ 0x10);
        assert_int_equal(pwrite(fd, &other, 1, at), 1);
        assert_int_equal(snapshot_read(dir, &read, &why), ERR_CORRUPT);
        assert_int_equal(pwrite(fd, &bytes[at], 1, at), 1);
    }
    for (ssize_t left = length - 1; left >= 0; left--) {
        assert_int_equal(ftruncate(fd, left), 0);
        assert_int_equal(snapshot_read(dir, &read, &why), ERR_CORRUPT);
    }
    assert_int_equal(pwrite(fd, bytes, (size_t)length, 0), length);
    assert_int_equal(snapshot_read(dir, &read, &why), ERR_OK);
    snapshot_done(&read);
    close(fd);
}

/* Back from a backup: its journal is older than what the store has read. */
static void a_copy_is_refused(void **state)
{
    (void)state;
    Error why = { 0 };
    Snapshot read;
    char bytes[FILE_BYTES];
    write_one();
    int fd = open(path, O_RDONLY);
    ssize_t length = read_bytes(fd, bytes);
    write_one();
    close(fd);
    fd = open(path, O_WRONLY | O_TRUNC); /* over the newer one, as `cp` does */
    assert_int_equal(write(fd, bytes, (size_t)length), length);
    close(fd);
    assert_int_equal(snapshot_read(dir, &read, &why), ERR_CONFLICT);
}

/* --- The store made of it ----------------------------------------------------------- */

static void count_one(void *context, const Definition *definition)
{
    (void)definition;
    ++*(int *)context;
}

static void count_use(void *context, const TenantUse *use)
{
    *(int *)context += (int)use->bytes;
}

static void a_store_that_is_away_has_what_is_remembered(void **state)
{
    (void)state;
    Error why = { 0 };
    Snapshot read;
    JobId last;
    ReadPoint point;
    int found = 0;
    int bytes = 0;
    write_one();
    assert_int_equal(snapshot_read(dir, &read, &why), ERR_OK);
    Store *store = store_away_new(&read);
    const StoreKind *kind = store->kind;
    assert_true(kind->shared);
    assert_int_equal(
        kind->definitions(store, SLICE_LITERAL(HANDLER_TABLE), count_one, &found, &why),
        ERR_OK);
    assert_int_equal(
        kind->definitions(store, SLICE_LITERAL("notice"), count_one, &found, &why),
        ERR_OK);
    assert_int_equal(found, 1);
    assert_int_equal(kind->uses(store, 7, count_use, &bytes, &why), ERR_OK);
    assert_int_equal(bytes, 5);
    assert_int_equal(kind->read_point(store, 7, &point, &why), ERR_OK);
    assert_int_equal(point.position, 4711);
    assert_int_equal(kind->last_id(store, 7, &last, &why), ERR_OK);
    assert_true(last == id_from_count(((uint64_t)1 << 50) - 1, 7));
    store_close(store);
    snapshot_done(&read);
}

static void it_does_not_answer_anything_else(void **state)
{
    (void)state;
    Error why = { 0 };
    Snapshot none = { 0 };
    Store *store = store_away_new(&none);
    const StoreKind *kind = store->kind;
    Load load = { .kind = LOAD_LANES };
    Loaded loaded = { 0 };
    JobQuery query = { 0 };
    JobSink sink = { 0 };
    QueryEnd end;
    Buf result = { 0 };
    NodeRow row;
    Renewal renewal = { 0 };
    uint64_t number;
    assert_int_equal(kind->commit(store, NULL, 0, NULL, &why), ERR_UNAVAILABLE);
    assert_int_equal(kind->sync(store, &why), ERR_UNAVAILABLE);
    assert_int_equal(kind->load(store, &load, &loaded, &why), ERR_UNAVAILABLE);
    assert_int_equal(kind->query(store, &query, &sink, &end, &why), ERR_UNAVAILABLE);
    assert_int_equal(kind->result(store, 1, &result, &why), ERR_UNAVAILABLE);
    assert_int_equal(kind->last_number(store, 7, &number, &why), ERR_UNAVAILABLE);
    assert_int_equal(kind->rollups(store, 0, NULL, NULL, &why), ERR_UNAVAILABLE);
    assert_int_equal(kind->renew(store, &renewal, &row, &why), ERR_UNAVAILABLE);
    assert_int_equal(kind->nodes(store, NULL, NULL, &why), ERR_UNAVAILABLE);
    assert_int_equal(kind->changes(store, 0, NULL, NULL, &why), ERR_UNAVAILABLE);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_read_as_it_was_written, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_node_without_one_is_told_so, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_damaged_one_is_refused, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_copy_is_refused, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_store_that_is_away_has_what_is_remembered,
                                        make_dir, remove_dir),
        cmocka_unit_test(it_does_not_answer_anything_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
