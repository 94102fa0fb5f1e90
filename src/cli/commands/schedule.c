/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - pawl schedule: jobs that are added by the clock, shown and changed. */
#include "cli/command.h"

#include "cli/commands/noun_options.h"
#include "cli/describe.h"
#include "cli/print/cron_words.h"
#include "cli/print/when.h"
#include "cli/verb.h"

#include "base/times.h"

#include <stdio.h>

#define SCHEDULES_PATH "/api/v1/schedules"

static Fault usage(const char *hint)
{
    return (Fault){ CLI_USAGE, "usage", hint };
}

static const VerbSet schedule_verbs;

/* --- Showing --------------------------------------------------------------------------
 */

static const Column ls_columns[] = {
    { .title = "NAME", .wide = true },
    { .title = "CRON" },
    { .title = "TZ", .wide = true },
    { .title = "TYPE", .wide = true },
    { .title = "STATE" },
    { .title = "NEXT", .right = true },
    { .title = "LAST", .right = true },
    { .title = "MISSED", .right = true },
};

/* "in 3m" or "3m ago"; "-" for none. */
static void add_when(Table *table, int64_t at_ms, bool ahead)
{
    char age[WHEN_TEXT_BYTES];
    int64_t now_ms = clock_now().wall_ms;
    if (!at_ms)
        table_add(table, COLOUR_PLAIN, SLICE_LITERAL("-"));
    else if (ahead)
        table_addf(table, COLOUR_PLAIN, "in %s",
                   when_age(at_ms > now_ms ? at_ms - now_ms : 0, age));
    else
        table_addf(table, COLOUR_PLAIN, "%s ago",
                   when_age(now_ms > at_ms ? now_ms - at_ms : 0, age));
}

static void add_row(Table *table, const Doc *schedule)
{
    bool paused = doc_bool(schedule, "paused");
    int64_t missed = doc_int(schedule, "missed_count", 0);
    table_add(table, COLOUR_PLAIN, doc_text(schedule, "name"));
    table_add(table, COLOUR_PLAIN, doc_text(schedule, "cron"));
    table_add(table, COLOUR_PLAIN, doc_text(schedule, "tz"));
    table_add(table, COLOUR_PLAIN, doc_text(schedule, "type"));
    table_addf(table, paused ? COLOUR_YELLOW : COLOUR_PLAIN, "%s",
               paused                          ? "paused"
               : doc_bool(schedule, "waiting") ? "waiting"
                                               : "active");
    add_when(table, doc_time(schedule, "next_at"), true);
    add_when(table, doc_time(schedule, "last_at"), false);
    table_addf(table, missed ? COLOUR_YELLOW : COLOUR_PLAIN, "%lld", (long long)missed);
}

static int ls(Cli *cli)
{
    return verb_list(cli,
                     &(VerbList){ .path = SCHEDULES_PATH,
                                  .columns = ls_columns,
                                  .column_count = sizeof ls_columns / sizeof *ls_columns,
                                  .row = add_row,
                                  .nothing = "no schedules" });
}

static int preview(Cli *cli)
{
    Buf path = { 0 };
    Buf out = { 0 };
    Doc *answer = NULL;
    const char *count = args_value(&cli->args, "count");
    const char *from = args_value(&cli->args, "from");
    verb_path(&path, cli, &schedule_verbs, "/preview");
    if (count)
        url_query(&path, "count", slice_text(count));
    if (from)
        url_query(&path, "from", slice_text(from));
    int code = cli_get(cli, buf_cstr(&path), &answer);
    buf_done(&path);
    if (code)
        return code;
    if (cli->json) {
        doc_write(answer, &out);
        buf_add_char(&out, '\n');
    }
    const Doc *item = cli->json ? NULL : doc_first(doc_get(answer, "items"));
    for (; item; item = doc_next(item))
        buf_printf(&out, SLICE_FMT "  " SLICE_FMT "\n", SLICE_ARG(doc_text(item, "at")),
                   SLICE_ARG(doc_text(item, "local")));
    cli_print(&out);
    buf_done(&out);
    doc_free(answer);
    return CLI_DONE;
}

/* --- Changing -------------------------------------------------------------------------
 */

/* In one line. */
static void say(const Cli *cli, const Doc *answer)
{
    (void)cli;
    Slice name = doc_text(answer, "name");
    Slice next = doc_text(answer, "next_at");
    if (doc_text(answer, "id").bytes)
        printf(SLICE_FMT "\n", SLICE_ARG(doc_text(answer, "id")));
    else if (doc_bool(answer, "removed"))
        printf(SLICE_FMT " removed\n", SLICE_ARG(name));
    else if (doc_bool(answer, "paused"))
        printf(SLICE_FMT " paused\n", SLICE_ARG(name));
    else
        printf(SLICE_FMT " next " SLICE_FMT "\n", SLICE_ARG(name), SLICE_ARG(next));
}

