/* SPDX-License-Identifier: Apache-2.0 */
/* output_lines.c - see output_lines.h.
 *
 * The files: `children` (lines), `result` (bytes as they are), `said` (packed, and
 * replaced by rename). A `result` newer than `said` does no harm: reading on from an
 * older offset ends at the same one. */
#include "run/process/output_lines.h"

#include "base/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES     4400
#define SAID_BYTES_MAX (64u << 20)

typedef enum SaidTag {
    TAG_READ = 1,
    TAG_CODE,
    TAG_CUT,
    TAG_PROGRESS, /* + 1, so that 0 % is told from none */
    TAG_MESSAGE,
    TAG_CHILDREN,
    TAG_CHILDREN_BYTES,
    TAG_CHILD_COUNT,
    TAG_NOW_COUNT,
    TAG_LINE,
    TAG_LINE_MODE,
    TAG_LINE_LEFT,
    TAG_LINE_CODE,
    TAG_LINE_CUT,
    TAG_REFUSED,
    TAG_REFUSED_FIRST,
} SaidTag;

void output_lines_init(OutputLines *said, const char *dir, size_t result_bytes_max)
{
    *said = (OutputLines){ .dir = dir, .progress = -1, .children_fd = -1 };
    said->parser.result_bytes_max = result_bytes_max;
}

void output_lines_done(OutputLines *said)
{
    line_done(&said->parser);
    buf_done(&said->result);
    buf_done(&said->message);
    buf_done(&said->children);
    line_note_done(&said->refused);
    if (said->children_fd >= 0)
        close(said->children_fd);
    said->children_fd = -1;
}

static int open_file(const OutputLines *said, const char *name, int flags)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", said->dir, name);
    return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static bool write_all(int fd, Slice bytes)
{
    while (bytes.bytes) {
        ssize_t put = write(fd, bytes.data, bytes.bytes);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes = slice_from(bytes, (size_t)put);
    }
    return true;
}

/* Many children go to disk. When that is full they stay in memory: they must not be
 * lost, and a line of output is larger than its child. */
static void spill(OutputLines *said)
{
    if (said->children_fd < 0)
        said->children_fd = open_file(said, "children", O_CREAT | O_TRUNC | O_RDWR);
    if (said->children_fd >= 0 &&
        lseek(said->children_fd, (off_t)said->children_bytes, SEEK_SET) >= 0 &&
        write_all(said->children_fd, buf_slice(&said->children))) {
        said->children_bytes += (int64_t)said->children.bytes;
        buf_clear(&said->children);
        return;
    }
    said->children_failed = true;
}

static void take(OutputLines *said, const LineEvent *event, const OutputLinesSink *sink)
{
    switch (event->kind) {
    case LINE_CHILD:
        if (!sink->all_now) {
            buf_add_slice(&said->children, event->type);
            buf_add_char(&said->children, '|');
            buf_add_slice(&said->children, event->payload);
            buf_add_char(&said->children, '\n');
            said->child_count++;
            if (said->children.bytes > SAID_CHILDREN_BYTES_MAX && !said->children_failed)
                spill(said);
            return;
        }
        sink->now(sink->context, ++said->now_count, event->type, event->payload);
        return;
    case LINE_CHILD_NOW:
        sink->now(sink->context, ++said->now_count, event->type, event->payload);
        return;
    case LINE_PROGRESS:
        said->progress = event->number;
        said->progress_news = true;
        buf_clear(&said->message);
        buf_add_slice(&said->message, event->payload);
        return;
    case LINE_RESULT:
        said->code = event->number;
        said->result_cut = event->cut;
        said->result_saved = false;
        buf_clear(&said->result);
        buf_add_slice(&said->result, event->payload);
        return;
    case LINE_REFUSED:
        line_note_add(&said->refused, event);
        return;
    }
}

void output_lines_read(OutputLines *said, Slice bytes, const OutputLinesSink *sink)
{
    LineEvent event;
    said->read += (int64_t)bytes.bytes;
    while (line_next(&said->parser, &bytes, &event))
        take(said, &event, sink);
}

void output_lines_end(OutputLines *said, const OutputLinesSink *sink)
{
    LineEvent event;
    while (line_end(&said->parser, &event))
        take(said, &event, sink);
    if (said->children_fd >= 0 && said->children.bytes)
        spill(said);
    /* After a restart the file may hold more than was read again. */
    if (said->children_fd >= 0 &&
        ftruncate(said->children_fd, (off_t)said->children_bytes))
        said->children_failed = true;
}

