/* SPDX-License-Identifier: Apache-2.0 */
/* processor.c - pawl processor: directories as work, made, shown and signalled. */
#include "cli/command.h"

#include "cli/print/safe.h"
#include "cli/print/table.h"

#include "base/json_out.h"
#include "base/text.h"
#include "base/times.h"

#include <stdio.h>
#include <unistd.h>

#define PROCESSORS_PATH "/api/v1/processors"
#define LABEL_WIDTH     18
#define CWD_BYTES       4096

static Fault usage(const char *hint)
{
    return (Fault){ CLI_USAGE, "usage", hint };
}

static const char *name_of(const Cli *cli)
{
    return cli->args.operands[1];
}

/* "/api/v1/processors/NAME" and what follows. */
static void processor_path(Buf *out, Slice name, const char *rest)
{
    buf_add_text(out, PROCESSORS_PATH "/");
    url_add(out, name);
    buf_add_text(out, rest);
}

/* --- Lists ------------------------------------------------------------------------- */

static const Column ls_columns[] = {
    { .title = "NAME", .wide = true },
    { .title = "NODE" },
    { .title = "INPUT" },
    { .title = "FORWARD" },
    { .title = "SLOTS", .right = true },
    { .title = "WAITING", .right = true },
    { .title = "ACTIVE", .right = true },
    { .title = "DONE", .right = true },
    { .title = "FAILED", .right = true },
    { .title = "UNSENT", .right = true },
    { .title = "SENT", .right = true },
    { .title = "PROBLEMS", .right = true },
};

static const char *input_word(const Doc *item)
{
    if (!doc_bool(item, "up"))
        return "down";
    return doc_bool(item, "processing") ? "on" : "off";
}

static void add_row(Table *table, const Doc *item)
{
    static const char *const numbers[] = { "slots",     "waiting", "active_count",
                                           "processed", "failed",  "finished",
                                           "sent" };
    long long problems = (long long)doc_count(doc_get(item, "problems"));
    bool up = doc_bool(item, "up");
    table_add(table, COLOUR_PLAIN, doc_text(item, "name"));
    table_add(table, COLOUR_PLAIN, doc_text(item, "node"));
    table_addf(table, up ? COLOUR_PLAIN : COLOUR_RED, "%s", input_word(item));
    table_addf(table, COLOUR_PLAIN, "%s", doc_bool(item, "forwarding") ? "on" : "off");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        table_addf(table, COLOUR_PLAIN, "%lld", (long long)doc_int(item, numbers[i], 0));
    table_addf(table, problems ? COLOUR_RED : COLOUR_PLAIN, "%lld", problems);
}

static int ls(Cli *cli)
{
    Doc *page = NULL;
    int code = cli_get(cli, PROCESSORS_PATH, &page);
    if (code)
        return code;
    cli_print_list(cli, page,
                   &(ListShape){ ls_columns, sizeof ls_columns / sizeof *ls_columns,
                                 add_row, "no processors" });
    doc_free(page);
    return CLI_DONE;
}

/* --- Status ------------------------------------------------------------------------ */

static void show_field(Buf *out, const Cli *cli, const Doc *field)
{
    Buf text = { 0 };
    Arena arena = { 0 };
    doc_show_setting(field, &text);
    bool empty = doc_is_null(field) ||
                 ((doc_is_array(field) || doc_is_object(field)) && !doc_count(field));
    if (!empty) {
        char *label = slice_cstr(&arena, doc_key(field));
        for (char *at = label; *at; at++)
            *at = (char)(*at == '_' ? ' ' : *at);
        buf_printf(out, "%s%-*s%s", term_on(&cli->out, COLOUR_DIM), LABEL_WIDTH, label,
                   term_off(&cli->out, COLOUR_DIM));
        safe_add(out, buf_slice(&text));
        buf_add_char(out, '\n');
    }
    arena_done(&arena);
    buf_done(&text);
}

static void show_problems(Buf *out, const Cli *cli, const Doc *problems)
{
    for (const Doc *at = doc_first(problems); at; at = doc_next(at)) {
        buf_printf(out, "%sproblem%s  ", term_on(&cli->out, COLOUR_RED),
                   term_off(&cli->out, COLOUR_RED));
        safe_add(out, doc_text(at, "unit"));
        buf_add_text(out, doc_text(at, "unit").bytes ? ": " : "");
        safe_add(out, doc_text(at, "problem"));
        buf_add_char(out, '\n');
    }
}

