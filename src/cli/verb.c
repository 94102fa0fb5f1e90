/* SPDX-License-Identifier: Apache-2.0 */
/* verb.c - see verb.h. */
#include "cli/verb.h"

#include "cli/print/safe.h"

#include "base/text.h"

#include <assert.h>
#include <stdio.h>

#define LABEL_WIDTH 18

static Fault usage(const char *hint)
{
    return (Fault){ CLI_USAGE, "usage", hint };
}

int verb_run(Cli *cli, const VerbSet *set)
{
    size_t count = cli->args.operand_count;
    const char *name = count ? cli->args.operands[0] : set->otherwise;
    const char *names[VERBS_MAX + 1] = { NULL };
    char help[64];
    assert(set->count <= VERBS_MAX);
    snprintf(help, sizeof help, "pawl %s --help", set->command);
    count = count ? count : 1;
    for (size_t i = 0; i < set->count; i++) {
        const Verb *verb = &set->verbs[i];
        names[i] = verb->name;
        if (strcmp(verb->name, name) != 0)
            continue;
        if (count < verb->words_min)
            return cli_fail(cli, usage(help), "%s", set->missing);
        if (count > verb->words_max)
            return cli_fail(cli, usage(help), "too many words: \"%s\"",
                            cli->args.operands[verb->words_max]);
        if (verb->run)
            return verb->run(cli);
        return verb_call(cli, set,
                         &(VerbCall){ .method = verb->method, .rest = verb->rest });
    }
    const char *nearest = nearest_word(slice_text(name), names);
    if (nearest)
        snprintf(help, sizeof help, "did you mean \"%s\"?", nearest);
    return cli_fail(cli, usage(help), "pawl %s does not know \"%s\"", set->command, name);
}

void verb_path(Buf *out, const Cli *cli, const VerbSet *set, const char *rest)
{
    buf_add_text(out, set->path);
    buf_add_char(out, '/');
    url_add(out, slice_text(cli->args.operands[1]));
    buf_add_text(out, rest);
}

int verb_answer(Cli *cli, const VerbSet *set, const Response *response)
{
    Doc *answer = NULL;
    if (response->status < 200 || response->status > 299)
        return cli_fail_response(cli, response);
    if (cli->json)
        cli_print_json(buf_slice(&response->body));
    else if (!doc_parse(buf_slice(&response->body), &answer, NULL))
        set->say(cli, answer);
    if (answer)
        doc_free(answer);
    return CLI_DONE;
}

int verb_call(Cli *cli, const VerbSet *set, const VerbCall *call)
{
    Buf path = { 0 };
    Response response = { 0 };
    verb_path(&path, cli, set, call->rest);
    Request request = { .method = call->method,
                        .path = buf_cstr(&path),
                        .body = call->body,
                        .only_new = call->only_new };
    int code = cli_call(cli, &request, &response);
    if (!code)
        code = verb_answer(cli, set, &response);
    response_done(&response);
    buf_done(&path);
    return code;
}

void verb_fields(const Cli *cli, const Doc *thing)
{
    Buf out = { 0 };
    Arena arena = { 0 };
    for (const Doc *field = doc_first(thing); field; field = doc_next(field)) {
        Buf text = { 0 };
        doc_show_setting(field, &text);
        if (!doc_is_null(field)) {
            buf_printf(&out, "%s%-*s%s", term_on(&cli->out, COLOUR_DIM), LABEL_WIDTH,
                       slice_cstr(&arena, doc_key(field)),
                       term_off(&cli->out, COLOUR_DIM));
            safe_add(&out, buf_slice(&text));
            buf_add_char(&out, '\n');
        }
        buf_done(&text);
    }
    cli_print(&out);
    buf_done(&out);
    arena_done(&arena);
}

int verb_show(Cli *cli, const VerbSet *set)
{
    VerbSet shown = *set;
    shown.say = verb_fields;
    return verb_call(cli, &shown, &(VerbCall){ .method = "GET", .rest = "" });
}

static int read_pages(Cli *cli, const VerbList *list, Table *table, Buf *items)
{
    Buf cursor = { 0 };
    int code = CLI_DONE;
    do {
        Buf url = { 0 };
        Doc *page = NULL;
        buf_add_text(&url, list->path);
        url_query(&url, "limit", SLICE_LITERAL("1000"));
        if (cursor.bytes)
            url_query(&url, "cursor", buf_slice(&cursor));
        code = cli_get(cli, buf_cstr(&url), &page);
        buf_done(&url);
        if (code)
            break;
        const Doc *item = doc_first(doc_get(page, "items"));
        for (; item; item = doc_next(item)) {
            list->row(table, item);
            buf_add_text(items, items->bytes ? "," : "");
            doc_write(item, items);
        }
        buf_clear(&cursor);
        buf_add_slice(&cursor, doc_text(page, "next_cursor"));
        doc_free(page);
    } while (cursor.bytes);
    buf_done(&cursor);
    return code;
}

int verb_list(Cli *cli, const VerbList *list)
{
    Table table;
    Buf items = { 0 };
    Buf out = { 0 };
    table_init(&table, list->columns, list->column_count);
    int code = read_pages(cli, list, &table, &items);
    if (!code && cli->json)
        buf_printf(&out, "{\"items\":[" SLICE_FMT "],\"next_cursor\":null}\n",
                   SLICE_ARG(buf_slice(&items)));
    else if (!code && table_rows(&table))
        table_print(&table, &cli->out, &out);
    else if (!code)
        cli_note("%s", list->nothing);
    cli_print(&out);
    buf_done(&out);
    buf_done(&items);
    table_done(&table);
    return code;
}
