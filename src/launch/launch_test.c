/* SPDX-License-Identifier: Apache-2.0 */
/* launch_test.c - the launcher program and its client, with real processes.
 *
 *     launch_test PAWL-LAUNCH FAKE-JOB [groups] [nobody]
 *
 * "groups": without cgroups; "nobody": as a user without rights, if we are root. */
#include "launch/client.h"

#include "base/buf.h"
#include "base/times.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Includes that say which parts this test stands for: */
#include "launch/child.h"
#include "launch/conn.h"
#include "launch/connect.h"
#include "launch/launcher.h"
#include "launch/leftover.h"
#include "launch/testing.h"
#include "launch/tree.h"

#define WAIT_MS  120000
#define SEEN_MAX 4096

static char job[4096];
static char launcher[4096];

typedef struct Fixture {
    char dir[64];
    LaunchClient *client;
    LaunchMessage seen[SEEN_MAX];
    size_t seen_count;
    int item_out;
    int item_err;
    bool listed;
} Fixture;

typedef struct Try {
    JobId id;
    const char *argv[8];
    const char *env; /* one NAME=VALUE, or NULL */
    const char *cwd; /* NULL: / */
    const LaunchLimit *limits;
    uint32_t limit_count;
    int32_t nice;
    uint32_t mask;
    int64_t deadline_boot;
    int out_r; /* after start */
    int err_r;
} Try;

static void note(Fixture *f, const LaunchMessage *message)
{
    assert_true(f->seen_count < SEEN_MAX);
    f->seen[f->seen_count++] = *message;
}

static void on_message(void *context, const LaunchMessage *message)
{
    note(context, message);
}

static void close_items(const Fixture *f)
{
    if (f->item_out >= 0)
        close(f->item_out);
    if (f->item_err >= 0)
        close(f->item_err);
}

static void on_item(void *context, const LaunchMessage *message, int out_r, int err_r)
{
    Fixture *f = context;
    note(f, message);
    close_items(f);
    f->item_out = out_r;
    f->item_err = err_r;
}

static void on_list_end(void *context)
{
    ((Fixture *)context)->listed = true;
}

static const LaunchHandlers handlers = { on_message, on_message, on_message,
                                         on_message, on_item,    on_list_end };

static Err pump(Fixture *f, int timeout_ms)
{
    struct pollfd wait = { .fd = launch_fd(f->client), .events = POLLIN };
    if (launch_wants_write(f->client))
        wait.events |= POLLOUT;
    poll(&wait, 1, timeout_ms);
    return launch_dispatch(f->client, &handlers, f);
}

/* The first message of a kind about a job, waited for. */
static const LaunchMessage *expect(Fixture *f, LaunchKind kind, JobId id)
{
    int64_t give_up_ms = clock_now().boot_ms + WAIT_MS;
    while (clock_now().boot_ms < give_up_ms) {
        for (size_t i = 0; i < f->seen_count; i++)
            if (f->seen[i].kind == (uint32_t)kind && f->seen[i].id == id)
                return &f->seen[i];
        if (pump(f, 50))
            fail_msg("the launcher died");
    }
    fail_msg("no message %d about %llu", (int)kind, (unsigned long long)id);
    return NULL;
}

static size_t count_seen(const Fixture *f, LaunchKind kind, JobId id)
{
    size_t count = 0;
    for (size_t i = 0; i < f->seen_count; i++)
        count += f->seen[i].kind == (uint32_t)kind && f->seen[i].id == id;
    return count;
}

static void connect_again(Fixture *f)
{
    Error why = { 0 };
    if (launch_open(&f->client, f->dir, launcher, &why))
        fail_msg("%s", why.text);
    f->seen_count = 0;
    f->listed = false;
}

static void list(Fixture *f)
{
    int64_t give_up_ms = clock_now().boot_ms + WAIT_MS;
    f->listed = false;
    launch_list(f->client);
    while (!f->listed && clock_now().boot_ms < give_up_ms)
        assert_int_equal(pump(f, 50), ERR_OK);
    assert_true(f->listed);
}

