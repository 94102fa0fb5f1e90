/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c - see loop.h. Here: turns, the timer, signals, and when to leave. */
#include "engine/loop.h"

#include "engine/daemon_state.h"

#include "base/log.h"
#include "cluster/cluster.h"
#include "config/settings.h"

#include <signal.h>

#define STOP_FLUSH_MS    (5 * MS_PER_S) /* for the last answers to be durable */
#define HAND_OVER_MS     (2 * MS_PER_S) /* for what waits to be given to other nodes */
#define SECOND_SIGNAL_MS 300
#define SETTLE_MS        500            /* for the last answers to be read, leaving */
#define CROWD_MIN        8              /* calls that were answered at once */
#define COMES_MS         20             /* calls that loop_comes left wait no longer */
#define KILL_AFTER_MS    (2 * MS_PER_S) /* beyond the grace, at the second signal */

/* Places in daemon->signals: SIGTERM, SIGINT, and behind them SIGHUP. */
enum { HANGUP_AT = 2, SIGNALS_TAKEN = 3 };

static _Thread_local bool in_turn;

bool loop_is_turning(void)
{
    return in_turn;
}

void loop_wake(void *context)
{
    Daemon *daemon = context;
    uv_async_send(&daemon->wake);
}

/* Those who were answered together ask together. While the disk works for some of them,
 * the others gather: one turn and one sync for many cost less than one for each. */
bool loop_comes(const Daemon *daemon)
{
    return daemon->engine.crowd >= CROWD_MIN &&
           daemon->engine.durable < daemon->engine.asked;
}

static void journal_failed(const Daemon *daemon)
{
    /* What the disk may have lost is unknown: no answer is right any more but to leave
     * and read what is there. Jobs stay with the launcher. */
    log_event(LOG_ERROR, "journal.failed",
              "err=%s msg=\"leaving; start again when the "
              "disk works\"",
              err_name((Err)daemon->journal_err));
    _exit(74);
}

static bool flushed(const Daemon *daemon)
{
    if (daemon->leaving && daemon->engine.waiting.reads)
        return false; /* who was let in is answered */
    return engine_at_rest(&daemon->engine);
}

/* A private daemon leaves when there has been nothing to do for a while. */
static void private_idle(Daemon *daemon, Now now)
{
    if (!daemon->options.private_one || daemon->stop)
        return;
    if (metrics_unfinished(daemon->metrics) || node_schedule_count(daemon->engine.node) ||
        !daemon->busy_boot)
        daemon->busy_boot = now.boot_ms;
    if (now.boot_ms - daemon->busy_boot < daemon->options.private_idle_ms)
        return;
    log_event(LOG_INFO, "daemon.idle", "msg=\"nothing unfinished: leaving\"");
    daemon->stop = STOP_DRAIN;
    daemon->stop_boot = now.boot_ms;
}

static void end_running(void *context, const RunningJob *job)
{
    Daemon *daemon = context;
    runner_signal(daemon->runner, job->id, job->attempt, SIGTERM);
    web_signal(daemon->web, job->id, job->attempt, SIGTERM);
}

static void kill_running(void *context, const RunningJob *job)
{
    Daemon *daemon = context;
    runner_signal(daemon->runner, job->id, job->attempt, SIGKILL);
    web_signal(daemon->web, job->id, job->attempt, SIGKILL);
}

/* First signal: record and leave, jobs go on. Second: end them too; while jobs run, the
 * daemon stays long enough to hear it. */
static bool may_leave(Daemon *daemon, Now now)
{
    int64_t since_ms = now.boot_ms - daemon->stop_boot;
    bool running = node_facts(daemon->engine.node).slots_used > 0;
    if (daemon->stop == STOP_DRAIN && running && since_ms < SECOND_SIGNAL_MS)
        return false;
    if (daemon->stop == STOP_DRAIN)
        return (flushed(daemon) &&
                (cluster_may_leave(daemon) || since_ms > HAND_OVER_MS)) ||
               since_ms > STOP_FLUSH_MS;
    if (!running) /* a second signal is not slower than the first */
        return flushed(daemon) || since_ms > STOP_FLUSH_MS;
    int64_t grace_ms = node_settings(daemon->engine.node)->grace_ms;
    if (since_ms > grace_ms)
        node_running(daemon->engine.node, kill_running, daemon);
    return since_ms > grace_ms + KILL_AFTER_MS;
}