/* The screen: what is where, how fast, for how long; then how it was made. */
typedef enum ShowAs {
    AS_COUNT,
    AS_SWITCH,
    AS_RATE,
    AS_SECONDS,
    AS_NAMES,
    AS_SPREAD
} ShowAs;

typedef struct ScreenRow {
    const char *label;
    const char *key;
    ShowAs as;
} ScreenRow;

static const ScreenRow screen[] = {
    { "input", "processing", AS_SWITCH },
    { "  slots", "slots", AS_COUNT },
    { "  running", "running", AS_COUNT },
    { "  receiving", "receiving", AS_COUNT },
    { "  waiting", "waiting", AS_COUNT },
    { "  active", "active", AS_NAMES },
    { "  paused", "paused", AS_COUNT },
    { "  halted", "halted", AS_COUNT },
    { "  retrying", "retrying", AS_COUNT },
    { "  processed", "processed", AS_COUNT },
    { "  failed", "failed", AS_COUNT },
    { "output", "forwarding", AS_SWITCH },
    { "  unsent", "finished", AS_COUNT },
    { "  sent", "sent", AS_COUNT },
    { "  failed", "output_failed", AS_COUNT },
    { "  transfers", "transfers", AS_COUNT },
    { "rate processing", "rate_processing", AS_RATE },
    { "rate forwarding", "rate_forwarding", AS_RATE },
    { "uptime", "uptime", AS_SECONDS },
    { "without work", "waiting_seconds", AS_SECONDS },
    { "input off", "off_seconds", AS_SECONDS },
    { "time per unit", "unit_seconds", AS_SPREAD },
};

/* Shown in another way, or of no use to people. */
static const char *const apart[] = { "name",
                                     "id",
                                     "node",
                                     "up",
                                     "active_count",
                                     "rate_processing_overall",
                                     "rate_forwarding_overall",
                                     "completed_total",
                                     "failed_total",
                                     "forwarded_total",
                                     "problems" };

static void seconds_add(Buf *out, double seconds)
{
    char text[DURATION_TEXT_BYTES];
    int64_t ms = (int64_t)(seconds * (double)MS_PER_S);
    buf_add_text(
        out, duration_human(ms >= 10 * MS_PER_S ? ms / MS_PER_S * MS_PER_S : ms, text));
}

static void names_add(Buf *out, const Doc *doc)
{
    const char *before = ": ";
    buf_printf(out, "%lld", (long long)doc_int(doc, "active_count", 0));
    for (const Doc *at = doc_first(doc_get(doc, "active")); at; at = doc_next(at)) {
        buf_add_text(out, before);
        safe_add(out, doc_as_text(at));
        before = ", ";
    }
}

static void spread_add(Buf *out, const Doc *doc)
{
    static const char *const parts[] = { "min", "avg", "max" };
    for (size_t i = 0; i < 3; i++) {
        buf_printf(out, "%s%s ", i ? ", " : "", parts[i]);
        seconds_add(out, doc_number(doc, parts[i], 0));
    }
}

static void screen_value(Buf *out, const Doc *doc, const ScreenRow *row)
{
    char overall[64];
    switch (row->as) {
    case AS_COUNT:
        buf_printf(out, "%lld", (long long)doc_int(doc, row->key, 0));
        return;
    case AS_SWITCH:
        buf_add_text(out, doc_bool(doc, row->key) ? "on" : "off");
        return;
    case AS_RATE:
        snprintf(overall, sizeof overall, "%s_overall", row->key);
        buf_printf(out, "%.2f/s in the last minute, %.2f/s since the start",
                   doc_number(doc, row->key, 0), doc_number(doc, overall, 0));
        return;
    case AS_SECONDS:
        seconds_add(out, doc_number(doc, row->key, 0));
        return;
    case AS_NAMES:
        names_add(out, doc);
        return;
    case AS_SPREAD:
        spread_add(out, doc_get(doc, row->key));
        return;
    }
}

static bool on_screen(Slice key)
{
    for (size_t i = 0; i < sizeof screen / sizeof *screen; i++)
        if (slice_is(key, screen[i].key))
            return true;
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (slice_is(key, apart[i]))
            return true;
    return false;
}

