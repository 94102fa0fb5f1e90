/* SPDX-License-Identifier: Apache-2.0 */
/* io.c - see io.h. */
#include "journal/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define ZERO_BYTES ((size_t)64 * 1024) /* one system call; larger brings nothing */

JournalIo journal_io = {
    .pwritev = pwritev,
    .pread = pread,
    .fdatasync = fdatasync,
    .fallocate = fallocate,
    .ftruncate = ftruncate,
    .openat = openat,
    .renameat = renameat,
    .unlinkat = unlinkat,
    .fsync = fsync,
};

/* Moves the parts past what has been written; returns how many are done with. */
static size_t parts_skip(struct iovec *parts, size_t count, size_t written)
{
    size_t at = 0;
    while (at < count && written >= parts[at].iov_len)
        written -= parts[at++].iov_len;
    if (at < count) {
        parts[at].iov_base = (char *)parts[at].iov_base + written;
        parts[at].iov_len -= written;
    }
    return at;
}

Err io_write_parts(int fd, struct iovec *parts, size_t count, uint64_t offset)
{
    while (count) {
        int batch = count < IOV_MAX ? (int)count : IOV_MAX;
        ssize_t written = journal_io.pwritev(fd, parts, batch, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return err_from_errno(errno);
        size_t done = parts_skip(parts, count, (size_t)written);
        if (!written && !done) {
            errno = EIO; /* neither progress nor a reason: do not spin */
            return ERR_IO;
        }
        offset += (uint64_t)written;
        parts += done;
        count -= done;
    }
    return ERR_OK;
}

Err io_write(int fd, Slice bytes, uint64_t offset)
{
    union { /* iovec has no const form; pwritev only reads */
        const char *from;
        void *base;
    } cast = { bytes.data };
    struct iovec part = { cast.base, bytes.bytes };
    return io_write_parts(fd, &part, bytes.bytes ? 1 : 0, offset);
}

Err io_write_zeros(int fd, uint64_t offset, uint64_t bytes, uint64_t *done)
{
    static const char zeros[ZERO_BYTES];
    *done = 0;
    while (*done < bytes) {
        uint64_t left = bytes - *done;
        size_t step = left < ZERO_BYTES ? (size_t)left : ZERO_BYTES;
        Err err = io_write(fd, slice_of(zeros, step), offset + *done);
        if (err)
            return err;
        *done += step;
    }
    return ERR_OK;
}

Err io_read(int fd, char *out, size_t bytes, uint64_t offset, size_t *out_bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got =
            journal_io.pread(fd, out + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_from_errno(errno);
        if (!got)
            break;
        done += (size_t)got;
    }
    *out_bytes = done;
    return ERR_OK;
}

static Err sync_with(int (*sync)(int), int fd)
{
    int failed;
    do {
        failed = sync(fd);
    } while (failed && errno == EINTR);
    return failed ? err_from_errno(errno) : ERR_OK;
}

Err io_sync(int fd)
{
    return sync_with(journal_io.fdatasync, fd);
}

Err io_sync_dir(int fd)
{
    return sync_with(journal_io.fsync, fd);
}

Err io_reserve(int fd, uint64_t offset, uint64_t bytes)
{
    int failed;
    do {
        failed = bytes ? journal_io.fallocate(fd, 0, (off_t)offset, (off_t)bytes) : 0;
    } while (failed && errno == EINTR);
    if (!failed)
        return ERR_OK;
    return errno == EOPNOTSUPP || errno == ENOSYS ? ERR_UNSUPPORTED
                                                  : err_from_errno(errno);
}

int64_t io_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
