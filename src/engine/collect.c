/* SPDX-License-Identifier: Apache-2.0 */
/* collect.c - everything that has happened since the last turn, as events.
 *
 * Events borrow from the calls, news and answers they came from; those live until
 * daemon_collected_free. */
#include "engine/daemon_state.h"

#include "access/security.h"
#include "base/log.h"
#include "base/pack.h"
#include "base/text.h"
#include "cluster/cluster.h"
#include "cluster/remote_order.h"
#include "engine/leftovers.h"
#include "watch/notices.h"
#include "watch/notify.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANSWER_ERROR_MAX   4096               /* of an answer's text as the job's error */
#define CHILDREN_BYTES_MAX ((off_t)256 << 20) /* of one attempt's J: lines */

Event *daemon_event(Daemon *daemon, EventKind kind)
{
    Event *event = &MEM_PUSH(daemon->events, daemon->event_count, daemon->event_capacity);
    *event = (Event){ .kind = kind };
    return event;
}

static void answer(Call *call, Err err, const char *problem)
{
    call->err = err;
    call->problem = problem;
    call->done(call);
}

static void take_read(Daemon *daemon, Call *call)
{
    call->needs = journal_end(daemon->journal);
    if (cluster_silent(daemon)) {
        answer(call, ERR_UNAVAILABLE, "store_failing");
        return;
    }
    if (call->needs <= daemon->applied) {
        reader_give(daemon->reader, call);
        return;
    }
    if (daemon->store_failing) {
        answer(call, ERR_UNAVAILABLE, "store_failing");
        return;
    }
    call->mail.next = NULL;
    *daemon->reads_last = call;
    daemon->reads_last = (Call **)(void *)&call->mail.next;
    ingest_hurry(daemon->ingest, call->needs);
}

void daemon_reads_release(Daemon *daemon)
{
    while (daemon->reads && daemon->reads->needs <= daemon->applied) {
        Call *call = daemon->reads;
        daemon->reads = (Call *)(void *)call->mail.next;
        if (!daemon->reads)
            daemon->reads_last = &daemon->reads;
        reader_give(daemon->reader, call);
    }
}

/* Nobody knows when the store will have what they want to see. */
static void refuse_reads(Daemon *daemon)
{
    Call *call = daemon->reads;
    daemon->reads = NULL;
    daemon->reads_last = &daemon->reads;
    while (call) {
        Call *next = (Call *)(void *)call->mail.next;
        answer(call, ERR_UNAVAILABLE, "store_failing");
        call = next;
    }
}

/* Jobs are accepted without the store, unless the store is to have them first. */
static bool waits_for_store(const Daemon *daemon, EventKind kind)
{
    return daemon->options.ack_store || !cluster_accepts(kind);
}

/* For what needs the store people would wait for who knows how long. What was decided
 * already takes effect when the store is back. */
void daemon_refuse_calls(Daemon *daemon)
{
    refuse_reads(daemon);
    MapEntry entry;
    for (size_t at = 0; map_next(&daemon->open_calls, &at, &entry);) {
        Call *call = entry.value;
        if (!waits_for_store(daemon, call->event.kind))
            continue;
        map_remove(&daemon->open_calls, entry.key);
        error_set(&call->why, ERR_UNAVAILABLE,
                  "the store does not answer; it may take effect when it does again");
        answer(call, ERR_UNAVAILABLE, "store_failing");
        at = 0; /* what follows may have moved */
    }
}

/* What stands in the configuration file is changed there; only switches may be turned. */
static bool refuse_declared(Daemon *daemon, Call *call)
{
    const Event *event = &call->event;
    if (event->kind != EVENT_DEFINE || event->flag ||
        !declares_has(daemon->declares, event->table, event->tenant, event->key))
        return false;
    error_set(&call->why, ERR_CONFLICT,
              "it is declared in the configuration file of a node: change it there "
              "and reload");
    answer(call, ERR_CONFLICT, "declared");
    return true;
}

