/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - see parts.h. */
#include "cli/parts.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 65536

/* A name as one word of a line: any byte may be in it. */
static void add_word(Buf *out, Slice name)
{
    for (size_t i = 0; i < name.bytes; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c <= ' ' || c == '%' || c == 127)
            buf_printf(out, "%%%02x", c);
        else
            buf_add_char(out, (char)c);
    }
}

static Err write_at(int fd, Slice bytes, int64_t at, Error *why)
{
    while (bytes.bytes) {
        ssize_t wrote = pwrite(fd, bytes.data, bytes.bytes, at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return error_errno(why, "cannot write the parts");
        bytes = slice_from(bytes, (size_t)wrote);
        at += wrote;
    }
    return ERR_OK;
}

/* --- Opening -----------------------------------------------------------------------
 */

static bool take_line(Parts *parts, Slice line)
{
    Slice what = slice_cut(&line, ' ');
    Slice name = slice_cut(&line, ' ');
    int64_t end;
    if (slice_is(what, "begun") && name.bytes) {
        names_intern(&parts->begun, name);
        return true;
    }
    if (!slice_is(what, "done") || int_parse(line, &end) || end < parts->end)
        return false;
    names_intern(&parts->done, name);
    parts->end = end;
    return true;
}

/* Reads whole lines; a torn last one was never synced, so nothing depends on it. */
static Err read_log(Parts *parts, Error *why)
{
    Buf text = { 0 };
    Err err = ERR_OK;
    for (;;) {
        ssize_t got = pread(parts->log_fd, buf_room(&text, READ_BYTES), READ_BYTES,
                            (off_t)(parts->log_end + (int64_t)text.bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            err = error_errno(why, "cannot read parts.log");
        if (got <= 0)
            break;
        text.bytes += (size_t)got;
        Slice rest = buf_slice(&text);
        const char *newline;
        while (!err && (newline = memchr(rest.data, '\n', rest.bytes))) {
            Slice line = slice_cut(&rest, '\n');
            if (!take_line(parts, line))
                err = error_set(why, ERR_CORRUPT,
                                "parts.log has a line that is none of ours");
            parts->log_end += (int64_t)line.bytes + 1;
            if (!rest.data)
                break;
        }
        if (err)
            break;
        buf_drop(&text, text.bytes - rest.bytes);
    }
    buf_done(&text);
    return err;
}

static Err recover(Parts *parts, Error *why)
{
    struct stat out;
    Err err = read_log(parts, why);
    if (err)
        return err;
    if (fstat(parts->out_fd, &out))
        return error_errno(why, "cannot look at parts.out");
    if (out.st_size < parts->end)
        return error_set(why, ERR_CORRUPT, "parts.out is shorter than parts.log says");
    if (ftruncate(parts->out_fd, parts->end) || ftruncate(parts->log_fd, parts->log_end))
        return error_errno(why, "cannot cut off what is not whole");
    return ERR_OK;
}

static int open_in(int dir, const char *name)
{
    return openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
}

Err parts_open(Parts *parts, const char *dir, Error *why)
{
    *parts = (Parts){ .log_fd = -1, .out_fd = -1 };
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(why, "cannot open the directory %s", dir);
    parts->log_fd = open_in(fd, "parts.log");
    parts->out_fd = open_in(fd, "parts.out");
    Err err = ERR_OK;
    if (parts->log_fd < 0 || parts->out_fd < 0 || fsync(fd))
        err = error_errno(why, "cannot open the parts in %s", dir);
    while (!err && flock(parts->log_fd, LOCK_EX))
        if (errno != EINTR)
            err = error_errno(why, "cannot lock the parts in %s", dir);
    close(fd);
    if (!err)
        err = recover(parts, why);
    if (err)
        parts_close(parts);
    return err;
}

void parts_close(Parts *parts)
{
    if (parts->log_fd >= 0)
        close(parts->log_fd);
    if (parts->out_fd >= 0)
        close(parts->out_fd);
    names_done(&parts->begun);
    names_done(&parts->done);
    *parts = (Parts){ .log_fd = -1, .out_fd = -1 };
}

/* --- Working -----------------------------------------------------------------------
 */

bool parts_is_done(const Parts *parts, Slice name)
{
    Buf word = { 0 };
    add_word(&word, name);
    bool done = names_find(&parts->done, buf_slice(&word)) != 0;
    buf_done(&word);
    return done;
}

static Err add_line(Parts *parts, Slice line, Error *why)
{
    Err err = write_at(parts->log_fd, line, parts->log_end, why);
    if (!err && fdatasync(parts->log_fd))
        err = error_errno(why, "cannot sync parts.log");
    if (!err)
        parts->log_end += (int64_t)line.bytes;
    return err;
}

Err parts_begin(Parts *parts, Slice name, Error *why)
{
    Buf line = { 0 };
    if (!name.bytes)
        return error_set(why, ERR_INVALID, "a part needs a name");
    add_word(&line, name);
    bool known = names_find(&parts->begun, buf_slice(&line)) != 0;
    if (!known)
        names_intern(&parts->begun, buf_slice(&line));
    buf_clear(&line);
    buf_add_text(&line, "begun ");
    add_word(&line, name);
    buf_add_char(&line, '\n');
    Err err = known ? ERR_OK : add_line(parts, buf_slice(&line), why);
    buf_done(&line);
    return err;
}

Err parts_write(Parts *parts, Slice bytes, Error *why)
{
    Err err = write_at(parts->out_fd, bytes, parts->end + parts->wrote, why);
    if (!err)
        parts->wrote += (int64_t)bytes.bytes;
    return err;
}

Err parts_finish(Parts *parts, Slice name, Error *why)
{
    Buf line = { 0 };
    if (fdatasync(parts->out_fd))
        return error_errno(why, "cannot sync parts.out");
    buf_add_text(&line, "done ");
    size_t from = line.bytes;
    add_word(&line, name);
    Buf word = { 0 };
    buf_add_slice(&word, slice_from(buf_slice(&line), from));
    buf_printf(&line, " %lld\n", (long long)(parts->end + parts->wrote));
    Err err = add_line(parts, buf_slice(&line), why);
    if (!err) {
        names_intern(&parts->done, buf_slice(&word));
        parts->end += parts->wrote;
        parts->wrote = 0;
    }
    buf_done(&word);
    buf_done(&line);
    return err;
}

Err parts_abandon(Parts *parts, Error *why)
{
    parts->wrote = 0;
    return ftruncate(parts->out_fd, parts->end) ? error_errno(why, "cannot cut parts.out")
                                                : ERR_OK;
}

Err parts_copy(const Parts *parts, const char *path, Error *why)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return error_errno(why, "cannot write %s", path);
    Buf block = { 0 };
    Err err = ERR_OK;
    for (int64_t at = 0; at < parts->end && !err;) {
        int64_t left = parts->end - at;
        size_t wanted = left < READ_BYTES ? (size_t)left : READ_BYTES;
        buf_clear(&block);
        ssize_t got = pread(parts->out_fd, buf_room(&block, wanted), wanted, at);
        if (got <= 0)
            err = error_errno(why, "cannot read parts.out");
        else
            err = write_at(fd, slice_of(block.data, (size_t)got), at, why);
        at += got;
    }
    if (!err && fsync(fd))
        err = error_errno(why, "cannot sync %s", path);
    close(fd);
    buf_done(&block);
    return err;
}
