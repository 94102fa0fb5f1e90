/* SPDX-License-Identifier: Apache-2.0 */
/* journal_power_test.c - power cuts at every moment, and syncs that fail.
 *
 * Behind the journal's system calls stands a disk that remembers what was there before
 * each page that is not synced yet. When the power goes, any of these pages, or parts of
 * them, may be old again, in any mixture, files may have their old size, and names that
 * were not synced may be undone. Whatever comes of it, the journal opens again and has
 * every record that was reported durable, and only records that were written. */
#include "journal/io.h"

#include "base/log.h"
#include "base/rng.h"
#include "journal/fixture.h"
#include "journal/recover.h"
#include "journal/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#define PAGE   4096
#define SECTOR 512 /* what a disk writes whole or not at all */

/* --- The disk ---------------------------------------------------------------- */

typedef struct Page { /* of the page cache, not on the disk */
    ino_t file;
    uint64_t offset;
    bool dirty; /* the kernel will write it at the next sync; a failed sync forgets */
    char before[PAGE];
} Page;

typedef struct Size { /* of a file, on the disk */
    ino_t file;
    off_t before;
} Size;

typedef struct Name { /* changed, not synced; to gone.N if it was removed */
    char from[64];
    char to[64];
} Name;

typedef struct Disk {
    pthread_mutex_t lock;
    Page *pages;
    size_t page_count;
    size_t page_capacity;
    Size *sizes;
    size_t size_count;
    size_t size_capacity;
    Name *names;
    size_t name_count;
    size_t name_capacity;
    unsigned gone;     /* removed files are kept under a number until it is synced */
    uint64_t calls;    /* so far */
    uint64_t power_at; /* the call at which the power goes */
    uint64_t fail_at;  /* the sync that fails */
    _Atomic uint64_t syncs;
    _Atomic bool dead;
} Disk;

static Disk disk = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* False when there is no power: nothing happens any more. Holds the lock if true. */
static bool powered(void)
{
    pthread_mutex_lock(&disk.lock);
    if (++disk.calls >= disk.power_at)
        disk.dead = true;
    if (!disk.dead)
        return true;
    pthread_mutex_unlock(&disk.lock);
    errno = EIO;
    return false;
}

static ino_t file_of(int fd)
{
    struct stat stat;
    return fstat(fd, &stat) ? 0 : stat.st_ino;
}

static void snapshot_writer_size(int fd)
{
    struct stat stat;
    if (fstat(fd, &stat))
        return;
    for (size_t i = 0; i < disk.size_count; i++)
        if (disk.sizes[i].file == stat.st_ino)
            return;
    MEM_PUSH(disk.sizes, disk.size_count, disk.size_capacity) =
        (Size){ stat.st_ino, stat.st_size };
}

static void snapshot_writer_page(int fd, ino_t file, uint64_t offset)
{
    for (size_t i = 0; i < disk.page_count; i++) {
        Page *known = &disk.pages[i];
        if (known->file != file || known->offset != offset)
            continue;
        known->dirty = true;
        return;
    }
    Page *page = &MEM_PUSH(disk.pages, disk.page_count, disk.page_capacity);
    *page = (Page){ .file = file, .offset = offset, .dirty = true };
    if (pread(fd, page->before, PAGE, (off_t)offset) < 0)
        page->file = 0;
}

static ssize_t disk_pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    if (!powered())
        return -1;
    uint64_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += parts[i].iov_len;
    snapshot_writer_size(fd);
    uint64_t first = (uint64_t)offset / PAGE * PAGE;
    for (uint64_t at = first; at < (uint64_t)offset + bytes; at += PAGE)
        snapshot_writer_page(fd, file_of(fd), at);
    ssize_t written = pwritev(fd, parts, count, offset);
    pthread_mutex_unlock(&disk.lock);
    return written;
}

static int disk_fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    if (!powered())
        return -1;
    snapshot_writer_size(fd);
    int failed = fallocate(fd, mode, offset, bytes);
    pthread_mutex_unlock(&disk.lock);
    return failed;
}

static int disk_ftruncate(int fd, off_t bytes)
{
    if (!powered())
        return -1;
    int failed = ftruncate(fd, bytes); /* only zeros go: never undone */
    pthread_mutex_unlock(&disk.lock);
    return failed;
}

static int disk_fdatasync(int fd)
{
    if (!powered())
        return -1;
    ino_t file = file_of(fd);
    bool fails = ++disk.syncs == disk.fail_at;
    size_t kept = 0;
    for (size_t i = 0; i < disk.page_count; i++) {
        Page *page = &disk.pages[i];
        if (page->file == file && fails)
            page->dirty = false;
        if (page->file != file || !page->dirty)
            disk.pages[kept++] = *page;
    }
    disk.page_count = kept;
    kept = 0;
    for (size_t i = 0; i < disk.size_count; i++)
        if (disk.sizes[i].file != file || fails)
            disk.sizes[kept++] = disk.sizes[i];
    disk.size_count = kept;
    pthread_mutex_unlock(&disk.lock);
    errno = EIO;
    return fails ? -1 : 0;
}

