/* SPDX-License-Identifier: Apache-2.0 */
/* table_test.c - columns, widths, and text that must not reach a terminal as it is. */
#include "cli/print/table.h"

#include "cli/print/progress.h"
#include "cli/print/safe.h"
#include "cli/print/term.h"
#include "cli/testing.h"

#include <stdlib.h>

static const Column columns[] = {
    { .title = "ID" },
    { .title = "PRIO", .right = true },
    { .title = "WHAT", .wide = true },
};

static void expect_table(const char *const *cells, size_t count, const Term *term,
                         const char *wanted)
{
    Table table;
    Buf out = { 0 };
    table_init(&table, columns, 3);
    for (size_t i = 0; i < count; i++)
        table_add(&table, i % 3 == 0 ? COLOUR_RED : COLOUR_PLAIN, slice_text(cells[i]));
    table_print(&table, term, &out);
    assert_string_equal(buf_cstr(&out), wanted);
    table_done(&table);
    buf_done(&out);
}

static void columns_are_aligned_without_trailing_spaces(void **state)
{
    (void)state;
    static const char *const cells[] = { "a", "5", "one", "long-id", "-12",
                                         "",  "b", "7",   "x" };
    expect_table(cells, 9, &(Term){ 0 },
                 "ID       PRIO  WHAT\n"
                 "a           5  one\n"
                 "long-id   -12\n"
                 "b           7  x\n");
}

static void wide_characters_take_two_columns(void **state)
{
    (void)state;
    static const char *const cells[] = {
        "日本", "1", "x", "e\xcc\x81t\xc3\xa9", "2", "y"
    };
    expect_table(cells, 6, &(Term){ 0 },
                 "ID    PRIO  WHAT\n"
                 "日本     1  x\n"
                 "e\xcc\x81t\xc3\xa9      2  y\n");
}

static void a_narrow_screen_cuts_the_wide_column(void **state)
{
    (void)state;
    static const char *const cells[] = { "a", "5", "0123456789012345678901234567890" };
    expect_table(cells, 3, &(Term){ .is_terminal = true, .width = 24, .utf8 = true },
                 "ID  PRIO  WHAT\n"
                 "a      5  0123456789012…\n");
    expect_table(cells, 3, &(Term){ .is_terminal = true, .width = 24 },
                 "ID  PRIO  WHAT\n"
                 "a      5  0123456789012~\n");
}

static void colours_are_outside_the_alignment(void **state)
{
    (void)state;
    static const char *const cells[] = { "a", "5", "x" };
    expect_table(cells, 3, &(Term){ .is_terminal = true, .colour = true, .width = 80 },
                 "\x1b[1mID\x1b[0m  \x1b[1mPRIO\x1b[0m  \x1b[1mWHAT\x1b[0m\n"
                 "\x1b[31ma\x1b[0m      5  x\n");
}

static void expect_safe(const char *text, const char *wanted)
{
    Buf out = { 0 };
    safe_add(&out, slice_text(text));
    assert_string_equal(buf_cstr(&out), wanted);
    buf_done(&out);
}

static void nothing_moves_the_cursor(void **state)
{
    (void)state;
    expect_safe("\x1b[2J", "\\x1b[2J");
    expect_safe("a\r\nb\tc\x7f", "a\\r\\nb\\tc\\x7f");
    expect_safe("\xc2\x9b"
                "31m",
                "\\u{009b}31m"); /* a C1 control sequence */
    expect_safe("\xe2\x80\xae"
                "gpj.exe",
                "\\u{202e}gpj.exe");
    expect_safe("\xff\xc3", "\\xff\\xc3");
    expect_safe("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* a surrogate is no character */
    expect_safe("grün ✓ 日本", "grün ✓ 日本");
}

static void every_byte_is_safe_alone(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        char text = (char)byte;
        Buf out = { 0 };
        safe_add(&out, slice_of(&text, 1));
        assert_true(out.bytes > 0);
        for (size_t i = 0; i < out.bytes; i++) {
            assert_true(out.data[i] >= 0x20);
            assert_true(out.data[i] < 0x7f);
        }
        buf_done(&out);
    }
}

static void a_cut_never_splits_a_character(void **state)
{
    (void)state;
    Slice text = SLICE_LITERAL("a日b");
    assert_int_equal(safe_fit(text, 0), 0);
    assert_int_equal(safe_fit(text, 1), 1);
    assert_int_equal(safe_fit(text, 2), 1);
    assert_int_equal(safe_fit(text, 3), 4);
    assert_int_equal(safe_fit(text, 4), 5);
    assert_int_equal(safe_fit(text, 9), 5);
}

static void a_bar_fits_any_screen(void **state)
{
    (void)state;
    Progress progress = {
        .total = 1200, .done = 425, .failed = 6, .running = 8, .elapsed_ms = 100000
    };
    for (size_t width = 20; width < 200; width++) {
        Term term = { .is_terminal = true, .width = width, .utf8 = width % 2 };
        Buf out = { 0 };
        progress_bar(&progress, &term, &out);
        assert_true(safe_width(buf_slice(&out)) < width);
        buf_done(&out);
    }
    Buf out = { 0 };
    progress_bar(&progress, &(Term){ .is_terminal = true, .width = 120 }, &out);
    assert_string_equal(buf_cstr(&out),
                        "[##############..........................] "
                        "431/1200  done 425  failed 6  running 8  eta 2m59s");
    buf_clear(&out);
    progress_line(&progress, &out);
    assert_string_equal(buf_cstr(&out),
                        "progress 431/1200 done=425 failed=6 cancelled=0 running=8");
    buf_done(&out);
}

static void plain_lines_are_few(void **state)
{
    (void)state;
    Progress told = { .total = 1000 };
    size_t lines = 0;
    for (size_t done = 0; done <= 1000; done++) {
        Progress now = { .total = 1000, .done = done, .elapsed_ms = (int64_t)done };
        if (progress_due(&told, &now)) {
            told = now;
            lines++;
        }
    }
    assert_int_equal(lines, 10);
    assert_true(progress_due(&(Progress){ .total = 9 },
                             &(Progress){ .total = 9, .elapsed_ms = 30000 }));
}

static void no_color_is_honoured(void **state)
{
    (void)state;
    assert_string_equal(term_on(&(Term){ .colour = true }, COLOUR_RED), "\x1b[31m");
    assert_string_equal(term_on(&(Term){ 0 }, COLOUR_RED), "");
    assert_string_equal(term_off(&(Term){ 0 }, COLOUR_RED), "");
    assert_string_equal(term_on(&(Term){ .colour = true }, COLOUR_PLAIN), "");
}

int main(void)
{
    term_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned_without_trailing_spaces),
        cmocka_unit_test(wide_characters_take_two_columns),
        cmocka_unit_test(a_narrow_screen_cuts_the_wide_column),
        cmocka_unit_test(colours_are_outside_the_alignment),
        cmocka_unit_test(nothing_moves_the_cursor),
        cmocka_unit_test(every_byte_is_safe_alone),
        cmocka_unit_test(a_cut_never_splits_a_character),
        cmocka_unit_test(a_bar_fits_any_screen),
        cmocka_unit_test(plain_lines_are_few),
        cmocka_unit_test(no_color_is_honoured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
