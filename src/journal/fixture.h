/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h - what the tests of the journal share: a directory that goes away, records
 * that can be told apart, and reading them back. Only for X_test.c files. */
#ifndef JOURNAL_FIXTURE_H
#define JOURNAL_FIXTURE_H

#include "journal/journal.h"
#include "journal/segment.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define FIXTURE_DATE_MS 1782782237123LL
#define FIXTURE_CLUSTER 0xc1u

typedef struct Fixture {
    char root[64];
    char dir[80]; /* of the journal, inside root */
    JournalOptions options;
    Journal *journal;
    Error why;
} Fixture;

static inline void fixture_init(Fixture *fixture)
{
    const char *tmp = getenv("TMPDIR");
    *fixture = (Fixture){ 0 };
    snprintf(fixture->root, sizeof fixture->root, "%s/pawl-journal-XXXXXX",
             tmp && strlen(tmp) < 32 ? tmp : "/tmp");
    assert_non_null(mkdtemp(fixture->root));
    snprintf(fixture->dir, sizeof fixture->dir, "%s/journal", fixture->root);
    fixture->options = (JournalOptions){
        .dir = fixture->dir, .node = 1, .epoch = 5, .cluster = FIXTURE_CLUSTER
    };
}

static inline void fixture_open(Fixture *fixture)
{
    Err err = journal_open(&fixture->options, &fixture->journal, &fixture->why);
    if (err)
        print_error("%s\n", fixture->why.text);
    assert_int_equal(err, ERR_OK);
}

static inline Err fixture_try_open(Fixture *fixture)
{
    return journal_open(&fixture->options, &fixture->journal, &fixture->why);
}

static inline void fixture_close(Fixture *fixture)
{
    journal_close(fixture->journal);
    fixture->journal = NULL;
}

static inline void fixture_path(const Fixture *fixture, uint64_t start, char out[160])
{
    char name[SEGMENT_NAME_BYTES];
    snprintf(out, 160, "%s/%s", fixture->dir, segment_name(start, name));
}

static inline size_t fixture_segments(const Fixture *fixture)
{
    SegmentList list;
    int fd = open(fixture->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(segment_list(fd, &list, NULL), ERR_OK);
    close(fd);
    mem_free(list.starts);
    return list.count;
}

static inline void fixture_done(Fixture *fixture)
{
    if (fixture->journal)
        fixture_close(fixture);
    DIR *dir = opendir(fixture->dir);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(fixture->dir);
    rmdir(fixture->root);
}

/* A record of lines whose first line is `number`, padded to `bytes` bytes of body. */
static inline uint64_t fixture_write(Journal *journal, uint64_t number, size_t bytes)
{
    Buf body = { 0 };
    buf_printf(&body, "%llu\n", (unsigned long long)number);
    if (bytes > body.bytes) {
        size_t more = bytes - body.bytes;
        memset(buf_room(&body, more), 'x', more);
        body.bytes += more;
    }
    Record record = { .kind = RECORD_LINES,
                      .date_ms = FIXTURE_DATE_MS,
                      .first = number,
                      .count = lines_count(buf_slice(&body)),
                      .node = 1,
                      .tenant = SLICE_LITERAL("acme"),
                      .type = SLICE_LITERAL("resize"),
                      .body = buf_slice(&body) };
    uint64_t end = journal_write(journal, &record, NULL);
    buf_done(&body);
    return end;
}

static inline uint64_t fixture_write_synced(Journal *journal, uint64_t number,
                                            size_t bytes)
{
    uint64_t end = fixture_write(journal, number, bytes);
    assert_int_equal(journal_wsync(journal, end, 10000), ERR_OK);
    return end;
}

static inline bool fixture_take(Journal *journal, JournalToken token, uint64_t *next)
{
    Batch batch = { 0 };
    Error why = { 0 };
    Err err = journal_read(journal, token, &batch, &why);
    bool right = !err && batch.has_read_point;
    if (!right)
        fprintf(stderr, "read: %s %s\n", err_name(err), why.text);
    for (size_t i = 0; right && i < batch.count; i++) {
        right = batch.ops[i].first == *next;
        if (!right)
            fprintf(stderr, "got %llu, not %llu\n",
                    (unsigned long long)batch.ops[i].first, (unsigned long long)*next);
        ++*next;
    }
    batch_done(&batch);
    return right && journal_rsync(journal, token) == ERR_OK;
}

/* Reads and rsyncs all there is; false if that is not the records *next, *next + 1, ...
 * For any thread, unlike what uses cmocka's asserts. */
static inline bool fixture_ingest(Journal *journal, uint64_t *next)
{
    JournalToken token;
    bool right = true;
    while (right && (token = journal_reserve(journal, 100000, 1000, 0)))
        right = fixture_take(journal, token, next);
    return right;
}

/* Expects the records `from`, `from` + 1, ... Returns the number that would be next. */
static inline uint64_t fixture_read_all(Journal *journal, uint64_t from)
{
    assert_true(fixture_ingest(journal, &from));
    return from;
}

#endif
