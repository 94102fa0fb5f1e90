/* SPDX-License-Identifier: Apache-2.0 */
/* segment_test.c - the page of facts at the head of each file, names, and walking. */
#include "journal/segment.h"

#include "journal/fixture.h"
#include "journal/io.h"
#include "journal/walk.h"

#include <errno.h>
#include <limits.h>

static const SegmentHeader header = {
    .node = 1023,
    .epoch = UINT64_MAX,
    .cluster = 0x0123456789abcdef,
    .start = 12345678901,
    .synced = 12345678999,
    .chain = { .sum = 0xfedcba9876543210, .seed = 7 },
};

static void the_page_survives(void **state)
{
    (void)state;
    char page[SEGMENT_HEADER_BYTES];
    SegmentHeader back;
    segment_page_write(&header, page);
    assert_memory_equal(page, "#:Journal version=1,node=1023,", 30);
    assert_int_equal(page[SEGMENT_HEADER_BYTES - 1], '\n');
    assert_int_equal(segment_page_read(slice_of(page, sizeof page), &back), ERR_OK);
    assert_memory_equal(&back, &header, sizeof header);
    assert_int_equal(segment_page_read(slice_of(page, sizeof page - 1), &back),
                     ERR_CORRUPT);
}

/* Fault 22. The synced line is only a note: without it, less is known, and that is all.
 */
static void every_flipped_bit_of_the_page_is_noticed(void **state)
{
    (void)state;
    char page[SEGMENT_HEADER_BYTES];
    segment_page_write(&header, page);
    const char *note = memmem(page, sizeof page, "#:Synced", 8);
    size_t note_at = (size_t)(note - page);
    for (size_t bit = 0; bit < 8 * sizeof page; bit++) {
        page[bit / 8] = (char)(page[bit / 8] ^ (1 << bit % 8));
        SegmentHeader back = { 0 };
        Err err = segment_page_read(slice_of(page, sizeof page), &back);
        if (bit / 8 < note_at || bit / 8 >= note_at + 512)
            assert_true(err == ERR_CORRUPT || err == ERR_UNSUPPORTED);
        else
            assert_true(back.synced == header.synced || back.synced == header.start);
        page[bit / 8] = (char)(page[bit / 8] ^ (1 << bit % 8));
    }
}

static void a_newer_version_is_refused_as_such(void **state)
{
    (void)state;
    char page[SEGMENT_HEADER_BYTES];
    SegmentHeader back;
    segment_page_write(&header, page);
    page[sizeof "#:Journal version=" - 1] = '2';
    assert_int_equal(segment_page_read(slice_of(page, sizeof page), &back),
                     ERR_UNSUPPORTED);
}

static void names_are_positions(void **state)
{
    (void)state;
    char name[SEGMENT_NAME_BYTES];
    uint64_t start;
    const uint64_t starts[] = { 0, 1, 99, UINT64_MAX };
    for (size_t i = 0; i < 4; i++) {
        assert_true(segment_name_parse(segment_name(starts[i], name), &start));
        assert_true(start == starts[i]);
    }
    static const char *const others[] = {
        "",
        ".",
        "lock",
        SEGMENT_AHEAD_NAME,
        "0.journal",
        "00000000000000000000",
        "00000000000000000000.journal~",
        "0000000000000000000x.journal",
        "99999999999999999999.journal",
        "000000000000000000000.journal",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(segment_name_parse(others[i], &start));
}

/* --- System calls that do less than asked -------------------------------------- */

static int stumbles; /* calls until the next one stumbles */

static bool stumble(void)
{
    if (++stumbles % 3)
        return false;
    errno = EINTR;
    return true;
}

static ssize_t stumbling_pwritev(int fd, const struct iovec *parts, int count,
                                 off_t offset)
{
    assert_true(count <= IOV_MAX);
    if (stumble())
        return -1;
    return pwrite(fd, parts->iov_base, parts->iov_len < 7 ? parts->iov_len : 7, offset);
}

static ssize_t stumbling_pread(int fd, void *out, size_t bytes, off_t offset)
{
    if (stumble())
        return -1;
    return pread(fd, out, bytes < 11 ? bytes : 11, offset);
}

static int stumbling_fdatasync(int fd)
{
    return stumble() ? -1 : fdatasync(fd);
}

static ssize_t stuck_pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    (void)fd, (void)parts, (void)count, (void)offset;
    return 0;
}

static void short_and_interrupted_calls_go_on(void **state)
{
    (void)state;
    JournalIo before = journal_io;
    char path[] = "/tmp/pawl-segment-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    enum { PARTS = 3000 };
    static char text[PARTS][12];
    struct iovec parts[PARTS];
    for (int i = 0; i < PARTS; i++) {
        snprintf(text[i], sizeof text[i], "%04d", i);
        parts[i] = (struct iovec){ text[i], i % 5 ? 4 : 0 };
    }
    journal_io.pwritev = stumbling_pwritev;
    journal_io.pread = stumbling_pread;
    journal_io.fdatasync = stumbling_fdatasync;
    assert_int_equal(io_write_parts(fd, parts, PARTS, 100), ERR_OK);
    assert_int_equal(io_sync(fd), ERR_OK);
    char back[PARTS * 4];
    size_t got;
    assert_int_equal(io_read(fd, back, sizeof back, 100, &got), ERR_OK);
    assert_int_equal(got, PARTS / 5 * 4 * 4);
    size_t at = 0;
    for (int i = 0; i < PARTS; i++) {
        if (!(i % 5))
            continue;
        assert_memory_equal(back + at, text[i], 4);
        at += 4;
    }
    journal_io.pwritev = stuck_pwritev;
    assert_int_equal(io_write(fd, SLICE_LITERAL("x"), 0), ERR_IO);
    journal_io = before;
    close(fd);
}

/* A walk finds records of any size with a window that is smaller than some of them. */
static void a_walk_finds_records_of_any_size(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture_open(&fixture);
    static const size_t sizes[] = { 10, 300000, 10, 1000000, 200000, 100000, 10 };
    size_t count = sizeof sizes / sizeof *sizes;
    for (size_t i = 0; i < count; i++)
        fixture_write(fixture.journal, i, sizes[i]);
    uint64_t end = journal_end(fixture.journal);
    fixture_close(&fixture);

    int dir_fd = open(fixture.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    Walk walk = WALK_NONE;
    SegmentHeader found;
    Record record;
    RecordRead read;
    assert_int_equal(walk_open(&walk, dir_fd, 0, &found, NULL), ERR_OK);
    assert_int_equal(found.synced, end); /* noted when it was closed */
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(walk_next(&walk, &read, &record, NULL), ERR_OK);
        assert_int_equal(read, RECORD_OK);
        assert_int_equal(record.first, i);
        assert_int_equal(record.body.bytes, sizes[i]);
    }
    assert_int_equal(walk_next(&walk, &read, &record, NULL), ERR_OK);
    assert_int_equal(read, RECORD_END);
    assert_int_equal(walk.position, end);
    walk_close(&walk);
    assert_int_equal(walk_open(&walk, dir_fd, 1, &found, &fixture.why), ERR_NOT_FOUND);
    walk_close(&walk);
    close(dir_fd);
    fixture_done(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_survives),
        cmocka_unit_test(every_flipped_bit_of_the_page_is_noticed),
        cmocka_unit_test(a_newer_version_is_refused_as_such),
        cmocka_unit_test(names_are_positions),
        cmocka_unit_test(short_and_interrupted_calls_go_on),
        cmocka_unit_test(a_walk_finds_records_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
