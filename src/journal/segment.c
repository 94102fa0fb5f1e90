/* SPDX-License-Identifier: Apache-2.0 */
/* segment.c - see segment.h. */
#include "journal/segment.h"

#include "journal/io.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SUFFIX       ".journal"
#define NAME_DIGITS  20
#define LINE_BYTES   512  /* of each line of the page, padded with spaces */
#define SYNCED_AT    1024 /* a sector of its own: writing it cannot hurt the rest */
#define SYNCED_START "#:Synced position="

/* --- The page -------------------------------------------------------------- */

/* Writes the line out and frees it. */
static void put_line(char *at, Buf *line)
{
    assert(line->bytes < LINE_BYTES);
    memcpy(at, line->data, line->bytes);
    memset(at + line->bytes, ' ', LINE_BYTES - 1 - line->bytes);
    at[LINE_BYTES - 1] = '\n';
    buf_done(line);
}

static void add_sum(Buf *line, uint64_t seed)
{
    buf_printf(line, ",sum=%016" PRIx64, record_sum_of(buf_slice(line), seed));
}

static Buf facts_line(const SegmentHeader *header)
{
    Buf line = { 0 };
    buf_printf(&line,
               "#:Journal version=%d,node=%" PRIu32 ",epoch=%" PRIu64
               ",cluster=%016" PRIx64 ",start=%" PRIu64 ",chain=%016" PRIx64
               ",seed=%016" PRIx64,
               SEGMENT_VERSION, header->node, header->epoch, header->cluster,
               header->start, header->chain.sum, header->chain.seed);
    add_sum(&line, header->chain.seed);
    return line;
}

static Buf synced_line(uint64_t position, uint64_t seed)
{
    Buf line = { 0 };
    buf_printf(&line, SYNCED_START "%020" PRIu64, position);
    add_sum(&line, seed);
    return line;
}

void segment_page_write(const SegmentHeader *header, char page[SEGMENT_HEADER_BYTES])
{
    for (size_t at = 0; at < SEGMENT_HEADER_BYTES; at += LINE_BYTES) {
        Buf line = { 0 };
        if (at == 0)
            line = facts_line(header);
        else if (at == SYNCED_AT)
            line = synced_line(header->synced, header->chain.seed);
        else
            buf_add_text(&line, "#:");
        put_line(page + at, &line);
    }
}

/* Fields are read with sscanf and then written again: what is not equal to the byte is
 * not what was written. */
static Err read_facts(Slice page, SegmentHeader *out)
{
    char text[LINE_BYTES + 1] = { 0 };
    memcpy(text, page.data, LINE_BYTES);
    int version;
    if (sscanf(text, "#:Journal version=%d,", &version) != 1)
        return ERR_CORRUPT;
    if (version > SEGMENT_VERSION)
        return ERR_UNSUPPORTED;
    SegmentHeader header = { 0 };
    if (sscanf(text,
               "#:Journal version=%*d,node=%" SCNu32 ",epoch=%" SCNu64 ",cluster=%" SCNx64
               ",start=%" SCNu64 ",chain=%" SCNx64 ",seed=%" SCNx64,
               &header.node, &header.epoch, &header.cluster, &header.start,
               &header.chain.sum, &header.chain.seed) != 6)
        return ERR_CORRUPT;
    *out = header;
    return ERR_OK;
}

/* A note that was torn is no note. */
static uint64_t read_synced(Slice page, const SegmentHeader *header)
{
    char text[LINE_BYTES + 1] = { 0 };
    memcpy(text, page.data + SYNCED_AT, LINE_BYTES);
    uint64_t position;
    if (sscanf(text, SYNCED_START "%" SCNu64, &position) != 1)
        return header->start;
    Buf line = synced_line(position, header->chain.seed);
    bool fits = memcmp(text, line.data, line.bytes) == 0;
    buf_done(&line);
    return fits && position > header->start ? position : header->start;
}

Err segment_page_read(Slice page, SegmentHeader *out)
{
    SegmentHeader header;
    if (page.bytes < SEGMENT_HEADER_BYTES)
        return ERR_CORRUPT;
    Err err = read_facts(page, &header);
    if (err)
        return err;
    header.synced = read_synced(page, &header);
    char expected[SEGMENT_HEADER_BYTES];
    segment_page_write(&header, expected);
    memcpy(expected + SYNCED_AT, page.data + SYNCED_AT, LINE_BYTES);
    if (memcmp(expected, page.data, SEGMENT_HEADER_BYTES) != 0)
        return ERR_CORRUPT;
    *out = header;
    return ERR_OK;
}

