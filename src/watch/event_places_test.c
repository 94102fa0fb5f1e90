/* SPDX-License-Identifier: Apache-2.0 */
/* event_places_test.c - where a listener stands, as text and back. */
#include "watch/event_places.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect_same(const char *text)
{
    EventPlaces places = { 0 };
    Buf out = { 0 };
    assert_int_equal(event_places_parse(slice_text(text), &places), ERR_OK);
    event_places_write(&out, &places);
    assert_string_equal(buf_cstr(&out), text);
    buf_done(&out);
    event_places_done(&places);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    expect_same("7-12");
    expect_same("1:1876954316800004-9223372036854775807,1023:5-0,2:0-0");
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",       "7",       "x-1",           "7-",         "-1-2",
        "1:7",    "0:7-1",   "1024:7-1",      "1:7-1,",     ",1:7-1",
        "1::7-1", "1:2:3-4", "1:7-1,2-2,3-3", "1:7-1,1:8-1"
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        EventPlaces places = { 0 };
        assert_int_equal(event_places_parse(slice_text(texts[i]), &places), ERR_INVALID);
        assert_null(places.list);
    }
}

static void places_come_and_go(void **state)
{
    (void)state;
    EventPlaces places = { 0 };
    for (uint32_t node = 1; node <= 3; node++)
        event_place_add(&places, node, (EventCursor){ node, 10 * node });
    event_place_drop(&places, event_place_find(&places, 1));
    event_place_drop(&places, event_place_find(&places, 3));
    assert_int_equal(places.count, 1);
    assert_int_equal(event_place_find(&places, 2)->at.number, 20);
    assert_null(event_place_find(&places, 3));
    event_places_done(&places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(places_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
