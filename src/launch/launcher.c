/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.c - the program pawl-launch: starts jobs, outlives daemons, kills trees.
 *
 * One per data directory, in a session of its own, subreaper of all its jobs. It knows
 * attempts, not jobs; reads no file but the specs it is handed, needs no library, and
 * uses no heap. All signals are blocked and at their default, so a job's process has
 * nothing to undo but the mask.
 *
 * What must hold:
 *   A1  an attempt's end is the end of its main process; it is told after its whole tree
 *       is dead (or is in the kernel's hands for LEFTOVER_MS).
 *   A2  an attempt stays in the table from START to FORGET, whatever daemons do.
 *   A3  with no attempts and no daemon for LAUNCH_IDLE_MS the launcher leaves. */
#include "launch/launcher.h"
#include "launch/child.h"
#include "launch/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEFTOVER_MS      5000  /* a killed process that lives longer is stuck in a call */
#define CLOSE_GRACE_MS   10000 /* after SIGTERM to the launcher itself */
#define DYING_LOOK_MS    2
#define SPEC_SMALL_BYTES 65536
#define WAIT_MS_MAX      60000
#define EXIT_TAKEN       3 /* another launcher has this directory: connect to that one */

static Launcher launcher_memory; /* the only one; zeroed, and mostly never touched */

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t boot_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

bool tree_is_main(pid_t pid)
{
    for (uint32_t i = 0; i < launcher_memory.top; i++) {
        const Attempt *attempt = &launcher_memory.attempts[i];
        if (attempt->facts.state == LAUNCH_IS_RUNNING && !attempt->tree.reaped &&
            attempt->tree.pid == pid)
            return true;
    }
    return false;
}

Attempt *attempt_find(Launcher *launcher, uint64_t id, uint32_t number)
{
    for (uint32_t i = 0; i < launcher->top; i++) {
        Attempt *attempt = &launcher->attempts[i];
        if (attempt->facts.state && attempt->facts.id == id &&
            attempt->facts.attempt == number)
            return attempt;
    }
    return NULL;
}

/* A free place whose cgroup, if there are any, is empty. */
static Attempt *find_place(Launcher *launcher, int *out_cgroup)
{
    for (uint32_t i = 0; i < LAUNCH_ATTEMPTS_MAX; i++) {
        if (launcher->attempts[i].facts.state)
            continue;
        *out_cgroup = tree_cgroup(&launcher->tree, i);
        if (*out_cgroup == -2)
            continue;
        if (i >= launcher->top)
            launcher->top = i + 1;
        return &launcher->attempts[i];
    }
    return NULL;
}

/* The spec in memory: read if it is small, which is cheaper than to map it. */
static int spec_open(int fd, char **out_spec, size_t *out_bytes)
{
    static _Alignas(LaunchSpec) char small[SPEC_SMALL_BYTES];
    struct stat file;
    if (fstat(fd, &file))
        return errno;
    *out_bytes = (size_t)file.st_size;
    *out_spec = small;
    if (*out_bytes <= sizeof small)
        return pread(fd, small, *out_bytes, 0) == file.st_size ? 0 : EIO;
    void *map = mmap(NULL, *out_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    *out_spec = map;
    return map == MAP_FAILED ? errno : 0;
}

static ChildFault start(Launcher *launcher, Attempt *attempt, const int *fds, int cgroup)
{
    ChildFault fault = { LAUNCH_STEP_REQUEST, 0 };
    char *spec = NULL;
    size_t bytes = 0;
    fault.error_number = spec_open(fds[LAUNCH_FD_SPEC], &spec, &bytes);
    if (fault.error_number)
        return fault;
    ChildPlan plan = { .cgroup_fd = cgroup,
                       .nofile = launcher->nofile,
                       .reply = fds[LAUNCH_FD_REPLY] };
    for (int i = 0; i < 3; i++)
        plan.stdio[i] = fds[LAUNCH_FD_STDIN + i];
    fault.error_number = child_plan(&plan, spec, bytes, attempt->facts.account);
    int64_t before_ms = boot_ms();
    if (!fault.error_number)
        attempt->tree.pid = child_start(&plan, &attempt->told_r, &fault);
    if (attempt->tree.pid > 0)
        tree_note(&launcher->tree, &attempt->tree, before_ms, boot_ms());
    if (bytes > SPEC_SMALL_BYTES)
        munmap(spec, bytes);
    return fault;
}

/* Its time was over before it came, because the daemon was held up: to start it and end
 * it at once would let it run for a moment, and others may run it by now. */
static bool too_late(const LaunchMessage *request)
{
    return request->time_ms && request->time_ms <= boot_ms();
}

static void end_before_start(Attempt *attempt)
{
    attempt->facts.state = LAUNCH_IS_EXITED;
    attempt->facts.status = SIGKILL;
    attempt->facts.overdue = 1;
    attempt->facts.pid = 0;
    attempt->facts.ended_wall_ms = attempt->facts.started_wall_ms;
    attempt->out_r = attempt->err_r = -1;
}

int attempt_start(Launcher *launcher, const LaunchMessage *request,
                  int fds[LAUNCH_FD_MOST])
{
    int cgroup = -1;
    if (launcher->closing)
        return ESHUTDOWN;
    Attempt *attempt = find_place(launcher, &cgroup);
    if (!attempt)
        return EAGAIN;
    uint32_t place = (uint32_t)(attempt - launcher->attempts);
    *attempt = (Attempt){ .facts = *request, .tree = { .place = place, .pid = -1 } };
    memcpy(attempt->tree.mark, request->mark, LAUNCH_MARK_BYTES - 1);
    attempt->facts.started_wall_ms = clock_ms(CLOCK_REALTIME);
    attempt->begun_ms = boot_ms();
    launcher->used++;
    launcher->untold = true;
    if (too_late(request)) {
        end_before_start(attempt);
        return 0;
    }
    ChildFault fault = start(launcher, attempt, fds, cgroup);

    bool runs = attempt->tree.pid > 0;
    attempt->facts.state = runs ? LAUNCH_IS_RUNNING : LAUNCH_IS_FAILED;
    attempt->facts.pid = runs ? attempt->tree.pid : 0;
    attempt->facts.step = runs ? LAUNCH_STEP_NONE : fault.step;
    attempt->facts.number = runs ? 0 : fault.error_number;
    attempt->out_r = runs ? fds[LAUNCH_FD_OUT_R] : -1;
    attempt->err_r = runs ? fds[LAUNCH_FD_ERR_R] : -1;
    if (runs)
        fds[LAUNCH_FD_OUT_R] = fds[LAUNCH_FD_ERR_R] = -1;
    launcher->running += runs;
    launcher->beginning += runs;
    attempt->begins = runs;
    if (runs)
        attempt_deadline(launcher, attempt, request->time_ms);
    return 0;
}

/* Its program runs, or could not be run: nobody waits for its word any more. */
static void begin_over(Launcher *launcher, Attempt *attempt)
{
    if (!attempt->begins)
        return;
    attempt->begins = false;
    launcher->beginning--;
    close(attempt->told_r);
    launcher->untold = true;
}

static void close_output(Attempt *attempt)
{
    if (attempt->out_r >= 0)
        close(attempt->out_r);
    if (attempt->err_r >= 0)
        close(attempt->err_r);
    attempt->out_r = attempt->err_r = -1;
}

static void kill_settled(Launcher *launcher, Attempt *attempt)
{
    launcher->killed -= attempt->give_up_ms != 0;
    attempt->give_up_ms = 0;
}

/* Hears what the process of a beginning attempt says, if it says anything. */
static void attempt_hear(Launcher *launcher, Attempt *attempt)
{
    ChildFault fault;
    ChildWord word = child_hear(attempt->told_r, &fault);
    if (word == CHILD_BEGINS)
        return;
    begin_over(launcher, attempt);
    if (word == CHILD_FAILED)
        attempt->fault = fault; /* told when the process has gone, which is at once */
    else if (attempt->stop_later)
        tree_signal(&launcher->tree, &attempt->tree, SIGSTOP);
}

/* A killed process that does not die is stuck in a call: it never comes back from it
 * into its program. */
void attempt_signal(Launcher *launcher, Attempt *attempt, int signal_number)
{
    /* A process that stands still before its program runs would look as if it hung. */
    if (attempt->begins && (signal_number == SIGSTOP || signal_number == SIGCONT)) {
        attempt->stop_later = signal_number == SIGSTOP;
        return;
    }
    tree_signal(&launcher->tree, &attempt->tree, signal_number);
    if (signal_number != SIGKILL || attempt->dying || attempt->give_up_ms)
        return;
    attempt->give_up_ms = boot_ms() + LEFTOVER_MS;
    launcher->killed++;
}

void attempt_deadline(Launcher *launcher, Attempt *attempt, int64_t time_ms)
{
    launcher->deadlines -= attempt->deadline_ms != 0;
    launcher->deadlines += time_ms != 0;
    attempt->deadline_ms = time_ms;
}

void attempt_forget(Launcher *launcher, Attempt *attempt)
{
    close_output(attempt);
    attempt->facts.state = 0;
    launcher->used--;
    while (launcher->top && !launcher->attempts[launcher->top - 1].facts.state)
        launcher->top--;
}

static void attempt_over(Launcher *launcher, Attempt *attempt, bool leftover)
{
    begin_over(launcher, attempt);
    attempt_deadline(launcher, attempt, 0);
    tree_unnote(&launcher->tree, &attempt->tree);
    attempt->dying = false;
    attempt->facts.leftover = leftover;
    attempt->facts.state = LAUNCH_IS_EXITED;
    if (attempt->fault.step) {
        attempt->facts.state = LAUNCH_IS_FAILED;
        attempt->facts.step = attempt->fault.step;
        attempt->facts.number = attempt->fault.error_number;
        attempt->facts.pid = 0;
        close_output(attempt);
    }
    if (attempt->unwanted)
        attempt_forget(launcher, attempt);
    else
        launcher->untold = true;
}

/* The main process is dead and not yet waited for: its numbers still are ours. */
static void main_exited(Launcher *launcher, Attempt *attempt, const siginfo_t *info)
{
    launcher->running--;
    kill_settled(launcher, attempt);
    bool empty = tree_empty(&launcher->tree, &attempt->tree, launcher->running == 0);
    struct rusage usage = { 0 };
    /* wait4 says the same, unless a debugger keeps it from us. */
    attempt->facts.status = info->si_code == CLD_EXITED   ? (info->si_status & 255) << 8
                            : info->si_code == CLD_DUMPED ? info->si_status | 128
                                                          : info->si_status;
    wait4(attempt->tree.pid, &attempt->facts.status, WNOHANG, &usage);
    attempt->tree.reaped = true;
    attempt->facts.ended_wall_ms = clock_ms(CLOCK_REALTIME);
    attempt->facts.usage = (LaunchUsage){
        .user_us = (uint64_t)(usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec),
        .system_us = (uint64_t)(usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec),
        .rss_max_kb = (uint64_t)usage.ru_maxrss,
        .faults_minor = (uint64_t)usage.ru_minflt,
        .faults_major = (uint64_t)usage.ru_majflt,
        .blocks_in = (uint64_t)usage.ru_inblock,
        .blocks_out = (uint64_t)usage.ru_oublock,
    };
    if (empty) {
        attempt_over(launcher, attempt, false);
        return;
    }
    attempt->dying = true;
    attempt->give_up_ms = boot_ms() + LEFTOVER_MS;
    launcher->dying++;
}

/* The main process was killed and is still there: the attempt ends without it. */
static void abandon(Launcher *launcher, Attempt *attempt)
{
    launcher->running--;
    kill_settled(launcher, attempt);
    attempt->tree.reaped = true;
    attempt->facts.status = SIGKILL;
    attempt->facts.ended_wall_ms = clock_ms(CLOCK_REALTIME);
    attempt_over(launcher, attempt, true);
}

static void reap(Launcher *launcher)
{
    siginfo_t info = { 0 };
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
        Attempt *found = NULL;
        for (uint32_t i = 0; i < launcher->top && !found; i++) {
            Attempt *attempt = &launcher->attempts[i];
            if (attempt->facts.state == LAUNCH_IS_RUNNING && !attempt->tree.reaped &&
                attempt->tree.pid == info.si_pid)
                found = attempt;
        }
        if (found && found->begins)
            attempt_hear(launcher, found);
        if (found)
            main_exited(launcher, found, &info);
        else if (waitpid(info.si_pid, NULL, WNOHANG) <= 0)
            return;
        info.si_pid = 0;
    }
}

static void look_after(Launcher *launcher)
{
    int64_t now_ms = boot_ms();
    for (uint32_t i = 0; i < launcher->top; i++) {
        Attempt *attempt = &launcher->attempts[i];
        if (attempt->facts.state != LAUNCH_IS_RUNNING)
            continue;
        if (attempt->deadline_ms && attempt->deadline_ms <= now_ms) {
            attempt_deadline(launcher, attempt, 0);
            attempt->facts.overdue = !launcher->closing; /* else it is not the daemon's */
            attempt_signal(launcher, attempt, SIGKILL);
        }
        if (!attempt->dying && attempt->give_up_ms && now_ms >= attempt->give_up_ms)
            abandon(launcher, attempt);
        if (!attempt->dying)
            continue;
        bool empty = tree_empty(&launcher->tree, &attempt->tree, launcher->running == 0);
        if (empty || now_ms >= attempt->give_up_ms) {
            launcher->dying--;
            attempt_over(launcher, attempt, !empty);
        }
    }
}

/* SIGTERM to the launcher itself: the machine goes down, or someone means it. Or its
 * directory was removed, so that no daemon can come any more. */
static void close_down(Launcher *launcher)
{
    if (launcher->closing)
        return;
    launcher->closing = true;
    launcher->quit = true;
    for (uint32_t i = 0; i < launcher->top; i++) {
        Attempt *attempt = &launcher->attempts[i];
        if (attempt->facts.state != LAUNCH_IS_RUNNING || attempt->dying)
            continue;
        attempt_signal(launcher, attempt, SIGTERM);
        attempt_deadline(launcher, attempt, boot_ms() + CLOSE_GRACE_MS);
    }
}

static int64_t sooner(int64_t one_ms, int64_t other_ms)
{
    return one_ms && (!other_ms || one_ms < other_ms) ? one_ms : other_ms;
}

/* Boot time at which something is to be done about it; 0: never. */
static int64_t attempt_due(const Attempt *attempt)
{
    if (attempt->facts.state != LAUNCH_IS_RUNNING)
        return 0;
    int64_t due_ms = sooner(attempt->deadline_ms, attempt->give_up_ms);
    if (attempt->begins && attempt->told < TOLD_SLOW)
        due_ms = sooner(due_ms, attempt->begun_ms + (attempt->told < TOLD_TAKEN
                                                         ? LAUNCH_TAKEN_MS
                                                         : LAUNCH_SLOW_MS));
    return due_ms;
}

static int next_wait(const Launcher *launcher)
{
    if (launcher->dying)
        return DYING_LOOK_MS;
    int64_t now_ms = boot_ms();
    int64_t next_ms = INT64_MAX;
    bool any = launcher->deadlines || launcher->killed || launcher->beginning;
    for (uint32_t i = 0; any && i < launcher->top; i++) {
        int64_t due_ms = attempt_due(&launcher->attempts[i]);
        if (due_ms && due_ms < next_ms)
            next_ms = due_ms;
    }
    if (launcher->conn_fd < 0 && now_ms + LAUNCH_IDLE_MS < next_ms)
        next_ms = now_ms + LAUNCH_IDLE_MS; /* to leave, or see that no one can come */
    if (next_ms == INT64_MAX)
        return -1;
    int64_t left_ms = next_ms - now_ms;
    return left_ms <= 0 ? 0 : (int)(left_ms < WAIT_MS_MAX ? left_ms : WAIT_MS_MAX);
}

static bool may_leave(const Launcher *launcher)
{
    if (launcher->closing && !launcher->running && !launcher->dying &&
        (launcher->conn_fd < 0 || !launcher->used))
        return true;
    if (launcher->used || launcher->conn_fd >= 0)
        return false;
    return launcher->quit || boot_ms() >= launcher->idle_since + LAUNCH_IDLE_MS;
}

/* What is polled: always these, then one for each attempt that begins. */
enum { POLL_SIGNAL, POLL_CONN, POLL_LISTEN, POLL_FIXED };

static nfds_t gather(const Launcher *launcher, struct pollfd *fds)
{
    bool tells = launcher->untold || launcher->listing;
    nfds_t count = POLL_FIXED;
    fds[POLL_SIGNAL] = (struct pollfd){ .fd = launcher->signal_fd, .events = POLLIN };
    fds[POLL_CONN] = (struct pollfd){
        .fd = launcher->conn_fd,
        .events = (short)((tells ? POLLOUT : 0) | (launcher->listing ? 0 : POLLIN)),
    };
    fds[POLL_LISTEN] = (struct pollfd){ .fd = launcher->listen_fd, .events = POLLIN };
    for (uint32_t i = 0; launcher->beginning && i < launcher->top; i++) {
        const Attempt *attempt = &launcher->attempts[i];
        if (attempt->facts.state == LAUNCH_IS_RUNNING && attempt->begins)
            fds[count++] = (struct pollfd){ .fd = attempt->told_r, .events = POLLIN };
    }
    return count;
}

static void hear_all(Launcher *launcher)
{
    for (uint32_t i = 0; launcher->beginning && i < launcher->top; i++) {
        Attempt *attempt = &launcher->attempts[i];
        if (attempt->facts.state == LAUNCH_IS_RUNNING && attempt->begins)
            attempt_hear(launcher, attempt);
    }
}

static void hear_signals(Launcher *launcher)
{
    struct signalfd_siginfo info[2]; /* of each of the two, one at most */
    ssize_t bytes = read(launcher->signal_fd, info, sizeof info);
    for (size_t i = 0; bytes > 0 && i < (size_t)bytes / sizeof info[0]; i++)
        if (info[i].ssi_signo == SIGTERM)
            close_down(launcher);
    reap(launcher);
}

static void serve(Launcher *launcher)
{
    static struct pollfd fds[POLL_FIXED + LAUNCH_ATTEMPTS_MAX];
    while (!may_leave(launcher)) {
        poll(fds, gather(launcher, fds), next_wait(launcher));
        hear_all(launcher);
        if (fds[POLL_SIGNAL].revents)
            hear_signals(launcher);
        if (launcher->conn_fd < 0 && access(LAUNCH_SOCKET, F_OK))
            close_down(launcher);
        if (launcher->dying || launcher->deadlines || launcher->killed)
            look_after(launcher);
        launcher->untold = launcher->untold || launcher->beginning;
        conn_tell(launcher);
        short conn = fds[POLL_CONN].revents;
        if (conn & (POLLIN | POLLHUP | POLLERR)) {
            launcher->listing = launcher->listing && !(conn & POLLHUP);
            conn_read(launcher);
        }
        if (fds[POLL_LISTEN].revents)
            conn_accept(launcher);
    }
}

static int fail(const char *what, int error_number)
{
    fprintf(stderr, "pawl-launch: %s: %s\n", what, strerror(error_number));
    return 1;
}

static int signals_init(void)
{
    sigset_t all, wanted;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL); /* what the daemon ignores, jobs must not */
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGTERM);
    return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Returns 0 with a launcher that can serve, or the code to exit with. */
