/* SPDX-License-Identifier: Apache-2.0 */
/* cli.c - see cli.h. */
#include "cli/cli.h"

#include "cli/command.h"
#include "cli/print/safe.h"

#include "base/json_out.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HINT_LINES_MAX 3
#define PREFIX_MIN     6
#define ID_CHARACTERS  (ID_TEXT_BYTES - 1)

static void say_json(Fault fault, const char *text)
{
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    json_object(&json, NULL);
    json_cstr(&json, "type", "about:blank");
    json_cstr(&json, "title", text);
    json_cstr(&json, "detail", text);
    json_cstr(&json, "code", fault.code);
    if (fault.hint)
        json_cstr(&json, "hint", fault.hint);
    json_object_end(&json);
    fprintf(stderr, "%s\n", buf_cstr(&out));
    buf_done(&out);
}

static void say_text(const Cli *cli, Fault fault, const char *text)
{
    Buf out = { 0 };
    buf_add_text(&out, "pawl: ");
    safe_add(&out, slice_text(text));
    buf_printf(&out, " %s[%s]%s\n", term_on(&cli->err, COLOUR_DIM), fault.code,
               term_off(&cli->err, COLOUR_DIM));
    Slice rest = slice_text(fault.hint);
    for (int lines = 0; rest.bytes && lines < HINT_LINES_MAX; lines++) {
        Slice line = slice_cut(&rest, '\n');
        buf_add_text(&out, "  ");
        safe_add(&out, line);
        buf_add_char(&out, '\n');
    }
    fflush(stdout); /* what came before stands before it */
    fwrite(out.data, 1, out.bytes, stderr);
    buf_done(&out);
}

int cli_fail(const Cli *cli, Fault fault, const char *format, ...)
{
    Buf text = { 0 };
    va_list list;
    va_start(list, format);
    char *room = buf_room(&text, 4 * ERROR_TEXT_BYTES);
    int bytes = vsnprintf(room, 4 * ERROR_TEXT_BYTES, format, list);
    va_end(list);
    if (bytes > 0)
        text.bytes = (size_t)bytes < 4 * ERROR_TEXT_BYTES ? (size_t)bytes
                                                          : 4 * ERROR_TEXT_BYTES - 1;
    if (cli->json)
        say_json(fault, buf_cstr(&text));
    else
        say_text(cli, fault, buf_cstr(&text));
    buf_done(&text);
    return cli->waits ? CLI_OWN_FAILURE : fault.exit;
}

int cli_misused(const Cli *cli, const Error *why)
{
    Buf hint = { 0 };
    buf_printf(&hint, "see: pawl %s --help", cli->command->name);
    int code =
        cli_fail(cli, (Fault){ CLI_USAGE, "usage", buf_cstr(&hint) }, "%s", why->text);
    buf_done(&hint);
    return code;
}

static void add_hint(Buf *hint, const char *before, Slice text)
{
    if (!text.bytes)
        return;
    if (hint->bytes)
        buf_add_char(hint, '\n');
    buf_add_text(hint, before);
    buf_add_slice(hint, text);
}

/* "allowed": ["ready", "held"] as "allowed in: ready, held". */
static void add_allowed(Buf *hint, const Doc *allowed)
{
    Buf words = { 0 };
    for (size_t i = 0; i < doc_count(allowed); i++) {
        if (i)
            buf_add_text(&words, ", ");
        doc_show(doc_at(allowed, i), &words);
    }
    add_hint(hint, "allowed: ", buf_slice(&words));
    buf_done(&words);
}

static int fail_problem(const Cli *cli, const Response *response, const Doc *problem)
{
    Slice code = doc_text(problem, "code");
    Slice what = doc_text(problem, "detail");
    if (!what.bytes)
        what = doc_text(problem, "title");
    Buf word = { 0 };
    buf_add_slice(&word, code.bytes ? code : SLICE_LITERAL("error"));
    Buf hint = { 0 };
    add_hint(&hint, "", doc_text(problem, "hint"));
    add_allowed(&hint, doc_get(problem, "allowed"));
    if ((response->status == 401 || response->status == 403) &&
        !slice_is(code, "token_missing")) /* whose hint says so */
        add_hint(&hint, "",
                 SLICE_LITERAL("a token is read from $PAWL_TOKEN or --token-file"));
    Fault fault = { exit_from_http(response->status), buf_cstr(&word),
                    hint.bytes ? buf_cstr(&hint) : NULL };
    int code_out = cli_fail(cli, fault, SLICE_FMT, SLICE_ARG(what));
    buf_done(&hint);
    buf_done(&word);
    return code_out;
}

