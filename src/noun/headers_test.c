/* SPDX-License-Identifier: Apache-2.0 */
/* headers_test.c - which headers a handler may have, and what is shown of them.
 */
#include "noun/headers.h"

#include "noun/handler.h"
#include "noun/testing.h"

#include <string.h>

static Err read_text(const char *text, Arena *arena, Handler *handler, Problem *why)
{
    NounIn in = noun_in(&handler_noun, "h", handler, arena, why);
    Buf object = { 0 };
    buf_printf(&object, "{\"headers\":%s}", text);
    Err err = noun_read(&in, json_of_text(slice_cstr(arena, buf_slice(&object)), arena));
    buf_done(&object);
    return err;
}

static void values_are_kept_and_not_shown(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    Handler handler;
    Problem why = { 0 };
    assert_int_equal(
        read_text("{\"A\":\"x=y: z\",\"b-c\":\"1\"}", &arena, &handler, &why), ERR_OK);
    assert_true(slice_equal(handler.headers, slice_of("A=x=y: z\0b-c=1", 15)));
    json_object(&json, NULL);
    field_write(&json, noun_field(&handler_noun, SLICE_LITERAL("headers")),
                &(NounView){ .noun = &handler_noun, .object = &handler });
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
        Handler handler;
        Problem why = { 0 };
        assert_int_equal(read_text(rows[i].text, &arena, &handler, &why), ERR_INVALID);
        if (!strstr(why.detail, rows[i].says))
            fail_msg("%s: %s", rows[i].text, why.detail);
        assert_int_equal(handler.headers.bytes, 0);
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