static int disk_openat(int dir_fd, const char *name, int flags, ...)
{
    if (!powered())
        return -1;
    int fd = openat(dir_fd, name, flags, 0600);
    pthread_mutex_unlock(&disk.lock);
    return fd;
}

static void snapshot_writer_name(const char *from, const char *to)
{
    Name *name = &MEM_PUSH(disk.names, disk.name_count, disk.name_capacity);
    snprintf(name->from, sizeof name->from, "%s", from);
    snprintf(name->to, sizeof name->to, "%s", to);
}

static int disk_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    if (!powered())
        return -1;
    int failed = renameat(from_fd, from, to_fd, to);
    if (!failed)
        snapshot_writer_name(from, to);
    pthread_mutex_unlock(&disk.lock);
    return failed;
}

static int disk_unlinkat(int dir_fd, const char *name, int flags)
{
    (void)flags;
    if (!powered())
        return -1;
    char gone[64];
    snprintf(gone, sizeof gone, "gone.%u", disk.gone++);
    int failed = renameat(dir_fd, name, dir_fd, gone);
    if (!failed)
        snapshot_writer_name(name, gone);
    int why = errno;
    pthread_mutex_unlock(&disk.lock);
    errno = why;
    return failed;
}

static int disk_fsync(int fd)
{
    if (!powered())
        return -1;
    for (size_t i = 0; i < disk.name_count; i++)
        if (!strncmp(disk.names[i].to, "gone.", 5))
            unlinkat(fd, disk.names[i].to, 0);
    disk.name_count = 0;
    pthread_mutex_unlock(&disk.lock);
    return 0;
}

static const JournalIo disk_io = {
    .pwritev = disk_pwritev,
    .pread = pread,
    .fdatasync = disk_fdatasync,
    .fallocate = disk_fallocate,
    .ftruncate = disk_ftruncate,
    .openat = disk_openat,
    .renameat = disk_renameat,
    .unlinkat = disk_unlinkat,
    .fsync = disk_fsync,
};

/* The last changes of names may be lost, not those before them. */
static void lose_names(int dir_fd, Rng *rng)
{
    uint64_t kept = rng_below(rng, disk.name_count + 1);
    while (disk.name_count > kept) {
        const Name *name = &disk.names[--disk.name_count];
        assert_int_equal(renameat(dir_fd, name->to, dir_fd, name->from), 0);
    }
}

static void lose_pages(int fd, ino_t file, Rng *rng)
{
    unsigned percent = (unsigned)rng_below(rng, 101);
    struct stat stat;
    fstat(fd, &stat);
    for (size_t i = 0; i < disk.page_count; i++) {
        const Page *page = &disk.pages[i];
        if (page->file != file || page->offset + PAGE > (uint64_t)stat.st_size)
            continue;
        unsigned sectors = rng_percent(rng, 70) ? PAGE : SECTOR;
        for (size_t at = 0; at < PAGE; at += sectors)
            if (rng_percent(rng, percent))
                assert_int_equal(
                    pwrite(fd, page->before + at, sectors, (off_t)(page->offset + at)),
                    sectors);
    }
    for (size_t i = 0; i < disk.size_count; i++)
        if (disk.sizes[i].file == file && rng_percent(rng, 30))
            assert_int_equal(ftruncate(fd, disk.sizes[i].before), 0);
}

