/* SPDX-License-Identifier: Apache-2.0 */
/* handler.c - pawl handler: what runs the jobs of a type, shown and changed. */
#include "cli/command.h"

#include "cli/commands/noun_options.h"
#include "cli/describe.h"
#include "cli/print/safe.h"
#include "cli/print/when.h"
#include "cli/verb.h"

#include "base/text.h"
#include "base/times.h"

#include <stdio.h>

#define HANDLERS_PATH "/api/v1/handlers"
#define LABEL_WIDTH   14

static Fault usage(const char *hint)
{
    return (Fault){ CLI_USAGE, "usage", hint };
}

static const VerbSet handler_verbs;

/* --- Lists ------------------------------------------------------------------------- */

static const Column ls_columns[] = {
    { .title = "TYPE", .wide = true },     { .title = "LANG" },
    { .title = "VERSION", .right = true }, { .title = "STATE" },
    { .title = "QUEUE", .wide = true },    { .title = "SET", .right = true },
    { .title = "BODY", .wide = true },
};

static Slice first_line(Slice text)
{
    return slice_cut(&text, '\n');
}

static void add_row(Table *table, const Doc *handler)
{
    char age[WHEN_TEXT_BYTES];
    bool enabled = doc_bool(handler, "enabled");
    int64_t since_ms = clock_now().wall_ms - doc_time(handler, "created_at");
    Slice queue = doc_text(handler, "queue");
    table_add(table, COLOUR_PLAIN, doc_text(handler, "type"));
    table_add(table, COLOUR_PLAIN, doc_text(handler, "lang"));
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)doc_int(handler, "version", 0));
    table_addf(table, enabled ? COLOUR_PLAIN : COLOUR_YELLOW, "%s",
               enabled ? "enabled" : "disabled");
    table_add(table, COLOUR_PLAIN, queue.bytes ? queue : SLICE_LITERAL("-"));
    table_addf(table, COLOUR_PLAIN, "%s", when_age(since_ms, age));
    table_add(table, COLOUR_PLAIN, first_line(doc_text(handler, "body")));
}

static int list(Cli *cli, const char *path)
{
    return verb_list(cli,
                     &(VerbList){ .path = path,
                                  .columns = ls_columns,
                                  .column_count = sizeof ls_columns / sizeof *ls_columns,
                                  .row = add_row,
                                  .nothing = "no handlers" });
}

static int versions(Cli *cli)
{
    Buf path = { 0 };
    verb_path(&path, cli, &handler_verbs, "/versions");
    int code = list(cli, buf_cstr(&path));
    buf_done(&path);
    return code;
}

/* --- One --------------------------------------------------------------------------- */

static void show_field(Buf *out, const Cli *cli, const Doc *field)
{
    Buf text = { 0 };
    Arena arena = { 0 };
    doc_show_setting(field, &text);
    bool empty = doc_is_null(field) ||
                 ((doc_is_array(field) || doc_is_object(field)) && !doc_count(field)) ||
                 slice_is(buf_slice(&text), "0") || slice_is(buf_slice(&text), "false");
    if (!empty || slice_is(doc_key(field), "enabled")) {
        buf_printf(out, "%s%-*s%s", term_on(&cli->out, COLOUR_DIM), LABEL_WIDTH,
                   slice_cstr(&arena, doc_key(field)), term_off(&cli->out, COLOUR_DIM));
        safe_add(out, buf_slice(&text));
        buf_add_char(out, '\n');
    }
    arena_done(&arena);
    buf_done(&text);
}

static bool is_script(Slice name)
{
    return slice_is(name, "body") || slice_is(name, "before") ||
           slice_is(name, "beforeEach") || slice_is(name, "afterEach");
}

/* Fields first, then the scripts as they are. */
static void describe(Buf *out, const Cli *cli, const Doc *handler)
{
    const Doc *field;
    for (field = doc_first(handler); field; field = doc_next(field))
        if (!is_script(doc_key(field)))
            show_field(out, cli, field);
    for (field = doc_first(handler); field; field = doc_next(field)) {
        Slice rest = doc_as_text(field);
        if (!is_script(doc_key(field)) || !rest.bytes)
            continue;
        buf_printf(out, "\n%s" SLICE_FMT "%s\n", term_on(&cli->out, COLOUR_DIM),
                   SLICE_ARG(doc_key(field)), term_off(&cli->out, COLOUR_DIM));
        while (rest.bytes) {
            buf_add_text(out, "    ");
            safe_add(out, slice_cut(&rest, '\n'));
            buf_add_char(out, '\n');
        }
    }
}

