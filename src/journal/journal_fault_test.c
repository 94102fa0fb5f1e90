/* SPDX-License-Identifier: Apache-2.0 */
/* journal_fault_test.c - system calls that fail: each one once, or from then on; a disk
 * that is full and gets room again; syncs that fail; a file system that cannot reserve.
 */
#include "journal/io.h"

#include "base/log.h"
#include "base/times.h"
#include "journal/fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

/* --- Calls that fail ------------------------------------------------------------- */

typedef struct Faults {
    _Atomic uint64_t calls;
    uint64_t fail_at; /* this call, counted from 1, */
    bool sticky;      /* and all after it */
    int error;
    _Atomic bool read_only;   /* from now on, everything fails */
    _Atomic bool full;        /* files cannot grow */
    _Atomic bool write_fails; /* the next write does, though it has room */
    _Atomic bool sync_fails;  /* the next fdatasync does */
    _Atomic bool unsupported; /* no fallocate */
} Faults;

static Faults faults;

static bool fault(void)
{
    uint64_t call = ++faults.calls;
    if (faults.read_only) {
        errno = EROFS;
        return true;
    }
    bool fails = faults.sticky ? call >= faults.fail_at : call == faults.fail_at;
    if (!faults.fail_at || !fails)
        return false;
    errno = faults.error;
    return true;
}

static bool no_room(int fd, off_t end)
{
    struct stat stat;
    if (!faults.full || fstat(fd, &stat) || end <= stat.st_size)
        return false;
    errno = faults.error;
    return true;
}

static ssize_t fault_pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    off_t end = offset;
    for (int i = 0; i < count; i++)
        end += (off_t)parts[i].iov_len;
    if (fault() || no_room(fd, end))
        return -1;
    if (faults.write_fails) {
        faults.write_fails = false;
        errno = ENOSPC;
        return -1;
    }
    return pwritev(fd, parts, count, offset);
}

static ssize_t fault_pread(int fd, void *out, size_t bytes, off_t offset)
{
    return fault() ? -1 : pread(fd, out, bytes, offset);
}

static int fault_fdatasync(int fd)
{
    (void)fd; /* the disk is not what is tested here */
    if (faults.sync_fails) {
        faults.sync_fails = false;
        errno = EIO;
        return -1;
    }
    return fault() ? -1 : 0;
}

static int fault_fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    if (faults.unsupported) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return fault() || no_room(fd, offset + bytes) ? -1
                                                  : fallocate(fd, mode, offset, bytes);
}

static int fault_ftruncate(int fd, off_t bytes)
{
    return fault() ? -1 : ftruncate(fd, bytes);
}

static int fault_openat(int dir_fd, const char *name, int flags, ...)
{
    if (faults.full && (flags & O_CREAT)) {
        errno = faults.error;
        return -1;
    }
    return fault() ? -1 : openat(dir_fd, name, flags, 0600);
}

static int fault_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    return fault() ? -1 : renameat(from_fd, from, to_fd, to);
}

static int fault_unlinkat(int dir_fd, const char *name, int flags)
{
    return fault() ? -1 : unlinkat(dir_fd, name, flags);
}

static int fault_fsync(int fd)
{
    (void)fd;
    return fault() ? -1 : 0;
}

static const JournalIo fault_io = {
    .pwritev = fault_pwritev,
    .pread = fault_pread,
    .fdatasync = fault_fdatasync,
    .fallocate = fault_fallocate,
    .ftruncate = fault_ftruncate,
    .openat = fault_openat,
    .renameat = fault_renameat,
    .unlinkat = fault_unlinkat,
    .fsync = fault_fsync,
};

static void faults_set(uint64_t fail_at, int error, bool sticky)
{
    journal_io = fault_io;
    faults.calls = 0;
    faults.fail_at = fail_at;
    faults.error = error;
    faults.sticky = sticky;
    faults.read_only = faults.full = faults.unsupported = false;
    faults.write_fails = faults.sync_fails = false;
}

/* --- What a journal says ---------------------------------------------------------- */

typedef struct Listener {
    _Atomic uint64_t durable;
    _Atomic unsigned errors;
    _Atomic Err error;
    _Atomic bool wrong; /* said something after it had failed, or went back */
} Listener;

static void listen_to(void *context, uint64_t position, Err err)
{
    Listener *listener = context;
    if (listener->errors || (!err && position <= listener->durable))
        listener->wrong = true;
    if (err) {
        listener->errors++;
        listener->error = err;
    } else {
        listener->durable = position;
    }
}

static void fixture_init_with(Fixture *fixture, Listener *listener)
{
    fixture_init(fixture);
    fixture->options.segment_bytes = 8192;
    fixture->options.on_durable = listen_to;
    fixture->options.context = listener;
}

