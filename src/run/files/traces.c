/* SPDX-License-Identifier: Apache-2.0 */
/* traces.c - see traces.h. */
#include "run/files/traces.h"

#include "base/times.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define ID_CHARS (ID_TEXT_BYTES - 1)

typedef struct TraceFolder {
    const char *name;
    bool in_folders; /* one level down: see spool_path */
} TraceFolder;

static const TraceFolder folders[] = {
    { "logs", true },
    { "state", false },
    { "files", false },
};
#define FOLDERS (sizeof folders / sizeof *folders)

struct TraceWalk {
    char *data_dir;
    size_t folder; /* which of them; FOLDERS: the walk is over */
    DIR *outer;    /* the folder itself, where there are folders in it */
    DIR *inner;    /* what is being read */
    char path[TRACE_PATH_BYTES / 2]; /* of that */
};

TraceWalk *trace_walk_new(const char *data_dir)
{
    TraceWalk *walk = MEM_NEW(TraceWalk);
    walk->data_dir = mem_copy(data_dir, strlen(data_dir) + 1);
    return walk;
}

static void close_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
    *dir = NULL;
}

void trace_walk_free(TraceWalk *walk)
{
    if (!walk)
        return;
    close_dir(&walk->inner);
    close_dir(&walk->outer);
    mem_free(walk->data_dir);
    mem_free(walk);
}

static DIR *open_folder(TraceWalk *walk, const char *name, const char *inside)
{
    int bytes = snprintf(walk->path, sizeof walk->path, "%s/%s%s%s", walk->data_dir, name,
                         *inside ? "/" : "", inside);
    return bytes > 0 && (size_t)bytes < sizeof walk->path ? opendir(walk->path) : NULL;
}

/* Opens the next folder that has names of jobs in it. */
static bool next_folder(TraceWalk *walk)
{
    while (walk->folder < FOLDERS) {
        const TraceFolder *folder = &folders[walk->folder];
        if (walk->outer) {
            const struct dirent *entry = readdir(walk->outer);
            if (entry && entry->d_name[0] != '.')
                walk->inner = open_folder(walk, folder->name, entry->d_name);
            if (!entry) {
                close_dir(&walk->outer);
                walk->folder++;
            }
        } else if (folder->in_folders) {
            walk->outer = open_folder(walk, folder->name, "");
            walk->folder += walk->outer == NULL;
        } else {
            walk->inner = open_folder(walk, folder->name, "");
            walk->folder++;
        }
        if (walk->inner)
            return true;
    }
    walk->folder = 0;
    return false;
}

/* Whether the name is an id, or begins with one and a dot. */
static bool read_name(const TraceWalk *walk, const char *name, Trace *out)
{
    struct stat status;
    size_t bytes = strlen(name);
    if (bytes < ID_CHARS || (bytes > ID_CHARS && name[ID_CHARS] != '.') ||
        id_parse(slice_of(name, ID_CHARS), &out->id) ||
        fstatat(dirfd(walk->inner), name, &status, AT_SYMLINK_NOFOLLOW))
        return false;
    snprintf(out->path, sizeof out->path, "%s/%s", walk->path, name);
    out->changed_ms =
        (int64_t)status.st_mtim.tv_sec * MS_PER_S + status.st_mtim.tv_nsec / 1000000;
    return true;
}

bool trace_walk_next(TraceWalk *walk, Trace *out)
{
    for (;;) {
        if (!walk->inner && !next_folder(walk))
            return false;
        const struct dirent *entry = readdir(walk->inner);
        if (!entry)
            close_dir(&walk->inner);
        else if (read_name(walk, entry->d_name, out))
            return true;
    }
}
