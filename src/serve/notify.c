/* SPDX-License-Identifier: Apache-2.0 */
/* notify.c - see notify.h. */
#include "serve/notify.h"

#include "serve/job_json.h"
#include "serve/target.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define NOTIFY_RETRIES 5

void notify_ended(Daemon *daemon, const Effect *effect)
{
    if (!(effect->flags & JOB_CONTROL))
        return;
    Ask *ask = MEM_NEW(Ask);
    ask->purpose = ASK_NOTIFY;
    ask->load = (Load){ .kind = LOAD_JOB, .id = effect->id };
    ask->needs = journal_end(daemon->journal);
    keeper_ask(daemon->keeper, ask);
}

static void add_word(Buf *out, Slice word)
{
    buf_add_slice(out, word);
    buf_add_char(out, '\0');
}

/* A webhook is told by this very program; a command is the shell's. */
static Slice command_of(Daemon *daemon, TargetKind kind, Slice rest)
{
    char self[PATH_MAX] = "pawl";
    Buf words = { 0 };
    switch (kind) {
    case TARGET_WEBHOOK:
        if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
            snprintf(self, sizeof self, "pawl");
        add_word(&words, slice_text(self));
        add_word(&words, SLICE_LITERAL("__notify"));
        break;
    case TARGET_COMMAND:
        add_word(&words, SLICE_LITERAL("/bin/sh"));
        add_word(&words, SLICE_LITERAL("-c"));
        break;
    }
    add_word(&words, rest);
    Slice command = slice_copy(&daemon->step, buf_slice(&words));
    buf_done(&words);
    return command;
}

static Slice payload_of(Daemon *daemon, const Job *job, Slice event)
{
    Buf text = { 0 };
    JsonOut json = { .out = &text };
    json_object(&json, NULL);
    json_text(&json, "event", event);
    job_json(&json, "job", job);
    json_object_end(&json);
    Slice payload = slice_copy(&daemon->step, buf_slice(&text));
    buf_done(&text);
    return payload;
}

static void tell(Daemon *daemon, const Job *job, unsigned number, Slice event, Slice to)
{
    TargetKind kind;
    Slice rest;
    if (!target_wants(event, job->state) || target_parse(to, &kind, &rest))
        return;
    Job *note = ARENA_NEW(&daemon->step, Job);
    *note = job_default();
    note->type = SLICE_LITERAL(NOTIFY_TYPE);
    note->tenant = slice_copy(&daemon->step, job->tenant);
    note->user = slice_copy(&daemon->step, job->user);
    note->parent = job->id;
    note->flags |= JOB_AFTERMATH; /* who cannot be told is no one else's trouble */
    note->max_retries = NOTIFY_RETRIES;
    note->command = command_of(daemon, kind, rest);
    note->payload = payload_of(daemon, job, event);
    char *key = arena_take(&daemon->step, 64);
    char id[ID_TEXT_BYTES];
    snprintf(key, 64, "notify:%s:%u:%u", id_text(job->id, id), job->attempt, number);
    Event *add = daemon_event(daemon, EVENT_ADD);
    add->jobs = note;
    add->count = 1;
    add->tenant = note->tenant;
    add->key = slice_text(key);
    add->key_hash = SLICE_LITERAL(NOTIFY_TYPE);
}

void notify_loaded(Daemon *daemon, const Job *job)
{
    Slice rest = job->notify;
    Slice event;
    Slice to;
    for (unsigned i = 0; list_next(&rest, &event) && list_next(&rest, &to); i++)
        tell(daemon, job, i, event, to);
}