static void show_screen(Buf *out, const Cli *cli, const Doc *doc)
{
    bool up = doc_bool(doc, "up");
    safe_add(out, doc_text(doc, "name"));
    buf_printf(out, " is %s%s%s on ", term_on(&cli->out, up ? COLOUR_PLAIN : COLOUR_RED),
               up ? "up" : "down", term_off(&cli->out, up ? COLOUR_PLAIN : COLOUR_RED));
    safe_add(out, doc_text(doc, "node"));
    buf_add_char(out, '\n');
    for (size_t i = 0; i < sizeof screen / sizeof *screen; i++) {
        buf_printf(out, "%s%-*s%s", term_on(&cli->out, COLOUR_DIM), LABEL_WIDTH,
                   screen[i].label, term_off(&cli->out, COLOUR_DIM));
        screen_value(out, doc, &screen[i]);
        buf_add_char(out, '\n');
    }
}

static void show_status(Cli *cli, const Doc *doc)
{
    Buf out = { 0 };
    if (cli->json) {
        doc_write(doc, &out);
        buf_add_char(&out, '\n');
    } else {
        bool whole = !doc_is_null(doc_get(doc, "slots")); /* else it is one unit */
        if (whole)
            show_screen(&out, cli, doc);
        for (const Doc *field = doc_first(doc); field; field = doc_next(field))
            if (!whole || !on_screen(doc_key(field)))
                show_field(&out, cli, field);
        show_problems(&out, cli, doc_get(doc, "problems"));
    }
    cli_print(&out);
    buf_done(&out);
}

static int status(Cli *cli)
{
    Buf path = { 0 };
    Doc *doc = NULL;
    processor_path(&path, slice_text(name_of(cli)), "");
    if (cli->args.operand_count > 2) {
        buf_add_text(&path, "/units/");
        url_add(&path, slice_text(cli->args.operands[2]));
    }
    int code = cli_get(cli, buf_cstr(&path), &doc);
    buf_done(&path);
    if (code)
        return code;
    show_status(cli, doc);
    doc_free(doc);
    return CLI_DONE;
}

/* --- Making ------------------------------------------------------------------------ */

static int misplaced(const Cli *cli, const char *what)
{
    return cli_fail(cli, usage("pawl processor --help"), "%s", what);
}

static void words_json(JsonOut *json, const Cli *cli)
{
    json_array(json, "command");
    for (size_t i = 2; i < cli->args.operand_count; i++)
        json_cstr(json, NULL, cli->args.operands[i]);
    json_array_end(json);
}

static void text_option(JsonOut *json, const Cli *cli, const char *option,
                        const char *field)
{
    const char *value = args_value(&cli->args, option);
    if (value)
        json_cstr(json, field, value);
}

static int number_option(JsonOut *json, const Cli *cli, const char *option,
                         const char *field)
{
    int64_t value = 0;
    Error why = { 0 };
    if (!args_value(&cli->args, option))
        return CLI_DONE;
    if (args_int(&cli->args, option, 0, &value, &why))
        return cli_misused(cli, &why);
    json_int(json, field, value);
    return CLI_DONE;
}

static int duration_option(JsonOut *json, const Cli *cli, const char *option,
                           const char *field)
{
    int64_t value_ms = -1;
    Error why = { 0 };
    if (args_duration(&cli->args, option, &value_ms, &why))
        return cli_misused(cli, &why);
    if (value_ms >= 0)
        json_duration(json, field, value_ms);
    return CLI_DONE;
}

/* Every --forward is a forwarder of its own; commas separate its destinations. */
static int forwards_json(JsonOut *json, const Cli *cli)
{
    const char *to;
    int code = CLI_DONE;
    json_array(json, "forward");
    for (size_t at = 0; !code && (to = args_next(&cli->args, "forward", &at));) {
        Slice rest = slice_text(to);
        json_object(json, NULL);
        json_array(json, "to");
        while (rest.bytes)
            json_text(json, NULL, slice_cut(&rest, ','));
        json_array_end(json);
        text_option(json, cli, "mode", "mode");
        text_option(json, cli, "ssh", "ssh");
        code = number_option(json, cli, "bandwidth", "bandwidth");
        json_object_end(json);
    }
    json_array_end(json);
    return code;
}

