/* SPDX-License-Identifier: Apache-2.0 */
/* move_file_test.c - what a store gives to a file comes back equal, and a file that is
 * not whole gives nothing. */
#include "move/move_file.h"

#include "testing/testdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define JOBS 3

static Store *open_file(const TestDir *dir, const char *name)
{
    char url[256];
    Error why = { 0 };
    Store *store = NULL;
    snprintf(url, sizeof url, "sqlite:%s", testdir_file(dir, name));
    if (store_open(url, &(StoreOptions){ 0 }, &store, &why))
        fail_msg("%s", why.text);
    return store;
}

/* Jobs and a definition whose value has every byte in it. */
static void fill(Store *store)
{
    Batch batch = { .node = 1, .number = 1 };
    Error why = { 0 };
    char every[256];
    Job jobs[JOBS];
    for (int i = 0; i < 256; i++)
        every[i] = (char)i;
    for (JobId id = 1; id <= JOBS; id++) {
        Op *op = batch_op(&batch, OP_ADD, id);
        jobs[id - 1] = (Job){ .id = id,
                              .state = JOB_READY,
                              .tenant = SLICE_LITERAL("default"),
                              .type = SLICE_LITERAL("mail"),
                              .queue = SLICE_LITERAL("default"),
                              .payload = slice_of(every, sizeof every) };
        op->job = &jobs[id - 1];
    }
    Op *op = batch_op(&batch, OP_PUT, 0);
    op->table = SLICE_LITERAL("queue");
    op->key = SLICE_LITERAL("slow");
    op->value = slice_of(every, sizeof every);
    if (store->kind->commit(store, &batch, 1, NULL, &why))
        fail_msg("%s", why.text);
    batch_done(&batch);
}

/* The file of a store, as text; the caller frees it. */
static Slice text_of(Store *store)
{
    char *text = NULL;
    size_t bytes = 0;
    uint64_t rows = 0;
    Error why = { 0 };
    FILE *file = open_memstream(&text, &bytes);
    if (move_file_write(store, file, &rows, &why))
        fail_msg("%s", why.text);
    fclose(file);
    assert_true(rows > JOBS);
    return slice_of(text, bytes);
}

static void free_text(Slice text)
{
    free((void *)(uintptr_t)text.data);
}

static void into_job(void *context, const Row *row)
{
    move_in_job(context, row);
}

static void into_row(void *context, const MoveTable *table, const MoveValue *values)
{
    move_in_row(context, table, values);
}

static void count_job(void *context, const Row *row)
{
    (void)row;
    ++*(unsigned *)context;
}

static void count_row(void *context, const MoveTable *table, const MoveValue *values)
{
    (void)table;
    (void)values;
    ++*(unsigned *)context;
}

static void what_is_written_comes_back(void **state)
{
    (void)state;
    TestDir dir;
    Error why = { 0 };
    uint64_t rows = 0;
    testdir_make(&dir);
    Store *first = open_file(&dir, "first.db");
    Store *second = open_file(&dir, "second.db");
    fill(first);
    Slice text = text_of(first);
    const MoveSink sink = { into_job, into_row, second };
    assert_int_equal(move_in_begin(second, false, &why), ERR_OK);
    assert_int_equal(move_file_read(text, &sink, &rows, &why), ERR_OK);
    assert_int_equal(move_in_end(second, true, &why), ERR_OK);
    Slice again = text_of(second);
    assert_true(slice_equal(text, again));
    free_text(text);
    free_text(again);
    store_close(first);
    store_close(second);
    testdir_remove(&dir);
}

/* Refused before anything of it is told. */
static Err read_counting(Slice text, unsigned *count, Error *why)
{
    uint64_t rows = 0;
    const MoveSink sink = { count_job, count_row, count };
    return move_file_read(text, &sink, &rows, why);
}

static void every_cut_and_every_changed_byte_is_noticed(void **state)
{
    (void)state;
    TestDir dir;
    Error why = { 0 };
    unsigned count = 0;
    testdir_make(&dir);
    Store *store = open_file(&dir, "one.db");
    fill(store);
    Slice text = text_of(store);
    char *bytes = (char *)(uintptr_t)text.data;
    for (size_t cut = 0; cut < text.bytes; cut++)
        assert_int_not_equal(read_counting(slice_of(bytes, cut), &count, &why), ERR_OK);
    for (size_t at = 0; at < text.bytes; at++) {
        bytes[at] = (char)(bytes[at] ^ 1);
        assert_int_not_equal(read_counting(text, &count, &why), ERR_OK);
        bytes[at] = (char)(bytes[at] ^ 1);
    }
    assert_int_equal(count, 0);
    assert_int_equal(read_counting(text, &count, &why), ERR_OK);
    assert_true(count > JOBS);
    free_text(text);
    store_close(store);
    testdir_remove(&dir);
}

static void errors_name_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        Err err;
        const char *says;
    } rows[] = {
        { "", ERR_INVALID, "no export of a store" },
        { "id|type|payload\n", ERR_INVALID, "no export of a store" },
        { "{\"pawl_export\":2}\n", ERR_UNSUPPORTED, "another format" },
        { "{\"pawl_export\":1}\n", ERR_CORRUPT, "cut off" },
        { "{\"pawl_export\":1}\n{\"rows\":0,\"xxh3\":\"00\"}\n", ERR_CORRUPT, "damaged" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Error why = { 0 };
        unsigned count = 0;
        assert_int_equal(read_counting(slice_text(rows[i].text), &count, &why),
                         rows[i].err);
        assert_non_null(strstr(why.text, rows[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back),
        cmocka_unit_test(every_cut_and_every_changed_byte_is_noticed),
        cmocka_unit_test(errors_name_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
