/* SPDX-License-Identifier: Apache-2.0 */
/* text_test.c - names, UTF-8 over all short sequences, numbers, near misses. */
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static bool one_of(int c, const char *set)
{
    return c && strchr(set, c) != NULL;
}

#define FIRST "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static void names_have_the_letters_they_may_have(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char alone[] = { (char)c };
        char second[] = { 'a', (char)c };
        bool first_ok = one_of(c, FIRST);
        assert_int_equal(name_valid(slice_of(alone, 1)), first_ok);
        assert_int_equal(queue_name_valid(slice_of(alone, 1)), first_ok);
        assert_int_equal(name_valid(slice_of(second, 2)), one_of(c, FIRST ".:-"));
        assert_int_equal(queue_name_valid(slice_of(second, 2)),
                         one_of(c, FIRST ".:+/;$()-"));
    }
}

static void names_have_the_lengths_they_may_have(void **state)
{
    (void)state;
    char text[300];
    memset(text, 'q', sizeof text);
    for (size_t bytes = 0; bytes <= sizeof text; bytes++) {
        assert_int_equal(name_valid(slice_of(text, bytes)), bytes >= 1 && bytes <= 128);
        assert_int_equal(queue_name_valid(slice_of(text, bytes)),
                         bytes >= 1 && bytes <= 200);
    }
}

static void queues_cannot_climb_and_tenants_cannot_shadow_paths(void **state)
{
    (void)state;
    assert_true(queue_name_valid(slice_text("a.b.c")));
    assert_false(queue_name_valid(slice_text("a..b")));
    assert_false(queue_name_valid(slice_text("a..")));
    assert_true(queue_name_valid(slice_text("tube/+;$()")));
    assert_true(tenant_name_valid(slice_text("acme")));
    assert_true(tenant_name_valid(slice_text("apis")));
    static const char *const reserved[] = { "api",          "ui",      "metrics", "livez",
                                            "readyz",       "healthz", "docs",    "add",
                                            "openapi.json", "start",   "stop",    "quit",
                                            "static" };
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        assert_false(tenant_name_valid(slice_text(reserved[i])));
    assert_false(tenant_name_valid(slice_text("a/b")));
}

/* RFC 3629's table of well-formed sequences of exactly `count` bytes. */
static bool well_formed(const unsigned char *b, size_t count)
{
#define TAIL(i) (b[i] >= 0x80 && b[i] <= 0xbf)
    if (count == 1)
        return b[0] <= 0x7f;
    if (count == 2)
        return b[0] >= 0xc2 && b[0] <= 0xdf && TAIL(1);
    if (count == 3) {
        if (!TAIL(2))
            return false;
        if (b[0] == 0xe0)
            return b[1] >= 0xa0 && b[1] <= 0xbf;
        if (b[0] == 0xed)
            return b[1] >= 0x80 && b[1] <= 0x9f;
        return b[0] >= 0xe1 && b[0] <= 0xef && TAIL(1);
    }
    if (!TAIL(2) || !TAIL(3))
        return false;
    if (b[0] == 0xf0)
        return b[1] >= 0x90 && b[1] <= 0xbf;
    if (b[0] == 0xf4)
        return b[1] >= 0x80 && b[1] <= 0x8f;
    return b[0] >= 0xf1 && b[0] <= 0xf3 && TAIL(1);
#undef TAIL
}

/* Whether the bytes are some sequence of well-formed ones. */
static bool all_well_formed(const unsigned char *b, size_t count)
{
    if (!count)
        return true;
    for (size_t length = 1; length <= count && length <= 4; length++)
        if (well_formed(b, length) && all_well_formed(b + length, count - length))
            return true;
    return false;
}

static void utf8_is_told_from_all_else_up_to_three_bytes(void **state)
{
    (void)state;
    unsigned char b[3];
    for (size_t count = 1; count <= 3; count++) {
        for (uint32_t all = 0; all < 1u << (8 * count); all++) {
            for (size_t i = 0; i < count; i++)
                b[i] = (unsigned char)(all >> (8 * i));
            Slice text = slice_of((const char *)b, count);
            if (utf8_valid(text) != all_well_formed(b, count))
                fail_msg("utf8_valid is wrong on %02x %02x %02x (%zu)", b[0], b[1], b[2],
                         count);
        }
    }
    assert_true(utf8_valid((Slice){ NULL, 0 }));
    assert_int_equal(utf8_prefix(SLICE_LITERAL("a\xc3\xa9z\xe9\x80")), 4);
    assert_int_equal(utf8_prefix(SLICE_LITERAL("a\xc3\xa9z")), 4);
}

