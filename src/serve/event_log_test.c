/* SPDX-License-Identifier: Apache-2.0 */
/* event_log_test.c - events of jobs: kept, written, resumed, and missed. */
#include "serve/event_log.h"

#include "json/json_in.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(EventLog *log, JobId id, const char *tenant)
{
    Effect effect = { .kind = EFFECT_CHANGED,
                      .id = id,
                      .state = JOB_READY,
                      .was = JOB_READY,
                      .added = true,
                      .count = 1,
                      .tenant = slice_text(tenant),
                      .queue = SLICE_LITERAL("q"),
                      .type = SLICE_LITERAL("t") };
    event_log_add(log, &effect, 1790000000000);
}

static size_t count_events(const Buf *out)
{
    size_t count = 0;
    Slice rest = buf_slice(out);
    while (rest.bytes) {
        Slice line = slice_cut(&rest, '\n');
        count += slice_starts(line, SLICE_LITERAL("data: {\"specversion\""));
    }
    return count;
}

static void each_event_is_a_cloudevent(void **state)
{
    (void)state;
    EventLog log;
    Buf out = { 0 };
    Arena arena = { 0 };
    const JsonIn *json;
    event_log_init(&log, 7, "node-1");
    EventCursor cursor = event_log_now(&log);
    assert_false(event_log_read(&log, &cursor, (Slice){ 0 }, &out));
    assert_int_equal(out.bytes, 0);
    add(&log, 4711, "acme");
    assert_false(event_log_read(&log, &cursor, (Slice){ 0 }, &out));
    Slice rest = buf_slice(&out);
    assert_true(slice_is(slice_cut(&rest, '\n'), "id: 7-1"));
    Slice data = slice_from(slice_cut(&rest, '\n'), strlen("data: "));
    assert_true(slice_is(rest, "\n"));
    assert_int_equal(json_in_load(data, &arena, &json, NULL), ERR_OK);
    assert_true(slice_is(json_in_text_of(json, "specversion"), "1.0"));
    assert_true(slice_is(json_in_text_of(json, "source"), "/nodes/node-1"));
    assert_true(slice_is(json_in_text_of(json, "type"), "pawl.job.added"));
    const JsonIn *job = json_in_find(json, "data");
    assert_true(slice_is(json_in_text_of(job, "tenant"), "acme"));
    assert_true(slice_is(json_in_text_of(job, "state"), "ready"));
    arena_done(&arena);
    buf_done(&out);
    event_log_done(&log);
}

static void a_listener_goes_on_where_it_was(void **state)
{
    (void)state;
    EventLog log;
    Buf out = { 0 };
    EventCursor cursor;
    event_log_init(&log, 7, "node-1");
    for (JobId id = 1; id <= 5; id++)
        add(&log, id, id % 2 ? "odd" : "even");
    assert_int_equal(event_cursor_parse(SLICE_LITERAL("7-2"), &cursor), ERR_OK);
    event_log_read(&log, &cursor, (Slice){ 0 }, &out);
    assert_int_equal(count_events(&out), 3);
    assert_int_equal(cursor.number, 5);
    buf_clear(&out);
    cursor = event_log_first(&log);
    event_log_read(&log, &cursor, SLICE_LITERAL("even"), &out);
    assert_int_equal(count_events(&out), 2);
    buf_done(&out);
    event_log_done(&log);
}

static void expect_reset(const EventLog *log, const char *id)
{
    Buf out = { 0 };
    EventCursor cursor;
    assert_int_equal(event_cursor_parse(slice_text(id), &cursor), ERR_OK);
    assert_false(event_log_read(log, &cursor, (Slice){ 0 }, &out));
    assert_true(slice_starts(buf_slice(&out), SLICE_LITERAL("event: reset\n")));
    assert_int_equal(count_events(&out), 0);
    buf_clear(&out);
    event_log_read(log, &cursor, (Slice){ 0 }, &out); /* and then it goes on */
    assert_int_equal(out.bytes, 0);
    buf_done(&out);
}

static void who_has_missed_too_much_is_told(void **state)
{
    (void)state;
    EventLog log;
    event_log_init(&log, 7, "node-1");
    for (JobId id = 1; id <= EVENT_LOG_ROWS + 10; id++)
        add(&log, id, "t");
    expect_reset(&log, "7-9");      /* just gone */
    expect_reset(&log, "6-16000");  /* of the start before */
    expect_reset(&log, "7-999999"); /* never was */
    Buf out = { 0 };
    EventCursor cursor = event_log_first(&log);
    size_t rounds = 1;
    while (event_log_read(&log, &cursor, (Slice){ 0 }, &out))
        rounds++;
    assert_int_equal(count_events(&out), EVENT_LOG_ROWS);
    assert_int_equal(rounds, (EVENT_LOG_ROWS + EVENT_READ_MAX - 1) / EVENT_READ_MAX);
    assert_int_equal(event_cursor_parse(SLICE_LITERAL("7"), &cursor), ERR_INVALID);
    assert_int_equal(event_cursor_parse(SLICE_LITERAL("x-1"), &cursor), ERR_INVALID);
    buf_done(&out);
    event_log_done(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_event_is_a_cloudevent),
        cmocka_unit_test(a_listener_goes_on_where_it_was),
        cmocka_unit_test(who_has_missed_too_much_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
