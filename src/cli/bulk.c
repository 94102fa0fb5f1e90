/* SPDX-License-Identifier: Apache-2.0 */
/* bulk.c - see bulk.h. */
#include "cli/bulk.h"

#include "cli/operation.h"
#include "cli/pages.h"

#include <stdio.h>

typedef struct Outcome {
    Buf json; /* answers, separated by commas */
    size_t done;
    int exit;
} Outcome;

static void say_done(const Cli *cli, const Bulk *bulk, const char *id,
                     const Response *response)
{
    Doc *job = NULL;
    char state[32] = "";
    if (!doc_parse(buf_slice(&response->body), &job, NULL)) {
        snprintf(state, sizeof state, SLICE_FMT, SLICE_ARG(doc_text(job, "state")));
        if (doc_bool(job, "cancelling"))
            snprintf(state, sizeof state, "cancelling");
        doc_free(job);
    }
    Colour colour = term_state_colour(state);
    printf("%s  %s  %s%s%s\n", bulk->verb, id, term_on(&cli->out, colour),
           state[0] ? state : "removed", term_off(&cli->out, colour));
}

static void one(Cli *cli, const Bulk *bulk, const char *id, Outcome *outcome)
{
    Buf path = { 0 };
    Response response = { 0 };
    cli_job_path(&path, id, bulk->rest);
    Request request = { .method = bulk->method,
                        .path = buf_cstr(&path),
                        .body = bulk->body };
    int code = cli_call(cli, &request, &response);
    outcome->exit = outcome->exit ? outcome->exit : code;
    outcome->done += !code;
    if (!code && cli->json) {
        if (outcome->json.bytes)
            buf_add_char(&outcome->json, ',');
        if (response.body.bytes)
            buf_add_slice(&outcome->json, buf_slice(&response.body));
        else
            buf_printf(&outcome->json, "{\"id\":\"%s\"}", id);
    } else if (!code) {
        say_done(cli, bulk, id, &response);
    }
    response_done(&response);
    buf_done(&path);
}

static void print_json(const char *field, const Buf *items)
{
    Buf out = { 0 };
    buf_printf(&out, "{\"%s\":[", field);
    buf_add_slice(&out, buf_slice(items));
    buf_add_text(&out, "]}");
    cli_print_json(buf_slice(&out));
    buf_done(&out);
}

static void dry_run(const Cli *cli, const Bulk *bulk, const JobIdText *ids, size_t count)
{
    Buf items = { 0 };
    for (size_t i = 0; i < count; i++) {
        if (cli->json)
            buf_printf(&items, "%s\"%s\"", i ? "," : "", ids[i]);
        else
            puts(ids[i]);
    }
    if (cli->json)
        print_json("would", &items);
    else
        cli_note("would %s %zu job%s", bulk->verb, count, count == 1 ? "" : "s");
    buf_done(&items);
}

int bulk_run(Cli *cli, const Bulk *bulk)
{
    JobIdText *ids = NULL;
    size_t count = 0;
    bool dry = args_flag(&cli->args, "dry-run");
    if (args_flag(&cli->args, "match") && !cli->args.operand_count && !dry)
        return operation_match(cli, bulk->verb, bulk->body);
    int code = pages_ids(cli, &ids, &count);
    if (code)
        return code;
    if (!count && !cli->json) {
        cli_note("no job matches");
    } else if (dry) {
        dry_run(cli, bulk, (const JobIdText *)ids, count);
    } else {
        Outcome outcome = { 0 };
        for (size_t i = 0; i < count; i++)
            one(cli, bulk, ids[i], &outcome);
        if (cli->json)
            print_json("items", &outcome.json);
        else if (count > 1)
            cli_note("%s: %zu of %zu jobs", bulk->verb, outcome.done, count);
        code = outcome.exit;
        buf_done(&outcome.json);
    }
    mem_free(ids);
    return code;
}
