/* SPDX-License-Identifier: Apache-2.0 */
/* declare_test.c - each kind of definition that a file may hold, from its object. */
#include "config/declare.h"

#include "core/handler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static Err read_text(const char *section, const char *json, Arena *arena, Buf *out,
                     Declaring *in)
{
    *in = (Declaring){ .tenant = SLICE_LITERAL("acme"),
                       .name = SLICE_LITERAL("thing"),
                       .arena = arena };
    assert_int_equal(json_in_load(slice_text(json), arena, &in->object, NULL), ERR_OK);
    const DeclareSection *row =
        declare_section_find(declare_sections(), slice_text(section));
    assert_non_null(row);
    return row->read(row->noun, in, out);
}

static void a_handler_is_what_the_api_would_make_of_it(void **state)
{
    Arena arena = { 0 };
    Buf value = { 0 };
    Declaring in;
    Handler handler;
    (void)state;
    assert_int_equal(read_text("handlers",
                               "{\"lang\":\"exec\",\"body\":\"cat -n\","
                               "\"max_retries\":3,\"env\":[\"LANG=C\"]}",
                               &arena, &value, &in),
                     ERR_OK);
    assert_int_equal(handler_unpack(buf_slice(&value), &handler), ERR_OK);
    assert_true(slice_is(handler.tenant, "acme"));
    assert_true(slice_is(handler.type, "thing"));
    assert_int_equal(handler.lang, LANG_EXEC);
    assert_true(slice_is(handler.body, "cat -n"));
    assert_int_equal(handler.max_retries, 3);
    buf_clear(&value);
    assert_int_equal(
        read_text("handlers", "{\"body\":\"x\",\"lung\":\"sh\"}", &arena, &value, &in),
        ERR_INVALID);
    assert_string_equal(in.why.kind->code, "unknown_field");
    assert_string_equal(in.why.pointer, "/lung");
    assert_int_equal(value.bytes, 0);
    buf_done(&value);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_is_what_the_api_would_make_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