static int setup(void **state)
{
    Fixture *f = MEM_NEW(Fixture);
    f->item_out = f->item_err = -1;
    snprintf(f->dir, sizeof f->dir, "/tmp/launch-test-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    connect_again(f);
    *state = f;
    return 0;
}

static void wait_dead(pid_t pid)
{
    int64_t give_up_ms = clock_now().boot_ms + WAIT_MS;
    while (alive(pid) && clock_now().boot_ms < give_up_ms)
        usleep(1000);
    assert_false(alive(pid));
}

/* Whatever a test leaves running ends here; the launcher must leave without a trace. */
static int teardown(void **state)
{
    Fixture *f = *state;
    f->seen_count = 0;
    list(f);
    size_t items = f->seen_count;
    for (size_t i = 0; i < items; i++) {
        LaunchMessage item = f->seen[i];
        launch_signal(f->client, item.id, item.attempt, SIGKILL);
        if (item.state == LAUNCH_IS_RUNNING)
            expect(f, LAUNCH_EXITED, item.id);
        launch_forget(f->client, item.id, item.attempt);
    }
    pid_t pid = launch_pid(f->client);
    launch_quit(f->client);
    launch_close(f->client);
    wait_dead(pid);
    char path[128];
    snprintf(path, sizeof path, "%s/" LAUNCH_SOCKET, f->dir);
    assert_int_equal(access(path, F_OK), -1);
    snprintf(path, sizeof path, "%s/" LAUNCH_LOCK, f->dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/" LAUNCH_LOG, f->dir);
    unlink(path);
    assert_int_equal(rmdir(f->dir), 0);
    close_items(f);
    mem_free(f);
    return 0;
}

static void start(Fixture *f, Try *try)
{
    Buf argv = { 0 }, env = { 0 };
    int out[2], err[2];
    for (int i = 0; try->argv[i]; i++)
        buf_add(&argv, try->argv[i], strlen(try->argv[i]) + 1);
    buf_printf(&env, "MARK=%s", mark_of(try->id));
    buf_add_char(&env, '\0');
    if (try->env)
        buf_add(&env, try->env, strlen(try->env) + 1);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    LaunchStart order = { .id = try->id,
                          .attempt = 1,
                          .flags = 42,
                          .mark = mark_of(try->id),
                          .argv = buf_slice(&argv),
                          .env = buf_slice(&env),
                          .cwd = try->cwd ? try->cwd : "/",
                          .mask = try->mask,
                          .nice = try->nice,
                          .deadline_boot = try->deadline_boot,
                          .limits = try->limits,
                          .limit_count = try->limit_count,
                          .stdin_fd = in,
                          .out_w = out[1],
                          .err_w = err[1],
                          .out_r = out[0],
                          .err_r = err[0] };
    Error why = { 0 };
    if (launch_start(f->client, &order, &why))
        fail_msg("%s", why.text);
    try->out_r = out[0];
    try->err_r = err[0];
    buf_done(&argv);
    buf_done(&env);
}

static void close_pipes(Try *try)
{
    close(try->out_r);
    close(try->err_r);
}

static void start_job(Fixture *f, Try *try, const char *what)
{
    try->argv[0] = job;
    try->argv[1] = what;
    start(f, try);
    expect(f, LAUNCH_STARTED, try->id);
}

/* A line, or what there is at the end of the pipe. */
static void read_line(int fd, char *out, size_t bytes)
{
    size_t at = 0;
    while (at < bytes - 1) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
        if (read(fd, out + at, 1) != 1 || out[at] == '\n')
            break;
        at++;
    }
    out[at] = '\0';
}

static void read_rest(int fd, Buf *out)
{
    ssize_t got;
    while ((got = read(fd, buf_room(out, 4096), 4096)) > 0)
        out->bytes += (size_t)got;
}

/* Runs a shell command to its end and checks what it printed. */
static void expect_output(Fixture *f, Try *try, const char *output)
{
    start(f, try);
    const LaunchMessage *exited = expect(f, LAUNCH_EXITED, try->id);
    assert_int_equal(exited->status, 0);
    Buf out = { 0 };
    read_rest(try->out_r, &out);
    assert_string_equal(buf_cstr(&out), output);
    buf_done(&out);
    close_pipes(try);
}

static void an_end_is_told_as_it_was(void **state)
{
    Fixture *f = *state;
    Try exits = { .id = 1, .argv = { "/bin/sh", "-c", "exit 3" } },
        killed = { .id = 2, .argv = { "/bin/sh", "-c", "kill -USR1 $$" } };
    start(f, &exits);
    start(f, &killed);
    const LaunchMessage *started = expect(f, LAUNCH_STARTED, 1);
    assert_true(started->pid > 1 && started->flags == 42);
    const LaunchMessage *end = expect(f, LAUNCH_EXITED, 1);
    assert_int_equal(end->status, 3 << 8);
    assert_true(end->ended_wall_ms >= end->started_wall_ms && end->usage.rss_max_kb > 0);
    assert_int_equal(end->leftover, 0);
    end = expect(f, LAUNCH_EXITED, 2);
    assert_int_equal(WTERMSIG(end->status), SIGUSR1);
    close_pipes(&exits);
    close_pipes(&killed);
}

static void make_file(const char *dir, const char *name, const char *text, mode_t mode)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    fchmod(fd, mode);
    close(fd);
}