/* Told to stop where others can take over: new jobs are still accepted and every request
 * is answered, but /readyz says no, and each connection ends with its next answer. */
static void leave(Daemon *daemon)
{
    daemon->leaving = true;
    http_leave(daemon->http);
    engine_event(&daemon->engine, EVENT_DRAIN)->flag = true;
    log_event(LOG_INFO, "daemon.leaving",
              "msg=\"not ready any more; the listeners close in %lld ms\"",
              (long long)daemon->options.drain_ms);
}

/* Those who wait for a job are told how far it is, and get the answer: the listeners
 * close a moment later. */
static void end_leaving(Daemon *daemon, Now now)
{
    int64_t since_ms = now.boot_ms - daemon->stop_boot;
    if (!daemon->leaving || daemon->stop || since_ms < daemon->options.drain_ms)
        return;
    engine_wait_end(&daemon->engine);
    if (since_ms < daemon->options.drain_ms + SETTLE_MS)
        return;
    daemon->stop = STOP_DRAIN;
    daemon->stop_boot = now.boot_ms;
}

static void on_timer(uv_timer_t *handle);

/* Boot time at which there is something to do though nothing happens. */
static int64_t next_wake(const Daemon *daemon)
{
    Now now = clock_now();
    int64_t wait_ms = engine_wake_boot(&daemon->engine, now) - now.boot_ms;
    if (daemon->engine.durable < daemon->engine.asked && wait_ms > COMES_MS)
        wait_ms = COMES_MS;
    if ((daemon->stop || daemon->leaving) && wait_ms > 20)
        wait_ms = 20;
    return now.boot_ms + (wait_ms > 0 ? wait_ms : 0);
}

static void schedule_wake(Daemon *daemon)
{
    daemon->armed_boot = next_wake(daemon);
    int64_t wait_ms = daemon->armed_boot - clock_now().boot_ms;
    uv_timer_stop(&daemon->timer);
    uv_timer_start(&daemon->timer, on_timer, wait_ms > 0 ? (uint64_t)wait_ms : 0, 0);
}

static void reload(Daemon *daemon)
{
    NodeSettings settings = *node_settings(daemon->engine.node);
    NodeSettings first;
    daemon->hangup = false;
    if (!daemon->options.reload ||
        !daemon->options.reload(daemon->options.reload_context, daemon->settings_stored,
                                &first))
        return;
    daemon->node_first = first;
    settings_first(&settings, &first, daemon->settings_stored);
    node_settings_set(daemon->engine.node, &settings);
    daemon_declare(daemon);
    daemon_reload_doors(daemon);
}

static void turn(Daemon *daemon)
{
    in_turn = true;
    daemon->engine.closing = daemon->stop != STOP_NO;
    engine_turn(&daemon->engine);
    in_turn = false;
}

static void run_turn(Daemon *daemon)
{
    if (daemon->journal_err)
        journal_failed(daemon);
    if (daemon->hangup)
        reload(daemon);
    turn(daemon);
    Now now = clock_now();
    private_idle(daemon, now);
    end_leaving(daemon, now);
    if (cluster_must_restart(daemon) || (daemon->stop && may_leave(daemon, now))) {
        uv_stop(&daemon->loop);
        return;
    }
    schedule_wake(daemon);
}

static void run_turn_locked(Daemon *daemon)
{
    pthread_mutex_lock(&daemon->turning);
    run_turn(daemon);
    pthread_mutex_unlock(&daemon->turning);
}

static void on_wake(uv_async_t *handle)
{
    run_turn_locked(handle->data);
}

static void on_timer(uv_timer_t *handle)
{
    run_turn_locked(handle->loop->data);
}

