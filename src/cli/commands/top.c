/* SPDX-License-Identifier: Apache-2.0 */
/* top.c - pawl top: queues, jobs and rates on a screen that keeps itself new.
 *
 * A look is three requests; rates are the differences between two looks. Keys act on the
 * row that is marked, by the same requests as the other commands. */
#include "cli/command.h"

#include "cli/print/screen.h"
#include "cli/print/table.h"
#include "cli/print/when.h"
#include "cli/watch.h"

#include "base/times.h"

#include <stdio.h>

#define LOOK_EVERY_MS 1000
#define HEAD_LINES    5 /* above the table: title, numbers, message, blank, titles */
#define NAME_BYTES    256

typedef enum View { VIEW_JOBS, VIEW_QUEUES } View;

typedef struct Top {
    Cli *cli;
    Screen screen;
    View view;
    Doc *stats;
    Doc *queues;
    Doc *jobs;
    int64_t looked_boot;
    int64_t added; /* at the look before */
    int64_t finished;
    double added_rate;
    double finished_rate;
    size_t at; /* the row that is marked */
    size_t rows;
    char message[200];
} Top;

/* --- Looking ------------------------------------------------------------------------ */

static int64_t finished_of(const Doc *stats)
{
    static const char *const codes[] = { "ok", "failed", "retry", "error" };
    const Doc *finished = doc_get(doc_get(stats, "totals"), "finished");
    int64_t sum = 0;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        sum += doc_int(finished, codes[i], 0);
    return sum;
}

static void count_rates(Top *top, int64_t now_boot)
{
    int64_t added = doc_int(doc_get(top->stats, "totals"), "added", 0);
    int64_t finished = finished_of(top->stats);
    double seconds = (double)(now_boot - top->looked_boot) / MS_PER_S;
    bool again = top->looked_boot && added >= top->added && seconds > 0;
    top->added_rate = again ? (double)(added - top->added) / seconds : 0;
    top->finished_rate = again ? (double)(finished - top->finished) / seconds : 0;
    top->added = added;
    top->finished = finished;
    top->looked_boot = now_boot;
}

static void forget(Top *top)
{
    Doc **docs[] = { &top->stats, &top->queues, &top->jobs };
    for (size_t i = 0; i < sizeof docs / sizeof *docs; i++) {
        if (*docs[i])
            doc_free(*docs[i]);
        *docs[i] = NULL;
    }
}

static WatchEnd look(Top *top)
{
    Watch watch = { .cli = top->cli };
    char jobs[200];
    size_t room = top->screen.rows > HEAD_LINES ? top->screen.rows - HEAD_LINES : 1;
    snprintf(jobs, sizeof jobs,
             "/api/v1/jobs?limit=%zu&state=running,paused,ready,held,retrying,deferred,"
             "blocked,halted",
             room < 1000 ? room : 1000);
    forget(top);
    WatchEnd end = watch_get(&watch, "/api/v1/stats", &top->stats);
    if (end == WATCH_ENDED)
        end = watch_get(&watch, "/api/v1/queues?limit=1000", &top->queues);
    if (end == WATCH_ENDED)
        end = watch_get(&watch, jobs, &top->jobs);
    if (end == WATCH_ENDED)
        count_rates(top, clock_now().boot_ms);
    return end;
}

/* --- Drawing ------------------------------------------------------------------------ */

static void add_numbers(const Top *top, Buf *out)
{
    static const char *const states[] = { "ready",   "held",     "deferred",
                                          "blocked", "retrying", "halted",
                                          "paused",  "failed",   "rejected" };
    const Doc *jobs = doc_get(top->stats, "jobs");
    const Doc *slots = doc_get(top->stats, "slots");
    buf_printf(out, "running %lld/%lld", (long long)doc_int(slots, "used", 0),
               (long long)doc_int(slots, "total", 0));
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (doc_int(jobs, states[i], 0))
            buf_printf(out, "  %s %lld", states[i],
                       (long long)doc_int(jobs, states[i], 0));
    buf_printf(out, "  in %.1f/s  out %.1f/s", top->added_rate, top->finished_rate);
}

static const Column job_columns[] = {
    { .title = " " },
    { .title = "ID" },
    { .title = "STATE" },
    { .title = "QUEUE", .wide = true },
    { .title = "PRIO", .right = true },
    { .title = "TRY", .right = true },
    { .title = "TIME", .right = true },
    { .title = "WHAT", .wide = true },
};

