/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_doctor.c - pawl doctor: checks. */
#include "cli/command.h"

int cmd_doctor(Cli *cli)
{
    (void)cli;
    return CLI_DONE;
}
