/* SPDX-License-Identifier: Apache-2.0 */
/* options_test.c - the words after a command. */
#include "cli/options.h"

#include "cli/testing.h"

static const Option first[] = {
    { "queue", 'q', "QUEUE", "" },
    { "tag", 't', "TAG", "" },
    { "wait", 'w', NULL, "" },
    { 0 },
};
static const Option second[] = {
    { "json", 0, NULL, "" },
    { "priority", 'p', "N", "" },
    { "in", 0, "DURATION", "" },
    { 0 },
};

static Err parse(Args *args, bool first_ends, char **words, int count, Error *why)
{
    *args = (Args){ .tables = { first, second }, .first_ends = first_ends };
    return args_parse(args, count, words, why);
}

static char *word(const char *text)
{
    static char kept[32][64];
    static size_t next;
    char *room = kept[next++ % 32];
    for (size_t i = 0; (room[i] = text[i]); i++)
        continue;
    return room;
}

static void options_may_stand_anywhere(void **state)
{
    (void)state;
    Args args;
    Error why;
    char *words[] = { word("a"),  word("--queue"), word("mail"),
                      word("b"),  word("-wp-3"),   word("--tag=x=y"),
                      word("-t"), word("z"),       word("-") };
    assert_int_equal(parse(&args, false, words, 9, &why), ERR_OK);
    assert_int_equal(args.operand_count, 3);
    assert_string_equal(args.operands[0], "a");
    assert_string_equal(args.operands[1], "b");
    assert_string_equal(args.operands[2], "-");
    assert_string_equal(args_value(&args, "queue"), "mail");
    assert_true(args_flag(&args, "wait"));
    assert_false(args_flag(&args, "json"));
    int64_t number;
    assert_int_equal(args_int(&args, "priority", 5, &number, &why), ERR_OK);
    assert_int_equal(number, -3);
    size_t at = 0;
    assert_string_equal(args_next(&args, "tag", &at), "x=y");
    assert_string_equal(args_next(&args, "tag", &at), "z");
    assert_null(args_next(&args, "tag", &at));
    args_done(&args);
}

static void the_command_of_run_keeps_its_own_options(void **state)
{
    (void)state;
    Args args;
    Error why;
    char *words[] = { word("-w"), word("ls"), word("-l"), word("--"), word("--queue") };
    assert_int_equal(parse(&args, true, words, 5, &why), ERR_OK);
    assert_int_equal(args.operand_count, 4);
    assert_string_equal(args.operands[3], "--queue");
    assert_true(args_flag(&args, "wait"));
    args_done(&args);

    char *dashes[] = { word("--"), word("-l"), word("--") };
    assert_int_equal(parse(&args, true, dashes, 3, &why), ERR_OK);
    assert_int_equal(args.operand_count, 2);
    assert_string_equal(args.operands[0], "-l");
    assert_string_equal(args.operands[1], "--");
    args_done(&args);
}

static void a_query_may_begin_with_a_dash(void **state)
{
    (void)state;
    Args args = { .tables = { first, second }, .terms = true };
    Error why;
    char *words[] = { word("-tag:test"), word("-t"), word("x:y"), word("--queue=a:b") };
    assert_int_equal(args_parse(&args, 4, words, &why), ERR_OK);
    assert_int_equal(args.operand_count, 1);
    assert_string_equal(args.operands[0], "-tag:test");
    assert_string_equal(args_value(&args, "tag"), "x:y");
    assert_string_equal(args_value(&args, "queue"), "a:b");
    args_done(&args);
}

static void refuse(const char *one, const char *two, const char *sentence)
{
    Args args;
    Error why;
    char *words[] = { word(one), two ? word(two) : NULL };
    assert_int_equal(parse(&args, false, words, two ? 2 : 1, &why), ERR_INVALID);
    assert_string_equal(why.text, sentence);
    args_done(&args);
}

static void wrong_words_are_named(void **state)
{
    (void)state;
    refuse("--quee", "x", "unknown option --quee; did you mean --queue?");
    refuse("--nothinglikeit", NULL, "unknown option --nothinglikeit");
    refuse("-x", NULL, "unknown option -x");
    refuse("-wx", NULL, "unknown option -x");
    refuse("--wait=1", NULL, "--wait takes no value");
    refuse("--queue", NULL, "--queue needs a value: QUEUE");
    refuse("-q", NULL, "-q needs a value: QUEUE");
    refuse("--qu", "x", "unknown option --qu"); /* names are never abbreviated */
}

static void values_are_checked(void **state)
{
    (void)state;
    Args args;
    Error why;
    int64_t value;
    char *words[] = { word("--priority"), word("high"), word("--in"), word("1month") };
    assert_int_equal(parse(&args, false, words, 4, &why), ERR_OK);
    assert_int_equal(args_int(&args, "priority", 5, &value, &why), ERR_INVALID);
    assert_string_equal(why.text, "--priority: \"high\" is not a whole number");
    assert_int_equal(args_duration(&args, "in", &value, &why), ERR_INVALID);
    args_done(&args);

    char *good[] = { word("--in=1h30m") };
    assert_int_equal(parse(&args, false, good, 1, &why), ERR_OK);
    assert_int_equal(args_duration(&args, "in", &value, &why), ERR_OK);
    assert_int_equal(value, 5400000);
    assert_int_equal(args_int(&args, "priority", 5, &value, &why), ERR_OK);
    assert_int_equal(value, 5);
    args_done(&args);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_may_stand_anywhere),
        cmocka_unit_test(the_command_of_run_keeps_its_own_options),
        cmocka_unit_test(a_query_may_begin_with_a_dash),
        cmocka_unit_test(wrong_words_are_named),
        cmocka_unit_test(values_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
