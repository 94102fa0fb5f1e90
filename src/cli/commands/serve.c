/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - pawl serve: hands over to the daemon, which reads its own options. */
#include "cli/command.h"

static char *long_name(const char *name)
{
    Buf word = { 0 };
    buf_printf(&word, "--%s", name);
    char *copy = mem_copy(buf_cstr(&word), word.bytes + 1);
    buf_done(&word);
    return copy;
}

int cmd_serve(Cli *cli)
{
    if (!cli->hooks->serve)
        return cli_fail(cli, (Fault){ CLI_FAILED, "unsupported", NULL },
                        "this build has no daemon");
    char serve[] = "serve";
    char **words = MEM_ARRAY(char *, 2 * cli->args.given_count + 2);
    size_t count = 0;
    words[count++] = serve;
    for (size_t i = 0; i < cli->args.given_count; i++) {
        const Given *given = &cli->args.given[i];
        if (strcmp(given->option->name, "json") == 0)
            continue; /* its log is no document */
        words[count++] = long_name(given->option->name);
        if (given->value)
            words[count++] = mem_copy(given->value, strlen(given->value) + 1);
    }
    int status = cli->hooks->serve((int)count, words);
    while (--count)
        mem_free(words[count]);
    mem_free(words);
    return status;
}
