/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - see tree.h: signals and sweeping. How cgroups are found and what an earlier
 * launcher left is in leftover.c. */
#include "launch/tree.h"
#include "launch/leftover.h"
#include "launch/pause.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_BYTES_MAX 65536 /* pids of one look; the next look sees the rest */

void tree_put_word(int dir, const char *file, const char *word)
{
    int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, word, strlen(word)) < 0)
        fprintf(stderr, "launcher: cannot write %s: %s\n", file, strerror(errno));
    close(fd);
}

static bool populated(const TreeCgroup *cgroup)
{
    char text[64];
    ssize_t bytes = pread(cgroup->events, text, sizeof text - 1, 0);
    if (bytes <= 0)
        return false;
    text[bytes] = '\0';
    return strstr(text, "populated 1") != NULL;
}

int tree_cgroup(Tree *tree, uint32_t place)
{
    if (!tree->has_cgroups)
        return -1;
    TreeCgroup *cgroup = &tree->cgroups[place];
    if (cgroup->dir && populated(cgroup))
        return -2;
    if (cgroup->dir && !cgroup->killed)
        return cgroup->dir;

    char name[32];
    snprintf(name, sizeof name, "j%u.%u", (unsigned)place, (unsigned)cgroup->life);
    if (cgroup->dir) {
        /* Linux 6.14 and later (and stable kernels with its fix of a race between fork
         * and kill) kill whoever is born into a cgroup that was ever killed, unless the
         * parent's was killed as often: it compares the two counters. */
        close(cgroup->dir);
        close(cgroup->events);
        unlinkat(tree->base, name, AT_REMOVEDIR);
        *cgroup = (TreeCgroup){ .life = cgroup->life + 1 };
        snprintf(name, sizeof name, "j%u.%u", (unsigned)place, (unsigned)cgroup->life);
    }
    if (mkdirat(tree->base, name, 0755) && errno != EEXIST)
        return -2;
    int dir = openat(tree->base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -2;
    int events = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
    if (events < 0) {
        close(dir);
        return -2;
    }
    cgroup->dir = dir;
    cgroup->events = events;
    return populated(cgroup) ? -2 : dir;
}

static void cgroup_kill(TreeCgroup *cgroup)
{
    tree_put_word(cgroup->dir, "cgroup.kill", "1");
    cgroup->killed = true;
}

/* One that was born a moment ago does not lead its group yet. */
static void signal_group(const TreeJob *job, int signal_number)
{
    if (!job->reaped && kill(-job->pid, signal_number))
        kill(job->pid, signal_number);
}

void tree_signal(Tree *tree, TreeJob *job, int signal_number)
{
    if (signal_number == SIGSTOP) {
        tree_pause(tree, job);
        return;
    }
    if (signal_number == SIGKILL && tree->has_cgroups) {
        cgroup_kill(&tree->cgroups[job->place]);
        return;
    }
    signal_group(job, signal_number);
    if (signal_number == SIGKILL)
        return;
    tree_go_on(tree, job); /* a stopped process would sleep through it */
    signal_group(job, SIGCONT);
}

/* Kills a process that we inherited, if it is of this job. False if it is not. */
static bool kill_inherited(pid_t pid, const TreeJob *job, bool alone)
{
    pid_t group = getpgid(pid);
    if (!alone && group != job->pid && getsid(pid) != job->pid &&
        !proc_has_mark(pid, job->mark))
        return proc_exiting(pid); /* perhaps one that we have just killed */
    /* It is our child and not waited for, so neither number can be another's. */
    if (group > 1 && group != getpgrp())
        kill(-group, SIGKILL);
    kill(pid, SIGKILL);
    return true;
}

static bool group_empty(const TreeJob *job, bool alone)
{
    static char list[LIST_BYTES_MAX];
    char file[64];
    snprintf(file, sizeof file, "task/%d/children", (int)getpid());
    signal_group(job, SIGKILL);
    if (proc_read(getpid(), file, list, sizeof list) <= 0)
        return true;
    bool empty = true;
    for (char *at = list;;) {
        char *end;
        long pid = strtol(at, &end, 10);
        if (end == at)
            return empty;
        if (!tree_is_main((pid_t)pid) && kill_inherited((pid_t)pid, job, alone))
            empty = false;
        at = end;
    }
}

bool tree_empty(Tree *tree, const TreeJob *job, bool alone)
{
    if (!tree->has_cgroups)
        return group_empty(job, alone);
    TreeCgroup *cgroup = &tree->cgroups[job->place];
    bool empty = !populated(cgroup);
    if (!empty)
        cgroup_kill(cgroup);
    return empty;
}
