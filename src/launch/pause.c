/* SPDX-License-Identifier: Apache-2.0 */
/* pause.c - see pause.h. */
#include "launch/pause.h"
#include "launch/leftover.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FREEZE_LOOKS  500 /* 0.2 s: one that is stuck in a call never freezes */
#define FREEZE_NAP_NS 400000
#define STOP_LOOKS    20

static void put_freeze(const TreeCgroup *cgroup, bool freeze)
{
    tree_put_word(cgroup->dir, "cgroup.freeze", freeze ? "1" : "0");
}

static bool is_frozen(const TreeCgroup *cgroup)
{
    char text[64];
    ssize_t bytes = pread(cgroup->events, text, sizeof text - 1, 0);
    if (bytes <= 0)
        return false;
    text[bytes] = '\0';
    return strstr(text, "frozen 1") != NULL;
}

/* Its members cannot end meanwhile (they are frozen or stopped): the numbers are theirs.
 */
static void signal_members(const TreeCgroup *cgroup, int signal_number)
{
    char text[4096];
    size_t kept = 0;
    ssize_t got;
    int fd = openat(cgroup->dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    while ((got = read(fd, text + kept, sizeof text - 1 - kept)) > 0) {
        char *at = text;
        size_t bytes = kept + (size_t)got;
        text[bytes] = '\0';
        for (char *end; (end = strchr(at, '\n')); at = end + 1) {
            long pid = strtol(at, NULL, 10);
            if (pid > 1)
                kill((pid_t)pid, signal_number);
        }
        kept = (size_t)(text + bytes - at);
        memmove(text, at, kept);
    }
    close(fd);
}

static void nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = FREEZE_NAP_NS }, NULL);
}

static void stop_cgroup(const TreeCgroup *cgroup)
{
    put_freeze(cgroup, true);
    bool frozen = is_frozen(cgroup);
    for (int look = 0; look < FREEZE_LOOKS && !frozen; look++) {
        nap();
        frozen = is_frozen(cgroup);
    }
    signal_members(cgroup, SIGSTOP);
    put_freeze(cgroup, false); /* each of them stops before it does anything else */
    /* Not all were frozen: one may have been born meanwhile. */
    for (int look = 0; look < STOP_LOOKS && !frozen; look++) {
        nap();
        signal_members(cgroup, SIGSTOP);
    }
}

/* Whether the process is of this attempt; checked after the pidfd was opened, so that
 * both speak of the same one. */
static bool is_member(pid_t pid, const TreeJob *job)
{
    bool leads = !job->reaped && (getpgid(pid) == job->pid || getsid(pid) == job->pid);
    return leads || proc_has_mark(pid, job->mark);
}

static bool is_stopped(pid_t pid)
{
    char text[512];
    if (proc_read(pid, "stat", text, sizeof text) <= 0)
        return true;
    const char *rest = strrchr(text, ')');
    return !rest || strchr("TtZX", rest[2]);
}

/* Signals all processes of the attempt; how many were still on their feet. */
static size_t signal_marked(const TreeJob *job, int signal_number)
{
    size_t running = 0;
    DIR *proc = opendir("/proc");
    if (!proc)
        return 0;
    for (struct dirent *entry; (entry = readdir(proc));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (!isdigit((unsigned char)entry->d_name[0]) || pid == getpid())
            continue;
        int fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd < 0)
            continue;
        if (is_member(pid, job)) {
            running += !is_stopped(pid);
            syscall(SYS_pidfd_send_signal, fd, signal_number, NULL, 0);
        }
        close(fd);
    }
    closedir(proc);
    return running;
}

void tree_pause(Tree *tree, TreeJob *job)
{
    job->paused = true;
    if (tree->has_cgroups) {
        stop_cgroup(&tree->cgroups[job->place]);
        return;
    }
    /* One that was being born at the first look is seen at the next. */
    for (int look = 0; look < STOP_LOOKS && signal_marked(job, SIGSTOP); look++)
        nap();
}

void tree_go_on(Tree *tree, TreeJob *job)
{
    if (!job->paused)
        return;
    job->paused = false;
    if (!tree->has_cgroups) {
        signal_marked(job, SIGCONT);
        return;
    }
    signal_members(&tree->cgroups[job->place], SIGCONT);
}
