/* SPDX-License-Identifier: Apache-2.0 */
/* export.c - pawl export: the whole store (--all, see move.c), or jobs as 002's
 * journal text, oldest first (--journal). */
#include "cli/command.h"

#include "cli/journal_text.h"
#include "cli/pages.h"

#include <stdio.h>

#define UNFINISHED "-state:done,failed,rejected,cancelled"

/* Lists come newest first: each entry is kept whole, with where it begins. */
typedef struct Export {
    Cli *cli;
    Buf text;
    size_t *starts;
    size_t count;
    size_t capacity;
} Export;

static int base64_value(char c)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static void add_base64(Buf *out, Slice text)
{
    uint32_t bits = 0;
    int count = 0;
    for (size_t i = 0; i < text.bytes && base64_value(text.data[i]) >= 0; i++) {
        bits = bits << 6 | (uint32_t)base64_value(text.data[i]);
        count += 6;
        if (count < 8)
            continue;
        count -= 8;
        buf_add_char(out, (char)(bits >> count & 0xff));
    }
}

static void take_job(void *context, const Doc *job)
{
    Export *export = context;
    Buf payload = { 0 };
    if (doc_get(job, "payload_base64"))
        add_base64(&payload, doc_text(job, "payload_base64"));
    else
        buf_add_slice(&payload, doc_text(job, "payload"));
    JournalEntry entry = { .at_ms = doc_time(job, "run_at"),
                           .tenant = doc_text(job, "tenant"),
                           .type = doc_text(job, "type"),
                           .payload = buf_slice(&payload) };
    MEM_PUSH(export->starts, export->count, export->capacity) = export->text.bytes;
    journal_text_write(&export->text, &entry);
    buf_done(&payload);
}

static int export_journal(Cli *cli)
{
    const Args *args = &cli->args;
    Export export = { .cli = cli };
    int code = cli_connect(cli);
    if (code)
        return code;
    Pages pages = { .query = args->operand_count ? args->operands[0] : UNFINISHED,
                    .limit = SIZE_MAX,
                    .each = take_job,
                    .context = &export };
    code = pages_walk(cli, &pages);
    size_t end = export.text.bytes;
    for (size_t i = export.count; i-- > 0 && !code;) {
        size_t bytes = end - export.starts[i];
        if (fwrite(export.text.data + export.starts[i], 1, bytes, stdout) != bytes)
            code = cli_fail(cli, (Fault){ CLI_FAILED, "io", NULL }, "cannot write");
        end = export.starts[i];
    }
    if (!code && fflush(stdout))
        code = cli_fail(cli, (Fault){ CLI_FAILED, "io", NULL }, "cannot write");
    if (!code)
        cli_note("%zu job%s", export.count, export.count == 1 ? "" : "s");
    buf_done(&pages.cursor);
    buf_done(&export.text);
    mem_free(export.starts);
    return code;
}

int cmd_export(Cli *cli)
{
    bool journal = args_flag(&cli->args, "journal");
    bool all = args_value(&cli->args, "all") != NULL;
    if (journal == all)
        return cli_fail(cli,
                        (Fault){ CLI_USAGE, "usage",
                                 "pawl export --journal > FILE\npawl export --all FILE" },
                        "export as what?");
    return all ? cmd_move(cli, cli->hooks->store_export) : export_journal(cli);
}
