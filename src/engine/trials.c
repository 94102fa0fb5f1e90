/* SPDX-License-Identifier: Apache-2.0 */
/* trials.c - trials of handlers (trial.h) on their way through the runner.
 *
 * A trial is an attempt whose id no job ever has (its node number is TRIAL_NODE), so the
 * node never hears of it: its events are taken out before the step. One that outlives its
 * daemon is an attempt that no one knows, and ends with the next start. */
#include "engine/daemon_state.h"
#include "engine/starts.h"

#include "base/log.h"
#include "core/outcome.h"
#include "engine/trial.h"
#include "model/handler_order.h"
#include "run/process/output.h"

#include <signal.h>

#define TRIAL_NODE 1023 /* the last number; nodes count from 1 */

/* One under way. */
typedef struct Trying {
    Call *call;
    int64_t begun_boot;
    int64_t deadline_boot;
    Handler handler; /* slices borrow from the call */
    Buf children;    /* of J!: lines */
} Trying;

static void answer(Daemon *daemon, JobId id, Trying *trying)
{
    map_remove(&daemon->trials, id);
    trying->call->done(trying->call);
    buf_done(&trying->children);
    mem_free(trying);
}

static void refuse(Call *call, Err err, const char *problem, const char *text)
{
    call->err = err;
    call->problem = problem;
    error_set(&call->why, err, "%s", text);
    call->done(call);
}

JobId daemon_trial_id(Daemon *daemon)
{
    uint64_t c = id_take(&daemon->trial_ids, clock_now().wall_ms, 1);
    return id_from_count(c, TRIAL_NODE);
}

static Job job_of(Daemon *daemon, const Call *call, const Handler *handler)
{
    const Trial *trial = call->trial;
    Job job = job_default();
    job.id = daemon_trial_id(daemon);
    job.attempt = 1;
    job.tenant = handler->tenant;
    job.type = handler->type;
    job.queue = handler->queue.bytes ? handler->queue : SLICE_LITERAL("default");
    job.user = handler->user;
    job.payload = trial->payload;
    job.flags = trial->binary ? JOB_BINARY : 0;
    job.created_ms = job.run_at_ms = job.dt_ms = clock_now().wall_ms;
    return job;
}

void daemon_trial_begin(Daemon *daemon, Call *call)
{
    Handler handler;
    Trial *trial = call->trial;
    if (daemon->stop) {
        refuse(call, ERR_UNAVAILABLE, "draining", "the daemon is stopping");
        return;
    }
    if (daemon->trials.count >= TRIALS_MAX) {
        refuse(call, ERR_BUSY, "unavailable", "as many tests as may run at once do so");
        return;
    }
    if (handler_unpack(trial->handler, &handler)) {
        refuse(call, ERR_INVALID, "invalid_value", "the handler cannot be read");
        return;
    }
    Trying *trying = MEM_NEW(Trying);
    trying->call = call;
    trying->begun_boot = clock_now().boot_ms;
    trying->deadline_boot = trying->begun_boot + trial->timeout_ms;
    trying->handler = handler;
    Job job = job_of(daemon, call, &handler);
    map_put(&daemon->trials, job.id, trying);
    log_event(LOG_INFO, "handler.tested",
              "tenant=" SLICE_FMT " type=" SLICE_FMT " version=%u",
              SLICE_ARG(handler.tenant), SLICE_ARG(handler.type), handler.version);
    char eid[ID_TEXT_BYTES];
    trying->handler.eid = /* a context of its own */
        slice_copy(&call->arena, slice_text(id_text(job.id, eid)));
    starts_trial(daemon, &job, clock_now().wall_ms + trial->timeout_ms);
}

const Handler *daemon_trial_handler(const Daemon *daemon, JobId id)
{
    const Trying *trying = map_find(&daemon->trials, id);
    return trying ? &trying->handler : NULL;
}

