/* SPDX-License-Identifier: Apache-2.0 */
/* json_out_test.c - JSON that can always be parsed, whatever was put into it. */
#include "base/json_out.h"

#include "base/rng.h"
#include "base/text.h"
#include "base/times.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void expect_escape(Slice text, const char *escaped)
{
    Buf out = { 0 };
    json_escape(&out, text);
    assert_string_equal(buf_cstr(&out), escaped);
    buf_done(&out);
}

static void commas_stand_where_they_belong(void **state)
{
    (void)state;
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    json_object(&json, NULL);
    json_int(&json, "a", -5);
    json_array(&json, "b");
    json_array_end(&json);
    json_array(&json, "c");
    json_int(&json, NULL, 1);
    json_object(&json, NULL);
    json_object_end(&json);
    json_text(&json, NULL, slice_text("x"));
    json_array_end(&json);
    json_object(&json, "d");
    json_bool(&json, "t", true);
    json_bool(&json, "f", false);
    json_null(&json, "n");
    json_object_end(&json);
    json_cstr(&json, "e", NULL);
    json_cstr(&json, "g", "");
    json_raw(&json, "h", slice_text("[1,2]"));
    json_text_key(&json, slice_text("i\"\n"), slice_text("v"));
    json_object_end(&json);
    assert_string_equal(buf_cstr(&out),
                        "{\"a\":-5,\"b\":[],\"c\":[1,{},\"x\"],"
                        "\"d\":{\"t\":true,\"f\":false,\"n\":null},\"e\":null,"
                        "\"g\":\"\",\"h\":[1,2],\"i\\\"\\n\":\"v\"}");
    buf_done(&out);
}

static void numbers_times_and_durations_have_their_shapes(void **state)
{
    (void)state;
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    json_array(&json, NULL);
    json_int(&json, NULL, INT64_MIN);
    json_int(&json, NULL, INT64_MAX);
    json_double(&json, NULL, 0.25);
    json_double(&json, NULL, (double)NAN);
    json_double(&json, NULL, (double)INFINITY);
    json_time(&json, NULL, 0);
    json_time(&json, NULL, TIME_NEVER);
    json_time(&json, NULL, 1);
    json_duration(&json, NULL, 5400000);
    json_array_end(&json);
    assert_string_equal(buf_cstr(&out),
                        "[-9223372036854775808,9223372036854775807,0.25,null,null,"
                        "null,null,\"1970-01-01T00:00:00.001Z\",\"PT1H30M\"]");
    buf_done(&out);
}

static void every_byte_alone_is_escaped_or_itself(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char byte[] = { (char)c };
        Buf out = { 0 };
        json_escape(&out, slice_of(byte, 1));
        char expected[8];
        if (c >= 0x80)
            snprintf(expected, sizeof expected, "\\ufffd");
        else if (c == '"' || c == '\\')
            snprintf(expected, sizeof expected, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            snprintf(expected, sizeof expected, "\\%c",
                     c == '\n'   ? 'n'
                     : c == '\r' ? 'r'
                                 : 't');
        else if (c < 0x20 || c == 0x7f)
            snprintf(expected, sizeof expected, "\\u%04x", (unsigned)c);
        else
            snprintf(expected, sizeof expected, "%c", c);
        assert_string_equal(buf_cstr(&out), expected);
        buf_done(&out);
    }
}

