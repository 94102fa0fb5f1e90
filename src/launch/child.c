/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - see child.h.
 *
 * A copying clone: the launcher does not stand still until the program runs, and nothing
 * that a job's file system or account does to the child can hold up another job. The
 * child closes all that is the launcher's before it touches either of them. */
#include "launch/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_DEFAULT   "/usr/local/bin:/usr/bin:/bin"
#define PATH_BYTES_MAX 4096
#define FD_HIGH        8 /* above all that the job is to have */

static char *strings[LAUNCH_SPEC_STRINGS_MAX + 3];

int child_plan(ChildPlan *plan, char *bytes, size_t count, bool named)
{
    LaunchSpec *spec = (LaunchSpec *)(void *)bytes;
    if (count < sizeof *spec || spec->magic != LAUNCH_MAGIC)
        return EINVAL;
    if (count > LAUNCH_SPEC_BYTES_MAX ||
        spec->argc + (uint64_t)spec->envc > LAUNCH_SPEC_STRINGS_MAX)
        return E2BIG;
    if (!spec->argc || spec->limit_count > LAUNCH_RLIMITS_MAX ||
        spec->string_bytes != count - sizeof *spec)
        return EINVAL;

    char *at = bytes + sizeof *spec;
    char *end = bytes + count;
    uint32_t own = 1 + spec->argc + spec->envc;
    uint32_t wanted = own + (named ? 2 : 0);
    char **next = strings;
    plan->spec = spec;
    plan->argv = strings;
    plan->envp = strings + spec->argc + 1;
    for (uint32_t i = 0; i < wanted; i++) {
        char *nul = memchr(at, '\0', (size_t)(end - at));
        if (!nul)
            return EINVAL;
        if (i == 0)
            plan->cwd = at;
        else if (i == own)
            plan->tenant = at;
        else if (i > own)
            plan->user = at;
        else
            *next++ = at;
        if (i == spec->argc)
            *next++ = NULL;
        at = nul + 1;
    }
    *next = NULL;
    return at == end ? 0 : EINVAL;
}

static int told_fd; /* in the child: where it says what failed; closed by the program */

static _Noreturn void give_up(LaunchStep step)
{
    ChildFault fault = { (uint32_t)step, errno };
    ssize_t put = write(told_fd, &fault, sizeof fault);
    _exit(put == sizeof fault ? 127 : 126);
}

static const char *find_path(char **envp)
{
    for (; *envp; envp++)
        if (strncmp(*envp, "PATH=", 5) == 0)
            return *envp + 5;
    return PATH_DEFAULT;
}

/* As execvpe, but with the job's own PATH, and what cannot be run is not given to a
 * shell. A name found but not runnable is told rather than one that was never there. */
static void exec_by_path(const ChildPlan *plan)
{
    static char file[PATH_BYTES_MAX];
    const char *name = plan->argv[0];
    const char *part = find_path(plan->envp);
    size_t name_bytes = strlen(name);
    int seen = ENOENT;
    while (part) {
        const char *colon = strchr(part, ':');
        size_t bytes = colon ? (size_t)(colon - part) : strlen(part);
        if (bytes + name_bytes + 2 <= sizeof file) {
            memcpy(file, part, bytes);
            if (bytes)
                file[bytes++] = '/';
            memcpy(file + bytes, name, name_bytes);
            file[bytes + name_bytes] = '\0';
            execve(file, plan->argv, plan->envp);
            if (errno == EACCES)
                seen = EACCES;
            else if (errno != ENOENT && errno != ENOTDIR)
                return;
        }
        part = colon ? colon + 1 : NULL;
    }
    errno = seen;
}

static void set_limits(const ChildPlan *plan)
{
    if (setrlimit(RLIMIT_NOFILE, &plan->nofile))
        give_up(LAUNCH_STEP_LIMIT);
    for (uint32_t i = 0; i < plan->spec->limit_count; i++) {
        const LaunchLimit *limit = &plan->spec->limits[i];
        struct rlimit value = {
            .rlim_cur = limit->soft == UINT64_MAX ? RLIM_INFINITY : limit->soft,
            .rlim_max = limit->hard == UINT64_MAX ? RLIM_INFINITY : limit->hard,
        };
        /* glibc's enum is only in the way: the kernel knows what it knows. */
        if (syscall(SYS_prlimit64, 0, limit->resource, &value, NULL))
            give_up(LAUNCH_STEP_LIMIT);
    }
    if (plan->spec->nice) {
        errno = 0;
        int old = getpriority(PRIO_PROCESS, 0);
        if (setpriority(PRIO_PROCESS, 0, old + plan->spec->nice))
            give_up(LAUNCH_STEP_LIMIT);
    }
}

