/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - pawl config: show what the file says, get and set what the running
 * daemon keeps in its store. */
#include "cli/command.h"

#include "cli/describe.h"
#include "cli/print/table.h"

#include "base/json_out.h"
#include "base/text.h"

#include <stdio.h>

#define CONFIG_PATH "/api/v1/config"

static Fault usage(const char *hint)
{
    return (Fault){ CLI_USAGE, "usage", hint };
}

/* max-concurrent-jobs and max_concurrent_jobs are the same setting. */
static Slice setting_name(Arena *arena, Slice typed)
{
    char *name = slice_cstr(arena, typed);
    for (char *c = name; *c; c++)
        if (*c == '-')
            *c = '_';
    return slice_text(name);
}

/* Every value: as the daemon that answers has it, or, without one, as the file, the
 * environment and the defaults give it. */
typedef struct Rows {
    bool origin;
    Table table;
    Buf items;
    JsonOut json;
} Rows;

static void add_value_row(Rows *rows, Slice key, Slice value, Slice origin)
{
    Buf text = { 0 };
    setting_show(value, &text);
    table_add(&rows->table, COLOUR_PLAIN, key);
    table_add(&rows->table, COLOUR_PLAIN, buf_slice(&text));
    if (rows->origin)
        table_add(&rows->table, COLOUR_DIM, origin);
    buf_done(&text);
}

static void take_row(void *context, const char *key, const char *value,
                     const char *origin)
{
    Rows *rows = context;
    json_object(&rows->json, key);
    json_cstr(&rows->json, "value", value);
    json_cstr(&rows->json, "origin", origin);
    json_object_end(&rows->json);
    add_value_row(rows, slice_text(key), slice_text(value), slice_text(origin));
}

/* A setting that was set has the name to set it by, and what it hides. */
static void take_running(Rows *rows, const Doc *row)
{
    Buf origin = { 0 };
    Slice configured = doc_text(row, "configured");
    buf_add_slice(&origin, doc_text(row, "origin"));
    if (doc_get(row, "configured"))
        buf_printf(&origin, " " SLICE_FMT " (else " SLICE_FMT ")",
                   SLICE_ARG(doc_text(row, "setting")), SLICE_ARG(configured));
    add_value_row(rows, doc_key(row), doc_text(row, "value"), buf_slice(&origin));
    buf_done(&origin);
}

/* The daemon's own words; *out_none: no daemon answers. */
static int show_running(Cli *cli, Rows *rows, bool *out_none)
{
    Response response = { 0 };
    Doc *values = NULL;
    Error why;
    Request request = { .method = "GET", .path = CONFIG_PATH "/values" };
    Err err = client_call(&cli->client, &request, &response, &why);
    *out_none = err == ERR_UNAVAILABLE && !cli->server_named;
    int code = CLI_DONE;
    if (err && !*out_none)
        code = cli_fail_call(cli, err, &why);
    else if (!err && response.status != 200)
        code = cli_fail_response(cli, &response);
    else if (!err && !doc_parse(buf_slice(&response.body), &values, NULL))
        for (const Doc *row = doc_first(values); row; row = doc_next(row))
            take_running(rows, row);
    if (values)
        buf_add_slice(&rows->items, buf_slice(&response.body));
    if (values)
        doc_free(values);
    response_done(&response);
    return code;
}

static int show_file(Cli *cli, Rows *rows)
{
    Error why;
    if (!cli->hooks->config)
        return cli_fail(cli, (Fault){ CLI_FAILED, "unsupported", NULL },
                        "this build has no daemon");
    if (!cli->json)
        cli_note("no daemon answers; this is what one that is started now would have");
    json_object(&rows->json, NULL);
    Err err = cli->hooks->config(args_value(&cli->args, "data"), take_row, rows, &why);
    json_object_end(&rows->json);
    return err ? cli_misused(cli, &why) : CLI_DONE;
}

static int show(Cli *cli)
{
    static const Column columns[] = { { .title = "KEY" },
                                      { .title = "VALUE" },
                                      { .title = "ORIGIN" } };
    bool none = false;
    Rows rows = { .origin = args_flag(&cli->args, "origin") };
    rows.json.out = &rows.items;
    table_init(&rows.table, columns, rows.origin ? 3 : 2);
    int code = cli_connect(cli);
    if (!code)
        code = show_running(cli, &rows, &none);
    if (none)
        code = show_file(cli, &rows);
    Buf out = { 0 };
    if (!code && cli->json)
        cli_print_json(buf_slice(&rows.items));
    else if (!code)
        table_print(&rows.table, &cli->out, &out);
    cli_print(&out);
    buf_done(&out);
    table_done(&rows.table);
    buf_done(&rows.items);
    return code;
}

/* All settings of the running daemon. */
static int get_all(Cli *cli)
{
    static const Column columns[] = { { .title = "SETTING" }, { .title = "VALUE" } };
    Doc *config = NULL;
    int code = cli_get(cli, CONFIG_PATH, &config);
    if (code)
        return code;
    Table table;
    Buf out = { 0 };
    table_init(&table, columns, 2);
    for (const Doc *field = doc_first(config); field; field = doc_next(field)) {
        Buf value = { 0 };
        doc_show_setting(field, &value);
        table_add(&table, COLOUR_PLAIN, doc_key(field));
        table_add(&table, COLOUR_PLAIN, buf_slice(&value));
        buf_done(&value);
    }
    if (cli->json) {
        doc_write(config, &out);
        buf_add_char(&out, '\n');
    } else {
        table_print(&table, &cli->out, &out);
    }
    cli_print(&out);
    buf_done(&out);
    table_done(&table);
    doc_free(config);
    return CLI_DONE;
}