bool loop_turn_here(Daemon *daemon, Call *call)
{
    if (pthread_mutex_trylock(&daemon->turning))
        return false;
    bool can = !daemon->stop && !daemon->hangup && !daemon->journal_err;
    bool sooner = false;
    if (can) {
        mailbox_put_quiet(&daemon->engine.calls, &call->mail);
        turn(daemon);
        sooner =
            daemon->stop || daemon->journal_err || next_wake(daemon) < daemon->armed_boot;
    }
    pthread_mutex_unlock(&daemon->turning);
    if (sooner)
        loop_wake(daemon);
    return can;
}

void daemon_quit(Daemon *daemon)
{
    log_event(LOG_INFO, "daemon.quit", "msg=\"asked to stop by /quit\"");
    daemon->stop = daemon->stop ? daemon->stop : STOP_DRAIN;
    daemon->stop_boot = clock_now().boot_ms;
}

static void take_signal(Daemon *daemon, int number)
{
    if (number == SIGHUP) {
        daemon->hangup = true;
        run_turn(daemon);
        return;
    }
    uint32_t running = node_facts(daemon->engine.node).slots_used;
    daemon->stop_boot = clock_now().boot_ms;
    if (daemon->stop || daemon->leaving) {
        log_event(LOG_WARN, "daemon.stopping", "msg=\"ending %u running jobs\"", running);
        daemon->stop = STOP_JOBS;
        node_running(daemon->engine.node, end_running, daemon);
    } else {
        log_event(LOG_INFO, "daemon.stopping",
                  "msg=\"%u running jobs go on; the next start takes them over\"",
                  running);
        if (daemon->options.drain_ms) {
            leave(daemon);
        } else {
            daemon->stop = STOP_DRAIN;
            if (daemon->cluster_link) /* what waits is given to others */
                engine_event(&daemon->engine, EVENT_DRAIN)->flag = true;
        }
    }
    run_turn(daemon);
}

static void on_signal(uv_signal_t *handle, int number)
{
    Daemon *daemon = handle->data;
    pthread_mutex_lock(&daemon->turning);
    take_signal(daemon, number);
    pthread_mutex_unlock(&daemon->turning);
}

static void take_signals(Daemon *daemon, unsigned first, unsigned end)
{
    static const int numbers[SIGNALS_TAKEN] = { SIGTERM, SIGINT, [HANGUP_AT] = SIGHUP };
    for (unsigned i = first; i < end; i++) {
        uv_signal_init(&daemon->loop, &daemon->signals[i]);
        daemon->signals[i].data = daemon;
        uv_signal_start(&daemon->signals[i], on_signal, numbers[i]);
    }
}

void loop_open(Daemon *daemon)
{
    pthread_mutex_init(&daemon->turning, NULL);
    pthread_mutex_lock(&daemon->turning);
    uv_loop_init(&daemon->loop);
    daemon->loop.data = daemon;
    uv_async_init(&daemon->loop, &daemon->wake, on_wake);
    daemon->wake.data = daemon;
    uv_timer_init(&daemon->loop, &daemon->timer);
    take_signals(daemon, HANGUP_AT, SIGNALS_TAKEN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ,
           SIG_IGN); /* a file at its limit is an error of the write, told there */
}

void loop_obey(Daemon *daemon)
{
    take_signals(daemon, 0, HANGUP_AT);
}

int daemon_run(Daemon *daemon)
{
    run_turn(daemon);
    do { /* once more for a second signal that came together with the first */
        pthread_mutex_unlock(&daemon->turning);
        uv_run(&daemon->loop, UV_RUN_DEFAULT);
        pthread_mutex_lock(&daemon->turning);
    } while (daemon->stop == STOP_JOBS && !may_leave(daemon, clock_now()));
    return cluster_must_restart(daemon) && !daemon->stop ? DAEMON_AGAIN : 0;
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void loop_close(Daemon *daemon)
{
    uv_walk(&daemon->loop, close_handle, NULL);
    uv_run(&daemon->loop, UV_RUN_DEFAULT);
    uv_loop_close(&daemon->loop);
    pthread_mutex_unlock(&daemon->turning);
    pthread_mutex_destroy(&daemon->turning);
}
