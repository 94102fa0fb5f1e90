/* SPDX-License-Identifier: Apache-2.0 */
/* log_test.c - one event, one line, whatever was in it. */
#include "base/log.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static void text_from_outside_cannot_leave_its_quotes(void **state)
{
    (void)state;
    char out[LOG_QUOTE_BYTES];
    assert_string_equal(log_quote(slice_text("plain"), out), "\"plain\"");
    assert_string_equal(log_quote(slice_text(""), out), "\"\"");
    assert_string_equal(log_quote((Slice){ NULL, 0 }, out), "\"\"");
    assert_string_equal(log_quote(slice_text("a\"b\\c\nd"), out), "\"a\\\"b\\\\c\\nd\"");
    assert_string_equal(log_quote(slice_of("\0\x1b[2J\x7f\xff", 7), out),
                        "\"\\x00\\x1b[2J\\x7f\\xff\"");
}

static void a_quote_has_a_limit_for_any_text(void **state)
{
    (void)state;
    Rng rng = { 9 };
    for (int i = 0; i < 5000; i++) {
        char text[700];
        size_t bytes = rng_below(&rng, sizeof text + 1);
        for (size_t k = 0; k < bytes; k++)
            text[k] = (char)(i % 2 ? rng_below(&rng, 256) : rng_below(&rng, 0x20));
        char out[LOG_QUOTE_BYTES];
        memset(out, 'x', sizeof out);
        log_quote(slice_of(text, bytes), out);
        size_t length = strnlen(out, sizeof out);
        assert_true(length < sizeof out);
        assert_true(length >= 2);
        assert_int_equal(out[0], '"');
        assert_int_equal(out[length - 1], '"');
        for (size_t k = 0; k < length; k++) {
            assert_true((unsigned char)out[k] >= 0x20);
            assert_true((unsigned char)out[k] < 0x7f);
        }
    }
}

/* What log_event writes while `write_it` runs. */
static size_t captured(void (*write_it)(void), char *out, size_t out_bytes)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    int saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    write_it();
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    ssize_t got = read(ends[0], out, out_bytes - 1);
    close(ends[0]);
    assert_true(got >= 0);
    out[got] = '\0';
    return (size_t)got;
}

static void write_two_levels(void)
{
    log_level_set(LOG_WARN);
    assert_false(log_enabled(LOG_INFO));
    assert_true(log_enabled(LOG_WARN));
    log_event(LOG_INFO, "not.shown", "n=%d", 1);
    log_event(LOG_ERROR, "is.shown", "n=%d", 2);
    log_level_set(LOG_INFO);
}

static void a_line_says_when_how_bad_and_what(void **state)
{
    (void)state;
    char out[512];
    captured(write_two_levels, out, sizeof out);
    assert_memory_equal(out, "ts=20", 5);
    assert_null(strstr(out, "not.shown"));
    assert_non_null(strstr(out, "Z level=error event=is.shown n=2\n"));
}

static void write_too_much(void)
{
    char text[6000];
    memset(text, 'y', sizeof text);
    text[sizeof text - 1] = '\0';
    log_event(LOG_INFO, "long", "text=%s", text);
}

static void a_line_that_is_too_long_is_cut_and_still_one_line(void **state)
{
    (void)state;
    char out[8192];
    size_t bytes = captured(write_too_much, out, sizeof out);
    assert_true(bytes <= 4096);
    assert_true(bytes > 4000);
    assert_ptr_equal(strchr(out, '\n'), &out[bytes - 1]);
    assert_int_equal(strlen(out), bytes);
}

static void levels_have_names(void **state)
{
    (void)state;
    static const char *const names[] = { "debug", "info", "warn", "error" };
    LogLevel level = LOG_DEBUG;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(log_level_parse(slice_text(names[i]), &level), ERR_OK);
        assert_int_equal(level, i);
    }
    assert_int_equal(log_level_parse(slice_text("loud"), &level), ERR_INVALID);
    assert_int_equal(log_level_parse(slice_text(""), &level), ERR_INVALID);
    assert_int_equal(level, LOG_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_from_outside_cannot_leave_its_quotes),
        cmocka_unit_test(a_quote_has_a_limit_for_any_text),
        cmocka_unit_test(a_line_says_when_how_bad_and_what),
        cmocka_unit_test(a_line_that_is_too_long_is_cut_and_still_one_line),
        cmocka_unit_test(levels_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
