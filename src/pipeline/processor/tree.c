/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - see tree.h. */
#include "pipeline/processor/tree.h"

#include "base/times.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STEP_BYTES  (1 << 20) /* between looks at the clock and at `end` */
#define BLOCK_BYTES 65536
#define NAP_MS      50

/* Closes without losing the reason of a failure before it. */
static bool closed(int fd, bool good)
{
    int error_number = errno;
    close(fd);
    errno = error_number;
    return good;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* --- Making durable ----------------------------------------------------------------- */

static bool sync_entry(int dir, const char *name, int depth);

static bool sync_entries(int fd, int depth)
{
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = own >= 0 ? fdopendir(own) : NULL;
    if (!stream)
        return own >= 0 ? closed(own, false) : false;
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(stream));) {
        bool wanted = entry->d_type == DT_REG || entry->d_type == DT_DIR ||
                      entry->d_type == DT_UNKNOWN;
        if (!is_dots(entry->d_name) && wanted)
            good = sync_entry(fd, entry->d_name, depth + 1);
    }
    int error_number = errno;
    closedir(stream);
    errno = error_number;
    return good;
}

static bool sync_entry(int dir, const char *name, int depth)
{
    struct stat what;
    if (fstatat(dir, name, &what, AT_SYMLINK_NOFOLLOW))
        return false;
    if (!S_ISREG(what.st_mode) && !S_ISDIR(what.st_mode))
        return true;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES; /* what its maker cannot read is the maker's choice */
    bool good =
        !S_ISDIR(what.st_mode) || depth >= TREE_DEPTH_MAX || sync_entries(fd, depth);
    return closed(fd, good && fsync(fd) == 0);
}

bool tree_sync(int dir, const char *name)
{
    return sync_entry(dir, name, 0);
}

/* --- Copying ------------------------------------------------------------------------ */

static bool ended(const TreeCopy *copy)
{
    if (!copy->end || !*copy->end)
        return false;
    errno = ECANCELED;
    return true;
}

/* After each step: no faster than the rate. */
static bool pace(TreeCopy *copy, int64_t bytes)
{
    copy->bytes += bytes;
    while (copy->rate && !ended(copy)) {
        int64_t due_ms =
            copy->began_ms + (int64_t)((double)copy->bytes * 1000 / (double)copy->rate);
        int64_t left_ms = due_ms - clock_now().boot_ms;
        if (left_ms <= 0)
            break;
        long nap_ms = left_ms < NAP_MS ? (long)left_ms : NAP_MS;
        nanosleep(&(struct timespec){ .tv_nsec = nap_ms * 1000000 }, NULL);
    }
    return !ended(copy);
}

/* Where copy_file_range cannot: between some file systems. */
static ssize_t copy_block(int from, int to, off_t at, size_t bytes)
{
    char block[BLOCK_BYTES];
    ssize_t got = pread(from, block, bytes < sizeof block ? bytes : sizeof block, at);
    for (ssize_t done = 0; done < got;) {
        ssize_t wrote = pwrite(to, block + done, (size_t)(got - done), at + done);
        if (wrote < 0)
            return -1;
        done += wrote;
    }
    return got;
}

static ssize_t copy_step(int from, int to, off_t at, size_t bytes)
{
    off_t in = at;
    off_t out = at;
    ssize_t done = copy_file_range(from, &in, to, &out, bytes, 0);
    if (done < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS ||
                     errno == EOPNOTSUPP || errno == ETXTBSY))
        return copy_block(from, to, at, bytes);
    return done;
}

static bool copy_range(TreeCopy *copy, int from, int to, off_t at, off_t end)
{
    while (at < end) {
        size_t bytes = end - at < STEP_BYTES ? (size_t)(end - at) : STEP_BYTES;
        ssize_t done = copy_step(from, to, at, bytes);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        if (done == 0)
            return true; /* it has become shorter: its owner's doing */
        at += done;
        if (!pace(copy, done))
            return false;
    }
    return true;
}

/* Holes stay holes. */
static bool copy_bytes(TreeCopy *copy, int from, int to, off_t size)
{
    if (!copy->rate && ioctl(to, FICLONE, from) == 0)
        return true;
    for (off_t at = 0; at < size;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break;
        if (data < 0)
            data = at;
        off_t hole = lseek(from, data, SEEK_HOLE);
        if (hole < 0)
            hole = size;
        if (!copy_range(copy, from, to, data, hole))
            return false;
        at = hole;
    }
    return ftruncate(to, size) == 0;
}

/* Owner (where we may), mode and time, as they were. */
static bool same_looks(int fd, const struct stat *what)
{
    struct timespec times[] = { what->st_atim, what->st_mtim };
    if (fchown(fd, what->st_uid, what->st_gid) && errno != EPERM && errno != EINVAL)
        return false;
    return fchmod(fd, what->st_mode & 07777) == 0 && futimens(fd, times) == 0;
}

static bool copy_file(TreeCopy *copy, int from, int to, const char *name)
{
    struct stat what;
    int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (in < 0)
        return false;
    int out =
        openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (out < 0)
        return closed(in, false);
    bool good = fstat(in, &what) == 0 && copy_bytes(copy, in, out, what.st_size) &&
                same_looks(out, &what);
    /* On its way to the disk: one later sync waits for many files at once. */
    if (good)
        sync_file_range(out, 0, 0, SYNC_FILE_RANGE_WRITE);
    closed(in, good);
    return closed(out, good);
}

static bool copy_link(int from, int to, const char *name)
{
    char target[PATH_MAX];
    ssize_t bytes = readlinkat(from, name, target, sizeof target - 1);
    if (bytes < 0)
        return false;
    target[bytes] = '\0';
    return symlinkat(target, to, name) == 0;
}

static bool copy_entry(TreeCopy *copy, int from, int to, const char *name, int depth);

static bool copy_entries(TreeCopy *copy, int from, int to, int depth)
{
    int own = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = own >= 0 ? fdopendir(own) : NULL;
    if (!stream)
        return own >= 0 ? closed(own, false) : false;
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(stream));)
        good = is_dots(entry->d_name) ||
               (!ended(copy) && copy_entry(copy, from, to, entry->d_name, depth + 1));
    int error_number = errno;
    closedir(stream);
    errno = error_number;
    return good;
}

static bool copy_folder(TreeCopy *copy, int from, int to, const char *name, int depth)
{
    struct stat what;
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if (depth >= TREE_DEPTH_MAX) {
        errno = ELOOP;
        return false;
    }
    int in = openat(from, name, flags);
    if (in < 0)
        return false;
    if (mkdirat(to, name, 0700))
        return closed(in, false);
    int out = openat(to, name, flags);
    if (out < 0)
        return closed(in, false);
    bool good = fstat(in, &what) == 0 && copy_entries(copy, in, out, depth) &&
                same_looks(out, &what);
    closed(in, good);
    return closed(out, good);
}

static bool copy_entry(TreeCopy *copy, int from, int to, const char *name, int depth)
{
    struct stat what;
    if (fstatat(from, name, &what, AT_SYMLINK_NOFOLLOW))
        return false;
    switch (what.st_mode & S_IFMT) {
    case S_IFREG:
        return copy_file(copy, from, to, name);
    case S_IFDIR:
        return copy_folder(copy, from, to, name, depth);
    case S_IFLNK:
        return copy_link(from, to, name);
    default:
        return true;
    }
}

bool tree_copy(TreeCopy *copy, int from, int to, const char *name)
{
    if (!copy->began_ms)
        copy->began_ms = clock_now().boot_ms;
    return copy_entry(copy, from, to, name, 0);
}
