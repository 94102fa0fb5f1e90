/* SPDX-License-Identifier: Apache-2.0 */
/* command_test.c - the table of commands, and what is made of it. */
#include "cli/command.h"

#include "cli/print/help.h"
#include "cli/testing.h"

#include <stdio.h>

static void every_command_of_the_interface_is_there(void **state)
{
    (void)state;
    static const char *const names[] = {
        "serve",   "run",    "add",    "ls",      "show",       "logs",
        "wait",    "status", "cancel", "hold",    "release",    "retry",
        "kill",    "rm",     "pause",  "resume",  "halt",       "set",
        "explain", "config", "doctor", "version", "completion", "help",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_non_null(command_find(names[i]));
    assert_null(command_find("nothing"));
    assert_string_equal(command_nearest("cancle"), "cancel");
}

static void every_command_is_described(void **state)
{
    (void)state;
    for (const Command *command = commands; command->name; command++) {
        assert_non_null(command->summary);
        assert_non_null(command->usage);
        assert_non_null(command->run);
        char prefix[64];
        snprintf(prefix, sizeof prefix, "pawl %s", command->name);
        assert_non_null(strstr(command->example, prefix));
    }
}

static size_t times_found(const Command *command, const Option *wanted)
{
    size_t times = 0;
    const Option *const *tables = command->options;
    for (size_t i = 0; i < OPTION_TABLES_MAX; i++)
        for (const Option *option = tables[i]; option && option->name; option++)
            times += strcmp(option->name, wanted->name) == 0 ||
                     (option->letter && option->letter == wanted->letter);
    for (const Option *option = global_options; option->name; option++)
        times += strcmp(option->name, wanted->name) == 0 ||
                 (option->letter && option->letter == wanted->letter);
    return times;
}

static void no_option_stands_twice(void **state)
{
    (void)state;
    for (const Command *command = commands; command->name; command++) {
        for (size_t i = 0; command->options[i]; i++)
            for (const Option *option = command->options[i]; option->name; option++)
                assert_int_equal(times_found(command, option), 1);
        for (const Option *option = global_options; option->name; option++)
            assert_int_equal(times_found(command, option), 1);
    }
}

/* The help of every command: example first, each option said, nothing too wide. */
static void help_is_short_with_an_example_first(void **state)
{
    (void)state;
    for (const Command *command = commands; command->name; command++) {
        Buf out = { 0 };
        help_command(command, &(Term){ 0 }, &out);
        Slice rest = slice_text(buf_cstr(&out));
        assert_true(slice_starts(rest, SLICE_LITERAL("  ")));
        const char *example = strstr(buf_cstr(&out), command->name);
        assert_non_null(example);
        assert_true(example < strstr(buf_cstr(&out), "usage: "));
        for (size_t i = 0; command->options[i]; i++)
            for (const Option *option = command->options[i]; option->name; option++)
                assert_non_null(strstr(buf_cstr(&out), option->name));
        while (rest.bytes)
            assert_true(slice_cut(&rest, '\n').bytes <= 80);
        buf_done(&out);
    }
}

static void the_overview_fits_a_screen(void **state)
{
    (void)state;
    Buf out = { 0 };
    help_overview(&(Term){ 0 }, &out);
    size_t lines = 0;
    Slice rest = buf_slice(&out);
    for (; rest.bytes; lines++)
        assert_true(slice_cut(&rest, '\n').bytes <= 80);
    assert_true(lines <= 48);
    buf_done(&out);
}

static void text_is_wrapped_at_words(void **state)
{
    (void)state;
    Buf out = { 0 };
    help_wrap(&out, "one two three\nfour", 2, 10);
    assert_string_equal(buf_cstr(&out), "  one two\n  three\n  four\n");
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_of_the_interface_is_there),
        cmocka_unit_test(every_command_is_described),
        cmocka_unit_test(no_option_stands_twice),
        cmocka_unit_test(help_is_short_with_an_example_first),
        cmocka_unit_test(the_overview_fits_a_screen),
        cmocka_unit_test(text_is_wrapped_at_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
