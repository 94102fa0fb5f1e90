/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.c - see launcher.h. */
#include "sim/launcher.h"

#include "run/process/process.h"
#include "sim/machine.h"

#include <stdio.h>

#define TERM 15
#define KILL 9
#define STOP 19
#define CONT 18

static void clear_news(Launcher *launcher)
{
    for (size_t i = 0; i < launcher->news_count; i++)
        run_news_free(launcher->news[i].news);
    launcher->news_count = 0;
}

void launcher_done(Launcher *launcher)
{
    clear_news(launcher);
    mem_free(launcher->news);
    mem_free(launcher->processes);
    *launcher = (Launcher){ 0 };
}

static RunNews *new_news(RunNewsKind kind, JobId id, uint32_t attempt)
{
    RunNews *news = MEM_NEW(RunNews);
    news->kind = kind;
    news->id = id;
    news->attempt = attempt;
    news->end.progress = -1;
    return news;
}

static RunNews *tell(Machine *machine, RunNewsKind kind, JobId id, uint32_t attempt)
{
    RunNews *news = new_news(kind, id, attempt);
    Launcher *launcher = &machine->launcher;
    MEM_PUSH(launcher->news, launcher->news_count, launcher->news_capacity) =
        (LateNews){ news, machine->world->time_ms + (int64_t)below(machine->world, 50) };
    return news;
}

static Process *find(Launcher *launcher, JobId id, uint32_t attempt)
{
    for (size_t i = 0; i < launcher->count; i++)
        if (launcher->processes[i].id == id && launcher->processes[i].attempt == attempt)
            return &launcher->processes[i];
    return NULL;
}

static void drop(Launcher *launcher, Process *process)
{
    size_t at = (size_t)(process - launcher->processes);
    memmove(process, process + 1, (--launcher->count - at) * sizeof *process);
}

/* --- Warm contexts -------------------------------------------------------------------
 *
 * A context has jobs of one slot in hand and runs the oldest of them. Its crash is that
 * one's; the others are given back. It ends with its daemon. */

bool contexts_here(const World *world)
{
    Bug bug = world->options.bug;
    return world->options.seed % 4 == 2 || bug == BUG_CRASH_MISPLACED;
}

/* Whether a job waits in its context behind another. */
static bool waits(const Launcher *launcher, const Process *process)
{
    for (const Process *at = launcher->processes; process->slot && at < process; at++)
        if (at->slot == process->slot && at->alive)
            return true;
    return false;
}

/* --- Starting ------------------------------------------------------------------------
 */

static int64_t run_time_ms(World *world)
{
    switch (below(world, 10)) {
    case 0:
        return 0;
    case 1:
        return (int64_t)below(world, 12000);
    default:
        return (int64_t)below(world, 3000);
    }
}

static void make_plan(World *world, Process *process)
{
    static const int32_t exits[] = { 1, 1, 2, 75, 75, 64, 78, 255 };
    static const int32_t said[] = { 200, 204, 404, 500, 103, 301 };
    process->end_ms = world->time_ms + run_time_ms(world);
    process->ignores_term = chance(world, world->profile.ignores_term_percent);
    process->children = chance(world, 10) ? 1 + (uint32_t)below(world, 2) : 0;
    if (!chance(world, world->profile.bad_end_percent))
        return;
    if (chance(world, 20))
        process->plan_signal = 11;
    else if (chance(world, 20))
        process->plan_said = said[below(world, 6)];
    else
        process->plan_exit = exits[below(world, 8)];
}

static bool start_fails(Machine *machine, JobId id, uint32_t attempt)
{
    World *world = machine->world;
    if (!fault_percent(world, world->profile.start_fails_percent))
        return false;
    RunNews *news = tell(machine, RUN_FAILED, id, attempt);
    news->node_fault = chance(world, 50);
    buf_add_text(&news->text, "cannot start");
    return true;
}

