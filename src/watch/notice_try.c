/* SPDX-License-Identifier: Apache-2.0 */
/* notice_try.c - see notice_try.h. */
#include "watch/notice_try.h"

#include "core/outcome.h"
#include "model/notify_target.h"

#define TYPE_NAME       "notice"
#define ERROR_BYTES_MAX 400

static Job job_of(Daemon *daemon, Slice tenant, const Notice *notice)
{
    Job job = job_default();
    job.id = daemon_trial_id(daemon);
    job.attempt = 1;
    job.tenant = tenant;
    job.type = SLICE_LITERAL(TYPE_NAME);
    job.queue = SLICE_LITERAL("default");
    job.payload = notice->body;
    job.created_ms = job.run_at_ms = job.dt_ms = clock_now().wall_ms;
    return job;
}

/* The launcher ends it in time, whatever becomes of this daemon. */
static void run_command(Daemon *daemon, const Notice *notice, Slice words, Job *job)
{
    Buf argv = { 0 };
    static const char shell[] = "/bin/sh\0-c";
    buf_add(&argv, shell, sizeof shell);
    buf_add_slice(&argv, words);
    buf_add_char(&argv, '\0');
    job->command = buf_slice(&argv);
    job->flags |= JOB_COMMAND;
    job->user = notice->user;
    RunOrder order = { .job = job,
                       .document = notice->body,
                       .deadline_ms = job->created_ms + NOTICE_TRY_MS,
                       .lease_boot = clock_now().boot_ms + NOTICE_TRY_MS };
    runner_start(daemon->runner, &order);
    buf_done(&argv);
}

static void call_webhook(Daemon *daemon, Slice url, const Job *job)
{
    WebOrder order = { .job = job,
                       .url = url,
                       .plain = true,
                       .deadline_ms = job->created_ms + NOTICE_TRY_MS };
    web_start(daemon->web, &order);
}

JobId notice_try_begin(Daemon *daemon, Slice tenant, const Notice *notice, Error *why)
{
    NotifyTargetKind kind;
    Slice rest;
    if (notify_target_parse(notice->target, &kind, &rest)) {
        error_set(why, ERR_INVALID, "this is no target");
        return 0;
    }
    Job job = job_of(daemon, tenant, notice);
    switch (kind) {
    case NOTIFY_TARGET_WEBHOOK:
        call_webhook(daemon, rest, &job);
        break;
    case NOTIFY_TARGET_COMMAND:
        run_command(daemon, notice, rest, &job);
        break;
    }
    return job.id;
}

static void tell_why(const Ending *ending, Error *why)
{
    Buf words = { 0 };
    Outcome outcome = outcome_of(ending, false, false);
    if (ending->kind == END_LOST || ending->kind == END_SIGNALLED) {
        error_set(why, ERR_TIMEOUT, "it took longer than %d s",
                  (int)(NOTICE_TRY_MS / MS_PER_S));
        return;
    }
    outcome_error(ending, &outcome, &words);
    if (ending->kind == END_ANSWERED && !words.bytes)
        buf_printf(&words, "it answered %d", ending->said_code);
    error_set(why, ERR_UNAVAILABLE, "%.*s", ERROR_BYTES_MAX, buf_cstr(&words));
    buf_done(&words);
}

bool notice_arrived(const Ending *ending, Error *why)
{
    bool called = ending->kind == END_ANSWERED;
    bool arrived = called ? ending->said_code / 100 == 2
                          : ending->kind == END_EXITED && ending->exit_status == 0;
    if (!arrived)
        tell_why(ending, why);
    return arrived;
}

bool notice_try_ended(Daemon *daemon, const Event *event, Error *why)
{
    bool arrived = notice_arrived(&event->ending, why);
    runner_forget(daemon->runner, event->id, event->attempt);
    runner_erase(daemon->runner, event->id, event->attempt);
    return arrived;
}
