/* SPDX-License-Identifier: Apache-2.0 */
/* set.c - pawl set ID... --priority N ...: change jobs that wait. */
#include "cli/command.h"

#include "cli/bulk.h"
#include "cli/describe.h"
#include "cli/print/when.h"

#include "base/times.h"

#include <stdio.h>

static Err describe(const Args *args, JsonOut *json, Error *why)
{
    int64_t number;
    int64_t due_ms;
    const char *tag;
    Err err = args_int(args, "priority", 0, &number, why);
    if (!err && args_flag(args, "priority"))
        json_int(json, "priority", number);
    if (!err && args_flag(args, "queue"))
        json_cstr(json, "queue", args_value(args, "queue"));
    if (!err)
        err = describe_due(args, clock_now().wall_ms, &due_ms, why);
    if (!err && due_ms) {
        char when[WHEN_TEXT_BYTES];
        json_time(json, "run_at", due_ms);
        fprintf(stderr, "starts  %s\n", when_echo(due_ms, when));
    }
    if (!err)
        err = args_duration(args, "max-run-time", &number, why);
    if (!err && number >= 0)
        json_duration(json, "max_run_time", number);
    if (!err && args_flag(args, "tag")) {
        json_array(json, "tags");
        for (size_t at = 0; (tag = args_next(args, "tag", &at));)
            json_cstr(json, NULL, tag);
        json_array_end(json);
    }
    return err;
}

int cmd_set(Cli *cli)
{
    Error why;
    Buf body = { 0 };
    JsonOut json = { .out = &body };
    json_object(&json, NULL);
    Err err = describe(&cli->args, &json, &why);
    json_object_end(&json);
    int code;
    if (err)
        code = cli_misused(cli, &why);
    else if (slice_is(buf_slice(&body), "{}"))
        code = cli_fail(cli, (Fault){ CLI_USAGE, "usage", "for example: --priority 9" },
                        "nothing to change");
    else
        code = bulk_run(cli, &(Bulk){ "set", "PATCH", "", buf_slice(&body) });
    buf_done(&body);
    return code;
}
