/* SPDX-License-Identifier: Apache-2.0 */
/* cli_main.c - from the words of the command line to a command (cli_main of cli.h). */
#include "cli/command.h"

#include "cli/print/help.h"

#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int unknown_command(const Cli *cli, const char *name)
{
    const char *near = command_nearest(name);
    Fault fault = { CLI_USAGE, "usage", "all commands: pawl help" };
    if (near)
        return cli_fail(cli, fault, "there is no command \"%s\"; did you mean %s?", name,
                        near);
    return cli_fail(cli, fault, "there is no command \"%s\"", name);
}

/* Options may stand before the command too: pawl --json ls. Returns how many words they
 * take. */
static int leading_words(int argc, char **argv)
{
    int at = 1;
    while (at < argc && argv[at][0] == '-' && argv[at][1]) {
        bool takes_value = false;
        for (const Option *option = global_options; option->name; option++)
            if (argv[at][1] == '-' && strcmp(argv[at] + 2, option->name) == 0)
                takes_value = option->value != NULL;
        at += takes_value ? 2 : 1;
    }
    return at < argc ? at : argc;
}

static Err parse(Cli *cli, int lead_count, char **lead, Error *why)
{
    Args *args = &cli->args;
    size_t tables = 0;
    for (; cli->command->options[tables]; tables++)
        args->tables[tables] = cli->command->options[tables];
    args->tables[tables] = global_options;
    args->first_ends = cli->command->first_ends;
    args->terms = cli->command->terms;
    Err err = args_parse(args, lead_count, lead, why);
    if (!err)
        err = args_parse(args, cli->word_count, cli->words, why);
    return err;
}

static int dispatch(Cli *cli, int lead_count, char **lead)
{
    Error why;
    if (parse(cli, lead_count, lead, &why))
        return cli_misused(cli, &why);
    cli->json = args_flag(&cli->args, "json");
    cli->waits = cli->command->run == cmd_run && args_flag(&cli->args, "wait");
    if (args_flag(&cli->args, "help")) {
        Buf text = { 0 };
        help_command(cli->command, &cli->out, &text);
        cli_print(&text);
        buf_done(&text);
        return CLI_DONE;
    }
    int code = cli->command->need == NEED_NOTHING ? CLI_DONE : cli_connect(cli);
    return code ? code : cli->command->run(cli);
}

/* Data that could not be written is a failure, whatever the command thought. */
static int finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    perror("pawl: cannot write to standard output");
    return code ? code : CLI_FAILED;
}

static bool asks_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Options stand before or after the word, and a wrong one is told as everywhere. The
 * daemon then reads its own options itself. */
static int serve(Cli *cli, int lead_count, char **lead)
{
    Error why;
    Args *args = &cli->args;
    if (parse(cli, lead_count, lead, &why))
        return cli_misused(cli, &why);
    cli->json = args_flag(args, "json");
    if (args->operand_count)
        return cli_fail(cli, (Fault){ CLI_USAGE, "usage", "see: pawl serve --help" },
                        "serve takes no argument: \"%s\"", args->operands[0]);
    return cli->command->run(cli);
}

static int with_command(Cli *cli, int at, char **argv)
{
    const char *name = argv[at];
    cli->command = command_find(name);
    if (!cli->command)
        return unknown_command(cli, name);
    /* The daemon reads its own options; only --help is answered here. */
    if (strcmp(name, "serve") == 0 && !(cli->word_count && asks_help(cli->words[0])))
        return serve(cli, at - 1, argv + 1);
    return dispatch(cli, at - 1, argv + 1);
}

int cli_main(int argc, char **argv, const CliHooks *hooks)
{
    term_init();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    Cli cli = {
        .out = term_of(STDOUT_FILENO),
        .err = term_of(STDERR_FILENO),
        .hooks = hooks,
    };
    int at = leading_words(argc, argv);
    int code;
    if (at < argc) {
        cli.word_count = argc - at - 1;
        cli.words = argv + at + 1;
        code = with_command(&cli, at, argv);
    } else if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        code = command_find("version")->run(&cli);
    } else if (argc > 1 && !asks_help(argv[1])) {
        Command none = { .name = "help" };
        Error why;
        cli.command = &none;
        cli.args.tables[0] = global_options;
        code =
            args_parse(&cli.args, argc - 1, argv + 1, &why)
                ? cli_misused(&cli, &why)
                : cli_fail(&cli, (Fault){ CLI_USAGE, "usage", "all of them: pawl help" },
                           "missing command");
    } else {
        Buf text = { 0 };
        help_overview(&cli.out, &text);
        bool asked = argc > 1;
        fwrite(text.data, 1, text.bytes, asked ? stdout : stderr);
        buf_done(&text);
        code = asked ? CLI_DONE : CLI_USAGE;
    }
    client_done(&cli.client);
    args_done(&cli.args);
    buf_done(&cli.data_dir);
    buf_done(&cli.server);
    curl_global_cleanup();
    return finish(code);
}