/* --- Names ----------------------------------------------------------------- */

char *segment_name(uint64_t start, char out[SEGMENT_NAME_BYTES])
{
    snprintf(out, SEGMENT_NAME_BYTES, "%020" PRIu64 SUFFIX, start);
    return out;
}

bool segment_name_parse(const char *name, uint64_t *out_start)
{
    uint64_t start = 0;
    for (size_t i = 0; i < NAME_DIGITS; i++) {
        if (name[i] < '0' || name[i] > '9' ||
            __builtin_mul_overflow(start, 10u, &start) ||
            __builtin_add_overflow(start, (uint64_t)(name[i] - '0'), &start))
            return false;
    }
    *out_start = start;
    return !strcmp(name + NAME_DIGITS, SUFFIX);
}

static int by_start(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;
    return *left < *right ? -1 : *left > *right;
}

Err segment_list(int dir_fd, SegmentList *out, Error *why)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        Err err = error_errno(why, "journal: cannot list the directory");
        if (fd >= 0)
            close(fd);
        return err;
    }
    SegmentList list = { 0 };
    const struct dirent *entry;
    uint64_t start;
    while ((entry = readdir(dir)))
        if (segment_name_parse(entry->d_name, &start))
            MEM_PUSH(list.starts, list.count, list.capacity) = start;
    closedir(dir);
    if (list.count)
        qsort(list.starts, list.count, sizeof *list.starts, by_start);
    *out = list;
    return ERR_OK;
}

/* --- Files ----------------------------------------------------------------- */

void segment_close(SegmentFile *file)
{
    if (file->fd >= 0)
        close(file->fd);
    *file = SEGMENT_NONE;
}

Err segment_make(int dir_fd, SegmentFile *out)
{
    int fd = journal_io.openat(dir_fd, SEGMENT_AHEAD_NAME,
                               O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) { /* too many open files is a lack of room that may end, too */
        Err err = err_from_errno(errno);
        return err == ERR_LIMIT ? ERR_FULL : err;
    }
    SegmentFile file = { .fd = fd };
    Err err = segment_fill(&file, SEGMENT_HEADER_BYTES);
    file.used = SEGMENT_HEADER_BYTES;
    if (err)
        segment_close(&file);
    else
        *out = file;
    return err;
}

Err segment_publish(int dir_fd, SegmentFile *file, const SegmentHeader *header)
{
    char page[SEGMENT_HEADER_BYTES];
    char name[SEGMENT_NAME_BYTES];
    segment_page_write(header, page);
    Err err = io_write(file->fd, slice_of(page, sizeof page), 0);
    if (err)
        return err == ERR_FULL ? ERR_IO : err; /* its room was given already */
    err = io_sync(file->fd);
    if (err)
        return err == ERR_FULL ? ERR_IO : err;
    if (journal_io.renameat(dir_fd, SEGMENT_AHEAD_NAME, dir_fd,
                            segment_name(header->start, name)))
        return err_from_errno(errno);
    err = io_sync_dir(dir_fd);
    if (err)
        return err == ERR_FULL ? ERR_IO : err;
    file->start = header->start;
    return ERR_OK;
}

Err segment_reserve(SegmentFile *file, uint64_t to)
{
    if (to <= file->filled)
        return ERR_OK;
    Err err = io_reserve(file->fd, file->filled, to - file->filled);
    if (!err)
        file->filled = to;
    return err;
}

Err segment_fill(SegmentFile *file, uint64_t to)
{
    uint64_t from = file->zeroed > file->used ? file->zeroed : file->used;
    if (to <= from)
        return ERR_OK;
    uint64_t done;
    Err err = io_write_zeros(file->fd, from, to - from, &done);
    file->zeroed = from + done;
    if (file->filled < file->zeroed)
        file->filled = file->zeroed;
    return err;
}

Err segment_grow(SegmentFile *file, uint64_t to)
{
    Err err = segment_reserve(file, to);
    return err == ERR_UNSUPPORTED ? segment_fill(file, to) : err;
}

Err segment_note_synced(const SegmentFile *file, uint64_t position, uint64_t seed)
{
    char text[LINE_BYTES];
    Buf line = synced_line(position, seed);
    put_line(text, &line);
    return io_write(file->fd, slice_of(text, sizeof text), SYNCED_AT);
}
