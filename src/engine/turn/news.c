/* SPDX-License-Identifier: Apache-2.0 */
/* news.c - what the runner tells, as events. */
#include "engine/turn/engine.h"

#include "base/log.h"
#include "base/pack.h"
#include "base/text.h"
#include "run/process/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER_ERROR_MAX   4096               /* of an answer's text as the job's error */
#define CHILDREN_BYTES_MAX ((off_t)256 << 20) /* of one attempt's J: lines */

/* Lines `type|payload` as jobs; a line without a valid type is told and passed over. */
static void children_of(Engine *engine, Slice lines, uint64_t count, Ending *ending)
{
    Job *jobs = arena_take(&engine->in.step, (size_t)(count + 1) * sizeof(Job));
    size_t made = 0;
    Slice line;
    while (made < count && lines_next(&lines, &line)) {
        Slice type = slice_cut(&line, '|');
        if (!name_valid(type)) {
            log_event(LOG_WARN, "job.bad_child", "bytes=%zu", type.bytes);
            continue;
        }
        jobs[made++] = (Job){ .type = type, .payload = line };
    }
    ending->children = jobs;
    ending->child_count = made;
}

static void children_from_file(Engine *engine, const RunNews *news, Ending *ending)
{
    struct stat status;
    int fd = open(news->children_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) || status.st_size > CHILDREN_BYTES_MAX) {
        log_event(LOG_ERROR, "job.children_unreadable", "path=%s", news->children_path);
        if (fd >= 0)
            close(fd);
        return;
    }
    char *bytes = arena_take(&engine->in.step, (size_t)status.st_size + 1);
    ssize_t got = read(fd, bytes, (size_t)status.st_size);
    close(fd);
    children_of(engine, slice_of(bytes, got > 0 ? (size_t)got : 0), news->child_count,
                ending);
}

/* Meant to be jobs, and none: nothing is dropped in silence. */
static Slice refused_lines(Engine *engine, JobId job, uint64_t count, Slice first)
{
    char id[ID_TEXT_BYTES];
    char quoted[LOG_QUOTE_BYTES];
    Buf text = { 0 };
    if (!count)
        return (Slice){ NULL, 0 };
    log_event(LOG_WARN, "job.lines_refused", "job=%s count=%llu first=%s",
              id_text(job, id), (unsigned long long)count, log_quote(first, quoted));
    if (count == 1)
        buf_printf(&text, "a line was refused: " SLICE_FMT, SLICE_ARG(first));
    else
        buf_printf(&text, "%llu lines were refused, the first: " SLICE_FMT,
                   (unsigned long long)count, SLICE_ARG(first));
    Slice note = slice_copy(&engine->in.step, buf_slice(&text));
    buf_done(&text);
    return note;
}

/* They were killed and are still there. */
static Slice survivors(Engine *engine, const RunNews *news)
{
    char id[ID_TEXT_BYTES];
    char text[160];
    log_event(LOG_ERROR, "job.survived", "job=%s attempt=%u processes=%u",
              id_text(news->id, id), news->attempt, news->end.leftover);
    snprintf(text, sizeof text,
             "%u of its processes could not be killed and may still be there",
             news->end.leftover);
    return slice_copy(&engine->in.step, slice_text(text));
}

static void take_ended(Engine *engine, RunNews *news)
{
    Event *event = engine_event(engine, EVENT_ENDED);
    event->id = news->id;
    event->attempt = news->attempt;
    Ending *ending = &event->ending;
    *ending = (Ending){
        .kind = news->end.signal ? END_SIGNALLED : END_EXITED,
        .exit_status = news->end.exit_status,
        .signal = news->end.signal,
        .ended_ms = news->end.ended_ms,
        .said_code = news->end.said_code,
        .cut = news->end.result_cut,
        .progress = news->end.progress,
        .message = buf_slice(&news->message),
        .result = buf_slice(&news->text),
        .note = news->end.leftover ? survivors(engine, news)
                                   : refused_lines(engine, news->id, news->refused.count,
                                                   buf_slice(&news->refused.first)),
    };
    if (news->children_path)
        children_from_file(engine, news, ending);
    else if (news->child_count)
        children_of(engine, buf_slice(&news->children), news->child_count, ending);
}