/* --- Each call in turn -------------------------------------------------------------- */

/* Opens, writes over several segments, reads, trims, closes; whatever fails. */
static void live_through(Fixture *fixture, uint64_t *written)
{
    if (fixture_try_open(fixture))
        return;
    Journal *journal = fixture->journal;
    for (int i = 0; i < 8; i++) {
        uint64_t end = fixture_write(journal, (*written)++, 500 + 200 * (size_t)i);
        journal_flush(journal);
        if (i % 2 == 0)
            (void)!journal_wsync(journal, end, 20);
        JournalToken token = i % 4 == 3 ? journal_reserve(journal, 2000, 1000, 0) : 0;
        Batch batch = { 0 };
        Error why;
        if (token && !journal_read(journal, token, &batch, &why) &&
            !journal_rsync(journal, token)) {
            fixture->options.read_point = batch.read_point.position;
            journal_trim(journal, batch.read_point.position, 0);
        }
        batch_done(&batch);
    }
    fixture_close(fixture);
}

typedef struct Kept { /* what journal_scan finds */
    uint64_t count;
    uint64_t last;
    uint64_t end;
    bool gap;
} Kept;

static Err count_record(void *context, const Record *record, uint64_t position)
{
    Kept *kept = context;
    kept->gap = kept->gap || (kept->count && record->first != kept->last + 1);
    kept->last = record->first;
    kept->end = position;
    kept->count++;
    return ERR_OK;
}

/* Fails each call of a life in turn, until a life needs no more calls. After it, and a
 * second life in which nothing fails, everything reported durable must be there. */
static void sweep(int error, bool sticky)
{
    for (uint64_t fail_at = 1;; fail_at++) {
        Fixture fixture;
        Listener listener = { 0 };
        fixture_init_with(&fixture, &listener);
        uint64_t written = 0;
        faults_set(fail_at, error, sticky);
        live_through(&fixture, &written);
        bool reached = faults.calls >= fail_at;
        assert_false(listener.wrong);
        assert_true(listener.errors <= 1);

        faults_set(0, 0, false);
        Kept kept = { 0 };
        Error why = { 0 };
        Err err = journal_scan(fixture.dir, count_record, &kept, &why);
        if (err && err != ERR_NOT_FOUND)
            print_error("call %llu: %s\n", (unsigned long long)fail_at, why.text);
        assert_true(!err || err == ERR_NOT_FOUND);
        assert_false(kept.gap);
        fixture.options.on_durable = NULL;
        fixture_open(&fixture);
        assert_true(journal_end(fixture.journal) >= listener.durable);
        assert_true(journal_end(fixture.journal) >= fixture.options.read_point);
        assert_true(!kept.count || kept.last < written);
        fixture_write_synced(fixture.journal, kept.count ? kept.last + 1 : 0, 100);
        fixture_done(&fixture);
        if (!reached)
            break;
    }
}

static void every_call_may_fail_once(void **state)
{
    (void)state;
    sweep(EIO, false);
    sweep(EMFILE, false);
}

static void every_call_may_be_the_last_that_works(void **state)
{
    (void)state;
    sweep(EROFS, true);
}

static void every_call_may_find_the_disk_full(void **state)
{
    (void)state;
    sweep(ENOSPC, false);
}

static void every_call_may_be_interrupted(void **state)
{
    (void)state;
    for (uint64_t fail_at = 1; fail_at < 100; fail_at += 7) {
        Fixture fixture;
        Listener listener = { 0 };
        fixture_init_with(&fixture, &listener);
        uint64_t written = 0;
        faults_set(fail_at, EINTR, false);
        live_through(&fixture, &written);
        if (faults.calls >= fail_at && !listener.errors && listener.durable)
            assert_int_equal(written, 8);
        faults_set(0, 0, false);
        fixture.options.on_durable = NULL;
        fixture_open(&fixture);
        assert_true(journal_end(fixture.journal) >= listener.durable);
        fixture_done(&fixture);
    }
}

/* --- Full disks ----------------------------------------------------------------------
 */

static bool becomes(Journal *journal, bool full)
{
    int64_t deadline_ms = clock_now().boot_ms + 60000;
    while (journal_full(journal) != full && clock_now().boot_ms < deadline_ms)
        usleep(1000);
    return journal_full(journal) == full;
}

/* wsync may return a moment before on_durable is called. */
static bool hears(const Listener *listener, uint64_t position)
{
    int64_t deadline_ms = clock_now().boot_ms + 60000;
    while (listener->durable != position && clock_now().boot_ms < deadline_ms)
        usleep(100);
    return listener->durable == position;
}

