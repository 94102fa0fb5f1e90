/* SPDX-License-Identifier: Apache-2.0 */
/* drop_files.c - see drop_files.h. */
#include "intake/drop_files.h"

#include "base/times.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUIET_MS       2000 /* where no one can say whether a file is being written */
#define KEPT_CHARS     200  /* of a name: the stamp and numbers must fit too */
#define FAILED_MAX     10000
#define FOLDER_FLAGS   (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define READ_FLAGS     (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
#define FAILED_SUFFIX  ".error"
#define CONTROL_SUFFIX ".xml"

static Err open_folder(int at, const char *path, int *out_fd, Error *why)
{
    if (mkdirat(at, path, 0700) && errno != EEXIST)
        return error_errno(why, "cannot make %s", path);
    *out_fd = openat(at, path, FOLDER_FLAGS);
    return *out_fd < 0 ? error_errno(why, "cannot open %s", path) : ERR_OK;
}

Err drop_files_open(DropFiles *files, const char *folder, Error *why)
{
    *files = (DropFiles){ -1, -1, -1 };
    Err err = open_folder(AT_FDCWD, folder, &files->drop_fd, why);
    if (!err)
        err = open_folder(files->drop_fd, "taken", &files->taken_fd, why);
    if (!err)
        err = open_folder(files->drop_fd, "failed", &files->failed_fd, why);
    if (err)
        drop_files_close(files);
    return err;
}

void drop_files_close(DropFiles *files)
{
    int fds[] = { files->drop_fd, files->taken_fd, files->failed_fd };
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    *files = (DropFiles){ -1, -1, -1 };
}

static bool named_well(const char *name)
{
    size_t bytes = strlen(name);
    size_t suffix = strlen(CONTROL_SUFFIX);
    return name[0] != '.' && bytes > suffix && bytes < DROP_NAME_BYTES &&
           strcmp(name + bytes - suffix, CONTROL_SUFFIX) == 0;
}

static bool long_quiet(struct timespec changed)
{
    int64_t changed_ms = (int64_t)changed.tv_sec * MS_PER_S;
    int64_t now_ms = clock_now().wall_ms;
    return changed_ms + QUIET_MS < now_ms || changed_ms > now_ms;
}

/* What cannot be read, and stays so: a link, a pipe, a file of others that is closed to
 * us. It is taken all the same: its reading says what is wrong with it. */
static bool hopeless(int at, const char *name)
{
    struct stat file;
    if (fstatat(at, name, &file, AT_SYMLINK_NOFOLLOW) || S_ISDIR(file.st_mode))
        return false;
    return !S_ISREG(file.st_mode) || long_quiet(file.st_ctim);
}

/* Whether no one has it open for writing: the kernel gives a lease only then. */
static bool complete(int at, const char *name)
{
    struct stat file;
    int fd = openat(at, name, READ_FLAGS);
    if (fd < 0)
        return (errno == EACCES || errno == ELOOP || errno == ENXIO) &&
               hopeless(at, name);
    bool regular = fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
    bool ready = false;
    if (regular && fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
        fcntl(fd, F_SETLEASE, F_UNLCK);
        ready = true;
    } else if (regular && errno != EAGAIN) {
        ready = long_quiet(file.st_mtim); /* not ours, or a file system without leases */
    } else if (!regular) {
        ready = hopeless(at, name);
    }
    close(fd);
    return ready;
}

static void make_name(const char *original, DropName *out)
{
    uint64_t luck = 0;
    ssize_t got = getrandom(&luck, sizeof luck, 0);
    assert(got == sizeof luck); /* so few bytes never come short */
    size_t stem = strlen(original) - strlen(CONTROL_SUFFIX);
    snprintf(out->name, sizeof out->name, "%016llx-%.*s" CONTROL_SUFFIX,
             (unsigned long long)luck, (int)(stem > KEPT_CHARS ? KEPT_CHARS : stem),
             original);
}

static DIR *open_list(int fd)
{
    int copy = openat(fd, ".", FOLDER_FLAGS);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (!dir && copy >= 0)
        close(copy);
    return dir;
}

