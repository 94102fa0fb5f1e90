/* SPDX-License-Identifier: Apache-2.0 */
/* noun_options_test.c - options of `set` as members, and that commands know them. */
#include "cli/commands/noun_options.h"

#include "cli/command.h"
#include "cli/testing.h"
#include "noun/handler.h"
#include "noun/queue.h"
#include "noun/resource.h"
#include "noun/schedule.h"
#include "noun/tenant.h"

static Cli given(const char *name, char **words, int count)
{
    const Command *command = command_find(name);
    Cli cli = { .command = command, .json = true };
    Error why;
    for (size_t i = 0; command->options[i]; i++)
        cli.args.tables[i] = command->options[i];
    assert_int_equal(args_parse(&cli.args, count, words, &why), ERR_OK);
    return cli;
}

static bool knows(const Command *command, const char *option)
{
    for (size_t i = 0; command->options[i]; i++)
        for (const Option *at = command->options[i]; at->name; at++)
            if (strcmp(at->name, option) == 0)
                return true;
    return false;
}

/* An option of a row that no command takes could never be given. */
static void every_option_of_a_noun_is_one_of_its_command(void **state)
{
    (void)state;
    const Noun *const nouns[] = { &handler_noun, &queue_noun, &resource_noun,
                                  &schedule_noun, &tenant_noun };
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++) {
        const Command *command = command_find(nouns[i]->name);
        assert_non_null(command);
        for (size_t k = 0; k < nouns[i]->count; k++) {
            const char *option = nouns[i]->fields[k].option;
            if (option && !knows(command, option))
                fail_msg("pawl %s has no --%s", nouns[i]->name, option);
        }
    }
}

static void what_is_given_becomes_members(void **state)
{
    (void)state;
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    char slots[] = "--slots=none";
    char rate[] = "--rate=5/s";
    char aging[] = "--aging=0.5";
    char keys[] = "--resources=a,b";
    char nice[] = "--no-nice";
    char *words[] = { slots, rate, aging, keys, nice };
    Cli cli = given("queue", words, 5);
    json_object(&json, NULL);
    assert_int_equal(noun_options(&cli, &queue_noun, &json), 0);
    json_object_end(&json);
    assert_string_equal(buf_cstr(&out), "{\"slots\":null,\"resources\":[\"a\",\"b\"],"
                                        "\"rate\":\"5/s\",\"aging\":0.5,"
                                        "\"nice\":false}");
    args_done(&cli.args);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_of_a_noun_is_one_of_its_command),
        cmocka_unit_test(what_is_given_becomes_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