/* Faults 24 and 26: room shrinks and is told; what fits in it is still written; what
 * does not fit waits; when there is room again all goes on, without a restart. */
static void a_full_disk_is_survived(void **state)
{
    (void)state;
    assert_int_equal(err_from_errno(EDQUOT), ERR_FULL); /* a quota is no other case */
    Fixture fixture;
    Listener listener = { 0 };
    fixture_init_with(&fixture, &listener);
    fixture.options.segment_bytes = 64 * 1024;
    faults_set(0, ENOSPC, false);
    fixture_open(&fixture);
    Journal *journal = fixture.journal;
    assert_true(journal_room(journal) >= 24 * 1024);
    assert_false(journal_full(journal));
    faults.full = true;

    uint64_t next = 0;
    uint64_t end = 0;
    while (journal_room(journal) > 8 * 1024) /* as a daemon does, that keeps some room */
        end = fixture_write_synced(journal, next++, 500);
    assert_true(becomes(journal, true));
    assert_int_equal(journal_make_room(journal, 100000, 1000), ERR_FULL);
    for (int i = 0; i < 5; i++) /* finishing still works */
        end = fixture_write_synced(journal, next++, 500);
    assert_true(hears(&listener, end));

    uint64_t before = end;
    while (end - before < 16 * 1024)
        end = fixture_write(journal, next++, 500);
    assert_int_equal(journal_wsync(journal, end, 50), ERR_TIMEOUT);
    assert_int_equal(journal_room(journal), 0);
    assert_true(journal_durable(journal) > before); /* what fitted was written */
    assert_int_equal(listener.errors, 0);

    faults.full = false;
    assert_int_equal(journal_wsync(journal, end, 60000), ERR_OK);
    assert_true(becomes(journal, false));
    assert_true(journal_room(journal) > 0);
    assert_int_equal(fixture_read_all(journal, 0), next);
    fixture_close(&fixture);
    assert_false(listener.wrong);
    fixture.options.on_durable = NULL;
    fixture_open(&fixture);
    assert_int_equal(fixture_read_all(fixture.journal, 0), next);
    fixture_done(&fixture);
}

/* EFBIG, from the real thing. */
static void a_limit_on_file_size_is_survived(void **state)
{
    (void)state;
    Fixture fixture;
    Listener listener = { 0 };
    fixture_init_with(&fixture, &listener);
    fixture.options.segment_bytes = 64 * 1024;
    faults_set(0, 0, false);
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    struct rlimit low = { 40 * 1024, before.rlim_max };
    fixture_open(&fixture);
    setrlimit(RLIMIT_FSIZE, &low);
    uint64_t next = 0;
    uint64_t end = 0;
    while (end < 50 * 1024)
        end = fixture_write(fixture.journal, next++, 500);
    assert_int_equal(journal_wsync(fixture.journal, end, 100), ERR_TIMEOUT);
    assert_true(becomes(fixture.journal, true));
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(journal_wsync(fixture.journal, end, 60000), ERR_OK);
    assert_int_equal(listener.errors, 0);
    signal(SIGXFSZ, handler);
    fixture_done(&fixture);
}

/* Closing does not wait for a full disk. What could not be written was never reported. */
static void closing_a_full_journal_ends(void **state)
{
    (void)state;
    Fixture fixture;
    Listener listener = { 0 };
    fixture_init_with(&fixture, &listener);
    faults_set(0, ENOSPC, false);
    fixture_open(&fixture);
    faults.full = true;
    for (uint64_t i = 0; i < 20; i++)
        fixture_write(fixture.journal, i, 2000);
    uint64_t end = journal_end(fixture.journal);
    assert_int_equal(journal_wsync(fixture.journal, end, 20), ERR_TIMEOUT);
    fixture_close(&fixture);
    assert_true(listener.durable < end);
    faults.full = false;
    fixture.options.on_durable = NULL;
    fixture_open(&fixture);
    assert_true(journal_end(fixture.journal) >= listener.durable);
    fixture_done(&fixture);
}

/* A file system that cannot promise room gets zeros instead. */
static void room_can_be_made_with_zeros_only(void **state)
{
    (void)state;
    Fixture fixture;
    Listener listener = { 0 };
    fixture_init_with(&fixture, &listener);
    fixture.options.segment_bytes = 64 * 1024;
    faults_set(0, 0, false);
    faults.unsupported = true;
    fixture_open(&fixture);
    for (uint64_t i = 0; i < 200; i++)
        fixture_write_synced(fixture.journal, i, 900);
    assert_int_equal(journal_make_room(fixture.journal, 150000, 5000), ERR_OK);
    fixture_write_synced(fixture.journal, 200, 100000);
    assert_true(journal_room(fixture.journal) > 0);
    fixture_close(&fixture);
    fixture.options.on_durable = NULL;
    fixture_open(&fixture);
    assert_int_equal(fixture_read_all(fixture.journal, 0), 201);
    fixture_done(&fixture);
}