void launcher_start(Machine *machine, const Job *job, uint32_t slot)
{
    World *world = machine->world;
    uint32_t attempt = job->attempt;
    Launcher *launcher = &machine->launcher;
    char text[ID_TEXT_BYTES];
    for (size_t i = 0; i < launcher->count; i++)
        if (launcher->processes[i].id == job->id && launcher->processes[i].alive)
            violate(world, "I13", "%s #%u starts while #%u still runs",
                    id_text(job->id, text), attempt, launcher->processes[i].attempt);
    if (start_fails(machine, job->id, attempt))
        return;
    truth_started(world, machine, job);
    Process process = {
        .id = job->id, .attempt = attempt, .alive = true, .slot = slot, .begun = !slot
    };
    make_plan(world, &process);
    if (slot) { /* what a context's jobs say is their own word */
        process.plan_said = process.plan_exit ? 500 : 200;
        process.plan_exit = 0;
        process.children = 0;
        world->counts.warm++;
        Witness *witness = truth_witness(world, job->id, attempt);
        if (!witness)
            return; /* it is a violation already */
        witness->warm = true;
        witness->epoch = machine->epoch;
        witness->contexts = machine->contexts;
    }
    snprintf(process.result, sizeof process.result, "r%s.%u", id_text(job->id, text),
             attempt);
    trace(world, "m%u starts %s #%u for %lld ms", machine->index, text, attempt,
          (long long)(process.end_ms - world->time_ms));
    MEM_PUSH(launcher->processes, launcher->count, launcher->capacity) = process;
    tell(machine, RUN_STARTED, job->id, attempt)->pid = 4711;
    if (!chance(world, 20))
        return;
    RunNews *progress = tell(machine, RUN_PROGRESS, job->id, attempt);
    progress->number = (int32_t)below(world, 101);
    buf_add_text(&progress->text, "half way");
}

/* --- Ending --------------------------------------------------------------------------
 */

static void end_process(World *world, Process *process, int32_t signal)
{
    process->alive = false;
    process->ending = (Ending){ .kind = signal ? END_SIGNALLED : END_EXITED,
                                .signal = signal,
                                .progress = -1 };
    if (!signal) {
        process->ending.exit_status = process->plan_exit;
        process->ending.said_code = process->plan_said;
    }
    Witness *witness = truth_witness(world, process->id, process->attempt);
    witness->alive = false;
    witness->signal = signal;
    witness->exit_status = signal ? -1 : process->plan_exit;
    witness->said_code = process->ending.said_code;
    memcpy(witness->result, process->result, sizeof witness->result);
}

static void end_told(World *world, Process *process, const Ending *ending)
{
    Witness *witness = truth_witness(world, process->id, process->attempt);
    process->alive = false;
    process->ending = *ending;
    witness->alive = false;
    witness->told = ending->kind == END_ANSWERED;
    witness->said_code = ending->said_code;
    witness->signal = ending->signal;
    witness->exit_status = -1;
    memcpy(witness->result, process->result, sizeof witness->result);
}

/* The context dies while this one runs, of it or by a signal that was meant for it. */
static void crash_context(Machine *machine, Process *process, int32_t signal)
{
    World *world = machine->world;
    Launcher *launcher = &machine->launcher;
    Ending crash = { .kind = END_SIGNALLED,
                     .signal = signal,
                     .said_code = 500,
                     .exit_status = -1,
                     .progress = -1 };
    Ending ungot = { .kind = END_UNGOT, .exit_status = -1, .progress = -1 };
    Process *last = process;
    for (size_t i = 0; i < launcher->count; i++) {
        Process *other = &launcher->processes[i];
        if (other == process || other->slot != process->slot || !other->alive)
            continue;
        end_told(world, other, &ungot);
        last = other;
    }
    end_told(world, process, &crash);
    world->counts.context_crashes++;
    if (world->options.bug != BUG_CRASH_MISPLACED || last == process)
        return;
    last->ending = crash;
    process->ending = ungot;
}

static void run_warm(Machine *machine, Process *process)
{
    World *world = machine->world;
    Ending answer = { .kind = END_ANSWERED,
                      .said_code = process->plan_said,
                      .took_us = 1000 + (int64_t)below(world, 1000),
                      .exit_status = -1,
                      .progress = -1 };
    if (!process->begun) {
        process->begun = true;
        process->end_ms = world->time_ms + (int64_t)below(world, 2000);
    }
    if (process->end_ms > world->time_ms)
        return;
    if (process->plan_signal)
        crash_context(machine, process, process->plan_signal);
    else
        end_told(world, process, &answer);
}

