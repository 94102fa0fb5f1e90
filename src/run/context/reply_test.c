/* SPDX-License-Identifier: Apache-2.0 */
/* reply_test.c - what a warm context says, whole and in pieces. */
#include "run/context/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ID "0s85qavqg0400"
#define SAID                                                                             \
    "R: " ID " 200 all well\n"                                                           \
    "J: " ID " child|one|two\n"                                                          \
    "#J: " ID " child|<<7\nab\ncd\ne\n"                                                  \
    "J!: " ID " child|now\n"                                                             \
    "P: " ID " 45 half way\n"                                                            \
    "O: " ID " 10 0\n"                                                                   \
    "R: " ID " 404 <<4\n\n\n\n\n"                                                        \
    "R: " ID " 200\n"

static const struct Expected {
    ReplyKind kind;
    int32_t number;
    const char *text;
} expected[] = {
    { REPLY_RESULT, 200, "all well" },  { REPLY_CHILD, 0, "one|two" },
    { REPLY_CHILD, 0, "ab\ncd\ne" },    { REPLY_CHILD_NOW, 0, "now" },
    { REPLY_PROGRESS, 45, "half way" }, { REPLY_OUTPUT, 0, "" },
    { REPLY_RESULT, 404, "\n\n\n\n" },  { REPLY_RESULT, 200, "" },
};
#define EXPECTED (sizeof expected / sizeof *expected)

static void put(ReplyReader *reader, const char *text, size_t bytes)
{
    memcpy(reply_room(reader, bytes), text, bytes);
    reply_put(reader, bytes);
}

/* S2.47: the same answers however the bytes were cut. */
static void every_kind_of_line_in_pieces_of_any_size(void **state)
{
    (void)state;
    for (size_t piece = 1; piece < sizeof SAID; piece++) {
        ReplyReader reader = { .result_bytes_max = 1000 };
        size_t seen = 0;
        for (size_t at = 0; at < sizeof SAID - 1; at += piece) {
            size_t left = sizeof SAID - 1 - at;
            put(&reader, &SAID[at], left < piece ? left : piece);
            Reply reply;
            while (reply_next(&reader, &reply)) {
                assert_true(seen < EXPECTED);
                assert_int_equal(reply.kind, expected[seen].kind);
                assert_int_equal(reply.number, expected[seen].number);
                assert_true(slice_is(reply.text, expected[seen].text));
                assert_false(reply.cut);
                seen++;
            }
        }
        assert_int_equal(seen, EXPECTED);
        reply_done(&reader);
    }
}

static void what_is_not_exactly_so_is_bad(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "hello",           "R: 200 no id",     "R: " ID,           "R: " ID " 99 x",
        "R: " ID " 600 x", "R: " ID " -200 x", "J: " ID " no bar", "J: " ID " ../up|x",
        "P: " ID " 101 x", "O: " ID " 1",      "O: " ID " 1 2 3",  " R: " ID " 200 x",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ReplyReader reader = { .result_bytes_max = 1000 };
        Reply reply;
        put(&reader, lines[i], strlen(lines[i]));
        assert_false(reply_next(&reader, &reply)); /* not before the line is over */
        put(&reader, "\n", 1);
        assert_true(reply_next(&reader, &reply));
        assert_int_equal(reply.kind, REPLY_BAD);
        assert_false(reply_next(&reader, &reply));
        reply_done(&reader);
    }
}

/* S2.117 */
static void a_result_over_the_limit_is_cut_and_the_rest_passed_over(void **state)
{
    (void)state;
    ReplyReader reader = { .result_bytes_max = 3 };
    const char said[] = "R: " ID " 200 <<6\nabcdefR: " ID " 200 1234\nR: " ID " 200 ok\n";
    Reply reply;
    put(&reader, said, sizeof said - 1);
    assert_true(reply_next(&reader, &reply));
    assert_true(slice_is(reply.text, "abc") && reply.cut);
    assert_true(reply_next(&reader, &reply));
    assert_true(slice_is(reply.text, "123") && reply.cut);
    assert_true(reply_next(&reader, &reply));
    assert_true(slice_is(reply.text, "ok") && !reply.cut);
    reply_done(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_line_in_pieces_of_any_size),
        cmocka_unit_test(what_is_not_exactly_so_is_bad),
        cmocka_unit_test(a_result_over_the_limit_is_cut_and_the_rest_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