size_t drop_files_take(DropFiles *files, DropName *out_names, size_t max)
{
    size_t count = 0;
    DIR *dir = open_list(files->drop_fd);
    for (struct dirent *entry; dir && count < max && (entry = readdir(dir));) {
        if (!named_well(entry->d_name) || !complete(files->drop_fd, entry->d_name))
            continue;
        make_name(entry->d_name, &out_names[count]);
        if (renameat2(files->drop_fd, entry->d_name, files->taken_fd,
                      out_names[count].name, RENAME_NOREPLACE) == 0)
            count++;
    }
    if (dir)
        closedir(dir);
    /* A move that a power cut undid after its job was added would add it again. */
    if (count && (fsync(files->taken_fd) || fsync(files->drop_fd)))
        return 0; /* they are found in taken/ later */
    return count;
}

size_t drop_files_taken(DropFiles *files, DropName *out_names, size_t max)
{
    size_t count = 0;
    DIR *dir = open_list(files->taken_fd);
    for (struct dirent *entry; dir && count < max && (entry = readdir(dir));)
        if (named_well(entry->d_name) && strlen(entry->d_name) > DROP_STAMP_CHARS + 1)
            memcpy(out_names[count++].name, entry->d_name, strlen(entry->d_name) + 1);
    if (dir)
        closedir(dir);
    return count;
}

static Err open_taken(const DropFiles *files, const DropName *name, int *out_fd,
                      Error *why)
{
    struct stat file;
    const char *original = drop_original(name);
    *out_fd = -1;
    if (fstatat(files->taken_fd, name->name, &file, AT_SYMLINK_NOFOLLOW))
        return error_errno(why, "cannot look at %.200s", original);
    if (!S_ISREG(file.st_mode))
        return error_set(why, ERR_INVALID,
                         "%.200s is a link, a pipe or the like: a control file is a "
                         "plain file",
                         original);
    *out_fd = openat(files->taken_fd, name->name, READ_FLAGS);
    if (*out_fd < 0 && errno == EACCES)
        return error_set(
            why, ERR_DENIED,
            "%.200s cannot be read: Permission denied; its owner is user "
            "%u, its mode %o, and pawl runs as user %u: let that one read it",
            original, (unsigned)file.st_uid, (unsigned)file.st_mode & 07777u,
            (unsigned)geteuid());
    return *out_fd < 0 ? error_errno(why, "cannot open %.200s", original) : ERR_OK;
}

Err drop_files_read(DropFiles *files, const DropName *name, size_t max, Buf *out,
                    Error *why)
{
    int fd;
    Err err = open_taken(files, name, &fd, why);
    while (!err && out->bytes < max) {
        ssize_t got = read(fd, buf_room(out, max - out->bytes), max - out->bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            err = error_errno(why, "cannot read %.200s", drop_original(name));
        if (got <= 0)
            break;
        out->bytes += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
    return err;
}

Slice drop_stamp(const DropName *name)
{
    return slice_of(name->name, DROP_STAMP_CHARS);
}

const char *drop_original(const DropName *name)
{
    return name->name + DROP_STAMP_CHARS + 1;
}

void drop_files_done(DropFiles *files, const DropName *name)
{
    unlinkat(files->taken_fd, name->name, 0);
}

static void write_reason(const DropFiles *files, const char *name, const char *reason)
{
    char file[DROP_NAME_BYTES + 16];
    snprintf(file, sizeof file, "%s" FAILED_SUFFIX, name);
    int fd = openat(files->failed_fd, file,
                    O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    dprintf(fd, "%s\n", reason);
    close(fd);
}

/* The reason is there before the file is: who sees one finds the other. */
void drop_files_fail(DropFiles *files, const DropName *name, const char *reason)
{
    const char *original = drop_original(name);
    int stem = (int)(strlen(original) - strlen(CONTROL_SUFFIX));
    for (unsigned number = 1; number < FAILED_MAX; number++) {
        char to[DROP_NAME_BYTES];
        if (number == 1)
            snprintf(to, sizeof to, "%s", original);
        else
            snprintf(to, sizeof to, "%.*s.%u" CONTROL_SUFFIX, stem, original, number);
        if (faccessat(files->failed_fd, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        write_reason(files, to, reason);
        if (renameat2(files->taken_fd, name->name, files->failed_fd, to,
                      RENAME_NOREPLACE) == 0)
            return;
    }
}