/* Jobs that a warm context's job added: packed, type and payload in turn. */
static void packed_children(Engine *engine, Slice packed, uint64_t count, Ending *ending)
{
    Job *jobs = arena_take(&engine->in.step, (size_t)(count + 1) * sizeof(Job));
    size_t made = 0;
    PackField field;
    while (pack_next(&packed, &field)) {
        if (field.tag == RUN_CHILD_TYPE && made < count)
            jobs[made++].type = field.bytes;
        if (field.tag == RUN_CHILD_PAYLOAD && made)
            jobs[made - 1].payload = field.bytes;
    }
    ending->children = jobs;
    ending->child_count = made;
}

static Ending answer_ending(const RunAnswer *answer, Slice text)
{
    Ending ending = { .progress = answer->progress, .error = text };
    switch (answer->kind) {
    case ANSWER_SAID:
        ending.kind = END_ANSWERED;
        ending.took_us = answer->took_us;
        ending.said_code = answer->code;
        ending.ask_again = answer->ask_again;
        ending.cut = answer->cut;
        ending.result = text;
        if (ending.error.bytes > ANSWER_ERROR_MAX)
            ending.error.bytes = ANSWER_ERROR_MAX;
        break;
    case ANSWER_EXITED:
        ending.kind = answer->signal ? END_SIGNALLED : END_EXITED;
        ending.signal = answer->signal;
        ending.exit_status = answer->exit_status;
        ending.said_code = answer->code;
        ending.cut = answer->cut;
        ending.result = text;
        ending.error = (Slice){ NULL, 0 };
        break;
    case ANSWER_CRASHED:
        ending.kind = answer->signal ? END_SIGNALLED : END_EXITED;
        ending.signal = answer->signal;
        ending.exit_status = answer->exit_status;
        ending.said_code = 500; /* whatever status it left with, it did not answer */
        break;
    case ANSWER_UNGOT:
        ending.kind = END_UNGOT;
        break;
    case ANSWER_FAILED:
        ending.kind = END_NOT_STARTED;
        ending.node_fault = answer->node_fault;
        break;
    case ANSWER_LOST:
        ending.kind = END_LOST;
        break;
    }
    return ending;
}

static void take_answers_of_contexts(Engine *engine, const RunNews *news)
{
    for (size_t i = 0; i < news->answer_count; i++) {
        const RunAnswer *answer = &news->answers[i];
        Event *event = engine_event(engine, EVENT_ENDED);
        event->id = answer->id;
        event->attempt = answer->attempt;
        event->ending = answer_ending(
            answer, slice_of(news->text.data + answer->text_at, answer->text_bytes));
        if (answer->refused)
            event->ending.note = refused_lines(
                engine, answer->id, answer->refused,
                slice_of(news->message.data + answer->note_at, answer->note_bytes));
        if (answer->child_count)
            packed_children(engine,
                            slice_of(news->children.data + answer->children_at,
                                     answer->children_bytes),
                            answer->child_count, &event->ending);
    }
}

static void take_failed(Engine *engine, RunNews *news)
{
    Event *event = engine_event(engine, EVENT_ENDED);
    event->id = news->id;
    event->attempt = news->attempt;
    event->ending = (Ending){ .kind = END_NOT_STARTED,
                              .node_fault = news->node_fault,
                              .progress = -1,
                              .error = buf_slice(&news->text) };
}

/* A job added at once by a running one, for the same tenant whatever the line says. The
 * key makes it one job however often the line is read again after a restart. */
static void take_child_now(Engine *engine, RunNews *news)
{
    Slice line = buf_slice(&news->text);
    Slice type = slice_cut(&line, '|');
    RunningJob parent;
    if (!name_valid(type))
        return;
    if (!node_running_find(engine->node, news->id, &parent)) {
        log_event(LOG_WARN, "job.late_child", "bytes=%zu", line.bytes);
        return; /* the attempt does not count any more: the next one adds it */
    }
    char *key = arena_take(&engine->in.step, 64);
    char id[ID_TEXT_BYTES];
    snprintf(key, 64, "child:%s:%u:%d", id_text(news->id, id), news->attempt,
             news->number);
    Job *job = ARENA_NEW(&engine->in.step, Job);
    *job = job_default();
    job->type = type;
    job->payload = line;
    job->parent = news->id;
    job->tenant = parent.tenant;
    job->flags |= parent.flags & JOB_AFTERMATH;
    job->error_depth = parent.error_depth;
    job->priority = PRIORITY_UNSET; /* what its handler says */
    job->max_retries = RETRIES_OPEN;
    Event *event = engine_event(engine, EVENT_ADD);
    event->jobs = job;
    event->count = 1;
    event->tenant = job->tenant;
    event->key = slice_text(key);
    event->key_hash = SLICE_LITERAL("child");
}

