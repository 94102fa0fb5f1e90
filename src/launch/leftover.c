/* SPDX-License-Identifier: Apache-2.0 */
/* leftover.c - see leftover.h and tree_open in tree.h.
 *
 * LAUNCH_PIDS begins with a Head that names boot, data directory and cgroup of the
 * launcher that wrote it, followed by a Note for each place of its table (only where
 * there are no cgroups). It is not synced: what it speaks of dies with the machine. A
 * head of another boot or of another directory (a copy) is worth nothing. */
#include "launch/leftover.h"
#include "launch/child.h"
#include "launch/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KILL_TRIES   2000 /* looks of 5 ms: ten seconds, then they are the kernel's */
#define KILL_NAP_NS  5000000
#define BOOT_BYTES   40
#define LOOK_BYTES   65536
#define FLAG_EXITING 0x4 /* PF_EXITING of linux/sched.h */
#define CGROUPS_NONE "off"

typedef struct Head {
    uint32_t magic;
    uint32_t version;
    char boot[BOOT_BYTES];
    char name[48];
    char cgroup[PATH_MAX]; /* "": there were none */
} Head;

typedef struct Note {
    int32_t pid; /* 0: none */
    int32_t reserved;
    int64_t start_first; /* the clock tick of its start lies between these */
    int64_t start_last;
    char mark[LAUNCH_MARK_BYTES];
} Note;

typedef struct ProcStat {
    char state;
    int session;
    unsigned flags;
    long long start; /* ticks since boot */
} ProcStat;

static Note notes[LAUNCH_ATTEMPTS_MAX];

ssize_t proc_read(pid_t pid, const char *file, char *out, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, out, bytes - 1);
    close(fd);
    if (got >= 0)
        out[got] = '\0';
    return got;
}

bool proc_has_mark(pid_t pid, const char *mark)
{
    static char look[LAUNCH_MARK_BYTES + LOOK_BYTES];
    char path[64];
    size_t mark_bytes = strnlen(mark, LAUNCH_MARK_BYTES);
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int fd = mark_bytes ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    size_t kept = 0;
    bool found = false;
    ssize_t got;
    while (!found && (got = read(fd, look + kept, LOOK_BYTES)) > 0) {
        size_t bytes = kept + (size_t)got;
        found = memmem(look, bytes, mark, mark_bytes) != NULL;
        kept = bytes < mark_bytes ? bytes : mark_bytes - 1;
        memmove(look, look + bytes - kept, kept);
    }
    close(fd);
    return found;
}

static bool proc_stat(pid_t pid, ProcStat *out)
{
    char text[1024];
    if (proc_read(pid, "stat", text, sizeof text) <= 0)
        return false;
    const char *rest = strrchr(text, ')'); /* the name before it may hold anything */
    return rest && sscanf(rest + 1,
                          " %c %*d %*d %d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d "
                          "%*d %*d %*d %*d %lld",
                          &out->state, &out->session, &out->flags, &out->start) == 4;
}

bool proc_exiting(pid_t pid)
{
    ProcStat stat;
    return proc_stat(pid, &stat) && stat.state != 'Z' && (stat.flags & FLAG_EXITING);
}

static void boot_id(char out[BOOT_BYTES])
{
    memset(out, 0, BOOT_BYTES);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (read(fd, out, BOOT_BYTES - 1) < 0)
        out[0] = '\0';
    close(fd);
}

static void nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = KILL_NAP_NS }, NULL);
}

/* The main process that a note speaks of, if it is still that one. */
static bool note_alive(const Note *note)
{
    ProcStat stat;
    return proc_stat(note->pid, &stat) && stat.state != 'Z' &&
           stat.start >= note->start_first && stat.start <= note->start_last;
}

static uint32_t kill_noted(pid_t pid, const Note *list, const bool *alive, uint32_t count)
{
    /* Opened first: it stays this process, whatever happens to its number. */
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    ProcStat stat;
    uint32_t found = 0;
    if (pidfd < 0 || !proc_stat(pid, &stat) || stat.state == 'Z')
        count = 0;
    for (uint32_t i = 0; i < count && !found; i++) {
        bool member = alive[i] && stat.session == list[i].pid;
        if (!member && !proc_has_mark(pid, list[i].mark))
            continue;
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
        found = 1;
    }
    if (pidfd >= 0)
        close(pidfd);
    return found;
}

static uint32_t sweep_noted(uint32_t count)
{
    static bool alive[LAUNCH_ATTEMPTS_MAX];
    for (uint32_t i = 0; i < count; i++)
        alive[i] = note_alive(&notes[i]);
    DIR *proc = opendir("/proc");
    if (!proc)
        return 0;
    uint32_t found = 0;
    for (struct dirent *entry; (entry = readdir(proc));) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 1 && pid != getpid())
            found += kill_noted((pid_t)pid, notes, alive, count);
    }
    closedir(proc);
    return found;
}

static void kill_notes(int pids)
{
    uint32_t count = 0;
    Note note;
    for (uint32_t i = 0; i < LAUNCH_ATTEMPTS_MAX; i++) {
        off_t at = (off_t)(sizeof(Head) + i * sizeof note);
        if (pread(pids, &note, sizeof note, at) != sizeof note)
            break;
        note.mark[LAUNCH_MARK_BYTES - 1] = '\0';
        if (note.pid > 1)
            notes[count++] = note;
    }
    if (!count)
        return;
    for (int tries = 0; tries < KILL_TRIES && sweep_noted(count); tries++)
        nap();
}

static bool cgroup_populated(int dir)
{
    char text[64] = "";
    int fd = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    return bytes > 0 && strstr(text, "populated 1");
}

