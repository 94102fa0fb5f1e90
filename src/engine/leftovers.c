/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.c - see leftovers.h. */
#include "engine/leftovers.h"

#include "base/log.h"
#include "cluster/cluster.h"
#include "engine/daemon_state.h"
#include "run/files/traces.h"

#define FIRST_MS   (5 * MS_PER_S)
#define STEP_MS    200
#define STEP_NAMES 256 /* looked at in one step */
#define WALK_MS    MS_PER_HOUR
#define YOUNG_MS   MS_PER_HOUR

struct Leftovers {
    Daemon *daemon;
    TraceWalk *walk; /* of the step that is under way */
    int64_t next_boot;
    atomic_bool stepping;
    _Atomic bool walked; /* the step came to the end */
    uint64_t removed;    /* in this walk */
};

/* Some of what was found, on its way to a reader and back. */
typedef struct Found {
    JobId id;
    const char *path; /* in the call's arena */
} Found;

typedef struct Step {
    Call call; /* must be first */
    Leftovers *leftovers;
    Found found[STEP_NAMES];
    size_t count;
} Step;

Leftovers *leftovers_new(Daemon *daemon)
{
    Leftovers *leftovers = MEM_NEW(Leftovers);
    leftovers->daemon = daemon;
    leftovers->walk = trace_walk_new(daemon->data_dir);
    leftovers->next_boot = clock_now().boot_ms + FIRST_MS;
    return leftovers;
}

void leftovers_free(Leftovers *leftovers)
{
    if (!leftovers)
        return;
    trace_walk_free(leftovers->walk);
    mem_free(leftovers);
}

/* --- On a reader's thread -------------------------------------------------------------
 */

static void take_names(Step *step)
{
    Trace trace;
    int64_t young_ms = clock_now().wall_ms - YOUNG_MS;
    for (size_t i = 0; i < STEP_NAMES; i++) {
        if (!trace_walk_next(step->leftovers->walk, &trace)) {
            step->leftovers->walked = true;
            return;
        }
        if (trace.changed_ms >= young_ms)
            continue;
        step->found[step->count++] =
            (Found){ trace.id, slice_cstr(&step->call.arena, slice_text(trace.path)) };
    }
}

static bool is_there(const Loaded *loaded, JobId id)
{
    for (size_t i = 0; i < loaded->count; i++)
        if (loaded->jobs[i].id == id)
            return true;
    return false;
}

/* Leaves those whose jobs the store does not have. */
static Err leave_gone(Step *step, Store *store)
{
    Buf ids = { 0 };
    Loaded loaded = { 0 };
    for (size_t i = 0; i < step->count; i++)
        buf_add(&ids, &step->found[i].id, sizeof step->found[i].id);
    Load load = { .kind = LOAD_IDS, .key = buf_slice(&ids) };
    Err err = store->kind->load(store, &load, &loaded, &step->call.why);
    size_t gone = 0;
    for (size_t i = 0; i < step->count && !err; i++)
        if (!is_there(&loaded, step->found[i].id))
            step->found[gone++] = step->found[i];
    step->count = err ? 0 : gone;
    loaded_done(&loaded);
    buf_done(&ids);
    return err;
}

/* Asked twice: while a job that had ended goes back to work, a store may look for it
 * where it is not any more, and then where it is not yet. */
static void read_step(Call *call, Store *store)
{
    Step *step = (Step *)(void *)call;
    take_names(step);
    for (int times = 0; times < 2 && step->count && !call->err; times++)
        call->err = leave_gone(step, store);
}

/* --- On the loop thread ---------------------------------------------------------------
 */

/* A trial of a handler is a job that no store has. */
static void remove_gone(Call *call, Daemon *daemon)
{
    Step *step = (Step *)(void *)call;
    for (size_t i = 0; i < step->count; i++) {
        if (map_find(&daemon->trials, step->found[i].id))
            continue;
        runner_sweep(daemon->runner, step->found[i].path);
        step->leftovers->removed++;
    }
}

static void step_done(Call *call)
{
    Step *step = (Step *)(void *)call;
    Leftovers *leftovers = step->leftovers;
    arena_done(&call->arena);
    mem_free(step);
    leftovers->stepping = false;
}

static void step_read(Call *call)
{
    const Step *step = (const Step *)(const void *)call;
    if (call->err || !step->count) {
        step_done(call);
        return;
    }
    call->kind = CALL_LOOK;
    call->look = remove_gone;
    call->done = step_done;
    daemon_call(step->leftovers->daemon, call);
}

/* The pause before the next step; at the end of a walk what it has found is told. */
static int64_t pause_ms(Leftovers *leftovers)
{
    if (!leftovers->walked)
        return STEP_MS;
    if (leftovers->removed)
        log_event(LOG_INFO, "leftovers.removed", "names=%llu",
                  (unsigned long long)leftovers->removed);
    leftovers->walked = false;
    leftovers->removed = 0;
    return WALK_MS;
}

void leftovers_look(Leftovers *leftovers, Now now)
{
    if (!leftovers)
        return;
    Daemon *daemon = leftovers->daemon;
    if (now.boot_ms < leftovers->next_boot || leftovers->stepping)
        return;
    int64_t pause = pause_ms(leftovers);
    leftovers->next_boot = now.boot_ms + pause;
    if (pause == WALK_MS || cluster_silent(daemon) || daemon->stop)
        return;
    leftovers->stepping = true;
    Step *step = MEM_NEW(Step);
    step->leftovers = leftovers;
    step->call.kind = CALL_READ;
    step->call.read = read_step;
    step->call.done = step_read;
    daemon_call(daemon, &step->call);
}

int64_t leftovers_wake_boot(const Leftovers *leftovers)
{
    if (!leftovers)
        return TIME_NEVER;
    int64_t soon = clock_now().boot_ms + STEP_MS;
    return leftovers->stepping && leftovers->next_boot < soon ? soon
                                                              : leftovers->next_boot;
}