static Err replace(const OutputLines *said, const char *name, Slice bytes)
{
    char path[PATH_BYTES], fresh[PATH_BYTES + 8];
    snprintf(path, sizeof path, "%s/%s", said->dir, name);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    int fd = open(fresh, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_from_errno(errno);
    Err err = write_all(fd, bytes) ? ERR_OK : err_from_errno(errno);
    close(fd);
    if (!err && rename(fresh, path))
        err = err_from_errno(errno);
    return err;
}

Err output_lines_save(OutputLines *said)
{
    if (said->code && !said->result_saved) {
        Err err = replace(said, "result", buf_slice(&said->result));
        if (err)
            return err;
        said->result_saved = true;
    }
    Buf out = { 0 };
    pack_int(&out, TAG_READ, said->read);
    pack_int(&out, TAG_CODE, said->code);
    pack_int(&out, TAG_CUT, said->result_cut);
    pack_int(&out, TAG_PROGRESS, said->progress + 1);
    pack_bytes(&out, TAG_MESSAGE, buf_slice(&said->message));
    pack_bytes(&out, TAG_CHILDREN, buf_slice(&said->children));
    pack_int(&out, TAG_CHILDREN_BYTES, said->children_bytes);
    pack_int(&out, TAG_CHILD_COUNT, (int64_t)said->child_count);
    pack_int(&out, TAG_NOW_COUNT, (int64_t)said->now_count);
    if (!said->parser.handed)
        pack_bytes(&out, TAG_LINE, buf_slice(&said->parser.line));
    pack_int(&out, TAG_LINE_MODE, said->parser.mode);
    pack_int(&out, TAG_LINE_LEFT, (int64_t)said->parser.left);
    pack_int(&out, TAG_LINE_CODE, said->parser.code);
    pack_int(&out, TAG_LINE_CUT, said->parser.cut);
    pack_int(&out, TAG_REFUSED, (int64_t)said->refused.count);
    pack_bytes(&out, TAG_REFUSED_FIRST, buf_slice(&said->refused.first));
    Err err = replace(said, "said", buf_slice(&out));
    buf_done(&out);
    return err;
}

static bool read_file(const OutputLines *said, const char *name, Buf *out)
{
    int fd = open_file(said, name, O_RDONLY);
    struct stat file;
    if (fd < 0)
        return false;
    ssize_t got = -1;
    if (fstat(fd, &file) == 0 && file.st_size <= SAID_BYTES_MAX) {
        size_t bytes = (size_t)file.st_size;
        got = read(fd, buf_room(out, bytes), bytes);
    }
    close(fd);
    out->bytes += got > 0 ? (size_t)got : 0;
    return got >= 0;
}

static void load_field(OutputLines *said, const PackField *field)
{
    switch ((SaidTag)field->tag) {
    case TAG_READ:
        said->read = field->number;
        break;
    case TAG_CODE:
        said->code = (int32_t)field->number;
        break;
    case TAG_CUT:
        said->result_cut = field->number != 0;
        break;
    case TAG_PROGRESS:
        said->progress = (int32_t)field->number - 1;
        break;
    case TAG_MESSAGE:
        buf_add_slice(&said->message, field->bytes);
        break;
    case TAG_CHILDREN:
        buf_add_slice(&said->children, field->bytes);
        break;
    case TAG_CHILDREN_BYTES:
        said->children_bytes = field->number;
        break;
    case TAG_CHILD_COUNT:
        said->child_count = (uint64_t)field->number;
        break;
    case TAG_NOW_COUNT:
        said->now_count = (uint64_t)field->number;
        break;
    case TAG_LINE:
        buf_add_slice(&said->parser.line, field->bytes);
        break;
    case TAG_LINE_MODE:
        said->parser.mode = (LineMode)field->number;
        break;
    case TAG_LINE_LEFT:
        said->parser.left = (uint64_t)field->number;
        break;
    case TAG_LINE_CODE:
        said->parser.code = (int32_t)field->number;
        break;
    case TAG_LINE_CUT:
        said->parser.cut = field->number != 0;
        break;
    case TAG_REFUSED:
        said->refused.count = (uint64_t)field->number;
        break;
    case TAG_REFUSED_FIRST:
        buf_add_slice(&said->refused.first, field->bytes);
        break;
    }
}

bool output_lines_load(OutputLines *said)
{
    Buf packed = { 0 };
    if (!read_file(said, "said", &packed)) {
        buf_done(&packed);
        return false;
    }
    Slice rest = buf_slice(&packed);
    PackField field;
    while (pack_next(&rest, &field))
        load_field(said, &field);
    buf_done(&packed);
    said->progress_news = said->progress >= 0;
    said->result_saved = said->code && read_file(said, "result", &said->result);
    if (said->children_bytes) /* what was added later is read again */
        said->children_fd = open_file(said, "children", O_RDWR);
    return true;
}
