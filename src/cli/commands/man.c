/* SPDX-License-Identifier: Apache-2.0 */
/* man.c - pawl __man [COMMAND]: man pages as roff; tools/man writes them to files. */
#include "cli/print/help.h"

#include <stdio.h>

/* roff takes a backslash for an escape, a dash for a hyphen, and a dot or an apostrophe
 * at the start of a line for a request. */
static void text(Buf *out, const char *words)
{
    bool start = true;
    for (; *words; words++) {
        if (start && (*words == '.' || *words == '\''))
            buf_add_text(out, "\\&");
        if (*words == '\\')
            buf_add_text(out, "\\e");
        else if (*words == '-')
            buf_add_text(out, "\\-");
        else
            buf_add_char(out, *words);
        start = *words == '\n';
    }
}

static void header(Buf *out, const char *name, const char *summary)
{
    buf_add_text(out, ".TH ");
    for (const char *c = name; *c; c++)
        buf_add_char(out, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    buf_printf(out, " 1 \"\" \"pawl %s\" \"pawl\"\n.SH NAME\n", PAWL_VERSION);
    text(out, name);
    buf_add_text(out, " \\- ");
    text(out, summary);
    buf_add_char(out, '\n');
}

static void paragraphs(Buf *out, const char *detail)
{
    Slice rest = slice_text(detail);
    while (rest.bytes) {
        Arena arena = { 0 };
        Slice paragraph = slice_cut(&rest, '\n');
        text(out, slice_cstr(&arena, paragraph));
        buf_add_text(out, rest.bytes ? "\n.PP\n" : "\n");
        arena_done(&arena);
    }
}

static void literal(Buf *out, const char *lines)
{
    buf_add_text(out, ".nf\n");
    text(out, lines);
    buf_add_text(out, "\n.fi\n");
}

static void options(Buf *out, const Option *option)
{
    for (; option->name; option++) {
        Buf name = { 0 };
        help_option_name(option, &name);
        buf_add_text(out, ".TP\n.B ");
        text(out, buf_cstr(&name));
        buf_add_char(out, '\n');
        text(out, option->help);
        buf_add_char(out, '\n');
        buf_done(&name);
    }
}

static void page_of(const Command *command, Buf *out)
{
    Buf name = { 0 };
    buf_printf(&name, "pawl-%s", command->name);
    header(out, buf_cstr(&name), command->summary);
    buf_done(&name);
    buf_printf(out, ".SH SYNOPSIS\n.B pawl %s\n", command->name);
    text(out, command->usage);
    buf_add_text(out, *command->usage ? "\n.SH EXAMPLES\n" : ".SH EXAMPLES\n");
    literal(out, command->example);
    if (command->detail) {
        buf_add_text(out, ".SH DESCRIPTION\n");
        paragraphs(out, command->detail);
    }
    buf_add_text(out, ".SH OPTIONS\n");
    for (size_t i = 0; command->options[i]; i++)
        options(out, command->options[i]);
    options(out, global_options);
    buf_add_text(out, ".SH SEE ALSO\n.BR pawl (1)\n");
}

static void page_overview(Buf *out)
{
    header(out, "pawl", "a durable job queue and batch scheduler");
    buf_add_text(out, ".SH SYNOPSIS\n.B pawl\nCOMMAND [options]\n.SH EXAMPLES\n");
    literal(out, "pawl serve --data ./data\npawl run --wait -- echo hello\npawl ls");
    buf_add_text(out, ".SH COMMANDS\n");
    for (const Command *command = commands; command->name; command++) {
        if (command->hidden)
            continue;
        buf_printf(out, ".TP\n.BR pawl\\-%s (1)\n", command->name);
        text(out, command->summary);
        buf_add_char(out, '\n');
    }
    buf_add_text(out, ".SH OPTIONS\nEvery command takes these.\n");
    options(out, global_options);
    for (const Topic *topic = help_topics; topic->name; topic++) {
        buf_add_text(out, ".SH ");
        for (const char *c = topic->name; *c; c++)
            buf_add_char(out, *c == '-' ? ' ' : (char)(*c - 'a' + 'A'));
        buf_add_char(out, '\n');
        literal(out, topic->text);
    }
}

int cmd_man(Cli *cli)
{
    Buf out = { 0 };
    const char *name = cli->args.operand_count ? cli->args.operands[0] : NULL;
    const Command *command = name ? command_find(name) : NULL;
    if (name && strcmp(name, "list") == 0) {
        for (const Command *each = commands; each->name; each++)
            if (!each->hidden)
                printf("%s\n", each->name);
        return CLI_DONE;
    }
    if (name && !command)
        return cli_fail(cli, (Fault){ CLI_NOT_FOUND, "usage", NULL },
                        "there is no command \"%s\"", name);
    if (command)
        page_of(command, &out);
    else
        page_overview(&out);
    cli_print(&out);
    buf_done(&out);
    return CLI_DONE;
}