int cli_fail_response(const Cli *cli, const Response *response)
{
    Doc *problem = NULL;
    if (doc_parse(buf_slice(&response->body), &problem, NULL) ||
        !doc_is_object(problem)) {
        if (problem)
            doc_free(problem);
        Fault fault = { exit_from_http(response->status), "http",
                        "is this the address of a pawl daemon?" };
        return cli_fail(cli, fault, "the server answered HTTP %d", response->status);
    }
    int code = CLI_FAILED;
    if (cli->json) {
        fflush(stdout);
        fprintf(stderr, SLICE_FMT "\n", SLICE_ARG(response->body));
        code = cli->waits ? CLI_OWN_FAILURE : exit_from_http(response->status);
    } else {
        code = fail_problem(cli, response, problem);
    }
    doc_free(problem);
    return code;
}

/* What to do about a daemon that does not answer depends on who named it. */
static void add_unreachable_hint(const Cli *cli, Buf *hint)
{
    if (cli->server_named)
        buf_printf(hint,
                   "is the address right? it comes from --server, $PAWL_SERVER or, "
                   "in a job, $PAWL_API_URL%s",
                   client_is_local(&cli->client) ? "\nis its daemon running? pawl serve"
                                                 : "");
    else if (cli->data_named)
        buf_printf(hint,
                   "start it: pawl serve --data %.*s\n"
                   "check everything: pawl doctor --data %.*s",
                   (int)cli->data_dir.bytes, cli->data_dir.data, (int)cli->data_dir.bytes,
                   cli->data_dir.data);
    else
        buf_add_text(hint, "start it: pawl serve    or just: pawl run -- CMD\n"
                           "check everything: pawl doctor");
}

int cli_fail_call(const Cli *cli, Err err, const Error *why)
{
    Buf hint = { 0 };
    Fault fault = { CLI_UNREACHABLE, "daemon_unreachable", NULL };
    const char *before = "";
    if (err == ERR_UNAVAILABLE) {
        add_unreachable_hint(cli, &hint);
        before = "cannot reach the daemon at ";
    } else if (err == ERR_TIMEOUT) {
        fault.code = "daemon_silent";
        buf_add_text(&hint, "check everything: pawl doctor");
    } else if (err == ERR_BUSY) {
        fault = (Fault){ CLI_SIGNAL_BASE + 2, "interrupted", NULL };
    } else {
        fault.code = "connection_lost";
        if (cli->client.changes)
            buf_add_text(&hint, "whether the daemon did it is not known: pawl ls");
    }
    fault.hint = hint.bytes ? buf_cstr(&hint) : NULL;
    int code = cli_fail(cli, fault, "%s%s", before, why->text);
    buf_done(&hint);
    return code;
}

int cli_call(Cli *cli, const Request *request, Response *response)
{
    Error why;
    Err err = client_call(&cli->client, request, response, &why);
    if (err)
        return cli_fail_call(cli, err, &why);
    if (response->status < 200 || response->status > 299)
        return cli_fail_response(cli, response);
    return CLI_DONE;
}

int cli_call_doc(Cli *cli, const Request *request, Doc **out_doc)
{
    Response response = { 0 };
    Error why;
    int code = cli_call(cli, request, &response);
    if (!code && doc_parse(buf_slice(&response.body), out_doc, &why))
        code = cli_fail(cli, (Fault){ CLI_FAILED, "bad_answer", NULL },
                        "the server's answer is not JSON: %s", why.text);
    response_done(&response);
    return code;
}

int cli_get(Cli *cli, const char *path, Doc **out_doc)
{
    return cli_call_doc(cli, &(Request){ .method = "GET", .path = path }, out_doc);
}