static void bad_bytes_are_replaced_and_their_neighbours_kept(void **state)
{
    (void)state;
    expect_escape(slice_text(""), "");
    expect_escape((Slice){ NULL, 0 }, "");
    expect_escape(slice_text("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
    expect_escape(slice_text("\xe2\x82\xac"), "\xe2\x82\xac");
    expect_escape(slice_text("\xf0\x9f\x9a\x80!"), "\xf0\x9f\x9a\x80!");
    expect_escape(slice_text("a\xc3z"), "a\\ufffdz");
    expect_escape(slice_text("a\xc3"), "a\\ufffd");
    expect_escape(slice_text("\xe2\x82"), "\\ufffd\\ufffd");
    expect_escape(slice_text("\xed\xa0\x80"), "\\ufffd\\ufffd\\ufffd"); /* surrogate */
    expect_escape(slice_text("\xc0\xaf/"), "\\ufffd\\ufffd/");          /* overlong */
    expect_escape(slice_text("\xff\xc3\xbc\xff"), "\\ufffd\xc3\xbc\\ufffd");
    expect_escape(slice_of("a\0b", 3), "a\\u0000b");
}

/* Texts are looked at in words; a byte means the same wherever it is in one. */
static void a_byte_is_escaped_wherever_it_stands(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        for (size_t at = 0; at < 20; at++) {
            static const char letters[] = "abcdefghijklmnopqrst";
            char text[] = "abcdefghijklmnopqrst";
            Buf alone = { 0 };
            Buf expected = { 0 };
            Buf out = { 0 };
            JsonOut json = { .out = &out };
            text[at] = (char)c;
            json_escape(&alone, slice_of(text + at, 1));
            buf_printf(&expected, "\"%.*s" SLICE_FMT "%s\"", (int)at, letters,
                       SLICE_ARG(buf_slice(&alone)), &letters[at + 1]);
            json_text(&json, NULL, slice_of(text, 20));
            assert_true(slice_equal(buf_slice(&out), buf_slice(&expected)));
            buf_done(&alone);
            buf_done(&expected);
            buf_done(&out);
        }
    }
}

static void keys_and_values_of_any_length_are_whole(void **state)
{
    (void)state;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    for (size_t bytes = 0; bytes < sizeof letters; bytes++) {
        Arena arena = { 0 };
        Buf out = { 0 };
        JsonOut json = { .out = &out };
        char *key = slice_cstr(&arena, slice_of(letters, bytes));
        json_text(&json, key, slice_of(letters, bytes));
        json_raw(&json, key, slice_of(letters, bytes));
        Buf expected = { 0 };
        buf_printf(&expected, "\"%s\":\"%s\",\"%s\":%s", key, key, key, key);
        assert_string_equal(buf_cstr(&out), buf_cstr(&expected));
        buf_done(&expected);
        buf_done(&out);
        arena_done(&arena);
    }
}

static void the_same_moment_is_written_again(void **state)
{
    (void)state;
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    static const int64_t moments[] = { 1, 1, MS_PER_DAY, 0, 1, TIME_NEVER, MS_PER_DAY };
    json_array(&json, NULL);
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        json_time(&json, NULL, moments[i]);
    json_array_end(&json);
    assert_string_equal(buf_cstr(&out),
                        "[\"1970-01-01T00:00:00.001Z\",\"1970-01-01T00:00:00.001Z\","
                        "\"1970-01-02T00:00:00.000Z\",null,"
                        "\"1970-01-01T00:00:00.001Z\",null,"
                        "\"1970-01-02T00:00:00.000Z\"]");
    buf_done(&out);
}

/* Whether the text may stand between quotes in a JSON document. */
static bool may_be_quoted(Slice text)
{
    for (size_t i = 0; i < text.bytes; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < 0x20 || c == '"')
            return false;
        if (c != '\\')
            continue;
        if (++i == text.bytes || !strchr("\"\\nrtu", text.data[i]))
            return false;
        if (text.data[i] == 'u')
            i += 4;
        if (i >= text.bytes)
            return false;
    }
    return utf8_valid(text);
}

static void any_bytes_at_all_make_valid_text(void **state)
{
    (void)state;
    Rng rng = { 8 };
    for (int i = 0; i < 20000; i++) {
        char bytes[24];
        size_t count = rng_below(&rng, sizeof bytes + 1);
        for (size_t k = 0; k < count; k++) {
            static const char likely[] = "\xc3\xbc\xe2\x82\xac\xf0\x9f\x9a\x80\"\\\na";
            bytes[k] = rng_percent(&rng, 70) ? likely[rng_below(&rng, sizeof likely)]
                                             : (char)rng_below(&rng, 256);
        }
        char *copy = mem_copy(bytes, count); /* a look beyond its end is seen */
        Buf out = { 0 };
        json_escape(&out, slice_of(copy, count));
        assert_true(may_be_quoted(buf_slice(&out)));
        buf_done(&out);
        mem_free(copy);
    }
}

static void base64_is_the_one_of_rfc_4648(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        { "", "" },
        { "f", "Zg==" },
        { "fo", "Zm8=" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" },
        { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Buf out = { 0 };
        JsonOut json = { .out = &out };
        json_base64(&json, NULL, slice_text(table[i][0]));
        Slice inner = slice_of(out.data + 1, out.bytes - 2);
        assert_true(slice_is(inner, table[i][1]));
        buf_done(&out);
    }
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    json_base64(&json, "k", slice_of("\xff\xfe\xfd\x00", 4));
    assert_string_equal(buf_cstr(&out), "\"k\":\"//79AA==\"");
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_stand_where_they_belong),
        cmocka_unit_test(numbers_times_and_durations_have_their_shapes),
        cmocka_unit_test(every_byte_alone_is_escaped_or_itself),
        cmocka_unit_test(bad_bytes_are_replaced_and_their_neighbours_kept),
        cmocka_unit_test(a_byte_is_escaped_wherever_it_stands),
        cmocka_unit_test(keys_and_values_of_any_length_are_whole),
        cmocka_unit_test(the_same_moment_is_written_again),
        cmocka_unit_test(any_bytes_at_all_make_valid_text),
        cmocka_unit_test(base64_is_the_one_of_rfc_4648),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