static void take_event(Daemon *daemon, Call *call)
{
    if (refuse_declared(daemon, call))
        return;
    bool away =
        cluster_silent(daemon) || (daemon->options.ack_store && daemon->store_failing);
    if (away && waits_for_store(daemon, call->event.kind)) {
        answer(call, ERR_UNAVAILABLE, "store_failing");
        return;
    }
    Event *event = daemon_event(daemon, call->event.kind);
    *event = call->event;
    event->request = ++daemon->last_call;
    map_put(&daemon->open_calls, event->request, call);
}

static void take_order(Daemon *daemon, Call *call)
{
    audit_note(daemon->security->audit, call);
    remote_order_take(daemon, call);
}

static void take_call(Daemon *daemon, Call *call)
{
    switch (call->kind) {
    case CALL_EVENT:
        if (daemon->stop) {
            answer(call, ERR_UNAVAILABLE, "draining");
            return;
        }
        take_event(daemon, call);
        return;
    case CALL_READ:
        take_read(daemon, call);
        return;
    case CALL_LOOK:
        call->look(call, daemon);
        call->done(call);
        return;
    case CALL_PIPELINE:
        take_order(daemon, call);
        return;
    case CALL_WAIT:
        daemon_waiter_add(daemon, call);
        return;
    case CALL_AFAR:
        remote_query_take(remote_order_afar(daemon), call);
        return;
    case CALL_SETTLE:
        cluster_settle(daemon, call);
        return;
    case CALL_TRY:
        if (daemon->offline_start) { /* it runs nothing */
            answer(call, ERR_UNAVAILABLE, "store_failing");
            return;
        }
        audit_note(daemon->security->audit, call);
        daemon_trial_begin(daemon, call);
        return;
    }
}

static void take_calls(Daemon *daemon)
{
    for (Mail *mail = mailbox_take(&daemon->calls); mail;) {
        Mail *next = mail->next;
        take_call(daemon, (Call *)(void *)mail);
        mail = next;
    }
}

/* The last turn wholly inside what the store has applied. */
static void applied_up_to(Daemon *daemon, uint64_t position)
{
    if (position > daemon->applied)
        daemon->applied = position;
    while (daemon->mark_first < daemon->mark_count &&
           daemon->marks[daemon->mark_first].end <= position)
        daemon->applied_number = daemon->marks[daemon->mark_first++].number;
    if (!daemon->mark_first || daemon->mark_first * 2 < daemon->mark_count)
        return;
    daemon->mark_count -= daemon->mark_first;
    memmove(daemon->marks, daemon->marks + daemon->mark_first,
            daemon->mark_count * sizeof *daemon->marks);
    daemon->mark_first = 0;
}

static void take_keeper_news(Daemon *daemon, const IngestNews *news)
{
    daemon->store_failing = news->err != ERR_OK;
    /* The disk of a shared store is another one: then the journal has room as before. */
    daemon->store_full = news->err == ERR_FULL && !daemon->store->kind->shared;
    if (news->lost)
        cluster_refused(daemon);
    if (news->refused && !daemon->cluster_link)
        log_event(LOG_ERROR, "store.refused", "operations=%llu",
                  (unsigned long long)news->refused);
    if (news->ops)
        metrics_store_commit(daemon->metrics, news->commit_seconds);
    applied_up_to(daemon, news->applied);
    daemon_event(daemon, EVENT_APPLIED)->number = daemon->applied_number;
    daemon_reads_release(daemon);
    if (daemon->store_failing && daemon->options.ack_store)
        daemon_refuse_calls(daemon);
    else if (daemon->store_failing)
        refuse_reads(daemon);
}

/* What comes into a lane's window will start soon: then its job is at hand. One that was
 * changed since the store was read is another by now. */
static void keep_bodies(Daemon *daemon, const Ask *ask)
{
    size_t kept = 0;
    for (size_t i = 0; i < ask->loaded.count && kept < BODIES_AT_ONCE; i++) {
        const Job *job = &ask->loaded.jobs[i];
        if (!(job->flags & JOB_PAYLOAD_APART) &&
            !node_changed_since(daemon->node, job->id, daemon->applied_number))
            kept += job_cache_put(&daemon->bodies, job);
    }
}

