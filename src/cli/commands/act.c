/* SPDX-License-Identifier: Apache-2.0 */
/* act.c - pawl cancel, hold, release, pause, resume, halt, retry, kill and rm. */
#include "cli/command.h"

#include "cli/bulk.h"

#include <stdio.h>

int cmd_act(Cli *cli)
{
    char rest[32];
    const char *verb = cli->command->name;
    if (strcmp(verb, "rm") == 0)
        return bulk_run(cli, &(Bulk){ .verb = verb, .method = "DELETE", .rest = "" });
    snprintf(rest, sizeof rest, "/%s", verb);
    Bulk bulk = { .verb = verb, .method = "POST", .rest = rest };
    if (strcmp(verb, "retry") == 0 && args_flag(&cli->args, "without-after"))
        bulk.body = SLICE_LITERAL("{\"without_after\":true}");
    return bulk_run(cli, &bulk);
}