static int get(Cli *cli)
{
    Buf path = { 0 };
    Buf out = { 0 };
    Doc *handler = NULL;
    verb_path(&path, cli, &handler_verbs, "");
    int code = cli_get(cli, buf_cstr(&path), &handler);
    buf_done(&path);
    if (code)
        return code;
    if (args_flag(&cli->args, "body")) {
        buf_add_slice(&out, doc_text(handler, "body"));
    } else if (cli->json) {
        doc_write(handler, &out);
        buf_add_char(&out, '\n');
    } else {
        describe(&out, cli, handler);
    }
    cli_print(&out);
    buf_done(&out);
    doc_free(handler);
    return CLI_DONE;
}

/* --- Changing ---------------------------------------------------------------------- */

/* In one line. */
static void say(const Cli *cli, const Doc *handler)
{
    (void)cli;
    if (doc_bool(handler, "removed"))
        printf(SLICE_FMT " removed\n", SLICE_ARG(doc_text(handler, "type")));
    else
        printf(SLICE_FMT " version %lld%s\n", SLICE_ARG(doc_text(handler, "type")),
               (long long)doc_int(handler, "version", 0),
               doc_bool(handler, "enabled") ? "" : " (disabled)");
}

/* The words of a command as a JSON array: no quoting to get wrong. */
static int words_body(Cli *cli, Buf *body)
{
    JsonOut json = { .out = body };
    json_array(&json, NULL);
    for (size_t i = 2; i < cli->args.operand_count; i++) {
        if (!utf8_valid(slice_text(cli->args.operands[i])))
            return cli_fail(cli, usage(NULL), "a word of the command is not UTF-8");
        json_cstr(&json, NULL, cli->args.operands[i]);
    }
    json_array_end(&json);
    return CLI_DONE;
}

static int read_body(Cli *cli, Buf *body)
{
    const Args *args = &cli->args;
    const char *file = args_value(args, "file");
    const char *lang = args_value(args, "lang");
    bool exec = lang && strcmp(lang, "exec") == 0;
    const char *sample = "for example: pawl handler set resize --file resize.sh";
    if (file && args->operand_count > 2)
        return cli_fail(cli, usage(sample), "the body is --file or a word, not both");
    if (file)
        return describe_read(cli, file, body);
    if (args->operand_count < 3 && lang && strcmp(lang, "pull") == 0)
        return CLI_DONE; /* its workers know what to do */
    if (args->operand_count < 3)
        return cli_fail(cli, usage(sample), "what is its body?");
    if (args->operand_count > 3 && exec)
        return words_body(cli, body);
    if (args->operand_count > 3)
        return cli_fail(cli,
                        usage("a command of several words: --lang exec -- CMD ARG..."),
                        "the body is one word: quote it");
    if (strcmp(args->operands[2], "-") == 0)
        return describe_read(cli, "-", body);
    buf_add_text(body, args->operands[2]);
    return CLI_DONE;
}

/* Without a body it keeps the one that it has. */
static bool names_body(const Args *args)
{
    return args->operand_count > 2 || args_value(args, "file");
}

static int set(Cli *cli)
{
    Buf script = { 0 };
    Buf body = { 0 };
    JsonOut json = { .out = &body };
    bool changes = !names_body(&cli->args);
    int code = changes ? CLI_DONE : read_body(cli, &script);
    if (!code && !utf8_valid(buf_slice(&script)))
        code = cli_fail(cli, (Fault){ CLI_USAGE, "invalid_utf8", NULL },
                        "the body is not UTF-8");
    json_object(&json, NULL);
    if (!changes)
        json_text(&json, "body", buf_slice(&script));
    if (!code)
        code = describe_handler(cli, &json);
    json_object_end(&json);
    if (!code && slice_is(buf_slice(&body), "{}"))
        code = read_body(cli, &script); /* says what is missing */
    if (!code)
        code = verb_set(cli, &handler_verbs, buf_slice(&body));
    buf_done(&body);
    buf_done(&script);
    return code;
}