/* Removes our cgroup with all places of its table; those in use stay. */
static void remove_cgroups(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] == 'j')
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    closedir(dir);
    rmdir(path);
}

static void kill_cgroup(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return;
    for (int tries = 0; tries < KILL_TRIES && cgroup_populated(dir); tries++) {
        int fd = openat(dir, "cgroup.kill", O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "1", 1) != 1)
            fprintf(stderr, "launcher: cannot kill %s: %s\n", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        nap();
    }
    close(dir);
    remove_cgroups(path);
}

static void kill_leftovers(Tree *tree, const char *boot)
{
    Head head;
    if (pread(tree->pids, &head, sizeof head, 0) != sizeof head ||
        head.magic != LAUNCH_MAGIC || memcmp(head.boot, boot, BOOT_BYTES) != 0 ||
        memcmp(head.name, tree->name, sizeof head.name) != 0)
        return;
    head.cgroup[sizeof head.cgroup - 1] = '\0';
    const char *last = strrchr(head.cgroup, '/');
    if (last && strcmp(last + 1, tree->name) == 0)
        kill_cgroup(head.cgroup);
    else
        kill_notes(tree->pids);
}

/* Finds "<mount point of version 2><our own cgroup>". */
static bool own_cgroup(char *out, size_t bytes)
{
    char own[PATH_MAX] = "";
    char *line = NULL;
    size_t line_bytes = 0;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && !own[0] && getline(&line, &line_bytes, file) > 0)
        if (sscanf(line, "0::%4095[^\n]", own) != 1)
            own[0] = '\0';
    if (file)
        fclose(file);

    bool found = false;
    file = own[0] && !strstr(own, "/..") ? fopen("/proc/self/mountinfo", "re") : NULL;
    while (file && !found && getline(&line, &line_bytes, file) > 0) {
        char root[PATH_MAX], point[PATH_MAX];
        const char *type = strstr(line, " - cgroup2 ");
        if (!type || sscanf(line, "%*d %*d %*s %4095s %4095s", root, point) != 2)
            continue;
        size_t skip = strcmp(root, "/") == 0 ? 0 : strlen(root);
        if (strncmp(own, root, skip) != 0)
            continue;
        int length = snprintf(out, bytes, "%s%s", point, own + skip);
        found = length > 0 && (size_t)length < bytes;
    }
    if (file)
        fclose(file);
    free(line);
    return found;
}

static void find_cgroups(Tree *tree)
{
    char own[PATH_MAX - 64];
    const char *off = getenv("PAWL_LAUNCH_CGROUPS");
    if ((off && strcmp(off, CGROUPS_NONE) == 0) || !own_cgroup(own, sizeof own))
        return;
    size_t bytes = strlen(own);
    while (bytes && own[bytes - 1] == '/')
        own[--bytes] = '\0';
    snprintf(tree->path, sizeof tree->path, "%s/%s", own, tree->name);
    if (mkdir(tree->path, 0755) && errno != EEXIST)
        return;
    /* Whatever is in it is no one's: its launcher would hold our lock. */
    kill_cgroup(tree->path);
    if (mkdir(tree->path, 0755) && errno != EEXIST)
        return;
    tree->base = open(tree->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tree->has_cgroups =
        tree->base >= 0 && faccessat(tree->base, "cgroup.kill", W_OK, 0) == 0;
    int place = tree->has_cgroups ? tree_cgroup(tree, 0) : -2;
    if (place >= 0 && child_probe(place) == 0)
        return;
    remove_cgroups(tree->path);
    tree->path[0] = '\0';
    tree->has_cgroups = false;
}

int tree_open(Tree *tree)
{
    struct stat data;
    if (stat(".", &data))
        return errno;
    snprintf(tree->name, sizeof tree->name, "pawl-%llx-%llx",
             (unsigned long long)data.st_dev, (unsigned long long)data.st_ino);
    tree->pids = open(LAUNCH_PIDS, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (tree->pids < 0)
        return errno;
    Head head = { .magic = LAUNCH_MAGIC, .version = LAUNCH_VERSION };
    boot_id(head.boot);
    kill_leftovers(tree, head.boot);
    find_cgroups(tree);

    memcpy(head.name, tree->name, sizeof head.name);
    memcpy(head.cgroup, tree->path, sizeof head.cgroup);
    if (ftruncate(tree->pids, 0) ||
        pwrite(tree->pids, &head, sizeof head, 0) != sizeof head)
        return errno ? errno : ENOSPC;
    return 0;
}

void tree_close(Tree *tree)
{
    unlink(LAUNCH_PIDS);
    if (tree->has_cgroups)
        remove_cgroups(tree->path);
}

static int64_t ticks(int64_t boot_ms)
{
    return boot_ms * sysconf(_SC_CLK_TCK) / 1000;
}

static void put_note(Tree *tree, const TreeJob *job, const Note *note)
{
    off_t at = (off_t)(sizeof(Head) + job->place * sizeof *note);
    if (pwrite(tree->pids, note, sizeof *note, at) != sizeof *note)
        fprintf(stderr, "launcher: cannot write %s: %s\n", LAUNCH_PIDS, strerror(errno));
}

void tree_note(Tree *tree, const TreeJob *job, int64_t before_ms, int64_t after_ms)
{
    if (tree->has_cgroups)
        return;
    Note note = { .pid = job->pid,
                  .start_first = ticks(before_ms) - 1,
                  .start_last = ticks(after_ms) + 1 };
    memcpy(note.mark, job->mark, sizeof note.mark);
    put_note(tree, job, &note);
}

void tree_unnote(Tree *tree, const TreeJob *job)
{
    if (!tree->has_cgroups)
        put_note(tree, job, &(Note){ 0 });
}