static int plan_json(JsonOut *json, const Cli *cli)
{
    const Args *args = &cli->args;
    char cwd[CWD_BYTES];
    const char *value;
    if (args_value(args, "command") && args->operand_count > 2)
        return misplaced(cli, "the command is --command or the words after --, not both");
    static const char *const of_forward[] = { "mode", "ssh", "bandwidth" };
    for (size_t i = 0; i < 3 && !args_value(args, "forward"); i++)
        if (args_value(args, of_forward[i]))
            return misplaced(cli, "--mode, --ssh and --bandwidth are of a --forward");
    if (args->operand_count > 2)
        words_json(json, cli);
    text_option(json, cli, "command", "command");
    text_option(json, cli, "type", "type");
    text_option(json, cli, "dir", "dir");
    if (args_value(args, "cwd"))
        text_option(json, cli, "cwd", "cwd");
    else if (!args_value(args, "type") && getcwd(cwd, sizeof cwd))
        json_cstr(json, "cwd", cwd);
    if (args_value(args, "env")) {
        json_array(json, "env");
        for (size_t at = 0; (value = args_next(args, "env", &at));)
            json_cstr(json, NULL, value);
        json_array_end(json);
    }
    int code = number_option(json, cli, "slots", "slots");
    if (!code)
        code = number_option(json, cli, "priority", "priority");
    if (!code)
        code = number_option(json, cli, "retries", "max_retries");
    if (!code)
        code = duration_option(json, cli, "retry-delay", "retry_delay");
    if (!code)
        code = duration_option(json, cli, "max-run-time", "max_run_time");
    if (!code)
        code = forwards_json(json, cli);
    if (args_flag(args, "start-forwarder"))
        json_bool(json, "start_forwarder", true);
    return code;
}

static int create(Cli *cli)
{
    Buf body = { 0 };
    Buf path = { 0 };
    Doc *doc = NULL;
    JsonOut json = { .out = &body };
    json_object(&json, NULL);
    int code = plan_json(&json, cli);
    json_object_end(&json);
    processor_path(&path, slice_text(name_of(cli)), "");
    Request request = { .method = "PUT",
                        .path = buf_cstr(&path),
                        .body = buf_slice(&body) };
    if (!code)
        code = cli_call_doc(cli, &request, &doc);
    if (!code && cli->json)
        show_status(cli, doc);
    else if (!code)
        printf(SLICE_FMT "\n", SLICE_ARG(doc_text(doc, "directory")));
    if (!code)
        doc_free(doc);
    buf_done(&path);
    buf_done(&body);
    return code;
}

/* --- Signals ----------------------------------------------------------------------- */

/* Only an answer that was waited for has the unit's status: a script goes on by it. */
static int code_of_unit(const Doc *answer)
{
    static const struct {
        const char *status;
        int code;
    } rows[] = {
        { "failed", CLI_JOB_FAILED },
        { "in-progress", CLI_TIMED_OUT },
        { "have-input", CLI_JOB_CANCELLED }, /* reset, or taken away, meanwhile */
        { "no-input", CLI_JOB_CANCELLED },
    };
    Slice status = doc_text(answer, "status");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (slice_is(status, rows[i].status))
            return rows[i].code;
    return CLI_DONE;
}

static int say(const Cli *cli, Slice name, const Response *response)
{
    Doc *doc = NULL;
    Buf text = { 0 };
    if (cli->json)
        cli_print_json(buf_slice(&response->body));
    if (doc_parse(buf_slice(&response->body), &doc, NULL))
        return CLI_DONE;
    int code = code_of_unit(doc);
    if (cli->json) {
        doc_free(doc);
        return code;
    }
    static const char *const words[] = { "answer", "status", "id", "signal" };
    safe_add(&text, name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        Slice word = doc_text(doc, words[i]);
        if (!word.bytes)
            continue;
        buf_add_char(&text, ' ');
        safe_add(&text, word);
        break;
    }
    buf_add_char(&text, '\n');
    cli_print(&text);
    buf_done(&text);
    doc_free(doc);
    return code;
}

