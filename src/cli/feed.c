/* SPDX-License-Identifier: Apache-2.0 */
/* feed.c - see feed.h.
 *
 * A file may be larger than one request: lines are gathered into requests of about
 * CHUNK_BYTES, each acknowledged before the next is sent. A failure in the middle says
 * how many lines are in. */
#include "cli/feed.h"

#include "cli/describe.h"
#include "cli/submit.h"

#include "base/times.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CHUNK_BYTES (4u << 20)
#define CHUNK_LINES 20000

typedef struct Adding {
    Cli *cli;
    const char *type; /* or NULL */
    bool plain;       /* nothing to fill in: lines go as they are */
    int64_t now_ms;
    Buf body;
    size_t lines;       /* in body */
    uint64_t line_base; /* lines sent before it */
    uint64_t accepted;
    uint64_t rejected;
} Adding;

/* One line with what it leaves out filled in. A line that is no JSON goes as it is: the
 * daemon will say what is wrong with it. */
static int add_line(Adding *adding, Slice line)
{
    Doc *doc = NULL;
    int code = CLI_DONE;
    if (adding->plain || doc_parse(line, &doc, NULL)) {
        buf_add_slice(&adding->body, line);
    } else {
        JsonOut json = { .out = &adding->body };
        const Doc *object = doc_is_object(doc) ? doc : NULL;
        json_object(&json, NULL);
        for (const Doc *field = doc_first(object); field; field = doc_next(field)) {
            Arena arena = { 0 };
            Buf value = { 0 };
            doc_write(field, &value);
            json_raw(&json, slice_cstr(&arena, doc_key(field)), buf_slice(&value));
            buf_done(&value);
            arena_done(&arena);
        }
        if (!object) {
            Buf payload = { 0 };
            doc_show(doc, &payload);
            describe_payload(&json, buf_slice(&payload), false);
            buf_done(&payload);
        }
        if (adding->type && !doc_get(object, "type") && !doc_get(object, "command"))
            json_cstr(&json, "type", adding->type);
        code = describe_options(adding->cli, adding->now_ms, object, &json);
        json_object_end(&json);
        doc_free(doc);
    }
    buf_add_char(&adding->body, '\n');
    adding->lines++;
    return code;
}

static void say_line(Adding *adding, const Doc *answer)
{
    const Doc *error = doc_get(answer, "error");
    uint64_t number = adding->line_base + (uint64_t)doc_int(answer, "line", 0);
    Slice id = doc_text(answer, "id");
    adding->accepted += id.bytes > 0;
    adding->rejected += error != NULL;
    Buf out = { 0 };
    if (adding->cli->json) {
        JsonOut json = { .out = &out };
        json_object(&json, NULL);
        json_int(&json, "line", (int64_t)number);
        Buf value = { 0 };
        doc_write(error, &value);
        if (error)
            json_raw(&json, "error", buf_slice(&value));
        else
            json_text(&json, "id", id);
        buf_done(&value);
        json_object_end(&json);
        cli_print_json(buf_slice(&out));
    } else if (error) {
        Slice what = doc_text(error, "detail");
        cli_fail(adding->cli, (Fault){ CLI_USAGE, "line_rejected", NULL },
                 "line %llu: " SLICE_FMT, (unsigned long long)number,
                 SLICE_ARG(what.bytes ? what : doc_text(error, "title")));
    } else {
        printf(SLICE_FMT "\n", SLICE_ARG(id));
    }
    buf_done(&out);
}

static int say_answer(Adding *adding, Slice answer)
{
    uint64_t summarised = 0;
    while (answer.bytes) {
        Slice line = slice_cut(&answer, '\n');
        Doc *doc = NULL;
        if (!line.bytes)
            continue;
        if (doc_parse(line, &doc, NULL))
            break;
        if (doc_get(doc, "summary"))
            summarised = 1;
        else
            say_line(adding, doc);
        doc_free(doc);
    }
    /* Without its last line the answer is cut, and nothing in it is certain. */
    if (summarised)
        return CLI_DONE;
    return cli_fail(adding->cli, (Fault){ CLI_FAILED, "bad_answer", NULL },
                    "the server's answer is incomplete");
}

static int send_chunk(Adding *adding)
{
    if (!adding->lines)
        return CLI_DONE;
    char key[KEY_TEXT_BYTES];
    Request request = { .method = "POST",
                        .path = "/api/v1/jobs",
                        .content_type = "application/x-ndjson",
                        .key = describe_key(key),
                        .body = buf_slice(&adding->body) };
    Response response = { 0 };
    int code = submit_call(adding->cli, &request, &response);
    if (!code)
        code = say_answer(adding, buf_slice(&response.body));
    response_done(&response);
    adding->line_base += adding->lines;
    adding->lines = 0;
    buf_clear(&adding->body);
    return code;
}

static int add_file(Adding *adding, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t bytes;
    int code = CLI_DONE;
    while (!code && (bytes = getline(&line, &room, file)) >= 0) {
        while (bytes > 0 && (line[bytes - 1] == '\n' || line[bytes - 1] == '\r'))
            bytes--;
        code = add_line(adding, slice_of(line, (size_t)bytes));
        if (!code && (adding->body.bytes >= CHUNK_BYTES || adding->lines >= CHUNK_LINES))
            code = send_chunk(adding);
    }
    free(line);
    if (!code && ferror(file))
        code = cli_fail(adding->cli, (Fault){ CLI_FAILED, "io", NULL },
                        "cannot read the lines: %s", strerror(errno));
    return code ? code : send_chunk(adding);
}

/* Whether any option has something to add to a line. */
static bool has_fields(const Args *args)
{
    static const char *const own[] = { "ndjson", "server", "data", "token-file",
                                       "tenant", "json",   "help" };
    for (size_t i = 0; i < args->given_count; i++) {
        bool mine = false;
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            mine = mine || strcmp(args->given[i].option->name, own[k]) == 0;
        if (!mine)
            return true;
    }
    return false;
}

int feed_lines(Cli *cli, const char *path, const char *type)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    if (!file)
        return cli_fail(cli, (Fault){ CLI_FAILED, "io", NULL }, "cannot open %s: %s",
                        path, strerror(errno));
    Adding adding = {
        .cli = cli,
        .type = type,
        .plain = !type && !has_fields(&cli->args),
        .now_ms = clock_now().wall_ms,
    };
    int code = add_file(&adding, file);
    if (!is_stdin)
        fclose(file);
    unsigned long long accepted = adding.accepted;
    unsigned long long rejected = adding.rejected;
    if (cli->json)
        printf("{\"summary\":{\"accepted\":%llu,\"rejected\":%llu}}\n", accepted,
               rejected);
    else
        cli_note("%llu job%s added, %llu line%s refused", accepted,
                 accepted == 1 ? "" : "s", rejected, rejected == 1 ? "" : "s");
    buf_done(&adding.body);
    return code || !rejected ? code : CLI_FAILED;
}
