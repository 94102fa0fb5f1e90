/* SPDX-License-Identifier: Apache-2.0 */
/* folder.c - see folder.h. */
#include "run/process/folder.h"

#include "base/text.h"
#include "core/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_BYTES 1024 /* of a folder's entries: one with more is not left as it was */

char *folder_path(const char *data_dir, FolderKind kind, JobId id, uint32_t attempt,
                  char out[FOLDER_PATH_BYTES])
{
    char text[ID_TEXT_BYTES];
    const char *tail = "";
    id_text(id, text);
    switch (kind) {
    case FOLDER_STATE:
        snprintf(out, FOLDER_PATH_BYTES, "%s/state/%s", data_dir, text);
        return out;
    case FOLDER_FILES:
        snprintf(out, FOLDER_PATH_BYTES, "%s/files/%s", data_dir, text);
        return out;
    case FOLDER_RUN:
        break;
    case FOLDER_DOCUMENT:
        tail = "/job.json";
        break;
    case FOLDER_CONTROL:
        tail = "/job.xml";
        break;
    case FOLDER_TEMP:
        tail = "/tmp";
        break;
    }
    snprintf(out, FOLDER_PATH_BYTES, "%s/run/%s.%u%s", data_dir, text, (unsigned)attempt,
             tail);
    return out;
}

static void folder_name(JobId id, uint32_t attempt, char out[FOLDER_NAME_BYTES])
{
    char text[ID_TEXT_BYTES];
    snprintf(out, FOLDER_NAME_BYTES, "%s.%u", id_text(id, text), (unsigned)attempt);
}

Err folders_open(Folders *folders, const char *data_dir, Error *why)
{
    static const char *const names[] = { "run", "logs", "state", "files" };
    char path[FOLDER_PATH_BYTES];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", data_dir, names[i]);
        if (mkdir(path, 0700) && errno != EEXIST)
            return error_errno(why, "cannot make %s", path);
    }
    snprintf(path, sizeof path, "%s/run", data_dir);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(why, "cannot open %s", path);
    *folders = (Folders){ .run_fd = fd };
    folders->data_dir = mem_copy(data_dir, strlen(data_dir) + 1);
    folders->sweeper = sweeper_new(data_dir);
    return ERR_OK;
}

/* Out of the way at once, and removed in time. */
static void put_away(Folders *folders, const char *name)
{
    char old[64];
    char path[FOLDER_PATH_BYTES];
    snprintf(old, sizeof old, ".old-%d-%u", (int)getpid(), folders->old_count++);
    if (renameat(folders->run_fd, name, folders->run_fd, old))
        return;
    snprintf(path, sizeof path, "%s/run/%s", folders->data_dir, old);
    sweeper_path(folders->sweeper, path);
}

void folders_close(Folders *folders)
{
    while (folders->spare_count)
        put_away(folders, folders->spare[--folders->spare_count]);
    sweeper_free(folders->sweeper);
    close(folders->run_fd);
    mem_free(folders->data_dir);
}

static bool take_spare(Folders *folders, const char *name)
{
    while (folders->spare_count) {
        const char *spare = folders->spare[--folders->spare_count];
        if (renameat2(folders->run_fd, spare, folders->run_fd, name, RENAME_NOREPLACE) ==
            0)
            return true;
        put_away(folders, spare);
    }
    return false;
}

static Err make_run(Folders *folders, const char *name)
{
    if (take_spare(folders, name))
        return ERR_OK;
    char temp[FOLDER_NAME_BYTES + 8];
    snprintf(temp, sizeof temp, "%s/tmp", name);
    if (mkdirat(folders->run_fd, name, 0700)) {
        if (errno != EEXIST)
            return err_from_errno(errno);
        put_away(folders, name); /* of a daemon that died before it could start it */
        if (mkdirat(folders->run_fd, name, 0700))
            return err_from_errno(errno);
    }
    return mkdirat(folders->run_fd, temp, 0700) ? err_from_errno(errno) : ERR_OK;
}

/* A folder used again has a document already: writing over it costs a quarter of
 * removing one file and making another. */
