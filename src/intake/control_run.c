/* SPDX-License-Identifier: Apache-2.0 */
/* control_run.c - see control_run.h. */
#include "intake/control_run.h"

#include "base/log.h"
#include "core/outcome.h"
#include "intake/control.h"
#include "run/process/folder.h"
#include "json/base64.h"
#include "json/json_in.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOGGED_BYTES_MAX   4096 /* of what a module returned (S0.35) */
#define LOG_PIECE_BYTES    96   /* fits one field of the log however it is escaped */
#define DOCUMENT_BYTES_MAX (2 << 20)
#define BAD_RETURN         465 /* as exit status 65: bad data */

Err control_order(const Daemon *daemon, const Job *job, Buf *out_env, Error *why)
{
    char id[ID_TEXT_BYTES];
    if (!(job->flags & JOB_CONTROL))
        return ERR_OK;
    control_variables(job->payload, out_env);
    buf_printf(out_env, "BATCH_REQUEST_ID=%s.%u", id_text(job->id, id), job->attempt);
    buf_add_char(out_env, '\0');
    if (!(job->flags & JOB_COMMAND))
        return ERR_OK;
    Arena arena = { 0 };
    Slice command = job->command;
    Slice module = { NULL, 0 };
    list_next(&command, &module);
    Slice root = control_root(job->payload, daemon->modules_root, &arena);
    Err err =
        control_module_inside(slice_cstr(&arena, root), slice_cstr(&arena, module), why);
    arena_done(&arena);
    return err;
}

/* --- What it returned ------------------------------------------------------------- */

static bool ended_well(const Ending *ending)
{
    return outcome_of(ending, false, false).code == CODE_OK;
}

static bool blank(Slice text)
{
    for (size_t i = 0; i < text.bytes; i++)
        if (!strchr(" \t\r\n", text.data[i]))
            return false;
    return true;
}

/* An attempt at its end. */
typedef struct End {
    JobId id;
    uint32_t attempt;
    Ending *ending;
} End;

/* The log's lines are short: a long text takes several. */
static void log_returned(const End *end)
{
    char id[ID_TEXT_BYTES];
    char quoted[LOG_QUOTE_BYTES];
    Slice text = end->ending->result;
    size_t bytes = text.bytes < LOGGED_BYTES_MAX ? text.bytes : LOGGED_BYTES_MAX;
    for (size_t at = 0; at < bytes; at += LOG_PIECE_BYTES) {
        size_t left = bytes - at;
        Slice piece =
            slice_of(text.data + at, left < LOG_PIECE_BYTES ? left : LOG_PIECE_BYTES);
        log_event(LOG_INFO, "job.returned", "job=%s attempt=%u at=%zu bytes=%zu text=%s",
                  id_text(end->id, id), end->attempt, at, text.bytes,
                  log_quote(piece, quoted));
    }
}

static Slice read_document(Daemon *daemon, const End *end, FolderKind kind)
{
    char path[FOLDER_PATH_BYTES];
    struct stat file;
    Slice document = { NULL, 0 };
    folder_path(daemon->data_dir, kind, end->id, end->attempt, path);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return document;
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 0 &&
        file.st_size <= DOCUMENT_BYTES_MAX) {
        char *bytes = arena_take(&daemon->engine.in.step, (size_t)file.st_size);
        ssize_t got = read(fd, bytes, (size_t)file.st_size);
        document = slice_of(bytes, got > 0 ? (size_t)got : 0);
    }
    close(fd);
    return document;
}

/* The same name and module as the job that returned it. */
static bool is_itself(Daemon *daemon, const End *end, const Job *returned)
{
    ControlRules rules = { .tenant = returned->tenant,
                           .modules_root = daemon->modules_root,
                           .payload_bytes_max = daemon->options.payload_bytes_max };
    Slice document = read_document(daemon, end, FOLDER_CONTROL);
    Job own;
    Problem why;
    return document.bytes &&
           !control_read(document, &rules, &daemon->engine.in.step, &own, &why) &&
           slice_equal(own.name, returned->name) &&
           slice_equal(own.type, returned->type) &&
           slice_equal(own.command, returned->command);
}

static void take_returned(Daemon *daemon, const RunningJob *running, const End *end)
{
    Ending *ending = end->ending;
    if (!ended_well(ending) || blank(ending->result))
        return;
    if (!control_meant(ending->result)) {
        log_returned(end);
        return;
    }
    ControlRules rules = { .tenant = running->tenant,
                           .modules_root = daemon->modules_root,
                           .payload_bytes_max = daemon->options.payload_bytes_max };
    Job *job = ARENA_NEW(&daemon->engine.in.step, Job);
    Problem why;
    if (!control_read(ending->result, &rules, &daemon->engine.in.step, job, &why)) {
        ending->rerun = control_reruns(ending->result) && is_itself(daemon, end, job);
        ending->returned = ending->rerun ? NULL : job;
        return;
    }
    char *text = arena_take(&daemon->engine.in.step, ERROR_TEXT_BYTES + 64);
    snprintf(text, ERROR_TEXT_BYTES + 64, "the control file it returned: %s", why.detail);
    ending->said_code = BAD_RETURN;
    ending->error = slice_text(text);
}

/* --- What it was ---------------------------------------------------------------------
 */

static void take_member(Daemon *daemon, const JsonIn *member, Ending *ending)
{
    Slice text;
    if (json_in_text(member, &text))
        return;
    if (slice_is(member->key, "name"))
        ending->job_name = text;
    if (slice_is(member->key, "payload"))
        ending->job_payload = text;
    if (slice_is(member->key, "payload_base64") &&
        base64_decode(text, &daemon->engine.in.step, &ending->job_payload))
        ending->job_payload = (Slice){ NULL, 0 };
}

/* The attempt's own document is still there: an error handler gets name and payload. */
static void take_job(Daemon *daemon, const RunningJob *running, const End *end)
{
    Ending *ending = end->ending;
    if (running->flags & JOB_CONTROL) {
        ending->job_payload = read_document(daemon, end, FOLDER_CONTROL);
        return;
    }
    Slice document = read_document(daemon, end, FOLDER_DOCUMENT);
    const JsonIn *root;
    JsonFault fault;
    if (document.bytes &&
        !json_in_load(document, &daemon->engine.in.step, &root, &fault) &&
        root->kind == JSON_IN_OBJECT)
        for (const JsonIn *at = json_in_first(root); at; at = at->next)
            take_member(daemon, at, ending);
}

static void take_end(Daemon *daemon, const End *end)
{
    RunningJob running;
    if (!node_running_find(daemon->engine.node, end->id, &running) ||
        running.attempt != end->attempt)
        return;
    if (running.flags & JOB_CONTROL)
        take_returned(daemon, &running, end);
    if (node_settings(daemon->engine.node)->error_handler[0] && !ended_well(end->ending))
        take_job(daemon, &running, end);
}

/* What a worker sent is not ours to write into. */
static void take_items(Daemon *daemon, Event *event)
{
    ClaimItem *items = arena_take(&daemon->engine.in.step, event->count * sizeof *items);
    for (size_t i = 0; i < event->count; i++) {
        items[i] = event->items[i];
        End end = { items[i].id, items[i].attempt, &items[i].ending };
        take_end(daemon, &end);
    }
    event->items = items;
}

void control_ends(Daemon *daemon, Event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Event *event = &events[i];
        End end = { event->id, event->attempt, &event->ending };
        if (event->kind == EVENT_ENDED)
            take_end(daemon, &end);
        else if (event->kind == EVENT_FINISH && event->count)
            take_items(daemon, event);
    }
}
