/* SPDX-License-Identifier: Apache-2.0 */
/* json_write_test.c - what is read and written is the same value. */
#include "json/json_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(const char *text, const char *wanted)
{
    Arena arena = { 0 };
    Buf out = { 0 };
    const JsonIn *value;
    assert_int_equal(json_in_load(slice_text(text), &arena, &value, NULL), ERR_OK);
    json_in_write(value, &out);
    assert_string_equal(buf_cstr(&out), wanted);
    buf_done(&out);
    arena_done(&arena);
}

static void every_kind_of_value_is_written(void **state)
{
    (void)state;
    expect(" null ", "null");
    expect("true", "true");
    expect("false", "false");
    expect("-9223372036854775808", "-9223372036854775808");
    expect("0.5", "0.5");
    expect("\"a\\\"\\n\\u00e9\"", "\"a\\\"\\n\303\251\"");
    expect("[ ]", "[]");
    expect("{ }", "{}");
    expect("[1, [2, {\"a\": null, \"b\\\"\": [true]}], \"x\"]",
           "[1,[2,{\"a\":null,\"b\\\"\":[true]}],\"x\"]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_value_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