static int send_signal(Cli *cli, Slice name, const char *signal, const char *unit)
{
    Buf path = { 0 };
    Response response = { 0 };
    processor_path(&path, name, "/");
    buf_add_text(&path, signal);
    if (unit)
        url_query(&path, "unit", slice_text(unit));
    if (args_value(&cli->args, "next"))
        url_query(&path, "next", slice_text(args_value(&cli->args, "next")));
    if (args_value(&cli->args, "wait"))
        url_query(&path, "wait", slice_text(args_value(&cli->args, "wait")));
    if (strcmp(signal, "destroy") == 0)
        url_query(&path, "confirm", name);
    Request request = { .method = "POST", .path = buf_cstr(&path) };
    int code = cli_call(cli, &request, &response);
    if (!code)
        code = say(cli, name, &response);
    response_done(&response);
    buf_done(&path);
    return code;
}

/* Several nodes may share the store, and have processors of the same name. */
static void address_add(Buf *out, const Doc *item)
{
    buf_add_slice(out, doc_text(item, "name"));
    buf_add_char(out, '@');
    buf_add_slice(out, doc_text(item, "node"));
}

static bool on_several_nodes(const Doc *items)
{
    const Doc *first = doc_first(items);
    for (const Doc *item = first; item; item = doc_next(item))
        if (!slice_equal(doc_text(item, "node"), doc_text(first, "node")))
            return true;
    return false;
}

/* To every processor, of whatever node; the first failure is the command's, the others
 * are told. */
static int send_all(Cli *cli, const char *signal)
{
    Doc *page = NULL;
    int first = cli_get(cli, PROCESSORS_PATH, &page);
    if (first)
        return first;
    const Doc *items = doc_get(page, "items");
    bool several = on_several_nodes(items);
    for (const Doc *item = doc_first(items); item; item = doc_next(item)) {
        Buf address = { 0 };
        address_add(&address, item);
        int code = send_signal(
            cli, several ? buf_slice(&address) : doc_text(item, "name"), signal, NULL);
        first = first ? first : code;
        buf_done(&address);
    }
    doc_free(page);
    return first;
}

static const char *const signals[] = {
    "start-monitor",   "stop-monitor",
    "start-forwarder", "stop-forwarder",
    "reset-active",    "reset-processed",
    "reset-all",       "process",
    "process-all",     "re-process",
    "re-process-all",  "purge",
    "purge-all",       "pause",
    "pause-all",       "resume",
    "resume-all",      "halt",
    "halt-all",        "identify",
    "destroy",         NULL,
};

static int signal_one(Cli *cli, const char *signal)
{
    const Args *args = &cli->args;
    const char *unit = args->operand_count > 2 ? args->operands[2] : NULL;
    bool all = args_flag(args, "all");
    if (all && args->operand_count > 1)
        return misplaced(cli, "--all is every processor: name none");
    if (strcmp(signal, "destroy") == 0 &&
        (all || !cli_confirm(cli, "remove its directory with all units")))
        return cli_fail(cli, (Fault){ CLI_USAGE, "unconfirmed", "add --yes" },
                        "destroy removes the directory of one processor with all units");
    if (all)
        return send_all(cli, signal);
    if (args->operand_count < 2)
        return misplaced(cli, "missing name of the processor");
    if (args->operand_count > 3)
        return misplaced(cli, "too many words");
    int first = CLI_DONE;
    for (Slice rest = slice_text(name_of(cli)); rest.bytes;) {
        int code = send_signal(cli, slice_cut(&rest, ','), signal, unit);
        first = first ? first : code;
    }
    return first;
}

int cmd_processor(Cli *cli)
{
    static const struct {
        const char *name;
        size_t words_min;
        size_t words_max;
        int (*run)(Cli *cli);
    } verbs[] = {
        { "ls", 1, 1, ls },
        { "status", 2, 3, status },
        { "create", 2, SIZE_MAX, create },
    };
    size_t count = cli->args.operand_count;
    const char *name = count ? cli->args.operands[0] : "ls";
    count = count ? count : 1;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(verbs[i].name, name) != 0)
            continue;
        if (count < verbs[i].words_min)
            return misplaced(cli, "missing name of the processor");
        if (count > verbs[i].words_max)
            return misplaced(cli, "too many words");
        return verbs[i].run(cli);
    }
    for (size_t i = 0; signals[i]; i++)
        if (strcmp(signals[i], name) == 0)
            return signal_one(cli, name);
    char hint[64] = "pawl processor --help";
    const char *nearest = nearest_word(slice_text(name), signals);
    if (nearest)
        snprintf(hint, sizeof hint, "did you mean \"%s\"?", nearest);
    return cli_fail(cli, usage(hint), "pawl processor does not know \"%s\"", name);
}
