/* SPDX-License-Identifier: Apache-2.0 */
/* audit_find_test.c - the last one who did it, and no one else. */
#include "access/audit_find.h"

#include "base/times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define NOW_MS 1790000000000LL

static Store *store;
static unsigned rows;

static void put(Slice table, Slice key, Slice value)
{
    Batch batch = { .node = 1, .number = rows * 2 + (table.bytes > 5) };
    Op *op = batch_op(&batch, OP_PUT, 0);
    op->table = table;
    op->key = key;
    op->value = value;
    assert_int_equal(store->kind->commit(store, &batch, 1, NULL, NULL), ERR_OK);
    batch_done(&batch);
}

static void write_row(AuditRow row)
{
    char table[AUDIT_HOUR_BYTES];
    char key[AUDIT_KEY_BYTES];
    Buf packed = { 0 };
    Slice name = audit_hour_table(audit_hour(row.at_ms), table);
    rows++;
    audit_row_pack(&packed, &row);
    put(SLICE_LITERAL(AUDIT_TABLE), slice_from(name, strlen(AUDIT_HOUR_TABLE)),
        SLICE_LITERAL("1"));
    put(name, audit_key(row.at_ms, 1, rows, key), buf_slice(&packed));
    buf_done(&packed);
}

static AuditRow hold(const char *id, const char *who, int64_t at_ms)
{
    return (AuditRow){ .at_ms = at_ms,
                       .who = slice_text(who),
                       .from = SLICE_LITERAL("unix"),
                       .action = SLICE_LITERAL("hold"),
                       .kind = SLICE_LITERAL("job"),
                       .tenant = SLICE_LITERAL("acme"),
                       .target = slice_text(id),
                       .count = 1 };
}

static void expect(AuditSeek seek, const char *who)
{
    Arena arena = { 0 };
    AuditRow found;
    assert_int_equal(audit_find(store, &seek, &arena, &found, NULL), ERR_OK);
    assert_true(slice_is(found.who, who));
    assert_int_equal(found.at_ms != 0, who[0] != '\0');
    arena_done(&arena);
}

static void the_last_one_is_found(void **state)
{
    (void)state;
    AuditSeek seek = { .kind = SLICE_LITERAL("job"),
                       .target = SLICE_LITERAL("a"),
                       .tenant = SLICE_LITERAL("acme"),
                       .action = SLICE_LITERAL("hold") };
    expect(seek, "");
    write_row(hold("a", "uid:1", NOW_MS - 3 * MS_PER_HOUR));
    write_row(hold("a", "uid:2", NOW_MS));
    write_row(hold("a", "uid:3", NOW_MS + 1));
    write_row(hold("b", "uid:4", NOW_MS + 2));
    AuditRow other = hold("a", "uid:5", NOW_MS + 3);
    other.action = SLICE_LITERAL("release");
    write_row(other);
    other = hold("a", "uid:6", NOW_MS + 4);
    other.tenant = SLICE_LITERAL("beta");
    write_row(other);
    expect(seek, "uid:3");
    seek.tenant = (Slice){ NULL, 0 };
    expect(seek, "uid:6");
    seek.target = SLICE_LITERAL("c");
    expect(seek, "");
    seek.target = SLICE_LITERAL("a");
    seek.from_ms = NOW_MS + 2 * MS_PER_HOUR;
    expect(seek, "");
}

/* A later change that leaves it as it was is not the one. */
static void the_one_who_changed_it_is_found(void **state)
{
    (void)state;
    AuditRow row = hold("q", "uid:7", NOW_MS);
    row.before = SLICE_LITERAL("{\"paused\":false}");
    row.after = SLICE_LITERAL("{\"paused\":true}");
    write_row(row);
    row = hold("q", "uid:8", NOW_MS + 1);
    row.before = row.after = SLICE_LITERAL("{\"paused\":true}");
    write_row(row);
    expect((AuditSeek){ .kind = SLICE_LITERAL("job"),
                        .target = SLICE_LITERAL("q"),
                        .action = SLICE_LITERAL("hold"),
                        .after = "\"paused\":true" },
           "uid:7");
}

static int open_store(void **state)
{
    (void)state;
    StoreOptions options = { 0 };
    return store_open("memory:", &options, &store, NULL) != ERR_OK;
}

static int close_store(void **state)
{
    (void)state;
    store_close(store);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_one_is_found),
        cmocka_unit_test(the_one_who_changed_it_is_found),
    };
    return cmocka_run_group_tests(tests, open_store, close_store);
}