/* --- Syncs that fail ------------------------------------------------------------------
 */

/* Fault 19, J2: told once; nothing after it is ever durable; the next start goes on. */
static void a_failed_sync_is_final(void **state)
{
    (void)state;
    Fixture fixture;
    Listener listener = { 0 };
    fixture_init_with(&fixture, &listener);
    faults_set(0, 0, false);
    fixture_open(&fixture);
    uint64_t safe = fixture_write_synced(fixture.journal, 0, 100);
    faults.sync_fails = true;
    uint64_t lost = fixture_write(fixture.journal, 1, 100);
    assert_int_equal(journal_wsync(fixture.journal, lost, 60000), ERR_IO);
    for (uint64_t i = 2; i < 10; i++) { /* though syncs would work again */
        Buf body = { 0 };
        buf_add_text(&body, "given\n");
        Record record = { .kind = RECORD_LINES, .count = 1, .body = buf_slice(&body) };
        uint64_t end = journal_write(fixture.journal, &record, &body);
        assert_null(body.data);
        journal_flush(fixture.journal);
        assert_int_equal(journal_wsync(fixture.journal, end, 60000), ERR_IO);
    }
    assert_int_equal(journal_make_room(fixture.journal, 1000000, 5000), ERR_IO);
    assert_int_equal(journal_durable(fixture.journal), safe);
    assert_int_equal(journal_room(fixture.journal), 0);
    assert_int_equal(journal_wsync(fixture.journal, safe, 0), ERR_OK);
    assert_int_equal(fixture_read_all(fixture.journal, 0), 1);
    fixture_close(&fixture);
    assert_int_equal(listener.errors, 1);
    assert_int_equal(listener.error, ERR_IO);
    assert_int_equal(listener.durable, safe);
    assert_false(listener.wrong);
    fixture.options.on_durable = NULL;
    fixture_open(&fixture);
    assert_true(journal_end(fixture.journal) >= safe);
    fixture_done(&fixture);
}

/* Room that was promised and is not there is no full disk but a broken one. */
static void a_write_into_its_own_room_must_work(void **state)
{
    (void)state;
    Fixture fixture;
    Listener listener = { 0 };
    fixture_init_with(&fixture, &listener);
    faults_set(0, 0, false);
    fixture_open(&fixture);
    faults.write_fails = true;
    uint64_t lost = fixture_write(fixture.journal, 0, 100);
    assert_int_equal(journal_wsync(fixture.journal, lost, 60000), ERR_IO);
    assert_false(journal_full(fixture.journal));
    fixture_close(&fixture);
    assert_int_equal(listener.errors, 1);
    fixture_done(&fixture);
}

/* Fault 27: the file system turns read-only. */
static void a_failed_write_is_final(void **state)
{
    (void)state;
    Fixture fixture;
    Listener listener = { 0 };
    fixture_init_with(&fixture, &listener);
    faults_set(0, 0, false);
    fixture_open(&fixture);
    uint64_t safe = fixture_write_synced(fixture.journal, 0, 100);
    faults.read_only = true;
    uint64_t lost = fixture_write(fixture.journal, 1, 100);
    assert_int_equal(journal_wsync(fixture.journal, lost, 60000), ERR_DENIED);
    assert_int_equal(journal_durable(fixture.journal), safe);
    fixture_close(&fixture);
    assert_int_equal(listener.errors, 1);
    faults.read_only = false;
    fixture.options.on_durable = NULL;
    fixture_open(&fixture);
    assert_int_equal(journal_end(fixture.journal), safe);
    fixture_done(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_may_fail_once),
        cmocka_unit_test(every_call_may_be_the_last_that_works),
        cmocka_unit_test(every_call_may_find_the_disk_full),
        cmocka_unit_test(every_call_may_be_interrupted),
        cmocka_unit_test(a_full_disk_is_survived),
        cmocka_unit_test(a_limit_on_file_size_is_survived),
        cmocka_unit_test(closing_a_full_journal_ends),
        cmocka_unit_test(room_can_be_made_with_zeros_only),
        cmocka_unit_test(a_failed_sync_is_final),
        cmocka_unit_test(a_write_into_its_own_room_must_work),
        cmocka_unit_test(a_failed_write_is_final),
    };
    log_level_set(LOG_ERROR + 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
