/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - see output.h: reading and removing. Writing is in spool.c. */
#include "run/process/output.h"
#include "run/files/sweep.h"
#include "run/process/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file and the offset of its first byte. The file may be replaced between the two
 * looks; a second try then sees both new. */
static Err open_stream(const OutputName *name, int *out_fd, int64_t *out_base)
{
    char path[SPOOL_PATH_MAX];
    spool_path(name, path);
    for (;;) {
        struct stat opened, there;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
            return errno == ENOENT ? ERR_NOT_FOUND : err_from_errno(errno);
        int64_t base = spool_base(path, fd);
        if (fstat(fd, &opened) || stat(path, &there) || opened.st_ino == there.st_ino) {
            *out_fd = fd;
            *out_base = base;
            return ERR_OK;
        }
        close(fd);
    }
}

static int64_t first_kept(int fd, int64_t base, int64_t total)
{
    off_t data = lseek(fd, 0, SEEK_DATA);
    return data >= 0 ? base + data : total;
}

Err output_read(const OutputName *name, int64_t from, size_t max, Buf *out,
                OutputPart *out_part)
{
    int fd = -1;
    int64_t base = 0;
    Err err = open_stream(name, &fd, &base);
    if (err == ERR_NOT_FOUND) {
        *out_part = (OutputPart){ 0 };
        return ERR_OK;
    }
    if (err)
        return err;
    OutputPart part = { 0 };
    part.total = base + lseek(fd, 0, SEEK_END);
    if (from < 0)
        from = part.total + from > 0 ? part.total + from : 0;
    if (from < first_kept(fd, base, part.total))
        from = first_kept(fd, base, part.total);

    size_t before = out->bytes;
    size_t size = part.total > from ? (size_t)(part.total - from) : 0;
    ssize_t got = size ? pread(fd, buf_room(out, size < max ? size : max),
                               size < max ? size : max, from - base)
                       : 0;
    if (got < 0)
        err = err_from_errno(errno);
    /* Again, after reading: what was dropped meanwhile reads as zeros. */
    part.first = first_kept(fd, base, part.total);
    close(fd);
    if (err)
        return err;
    out->bytes += (size_t)got;
    if (from < part.first && got == 0) {
        from = part.first;
    } else if (from < part.first) {
        size_t gone = (size_t)(part.first - from);
        size_t kept = gone < (size_t)got ? (size_t)got - gone : 0;
        memmove(out->data + before, out->data + out->bytes - kept, kept);
        out->bytes = before + kept;
        from = part.first;
    }
    part.from = from;
    part.next = from + (int64_t)(out->bytes - before);
    *out_part = part;
    return ERR_OK;
}

void output_erase(const char *data_dir, JobId id, uint32_t attempts)
{
    static const char *const suffixes[] = { ".cut", ".new", ".cut.new" };
    char path[SPOOL_PATH_MAX];
    char file[SPOOL_PATH_MAX + 16];
    char text[ID_TEXT_BYTES];
    for (uint32_t attempt = 1; attempt <= attempts; attempt++)
        for (int stream = 0; stream < OUTPUT_STREAMS; stream++) {
            OutputName name = { data_dir, id, attempt, (OutputStream)stream };
            spool_path(&name, path);
            if (unlink(path))
                continue; /* printed nothing: the others are not there either */
            for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
                snprintf(file, sizeof file, "%s%s", path, suffixes[i]);
                unlink(file);
            }
        }
    id_text(id, text);
    snprintf(path, sizeof path, "%s/state/%s", data_dir, text);
    sweep_path(path);
    snprintf(path, sizeof path, "%s/files/%s", data_dir, text);
    sweep_path(path);
}
