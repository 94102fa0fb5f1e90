/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - pawl version: of this program; the daemon's is in pawl status. */
#include "cli/command.h"

#include "base/json_out.h"

#include <stdio.h>

int cmd_version(Cli *cli)
{
    if (!cli->json) {
        printf("pawl %s\n", PAWL_VERSION);
        return CLI_DONE;
    }
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    json_object(&json, NULL);
    json_cstr(&json, "version", PAWL_VERSION);
    json_cstr(&json, "api", "v1");
    json_cstr(&json, "compiler", __VERSION__);
    json_object_end(&json);
    cli_print_json(buf_slice(&out));
    buf_done(&out);
    return CLI_DONE;
}