/* Fault 69: never "exit 127 by luck". */
static void what_cannot_run_is_told_with_its_reason(void **state)
{
    Fixture *f = *state;
    char bin[128], no_exec[160], no_format[160], no_interpreter[160], path[160];
    static char huge[200000];
    memset(huge, 'x', sizeof huge - 1);
    snprintf(bin, sizeof bin, "%s/bin", f->dir);
    assert_int_equal(mkdir(bin, 0755), 0);
    make_file(bin, "no-exec", "#!/bin/sh\n", 0644);
    make_file(bin, "no-format", "echo hello\n", 0755);
    make_file(bin, "no-interpreter", "#!/no/such/thing\n", 0755);
    snprintf(no_exec, sizeof no_exec, "%s/no-exec", bin);
    snprintf(no_format, sizeof no_format, "%s/no-format", bin);
    snprintf(no_interpreter, sizeof no_interpreter, "%s/no-interpreter", bin);
    snprintf(path, sizeof path, "PATH=/nonexistent:%s", bin);
    LaunchLimit bad_limit = { .resource = 9999, .soft = 1, .hard = 1 };
    struct {
        Try try;
        uint32_t step;
        int error_number;
    } cases[] = {
        { { .argv = { "/no/such" } }, LAUNCH_STEP_EXEC, ENOENT },
        { { .argv = { "no-such-program" } }, LAUNCH_STEP_EXEC, ENOENT },
        { { .argv = { "" } }, LAUNCH_STEP_EXEC, ENOENT },
        { { .argv = { no_exec } }, LAUNCH_STEP_EXEC, EACCES },
        { { .argv = { "no-exec" }, .env = path }, LAUNCH_STEP_EXEC, EACCES },
        { { .argv = { no_format } }, LAUNCH_STEP_EXEC, ENOEXEC },
        { { .argv = { "no-format" }, .env = path }, LAUNCH_STEP_EXEC, ENOEXEC },
        { { .argv = { no_interpreter } }, LAUNCH_STEP_EXEC, ENOENT },
        { { .argv = { "/tmp" } }, LAUNCH_STEP_EXEC, EACCES },
        { { .argv = { "/bin/true", huge } }, LAUNCH_STEP_EXEC, E2BIG },
        { { .argv = { "/bin/true" }, .cwd = "/no/such" }, LAUNCH_STEP_CWD, ENOENT },
        { { .argv = { "/bin/true" }, .cwd = "/bin/true" }, LAUNCH_STEP_CWD, ENOTDIR },
        { { .argv = { "/bin/true" }, .limits = &bad_limit, .limit_count = 1 },
          LAUNCH_STEP_LIMIT,
          EINVAL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cases[i].try.id = i + 1;
        start(f, &cases[i].try);
        const LaunchMessage *failed = expect(f, LAUNCH_FAILED, i + 1);
        if (failed->step != cases[i].step || failed->number != cases[i].error_number)
            fail_msg("case %zu: step %s, %s", i, launch_step_text(failed->step),
                     strerror(failed->number));
        close_pipes(&cases[i].try);
    }
    unlink(no_exec);
    unlink(no_format);
    unlink(no_interpreter);
    rmdir(bin);
}

static void a_start_is_exact(void **state)
{
    Fixture *f = *state;
    /* Fault 71: nothing but 0, 1, 2. */
    Try fds = { .id = 1, .argv = { job, "fds" } };
    expect_output(f, &fds, "0 1 2\n");
    Try env = { .id = 2, .argv = { "/usr/bin/env" }, .env = "A=b c" };
    char whole[LAUNCH_MARK_BYTES + 32];
    snprintf(whole, sizeof whole, "MARK=%s\nA=b c\n", mark_of(2));
    expect_output(f, &env, whole);
    Try cwd = { .id = 3, .argv = { "/bin/pwd" }, .cwd = "/usr" };
    expect_output(f, &cwd, "/usr\n");
    Try mask = { .id = 4, .argv = { "/bin/sh", "-c", "umask" }, .mask = 027 };
    expect_output(f, &mask, "0027\n");
    LaunchLimit limits[] = { { .resource = RLIMIT_NOFILE, .soft = 77, .hard = 99 },
                             { .resource = RLIMIT_CORE, .soft = 0, .hard = 0 } };
    Try limit = { .id = 5,
                  .argv = { "/bin/sh", "-c", "ulimit -n; ulimit -Hn; ulimit -c" },
                  .limits = limits,
                  .limit_count = 2 };
    expect_output(f, &limit, "77\n99\n0\n");
    char want[64]; /* niceness is added to our own */
    snprintf(want, sizeof want, "%d\n", getpriority(PRIO_PROCESS, 0) + 7);
    Try kind = { .id = 6, .argv = { "/usr/bin/nice" }, .nice = 7 };
    expect_output(f, &kind, want);
    Try path = { 7, .argv = { "nice" }, .env = "PATH=/none:/usr/bin", .nice = 7 };
    expect_output(f, &path, want);
    Try quiet = { .id = 8, .argv = { job, "signals" } };
    expect_output(f, &quiet, "blocked 0 ignored 0\n");
    struct rlimit nofile;
    getrlimit(RLIMIT_NOFILE, &nofile);
    snprintf(want, sizeof want, "%llu\n", (unsigned long long)nofile.rlim_cur);
    Try same = { .id = 9, .argv = { "/bin/sh", "-c", "ulimit -n" } };
    expect_output(f, &same, want);
    Try session = { .id = 10, .argv = { job, "session" } };
    expect_output(f, &session, "leads session and group\n");
}

/* Fault 76. */
static void who_ignores_term_is_killed(void **state)
{
    Fixture *f = *state;
    Try try = { .id = 1 };
    char line[64];
    start_job(f, &try, "ignore-term");
    read_line(try.out_r, line, sizeof line);
    launch_signal(f->client, 1, 1, SIGTERM);
    read_line(try.out_r, line, sizeof line);
    assert_string_equal(line, "no");
    assert_int_equal(count_seen(f, LAUNCH_EXITED, 1), 0);
    launch_signal(f->client, 1, 1, SIGKILL);
    const LaunchMessage *end = expect(f, LAUNCH_EXITED, 1);
    assert_int_equal(WTERMSIG(end->status), SIGKILL);
    close_pipes(&try);
}

static void a_stopped_job_can_go_on_or_be_ended(void **state)
{
    Fixture *f = *state;
    static const int ends[] = { SIGKILL, SIGTERM };
    char line[64];
    for (JobId id = 1; id <= 2; id++) {
        Try try = { .id = id };
        start_job(f, &try, "tick");
        read_line(try.out_r, line, sizeof line);
        launch_signal(f->client, id, 1, SIGSTOP);
        while (state_of(expect(f, LAUNCH_STARTED, id)->pid) != 'T')
            usleep(1000);
        struct pollfd more = { .fd = try.out_r, .events = POLLIN };
        while (poll(&more, 1, 0) == 1)
            assert_true(read(try.out_r, line, sizeof line) > 0);
        assert_int_equal(poll(&more, 1, 20), 0); /* it stands still */
        launch_signal(f->client, id, 1, SIGCONT);
        read_line(try.out_r, line, sizeof line);
        assert_string_equal(line, "tick");
        launch_signal(f->client, id, 1, SIGSTOP);
        launch_signal(f->client, id, 1, ends[id - 1]);
        const LaunchMessage *end = expect(f, LAUNCH_EXITED, id);
        assert_int_equal(WTERMSIG(end->status), ends[id - 1]);
        close_pipes(&try);
    }
}

/* Faults 73 and 74: the end is the end of the main process, and nothing outlives it. */
static void nothing_outlives_its_job(void **state)
{
    Fixture *f = *state;
    static const char *const kinds[] = { "escape", "escape-clean", "hold-pipe" };
    Try other = { .id = 99 };
    for (JobId id = 1; id <= 3; id++) {
        Try try = { .id = id };
        char line[64];
        /* Without cgroups a process that hides its environment is only known for sure
         * when no other job runs. */
        bool with_other = launch_has_cgroups(f->client) || id != 2;
        if (with_other)
            start_job(f, &other, "orphan-of-its-own");
        start_job(f, &try, kinds[id - 1]);
        const LaunchMessage *end = expect(f, LAUNCH_EXITED, id);
        assert_int_equal(end->status, 0);
        assert_int_equal(end->leftover, 0);
        read_line(try.out_r, line, sizeof line);
        pid_t escaped = (pid_t)strtol(line, NULL, 10);
        assert_true(escaped > 1);
        assert_false(alive(escaped));
        if (with_other) {
            read_line(other.out_r, line, sizeof line);
            assert_true(alive((pid_t)strtol(line, NULL, 10)));
            launch_signal(f->client, 99, 1, SIGKILL);
            expect(f, LAUNCH_EXITED, 99);
            assert_false(alive((pid_t)strtol(line, NULL, 10)));
            launch_forget(f->client, 99, 1);
            close_pipes(&other);
            f->seen_count = 0;
        }
        close_pipes(&try);
    }
}

static void a_fork_storm_ends(void **state)
{
    Fixture *f = *state;
    if (!launch_has_cgroups(f->client))
        skip();
    Try try = { .id = 1 };
    start_job(f, &try, "storm");
    const LaunchMessage *end = expect(f, LAUNCH_EXITED, 1);
    assert_int_equal(end->leftover, 0);
    /* Every writer is dead: what is in the pipe has an end. */
    Buf out = { 0 };
    read_rest(try.out_r, &out);
    assert_true(out.bytes > 0);
    buf_done(&out);
    close_pipes(&try);
}

static void jobs_outlive_a_daemon_and_are_found_again(void **state)
{
    Fixture *f = *state;
    Try runs = { .id = 1 },
        ends = { .id = 2, .argv = { "/bin/sh", "-c", "echo bye; exit 5" } },
        fails = { .id = 3, .argv = { "/no/such" } };
    start_job(f, &runs, "tick");
    start(f, &ends);
    start(f, &fails);
    expect(f, LAUNCH_EXITED, 2);
    expect(f, LAUNCH_FAILED, 3);
    close_pipes(&runs);
    close_pipes(&ends);
    close_pipes(&fails);
    pid_t pid = launch_pid(f->client);
    launch_close(f->client);

    connect_again(f);
    assert_int_equal(launch_pid(f->client), pid);
    list(f);
    const LaunchMessage *item = expect(f, LAUNCH_ITEM, 1);
    assert_int_equal(item->state, LAUNCH_IS_RUNNING);
    assert_int_equal(item->flags, 42);
    assert_string_equal(item->mark, mark_of(1));
    item = expect(f, LAUNCH_ITEM, 3);
    assert_int_equal(item->state, LAUNCH_IS_FAILED);
    assert_int_equal(item->number, ENOENT);
    item = expect(f, LAUNCH_ITEM, 2);
    assert_int_equal(item->state, LAUNCH_IS_EXITED);
    assert_int_equal(WEXITSTATUS(item->status), 5);
    assert_int_equal(f->seen_count, 3);

    launch_forget(f->client, 2, 1);
    launch_forget(f->client, 3, 1);
    f->seen_count = 0;
    list(f);
    assert_int_equal(f->seen_count, 1);
    char line[64];
    read_line(f->item_out, line, sizeof line); /* what was printed while no one read */
    launch_signal(f->client, 1, 1, SIGTERM);
    expect(f, LAUNCH_EXITED, 1);
    assert_int_equal(count_seen(f, LAUNCH_EXITED, 1), 1);
    assert_int_equal(count_seen(f, LAUNCH_STARTED, 1), 0);
}

/* What a daemon asked for before it died is in the list of the next. */
static void requests_of_a_dead_daemon_come_first(void **state)
{
    Fixture *f = *state;
    for (JobId id = 1; id <= 50; id++) {
        Try try = { .id = id, .argv = { "/bin/sleep", "100" } };
        start(f, &try);
        close_pipes(&try);
        launch_close(f->client);
        connect_again(f);
        list(f);
        assert_int_equal(count_seen(f, LAUNCH_ITEM, id), 1);
        const LaunchMessage *item = expect(f, LAUNCH_ITEM, id);
        assert_int_equal(item->state, LAUNCH_IS_RUNNING);
        launch_signal(f->client, id, 1, SIGKILL);
        expect(f, LAUNCH_EXITED, id);
        launch_forget(f->client, id, 1);
    }
}

static void a_known_attempt_is_not_started_again(void **state)
{
    Fixture *f = *state;
    Try first = { .id = 1, .argv = { "/bin/sh", "-c", "echo once; sleep 100" } };
    Try again = first;
    start(f, &first);
    int32_t pid = expect(f, LAUNCH_STARTED, 1)->pid;
    f->seen_count = 0;
    start(f, &again);
    assert_int_equal(expect(f, LAUNCH_STARTED, 1)->pid, pid);
    Buf out = { 0 };
    read_rest(again.out_r, &out); /* its write ends are closed */
    assert_int_equal(out.bytes, 0);
    buf_done(&out);
    close_pipes(&first);
    close_pipes(&again);
}

static void there_is_one_launcher_and_one_daemon(void **state)
{
    Fixture *f = *state;
    LaunchClient *second = NULL;
    Error why = { 0 };
    assert_int_equal(launch_open(&second, f->dir, launcher, &why), ERR_BUSY);
    pid_t pid = fork();
    if (pid == 0)
        execl(launcher, "pawl-launch", f->dir, (char *)NULL);
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 3);
    list(f); /* the first is not harmed */
    struct stat file;
    char path[128];
    snprintf(path, sizeof path, "%s/" LAUNCH_SOCKET, f->dir);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
}