static void take_node_answer(Daemon *daemon, const Ask *ask)
{
    if (ask->load.kind == LOAD_WINDOW && !ask->load.pull)
        keep_bodies(daemon, ask);
    Event *event = daemon_event(daemon, EVENT_LOADED);
    event->token = ask->token;
    event->number = daemon->applied_number;
    event->err = ask->err;
    loaded_tell(&ask->loaded, event);
}

/* Meanwhile it may have been given up as lost, and perhaps begun again: then signals are
 * for the new attempt. */
static bool still_starts(Daemon *daemon, const Ask *ask)
{
    RunningJob running;
    if (node_running_find(daemon->node, ask->load.id, &running))
        return running.attempt == ask->attempt;
    map_remove(&daemon->early_signals, ask->load.id);
    return false;
}

static void take_start_answer(Daemon *daemon, const Ask *ask)
{
    if (!still_starts(daemon, ask))
        return;
    if (!ask->err && ask->loaded.count && cluster_may_start(daemon)) {
        Job job = ask->loaded.jobs[0];
        job.attempt = ask->attempt;
        daemon_start_asked(daemon, &job, &ask->how);
        return;
    }
    map_remove(&daemon->early_signals, ask->load.id);
    Event *event = daemon_event(daemon, EVENT_ENDED);
    event->id = ask->load.id;
    event->attempt = ask->attempt;
    event->ending = (Ending){ .kind = END_NOT_STARTED,
                              .node_fault = true,
                              .progress = -1,
                              .error = SLICE_LITERAL("cannot start: the store could not "
                                                     "give the job") };
}

static void take_wait_answer(Daemon *daemon, const Ask *ask)
{
    if (ask->err)
        return; /* its end will be told */
    if (!ask->loaded.count)
        daemon_waiters_answer(daemon, ask->load.id, ERR_NOT_FOUND);
    else if (state_in(ask->loaded.jobs[0].state, STATES_FINAL))
        daemon_waiters_answer(daemon, ask->load.id, ERR_OK);
}

static void take_answers(Daemon *daemon)
{
    Mail **last = &daemon->used_asks;
    while (*last)
        last = &(*last)->next;
    *last = mailbox_take(&daemon->answers);
    for (Mail *mail = *last; mail; mail = mail->next) {
        Ask *ask = (Ask *)(void *)mail;
        if (ask->is_news) {
            take_keeper_news(daemon, (const IngestNews *)(const void *)mail);
            continue;
        }
        applied_up_to(daemon, ask->applied);
        switch (ask->purpose) {
        case ASK_NODE:
            take_node_answer(daemon, ask);
            break;
        case ASK_START:
            take_start_answer(daemon, ask);
            break;
        case ASK_NOTIFY:
            notify_loaded(daemon, ask);
            break;
        case ASK_WAIT:
            take_wait_answer(daemon, ask);
            break;
        }
    }
}

/* Lines `type|payload` as jobs; a line without a valid type is told and passed over. */
static void children_of(Daemon *daemon, Slice lines, uint64_t count, Ending *ending)
{
    Job *jobs = arena_take(&daemon->step, (size_t)(count + 1) * sizeof(Job));
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

static void children_from_file(Daemon *daemon, const RunNews *news, Ending *ending)
{
    struct stat status;
    int fd = open(news->children_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) || status.st_size > CHILDREN_BYTES_MAX) {
        log_event(LOG_ERROR, "job.children_unreadable", "path=%s", news->children_path);
        if (fd >= 0)
            close(fd);
        return;
    }
    char *bytes = arena_take(&daemon->step, (size_t)status.st_size + 1);
    ssize_t got = read(fd, bytes, (size_t)status.st_size);
    close(fd);
    children_of(daemon, slice_of(bytes, got > 0 ? (size_t)got : 0), news->child_count,
                ending);
}

/* Meant to be jobs, and none: nothing is dropped in silence. */
static Slice refused_lines(Daemon *daemon, JobId job, uint64_t count, Slice first)
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
    Slice note = slice_copy(&daemon->step, buf_slice(&text));
    buf_done(&text);
    return note;
}