static int get(Cli *cli)
{
    Doc *config = NULL;
    Arena arena = { 0 };
    Buf out = { 0 };
    Doc *values = NULL;
    bool keys = false;
    for (size_t i = 1; i < cli->args.operand_count; i++)
        keys = keys || strchr(cli->args.operands[i], '.');
    int code = cli_get(cli, CONFIG_PATH, &config);
    if (!code && keys)
        code = cli_get(cli, CONFIG_PATH "/values", &values);
    for (size_t i = 1; i < cli->args.operand_count && !code; i++) {
        Slice name = setting_name(&arena, slice_text(cli->args.operands[i]));
        const Doc *value = doc_get(config, name.data);
        if (!value) /* the name that the file has for it */
            value = doc_get(doc_get(values, name.data), "value");
        if (!value)
            code = cli_fail(cli,
                            (Fault){ CLI_NOT_FOUND, "setting_not_found",
                                     "all settings: pawl config get" },
                            "there is no setting \"%s\"", name.data);
        else if (cli->json)
            doc_write(value, &out);
        else
            doc_show_setting(value, &out);
        buf_add_char(&out, '\n');
    }
    if (!code)
        cli_print(&out);
    doc_free(config);
    doc_free(values);
    arena_done(&arena);
    buf_done(&out);
    return code;
}

/* Numbers, true, false and null are meant as such; the rest is text. */
static void add_value(JsonOut *json, Slice name, Slice value)
{
    int64_t number;
    if (!int_parse(value, &number))
        json_int(json, name.data, number);
    else if (slice_is(value, "true") || slice_is(value, "false"))
        json_bool(json, name.data, slice_is(value, "true"));
    else if (slice_is(value, "null"))
        json_null(json, name.data);
    else
        json_text(json, name.data, value);
}

static int set(Cli *cli)
{
    Arena arena = { 0 };
    Buf body = { 0 };
    JsonOut json = { .out = &body };
    json_object(&json, NULL);
    char **words = cli->args.operands + 1;
    size_t count = cli->args.operand_count - 1;
    const char *sample = "for example: pawl config set max_concurrent_jobs=8";
    int code = count ? CLI_DONE : cli_fail(cli, usage(sample), "nothing to change");
    /* KEY VALUE is understood too when it is all there is. */
    if (count == 2 && !strchr(words[0], '=')) {
        add_value(&json, setting_name(&arena, slice_text(words[0])),
                  slice_text(words[1]));
        count = 0;
    }
    for (size_t i = 0; i < count && !code; i++) {
        Slice value = slice_text(words[i]);
        Slice name = slice_cut(&value, '=');
        if (!name.bytes || !value.data)
            code = cli_fail(cli, usage(sample), "\"%s\" is not KEY=VALUE", words[i]);
        else
            add_value(&json, setting_name(&arena, name), value);
    }
    json_object_end(&json);
    Response response = { 0 };
    Request request = { .method = "PATCH",
                        .path = CONFIG_PATH,
                        .body = buf_slice(&body) };
    if (!code)
        code = cli_call(cli, &request, &response);
    if (!code && cli->json)
        cli_print_json(buf_slice(&response.body));
    else if (!code)
        puts("settings changed; show them: pawl config get");
    response_done(&response);
    buf_done(&body);
    arena_done(&arena);
    return code;
}

/* 000's <batch-config>: what is left out of it stays as it is. */
static int import_xml(Cli *cli)
{
    const char *hint = "for example: pawl config import batch-config.xml";
    if (cli->args.operand_count != 2)
        return cli_fail(cli, usage(hint),
                        "import takes one file, or - for standard input");
    Buf body = { 0 };
    Response response = { 0 };
    int code = describe_read(cli, cli->args.operands[1], &body);
    Request request = { .method = "PATCH",
                        .path = CONFIG_PATH,
                        .content_type = "application/xml",
                        .body = buf_slice(&body) };
    if (!code)
        code = cli_call(cli, &request, &response);
    if (!code && cli->json)
        cli_print_json(buf_slice(&response.body));
    response_done(&response);
    buf_done(&body);
    return code;
}

static int export_xml(Cli *cli)
{
    if (cli->args.operand_count != 1)
        return cli_fail(cli, usage("for example: pawl config export > batch-config.xml"),
                        "export takes no words");
    Response response = { 0 };
    Request request = { .method = "GET",
                        .path = CONFIG_PATH,
                        .accept = cli->json ? NULL : "application/xml" };
    int code = cli_call(cli, &request, &response);
    if (!code && cli->json)
        cli_print_json(buf_slice(&response.body));
    else if (!code)
        cli_print(&response.body);
    response_done(&response);
    return code;
}

static int get_some(Cli *cli)
{
    return cli->args.operand_count == 1 ? get_all(cli) : get(cli);
}

int cmd_config(Cli *cli)
{
    static const struct {
        const char *name;
        int (*run)(Cli *cli);
    } verbs[] = {
        { "get", get_some },
        { "set", set },
        { "import", import_xml },
        { "export", export_xml },
    };
    size_t words = cli->args.operand_count;
    const char *verb = words ? cli->args.operands[0] : "show";
    if (strcmp(verb, "show") == 0)
        return show(cli);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(verb, verbs[i].name) != 0)
            continue;
        int code = cli_connect(cli);
        return code ? code : verbs[i].run(cli);
    }
    return cli_fail(cli,
                    usage("pawl config show | get [KEY...] | set KEY=VALUE... | "
                          "import FILE | export"),
                    "pawl config does not know \"%s\"", verb);
}