/* The last bytes that it printed. */
static Slice output_of(const Daemon *daemon, JobId id, OutputStream stream, Arena *arena)
{
    Buf bytes = { 0 };
    OutputPart part;
    OutputName name = { daemon->data_dir, id, 1, stream };
    Slice kept = { NULL, 0 };
    if (!output_read(&name, -(int64_t)TRIAL_OUTPUT_BYTES, TRIAL_OUTPUT_BYTES, &bytes,
                     &part))
        kept = slice_copy(arena, buf_slice(&bytes));
    buf_done(&bytes);
    return kept;
}

static Slice children_of(const Trying *trying, const Ending *ending, Arena *arena)
{
    Buf lines = { 0 };
    buf_add_slice(&lines, buf_slice(&trying->children));
    for (size_t i = 0; i < ending->child_count; i++) {
        buf_add_slice(&lines, ending->children[i].type);
        buf_add_char(&lines, '|');
        buf_add_slice(&lines, ending->children[i].payload);
        buf_add_char(&lines, '\n');
    }
    Slice kept = slice_copy(arena, buf_slice(&lines));
    buf_done(&lines);
    return kept;
}

static void ended(Daemon *daemon, Trying *trying, const Event *event)
{
    Call *call = trying->call;
    Trial *trial = call->trial;
    Ending ending = event->ending;
    Buf error = { 0 };
    int64_t now_boot = clock_now().boot_ms;
    trial->timed_out = now_boot >= trying->deadline_boot && ending.kind != END_EXITED;
    if (ending.kind == END_EXITED && !ending.said_code)
        ending.said_code = exit_map_find(trying->handler.exit_map, ending.exit_status);
    trial->outcome = outcome_of(&ending, trial->timed_out, false);
    outcome_error(&ending, &trial->outcome, &error);
    trial->error = slice_copy(&call->arena, buf_slice(&error));
    buf_done(&error);
    trial->run_ms = now_boot - trying->begun_boot;
    trial->result = slice_copy(&call->arena, ending.result);
    trial->progress = ending.progress;
    trial->message =
        slice_copy(&call->arena, ending.message.bytes ? ending.message : ending.note);
    trial->children = children_of(trying, &ending, &call->arena);
    for (unsigned stream = 0; stream < OUTPUT_STREAMS; stream++)
        trial->output[stream] =
            output_of(daemon, event->id, (OutputStream)stream, &call->arena);
    runner_forget(daemon->runner, event->id, event->attempt);
    runner_erase(daemon->runner, event->id, event->attempt);
    answer(daemon, event->id, trying);
}

bool daemon_trial_event(Daemon *daemon, const Event *event)
{
    Trying *trying = map_find(&daemon->trials, event->id);
    if (trying && event->kind == EVENT_ENDED)
        ended(daemon, trying, event);
    return trying != NULL;
}

bool daemon_trial_child(Daemon *daemon, JobId id, Slice line)
{
    Trying *trying = map_find(&daemon->trials, id);
    if (!trying)
        return false;
    if (trying->children.bytes < TRIAL_OUTPUT_BYTES) {
        buf_add_slice(&trying->children, line);
        buf_add_char(&trying->children, '\n');
    }
    return true;
}

void daemon_trials_look(Daemon *daemon, Now now)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&daemon->trials, &at, &entry);) {
        Trying *trying = entry.value;
        if (now.boot_ms >= trying->deadline_boot)
            starts_signal(daemon, entry.key, 1, SIGKILL);
    }
}

/* Their processes end with the next start, as those of any attempt that no one knows. */
void daemon_trials_drop(Daemon *daemon)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&daemon->trials, &at, &entry); at = 0) {
        Trying *trying = entry.value;
        trying->call->err = ERR_UNAVAILABLE;
        trying->call->problem = "draining";
        starts_signal(daemon, entry.key, 1, SIGKILL);
        answer(daemon, entry.key, trying);
    }
    map_done(&daemon->trials);
}
