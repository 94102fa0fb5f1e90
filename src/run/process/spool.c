/* SPDX-License-Identifier: Apache-2.0 */
/* spool.c - see spool.h. */
#include "run/process/spool.h"

#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define COPY_BYTES (64 << 10)

char *spool_path(const OutputName *name, char out[SPOOL_PATH_MAX])
{
    /* Two characters from the middle of the id turn over once a minute or so: folders
     * fill evenly, and jobs of one moment share one. */
    char id[ID_TEXT_BYTES];
    id_text(name->id, id);
    snprintf(out, SPOOL_PATH_MAX, "%s/logs/%.2s/%s.%u.%s", name->data_dir, id + 5, id,
             (unsigned)name->attempt, name->stream == OUTPUT_OUT ? "out" : "err");
    return out;
}

static int open_file(const OutputName *name, int flags)
{
    char path[SPOOL_PATH_MAX];
    spool_path(name, path);
    int fd = open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 || errno != ENOENT || !(flags & O_CREAT))
        return fd;
    char *slash = strrchr(path, '/');
    *slash = '\0';
    if (mkdir(path, 0700) && errno != EEXIST)
        return -1;
    *slash = '/';
    return open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int64_t spool_base(const char *path, int fd)
{
    char cut[SPOOL_PATH_MAX + 8];
    char text[128] = "";
    snprintf(cut, sizeof cut, "%s.cut", path);
    int cut_fd = open(cut, O_RDONLY | O_CLOEXEC);
    if (cut_fd < 0)
        return 0;
    ssize_t bytes = read(cut_fd, text, sizeof text - 1);
    close(cut_fd);
    struct stat file;
    if (bytes <= 0 || fstat(fd, &file))
        return 0;
    for (Slice rest = slice_of(text, (size_t)bytes); rest.bytes;) {
        Slice line = slice_cut(&rest, '\n');
        Slice inode_text = slice_cut(&line, ' ');
        int64_t inode, base;
        if (!int_parse(inode_text, &inode) && !int_parse(line, &base) &&
            inode == (int64_t)file.st_ino)
            return base;
    }
    return 0;
}

static int64_t first_kept(int fd, int64_t base)
{
    off_t data = lseek(fd, 0, SEEK_DATA);
    if (data < 0) /* nothing but a hole, or an empty file */
        data = lseek(fd, 0, SEEK_END);
    return base + (data > 0 ? data : 0);
}

void spool_init(Spool *spool, const OutputName *name, int64_t cap, bool fresh)
{
    *spool = (Spool){ .name = *name, .cap = cap, .fd = -1 };
    if (spool->cap < OUTPUT_BYTES_MAX_LEAST)
        spool->cap = OUTPUT_BYTES_MAX_LEAST;
    if (fresh)
        return;
    spool->fd = open_file(name, 0);
    if (spool->fd < 0)
        return;
    char path[SPOOL_PATH_MAX];
    spool->base = spool_base(spool_path(name, path), spool->fd);
    spool->no_holes = spool->base > 0;
    spool->first = first_kept(spool->fd, spool->base);
    spool->total = spool->base + lseek(spool->fd, 0, SEEK_END);
}

void spool_done(Spool *spool)
{
    if (spool->fd >= 0)
        close(spool->fd);
    spool->fd = -1;
}

/* For disks that cannot splice. A daemon that dies between the two calls loses what is
 * in its hands. */
static ssize_t copy(Spool *spool, int pipe_fd, off_t at, Buf *dropped)
{
    char bytes[COPY_BYTES];
    ssize_t got = read(pipe_fd, bytes, sizeof bytes);
    if (got <= 0)
        return got;
    ssize_t put = pwrite(spool->fd, bytes, (size_t)got, at);
    if (put == got)
        return got;
    buf_add(dropped, bytes, (size_t)got);
    spool->total += got;
    errno = ENOSPC;
    return -1;
}

/* The disk takes no more: so that the job can go on, its output is thrown away, and
 * what there is of it gives its room back. */
static size_t discard(Spool *spool, int pipe_fd, Buf *dropped)
{
    char bytes[COPY_BYTES];
    ssize_t got = read(pipe_fd, bytes, sizeof bytes);
    if (got > 0) {
        buf_add(dropped, bytes, (size_t)got);
        spool->total += got;
    }
    if (spool->fd >= 0 && ftruncate(spool->fd, 0) == 0 &&
        ftruncate(spool->fd, (off_t)(spool->total - spool->base)))
        errno = 0; /* readers see the right length when the next byte is written */
    spool->first = spool->total;
    return got > 0 ? (size_t)got : 0;
}