static void utf8_of_four_bytes_ends_at_the_last_code_point(void **state)
{
    (void)state;
    unsigned char b[4];
    for (unsigned lead = 0xf0; lead < 0x100; lead++) {
        for (unsigned second = 0x70; second < 0xd0; second++) {
            for (unsigned tail = 0x7f; tail <= 0xc0; tail++) {
                b[0] = (unsigned char)lead;
                b[1] = (unsigned char)second;
                b[2] = (unsigned char)tail;
                b[3] = (unsigned char)(0x7f + 0xc0 - tail);
                bool right = well_formed(b, 4);
                assert_int_equal(utf8_valid(slice_of((const char *)b, 4)), right);
                assert_false(utf8_valid(slice_of((const char *)b, 3)));
            }
        }
    }
}

static void whole_numbers_are_read_and_nothing_else(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        Err err;
        int64_t value;
    } table[] = {
        { "0", ERR_OK, 0 },
        { "-0", ERR_OK, 0 },
        { "+7", ERR_OK, 7 },
        { "007", ERR_OK, 7 },
        { "-12", ERR_OK, -12 },
        { "9223372036854775807", ERR_OK, INT64_MAX },
        { "-9223372036854775808", ERR_OK, INT64_MIN },
        { "9223372036854775808", ERR_LIMIT, 0 },
        { "-9223372036854775809", ERR_LIMIT, 0 },
        { "99999999999999999999999", ERR_LIMIT, 0 },
        { "", ERR_INVALID, 0 },
        { "-", ERR_INVALID, 0 },
        { "+", ERR_INVALID, 0 },
        { "--1", ERR_INVALID, 0 },
        { " 1", ERR_INVALID, 0 },
        { "1 ", ERR_INVALID, 0 },
        { "1.0", ERR_INVALID, 0 },
        { "0x10", ERR_INVALID, 0 },
        { "1e3", ERR_INVALID, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int64_t value = 0;
        assert_int_equal(int_parse(slice_text(table[i].text), &value), table[i].err);
        assert_true(value == table[i].value);
    }
    for (int64_t number = -2000; number <= 2000; number++) {
        char text[24];
        int64_t value = 0;
        snprintf(text, sizeof text, "%lld", (long long)number);
        assert_int_equal(int_parse(slice_text(text), &value), ERR_OK);
        assert_true(value == number);
    }
}

static void a_near_miss_is_recognised(void **state)
{
    (void)state;
    static const char *const words[] = { "state", "queue", "priority", "tag", "q", NULL };
    static const struct {
        const char *word;
        const char *near;
    } table[] = {
        { "stat", "state" },      { "states", "state" }, { "tsate", "state" },
        { "quue", "queue" },      { "queeu", "queue" },  { "prioritty", "priority" },
        { "piorty", "priority" }, { "tags", "tag" },     { "state", "state" },
        { "banana", NULL },       { "prio", NULL },      { "", NULL },
        { "xyz", NULL },          { "statexyz", NULL },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *near = nearest_word(slice_text(table[i].word), words);
        if (table[i].near)
            assert_string_equal(near, table[i].near);
        else
            assert_null(near);
    }
    char longest[200];
    memset(longest, 'a', sizeof longest);
    assert_null(nearest_word(slice_of(longest, sizeof longest), words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_the_letters_they_may_have),
        cmocka_unit_test(names_have_the_lengths_they_may_have),
        cmocka_unit_test(queues_cannot_climb_and_tenants_cannot_shadow_paths),
        cmocka_unit_test(utf8_is_told_from_all_else_up_to_three_bytes),
        cmocka_unit_test(utf8_of_four_bytes_ends_at_the_last_code_point),
        cmocka_unit_test(whole_numbers_are_read_and_nothing_else),
        cmocka_unit_test(a_near_miss_is_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
