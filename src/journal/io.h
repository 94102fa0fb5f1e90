/* SPDX-License-Identifier: Apache-2.0 */
/* io.h - the journal's system calls, behind a table that tests replace.
 *
 * Functions here go on after signals and short writes. errno still says why one failed
 * when it returns. */
#ifndef JOURNAL_IO_H
#define JOURNAL_IO_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef struct JournalIo {
    ssize_t (*pwritev)(int fd, const struct iovec *parts, int count, off_t offset);
    ssize_t (*pread)(int fd, void *out, size_t bytes, off_t offset);
    int (*fdatasync)(int fd);
    int (*fallocate)(int fd, int mode, off_t offset, off_t bytes);
    int (*ftruncate)(int fd, off_t bytes);
    int (*openat)(int dir_fd, const char *name, int flags, ...);
    int (*renameat)(int from_fd, const char *from, int to_fd, const char *to);
    int (*unlinkat)(int dir_fd, const char *name, int flags);
    int (*fsync)(int fd); /* of the directory */
} JournalIo;

/* Changed only by tests, while no journal is open. */
extern JournalIo journal_io;

/* Writes all of the parts; changes them. */
MUST_CHECK Err io_write_parts(int fd, struct iovec *parts, size_t count, uint64_t offset);
MUST_CHECK Err io_write(int fd, Slice bytes, uint64_t offset);

/* Zeros; *done says how many bytes were written even if the last ones could not be. */
MUST_CHECK Err io_write_zeros(int fd, uint64_t offset, uint64_t bytes, uint64_t *done);

/* Fewer bytes than asked for only at the end of the file. */
MUST_CHECK Err io_read(int fd, char *out, size_t bytes, uint64_t offset,
                       size_t *out_bytes);

MUST_CHECK Err io_sync(int fd);
MUST_CHECK Err io_sync_dir(int fd);

/* Room on the disk for a part of a file, which reads as zeros where nothing was written.
 * ERR_UNSUPPORTED where the file system cannot promise it. */
MUST_CHECK Err io_reserve(int fd, uint64_t offset, uint64_t bytes);

int64_t io_now_ns(void); /* for measuring only */

#endif
