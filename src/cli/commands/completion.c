/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c - pawl completion bash|zsh|fish, and the hidden __complete behind it.
 *
 * The scripts are written from the table of commands; only job ids are asked for when
 * they are needed. */
#include "cli/command.h"

#include "cli/pages.h"
#include "cli/print/safe.h"

#include <stdio.h>

#define JOBS_OFFERED 30

/* Calls `each` for the options of one command and those of all. */
static void each_option(const Command *command, Buf *out,
                        void (*each)(const Command *, const Option *, Buf *))
{
    for (size_t i = 0; command->options[i]; i++)
        for (const Option *option = command->options[i]; option->name; option++)
            each(command, option, out);
    for (const Option *option = global_options; option->name; option++)
        each(command, option, out);
}

static void bash_option(const Command *command, const Option *option, Buf *out)
{
    (void)command;
    buf_printf(out, " --%s", option->name);
    if (option->letter)
        buf_printf(out, " -%c", option->letter);
}

static void command_names(Buf *out)
{
    for (const Command *command = commands; command->name; command++)
        if (!command->hidden)
            buf_printf(out, " %s", command->name);
}

static const char *bash_operand(const Command *command)
{
    switch (command->operand) {
    case OPERAND_JOBS:
        return "words=\"$words last $(pawl __complete jobs 2>/dev/null)\"";
    case OPERAND_FILES:
        return "files=1";
    case OPERAND_NONE:
    case OPERAND_WORDS:
        break;
    }
    return ":";
}

static void bash(Buf *out)
{
    buf_add_text(out,
                 "# bash completion for pawl: source <(pawl completion bash)\n"
                 "_pawl()\n{\n"
                 "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" command= words= files=\n"
                 "    local i\n"
                 "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                 "        [[ ${COMP_WORDS[i]} != -* ]] && "
                 "{ command=\"${COMP_WORDS[i]}\"; break; }\n"
                 "    done\n"
                 "    case \"$command\" in\n    '') words=\"");
    command_names(out);
    buf_add_text(out, "\" ;;\n");
    for (const Command *command = commands; command->name; command++) {
        if (command->hidden)
            continue;
        buf_printf(out, "    %s)\n        words=\"", command->name);
        each_option(command, out, bash_option);
        if (command->operand_words)
            buf_printf(out, " %s", command->operand_words);
        if (strcmp(command->name, "help") == 0)
            command_names(out);
        buf_printf(out, "\"\n        %s\n        ;;\n", bash_operand(command));
    }
    buf_add_text(out, "    esac\n"
                      "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                      "    [[ -n $files ]] && COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
                      "}\ncomplete -o filenames -o bashdefault -F _pawl pawl\n");
}

/* Text inside single quotes of zsh or fish; the table holds none of its own. */
static void quoted(Buf *out, const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (strchr(escaped, *text))
            buf_add_char(out, '\\');
        if (*text == '\'')
            buf_add_text(out, "'\\'");
        buf_add_char(out, *text);
    }
}

static void zsh_option(const Command *command, const Option *option, Buf *out)
{
    (void)command;
    const char *value = option->value ? "=" : "";
    if (option->letter)
        buf_printf(out, "            '-%c[", option->letter);
    else
        buf_printf(out, "            '--%s%s[", option->name, value);
    quoted(out, option->help, "[]:");
    buf_printf(out, "]%s%s%s' \\\n", option->value ? ":" : "",
               option->value && !strchr(option->value, ':') ? option->value : "",
               option->value ? ":_files" : "");
    if (!option->letter)
        return;
    Option as_long = *option;
    as_long.letter = 0;
    zsh_option(command, &as_long, out);
}

static void zsh(Buf *out)
{
    buf_add_text(out, "#compdef pawl\n"
                      "# zsh completion for pawl: pawl completion zsh > "
                      "\"${fpath[1]}/_pawl\"\n"
                      "_pawl_jobs() { compadd -- last ${(f)\"$(pawl __complete jobs "
                      "2>/dev/null)\"} }\n"
                      "_pawl() {\n"
                      "    local -a all=(\n");
    for (const Command *command = commands; command->name; command++) {
        if (command->hidden)
            continue;
        buf_printf(out, "        '%s:", command->name);
        quoted(out, command->summary, ":");
        buf_add_text(out, "'\n");
    }
    buf_add_text(out,
                 "    )\n"
                 "    if (( CURRENT == 2 )); then _describe command all; return; fi\n"
                 "    local command=$words[2]\n"
                 "    words=(\"${(@)words[2,-1]}\"); (( CURRENT-- ))\n"
                 "    case $command in\n");
    for (const Command *command = commands; command->name; command++) {
        if (command->hidden)
            continue;
        buf_printf(out, "    %s)\n        _arguments -s \\\n", command->name);
        each_option(command, out, zsh_option);
        if (command->operand == OPERAND_JOBS)
            buf_add_text(out, "            '*:job:_pawl_jobs'\n        ;;\n");
        else if (command->operand_words)
            buf_printf(out, "            '*:word:(%s)'\n        ;;\n",
                       command->operand_words);
        else
            buf_add_text(out, "            '*:file:_files'\n        ;;\n");
    }
    buf_add_text(out, "    esac\n}\n_pawl \"$@\"\n");
}

static void fish_option(const Command *command, const Option *option, Buf *out)
{
    buf_printf(out, "complete -c pawl -n '__fish_seen_subcommand_from %s' -l %s",
               command->name, option->name);
    if (option->letter)
        buf_printf(out, " -s %c", option->letter);
    if (option->value)
        buf_add_text(out, " -r");
    buf_add_text(out, " -d '");
    quoted(out, option->help, "");
    buf_add_text(out, "'\n");
}

static void fish(Buf *out)
{
    buf_add_text(out, "# fish completion for pawl: pawl completion fish | source\n");
    for (const Command *command = commands; command->name; command++) {
        if (command->hidden)
            continue;
        buf_printf(out, "complete -c pawl -n __fish_use_subcommand -f -a %s -d '",
                   command->name);
        quoted(out, command->summary, "");
        buf_add_text(out, "'\n");
        each_option(command, out, fish_option);
        const char *offered = command->operand == OPERAND_JOBS
                                  ? "last (pawl __complete jobs 2>/dev/null)"
                                  : command->operand_words;
        if (offered)
            buf_printf(
                out, "complete -c pawl -n '__fish_seen_subcommand_from %s' -f -a '%s'\n",
                command->name, offered);
    }
}

int cmd_completion(Cli *cli)
{
    const char *shell = cli->args.operand_count ? cli->args.operands[0] : "";
    Buf out = { 0 };
    if (strcmp(shell, "bash") == 0)
        bash(&out);
    else if (strcmp(shell, "zsh") == 0)
        zsh(&out);
    else if (strcmp(shell, "fish") == 0)
        fish(&out);
    else
        return cli_fail(
            cli, (Fault){ CLI_USAGE, "usage", "pawl completion bash | zsh | fish" },
            "for which shell?");
    cli_print(&out);
    buf_done(&out);
    return CLI_DONE;
}

static void offer(void *context, const Doc *job)
{
    (void)context;
    printf(SLICE_FMT "\n", SLICE_ARG(doc_text(job, "id")));
}

int cmd_complete(Cli *cli)
{
    Pages pages = { .limit = JOBS_OFFERED, .each = offer };
    int code = pages_walk(cli, &pages);
    buf_done(&pages.cursor);
    return code;
}