static Err write_document(Folders *folders, const char *name, const FolderWant *want)
{
    char file[FOLDER_NAME_BYTES + 16];
    const FolderOwner *owner = &want->owner;
    Slice document = want->document;
    snprintf(file, sizeof file, "%s/job.%s", name,
             want->flags & JOB_CONTROL ? "xml" : "json");
    int fd =
        openat(folders->run_fd, file, O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_from_errno(errno);
    ssize_t put = write(fd, document.data, document.bytes);
    int error_number = put == (ssize_t)document.bytes ? 0 : put < 0 ? errno : ENOSPC;
    if (!error_number && (ftruncate(fd, (off_t)document.bytes) || fchmod(fd, 0400) ||
                          (owner->uid && fchown(fd, owner->uid, owner->gid))))
        error_number = errno;
    close(fd);
    errno = error_number;
    return error_number ? err_from_errno(error_number) : ERR_OK;
}

/* Others may pass through, to what is theirs, but see nothing on the way. */
static bool open_way(const char *path)
{
    struct stat dir;
    if (stat(path, &dir))
        return false;
    mode_t mode = (dir.st_mode & 07777) | 0011;
    return mode == (dir.st_mode & 07777) || chmod(path, mode) == 0;
}

/* The folder of the attempt stays ours: what we write there must be what we read there.
 */
static bool give_run(Folders *folders, const char *name, const FolderOwner *owner)
{
    char temp[FOLDER_NAME_BYTES + 8];
    char run[FOLDER_PATH_BYTES];
    snprintf(temp, sizeof temp, "%s/tmp", name);
    snprintf(run, sizeof run, "%s/run", folders->data_dir);
    return open_way(folders->data_dir) && open_way(run) &&
           fchmodat(folders->run_fd, name, 0711, 0) == 0 &&
           fchownat(folders->run_fd, temp, owner->uid, owner->gid, AT_SYMLINK_NOFOLLOW) ==
               0;
}

static bool give_kept(const char *data_dir, const char *path, const FolderOwner *owner)
{
    char above[FOLDER_PATH_BYTES];
    int bytes = (int)(strrchr(path, '/') - path);
    snprintf(above, sizeof above, "%.*s", bytes, path);
    return open_way(data_dir) && open_way(above) &&
           lchown(path, owner->uid, owner->gid) == 0;
}

static Err make_kept(Folders *folders, const FolderWant *want)
{
    static const struct {
        uint32_t flag;
        FolderKind kind;
    } asked[] = { { JOB_KEEP_STATE, FOLDER_STATE }, { JOB_FILES, FOLDER_FILES } };
    char path[FOLDER_PATH_BYTES];
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        if (!(want->flags & asked[i].flag))
            continue;
        folder_path(folders->data_dir, asked[i].kind, want->id, want->attempt, path);
        if (mkdir(path, 0700) && errno != EEXIST)
            return err_from_errno(errno);
        if (want->owner.uid && !give_kept(folders->data_dir, path, &want->owner))
            return err_from_errno(errno);
    }
    return ERR_OK;
}

Err folders_make(Folders *folders, const FolderWant *want)
{
    char name[FOLDER_NAME_BYTES];
    Err err = make_kept(folders, want);
    if (err)
        return err;
    folder_name(want->id, want->attempt, name);
    err = make_run(folders, name);
    if (!err)
        err = write_document(folders, name, want);
    if (!err && want->owner.uid && !give_run(folders, name, &want->owner))
        err = err_from_errno(errno);
    if (!err)
        return ERR_OK;
    int error_number = errno;
    put_away(folders, name);
    errno = error_number;
    return err;
}

/* Whether a folder is as we made it, with no entries but, perhaps, these two. */
static bool untouched(int fd, const char *one, const char *two)
{
    char entries[LOOK_BYTES];
    struct stat dir;
    ssize_t bytes = getdents64(fd, entries, sizeof entries);
    bool clean = bytes > 0 && fstat(fd, &dir) == 0 && (dir.st_mode & 07777) == 0700;
    for (ssize_t at = 0; clean && at < bytes;) {
        const struct dirent64 *entry = (const void *)(entries + at);
        clean = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                strcmp(entry->d_name, one) == 0 || strcmp(entry->d_name, two) == 0;
        at += entry->d_reclen;
    }
    return clean && getdents64(fd, entries, sizeof entries) == 0;
}

/* Whether the next attempt may have it. */
static bool reusable(const Folders *folders, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int run = openat(folders->run_fd, name, flags);
    int temp = run >= 0 ? openat(run, "tmp", flags) : -1;
    struct stat document;
    bool clean = temp >= 0 && untouched(temp, "", "") &&
                 untouched(run, "tmp", "job.json") &&
                 fstatat(run, "job.json", &document, AT_SYMLINK_NOFOLLOW) == 0 &&
                 S_ISREG(document.st_mode) && document.st_nlink == 1 &&
                 document.st_uid == geteuid() && fchmodat(run, "job.json", 0600, 0) == 0;
    if (temp >= 0)
        close(temp);
    if (run >= 0)
        close(run);
    return clean;
}

void folders_drop(Folders *folders, JobId id, uint32_t attempt)
{
    char name[FOLDER_NAME_BYTES];
    folder_name(id, attempt, name);
    if (folders->spare_count < FOLDERS_SPARE_MAX && reusable(folders, name)) {
        memcpy(folders->spare[folders->spare_count++], name, sizeof name);
        return;
    }
    put_away(folders, name);
}

void folders_tidy(Folders *folders, FolderKnown *known, void *context)
{
    int fd = openat(folders->run_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        Slice rest = slice_text(entry->d_name);
        if (slice_is(rest, ".") || slice_is(rest, ".."))
            continue;
        JobId id = 0;
        int64_t attempt = 0;
        Slice id_part = slice_cut(&rest, '.');
        if (id_parse(id_part, &id) || int_parse(rest, &attempt) ||
            !known(context, id, (uint32_t)attempt))
            put_away(folders, entry->d_name);
    }
    closedir(dir);
}
