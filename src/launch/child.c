/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - see child.h.
 *
 * clone3 with VM and VFORK: no page table is copied, and this process stands still until
 * the child runs its program or is gone. So the child may write its failure into plain
 * memory, which is mapped shared for machines where only a copying clone is to be had.
 * Between clone and exec nothing may be called that takes a lock or allocates. */
#include "launch/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_DEFAULT      "/usr/local/bin:/usr/bin:/bin"
#define PATH_BYTES_MAX    4096
#define CHILD_STACK_BYTES 65536
#define BEGIN_MS_MAX      5000 /* for a process of another account to run its program */

/* The child runs on the parent's stack: a sanitizer's notes about frames that are left
 * by execve would be wrong for the parent. */
#define IN_CHILD __attribute__((noinline, no_sanitize_address))

static char *strings[LAUNCH_SPEC_STRINGS_MAX + 3];
static volatile ChildFault *fault; /* one shared page */

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

IN_CHILD static _Noreturn void give_up(LaunchStep step)
{
    fault->error_number = errno;
    fault->step = (uint32_t)step;
    _exit(127);
}

IN_CHILD static const char *find_path(char **envp)
{
    for (; *envp; envp++)
        if (strncmp(*envp, "PATH=", 5) == 0)
            return *envp + 5;
    return PATH_DEFAULT;
}

/* As execvpe, but with the job's own PATH, and what cannot be run is not given to a
 * shell. A name found but not runnable is told rather than one that was never there. */
IN_CHILD static void exec_by_path(const ChildPlan *plan)
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

IN_CHILD static void set_limits(const ChildPlan *plan)
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

/* The system calls themselves: the C library would tell threads that share our memory.
 * Groups first, as only root can; the account last, for good. */
IN_CHILD static void become(const PolicyAccount *account)
{
    if (syscall(SYS_setgroups, account->group_count, account->groups) ||
        syscall(SYS_setresgid, account->gid, account->gid, account->gid) ||
        syscall(SYS_setresuid, account->uid, account->uid, account->uid))
        give_up(LAUNCH_STEP_USER);
    if (syscall(SYS_setresuid, 0, 0, 0) == 0) {
        errno = EPERM; /* there was a way back: not this way */
        give_up(LAUNCH_STEP_USER);
    }
}

IN_CHILD static void enter_cwd(const ChildPlan *plan)
{
    if (plan->cwd[0]) {
        if (chdir(plan->cwd))
            give_up(LAUNCH_STEP_CWD);
        return;
    }
    if ((!plan->account || chdir(plan->account->home)) && chdir("/"))
        give_up(LAUNCH_STEP_CWD);
}

IN_CHILD static _Noreturn void child_main(const ChildPlan *plan)
{
    if (setsid() < 0)
        give_up(LAUNCH_STEP_SESSION);
    for (int i = 0; i < 3; i++)
        if (dup2(plan->stdio[i], i) < 0)
            give_up(LAUNCH_STEP_STDIO);
    umask(plan->spec->mask & 0777);
    set_limits(plan);
    if (plan->account)
        become(plan->account);
    enter_cwd(plan);
    /* Last, because any of the others may have been 3 until now. */
    bool reply = plan->reply >= 0;
    if (reply && (dup2(plan->reply, 3) < 0 || fcntl(3, F_SETFD, 0)))
        give_up(LAUNCH_STEP_STDIO);
    /* What tells our parent that the program runs stays open until it does. */
    syscall(SYS_close_range, reply ? 4 : 3, ~0u, plan->account ? CLOSE_RANGE_CLOEXEC : 0);
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

/* The system call stands in the same frame for parent and child: a wrapper function
 * would return twice through one return address. */
#if defined(__x86_64__)
#define CLONE_SHARES CLONE_VM
static inline __attribute__((always_inline)) long clone3_here(struct clone_args *args)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_clone3), "D"(args), "S"(sizeof *args)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
#define CLONE_SHARES CLONE_VM
static inline __attribute__((always_inline)) long clone3_here(struct clone_args *args)
{
    register long x8 __asm__("x8") = SYS_clone3;
    register long x0 __asm__("x0") = (long)args;
    register long x1 __asm__("x1") = sizeof *args;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
    return x0;
}
#else
#define CLONE_SHARES 0
static long clone3_here(struct clone_args *args)
{
    long result = syscall(SYS_clone3, args, sizeof *args);
    return result < 0 ? -errno : result;
}
#endif

