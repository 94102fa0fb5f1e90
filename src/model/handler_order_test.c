/* SPDX-License-Identifier: Apache-2.0 */
/* handler_order_test.c - a handler and a job become a command. */
#include "model/handler_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define WORDS(text)                                                                      \
    {                                                                                    \
        "" text, sizeof(text) - 1                                                        \
    }

static void exec_bodies_are_split_into_words(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        Slice words; /* none: refused */
    } table[] = {
        { "true", WORDS("true\0") },
        { "  a\t b\r\nc \n", WORDS("a\0b\0c\0") },
        { "'a b' \"c d\"", WORDS("a b\0c d\0") },
        { "x '' \"\"", WORDS("x\0\0\0") },
        { "a'b'\"c\"d", WORDS("abcd\0") },
        { "'a\\b' \"a\\b\"", WORDS("a\\b\0a\\b\0") },
        { "\"\\\"\\\\\\$\\`\"", WORDS("\"\\$`\0") },
        { "a\\ b \\'c \\\\", WORDS("a b\0'c\0\\\0") },
        { "$HOME *.c `x` ;", WORDS("$HOME\0*.c\0`x`\0;\0") },
        { "\"'\" '\"'", WORDS("'\0\"\0") },
        { "a\\", WORDS("a\\\0") },
        { "[\"sh\", \"-c\", \"echo \\\"x\\\"\", \"\"]", WORDS("sh\0-c\0echo \"x\"\0\0") },
        { " [\"x\"]", WORDS("x\0") },
        { "", { NULL, 0 } },
        { " \n\t", { NULL, 0 } },
        { "'open", { NULL, 0 } },
        { "a \"open", { NULL, 0 } },
        { "a \"open\\\"", { NULL, 0 } },
        { "[]", { NULL, 0 } },
        { "[\"a\"", { NULL, 0 } },
        { "[\"a\", 1]", { NULL, 0 } },
        { "[[\"a\"]]", { NULL, 0 } },
        { "[\"a\\u0000b\"]", { NULL, 0 } },
        { "[\"a\"] b", { NULL, 0 } },
        { "''", { NULL, 0 } }, /* no program has no name */
        { "[\"\", \"a\"]", { NULL, 0 } },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Buf words = { 0 };
        Error why = { 0 };
        Err err = words_parse(slice_text(table[i].body), &words, &why);
        if (err != (table[i].words.data ? ERR_OK : ERR_INVALID))
            fail_msg("%s: %s", table[i].body, why.text);
        if (!err && !slice_equal(buf_slice(&words), table[i].words))
            fail_msg("%s", table[i].body);
        if (err)
            assert_true(why.text[0] != '\0');
        buf_done(&words);
    }
    Buf words = { 0 };
    Error why = { 0 };
    assert_int_equal(words_parse(SLICE_LITERAL("a\0b"), &words, &why), ERR_INVALID);
    buf_done(&words);
}

static void each_language_has_its_command(void **state)
{
    (void)state;
    static const struct {
        Lang lang;
        const char *body;
        Slice command; /* none: this version cannot */
    } table[] = {
        { LANG_EXEC, "cat -n", WORDS("cat\0-n\0") },
        { LANG_SH, "cat; echo", WORDS("/bin/sh\0-c\0cat; echo\0") },
        { LANG_BASH, "cat", WORDS("/bin/bash\0-c\0cat\0") },
        { LANG_NODE, "return 1", { NULL, 0 } },
        { LANG_HTTP, "http://x", { NULL, 0 } },
        { LANG_PULL, "", { NULL, 0 } },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Arena arena = { 0 };
        Error why = { 0 };
        Handler handler = { .lang = table[i].lang, .body = slice_text(table[i].body) };
        Job job = job_default();
        Err err = handler_order(&handler, &arena, &job, &why);
        assert_int_equal(err, table[i].command.data ? ERR_OK : ERR_UNSUPPORTED);
        assert_true(slice_equal(job.command, table[i].command));
        assert_int_equal(job.flags, err ? 0 : JOB_PROTOCOL);
        arena_done(&arena);
    }
}

/* The job's own word counts more than its handler's. */
static void surroundings_come_from_both(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Error why = { 0 };
    const Handler handler = {
        .lang = LANG_SH,
        .body = SLICE_LITERAL("x"),
        .env = SLICE_LITERAL("A=1\0B=2\0"),
        .cwd = SLICE_LITERAL("/srv"),
        .children = SLICE_LITERAL("immediate"),
    };
    Job job = job_default();
    assert_int_equal(handler_order(&handler, &arena, &job, &why), ERR_OK);
    assert_true(slice_is(job.cwd, "/srv"));
    assert_true(slice_is(job.children, "immediate"));
    assert_true(slice_equal(job.env, handler.env));
    job = job_default();
    job.cwd = SLICE_LITERAL("/tmp");
    job.env = SLICE_LITERAL("B=3\0");
    assert_int_equal(handler_order(&handler, &arena, &job, &why), ERR_OK);
    assert_true(slice_is(job.cwd, "/tmp"));
    assert_true(slice_equal(job.env, SLICE_LITERAL("A=1\0B=3\0")));
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exec_bodies_are_split_into_words),
        cmocka_unit_test(each_language_has_its_command),
        cmocka_unit_test(surroundings_come_from_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