size_t spool_take(Spool *spool, int pipe_fd, Buf *dropped)
{
    int waiting = 0;
    if (ioctl(pipe_fd, FIONREAD, &waiting) || waiting <= 0)
        return 0;
    if (spool->fd < 0 && !spool->total)
        spool->fd = open_file(&spool->name, O_CREAT | O_TRUNC);
    if (spool->fd < 0)
        return discard(spool, pipe_fd, dropped);

    off_t at = (off_t)(spool->total - spool->base);
    ssize_t moved = -1;
    if (!spool->no_splice) {
        moved = splice(pipe_fd, NULL, spool->fd, &(loff_t){ at }, SPOOL_TAKE_MAX,
                       SPLICE_F_NONBLOCK);
        spool->no_splice = moved < 0 && errno == EINVAL;
    }
    if (spool->no_splice)
        moved = copy(spool, pipe_fd, at, dropped);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (moved < 0)
        return discard(spool, pipe_fd, dropped);
    spool->total += moved;
    return (size_t)moved;
}

void spool_put(Spool *spool, Slice bytes)
{
    if (spool->fd < 0 && bytes.bytes)
        spool->fd = open_file(&spool->name, O_CREAT);
    while (bytes.bytes) {
        off_t at = (off_t)(spool->total - spool->base);
        ssize_t put =
            spool->fd >= 0 ? pwrite(spool->fd, bytes.data, bytes.bytes, at) : -1;
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) { /* a full disk: as if it were older than the cap */
            spool->total += (int64_t)bytes.bytes;
            break;
        }
        spool->total += put;
        bytes = slice_from(bytes, (size_t)put);
    }
    spool_trim(spool);
}

void spool_read(const Spool *spool, int64_t from, size_t max, Buf *out)
{
    if (spool->fd < 0)
        return;
    if (from < spool->first)
        from = spool->first;
    while (from < spool->total && max) {
        size_t part =
            (size_t)(spool->total - from) < max ? (size_t)(spool->total - from) : max;
        ssize_t got = pread(spool->fd, buf_room(out, part), part, from - spool->base);
        if (got <= 0)
            return;
        out->bytes += (size_t)got;
        from += got;
        max -= (size_t)got;
    }
}

bool spool_over(const Spool *spool)
{
    int64_t slack = spool->no_holes ? spool->cap : spool->cap / 8;
    return spool->fd >= 0 && spool->total - spool->first > spool->cap + slack;
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return done;
}

/* Copies what is to be kept into a new file and puts it in place of the old. The .cut
 * file speaks of both, so it is true before and after. */
static bool rewrite(Spool *spool, int64_t new_first)
{
    char path[SPOOL_PATH_MAX];
    char fresh[SPOOL_PATH_MAX + 8], cut[SPOOL_PATH_MAX + 8],
        cut_fresh[SPOOL_PATH_MAX + 8];
    spool_path(&spool->name, path);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    snprintf(cut, sizeof cut, "%s.cut", path);
    snprintf(cut_fresh, sizeof cut_fresh, "%s.cut.new", path);
    int fd = open(fresh, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
    struct stat file = { 0 }, old = { 0 };
    if (fd < 0)
        return false;
    bool done = fstat(fd, &file) == 0 && fstat(spool->fd, &old) == 0;
    char bytes[COPY_BYTES];
    for (int64_t at = new_first; done && at < spool->total;) {
        ssize_t got = pread(spool->fd, bytes, sizeof bytes, at - spool->base);
        done = got > 0 && pwrite(fd, bytes, (size_t)got, at - new_first) == got;
        at += got;
    }
    snprintf(bytes, sizeof bytes, "%llu %lld\n%llu %lld\n",
             (unsigned long long)file.st_ino, (long long)new_first,
             (unsigned long long)old.st_ino, (long long)spool->base);
    done = done && write_text(cut_fresh, bytes) && rename(cut_fresh, cut) == 0 &&
           rename(fresh, path) == 0;
    if (!done) {
        close(fd);
        unlink(fresh);
        return false;
    }
    close(spool->fd);
    spool->fd = fd;
    spool->base = new_first;
    spool->first = new_first;
    return true;
}

void spool_trim(Spool *spool)
{
    if (!spool_over(spool))
        return;
    int64_t new_first = (spool->total - spool->cap) / SPOOL_BLOCK * SPOOL_BLOCK;
    if (new_first <= spool->first)
        return;
    if (!spool->no_holes) {
        int64_t from = spool->first / SPOOL_BLOCK * SPOOL_BLOCK;
        if (fallocate(spool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from,
                      new_first - from) == 0) {
            spool->first = new_first;
            return;
        }
        spool->no_holes = errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL;
    } else if (!rewrite(spool, new_first)) {
        spool->cap *= 2; /* not again at once; the disk has other troubles */
    }
}