static int open_all(Launcher *launcher)
{
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int lock = open(LAUNCH_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0)
        return fail(LAUNCH_LOCK, errno);
    if (flock(lock, LOCK_EX | LOCK_NB))
        return EXIT_TAKEN;
    launcher->signal_fd = signals_init();
    if (launcher->signal_fd < 0)
        return fail("signalfd", errno);
    getrlimit(RLIMIT_NOFILE, &launcher->nofile);
    struct rlimit most = { launcher->nofile.rlim_max, launcher->nofile.rlim_max };
    setrlimit(RLIMIT_NOFILE, &most);
    int error_number = tree_open(&launcher->tree);
    if (error_number)
        return fail(LAUNCH_PIDS, error_number);
    launcher->conn_fd = -1;
    launcher->idle_since = boot_ms();
    launcher->listen_fd = conn_listen();
    return launcher->listen_fd < 0 ? fail(LAUNCH_SOCKET, errno) : 0;
}

/* The starter waits for `ready`; until then messages go where the daemon's go. */
static int run(int ready)
{
    Launcher *launcher = &launcher_memory;
    int code = open_all(launcher);
    if (code)
        return code;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int log = open(LAUNCH_LOG, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    dup2(null, 0);
    dup2(null, 1);
    dup2(log >= 0 ? log : null, 2);
    if (write(ready, "", 1) != 1)
        return 1;
    close(ready);

    serve(launcher);
    tree_close(&launcher->tree);
    unlink(LAUNCH_SOCKET);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2 || argv[1][0] == '-') {
        printf("usage: pawl-launch DATA-DIRECTORY\n"
               "Starts the jobs of a pawl daemon; the daemon starts it by itself.\n");
        return argc == 2 ? 0 : 2;
    }
    for (int fd; (fd = open("/dev/null", O_RDWR)) < 3;) /* 0, 1, 2 must be something */
        if (fd < 0)
            return 1;
    syscall(SYS_close_range, 3, ~0u, 0);
    umask(077);
    int ready[2];
    if (chdir(argv[1]))
        return fail(argv[1], errno);
    if (pipe2(ready, O_CLOEXEC))
        return fail("pipe", errno);
    pid_t pid = fork();
    if (pid < 0)
        return fail("fork", errno);
    if (pid == 0)
        return run(ready[1]);

    char byte;
    int status = 0;
    close(ready[1]);
    if (read(ready[0], &byte, 1) == 1)
        return 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