static void with_the_launcher_its_jobs_die(void **state)
{
    Fixture *f = *state;
    Try plain = { .id = 1 }, escaped = { .id = 2 };
    char line[64];
    start_job(f, &plain, "tick");
    start_job(f, &escaped, "orphan-of-its-own");
    int32_t pids[3] = { expect(f, LAUNCH_STARTED, 1)->pid,
                        expect(f, LAUNCH_STARTED, 2)->pid, 0 };
    read_line(escaped.out_r, line, sizeof line);
    pids[2] = (int32_t)strtol(line, NULL, 10);
    kill(launch_pid(f->client), SIGKILL);
    while (pump(f, 50) == ERR_OK)
        ;
    launch_close(f->client);
    for (int i = 0; i < 3; i++)
        assert_true(alive(pids[i]));

    connect_again(f);
    for (int i = 0; i < 3; i++)
        wait_dead(pids[i]); /* only its new parent's waitpid may be missing */
    list(f);
    assert_int_equal(f->seen_count, 0);
    close_pipes(&plain);
    close_pipes(&escaped);
}

static void a_deadline_needs_no_daemon(void **state)
{
    Fixture *f = *state;
    Try try = { .id = 1 };
    start_job(f, &try, "ignore-term");
    pid_t pid = expect(f, LAUNCH_STARTED, 1)->pid;
    launch_deadline(f->client, 1, 1, clock_now().boot_ms + 60);
    launch_close(f->client);
    wait_dead(pid);
    connect_again(f);
    list(f);
    const LaunchMessage *item = expect(f, LAUNCH_ITEM, 1);
    assert_int_equal(WTERMSIG(item->status), SIGKILL);
    assert_int_equal(item->overdue, 1);
    close_pipes(&try);
}

