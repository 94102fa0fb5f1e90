/* SPDX-License-Identifier: Apache-2.0 */
/* move.c - pawl export --all and pawl import --all: a whole store and a file, without
 * a daemon. */
#include "cli/command.h"

#include <stdio.h>

static Fault fault_of(Err err)
{
    switch (err) {
    case ERR_NOT_FOUND:
        return (Fault){ CLI_NOT_FOUND, err_name(err), NULL };
    case ERR_CONFLICT:
    case ERR_BUSY:
        return (Fault){ CLI_CONFLICT, err_name(err), "nothing was changed" };
    case ERR_DENIED:
        return (Fault){ CLI_DENIED, err_name(err), NULL };
    case ERR_OK:
    case ERR_INVALID:
    case ERR_LIMIT:
    case ERR_FULL:
    case ERR_IO:
    case ERR_CORRUPT:
    case ERR_UNAVAILABLE:
    case ERR_TIMEOUT:
    case ERR_UNSUPPORTED:
        break;
    }
    return (Fault){ CLI_FAILED, err_name(err), NULL };
}

int cmd_move(Cli *cli, CliMoveHook *move)
{
    const Args *args = &cli->args;
    bool imports = move == cli->hooks->store_import;
    uint64_t rows = 0;
    Error why = { 0 };
    if (!move)
        return cli_fail(cli, (Fault){ CLI_FAILED, "unsupported", NULL },
                        "this build has no daemon");
    if (args->operand_count)
        return cli_fail(cli, (Fault){ CLI_USAGE, "usage", NULL },
                        "--all takes everything: what is \"%s\"?", args->operands[0]);
    CliMove what = { .data = args_value(args, "data"),
                     .config = args_value(args, "config"),
                     .store = args_value(args, "store"),
                     .file = args_value(args, "all"),
                     .replace = imports && args_flag(args, "replace") };
    Err err = move(&what, &rows, &why);
    if (err)
        return cli_fail(cli, fault_of(err), "%s", why.text);
    if (cli->json)
        printf("{\"rows\":%llu}\n", (unsigned long long)rows);
    else
        printf("%llu rows are %s\n", (unsigned long long)rows, imports ? "in" : "out");
    return CLI_DONE;
}
