/* SPDX-License-Identifier: Apache-2.0 */
/* job_links_test.c - `after` and `unique` as clients send them. */
#include "model/job_links.h"

#include "core/after.h"
#include "core/unique.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define NOW_MS 1790000000000LL

typedef struct Fixture {
    Arena arena;
    JobRules rules;
    JobReader reader;
    char id[ID_TEXT_BYTES];
} Fixture;

static Err read_job(Fixture *fixture, const char *format)
{
    char text[400];
    const JsonIn *value = NULL;
    JsonFault fault = { 0 };
    JobId id = id_from_count((uint64_t)(NOW_MS - ID_EPOCH_MS) << 12, 1);
    /* The one % in the text stands for a good id. */
    const char *mark = strchr(format, '%');
    int before = mark ? (int)(mark - format) : (int)strlen(format);
    snprintf(text, sizeof text, "%.*s%s%s", before, format,
             mark ? id_text(id, fixture->id) : "", mark ? mark + 1 : "");
    assert_int_equal(json_in_load(slice_copy(&fixture->arena, slice_text(text)),
                                  &fixture->arena, &value, &fault),
                     ERR_OK);
    fixture->rules = (JobRules){ .tenant = SLICE_LITERAL("default"),
                                 .wall_ms = NOW_MS,
                                 .payload_bytes_max = 1000 };
    fixture->reader = (JobReader){ .rules = &fixture->rules, .arena = &fixture->arena };
    return job_read(&fixture->reader, value);
}

static void ids_and_conditions_are_read(void **state)
{
    (void)state;
    Fixture fixture = { 0 };
    AfterItem item;
    assert_int_equal(read_job(&fixture, "{\"type\":\"a\",\"after\":[\"%\"]}"), ERR_OK);
    Slice rest = fixture.reader.job.after;
    assert_true(after_next(&rest, &item));
    assert_int_equal(item.on, AFTER_OK);
    assert_int_equal(
        read_job(&fixture, "{\"type\":\"a\",\"after\":[{\"id\":\"%\",\"on\":\"fail\"}]}"),
        ERR_OK);
    rest = fixture.reader.job.after;
    assert_true(after_next(&rest, &item));
    assert_int_equal(item.on, AFTER_FAIL);
    assert_int_equal(read_job(&fixture, "{\"type\":\"a\",\"after\":\"%\"}"), ERR_OK);
    assert_int_equal(read_job(&fixture, "{\"type\":\"a\",\"after\":[]}"), ERR_OK);
    assert_int_equal(fixture.reader.job.after.bytes, 0);
    arena_done(&fixture.arena);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{\"type\":\"a\",\"after\":[\"build\"]}",
        "{\"type\":\"a\",\"after\":[7]}",
        "{\"type\":\"a\",\"after\":[{\"on\":\"ok\"}]}",
        "{\"type\":\"a\",\"after\":[{\"id\":\"%\",\"on\":\"maybe\"}]}",
        "{\"type\":\"a\",\"after\":[{\"id\":\"%\",\"or\":\"ok\"}]}",
        "{\"type\":\"a\",\"after\":[\"7zzzzzzzzzzzz\"]}", /* not yet */
        "{\"type\":\"a\",\"unique\":\"k\"}",
        "{\"type\":\"a\",\"unique\":{}}",
        "{\"type\":\"a\",\"unique\":{\"key\":\"\"}}",
        "{\"type\":\"a\",\"unique\":{\"key\":\"k\",\"for\":\"soon\"}}",
        "{\"type\":\"a\",\"unique\":{\"key\":\"k\",\"on_conflict\":\"panic\"}}",
        "{\"type\":\"a\",\"unique\":{\"key\":\"k\",\"until\":1}}",
        "{\"type\":\"a\",\"group\":\"a b\"}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Fixture fixture = { 0 };
        assert_int_equal(read_job(&fixture, wrong[i]), ERR_INVALID);
        arena_done(&fixture.arena);
    }
}

static void a_unique_key_is_read(void **state)
{
    (void)state;
    Fixture fixture = { 0 };
    Unique unique;
    assert_int_equal(read_job(&fixture, "{\"type\":\"a\",\"unique\":{\"key\":\"order 7\","
                                        "\"for\":\"PT1H\",\"on_conflict\":\"ignore\"}}"),
                     ERR_OK);
    assert_true(unique_read(fixture.reader.job.unique, &unique));
    assert_true(slice_is(unique.key, "order 7"));
    assert_int_equal(unique.for_ms, MS_PER_HOUR);
    assert_int_equal(unique.on_conflict, CONFLICT_IGNORE);
    arena_done(&fixture.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_and_conditions_are_read),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_unique_key_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
