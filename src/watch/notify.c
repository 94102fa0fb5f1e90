/* SPDX-License-Identifier: Apache-2.0 */
/* notify.c - see notify.h. */
#include "watch/notify.h"

#include "base/log.h"
#include "base/text.h"
#include "model/job_json.h"
#include "model/notify_target.h"
#include "watch/notices.h"

#include <stdio.h>

#define KEY_BYTES (ID_TEXT_BYTES + 32)

/* Which end of which job: `token` of the question is the attempt, `load.id` the job. */
static void ask(Daemon *daemon, JobId id, uint32_t attempt, JobState state)
{
    Ask *ask = MEM_NEW(Ask);
    ask->purpose = ASK_NOTIFY;
    ask->token = (uint64_t)attempt << 8 | (uint64_t)state;
    ask->load = (Load){ .kind = LOAD_JOB, .id = id };
    ask->needs = journal_end(daemon->journal);
    ingest_thread_ask(daemon->ingest, ask);
}

void notify_ended(Daemon *daemon, const Effect *effect)
{
    if (effect->flags & JOB_TELLS)
        ask(daemon, effect->id, effect->attempt, effect->state);
}

static Slice payload_of(Daemon *daemon, const Job *job, Slice event)
{
    Buf text = { 0 };
    JsonOut json = { .out = &text };
    json_object(&json, NULL);
    json_text(&json, "event", event);
    job_json(&json, "job", job);
    json_object_end(&json);
    Slice payload = slice_copy(&daemon->engine.in.step, buf_slice(&text));
    buf_done(&text);
    return payload;
}

static void tell(Daemon *daemon, const Job *job, Slice event, NoticeName *name, Slice to)
{
    if (!notify_target_wants(event, job->state))
        return;
    Notice notice = { .target = to,
                      .user = job->user,
                      .body = payload_of(daemon, job, event) };
    notices_add(daemon, name, &notice);
}

static void forget(Daemon *daemon, const char *key)
{
    Event *event = engine_event(&daemon->engine, EVENT_DEFINE);
    event->table = SLICE_LITERAL(NOTICE_OWED);
    event->key = slice_copy(&daemon->engine.in.step, slice_text(key));
}

void notify_loaded(Daemon *daemon, const Ask *ask)
{
    char id[ID_TEXT_BYTES];
    char owed[KEY_BYTES];
    uint32_t attempt = (uint32_t)(ask->token >> 8);
    if (ask->err)
        return; /* it stays owed; the next start asks again */
    snprintf(owed, sizeof owed, "%s.%u", id_text(ask->load.id, id), attempt);
    forget(daemon, owed);
    if (!ask->loaded.count) {
        log_event(LOG_WARN, "notify.job_gone", "job=%s", id);
        return;
    }
    Job job = ask->loaded.jobs[0];
    Slice rest = job.notify;
    Slice event;
    Slice to;
    job.state = (JobState)(ask->token & 255); /* it may have been retried meanwhile */
    for (unsigned i = 0; list_next(&rest, &event) && list_next(&rest, &to); i++) {
        char key[KEY_BYTES + 16];
        snprintf(key, sizeof key, "job.%s.%u", owed, i);
        tell(daemon, &job, event, &(NoticeName){ job.tenant, slice_text(key) }, to);
    }
}

/* --- After a start --------------------------------------------------------------------
 */

typedef struct Owed {
    JobId id;
    uint32_t attempt;
    JobState state;
} Owed;

static void take_owed(void *context, const Definition *definition)
{
    OwedList *list = context;
    Slice attempt = definition->key;
    Slice id = slice_cut(&attempt, '.');
    int64_t number = 0;
    Owed owed = { 0 };
    if (id_parse(id, &owed.id) || int_parse(attempt, &number) ||
        state_parse(definition->value, &owed.state))
        return;
    owed.attempt = (uint32_t)number;
    MEM_PUSH(list->items, list->count, list->capacity) = owed;
}

Err notify_read(const Daemon *daemon, OwedList *out, Error *why)
{
    return daemon->store->kind->definitions(daemon->store, SLICE_LITERAL(NOTICE_OWED),
                                            take_owed, out, why);
}

void notify_ask(Daemon *daemon, OwedList *list)
{
    for (size_t i = 0; i < list->count; i++)
        ask(daemon, list->items[i].id, list->items[i].attempt, list->items[i].state);
    mem_free(list->items);
    *list = (OwedList){ 0 };
}