static void a_start_may_bring_its_deadline(void **state)
{
    Fixture *f = *state;
    Try try = { .id = 1, .deadline_boot = clock_now().boot_ms + 60 };
    start_job(f, &try, "ignore-term");
    expect(f, LAUNCH_STARTED, 1);
    const LaunchMessage *end = expect(f, LAUNCH_EXITED, 1);
    assert_int_equal(WTERMSIG(end->status), SIGKILL);
    assert_int_equal(end->overdue, 1);
    close_pipes(&try);
}

static void nonsense_ends_the_connection_only(void **state)
{
    Fixture *f = *state;
    Try try = { .id = 1, .argv = { "/bin/sleep", "100" } };
    start(f, &try);
    pid_t pid = expect(f, LAUNCH_STARTED, 1)->pid;
    assert_int_equal(send(launch_fd(f->client), "nonsense", 8, 0), 8);
    while (pump(f, 50) == ERR_OK)
        ;
    launch_close(f->client);
    connect_again(f);
    list(f);
    assert_int_equal(expect(f, LAUNCH_ITEM, 1)->state, LAUNCH_IS_RUNNING);
    assert_true(alive(pid));
    close_pipes(&try);
}

static size_t count_lines(const char *command)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    Buf out = { 0 };
    read_rest(fds[0], &out);
    close(fds[0]);
    waitpid(pid, NULL, 0);
    size_t lines = 0;
    for (size_t i = 0; i < out.bytes; i++)
        lines += out.data[i] == '\n';
    buf_done(&out);
    return lines;
}