/* What it adds: --type, or the words of a command. */
static int add_work(Cli *cli, bool changes, JsonOut *json)
{
    const Args *args = &cli->args;
    const char *type = args_value(args, "type");
    const char *payload = args_value(args, "payload");
    const char *sample = "pawl schedule add nightly --cron '30 2 * * *' -- ./backup.sh";
    bool command = args->operand_count > 2;
    if (command == (type != NULL) && (command || !changes))
        return cli_fail(cli, usage(sample),
                        command ? "--type or a command, not both"
                                : "what shall it run? --type TYPE or -- CMD");
    if (payload)
        describe_payload(json, slice_text(payload), false);
    if (type) {
        json_cstr(json, "type", type);
        if (changes)
            json_null(json, "command");
        return CLI_DONE;
    }
    if (!command)
        return CLI_DONE;
    if (changes)
        json_null(json, "type");
    int code = describe_command(cli, args->operands + 2, args->operand_count - 2, json);
    return code ? code : describe_cwd(cli, json);
}

/* To the user, in words and in his own time: a slip in five fields is easily made. */
static int tell_times(Cli *cli)
{
    char echo[WHEN_TEXT_BYTES];
    Buf path = { 0 };
    Buf words = { 0 };
    Doc *answer = NULL;
    Slice cron = slice_text(args_value(&cli->args, "cron"));
    const char *tz = args_value(&cli->args, "tz");
    bool every = slice_starts(cron, SLICE_LITERAL("@every"));
    verb_path(&path, cli, &schedule_verbs, "/preview?count=3");
    int code = cli_get(cli, buf_cstr(&path), &answer);
    buf_done(&path);
    if (code)
        return code;
    cron_words(cron, &words);
    cli_note("%s%s%s%s", buf_cstr(&words), every ? "" : " (",
             every ? ""
             : tz  ? tz
                   : "UTC",
             every ? "" : ")");
    if (cron_names_both_days(cron))
        cli_note(
            "note: the day of the month or the day of the week is enough, as in cron");
    const Doc *item = doc_first(doc_get(answer, "items"));
    for (; item; item = doc_next(item))
        cli_note("  %s", when_echo(doc_time(item, "at"), echo));
    doc_free(answer);
    buf_done(&words);
    return CLI_DONE;
}

static int add(Cli *cli)
{
    Buf body = { 0 };
    JsonOut json = { .out = &body };
    if (!args_value(&cli->args, "cron"))
        return cli_fail(cli,
                        usage("for example: --cron '30 2 * * 1-5', or --cron @daily"),
                        "when? --cron is missing");
    size_t at = 0;
    args_next(&cli->args, "cron", &at);
    if (args_next(&cli->args, "cron", &at))
        return cli_fail(cli, usage("make two schedules of the same type"),
                        "a schedule has one --cron");
    json_object(&json, NULL);
    int code = add_work(cli, false, &json);
    if (!code)
        code = describe_schedule(cli, &json);
    json_object_end(&json);
    if (!code)
        code = verb_call(cli, &schedule_verbs,
                         &(VerbCall){ .method = "PUT",
                                      .rest = "",
                                      .body = buf_slice(&body),
                                      .only_new = true });
    if (!code && !cli->json)
        code = tell_times(cli);
    buf_done(&body);
    return code;
}

static int set(Cli *cli)
{
    Buf body = { 0 };
    JsonOut json = { .out = &body };
    json_object(&json, NULL);
    int code = add_work(cli, true, &json);
    if (!code)
        code = describe_schedule(cli, &json);
    json_object_end(&json);
    if (!code)
        code = verb_set(cli, &schedule_verbs, buf_slice(&body));
    buf_done(&body);
    return code;
}

static int show(Cli *cli)
{
    return verb_show(cli, &schedule_verbs);
}

static const Verb verbs[] = {
    { "ls", 1, 1, ls, NULL, NULL },
    { "show", 2, 2, show, NULL, NULL },
    { "add", 2, SIZE_MAX, add, NULL, NULL },
    { "set", 2, SIZE_MAX, set, NULL, NULL },
    { "rm", 2, 2, NULL, "DELETE", "" },
    { "pause", 2, 2, NULL, "POST", "/pause" },
    { "resume", 2, 2, NULL, "POST", "/resume" },
    { "trigger", 2, 2, NULL, "POST", "/trigger" },
    { "preview", 2, 2, preview, NULL, NULL },
};

static const VerbSet schedule_verbs = { .command = "schedule",
                                        .missing = "missing name of the schedule",
                                        .verbs = verbs,
                                        .count = sizeof verbs / sizeof *verbs,
                                        .otherwise = "ls",
                                        .path = SCHEDULES_PATH,
                                        .say = say };

int cmd_schedule(Cli *cli)
{
    return verb_run(cli, &schedule_verbs);
}
