/* SPDX-License-Identifier: Apache-2.0 */
/* top.c - pawl top: queues, jobs and rates on a screen that keeps itself new.
 *
 * A look is a few requests; rates are the differences between two looks. What runs stands
 * before what waits. The mark stays with its job or queue, not with a place on the
 * screen. Keys act on what is marked, by the same requests as the other commands; what
 * cannot be taken back is asked for first. */
#include "cli/command.h"

#include "cli/print/safe.h"
#include "cli/print/screen.h"
#include "cli/print/table.h"
#include "cli/print/when.h"
#include "cli/watch.h"

#include "base/times.h"

#include <stdio.h>

#define LOOK_EVERY_MS 1000
#define HEAD_LINES    5 /* above the rows: title, numbers, keys, message, titles */
#define NAME_BYTES    256
#define ROWS_MAX      1000

typedef enum View { VIEW_JOBS, VIEW_QUEUES } View;

typedef struct Top {
    Cli *cli;
    Screen screen;
    View view;
    Doc *stats;
    Doc *queues;
    Doc *running;
    Doc *waiting;
    const Doc *items[ROWS_MAX]; /* the rows of the view, borrowed */
    int64_t looked_boot;
    int64_t added; /* at the look before */
    int64_t finished;
    double added_rate;
    double finished_rate;
    size_t at; /* the row that is marked */
    size_t rows;
    char marked[NAME_BYTES]; /* what is marked there: an id or a queue's name */
    const char *asked;       /* the action that waits for a yes, or NULL */
    char message[400];
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
    Doc **docs[] = { &top->stats, &top->queues, &top->running, &top->waiting };
    for (size_t i = 0; i < sizeof docs / sizeof *docs; i++) {
        if (*docs[i])
            doc_free(*docs[i]);
        *docs[i] = NULL;
    }
}

static const char *name_field(const Top *top)
{
    return top->view == VIEW_JOBS ? "id" : "name";
}

static void add_rows(Top *top, const Doc *list, size_t room)
{
    const Doc *item = doc_first(doc_get(list, "items"));
    for (; item && top->rows < room; item = doc_next(item))
        top->items[top->rows++] = item;
}

/* A row that moved takes the mark along; one that is gone leaves it where it was. */
static void find_rows(Top *top)
{
    size_t room = top->screen.rows > HEAD_LINES ? top->screen.rows - HEAD_LINES : 1;
    room = room < ROWS_MAX ? room : ROWS_MAX;
    top->rows = 0;
    add_rows(top, top->view == VIEW_JOBS ? top->running : top->queues, room);
    if (top->view == VIEW_JOBS)
        add_rows(top, top->waiting, room);
    for (size_t i = 0; i < top->rows; i++)
        if (slice_is(doc_text(top->items[i], name_field(top)), top->marked))
            top->at = i;
    if (top->at >= top->rows)
        top->at = top->rows ? top->rows - 1 : 0;
}

/* While a question stands, the mark does not go over to another row. */
static void note_mark(Top *top)
{
    const Doc *item = top->rows ? top->items[top->at] : NULL;
    Slice name = doc_text(item, name_field(top));
    if (!top->asked)
        snprintf(top->marked, sizeof top->marked, SLICE_FMT, SLICE_ARG(name));
}

static WatchEnd look(Top *top)
{
    Watch watch = { .cli = top->cli };
    forget(top);
    WatchEnd end = watch_get(&watch, "/api/v1/stats", &top->stats);
    if (end == WATCH_ENDED)
        end = watch_get(&watch, "/api/v1/queues?limit=1000", &top->queues);
    if (end == WATCH_ENDED)
        end = watch_get(&watch, "/api/v1/jobs?limit=200&state=running,paused",
                        &top->running);
    if (end == WATCH_ENDED)
        end = watch_get(&watch,
                        "/api/v1/jobs?limit=200&state=ready,held,retrying,deferred,"
                        "blocked,halted",
                        &top->waiting);
    if (end != WATCH_ENDED)
        return end;
    count_rates(top, clock_now().boot_ms);
    find_rows(top);
    note_mark(top);
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
    buf_printf(out, "  in %.1f/s  out %.1f/s", top->added_rate, top->finished_rate);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (doc_int(jobs, states[i], 0))
            buf_printf(out, "  %s %lld", states[i],
                       (long long)doc_int(jobs, states[i], 0));
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
                    "j/k move  p pause/resume  h hold/release  c cancel  K kill  "
                    "2 queues  q quit" },
    [VIEW_QUEUES] = { queue_columns, sizeof queue_columns / sizeof *queue_columns,
                      add_queue, "j/k move  p pause/resume  1 jobs  q quit" },
};