static void add_children(RunNews *news, const Process *process)
{
    char id[ID_TEXT_BYTES];
    for (uint32_t k = 0; k < process->children; k++)
        buf_printf(&news->children, "child|c%s.%u.%u\n", id_text(process->id, id),
                   process->attempt, k);
    news->child_count = process->children;
}

static RunAnswerKind answer_kind(const Ending *ending)
{
    if (ending->kind == END_ANSWERED)
        return ANSWER_SAID;
    return ending->kind == END_UNGOT ? ANSWER_UNGOT : ANSWER_CRASHED;
}

/* Of a context: one answer for this job. */
static void report_warm(Machine *machine, const Process *process)
{
    RunNews *news = tell(machine, RUN_ANSWERS, process->id, process->attempt);
    const Ending *ending = &process->ending;
    RunAnswer answer = { .kind = answer_kind(ending),
                         .id = process->id,
                         .attempt = process->attempt,
                         .code = ending->said_code,
                         .signal = ending->signal,
                         .exit_status = ending->exit_status,
                         .progress = -1,
                         .took_us = ending->took_us };
    if (answer.kind == ANSWER_SAID) {
        buf_add_text(&news->text, process->result);
        answer.text_bytes = news->text.bytes;
    }
    MEM_PUSH(news->answers, news->answer_count, news->answer_capacity) = answer;
}

static void report_once(Machine *machine, const Process *process)
{
    if (process->slot) {
        report_warm(machine, process);
        return;
    }
    RunNews *news = tell(machine, RUN_ENDED, process->id, process->attempt);
    news->end.exit_status = process->ending.exit_status;
    news->end.signal = process->ending.signal;
    news->end.said_code = process->ending.said_code;
    if (process->ending.kind != END_EXITED)
        return;
    buf_add_text(&news->text, process->result);
    if (process->children)
        add_children(news, process);
}

static void report(Machine *machine, Process *process)
{
    World *world = machine->world;
    if (process->slot) { /* told once: nothing of it is kept */
        report_once(machine, process);
        drop(&machine->launcher, process);
        return;
    }
    process->again_ms = TIME_NEVER;
    if (fault_percent(world, world->profile.report_lost_percent)) {
        process->again_ms = world->time_ms + 1000 + (int64_t)below(world, 20000);
        return;
    }
    process->reported = true;
    report_once(machine, process);
    if (fault_percent(world, world->profile.report_twice_percent)) {
        report_once(machine, process);
        if (chance(world, 50)) /* when the job may be running again */
            machine->launcher.news[machine->launcher.news_count - 1].at_ms +=
                (int64_t)below(world, 15000);
    }
    if (world->options.bug == BUG_ENDS_FORGOTTEN)
        drop(&machine->launcher, process);
}

void launcher_step(Machine *machine)
{
    World *world = machine->world;
    for (size_t i = 0; i < machine->launcher.count; i++) {
        Process *process = &machine->launcher.processes[i];
        if (process->alive && process->slot) {
            if (!waits(&machine->launcher, process))
                run_warm(machine, process);
        } else if (process->alive && !process->stopped &&
                   process->end_ms <= world->time_ms)
            end_process(world, process, process->plan_signal);
        /* Without a daemon there is no one to tell; the next one will ask. */
        if (!process->alive && !process->reported && machine->node &&
            (!process->again_ms || process->again_ms <= world->time_ms))
            report(machine, process);
    }
}

static void receive(World *world, Process *process, int32_t signal)
{
    switch (signal) {
    case STOP:
        process->stopped = true;
        return;
    case CONT:
        process->stopped = false;
        if (process->term_waits)
            end_process(world, process, TERM);
        return;
    case KILL:
        end_process(world, process, KILL);
        return;
    default:
        if (process->ignores_term)
            return;
        if (process->stopped)
            process->term_waits = true;
        else if (chance(world, 30))
            process->end_ms = world->time_ms; /* it ends by itself after all */
        else
            end_process(world, process, TERM);
    }
}