/* Nothing but these lines, so that no slot of this frame means one thing to the parent
 * and another to the child. */
IN_CHILD static long clone_and_run(struct clone_args *args, const ChildPlan *plan)
{
    long pid = clone3_here(args);
    if (pid == 0)
        child_main(plan);
    return pid;
}

/* Without a cgroup to be born in, the C library's clone will do, on a stack of its own:
 * it is there on machines that know no clone3, or forbid it. */
IN_CHILD static int child_entry(void *plan)
{
    child_main(plan);
}

static long clone_plainly(const ChildPlan *plan)
{
    static _Alignas(16) char stack[CHILD_STACK_BYTES];
    static ChildPlan copy; /* the C library wants it without const */
    int shares = plan->account ? 0 : CLONE_VM | CLONE_VFORK;
    copy = *plan;
    int pid = clone(child_entry, stack + sizeof stack, shares | SIGCHLD, &copy);
    return pid < 0 ? -errno : pid;
}

/* As another account a process can be stopped by others of that account before it runs
 * its program, or its program may lie where opening takes for ever: we do not stand still
 * for it, nor share memory with it. It has so long to begin. */
static void await_program(int told_fd, pid_t pid)
{
    struct pollfd told = { .fd = told_fd, .events = POLLIN };
    int got;
    do
        got = poll(&told, 1, BEGIN_MS_MAX);
    while (got < 0 && errno == EINTR);
    if (got > 0)
        return; /* its end is closed: by the program's start, or by its death */
    kill(pid, SIGKILL);
    fault->step = LAUNCH_STEP_USER;
    fault->error_number = ETIMEDOUT;
}

static bool fault_page(void)
{
    if (fault)
        return true;
    void *page = mmap(NULL, sizeof *fault, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    fault = page;
    return true;
}

pid_t child_start(const ChildPlan *plan, ChildFault *out_fault)
{
    *out_fault = (ChildFault){ .step = LAUNCH_STEP_CLONE, .error_number = ENOMEM };
    if (!fault_page())
        return -1;
    fault->step = LAUNCH_STEP_NONE;
    fault->error_number = 0;

    int told[2] = { -1, -1 };
    if (plan->account && pipe2(told, O_CLOEXEC)) {
        out_fault->error_number = errno;
        return -1;
    }
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP |
                 (plan->account ? 0 : (uint64_t)(CLONE_VFORK | CLONE_SHARES)),
        .exit_signal = SIGCHLD,
        .cgroup = (unsigned)plan->cgroup_fd,
    };
    long pid = plan->cgroup_fd >= 0 ? clone_and_run(&args, plan) : clone_plainly(plan);
    if (plan->account) {
        close(told[1]);
        if (pid > 0)
            await_program(told[0], (pid_t)pid);
        close(told[0]);
    }
    if (pid < 0) {
        out_fault->error_number = (int32_t)-pid;
        return -1;
    }
    if (fault->step == LAUNCH_STEP_NONE)
        return (pid_t)pid;
    out_fault->step = fault->step;
    out_fault->error_number = fault->error_number;
    waitpid((pid_t)pid, NULL, 0);
    return -1;
}

int child_probe(int cgroup_fd)
{
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .cgroup = (unsigned)cgroup_fd,
    };
    long pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0)
        _exit(0);
    if (pid < 0)
        return errno;
    int status = 0;
    waitpid((pid_t)pid, &status, 0);
    return WIFEXITED(status) ? 0 : EIO; /* see tree_cgroup for who would kill it */
}
