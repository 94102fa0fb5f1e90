/* SPDX-License-Identifier: Apache-2.0 */
/* operation.c - see operation.h. */
#include "cli/operation.h"

#include "cli/interrupt.h"
#include "cli/print/progress.h"
#include "cli/watch.h"

#include "base/json_out.h"
#include "base/times.h"

#include <stdio.h>

typedef struct Following {
    Cli *cli;
    Watch watch;
    Progress progress;
    Progress told;
    int64_t since_boot;
    bool bar; /* one is on the screen */
} Following;

static const char *jobs_word(int64_t count)
{
    return count == 1 ? "job" : "jobs";
}

/* --- Following ---------------------------------------------------------------------- */

static void erase_bar(Following *following)
{
    if (following->bar)
        fputs("\r\x1b[K", stderr);
    following->bar = false;
}

static void show_progress(Following *following, const Doc *operation)
{
    Progress *progress = &following->progress;
    int64_t count = doc_int(operation, "count", 0);
    progress->done = (size_t)doc_int(operation, "acted", 0);
    progress->failed = (size_t)doc_int(operation, "refused", 0);
    progress->total = (size_t)count > progress_ended(progress) ? (size_t)count
                                                               : progress_ended(progress);
    progress->elapsed_ms = clock_now().boot_ms - following->since_boot;
    if (following->cli->json)
        return;
    Buf line = { 0 };
    if (following->cli->err.is_terminal) {
        progress_bar(progress, &following->cli->err, &line);
        fprintf(stderr, "\r%s\x1b[K", buf_cstr(&line));
        following->bar = true;
    } else if (progress_due(&following->told, progress)) {
        progress_line(progress, &line);
        fprintf(stderr, "%s\n", buf_cstr(&line));
        following->told = *progress;
    }
    fflush(stderr);
    buf_done(&line);
}

static bool is_running(const Doc *operation)
{
    return slice_is(doc_text(operation, "state"), "running");
}

static WatchEnd until_over(Following *following, const char *path, Doc **out_operation)
{
    for (int64_t asked = 0;; asked++) {
        Doc *operation = NULL;
        WatchEnd end = watch_get(&following->watch, path, &operation);
        if (end != WATCH_ENDED)
            return end;
        if (!is_running(operation)) {
            *out_operation = operation;
            return WATCH_ENDED;
        }
        show_progress(following, operation);
        doc_free(operation);
        interrupt_sleep(watch_pause_ms(asked));
        if (interrupt_seen())
            return WATCH_DETACHED;
    }
}

static int say_over(const Cli *cli, const Doc *operation)
{
    char action[16];
    Arena arena = { 0 };
    int64_t acted = doc_int(operation, "acted", 0);
    int64_t refused = doc_int(operation, "refused", 0);
    snprintf(action, sizeof action, SLICE_FMT, SLICE_ARG(doc_text(operation, "action")));
    if (cli->json) {
        Buf text = { 0 };
        doc_write(operation, &text);
        cli_print_json(buf_slice(&text));
        buf_done(&text);
    } else {
        cli_note("%s: %lld of %lld %s at " SLICE_FMT "%s", action, (long long)acted,
                 (long long)(acted + refused), jobs_word(acted + refused),
                 SLICE_ARG(buf_slice(&cli->server)),
                 refused ? "; the others are not in a state for it" : "");
    }
    Slice state = doc_text(operation, "state");
    int code = refused ? CLI_CONFLICT : CLI_DONE;
    if (!slice_is(state, "done"))
        code = cli_fail(
            cli, (Fault){ CLI_FAILED, "operation_ended", "pawl operation show ID" },
            "operation %s: %s", slice_cstr(&arena, doc_text(operation, "id")),
            slice_cstr(&arena, state));
    arena_done(&arena);
    return code;
}

static int say_detached(Slice id)
{
    fprintf(stderr,
            "\npawl: detached; the operation goes on. Come back: pawl operation wait "
            "" SLICE_FMT "; end it: pawl operation stop " SLICE_FMT "\n",
            SLICE_ARG(id), SLICE_ARG(id));
    return CLI_SIGNAL_BASE + 2;
}

int operation_follow(Cli *cli, Slice id)
{
    Following following = { .cli = cli,
                            .watch = { .cli = cli },
                            .since_boot = clock_now().boot_ms };
    Buf path = { 0 };
    Doc *operation = NULL;
    buf_add_text(&path, OPERATIONS_PATH "/");
    url_add(&path, id);
    interrupt_catch();
    WatchEnd end = until_over(&following, buf_cstr(&path), &operation);
    erase_bar(&following);
    buf_done(&path);
    if (end == WATCH_DETACHED)
        return say_detached(id);
    if (end != WATCH_ENDED)
        return following.watch.exit;
    int code = say_over(cli, operation);
    doc_free(operation);
    return code;
}

/* --- Beginning ---------------------------------------------------------------------- */

static int begin(Cli *cli, Slice body, Doc **out_operation)
{
    Request request = { .method = "POST", .path = OPERATIONS_PATH, .body = body };
    return cli_call_doc(cli, &request, out_operation);
}

static void write_body(const Cli *cli, const char *action, Slice fields, bool dry,
                       Buf *out)
{
    JsonOut json = { .out = out };
    json_object(&json, NULL);
    json_cstr(&json, "action", action);
    json_cstr(&json, "q", args_value(&cli->args, "match"));
    if (dry)
        json_bool(&json, "dry_run", true);
    json_object_end(&json);
    if (fields.bytes <= 2)
        return;
    out->bytes--; /* its members go on with those of the other object */
    buf_add_char(out, ',');
    buf_add_slice(out, slice_from(fields, 1));
}

/* How many would it be? A person may have meant fewer. */
static int ask_first(Cli *cli, const char *action, Slice fields, bool *out_none)
{
    Buf body = { 0 };
    Doc *dry = NULL;
    write_body(cli, action, fields, true, &body);
    int code = begin(cli, buf_slice(&body), &dry);
    buf_done(&body);
    if (code)
        return code;
    int64_t count = doc_int(dry, "count", 0);
    Buf question = { 0 };
    buf_printf(&question, "%s %lld%s %s at " SLICE_FMT, action, (long long)count,
               doc_bool(dry, "count_more") ? " or more" : "", jobs_word(count),
               SLICE_ARG(buf_slice(&cli->server)));
    doc_free(dry);
    *out_none = count == 0;
    if (!*out_none && !cli_confirm(cli, buf_cstr(&question)))
        code = cli_fail(cli,
                        (Fault){ CLI_USAGE, "not_confirmed",
                                 "say --yes to do it, --dry-run to see which" },
                        "%s: nothing done", buf_cstr(&question));
    buf_done(&question);
    return code;
}

int operation_match(Cli *cli, const char *action, Slice fields)
{
    Buf body = { 0 };
    Doc *operation = NULL;
    bool none = false;
    int code = CLI_DONE;
    if (!*args_value(&cli->args, "match"))
        return cli_fail(cli, (Fault){ CLI_USAGE, "usage", "see: pawl help queries" },
                        "--match needs a query");
    if (!args_flag(&cli->args, "yes"))
        code = ask_first(cli, action, fields, &none);
    if (code)
        return code;
    write_body(cli, action, fields, none, &body);
    code = begin(cli, buf_slice(&body), &operation);
    buf_done(&body);
    if (code)
        return code;
    if (!cli->json && !doc_int(operation, "count", 0))
        cli_note("no job matches");
    else
        code = operation_follow(cli, doc_text(operation, "id"));
    doc_free(operation);
    return code;
}
