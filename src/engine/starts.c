/* SPDX-License-Identifier: Apache-2.0 */
/* starts.c - see starts.h. */
#include "engine/starts.h"

#include "cluster/cluster.h"
#include "engine/daemon_state.h"
#include "engine/processors.h"
#include "intake/control_run.h"
#include "model/booking_env.h"
#include "model/handler_order.h"
#include "model/job_json.h"

#include <signal.h>

#define TRIAL_SLOTS (1u << 20) /* contexts of trials: slots that no node has */

/* Told as an end in the next turn. */
static void cannot_start(Daemon *daemon, const Job *job, const char *text, bool gone)
{
    RunNews *news = MEM_NEW(RunNews);
    news->kind = RUN_FAILED;
    news->id = job->id;
    news->attempt = job->attempt;
    news->node_fault = gone; /* not charged: it waits for a handler again */
    buf_printf(&news->text, "cannot start: %s", text);
    mailbox_put(&daemon->engine.news, &news->mail);
}

static void start_call(Daemon *daemon, const Job *job, const Handler *handler,
                       int64_t deadline_ms)
{
    WebOrder order = { .job = job,
                       .url = handler->body,
                       .headers = handler->headers,
                       .version = handler->version,
                       .batch = handler->batch,
                       .deadline_ms = deadline_ms };
    web_start(daemon->web, &order);
}

/* Of a trial its own, else the newest of the type. */
static const Handler *handler_of(const Daemon *daemon, const Job *job)
{
    const Handler *trial = daemon_trial_handler(daemon, job->id);
    return trial ? trial : node_handler(daemon->engine.node, job->tenant, job->type);
}

/* The runner is told to start it, or only to prepare it. */
typedef void TellRunner(Runner *runner, const RunOrder *order);

static void start_process(Daemon *daemon, const Job *job, const Handler *handler,
                          int64_t deadline_ms, TellRunner *tell)
{
    Buf document = { 0 };
    JsonOut json = { .out = &document };
    Job running = *job;
    Arena arena = { 0 };
    Error why = { 0 };
    running.state = JOB_RUNNING;
    if (handler && handler_order(handler, &arena, &running, &why)) {
        cannot_start(daemon, job, why.text, false);
        arena_done(&arena);
        return;
    }
    Buf variables = { 0 };
    if (control_order(daemon, &running, &variables, &why)) {
        cannot_start(daemon, job, why.text, false);
        buf_done(&variables);
        arena_done(&arena);
        return;
    }
    running.node = slice_text(daemon->identity.sysid);
    if (job->flags & JOB_CONTROL)
        buf_add_slice(&document, job->payload);
    else
        job_json(&json, NULL, &running);
    booking_env(running.bookings, &variables);
    if ((running.flags & JOB_UNIT) && running.attempt > 1)
        running.command = processors_command(&arena, running.command);
    RunOrder order = {
        .job = &running,
        .nice = node_job_nice(daemon->engine.node, job),
        .lease_boot = cluster_lease_boot(daemon),
        .document = buf_slice(&document),
        .env = buf_slice(&variables),
        .deadline_ms = deadline_ms,
        .children_now = slice_is(running.children, "immediate"),
    };
    tell(daemon->runner, &order);
    buf_done(&document);
    buf_done(&variables);
    arena_done(&arena);
}

/* The core has decided by the handler as it was then; one that came meanwhile, of the
 * other kind, gets the job in a moment. */
void starts_start(Daemon *daemon, const Job *job, const StartHow *how)
{
    Error why = { 0 };
    bool own = job->command.bytes > 0;
    const Handler *handler = own ? NULL : handler_of(daemon, job);
    if (!own && !handler)
        cannot_start(daemon, job, "its handler is gone", true);
    else if (handler && handler->lang == LANG_PULL) /* since it was claimed */
        cannot_start(daemon, job, "its handler is for pull workers now", true);
    else if (how->warm != (handler && handler_warm(handler)))
        cannot_start(daemon, job, "its handler was changed", true);
    else if (handler && handler->lang == LANG_HTTP && job->user.bytes)
        cannot_start(daemon, job, "user is for jobs that are processes", false);
    else if (handler && handler->lang == LANG_HTTP)
        start_call(daemon, job, handler, how->deadline_ms);
    else if (!processors_have(job))
        cannot_start(daemon, job, "its unit is gone", false);
    else if (!how->warm)
        start_process(daemon, job, handler, how->deadline_ms, runner_start);
    else if (warm_add(&daemon->warm, handler, job, how->slot, &why))
        cannot_start(daemon, job, why.text, false);
}

void starts_trial(Daemon *daemon, const Job *job, int64_t deadline_ms)
{
    bool warm = handler_warm(daemon_trial_handler(daemon, job->id));
    uint32_t slot = TRIAL_SLOTS | (uint32_t)(job->id & 0xfff); /* beside all others */
    starts_start(daemon, job, &(StartHow){ deadline_ms, slot, warm });
    warm_flush(&daemon->warm);
}

/* To whoever has the attempt: the other does not know it. */
void starts_signal(Daemon *daemon, JobId id, uint32_t attempt, int number)
{
    runner_signal(daemon->runner, id, attempt, number);
    web_signal(daemon->web, id, attempt, number);
}

/* Whether it is a process without doubt: everything else is decided when it is durable.
 */
static bool is_process(const Daemon *daemon, const Job *job, const Handler **out_handler)
{
    *out_handler = job->command.bytes ? NULL : handler_of(daemon, job);
    if (job->command.bytes)
        return true;
    const Handler *handler = *out_handler;
    return handler && handler->lang != LANG_PULL && handler->lang != LANG_HTTP &&
           !handler_warm(handler);
}

bool starts_prepare(Daemon *daemon, const Job *job, const StartHow *how)
{
    const Handler *handler;
    if (!is_process(daemon, job, &handler) || !processors_have(job))
        return false;
    start_process(daemon, job, handler, how->deadline_ms, runner_prepare);
    return true;
}
