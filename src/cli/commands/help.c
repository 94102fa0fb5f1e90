/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - pawl help [COMMAND | TOPIC]. */
#include "cli/print/help.h"

static const Topic *topic_find(const char *name)
{
    for (const Topic *topic = help_topics; topic->name; topic++)
        if (strcmp(topic->name, name) == 0)
            return topic;
    return NULL;
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
        return cli_fail(cli, (Fault){ CLI_NOT_FOUND, "usage", "all of them: pawl help" },
                        "there is no command or topic \"%s\"", name);
    Buf text = { 0 };
    if (command)
        help_command(command, &cli->out, &text);
    else
        buf_add_text(&text, topic->text);
    cli_print(&text);
    buf_done(&text);
    return CLI_DONE;
}