static int rollback(Cli *cli)
{
    Buf body = { 0 };
    int64_t version = 0;
    const char *word = cli->args.operand_count > 2 ? cli->args.operands[2] : NULL;
    if (word && (int_parse(slice_text(word), &version) || version < 1))
        return cli_fail(cli, usage("pawl handler versions TYPE shows them"),
                        "\"%s\" is not a version", word);
    if (word)
        buf_printf(&body, "{\"version\":%lld}", (long long)version);
    int code = verb_call(
        cli, &handler_verbs,
        &(VerbCall){ .method = "POST", .rest = "/rollback", .body = buf_slice(&body) });
    buf_done(&body);
    return code;
}

static int ls(Cli *cli)
{
    return list(cli, HANDLERS_PATH);
}

/* One run, nothing stored: what it printed as it is, then what came of it. */
static void say_tested(const Cli *cli, const Doc *tested)
{
    Buf text = { 0 };
    buf_add_slice(&text, doc_text(tested, "stdout")); /* as pawl logs does */
    cli_print(&text);
    buf_clear(&text);
    buf_add_slice(&text, doc_text(tested, "stderr"));
    if (text.bytes)
        fwrite(text.data, 1, text.bytes, stderr);
    fflush(stderr);
    buf_clear(&text);
    buf_printf(&text, "%s" SLICE_FMT " %lld%s\n", term_on(&cli->out, COLOUR_DIM),
               SLICE_ARG(doc_text(tested, "code")),
               (long long)doc_int(tested, "exitcode", 0),
               term_off(&cli->out, COLOUR_DIM));
    static const char *const fields[] = { "result", "error" };
    for (size_t i = 0; i < 2; i++) {
        if (!doc_text(tested, fields[i]).bytes)
            continue;
        buf_printf(&text, "%s: ", fields[i]);
        safe_add(&text, doc_text(tested, fields[i]));
        buf_add_char(&text, '\n');
    }
    const Doc *job = doc_first(doc_get(tested, "jobs"));
    for (; job; job = doc_next(job)) {
        buf_printf(&text, "would add: " SLICE_FMT " ", SLICE_ARG(doc_text(job, "type")));
        safe_add(&text, doc_text(job, "payload"));
        buf_add_char(&text, '\n');
    }
    cli_print(&text);
    buf_done(&text);
}

static int test(Cli *cli)
{
    Buf payload = { 0 };
    Buf body = { 0 };
    Buf path = { 0 };
    JsonOut json = { .out = &body };
    Doc *tested = NULL;
    int code = CLI_DONE;
    const char *word = cli->args.operand_count > 2 ? cli->args.operands[2] : "";
    if (strcmp(word, "-") == 0)
        code = describe_read(cli, "-", &payload);
    else
        buf_add_text(&payload, word);
    json_object(&json, NULL);
    if (utf8_valid(buf_slice(&payload)))
        json_text(&json, "payload", buf_slice(&payload));
    else
        json_base64(&json, "payload_base64", buf_slice(&payload));
    json_object_end(&json);
    verb_path(&path, cli, &handler_verbs, "/test");
    Request request = { .method = "POST",
                        .path = buf_cstr(&path),
                        .body = buf_slice(&body) };
    if (!code)
        code = cli_call_doc(cli, &request, &tested);
    if (!code && cli->json) {
        buf_clear(&body);
        doc_write(tested, &body);
        cli_print_json(buf_slice(&body));
    } else if (!code) {
        say_tested(cli, tested);
    }
    if (!code && !slice_is(doc_text(tested, "code"), "ok"))
        code = CLI_FAILED;
    if (tested)
        doc_free(tested);
    buf_done(&path);
    buf_done(&body);
    buf_done(&payload);
    return code;
}

/* --- Verbs ------------------------------------------------------------------------- */

static const Verb verbs[] = {
    { "ls", 1, 1, ls, NULL, NULL },
    { "get", 2, 2, get, NULL, NULL },
    { "set", 2, SIZE_MAX, set, NULL, NULL },
    { "rm", 2, 2, NULL, "DELETE", "" },
    { "versions", 2, 2, versions, NULL, NULL },
    { "rollback", 2, 3, rollback, NULL, NULL },
    { "test", 2, 3, test, NULL, NULL },
    { "enable", 2, 2, NULL, "POST", "/enable" },
    { "disable", 2, 2, NULL, "POST", "/disable" },
};

static const VerbSet handler_verbs = { .command = "handler",
                                       .missing = "of which type?",
                                       .verbs = verbs,
                                       .count = sizeof verbs / sizeof *verbs,
                                       .otherwise = "ls",
                                       .path = HANDLERS_PATH,
                                       .say = say };

int cmd_handler(Cli *cli)
{
    return verb_run(cli, &handler_verbs);
}