void cli_job_path(Buf *out, const char *id, const char *rest)
{
    buf_printf(out, "/api/v1/jobs/%s%s", id, rest);
}

/* Takes the only job of a list; several are told with the first two of them. */
static int only_item(Cli *cli, const char *text, const Doc *list,
                     char out_id[ID_TEXT_BYTES])
{
    const Doc *items = doc_get(list, "items");
    Slice id = doc_text(doc_at(items, 0), "id");
    Slice other = doc_text(doc_at(items, 1), "id");
    bool newest = strcmp(text, "last") == 0;
    Fault none = { CLI_NOT_FOUND, "job_not_found",
                   "list them: pawl ls (of others: --tenant)" };
    if (id.bytes != ID_CHARACTERS && newest)
        return cli_fail(cli, none, "there is no job yet");
    if (id.bytes != ID_CHARACTERS)
        return cli_fail(cli, none, "no job begins with \"%s\"", text);
    if (other.bytes && !newest)
        return cli_fail(
            cli, (Fault){ CLI_USAGE, "ambiguous_id", "give more characters of it" },
            "more than one job begins with \"%s\": " SLICE_FMT " and " SLICE_FMT, text,
            SLICE_ARG(id), SLICE_ARG(other));
    memcpy(out_id, id.data, id.bytes);
    out_id[id.bytes] = '\0';
    return CLI_DONE;
}

int cli_job_id(Cli *cli, const char *text, char out_id[ID_TEXT_BYTES])
{
    JobId first;
    JobId last;
    Slice word = slice_text(text);
    bool newest = slice_is(word, "last");
    if (!newest && (word.bytes < PREFIX_MIN || word.bytes > ID_CHARACTERS ||
                    id_prefix_range(word, &first, &last)))
        return cli_fail(cli,
                        (Fault){ CLI_USAGE, "bad_id",
                                 "an id, six or more of its first characters, or last" },
                        "\"%s\" is not a job id", text);
    if (!newest && word.bytes == ID_CHARACTERS) {
        id_text(first, out_id); /* lower case, whatever was typed */
        return CLI_DONE;
    }
    Buf path = { 0 };
    buf_add_text(&path, "/api/v1/jobs");
    if (!newest) {
        Buf query = { 0 };
        buf_printf(&query, "id:%s", text);
        url_query(&path, "q", buf_slice(&query));
        buf_done(&query);
    }
    url_query(&path, "limit", newest ? SLICE_LITERAL("1") : SLICE_LITERAL("2"));
    Doc *list = NULL;
    int code = cli_get(cli, buf_cstr(&path), &list);
    buf_done(&path);
    if (code)
        return code;
    code = only_item(cli, text, list, out_id);
    doc_free(list);
    return code;
}

void cli_print_json(Slice json)
{
    while (json.bytes && json.data[json.bytes - 1] == '\n')
        json.bytes--;
    fwrite(json.data, 1, json.bytes, stdout);
    putchar('\n');
}

void cli_print(const Buf *text)
{
    if (text->bytes)
        fwrite(text->data, 1, text->bytes, stdout);
}

void cli_print_list(const Cli *cli, const Doc *page, const ListShape *shape)
{
    Table table;
    Buf out = { 0 };
    table_init(&table, shape->columns, shape->column_count);
    const Doc *item = doc_first(doc_get(page, "items"));
    for (; item; item = doc_next(item))
        shape->add_row(&table, item);
    if (cli->json) {
        doc_write(page, &out);
        buf_add_char(&out, '\n');
    } else if (table_rows(&table)) {
        table_print(&table, &cli->out, &out);
    } else {
        cli_note("%s", shape->none);
    }
    cli_print(&out);
    buf_done(&out);
    table_done(&table);
}

void cli_note(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fflush(stdout);
    fputs("pawl: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
}

bool cli_confirm(const Cli *cli, const char *question)
{
    if (args_flag(&cli->args, "yes"))
        return true;
    if (!cli->err.is_terminal || !isatty(STDIN_FILENO))
        return false;
    fprintf(stderr, "%s? [y/N] ", question);
    char answer[16];
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}
