/* SPDX-License-Identifier: Apache-2.0 */
/* import.c - pawl import: a whole store (--all, see move.c), or jobs out of 002's
 * journal text (--journal).
 *
 * All of the journal is read and checked before anything is sent. Then it goes in parts,
 * each under an idempotency key made of its place and content: running it again, after a
 * failure in the middle or by mistake, adds nothing twice for as long as the daemon
 * remembers keys (24 hours). */
#include "cli/command.h"

#include "cli/describe.h"
#include "cli/journal_text.h"

#include "base/map.h"
#include "base/text.h"
#include "base/times.h"

#include <stdio.h>

#define PART_JOBS  1000
#define PART_BYTES (4u << 20)
#define KEY_BYTES  64

typedef struct Import {
    Cli *cli;
    size_t lines[PART_JOBS]; /* of the file, of each job in the part */
    size_t count;
    Buf body;
    uint64_t part; /* its number */
    uint64_t accepted;
    uint64_t rejected;
} Import;

static void add_entry(Import *import, const JournalEntry *entry)
{
    JsonOut json = { .out = &import->body };
    import->lines[import->count++] = entry->line;
    json_object(&json, NULL);
    if (entry->tenant.bytes)
        json_text(&json, "tenant", entry->tenant);
    json_text(&json, "type", entry->type);
    if (utf8_valid(entry->payload))
        json_text(&json, "payload", entry->payload);
    else
        json_base64(&json, "payload_base64", entry->payload);
    if (entry->id.bytes && utf8_valid(entry->id))
        json_text(&json, "name", entry->id); /* the id it had */
    if (entry->at_ms > 0)
        json_time(&json, "run_at", entry->at_ms);
    json_object_end(&json);
    buf_add_char(&import->body, '\n');
}

static void take_answer(Import *import, Slice line)
{
    Doc *doc = NULL;
    if (!line.bytes || doc_parse(line, &doc, NULL))
        return;
    const Doc *error = doc_get(doc, "error");
    size_t number = (size_t)doc_int(doc, "line", 0);
    import->accepted += doc_text(doc, "id").bytes > 0;
    if (error && number >= 1 && number <= import->count) {
        import->rejected++;
        cli_fail(import->cli, (Fault){ CLI_FAILED, "line_rejected", NULL },
                 "line %zu: " SLICE_FMT, import->lines[number - 1],
                 SLICE_ARG(doc_text(error, "detail")));
    }
    doc_free(doc);
}

static int send_part(Import *import)
{
    char key[KEY_BYTES];
    Response response = { 0 };
    if (!import->count)
        return CLI_DONE;
    snprintf(key, sizeof key, "import:%llu:%016llx", (unsigned long long)import->part++,
             (unsigned long long)hash_bytes(import->body.data, import->body.bytes));
    Request request = { .method = "POST",
                        .path = "/api/v1/jobs",
                        .content_type = "application/x-ndjson",
                        .key = key,
                        .body = buf_slice(&import->body) };
    int code = cli_call(import->cli, &request, &response);
    Slice rest = buf_slice(&response.body);
    while (!code && rest.bytes)
        take_answer(import, slice_cut(&rest, '\n'));
    response_done(&response);
    buf_clear(&import->body);
    import->count = 0;
    return code;
}

/* Whether every line can be read; counts them. */
static int check(Cli *cli, Slice text, uint64_t *out_count)
{
    JournalText journal = { .rest = text, .line = 1 };
    JournalEntry entry;
    Error why = { 0 };
    Err err;
    while (!(err = journal_text_next(&journal, &entry, &why)))
        ++*out_count;
    if (err == ERR_NOT_FOUND)
        return CLI_DONE;
    return cli_fail(cli,
                    (Fault){ CLI_FAILED, "bad_journal",
                             "nothing was imported; mend it, or "
                             "put a # before the line" },
                    "%s", why.text);
}

static int send_all(Import *import, Slice text)
{
    JournalText journal = { .rest = text, .line = 1 };
    JournalEntry entry;
    Error why = { 0 };
    int code = CLI_DONE;
    while (!code && !journal_text_next(&journal, &entry, &why)) {
        add_entry(import, &entry);
        if (import->count == PART_JOBS || import->body.bytes > PART_BYTES)
            code = send_part(import);
    }
    return code ? code : send_part(import);
}

static int import_journal(Cli *cli, const char *path)
{
    Buf text = { 0 };
    uint64_t count = 0;
    int code = cli_connect(cli);
    if (!code)
        code = describe_read(cli, path, &text);
    if (!code)
        code = check(cli, buf_slice(&text), &count);
    if (!code) {
        Import *import = MEM_NEW(Import);
        import->cli = cli;
        code = send_all(import, buf_slice(&text));
        if (cli->json && !code)
            printf("{\"read\":%llu,\"accepted\":%llu,\"rejected\":%llu}\n",
                   (unsigned long long)count, (unsigned long long)import->accepted,
                   (unsigned long long)import->rejected);
        else if (!code)
            printf("%llu of %llu jobs are in\n", (unsigned long long)import->accepted,
                   (unsigned long long)count);
        else
            cli_note("%llu jobs are in; run it again to go on",
                     (unsigned long long)import->accepted);
        if (!code && import->rejected)
            code = CLI_FAILED;
        buf_done(&import->body);
        mem_free(import);
    }
    buf_done(&text);
    return code;
}

int cmd_import(Cli *cli)
{
    const char *journal = args_value(&cli->args, "journal");
    bool all = args_value(&cli->args, "all") != NULL;
    if ((journal != NULL) == all)
        return cli_fail(cli,
                        (Fault){ CLI_USAGE, "usage",
                                 "pawl import --journal FILE\npawl import --all FILE" },
                        "import what?");
    return all ? cmd_move(cli, cli->hooks->store_import) : import_journal(cli, journal);
}
