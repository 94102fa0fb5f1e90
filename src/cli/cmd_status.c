/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_status.c - pawl status: one screen. */
#include "cli/command.h"

int cmd_status(Cli *cli)
{
    (void)cli;
    return CLI_DONE;
}