/* Faults 71 and 75. */
static void a_thousand_jobs_leave_nothing(void **state)
{
    Fixture *f = *state;
    char fds[64], children[96];
    snprintf(fds, sizeof fds, "ls /proc/%d/fd", (int)launch_pid(f->client));
    snprintf(children, sizeof children, "tr ' ' '\\n' < /proc/%d/task/%d/children",
             (int)launch_pid(f->client), (int)launch_pid(f->client));
    size_t fds_before = 0;
    size_t own_before = count_lines("ls /proc/$PPID/fd");
    for (JobId id = 1; id <= 1000; id++) {
        Try try = { .id = id, .argv = { id % 10 ? "/bin/true" : "/no/such" } };
        start(f, &try);
        expect(f, id % 10 ? LAUNCH_EXITED : LAUNCH_FAILED, id);
        launch_forget(f->client, id, 1);
        close_pipes(&try);
        f->seen_count = 0;
        if (id != 10)
            continue;
        list(f); /* what was said before is done when this is answered */
        fds_before = count_lines(fds);
    }
    list(f);
    assert_int_equal(f->seen_count, 0);
    assert_int_equal(count_lines(fds), fds_before);
    assert_int_equal(count_lines("ls /proc/$PPID/fd"), own_before);
    assert_int_equal(count_lines(children), 0);
}

