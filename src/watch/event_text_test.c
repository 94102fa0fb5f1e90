/* SPDX-License-Identifier: Apache-2.0 */
/* event_text_test.c - events as listeners and other daemons get them. */
#include "watch/event_text.h"

#include "json/json_in.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const EventRow row = { .wall_ms = 1790000000000,
                              .id = 4711,
                              .attempt = 2,
                              .state = JOB_FAILED,
                              .was = JOB_RUNNING,
                              .code = CODE_FAILED,
                              .priority = -3,
                              .run_ms = 12,
                              .count = 1,
                              .tenant = { "acme", 4 },
                              .queue = { "q", 1 },
                              .type = { "t", 1 } };

static void each_event_is_a_cloudevent(void **state)
{
    (void)state;
    Buf out = { 0 };
    Arena arena = { 0 };
    const JsonIn *json;
    event_write(&out, &row, &(EventName){ "node-1", { 7, 1 }, SLICE_LITERAL("3:7-1") });
    Slice rest = buf_slice(&out);
    assert_true(slice_is(slice_cut(&rest, '\n'), "id: 3:7-1"));
    Slice data = slice_from(slice_cut(&rest, '\n'), strlen("data: "));
    assert_true(slice_is(rest, "\n"));
    assert_int_equal(json_in_load(data, &arena, &json, NULL), ERR_OK);
    assert_true(slice_is(json_in_text_of(json, "specversion"), "1.0"));
    assert_true(slice_is(json_in_text_of(json, "id"), "7-1"));
    assert_true(slice_is(json_in_text_of(json, "source"), "/nodes/node-1"));
    assert_true(slice_is(json_in_text_of(json, "type"), "pawl.job.finished"));
    const JsonIn *job = json_in_find(json, "data");
    assert_true(slice_is(json_in_text_of(job, "tenant"), "acme"));
    assert_true(slice_is(json_in_text_of(job, "state"), "failed"));
    arena_done(&arena);
    buf_done(&out);
}

static void packed_events_are_read_back(void **state)
{
    (void)state;
    Buf packed = { 0 };
    Buf here = { 0 };
    Buf there = { 0 };
    EventRow back;
    const EventName name = { "n", { 1, 1 }, SLICE_LITERAL("1-1") };
    event_pack(&packed, &row);
    event_pack(&packed, &(EventRow){ .id = 5, .added = true });
    Slice rest = buf_slice(&packed);
    assert_true(event_unpack(&rest, &back));
    event_write(&here, &row, &name);
    event_write(&there, &back, &name);
    assert_string_equal(buf_cstr(&here), buf_cstr(&there));
    assert_true(event_unpack(&rest, &back));
    assert_int_equal(back.id, 5);
    assert_true(back.added);
    assert_false(event_unpack(&rest, &back));
    buf_done(&packed);
    buf_done(&here);
    buf_done(&there);
}

static void what_makes_no_sense_is_not_read(void **state)
{
    (void)state;
    Buf packed = { 0 };
    EventRow back;
    event_pack(&packed, &(EventRow){ .id = 5, .state = (JobState)JOB_STATES });
    Slice rest = buf_slice(&packed);
    assert_false(event_unpack(&rest, &back));
    rest = SLICE_LITERAL("\xff\xff");
    assert_false(event_unpack(&rest, &back));
    buf_done(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_event_is_a_cloudevent),
        cmocka_unit_test(packed_events_are_read_back),
        cmocka_unit_test(what_makes_no_sense_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