/* They were killed and are still there. */
static Slice survivors(Daemon *daemon, const RunNews *news)
{
    char id[ID_TEXT_BYTES];
    char text[160];
    log_event(LOG_ERROR, "job.survived", "job=%s attempt=%u processes=%u",
              id_text(news->id, id), news->attempt, news->end.leftover);
    snprintf(text, sizeof text,
             "%u of its processes could not be killed and may still be there",
             news->end.leftover);
    return slice_copy(&daemon->step, slice_text(text));
}

static void take_ended(Daemon *daemon, RunNews *news)
{
    Event *event = daemon_event(daemon, EVENT_ENDED);
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
        .note = news->end.leftover ? survivors(daemon, news)
                                   : refused_lines(daemon, news->id, news->refused.count,
                                                   buf_slice(&news->refused.first)),
    };
    if (news->children_path)
        children_from_file(daemon, news, ending);
    else if (news->child_count)
        children_of(daemon, buf_slice(&news->children), news->child_count, ending);
}

/* Jobs that a warm context's job added: packed, type and payload in turn. */
static void packed_children(Daemon *daemon, Slice packed, uint64_t count, Ending *ending)
{
    Job *jobs = arena_take(&daemon->step, (size_t)(count + 1) * sizeof(Job));
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

static void take_answers_of_contexts(Daemon *daemon, const RunNews *news)
{
    for (size_t i = 0; i < news->answer_count; i++) {
        const RunAnswer *answer = &news->answers[i];
        Event *event = daemon_event(daemon, EVENT_ENDED);
        event->id = answer->id;
        event->attempt = answer->attempt;
        event->ending = answer_ending(
            answer, slice_of(news->text.data + answer->text_at, answer->text_bytes));
        if (answer->refused)
            event->ending.note = refused_lines(
                daemon, answer->id, answer->refused,
                slice_of(news->message.data + answer->note_at, answer->note_bytes));
        if (answer->child_count)
            packed_children(daemon,
                            slice_of(news->children.data + answer->children_at,
                                     answer->children_bytes),
                            answer->child_count, &event->ending);
    }
}

static void take_failed(Daemon *daemon, RunNews *news)
{
    Event *event = daemon_event(daemon, EVENT_ENDED);
    event->id = news->id;
    event->attempt = news->attempt;
    event->ending = (Ending){ .kind = END_NOT_STARTED,
                              .node_fault = news->node_fault,
                              .progress = -1,
                              .error = buf_slice(&news->text) };
}

/* A job added at once by a running one, for the same tenant whatever the line says. The
 * key makes it one job however often the line is read again after a restart. */
static void take_child_now(Daemon *daemon, RunNews *news)
{
    Slice line = buf_slice(&news->text);
    Slice type = slice_cut(&line, '|');
    RunningJob parent;
    if (!name_valid(type))
        return;
    if (!node_running_find(daemon->node, news->id, &parent)) {
        log_event(LOG_WARN, "job.late_child", "bytes=%zu", line.bytes);
        return; /* the attempt does not count any more: the next one adds it */
    }
    char *key = arena_take(&daemon->step, 64);
    char id[ID_TEXT_BYTES];
    snprintf(key, 64, "child:%s:%u:%d", id_text(news->id, id), news->attempt,
             news->number);
    Job *job = ARENA_NEW(&daemon->step, Job);
    *job = job_default();
    job->type = type;
    job->payload = line;
    job->parent = news->id;
    job->tenant = parent.tenant;
    job->flags |= parent.flags & JOB_AFTERMATH;
    job->error_depth = parent.error_depth;
    job->priority = PRIORITY_UNSET; /* what its handler says */
    job->max_retries = RETRIES_OPEN;
    Event *event = daemon_event(daemon, EVENT_ADD);
    event->jobs = job;
    event->count = 1;
    event->tenant = job->tenant;
    event->key = slice_text(key);
    event->key_hash = SLICE_LITERAL("child");
}

#define HANGS_TEXT                                                                       \
    "its program does not run yet: its program, working directory or account hangs"

/* It is named: in the log, and where the job is shown. */
static void take_hanging(Daemon *daemon, const RunNews *news)
{
    char id[ID_TEXT_BYTES];
    log_event(LOG_ERROR, "job.hangs", "job=%s attempt=%u msg=\"%s\"",
              id_text(news->id, id), news->attempt, HANGS_TEXT);
    Event *event = daemon_event(daemon, EVENT_STARTED); /* its time counts */
    event->id = news->id;
    event->attempt = news->attempt;
    event->pid = news->pid;
    event = daemon_event(daemon, EVENT_PROGRESS);
    event->id = news->id;
    event->attempt = news->attempt;
    event->progress = -1;
    event->message = SLICE_LITERAL(HANGS_TEXT);
}

static void take_news(Daemon *daemon, RunNews *news)
{
    Event *event;
    switch (news->kind) {
    case RUN_ADOPTED:
        /* After the start only: an attempt that no one knows. It must not go on. */
        runner_signal(daemon->runner, news->id, news->attempt, SIGKILL);
        runner_forget(daemon->runner, news->id, news->attempt);
        return;
    case RUN_STARTED:
        event = daemon_event(daemon, EVENT_STARTED);
        event->id = news->id;
        event->attempt = news->attempt;
        event->pid = news->pid;
        return;
    case RUN_HANGS:
        take_hanging(daemon, news);
        return;
    case RUN_FAILED:
        take_failed(daemon, news);
        return;
    case RUN_ENDED:
        take_ended(daemon, news);
        return;
    case RUN_LOST:
        event = daemon_event(daemon, EVENT_ENDED);
        event->id = news->id;
        event->attempt = news->attempt;
        event->ending =
            (Ending){ .kind = END_LOST, .progress = -1, .error = buf_slice(&news->text) };
        return;
    case RUN_PROGRESS:
        event = daemon_event(daemon, EVENT_PROGRESS);
        event->id = news->id;
        event->attempt = news->attempt;
        event->progress = news->number;
        event->message = buf_slice(&news->text);
        return;
    case RUN_CHILD:
        take_child_now(daemon, news);
        return;
    case RUN_ANSWERS:
        take_answers_of_contexts(daemon, news);
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

/* What a runner tells of a trial is not for the node. */
static void take_news_of_one(Daemon *daemon, RunNews *news)
{
    size_t before = daemon->event_count;
    if (news->kind == RUN_CHILD &&
        daemon_trial_child(daemon, news->id, buf_slice(&news->text)))
        return;
    take_news(daemon, news);
    size_t own = daemon->event_count - before; /* all are of one attempt */
    if (!own)
        return;
    Event first = daemon->events[before];
    if (!daemon_trial_event(daemon, &first) && !notices_event(daemon->notices, &first))
        return;
    /* What came of it stays: a notice is written down. */
    size_t more = daemon->event_count - before - own;
    memmove(&daemon->events[before], &daemon->events[before + own],
            more * sizeof *daemon->events);
    daemon->event_count = before + more;
}

static void take_runner(Daemon *daemon)
{
    Mail **last = &daemon->used_news;
    while (*last)
        last = &(*last)->next;
    Mail *first = daemon->early_news;
    daemon->early_news = NULL;
    Mail **end = &first;
    while (*end)
        end = &(*end)->next;
    *end = mailbox_take(&daemon->news);
    *last = first;
    for (Mail *mail = first; mail; mail = mail->next)
        take_news_of_one(daemon, (RunNews *)(void *)mail);
}

#define DATA_LOOK_MS 100

/* What of the data directory is not where the next start would look for it; NULL: all of
 * it is there. */
static const char *what_is_gone(Daemon *daemon)
{
    struct stat status;
    if (stat(daemon->data_dir, &status) || status.st_ino != daemon->data_inode ||
        status.st_dev != daemon->data_device)
        return "it";
    const Store *store = daemon->store;
    if (store->kind->there && !store->kind->there(daemon->store))
        return "the store in it";
    return journal_there(daemon->journal) ? NULL : "a journal segment in it";
}

/* A data directory that was moved or removed under us, or a part of it, keeps nothing for
 * the next start: from then on nothing new may be acknowledged. */
static void look_at_data(Daemon *daemon, Now now)
{
    if (now.boot_ms < daemon->data_look_boot)
        return;
    daemon->data_look_boot = now.boot_ms + DATA_LOOK_MS;
    const char *gone = what_is_gone(daemon);
    if (gone && !daemon->data_gone)
        log_event(LOG_ERROR, "daemon.data_gone",
                  "data=%s msg=\"%s is not there any more; nothing is accepted\"",
                  daemon->data_dir, gone);
    daemon->data_gone = gone != NULL;
}

static void take_room(Daemon *daemon)
{
    uint64_t lag = journal_end(daemon->journal) - daemon->applied;
    const StoreKind *kind = daemon->store->kind;
    bool full = journal_full(daemon->journal) || daemon->store_full ||
                (kind->full && kind->full(daemon->store));
    bool no_room = full || daemon->data_gone || lag > daemon->options.journal_lag_max;
    if (no_room == daemon->no_room)
        return;
    daemon->no_room = no_room;
    log_event(no_room ? LOG_ERROR : LOG_INFO,
              no_room ? "journal.no_room" : "journal.room",
              "room_bytes=%llu lag_bytes=%llu",
              (unsigned long long)journal_room(daemon->journal), (unsigned long long)lag);
    daemon_event(daemon, EVENT_ROOM)->flag = !no_room;
}

static Event *define(Daemon *daemon, Slice table, const DeclareChange *change)
{
    Event *event = daemon_event(daemon, EVENT_DEFINE);
    event->table = table;
    event->tenant = change->tenant;
    event->key = change->name;
    event->value = change->value;
    return event;
}

/* A definition and the mark of it, in one turn. */
static void take_declared(void *context, const DeclareChange *change)
{
    Daemon *daemon = context;
    Buf key = { 0 };
    if (!change->mark_only)
        define(daemon, change->table, change);
    declares_mark(daemon->declares, change, &key);
    define(daemon, SLICE_LITERAL(DECLARED_TABLE), change)->key =
        slice_copy(&daemon->step, buf_slice(&key));
    buf_clear(&key);
    buf_printf(&key, "table=" SLICE_FMT " tenant=" SLICE_FMT " name=" SLICE_FMT,
               SLICE_ARG(change->table), SLICE_ARG(change->tenant),
               SLICE_ARG(change->name));
    if (change->value.data)
        log_event(LOG_INFO, "config.declared", "%s", buf_cstr(&key));
    else
        log_event(LOG_INFO, "config.undeclared", "%s", buf_cstr(&key));
    buf_done(&key);
}

void daemon_collect(Daemon *daemon, Now now)
{
    look_at_data(daemon, now);
    take_room(daemon);
    name_lease_look(daemon, now);
    usage_look(daemon->security->usage, now);
    daemon_trials_look(daemon, now);
    if (declares_pending(daemon->declares) && !daemon->no_room) {
        declares_changes(daemon->declares, take_declared, daemon);
        uv_async_send(&daemon->wake); /* calls see the turn after it */
        return;
    }
    cluster_collect(daemon, now);
    take_answers(daemon);
    take_runner(daemon);
    take_calls(daemon);
    notices_tick(daemon->notices, now);
    leftovers_look(daemon->leftovers, now);
}

void daemon_collected_free(Daemon *daemon)
{
    for (Mail *mail = daemon->used_news; mail;) {
        Mail *next = mail->next;
        run_news_free((RunNews *)(void *)mail);
        mail = next;
    }
    for (Mail *mail = daemon->used_asks; mail;) {
        Mail *next = mail->next;
        Ask *ask = (Ask *)(void *)mail;
        if (ask->is_news)
            mem_free(mail);
        else
            ask_free(ask);
        mail = next;
    }
    daemon->used_news = daemon->used_asks = NULL;
    daemon->event_count = 0;
    arena_reset(&daemon->step);
}

void daemon_collect_drop(Daemon *daemon)
{
    Mail **last = &daemon->used_news;
    while (*last)
        last = &(*last)->next;
    *last = daemon->early_news;
    while (*last)
        last = &(*last)->next;
    *last = mailbox_take(&daemon->news);
    for (last = &daemon->used_asks; *last;)
        last = &(*last)->next;
    *last = mailbox_take(&daemon->answers);
    daemon_collected_free(daemon);
}
