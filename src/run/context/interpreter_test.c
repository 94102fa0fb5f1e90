/* SPDX-License-Identifier: Apache-2.0 */
/* interpreter_test.c - languages that are there, and those that are not. */
#include "run/context/interpreter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void the_first_program_on_the_path_gets_our_side_as_its_text(void **state)
{
    (void)state;
    char dir[] = "/tmp/pawl-interpreter-XXXXXX";
    char program[64], path[128];
    Buf argv = { 0 };
    assert_non_null(mkdtemp(dir));
    snprintf(program, sizeof program, "%s/perl", dir);
    snprintf(path, sizeof path, "relative::/nowhere:%s", dir);

    assert_false(interpreter_argv(LANG_PERL, path, &argv));
    FILE *file = fopen(program, "w");
    assert_non_null(file);
    fclose(file);
    assert_false(interpreter_argv(LANG_PERL, path, &argv)); /* it cannot be run */
    assert_int_equal(argv.bytes, 0);
    chmod(program, 0700);
    assert_true(interpreter_argv(LANG_PERL, path, &argv));

    Slice rest = buf_slice(&argv), word;
    assert_true(list_next(&rest, &word) && slice_is(word, program));
    assert_true(list_next(&rest, &word) && slice_is(word, "-e"));
    assert_true(list_next(&rest, &word) && slice_is(word, boot_pl));
    assert_false(list_next(&rest, &word));
    unlink(program);
    assert_int_equal(rmdir(dir), 0);
    buf_done(&argv);
}

static void languages_that_are_not_scripted_have_none(void **state)
{
    (void)state;
    Buf argv = { 0 };
    for (unsigned lang = 0; lang < LANGS; lang++)
        if (!lang_scripted((Lang)lang))
            assert_false(interpreter_argv((Lang)lang, "/usr/bin:/bin", &argv));
        else
            assert_true(strlen(interpreter_name((Lang)lang)) > 2);
    buf_done(&argv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_program_on_the_path_gets_our_side_as_its_text),
        cmocka_unit_test(languages_that_are_not_scripted_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