void launcher_signal(Machine *machine, JobId id, uint32_t attempt, int32_t signal)
{
    World *world = machine->world;
    char text[ID_TEXT_BYTES];
    Process *process = find(&machine->launcher, id, attempt);
    trace(world, "m%u signal %d to %s #%u%s", machine->index, signal, id_text(id, text),
          attempt, process && process->alive ? "" : ", which is not there");
    if (!process || !process->alive)
        return;
    if (signal == KILL && !process->unknown &&
        fault_percent(world, world->profile.signal_lost_percent))
        return;
    if (!process->slot)
        receive(world, process, signal);
    else if (signal == TERM || signal == KILL)
        crash_context(machine, process, signal);
}

void launcher_daemon_dies(Machine *machine)
{
    World *world = machine->world;
    Launcher *launcher = &machine->launcher;
    machine->contexts++;
    for (size_t i = 0; i < launcher->count;) {
        Process *process = &launcher->processes[i];
        if (!process->slot) {
            i++;
            continue;
        }
        Witness *witness = truth_witness(world, process->id, process->attempt);
        witness->alive = false;
        witness->launcher_lost = true; /* what it said, no one has heard */
        drop(launcher, process);
    }
}

void launcher_forget(Machine *machine, JobId id, uint32_t attempt)
{
    char text[ID_TEXT_BYTES];
    Process *process = find(&machine->launcher, id, attempt);
    if (!process)
        return;
    if (process->alive)
        violate(machine->world, "I13", "%s #%u is forgotten while it runs",
                id_text(id, text), attempt);
    drop(&machine->launcher, process);
}

/* --- Death ---------------------------------------------------------------------------
 */

static void kill_all(Machine *machine)
{
    for (size_t i = 0; i < machine->launcher.count; i++) {
        Process *process = &machine->launcher.processes[i];
        if (process->alive)
            end_process(machine->world, process, KILL);
        truth_witness(machine->world, process->id, process->attempt)->launcher_lost =
            true;
    }
}

void launcher_dies(Machine *machine)
{
    World *world = machine->world;
    Launcher *launcher = &machine->launcher;
    trace(world, "m%u loses its launcher with %zu processes", machine->index,
          launcher->count);
    world->counts.launcher_deaths++;
    machine->contexts++;
    kill_all(machine);
    if (!machine->node) {
        launcher->count = 0;
        return;
    }
    for (size_t i = 0; i < launcher->count; i++)
        tell(machine, RUN_LOST, launcher->processes[i].id,
             launcher->processes[i].attempt);
    launcher->count = 0;
}

void launcher_power_cut(Machine *machine)
{
    machine->contexts++;
    kill_all(machine);
    machine->launcher.count = 0;
    clear_news(&machine->launcher);
}

void launcher_list(Machine *machine)
{
    Launcher *launcher = &machine->launcher;
    Mailbox *box = &machine->engine.news;
    clear_news(launcher); /* the old connection is gone */
    for (size_t i = 0; i < launcher->count; i++) {
        Process *process = &launcher->processes[i];
        process->reported = false;
        process->again_ms = 0;
        if (machine->world->options.bug != BUG_NOTHING_ADOPTED)
            mailbox_put(box, &new_news(RUN_ADOPTED, process->id, process->attempt)->mail);
    }
    mailbox_put(box, &new_news(RUN_LISTED, 0, 0)->mail);
}

void launcher_adopted(Machine *machine)
{
    Launcher *launcher = &machine->launcher;
    for (size_t i = 0; i < launcher->count; i++) {
        Process *process = &launcher->processes[i];
        RunningJob running;
        process->unknown =
            !node_running_find(machine->engine.node, process->id, &running) ||
            running.attempt != process->attempt;
    }
}

int64_t launcher_wake_ms(const Machine *machine)
{
    const Launcher *launcher = &machine->launcher;
    int64_t wake_ms = TIME_NEVER;
    for (size_t i = 0; i < launcher->count; i++) {
        const Process *process = &launcher->processes[i];
        int64_t at_ms = TIME_NEVER;
        if (process->alive && !process->stopped && !waits(launcher, process))
            at_ms = process->end_ms;
        if (!process->alive && !process->reported && machine->node)
            at_ms = process->again_ms;
        wake_ms = at_ms < wake_ms ? at_ms : wake_ms;
    }
    for (size_t i = 0; i < launcher->news_count && machine->node; i++)
        if (launcher->news[i].at_ms < wake_ms)
            wake_ms = launcher->news[i].at_ms;
    return wake_ms;
}