#define HANGS_TEXT                                                                       \
    "its program does not run yet: its program, working directory or account hangs"

/* It is named: in the log, and where the job is shown. */
static void take_hanging(Engine *engine, const RunNews *news)
{
    char id[ID_TEXT_BYTES];
    log_event(LOG_ERROR, "job.hangs", "job=%s attempt=%u msg=\"%s\"",
              id_text(news->id, id), news->attempt, HANGS_TEXT);
    Event *event = engine_event(engine, EVENT_STARTED); /* its time counts */
    event->id = news->id;
    event->attempt = news->attempt;
    event->pid = news->pid;
    event = engine_event(engine, EVENT_PROGRESS);
    event->id = news->id;
    event->attempt = news->attempt;
    event->progress = -1;
    event->message = SLICE_LITERAL(HANGS_TEXT);
}

static void take_news(Engine *engine, RunNews *news)
{
    Event *event;
    switch (news->kind) {
    case RUN_ADOPTED:
        /* After the start only: an attempt that no one knows. It must not go on. */
        engine->ports->signal(engine->world, news->id, news->attempt, SIGKILL);
        engine->ports->forget(engine->world, news->id, news->attempt);
        return;
    case RUN_STARTED:
        event = engine_event(engine, EVENT_STARTED);
        event->id = news->id;
        event->attempt = news->attempt;
        event->pid = news->pid;
        return;
    case RUN_HANGS:
        take_hanging(engine, news);
        return;
    case RUN_FAILED:
        take_failed(engine, news);
        return;
    case RUN_ENDED:
        take_ended(engine, news);
        return;
    case RUN_LOST:
        event = engine_event(engine, EVENT_ENDED);
        event->id = news->id;
        event->attempt = news->attempt;
        event->ending =
            (Ending){ .kind = END_LOST, .progress = -1, .error = buf_slice(&news->text) };
        return;
    case RUN_PROGRESS:
        event = engine_event(engine, EVENT_PROGRESS);
        event->id = news->id;
        event->attempt = news->attempt;
        event->progress = news->number;
        event->message = buf_slice(&news->text);
        return;
    case RUN_CHILD:
        take_child_now(engine, news);
        return;
    case RUN_ANSWERS:
        take_answers_of_contexts(engine, news);
        return;
    case RUN_LAUNCHER_GONE:
        log_event(LOG_ERROR, "launcher.gone", "msg=\"its jobs are lost and run again\"");
        return;
    case RUN_LAUNCHER_BACK:
        log_event(LOG_INFO, "launcher.back", "msg=\"a new launcher is connected\"");
        return;
    case RUN_LISTED:
        return;
    }
}

/* What a runner tells of something that no job is goes to the part that began it. */
static bool is_for_part(Engine *engine, RunNews *news)
{
    for (const EnginePart *const *part = engine->parts; *part; part++)
        if ((*part)->news && (*part)->news(engine->world, news))
            return true;
    return false;
}

static bool event_is_for_part(Engine *engine, const Event *event)
{
    for (const EnginePart *const *part = engine->parts; *part; part++)
        if ((*part)->event && (*part)->event(engine->world, event))
            return true;
    return false;
}

void engine_take_news(Engine *engine, RunNews *news)
{
    Collected *in = &engine->in;
    size_t before = in->count;
    if (is_for_part(engine, news))
        return;
    take_news(engine, news);
    size_t own = in->count - before; /* all are of one attempt */
    if (!own)
        return;
    Event first = in->events[before];
    if (!event_is_for_part(engine, &first))
        return;
    /* What came of it stays: a notice is written down. */
    size_t more = in->count - before - own;
    memmove(&in->events[before], &in->events[before + own], more * sizeof *in->events);
    in->count = before + more;
}
