/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c - see sweep.h. */
#include "run/files/sweep.h"

#include "base/mailbox.h"
#include "run/process/output.h"
#include "run/thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 32 /* descriptors in use; what is deeper is moved up first */

typedef struct Sweep {
    int top;        /* the folder that is being removed */
    unsigned moved; /* folders moved up to it so far */
    bool again;
} Sweep;

typedef struct Task {
    Mail mail;
    char *path; /* NULL: erase the job */
    JobId id;
    uint32_t attempts;
} Task;

struct Sweeper {
    Mailbox tasks;
    pthread_t thread;
    char *data_dir;
};

static int open_dir(int parent, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
        fd = openat(parent, name, flags);
    return fd;
}

static void empty_dir(Sweep *sweep, int fd, int depth);

static void remove_entry(Sweep *sweep, int parent, const char *name, int depth)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return;
    if (depth >= DEPTH_MAX) {
        char higher[32];
        snprintf(higher, sizeof higher, ".deep-%u", sweep->moved++);
        if (renameat(parent, name, sweep->top, higher) == 0)
            sweep->again = true;
        return;
    }
    int fd = open_dir(parent, name);
    if (fd < 0)
        return;
    empty_dir(sweep, fd, depth + 1); /* closes it */
    unlinkat(parent, name, AT_REMOVEDIR);
}

static void empty_dir(Sweep *sweep, int fd, int depth)
{
    struct stat dir;
    if (fstat(fd, &dir) == 0 && (dir.st_mode & 0700) != 0700)
        fchmod(fd, 0700);
    DIR *stream = fdopendir(fd);
    if (!stream) {
        close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(stream));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_entry(sweep, fd, entry->d_name, depth);
    closedir(stream);
}

void sweep_path(const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return;
    Sweep sweep = { .top = open_dir(AT_FDCWD, path) };
    if (sweep.top < 0)
        return;
    do {
        sweep.again = false;
        int fd = open_dir(sweep.top, ".");
        if (fd < 0)
            break;
        empty_dir(&sweep, fd, 0);
    } while (sweep.again);
    close(sweep.top);
    rmdir(path);
}

static void *work(void *context)
{
    Sweeper *sweeper = context;
    for (;;) {
        Mail *mail = mailbox_wait(&sweeper->tasks, -1);
        if (!mail)
            return NULL;
        while (mail) {
            Task *task = (Task *)mail;
            mail = mail->next;
            if (task->path)
                sweep_path(task->path);
            else
                output_erase(sweeper->data_dir, task->id, task->attempts);
            mem_free(task->path);
            mem_free(task);
        }
    }
}

Sweeper *sweeper_new(const char *data_dir)
{
    Sweeper *sweeper = MEM_NEW(Sweeper);
    sweeper->data_dir = mem_copy(data_dir, strlen(data_dir) + 1);
    mailbox_init(&sweeper->tasks);
    sweeper->thread = thread_start(work, sweeper);
    return sweeper;
}

void sweeper_free(Sweeper *sweeper)
{
    mailbox_close(&sweeper->tasks);
    pthread_join(sweeper->thread, NULL);
    mailbox_done(&sweeper->tasks);
    mem_free(sweeper->data_dir);
    mem_free(sweeper);
}

void sweeper_path(Sweeper *sweeper, const char *path)
{
    Task *task = MEM_NEW(Task);
    task->path = mem_copy(path, strlen(path) + 1);
    mailbox_put(&sweeper->tasks, &task->mail);
}

void sweeper_erase(Sweeper *sweeper, JobId id, uint32_t attempts)
{
    Task *task = MEM_NEW(Task);
    task->id = id;
    task->attempts = attempts;
    mailbox_put(&sweeper->tasks, &task->mail);
}
