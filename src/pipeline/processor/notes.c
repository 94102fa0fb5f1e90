/* SPDX-License-Identifier: Apache-2.0 */
/* notes.c - see notes.h. */
#include "pipeline/processor/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define OWN_BYTES_MAX 65536
#define DIR_MODE      0755
#define NEW           ".new"  /* of files; no unit has a hidden name */
#define NEW_NOTE      ".note" /* of notes: and whose, for others make them, too */
#define NEW_BYTES     64

static int open_below(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int open_folder(const Buckets *buckets, const char *folder, bool make)
{
    if (!folder[0])
        return open_below(buckets->own_fd, ".");
    int fd = open_below(buckets->own_fd, folder);
    if (fd >= 0 || !make || errno != ENOENT)
        return fd;
    char part[256];
    const char *slash = strchr(folder, '/');
    if (slash) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - folder), folder);
        if (mkdirat(buckets->own_fd, part, DIR_MODE) && errno != EEXIST)
            return -1;
    }
    if (mkdirat(buckets->own_fd, folder, DIR_MODE) && errno != EEXIST)
        return -1;
    if (fsync(buckets->own_fd))
        return -1;
    return open_below(buckets->own_fd, folder);
}

static bool write_all(int fd, Slice text)
{
    while (text.bytes) {
        ssize_t wrote = write(fd, text.data, text.bytes);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        text = slice_from(text, (size_t)wrote);
    }
    return true;
}

Err own_write(const Buckets *buckets, const char *folder, const char *name, Slice text,
              Error *why)
{
    int dir = open_folder(buckets, folder, true);
    if (dir < 0)
        return error_errno(why, "cannot make %s/" OWN_DIR "/%s", buckets->dir, folder);
    /* The one writer of these files is one thread: one temporary name is enough. */
    int fd = openat(dir, NEW, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool good = fd >= 0 && write_all(fd, text) && fsync(fd) == 0 &&
                renameat(dir, NEW, dir, name) == 0 && fsync(dir) == 0;
    Err err = good ? ERR_OK
                   : error_errno(why, "cannot write in %s/" OWN_DIR "/%s", buckets->dir,
                                 folder);
    if (fd >= 0)
        close(fd);
    close(dir);
    return err;
}

Err own_read(const Buckets *buckets, const char *folder, const char *name, Buf *out)
{
    int dir = open_folder(buckets, folder, false);
    if (dir < 0)
        return ERR_NOT_FOUND;
    buf_clear(out);
    char *room = buf_room(out, OWN_BYTES_MAX);
    ssize_t bytes = readlinkat(dir, name, room, OWN_BYTES_MAX);
    int fd = bytes < 0 ? openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    close(dir);
    if (bytes < 0 && fd < 0)
        return ERR_NOT_FOUND;
    if (fd >= 0) {
        bytes = read(fd, room, OWN_BYTES_MAX);
        close(fd);
    }
    if (bytes < 0)
        return ERR_IO;
    out->bytes += (size_t)bytes;
    return ERR_OK;
}

void own_remove(const Buckets *buckets, const char *folder, const char *name)
{
    int dir = open_folder(buckets, folder, false);
    if (dir < 0)
        return;
    unlinkat(dir, name, 0);
    close(dir);
}

/* --- Notes ----------------------------------------------------------------------------
 */

/* Another thread, another daemon or another machine may be making one in the same folder.
 */
static void new_note_name(char out[NEW_BYTES])
{
    static atomic_uint count;
    snprintf(out, NEW_BYTES, NEW_NOTE ".%d.%lld.%u", getpid(),
             (long long)clock_now().boot_ms, count++);
}

bool note_set(int dir, const char *name, Slice text)
{
    char target[NOTE_BYTES_MAX + 1];
    char new_name[NEW_BYTES];
    if (!text.bytes || text.bytes > NOTE_BYTES_MAX) {
        errno = EINVAL;
        return false;
    }
    memcpy(target, text.data, text.bytes);
    target[text.bytes] = '\0';
    new_note_name(new_name);
    if (unlinkat(dir, new_name, 0) && errno != ENOENT)
        return false;
    return symlinkat(target, dir, new_name) == 0 &&
           renameat(dir, new_name, dir, name) == 0;
}

Slice note_read(int dir, const char *name, char out[NOTE_BYTES_MAX])
{
    ssize_t bytes = readlinkat(dir, name, out, NOTE_BYTES_MAX);
    if (bytes < 0) {
        int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        bytes = fd >= 0 ? read(fd, out, NOTE_BYTES_MAX) : 0;
        if (fd >= 0)
            close(fd);
    }
    return slice_of(out, bytes > 0 ? (size_t)bytes : 0);
}

Err own_note(const Buckets *buckets, const char *folder, const char *name, Slice text,
             Error *why)
{
    int dir = open_folder(buckets, folder, true);
    bool good = dir >= 0 && note_set(dir, name, text);
    Err err = good ? ERR_OK
                   : error_errno(why, "cannot write in %s/" OWN_DIR "/%s", buckets->dir,
                                 folder);
    if (dir >= 0)
        close(dir);
    return err;
}

Err own_sync(const Buckets *buckets, const char *folder, Error *why)
{
    int dir = open_folder(buckets, folder, false);
    bool good = dir >= 0 && fsync(dir) == 0;
    Err err =
        good ? ERR_OK
             : error_errno(why, "cannot sync %s/" OWN_DIR "/%s", buckets->dir, folder);
    if (dir >= 0)
        close(dir);
    return err;
}
