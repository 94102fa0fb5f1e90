/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - pawl serve: hands over to the daemon, which reads its own options. */
#include "cli/command.h"

int cmd_serve(Cli *cli)
{
    if (!cli->hooks->serve)
        return cli_fail(cli, (Fault){ CLI_FAILED, "unsupported", NULL },
                        "this build has no daemon");
    /* words[-1] is "serve" itself. */
    return cli->hooks->serve(cli->word_count + 1, cli->words - 1);
}