/* Groups first, as only root can; the account last, for good. */
static void become(const PolicyAccount *account)
{
    if (setgroups((size_t)account->group_count, account->groups) ||
        setresgid(account->gid, account->gid, account->gid) ||
        setresuid(account->uid, account->uid, account->uid))
        give_up(LAUNCH_STEP_USER);
    if (setresuid(0, 0, 0) == 0) {
        errno = EPERM; /* there was a way back: not this way */
        give_up(LAUNCH_STEP_USER);
    }
}

/* Asked here because what knows the accounts may be far away and not answer. Returns
 * NULL if the job runs as the launcher itself. */
static const PolicyAccount *find_account(const ChildPlan *plan)
{
    static PolicyAccount account;
    if (!plan->user)
        return NULL;
    if (policy_ask(plan->tenant, plan->user, &account) != POLICY_ALLOWED) {
        errno = EPERM;
        give_up(LAUNCH_STEP_USER);
    }
    become(&account);
    return &account;
}

static void enter_cwd(const ChildPlan *plan, const PolicyAccount *account)
{
    if (plan->cwd[0]) {
        if (chdir(plan->cwd))
            give_up(LAUNCH_STEP_CWD);
        return;
    }
    if ((!account || chdir(account->home)) && chdir("/"))
        give_up(LAUNCH_STEP_CWD);
}

/* 0, 1, 2, perhaps 3, and behind them the one that tells; of the launcher's own nothing
 * is left, so that a child that hangs holds neither its lock nor its connection. */
static void take_descriptors(const ChildPlan *plan)
{
    for (int i = 0; i < 3; i++)
        if (dup2(plan->stdio[i], i) < 0)
            give_up(LAUNCH_STEP_STDIO);
    /* Any of them may be one of the numbers that are wanted: first out of the way. */
    int next = 3;
    int told = fcntl(told_fd, F_DUPFD_CLOEXEC, FD_HIGH);
    int reply = plan->reply >= 0 ? fcntl(plan->reply, F_DUPFD_CLOEXEC, FD_HIGH) : -1;
    if (told < 0 || (plan->reply >= 0 && (reply < 0 || dup2(reply, next++) < 0)) ||
        dup3(told, next, O_CLOEXEC) < 0)
        give_up(LAUNCH_STEP_STDIO);
    told_fd = next;
    syscall(SYS_close_range, next + 1, ~0u, 0);
}

static _Noreturn void child_main(const ChildPlan *plan)
{
    if (setsid() < 0)
        give_up(LAUNCH_STEP_SESSION);
    take_descriptors(plan);
    umask(plan->spec->mask & 0777);
    set_limits(plan);
    enter_cwd(plan, find_account(plan));
    /* What was opened to find the account. */
    syscall(SYS_close_range, told_fd + 1, ~0u, 0);
    /* The launcher leaves every disposition at its default: only the mask is undone. */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);

    if (!plan->argv[0][0])
        errno = ENOENT;
    else if (strchr(plan->argv[0], '/'))
        execve(plan->argv[0], plan->argv, plan->envp);
    else
        exec_by_path(plan);
    give_up(LAUNCH_STEP_EXEC);
}

/* Without a cgroup to be born in, fork will do on machines that know no clone3, or
 * forbid it. */
static pid_t clone_into(int cgroup_fd)
{
    struct clone_args args = {
        .flags = cgroup_fd < 0 ? 0 : CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .cgroup = cgroup_fd < 0 ? 0 : (unsigned)cgroup_fd,
    };
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    bool unknown = pid < 0 && (errno == ENOSYS || errno == EPERM);
    return unknown && cgroup_fd < 0 ? fork() : pid;
}

pid_t child_start(const ChildPlan *plan, int *out_told, ChildFault *out_fault)
{
    int told[2];
    *out_fault = (ChildFault){ LAUNCH_STEP_CLONE, 0 };
    if (pipe2(told, O_CLOEXEC | O_NONBLOCK)) {
        out_fault->error_number = errno;
        return -1;
    }
    pid_t pid = clone_into(plan->cgroup_fd);
    if (pid == 0) {
        told_fd = told[1];
        child_main(plan);
    }
    out_fault->error_number = errno;
    close(told[1]);
    if (pid < 0)
        close(told[0]);
    else
        *out_told = told[0];
    return pid;
}

ChildWord child_hear(int told, ChildFault *out_fault)
{
    ssize_t got;
    do
        got = read(told, out_fault, sizeof *out_fault);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return CHILD_BEGINS;
    return got == sizeof *out_fault ? CHILD_FAILED : CHILD_RUNS;
}

int child_probe(int cgroup_fd)
{
    pid_t pid = clone_into(cgroup_fd);
    if (pid == 0)
        _exit(0);
    if (pid < 0)
        return errno;
    int status = 0;
    waitpid(pid, &status, 0);           /* it touches nothing that could hold it up */
    return WIFEXITED(status) ? 0 : EIO; /* see tree_cgroup for who would kill it */
}