/* One line of the head: what is too long for the screen is cut. */
static void add_line(const Term *term, Colour colour, Slice text, Buf *out)
{
    Buf safe = { 0 };
    safe_add(&safe, text);
    Slice line = buf_slice(&safe);
    line.bytes = safe_fit(line, term->width);
    buf_add_text(out, term_on(term, colour));
    buf_add_slice(out, line);
    buf_printf(out, "%s\n", term_off(term, colour));
    buf_done(&safe);
}

static void draw_head(const Top *top, const Term *term, Buf *out)
{
    Buf line = { 0 };
    buf_printf(&line, "pawl top  " SLICE_FMT, SLICE_ARG(buf_slice(&top->cli->server)));
    add_line(term, COLOUR_BOLD, buf_slice(&line), out);
    buf_clear(&line);
    add_numbers(top, &line);
    add_line(term, COLOUR_PLAIN, buf_slice(&line), out);
    buf_done(&line);
    add_line(term, COLOUR_DIM, slice_text(views[top->view].keys), out);
    add_line(term, top->asked ? COLOUR_YELLOW : COLOUR_PLAIN, slice_text(top->message),
             out);
}

static void draw(Top *top)
{
    Buf out = { 0 };
    Table table;
    Term term = top->cli->out;
    term.width = top->screen.columns;
    draw_head(top, &term, &out);
    table_init(&table, views[top->view].columns, views[top->view].count);
    for (size_t row = 0; row < top->rows; row++) {
        table_add(&table, COLOUR_BOLD,
                  row == top->at ? SLICE_LITERAL(">") : SLICE_LITERAL(" "));
        views[top->view].row(&table, top->items[row]);
    }
    if (top->rows)
        table_print(&table, &term, &out);
    else
        buf_add_text(&out, top->view == VIEW_JOBS ? "nothing runs and nothing waits\n"
                                                  : "no queues\n");
    screen_draw(&top->screen, buf_slice(&out));
    table_done(&table);
    buf_done(&out);
}

/* --- Keys --------------------------------------------------------------------------- */

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

/* What the job is about, for the question. */
static void ask(Top *top, const char *action, const Doc *job)
{
    Slice name = doc_text(job, "name");
    top->asked = action;
    snprintf(top->message, sizeof top->message, "%s %s (" SLICE_FMT ")? y/N", action,
             top->marked, SLICE_ARG(name.bytes ? name : doc_text(job, "type")));
}

static void answer(Top *top, bool yes)
{
    const char *action = top->asked;
    top->asked = NULL;
    if (yes)
        act(top, "/api/v1/jobs/", top->marked, action);
    else
        snprintf(top->message, sizeof top->message, "%s: nothing done", action);
}

static void press(Top *top, int key)
{
    const Doc *item = top->rows ? top->items[top->at] : NULL;
    if (!item)
        return;
    if (top->view == VIEW_QUEUES && key == 'p')
        act(top, "/api/v1/queues/", top->marked,
            doc_bool(item, "paused") ? "resume" : "pause");
    const char *action =
        top->view == VIEW_JOBS ? job_action(key, doc_text(item, "state")) : NULL;
    if (!action)
        return;
    if (key == 'c' || key == 'K')
        ask(top, action, item);
    else
        act(top, "/api/v1/jobs/", top->marked, action);
}

static void move(Top *top, bool down)
{
    if (down)
        top->at += top->at + 1 < top->rows;
    else
        top->at -= top->at > 0;
    note_mark(top);
}

/* False: it is time to leave. */
static bool take_key(Top *top, int key)
{
    if (key == KEY_LEAVE)
        return false;
    if (key == KEY_NONE)
        return true;
    if (top->asked) {
        answer(top, key == 'y' || key == 'Y');
        return true;
    }
    switch (key) {
    case 'q':
        return false;
    case '1':
    case '2':
        top->view = key == '1' ? VIEW_JOBS : VIEW_QUEUES;
        top->at = 0;
        top->marked[0] = '\0';
        return true;
    case KEY_DOWN:
    case 'j':
        move(top, true);
        return true;
    case KEY_UP:
    case 'k':
        move(top, false);
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
        draw(&top);
        key = screen_key(LOOK_EVERY_MS);
    } while (take_key(&top, key));
    screen_close(&top.screen);
    forget(&top);
    return end == WATCH_FAILED ? CLI_UNREACHABLE : CLI_DONE;
}
