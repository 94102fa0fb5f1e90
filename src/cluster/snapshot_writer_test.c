/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_writer_test.c - what a node needs without its store is written down in time.
 */
#include "cluster/snapshot_writer.h"

#include "cluster/snapshot.h"
#include "core/handler.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_US 10000
#define WAITS   6000 /* a minute */

typedef struct World {
    char dir[64];
    char url[96];
    Identity identity;
    Store *store;
    SnapshotWriter *snapshot_writer;
} World;

static int open_world(void **state)
{
    World *world = MEM_NEW(World);
    Error why = { 0 };
    snprintf(world->dir, sizeof world->dir, "/tmp/pawl-remember-XXXXXX");
    assert_non_null(mkdtemp(world->dir));
    snprintf(world->url, sizeof world->url, "sqlite:%s/pawl.db", world->dir);
    world->identity = (Identity){ .sysid = "here-1", .number = 7 };
    assert_int_equal(store_open(world->url, &(StoreOptions){ 0 }, &world->store, &why),
                     ERR_OK);
    world->snapshot_writer = snapshot_writer_open(&(SnapshotWriterOptions){
        .data_dir = world->dir, .store_url = world->url, .identity = &world->identity });
    *state = world;
    return 0;
}

static int close_world(void **state)
{
    World *world = *state;
    snapshot_writer_close(world->snapshot_writer);
    store_close(world->store);
    DIR *dir = opendir(world->dir);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(world->dir);
    mem_free(world);
    return 0;
}

static void define(World *world, const char *key)
{
    Error why = { 0 };
    Op op = { .kind = OP_PUT,
              .table = SLICE_LITERAL(HANDLER_TABLE),
              .tenant = SLICE_LITERAL("acme"),
              .key = slice_text(key),
              .value = SLICE_LITERAL("sh") };
    Batch batch = { .node = 7, .ops = &op, .count = 1 };
    assert_int_equal(world->store->kind->commit(world->store, &batch, 1, NULL, &why),
                     ERR_OK);
}

/* How many definitions the file has; -1: there is none. */
static int written(const World *world, uint64_t *out_ids, uint64_t *out_position)
{
    Error why = { 0 };
    Snapshot snapshot;
    if (snapshot_read(world->dir, &snapshot, &why))
        return -1;
    assert_true(slice_is(snapshot.sysid, "here-1"));
    assert_true(slice_is(snapshot.store, world->url));
    assert_int_equal(snapshot.number, 7);
    int count = (int)snapshot.count;
    *out_ids = snapshot.ids;
    *out_position = snapshot.position;
    snapshot_done(&snapshot);
    return count;
}

static void until_written(const World *world, int count)
{
    uint64_t ids;
    uint64_t position;
    int waits = 0;
    while (written(world, &ids, &position) != count && waits++ < WAITS)
        usleep(WAIT_US);
    assert_int_equal(written(world, &ids, &position), count);
    assert_int_equal(ids, 5000);
    assert_int_equal(position, 300);
}

static void it_writes_at_the_start_and_when_something_changes(void **state)
{
    World *world = *state;
    define(world, "one");
    snapshot_writer_point(world->snapshot_writer, 5000, 300);
    until_written(world, 1);
    define(world, "two");
    snapshot_writer_touch(world->snapshot_writer);
    until_written(world, 2);
}

static void what_is_left_is_written_at_the_end(void **state)
{
    World *world = *state;
    snapshot_writer_point(world->snapshot_writer, 5000, 300);
    until_written(world, 0);
    define(world, "one");
    snapshot_writer_touch(world->snapshot_writer);
    snapshot_writer_close(world->snapshot_writer);
    world->snapshot_writer = NULL;
    until_written(world, 1);
}

/* Ids before the journal is known would be guesses. */
static void nothing_is_written_before_it_knows_how_far_the_journal_is(void **state)
{
    World *world = *state;
    uint64_t ids;
    uint64_t position;
    snapshot_writer_touch(world->snapshot_writer);
    snapshot_writer_close(world->snapshot_writer);
    world->snapshot_writer = NULL;
    assert_int_equal(written(world, &ids, &position), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_writes_at_the_start_and_when_something_changes,
                                        open_world, close_world),
        cmocka_unit_test_setup_teardown(what_is_left_is_written_at_the_end, open_world,
                                        close_world),
        cmocka_unit_test_setup_teardown(
            nothing_is_written_before_it_knows_how_far_the_journal_is, open_world,
            close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