/* What the disk has when the power comes back. */
static void disk_restart(const Fixture *fixture, Rng *rng)
{
    int dir_fd = open(fixture->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    lose_names(dir_fd, rng);
    DIR *dir = fdopendir(dir_fd);
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        int fd = openat(dir_fd, entry->d_name, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            continue;
        lose_pages(fd, file_of(fd), rng);
        close(fd);
    }
    closedir(dir);
    disk.page_count = disk.size_count = disk.name_count = 0;
}

static void disk_power_on(uint64_t power_at, uint64_t fail_at)
{
    disk.calls = 0;
    disk.syncs = 0;
    disk.power_at = power_at;
    disk.fail_at = fail_at;
    disk.dead = false;
    journal_io = disk_io;
}

static void disk_done(void)
{
    journal_io = (JournalIo){ pwritev, pread,    fdatasync, fallocate, ftruncate,
                              openat,  renameat, unlinkat,  fsync };
    mem_free(disk.pages);
    mem_free(disk.sizes);
    mem_free(disk.names);
    disk = (Disk){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

/* --- The story of one journal ------------------------------------------------- */

typedef struct Story {
    Fixture fixture;
    Rng rng;
    _Atomic uint64_t reported; /* durable, as on_durable said */
    _Atomic bool failed;       /* on_durable said so */
    _Atomic bool wrong;
    uint64_t ends[4000]; /* behind each record */
    uint64_t written;    /* records, in this run and before */
    uint64_t ingested;   /* by the store */
    int64_t now_ms;
} Story;

static void hear(void *context, uint64_t position, Err err)
{
    Story *story = context;
    if (story->failed) /* J2: nothing is said after a failure */
        story->wrong = true;
    if (err)
        story->failed = true;
    else
        story->reported = position;
}

static void story_begin(Story *story, uint64_t seed)
{
    *story = (Story){ .rng = { seed } };
    fixture_init(&story->fixture);
    story->fixture.options.segment_bytes = 16 * 1024;
    story->fixture.options.on_durable = hear;
    story->fixture.options.context = story;
}

/* The store takes what there is; its read point is as durable as its records. */
static void ingest_some(Story *story)
{
    Journal *journal = story->fixture.journal;
    JournalToken token = journal_reserve(journal, 5000, 1000, story->now_ms);
    Batch batch = { 0 };
    Error why = { 0 };
    if (token && !journal_read(journal, token, &batch, &why)) {
        for (size_t i = 0; i < batch.count; i++)
            assert_int_equal(batch.ops[i].first, story->ingested++);
        story->fixture.options.read_point = batch.read_point.position;
        assert_int_equal(journal_rsync(journal, token), ERR_OK);
        journal_trim(journal, batch.read_point.position, story->now_ms++);
    }
    batch_done(&batch);
}

static void write_some(Story *story)
{
    Journal *journal = story->fixture.journal;
    uint64_t records = 1 + rng_below(&story->rng, 8);
    for (uint64_t i = 0; i < records; i++) {
        size_t bytes = rng_below(&story->rng, 2500);
        if (rng_percent(&story->rng, 2))
            bytes = 40000; /* more than a segment */
        story->ends[story->written] = fixture_write(journal, story->written, bytes);
        story->written++;
    }
    journal_flush(journal);
    if (rng_percent(&story->rng, 70)) {
        Err err = journal_wsync(journal, journal_end(journal), 60000);
        assert_true(err == ERR_OK || err == ERR_IO);
    }
}

/* Opens and checks: all that was reported is there, and nothing that was not written.
 * False if the power went meanwhile. */
static bool story_open(Story *story)
{
    Fixture *fixture = &story->fixture;
    uint64_t reported = story->reported;
    story->failed = false;
    Err err = fixture_try_open(fixture);
    if (err && (disk.dead || disk.syncs >= disk.fail_at))
        return false;
    if (err)
        print_error("seed state %llx: %s\n", (unsigned long long)story->rng.state,
                    fixture->why.text);
    assert_int_equal(err, ERR_OK);
    uint64_t end = journal_end(fixture->journal);
    assert_true(end >= reported);
    uint64_t records = 0;
    while (records < story->written && story->ends[records] <= end)
        records++;
    assert_int_equal(records ? story->ends[records - 1] : 0, end);
    story->written = records;
    story->reported = end;
    return true;
}

static void story_run(Story *story, uint64_t power_at, uint64_t fail_at)
{
    disk_power_on(power_at, fail_at);
    if (!story_open(story))
        return;
    for (int i = 0; i < 12 && !disk.dead && !story->failed; i++) {
        write_some(story);
        if (rng_percent(&story->rng, 60))
            ingest_some(story);
    }
    fixture_close(&story->fixture);
    assert_false(story->wrong);
}

static void story_end(Story *story)
{
    disk_power_on(UINT64_MAX, UINT64_MAX);
    assert_true(story_open(story));
    assert_int_equal(fixture_read_all(story->fixture.journal, story->ingested),
                     story->written);
    fixture_done(&story->fixture);
    disk_done();
}

/* Faults 2, 10, 11, 16, 17, 18, 21: at any call, again and again, also while the journal
 * is being opened after the cut before. */
static void nothing_durable_is_lost_by_power_cuts(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        Story story;
        story_begin(&story, seed);
        for (int cut = 0; cut < 12; cut++) {
            uint64_t calls = rng_percent(&story.rng, 30) ? 12 : 120;
            story_run(&story, 1 + rng_below(&story.rng, calls), UINT64_MAX);
            disk_restart(&story.fixture, &story.rng);
        }
        story_end(&story);
    }
}

/* Fault 19 (J2): the process leaves after a sync that failed and starts again on what
 * the page cache pretends is on the disk; then the power goes. */
static void nothing_durable_is_lost_by_failed_syncs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        Story story;
        story_begin(&story, seed);
        for (int cut = 0; cut < 6; cut++) {
            story_run(&story, UINT64_MAX, 1 + rng_below(&story.rng, 20));
            story_run(&story, 30 + rng_below(&story.rng, 60), UINT64_MAX);
            disk_restart(&story.fixture, &story.rng);
        }
        story_end(&story);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_durable_is_lost_by_power_cuts),
        cmocka_unit_test(nothing_durable_is_lost_by_failed_syncs),
    };
    log_level_set(LOG_ERROR + 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