static void add_job(Table *table, const Doc *job)
{
    char age[WHEN_TEXT_BYTES];
    char state[32];
    Slice name = doc_text(job, "name");
    int64_t started_ms = doc_time(job, "started_at");
    int64_t since_ms = started_ms ? started_ms : doc_time(job, "created_at");
    int64_t took_ms = clock_now().wall_ms - since_ms;
    snprintf(state, sizeof state, SLICE_FMT, SLICE_ARG(doc_text(job, "state")));
    table_add(table, COLOUR_PLAIN, doc_text(job, "id"));
    table_addf(table, term_state_colour(state), "%s", state);
    table_add(table, COLOUR_PLAIN, doc_text(job, "queue"));
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)doc_int(job, "priority", 0));
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)doc_int(job, "attempt", 0));
    table_addf(table, COLOUR_PLAIN, "%s", when_age(took_ms < 0 ? 0 : took_ms, age));
    Buf words = { 0 };
    const Doc *word = doc_first(doc_get(job, "command"));
    for (; word && !name.bytes; word = doc_next(word)) {
        buf_add_text(&words, words.bytes ? " " : "");
        buf_add_slice(&words, doc_as_text(word));
    }
    table_add(table, COLOUR_PLAIN,
              name.bytes    ? name
              : words.bytes ? buf_slice(&words)
                            : doc_text(job, "type"));
    buf_done(&words);
}

static const Column queue_columns[] = {
    { .title = " " },
    { .title = "QUEUE", .wide = true },
    { .title = "STATE" },
    { .title = "READY", .right = true },
    { .title = "RUNNING", .right = true },
    { .title = "SLOTS", .right = true },
    { .title = "HEAD WAITS", .right = true },
};

static void add_queue(Table *table, const Doc *queue)
{
    char age[WHEN_TEXT_BYTES];
    bool paused = doc_bool(queue, "paused");
    int64_t slots = doc_int(queue, "slots", -1);
    int64_t wait_ms = doc_int(queue, "head_wait_ms", -1);
    table_add(table, COLOUR_PLAIN, doc_text(queue, "name"));
    table_addf(table, paused ? COLOUR_YELLOW : COLOUR_PLAIN, "%s",
               paused ? "paused" : "open");
    table_addf(table, COLOUR_PLAIN, "%lld",
               (long long)doc_int(doc_get(queue, "jobs"), "ready", 0));
    table_addf(table, COLOUR_PLAIN, "%lld", (long long)doc_int(queue, "running", 0));
    if (slots < 0)
        table_add(table, COLOUR_PLAIN, SLICE_LITERAL("-"));
    else
        table_addf(table, COLOUR_PLAIN, "%lld", (long long)slots);
    table_addf(table, COLOUR_PLAIN, "%s", wait_ms < 0 ? "-" : when_age(wait_ms, age));
}

static const struct {
    const Column *columns;
    size_t count;
    void (*row)(Table *table, const Doc *item);
    const char *keys;
} views[] = {
    [VIEW_JOBS] = { job_columns, sizeof job_columns / sizeof *job_columns, add_job,
                    "p pause/resume  h hold/release  c cancel  K kill  2 queues  q "
                    "quit" },
    [VIEW_QUEUES] = { queue_columns, sizeof queue_columns / sizeof *queue_columns,
                      add_queue, "p pause/resume  1 jobs  q quit" },
};

static const Doc *items_of(const Top *top)
{
    return doc_first(doc_get(top->view == VIEW_JOBS ? top->jobs : top->queues, "items"));
}

static void draw(Top *top)
{
    Buf out = { 0 };
    Table table;
    Term term = top->cli->out;
    term.width = top->screen.columns;
    buf_printf(&out, "%spawl top%s  %s  %s\n", term_on(&term, COLOUR_BOLD),
               term_off(&term, COLOUR_BOLD), buf_cstr(&top->cli->server),
               views[top->view].keys);
    add_numbers(top, &out);
    buf_printf(&out, "\n%s\n", top->message);
    table_init(&table, views[top->view].columns, views[top->view].count);
    size_t row = 0;
    for (const Doc *item = items_of(top); item; item = doc_next(item), row++) {
        table_add(&table, COLOUR_BOLD,
                  row == top->at ? SLICE_LITERAL(">") : SLICE_LITERAL(" "));
        views[top->view].row(&table, item);
    }
    top->rows = row;
    if (row)
        table_print(&table, &term, &out);
    else
        buf_add_text(&out, top->view == VIEW_JOBS ? "\nnothing runs and nothing waits\n"
                                                  : "\nno queues\n");
    screen_draw(&top->screen, buf_slice(&out));
    table_done(&table);
    buf_done(&out);
}

