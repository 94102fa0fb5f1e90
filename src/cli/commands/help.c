/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - pawl help [COMMAND | TOPIC]. */
#include "cli/print/help.h"

#include "base/text.h"

#define TOPICS_MAX 16

static const Topic *topic_find(const char *name)
{
    for (const Topic *topic = help_topics; topic->name; topic++)
        if (strcmp(topic->name, name) == 0)
            return topic;
    return NULL;
}

static int unknown(const Cli *cli, const char *name)
{
    const char *topics[TOPICS_MAX + 1] = { NULL };
    for (size_t i = 0; help_topics[i].name && i < TOPICS_MAX; i++)
        topics[i] = help_topics[i].name;
    const char *near = nearest_word(slice_text(name), topics);
    near = near || strcmp(name, "query") != 0 ? near : "queries";
    near = near ? near : command_nearest(name);
    Fault fault = { CLI_USAGE, "usage", "all of them: pawl help" };
    return cli_fail(cli, fault, "there is no command or topic \"%s\"%s%s%s", name,
                    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

int cmd_help(Cli *cli)
{
    if (!cli->args.operand_count) {
        Buf text = { 0 };
        help_overview(&cli->out, &text);
        cli_print(&text);
        buf_done(&text);
        return CLI_DONE;
    }
    const char *name = cli->args.operands[0];
    const Command *command = command_find(name);
    const Topic *topic = topic_find(name);
    if (!command && !topic)
        return unknown(cli, name);
    Buf text = { 0 };
    if (command)
        help_command(command, &cli->out, &text);
    else
        buf_add_text(&text, topic->text);
    cli_print(&text);
    buf_done(&text);
    return CLI_DONE;
}
