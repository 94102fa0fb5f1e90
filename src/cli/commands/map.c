/* SPDX-License-Identifier: Apache-2.0 */
/* map.c - pawl map [options] -- CMD {} ::: ARG...: one job per argument, in a group
 * of their own, and a look at them until all have ended. */
#include "cli/command.h"

#include "cli/describe.h"
#include "cli/interrupt.h"
#include "cli/print/progress.h"
#include "cli/submit.h"
#include "cli/watch.h"

#include "base/text.h"
#include "base/times.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define PIECE_BYTES (4 << 20) /* of a request: far below any limit of the daemon's */

typedef struct Map {
    Cli *cli;
    char **words; /* of the command */
    size_t word_count;
    Buf body;    /* NDJSON of those that are not sent yet */
    size_t jobs; /* all of them */
    size_t sent;
    const char *group;
    char own_group[64];
    Arena arena;
    Progress progress;
    Progress told;
    int64_t since_boot;
    bool bar;
} Map;

/* The word with every {} replaced by the argument. */
static char *filled(Map *map, const char *word, Slice arg)
{
    Buf text = { 0 };
    for (const char *at = word; *at;) {
        if (at[0] == '{' && at[1] == '}') {
            buf_add_slice(&text, arg);
            at += 2;
        } else {
            buf_add_char(&text, *at++);
        }
    }
    char *copy = (char *)slice_cstr(&map->arena, buf_slice(&text));
    buf_done(&text);
    return copy;
}

static bool has_place(const Map *map)
{
    for (size_t i = 0; i < map->word_count; i++)
        if (strstr(map->words[i], "{}"))
            return true;
    return false;
}

/* The first line that was refused, in the daemon's words. */
static int check_added(const Map *map, const Response *response)
{
    Slice rest = buf_slice(&response->body);
    while (rest.bytes) {
        Slice line = slice_cut(&rest, '\n');
        Doc *doc = NULL;
        if (!line.bytes || doc_parse(line, &doc, NULL))
            continue;
        const Doc *error = doc_get(doc, "error");
        int code = CLI_DONE;
        if (error)
            code = cli_fail(map->cli, (Fault){ CLI_FAILED, "refused", NULL },
                            "argument %lld: " SLICE_FMT,
                            (long long)map->sent + doc_int(doc, "line", 0),
                            SLICE_ARG(doc_text(error, "detail")));
        doc_free(doc);
        if (code)
            return code;
    }
    return CLI_DONE;
}

/* What is there so far. Any number of arguments goes through a few MiB. */
static int submit(Map *map)
{
    Response response = { 0 };
    char key[KEY_TEXT_BYTES];
    Request request = { .method = "POST",
                        .path = "/api/v1/jobs",
                        .content_type = "application/x-ndjson",
                        .key = describe_key(key),
                        .body = buf_slice(&map->body) };
    int code = submit_call(map->cli, &request, &response);
    if (!code)
        code = check_added(map, &response);
    response_done(&response);
    buf_clear(&map->body);
    map->sent = map->jobs;
    return code;
}

static int add_job(Map *map, Slice arg)
{
    Cli *cli = map->cli;
    JsonOut json = { .out = &map->body };
    size_t count = 0;
    char **words = arena_take(&map->arena, (map->word_count + 1) * sizeof *words);
    for (size_t i = 0; i < map->word_count; i++)
        words[count++] = filled(map, map->words[i], arg);
    if (!has_place(map))
        words[count++] = filled(map, "{}", arg);
    json_object(&json, NULL);
    int code = describe_command(cli, words, count, &json);
    if (!code)
        code = describe_cwd(cli, &json);
    if (!code)
        code = describe_options(cli, clock_now().wall_ms, NULL, &json);
    if (!code && !args_flag(&cli->args, "retries"))
        json_int(&json, "max_retries", 0);
    if (!args_flag(&cli->args, "group"))
        json_cstr(&json, "group", map->group);
    json_object_end(&json);
    buf_add_char(&map->body, '\n');
    map->jobs++;
    arena_reset(&map->arena);
    if (!code && map->body.bytes >= PIECE_BYTES)
        code = submit(map);
    return code;
}