/* --- Keys --------------------------------------------------------------------------- */

static const Doc *marked(const Top *top)
{
    const Doc *item = items_of(top);
    for (size_t i = 0; item && i < top->at; i++)
        item = doc_next(item);
    return item;
}

/* What was asked, and what came of it, stands above the table until the next. */
static void act(Top *top, const char *path, const char *name, const char *action)
{
    Buf url = { 0 };
    Response response = { 0 };
    Doc *answer = NULL;
    Error why = { 0 };
    buf_add_text(&url, path);
    url_add(&url, slice_text(name));
    buf_printf(&url, "/%s", action);
    Request request = { .method = "POST", .path = buf_cstr(&url) };
    Err err = client_call(&top->cli->client, &request, &response, &why);
    bool read = !err && !doc_parse(buf_slice(&response.body), &answer, NULL);
    if (err)
        snprintf(top->message, sizeof top->message, "%s %s: %.100s", action, name,
                 why.text);
    else if (response.status / 100 != 2 && read)
        snprintf(top->message, sizeof top->message, "%s %s: " SLICE_FMT, action, name,
                 SLICE_ARG(doc_text(answer, "title")));
    else
        snprintf(top->message, sizeof top->message, "%s %s: done", action, name);
    if (answer)
        doc_free(answer);
    response_done(&response);
    buf_done(&url);
}

static const char *job_action(int key, Slice state)
{
    switch (key) {
    case 'p':
        return slice_is(state, "paused") || slice_is(state, "halted") ? "resume"
                                                                      : "pause";
    case 'h':
        return slice_is(state, "held") ? "release" : "hold";
    case 'c':
        return "cancel";
    case 'K':
        return "kill";
    default:
        return NULL;
    }
}

static void press(Top *top, int key)
{
    char name[NAME_BYTES];
    const Doc *item = marked(top);
    if (!item)
        return;
    if (top->view == VIEW_QUEUES && key == 'p') {
        snprintf(name, sizeof name, SLICE_FMT, SLICE_ARG(doc_text(item, "name")));
        act(top, "/api/v1/queues/", name, doc_bool(item, "paused") ? "resume" : "pause");
    }
    const char *action =
        top->view == VIEW_JOBS ? job_action(key, doc_text(item, "state")) : NULL;
    if (!action)
        return;
    snprintf(name, sizeof name, SLICE_FMT, SLICE_ARG(doc_text(item, "id")));
    act(top, "/api/v1/jobs/", name, action);
}

/* False: it is time to leave. */
static bool take_key(Top *top, int key)
{
    switch (key) {
    case 'q':
    case KEY_LEAVE:
        return false;
    case '1':
    case '2':
        top->view = key == '1' ? VIEW_JOBS : VIEW_QUEUES;
        top->at = 0;
        return true;
    case KEY_DOWN:
    case 'j':
        top->at += top->at + 1 < top->rows;
        return true;
    case KEY_UP:
    case 'k':
        top->at -= top->at > 0;
        return true;
    default:
        press(top, key);
        return true;
    }
}

int cmd_top(Cli *cli)
{
    Top top = { .cli = cli };
    WatchEnd end;
    if (cli->json)
        return cli_fail(cli, (Fault){ CLI_USAGE, "usage", "pawl status --json" },
                        "top is for a terminal");
    if (!screen_open(&top.screen))
        return cli_fail(cli, (Fault){ CLI_USAGE, "usage", "pawl status tells it once" },
                        "top needs a terminal");
    int key = KEY_NONE;
    do {
        end = look(&top);
        if (end != WATCH_ENDED)
            break;
        if (top.rows && top.at >= top.rows)
            top.at = top.rows - 1;
        draw(&top);
        key = screen_key(LOOK_EVERY_MS);
    } while (take_key(&top, key));
    screen_close(&top.screen);
    forget(&top);
    return end == WATCH_FAILED ? CLI_UNREACHABLE : CLI_DONE;
}