/* Goes on in a child without rights, with copies of the programs where it can reach
 * them; the parent only tidies up. */
static void become_nobody(void)
{
    char dir[] = "/tmp/launch-nobody-XXXXXX";
    char command[10000];
    assert_non_null(mkdtemp(dir));
    snprintf(command, sizeof command,
             "cp '%s' %s/job; cp '%s' %s/pawl-launch; chmod 755 %s", job, dir, launcher,
             dir, dir);
    count_lines(command);
    snprintf(job, sizeof job, "%s/job", dir);
    snprintf(launcher, sizeof launcher, "%s/pawl-launch", dir);
    pid_t pid = fork();
    if (pid == 0) {
        if (setgid(65534) || setuid(65534))
            exit(1);
        return;
    }
    int status = 1;
    waitpid(pid, &status, 0);
    unlink(job);
    unlink(launcher);
    rmdir(dir);
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(int argc, char **argv)
{
    if (argc < 3 || !realpath(argv[1], launcher) || !realpath(argv[2], job))
        return 2;
    signal(SIGPIPE, SIG_IGN); /* as a daemon does; its jobs must not */
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "groups") == 0)
            setenv("PAWL_LAUNCH_CGROUPS", "off", 1);
        if (strcmp(argv[i], "nobody") == 0 && getuid() == 0)
            become_nobody();
    }
#define LAUNCH_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        LAUNCH_TEST(an_end_is_told_as_it_was),
        LAUNCH_TEST(what_cannot_run_is_told_with_its_reason),
        LAUNCH_TEST(a_start_is_exact),
        LAUNCH_TEST(who_ignores_term_is_killed),
        LAUNCH_TEST(a_stopped_job_can_go_on_or_be_ended),
        LAUNCH_TEST(nothing_outlives_its_job),
        LAUNCH_TEST(a_fork_storm_ends),
        LAUNCH_TEST(jobs_outlive_a_daemon_and_are_found_again),
        LAUNCH_TEST(requests_of_a_dead_daemon_come_first),
        LAUNCH_TEST(a_known_attempt_is_not_started_again),
        LAUNCH_TEST(there_is_one_launcher_and_one_daemon),
        LAUNCH_TEST(with_the_launcher_its_jobs_die),
        LAUNCH_TEST(a_deadline_needs_no_daemon),
        LAUNCH_TEST(a_start_may_bring_its_deadline),
        LAUNCH_TEST(nonsense_ends_the_connection_only),
        LAUNCH_TEST(a_thousand_jobs_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
