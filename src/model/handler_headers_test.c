/* SPDX-License-Identifier: Apache-2.0 */
/* handler_headers_test.c - which headers a handler may have, and what is shown of them.
 */
#include "model/handler_headers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static Err read_text(const char *text, Arena *arena, HandlerReader *in)
{
    const JsonIn *value;
    JsonFault fault;
    assert_int_equal(json_in_load(slice_text(text), arena, &value, &fault), ERR_OK);
    *in = (HandlerReader){ .job = { .arena = arena } };
    return handler_headers_read(in, value);
}

static void values_are_kept_and_not_shown(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    HandlerReader in;
    assert_int_equal(read_text("{\"A\":\"x=y: z\",\"b-c\":\"1\"}", &arena, &in), ERR_OK);
    assert_true(slice_equal(in.handler.headers, slice_of("A=x=y: z\0b-c=1", 15)));
    json_object(&json, NULL);
    handler_headers_json(&json, &in.handler);
    json_object_end(&json);
    assert_string_equal(buf_cstr(&out), "{\"headers\":{\"A\":null,\"b-c\":null}}");
    buf_done(&out);
    arena_done(&arena);
}

static void what_cannot_be_sent_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        { "{\"HOST\":\"x\"}", "sets itself" },
        { "{\"Pawl-X\":\"x\"}", "sets itself" },
        { "{\"a=b\":\"x\"}", "no valid name" },
        { "{\"\":\"x\"}", "no valid name" },
        { "{\"A\":\"x\\r\\ny\"}", "one line" },
        { "{\"A\":null}", "sent again" },
        { "{\"A\":\"x\",\"a\":\"y\"}", "twice" },
        { "{\"A\":7}", "needs a value" },
        { "[]", "must be an object" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena arena = { 0 };
        HandlerReader in;
        assert_int_equal(read_text(rows[i].text, &arena, &in), ERR_INVALID);
        if (!strstr(in.job.why.detail, rows[i].says))
            fail_msg("%s: %s", rows[i].text, in.job.why.detail);
        assert_int_equal(in.handler.headers.bytes, 0);
        arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_kept_and_not_shown),
        cmocka_unit_test(what_cannot_be_sent_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