/* Arguments stand behind `:::`, or are the lines of standard input. */
static int add_jobs(Map *map)
{
    Args *args = &map->cli->args;
    size_t at = 0;
    int code = CLI_DONE;
    while (at < args->operand_count && strcmp(args->operands[at], ":::") != 0)
        at++;
    map->words = args->operands;
    map->word_count = at;
    if (!at)
        return cli_fail(map->cli,
                        (Fault){ CLI_USAGE, "usage", "pawl map -- CMD {} ::: ARG..." },
                        "there is no command");
    for (size_t i = at + 1; i < args->operand_count; i++)
        if (strcmp(args->operands[i], ":::") == 0)
            return cli_fail(
                map->cli, (Fault){ CLI_USAGE, "usage", "pawl map -- CMD {} ::: ARG..." },
                "there is one list of arguments: a second ::: is not taken");
    if (at < args->operand_count) {
        for (size_t i = at + 1; i < args->operand_count; i++)
            if (strcmp(args->operands[i], ":::") == 0)
                return cli_fail(map->cli, (Fault){ CLI_USAGE, "unsupported", NULL },
                                "one list of arguments only: there is a second :::");
        for (size_t i = at + 1; i < args->operand_count && !code; i++)
            code = add_job(map, slice_text(args->operands[i]));
        return code;
    }
    Buf input = { 0 };
    code = describe_read(map->cli, "-", &input);
    Slice rest = buf_slice(&input);
    while (rest.bytes && !code) {
        Slice line = slice_cut(&rest, '\n');
        if (line.bytes)
            code = add_job(map, line);
    }
    buf_done(&input);
    return code;
}

static void show(Map *map)
{
    Buf line = { 0 };
    Progress *progress = &map->progress;
    progress->elapsed_ms = clock_now().boot_ms - map->since_boot;
    if (map->cli->err.is_terminal) {
        progress_bar(progress, &map->cli->err, &line);
        fprintf(stderr, "\r%s\x1b[K", buf_cstr(&line));
        map->bar = true;
    } else if (progress_due(&map->told, progress)) {
        progress_line(progress, &line);
        fprintf(stderr, "%s\n", buf_cstr(&line));
        map->told = *progress;
    }
    fflush(stderr);
    buf_done(&line);
}

static void print(const Doc *group)
{
    Buf out = { 0 };
    doc_write(group, &out);
    cli_print_json(buf_slice(&out));
    buf_done(&out);
}

static void take_counts(Map *map, const Doc *group)
{
    const Doc *counts = doc_get(group, "counts");
    Progress *progress = &map->progress;
    progress->total = (size_t)doc_int(group, "total", 0);
    progress->done = (size_t)doc_int(counts, "done", 0);
    progress->failed =
        (size_t)(doc_int(counts, "failed", 0) + doc_int(counts, "rejected", 0));
    progress->cancelled = (size_t)doc_int(counts, "cancelled", 0);
    progress->running = (size_t)doc_int(counts, "running", 0);
}

static int exit_of(const Progress *progress)
{
    if (progress->failed)
        return CLI_JOB_FAILED;
    return progress->cancelled ? CLI_JOB_CANCELLED : CLI_DONE;
}

static int detached(const Map *map)
{
    cli_note("detached; the jobs go on. See them: pawl ls group:%s", map->group);
    return CLI_SIGNAL_BASE + SIGINT;
}

static int ended(const Map *map)
{
    if (map->progress.failed)
        cli_note("%zu of %zu failed; see them: pawl ls group:%s state:failed,rejected; "
                 "again: pawl retry --match 'group:%s state:failed,rejected'",
                 map->progress.failed, map->progress.total, map->group, map->group);
    return exit_of(&map->progress);
}

static int follow(Map *map)
{
    Buf path = { 0 };
    Watch watch = { .cli = map->cli };
    bool over = false;
    bool lost = false;
    buf_add_text(&path, "/api/v1/groups/");
    url_add(&path, slice_text(map->group));
    interrupt_catch();
    for (int64_t asked = 0; !over && !interrupt_seen(); asked++) {
        Doc *group = NULL;
        lost = watch_get(&watch, buf_cstr(&path), &group) == WATCH_FAILED;
        if (!group)
            break;
        take_counts(map, group);
        over = doc_bool(group, "final");
        if (!map->cli->json)
            show(map);
        else if (over)
            print(group);
        doc_free(group);
        if (!over)
            interrupt_sleep(watch_pause_ms(asked));
    }
    if (map->bar)
        fputc('\n', stderr);
    buf_done(&path);
    if (over)
        return ended(map);
    if (!lost)
        return detached(map);
    cli_note("the jobs were added; see them: pawl ls group:%s", map->group);
    return watch.exit;
}

int cmd_map(Cli *cli)
{
    const char *group = args_value(&cli->args, "group");
    Map map = { .cli = cli, .since_boot = clock_now().boot_ms };
    snprintf(map.own_group, sizeof map.own_group, "map-%lld-%d",
             (long long)clock_now().wall_ms, (int)getpid());
    map.group = group ? group : map.own_group;
    int code = add_jobs(&map);
    if (!code && !map.jobs)
        code = cli_fail(cli,
                        (Fault){ CLI_USAGE, "usage",
                                 "write them behind ::: or as lines of standard input" },
                        "there are no arguments");
    if (!code && map.sent < map.jobs)
        code = submit(&map);
    if (!code)
        code = follow(&map);
    buf_done(&map.body);
    arena_done(&map.arena);
    return code;
}
