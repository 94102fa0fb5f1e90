/* SPDX-License-Identifier: Apache-2.0 */
/* journal_test.c - the journal on a disk that works: what is appended is durable, read
 * back in order, kept over restarts, rotated and removed. */
#include "journal/journal.h"

#include "base/times.h"
#include "journal/fixture.h"
#include "journal/queue.h"
#include "journal/reader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

/* S2.36 S2.38 S2.40: appended at the end, ingested from the front. */
static void what_is_appended_is_read_in_order(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture_open(&fixture);
    uint64_t end = 0;
    for (uint64_t i = 0; i < 100; i++)
        end = fixture_write(fixture.journal, i, 100);
    assert_int_equal(journal_end(fixture.journal), end);
    assert_int_equal(journal_wsync(fixture.journal, end, 60000), ERR_OK);
    assert_int_equal(journal_durable(fixture.journal), end);
    assert_int_equal(fixture_read_all(fixture.journal, 0), 100);
    fixture_done(&fixture);
}

/* S2.66: wsync waits for what is persisted, not longer than it is told. */
static void wsync_waits_for_the_position(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture_open(&fixture);
    assert_int_equal(journal_wsync(fixture.journal, 0, 0), ERR_OK);
    assert_int_equal(journal_wsync(fixture.journal, 1, 0), ERR_INVALID);
    uint64_t end = fixture_write(fixture.journal, 0, 10);
    assert_int_equal(journal_wsync(fixture.journal, end, -1), ERR_OK);
    assert_true(journal_durable(fixture.journal) == end);
    fixture_done(&fixture);
}

static void an_empty_journal_has_nothing_to_read(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    for (int i = 0; i < 3; i++) {
        fixture_open(&fixture);
        assert_int_equal(journal_end(fixture.journal), 0);
        assert_int_equal(journal_reserve(fixture.journal, 1000, 1000, 0), 0);
        fixture_close(&fixture);
    }
    fixture_done(&fixture);
}

/* S2.63: what was appended is there after a restart, from the read point on. */
static void a_restart_goes_on_where_it_ended(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    for (uint64_t run = 0; run < 5; run++) {
        fixture_open(&fixture);
        uint64_t end = journal_end(fixture.journal);
        assert_int_equal(journal_durable(fixture.journal), end);
        /* Each run left two records; the store of the next has read all but the last. */
        uint64_t unread = run ? 2 * run - 1 : 0;
        assert_int_equal(fixture_read_all(fixture.journal, unread), 2 * run);
        fixture.options.read_point = fixture_write(fixture.journal, 2 * run, 10);
        fixture_write(fixture.journal, 2 * run + 1, 10);
        fixture_close(&fixture);
    }
    fixture_done(&fixture);
}

typedef struct Herd {
    Fixture fixture;
    pthread_mutex_t lock; /* only one thread appends at a time */
    _Atomic uint64_t next;
    _Atomic uint64_t reported;
    _Atomic bool wrong; /* threads cannot use cmocka's asserts */
} Herd;

static void note_durable(void *context, uint64_t position, Err err)
{
    Herd *herd = context;
    if (err || position <= herd->reported)
        herd->wrong = true;
    herd->reported = position;
}

enum { HERD_THREADS = 16, HERD_RECORDS = 50 };

static void *herd_main(void *context)
{
    Herd *herd = context;
    for (int i = 0; i < HERD_RECORDS; i++) {
        pthread_mutex_lock(&herd->lock);
        uint64_t end = fixture_write(herd->fixture.journal, herd->next++, 50);
        journal_flush(herd->fixture.journal);
        pthread_mutex_unlock(&herd->lock);
        if (journal_wsync(herd->fixture.journal, end, 60000))
            herd->wrong = true;
    }
    return NULL;
}

/* Group commit: many wait at once for far fewer syncs, and no one waits in vain. */
static void threads_that_wait_share_syncs(void **state)
{
    (void)state;
    Herd herd = { .lock = PTHREAD_MUTEX_INITIALIZER };
    fixture_init(&herd.fixture);
    herd.fixture.options.on_durable = note_durable;
    herd.fixture.options.context = &herd;
    fixture_open(&herd.fixture);
    pthread_t threads[HERD_THREADS];
    for (int i = 0; i < HERD_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, herd_main, &herd), 0);
    for (int i = 0; i < HERD_THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_false(herd.wrong);
    JournalStats stats;
    journal_stats(herd.fixture.journal, &stats);
    assert_int_equal(stats.records, HERD_THREADS * HERD_RECORDS);
    assert_true(stats.syncs < stats.records);
    assert_int_equal(fixture_read_all(herd.fixture.journal, 0), stats.records);
    uint64_t end = journal_end(herd.fixture.journal);
    fixture_close(&herd.fixture);
    assert_int_equal(herd.reported, end);
    fixture_done(&herd.fixture);
}

typedef struct Ingest {
    Fixture *fixture;
    uint64_t count;
} Ingest;

/* A store that reads, rsyncs and trims while the journal grows. */
static void *ingest_main(void *context)
{
    Ingest *ingest = context;
    Journal *journal = ingest->fixture->journal;
    uint64_t next = 0;
    int64_t deadline_ms = clock_now().boot_ms + 120000;
    while (next < ingest->count && clock_now().boot_ms < deadline_ms) {
        uint64_t before = next;
        if (!fixture_ingest(journal, &next))
            break;
        journal_trim(journal, journal_durable(journal), 1);
        if (next == before)
            usleep(100);
    }
    return next == ingest->count ? NULL : ingest;
}

/* S2.39: rotated over many segments while one thread appends and another ingests. */
static void segments_come_and_go_under_way(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture.options.segment_bytes = 64 * 1024;
    fixture_open(&fixture);
    Ingest ingest = { &fixture, 3000 };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ingest_main, &ingest), 0);
    for (uint64_t i = 0; i < ingest.count; i++) {
        fixture_write(fixture.journal, i, i * 37 % 500);
        if (i % 100 == 0)
            journal_flush(fixture.journal);
    }
    assert_int_equal(journal_wsync(fixture.journal, journal_end(fixture.journal), 60000),
                     ERR_OK);
    void *failed;
    pthread_join(thread, &failed);
    assert_null(failed);
    JournalStats stats;
    journal_stats(fixture.journal, &stats);
    assert_int_equal(stats.segments, 1); /* only the one in use is left */
    assert_int_equal(fixture_segments(&fixture), 1);
    assert_true(journal_end(fixture.journal) > 10 * 64 * 1024);
    fixture.options.read_point = journal_end(fixture.journal);
    fixture_close(&fixture);
    fixture_open(&fixture);
    assert_int_equal(journal_end(fixture.journal), fixture.options.read_point);
    assert_int_equal(journal_reserve(fixture.journal, 1000, 1000, 0), 0);
    fixture_done(&fixture);
}

/* Every way records can lie at the end of a segment: just fitting, one byte over, in
 * several sizes, larger than a segment. */
static void records_of_any_size_cross_segments(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture.options.segment_bytes = 8192;
    fixture_open(&fixture);
    uint64_t count = 0;
    for (size_t bytes = 1; bytes < 9000; bytes = bytes * 3 / 2 + 1)
        for (int i = 0; i < 5; i++)
            fixture_write(fixture.journal, count++, bytes);
    fixture_write(fixture.journal, count++, 100000);
    fixture_write(fixture.journal, count++, 10);
    uint64_t end = journal_end(fixture.journal);
    assert_int_equal(journal_wsync(fixture.journal, end, 60000), ERR_OK);
    assert_true(fixture_segments(&fixture) > 10);
    assert_int_equal(fixture_read_all(fixture.journal, 0), count);
    fixture_close(&fixture);
    fixture_open(&fixture);
    assert_int_equal(journal_end(fixture.journal), end);
    assert_int_equal(fixture_read_all(fixture.journal, 0), count);
    fixture_done(&fixture);
}

static void a_given_body_is_taken_over(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture_open(&fixture);
    Buf body = { 0 };
    size_t bytes = 4 * 1024 * 1024;
    memset(buf_room(&body, bytes), 'y', bytes);
    body.bytes = bytes;
    Record record = { .kind = RECORD_LINES, .count = 1, .body = buf_slice(&body) };
    uint64_t end = journal_write(fixture.journal, &record, &body);
    assert_null(body.data);
    assert_int_equal(body.bytes, 0);
    assert_int_equal(journal_wsync(fixture.journal, end, 60000), ERR_OK);
    Batch batch = { 0 };
    /* At least one record, though it is larger than asked for (S2.67). */
    JournalToken token = journal_reserve(fixture.journal, 10, 1000, 0);
    assert_int_equal(journal_read(fixture.journal, token, &batch, NULL), ERR_OK);
    assert_int_equal(batch.count, 1);
    assert_int_equal(batch.ops[0].body.bytes, bytes);
    assert_int_equal(batch.ops[0].body.data[bytes - 1], 'y');
    batch_done(&batch);
    fixture_done(&fixture);
}

/* S2.67 S2.69 S2.70: a token for some of what waits, reading it, moving past it. */
static void reservations_do_not_overlap(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture_open(&fixture);
    uint64_t ends[4];
    for (uint64_t i = 0; i < 4; i++)
        ends[i] = fixture_write_synced(fixture.journal, i, 100);
    size_t one = ends[0];
    JournalToken first = journal_reserve(fixture.journal, 2 * one + 20, 1000, 0);
    JournalToken second = journal_reserve(fixture.journal, one, 1000, 0);
    JournalToken third = journal_reserve(fixture.journal, 1000000, 1000, 0);
    assert_int_equal(journal_reserve(fixture.journal, 1000000, 1000, 0), 0);

    Batch batch = { 0 };
    assert_int_equal(journal_read(fixture.journal, second, &batch, NULL), ERR_OK);
    assert_int_equal(batch.count, 1);
    assert_int_equal(batch.ops[0].first, 2);
    assert_false(batch.has_read_point); /* the first ones are not in the store yet */
    assert_int_equal(journal_rsync(fixture.journal, second), ERR_OK);
    assert_int_equal(journal_rsync(fixture.journal, second), ERR_TIMEOUT);

    batch_clear(&batch);
    assert_int_equal(journal_read(fixture.journal, first, &batch, NULL), ERR_OK);
    assert_int_equal(batch.count, 2);
    assert_int_equal(batch.ops[1].first, 1);
    assert_true(batch.has_read_point);
    assert_int_equal(batch.read_point.node, 1);
    assert_int_equal(batch.read_point.position,
                     ends[2]); /* the second is there already */
    assert_int_equal(journal_rsync(fixture.journal, first), ERR_OK);

    batch_clear(&batch);
    assert_int_equal(journal_read(fixture.journal, third, &batch, NULL), ERR_OK);
    assert_int_equal(batch.count, 1);
    assert_int_equal(batch.read_point.position, ends[3]);
    assert_int_equal(journal_rsync(fixture.journal, third), ERR_OK);
    batch_done(&batch);
    fixture_done(&fixture);
}

/* S2.68: without rsync in time, the lines go back into the journal. */
static void a_reservation_lapses(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture_open(&fixture);
    size_t one = fixture_write_synced(fixture.journal, 0, 100);
    for (uint64_t i = 1; i < 3; i++)
        fixture_write_synced(fixture.journal, i, 100);
    JournalToken lost = journal_reserve(fixture.journal, 2 * one + 20, 50, 1000);
    JournalToken kept = journal_reserve(fixture.journal, one, 5000, 1000);
    assert_int_equal(journal_reserve(fixture.journal, one, 50, 1049), 0);

    /* Given out again in smaller pieces, before anything else. */
    JournalToken again = journal_reserve(fixture.journal, one, 5000, 1050);
    JournalToken rest = journal_reserve(fixture.journal, one, 5000, 1050);
    assert_int_equal(journal_reserve(fixture.journal, one, 5000, 1050), 0);
    Batch batch = { 0 };
    assert_int_equal(journal_read(fixture.journal, lost, &batch, NULL), ERR_TIMEOUT);
    assert_int_equal(journal_rsync(fixture.journal, lost), ERR_TIMEOUT);
    assert_int_equal(journal_read(fixture.journal, again, &batch, NULL), ERR_OK);
    assert_int_equal(journal_read(fixture.journal, rest, &batch, NULL), ERR_OK);
    assert_int_equal(journal_read(fixture.journal, kept, &batch, NULL), ERR_OK);
    assert_int_equal(batch.count, 3);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(batch.ops[i].first, i);
    assert_int_equal(journal_rsync(fixture.journal, kept), ERR_OK);
    assert_int_equal(journal_rsync(fixture.journal, again), ERR_OK);
    assert_int_equal(journal_rsync(fixture.journal, rest), ERR_OK);
    batch_done(&batch);
    fixture_done(&fixture);
}

static void fill_segments(Fixture *fixture, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        fixture_write(fixture->journal, i, 3000); /* two of them do not fit into one */
    uint64_t end = journal_end(fixture->journal);
    assert_int_equal(journal_wsync(fixture->journal, end, 60000), ERR_OK);
}

/* J4 and S2.39: only what is behind the trim goes, and not before it may. */
static void trimmed_segments_are_kept_for_a_while(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture.options.segment_bytes = 8192;
    fixture.options.keep_bytes = 4 * 3400;
    fixture.options.keep_ms = 1000;
    uint64_t begin = 1;
    assert_int_equal(journal_begin(fixture.dir, &begin, &fixture.why), ERR_OK);
    assert_int_equal(begin, 0); /* there is none yet */
    fixture_open(&fixture);
    fill_segments(&fixture, 10);
    uint64_t end = journal_end(fixture.journal);
    assert_int_equal(journal_begin(fixture.dir, &begin, &fixture.why), ERR_OK);
    assert_int_equal(begin, 0);
    journal_trim(fixture.journal, end, 0);
    assert_int_equal(fixture_segments(&fixture), 10); /* nothing has been read */
    fixture_read_all(fixture.journal, 0);
    journal_trim(fixture.journal, end / 2, 100);
    assert_int_equal(fixture_segments(&fixture), 9); /* five behind, four may stay */
    journal_trim(fixture.journal, end, 200);
    assert_int_equal(fixture_segments(&fixture), 5); /* four and the one in use */
    journal_trim(fixture.journal, end, 1099);
    assert_int_equal(fixture_segments(&fixture), 5);
    journal_trim(fixture.journal, end, 1200);
    assert_int_equal(fixture_segments(&fixture), 1);
    assert_int_equal(journal_begin(fixture.dir, &begin, &fixture.why), ERR_OK);
    assert_in_range(begin, end / 2, end);
    fixture_done(&fixture);
}

/* A store that comes back with an older read point finds what was kept. */
static void kept_segments_can_be_read_again(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture.options.segment_bytes = 8192;
    fixture.options.keep_bytes = 1000000;
    fixture.options.keep_ms = 1000;
    fixture_open(&fixture);
    fill_segments(&fixture, 4);
    uint64_t end = journal_end(fixture.journal);
    assert_int_equal(fixture_read_all(fixture.journal, 0), 4);
    journal_trim(fixture.journal, end, 0);
    fixture_close(&fixture);
    fixture.options.read_point = end / 2;
    fixture_open(&fixture);
    assert_int_equal(fixture_read_all(fixture.journal, 2), 4);
    fixture_done(&fixture);
}

/* Fault 32. */
static void a_second_opener_is_refused(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture_open(&fixture);
    Journal *mine = fixture.journal;
    assert_int_equal(fixture_try_open(&fixture), ERR_BUSY);
    char pid[32];
    snprintf(pid, sizeof pid, "(pid %ld)", (long)getpid());
    assert_non_null(strstr(fixture.why.text, pid));
    assert_non_null(strstr(fixture.why.text, fixture.dir));
    assert_true(fixture.journal == mine);
    fixture_close(&fixture);
    fixture_open(&fixture); /* the lock went with it */
    fixture_done(&fixture);
}

/* Faults 1 to 4: a process that is killed loses nothing it was told is durable, and
 * what it had written besides is durable when someone is told of it. */
static void a_killed_process_leaves_what_was_durable(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture.options.segment_bytes = 8192;
    int told[2];
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (!child) {
        fixture_open(&fixture);
        for (uint64_t i = 0; i < 20; i++) {
            uint64_t end = fixture_write(fixture.journal, i, 700);
            if (i % 3 == 0 && (journal_wsync(fixture.journal, end, 60000) ||
                               write(told[1], &i, sizeof i) != sizeof i))
                _exit(1);
        }
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    uint64_t last = 0;
    fcntl(told[0], F_SETFL, O_NONBLOCK);
    while (read(told[0], &last, sizeof last) == sizeof last)
        continue;
    assert_int_equal(last, 18);
    fixture_open(&fixture);
    assert_true(fixture_read_all(fixture.journal, 0) >= last + 1);
    assert_int_equal(journal_durable(fixture.journal), journal_end(fixture.journal));
    close(told[0]);
    close(told[1]);
    fixture_done(&fixture);
}

typedef struct Visited {
    uint64_t count;
    uint64_t position;
    uint64_t stop_at;
} Visited;

static Err visit(void *context, const Record *record, uint64_t position)
{
    Visited *visited = context;
    assert_int_equal(record->first, visited->count++);
    assert_true(slice_is(record->tenant, "acme"));
    assert_true(position > visited->position);
    visited->position = position;
    return visited->count == visited->stop_at ? ERR_CONFLICT : ERR_OK;
}

/* For verify and export: also while a daemon has the journal. */
static void a_scan_sees_every_record(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture.options.segment_bytes = 8192;
    Visited none = { 0 };
    assert_int_equal(journal_scan(fixture.dir, visit, &none, &fixture.why),
                     ERR_NOT_FOUND);
    fixture_open(&fixture);
    fill_segments(&fixture, 7);
    Visited all = { 0 };
    assert_int_equal(journal_scan(fixture.dir, visit, &all, &fixture.why), ERR_OK);
    assert_int_equal(all.count, 7);
    assert_int_equal(all.position, journal_end(fixture.journal));
    Visited some = { .stop_at = 3 };
    assert_int_equal(journal_scan(fixture.dir, visit, &some, &fixture.why), ERR_CONFLICT);
    assert_int_equal(some.count, 3);
    fixture_done(&fixture);
}

static void room_is_there_from_the_start_and_stays(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture_open(&fixture);
    uint64_t mib = 1024 * 1024;
    for (uint64_t i = 0; i < 40; i++) {
        assert_true(journal_room(fixture.journal) >= 3 * mib);
        fixture_write_synced(fixture.journal, i, mib);
    }
    /* More than is ever kept ahead, when it is asked for. */
    assert_int_equal(journal_make_room(fixture.journal, 100 * mib, 10000), ERR_OK);
    assert_true(journal_room(fixture.journal) >= 100 * mib);
    assert_false(journal_full(fixture.journal));
    assert_int_equal(journal_make_room(fixture.journal, UINT64_MAX, 10000), ERR_LIMIT);
    /* Also while others wait that need the room before. */
    for (uint64_t i = 0; i < 120; i++)
        fixture_write(fixture.journal, i, mib);
    assert_int_equal(journal_make_room(fixture.journal, 100 * mib, 10000), ERR_OK);
    fixture_done(&fixture);
}

static uint64_t noted_in(const Fixture *fixture)
{
    char path[160];
    char page[SEGMENT_HEADER_BYTES];
    SegmentHeader header = { 0 };
    fixture_path(fixture, 0, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, page, sizeof page, 0), sizeof page);
    close(fd);
    assert_int_equal(segment_page_read(slice_of(page, sizeof page), &header), ERR_OK);
    return header.synced;
}

/* J3: so that later damage to it is not taken for a torn tail. */
static void an_idle_journal_notes_what_is_durable(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture.options.segment_bytes = 8192;
    fixture_open(&fixture);
    uint64_t end = fixture_write_synced(fixture.journal, 0, 100);
    int64_t deadline_ms = clock_now().boot_ms + 60000;
    while (noted_in(&fixture) != end && clock_now().boot_ms < deadline_ms)
        usleep(1000);
    assert_int_equal(noted_in(&fixture), end);
    fixture_done(&fixture);
}

/* The appending thread and the writer's take turns, and neither loses a record. */
static void a_flush_here_is_durable_at_its_return_or_soon(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture.options.segment_bytes = 8192;
    fixture_open(&fixture);
    uint64_t end = fixture_write_synced(fixture.journal, 0, 100);
    bool here = false;
    int64_t deadline_ms = clock_now().boot_ms + 60000;
    uint64_t count = 1;
    while (count < 300 || (!here && clock_now().boot_ms < deadline_ms)) {
        end = fixture_write(fixture.journal, count++, 100);
        if (count % 3)
            journal_flush_here(fixture.journal);
        else
            journal_flush(fixture.journal);
        here = here || (count % 3 && journal_durable(fixture.journal) == end);
        if (count % 7 == 0)
            usleep(2000); /* the writer finds time to rest */
    }
    assert_true(here);
    assert_int_equal(journal_wsync(fixture.journal, end, 60000), ERR_OK);
    assert_int_equal(fixture_read_all(fixture.journal, 0), count);
    fixture_done(&fixture);
}

/* A queue gives the bytes of records in order, whatever pieces are taken. */
static void a_queue_keeps_the_order_of_bytes(void **state)
{
    (void)state;
    Queue queue = { 0 };
    Buf expected = { 0 };
    for (int i = 0; i < 20; i++) {
        Buf body = { 0 };
        buf_printf(&body, "body %d", i);
        buf_printf(&expected, "header %d body %d%s", i, i, record_footer().data);
        Buf header = { 0 };
        buf_printf(&header, "header %d ", i);
        queue_add(&queue, buf_slice(&header), buf_slice(&body), i % 3 ? NULL : &body);
        queue_entry(&queue, expected.bytes, (uint64_t)i);
        buf_done(&header);
        buf_done(&body);
    }
    Buf got = { 0 };
    QueueParts parts = { 0 };
    for (size_t done = 0; done < queue.count;) {
        size_t upto =
            done + 1 + done % 3 < queue.count ? done + 1 + done % 3 : queue.count;
        uint64_t bytes = queue.entries[upto - 1].end - got.bytes;
        queue_parts(&queue, bytes, &parts);
        for (size_t i = 0; i < parts.count; i++)
            buf_add(&got, parts.items[i].iov_base, parts.items[i].iov_len);
        queue_skip(&queue, bytes, upto);
        done = upto;
    }
    assert_true(queue_empty(&queue));
    assert_true(slice_equal(buf_slice(&got), buf_slice(&expected)));
    mem_free(parts.items);
    queue_done(&queue);
    buf_done(&got);
    buf_done(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_appended_is_read_in_order),
        cmocka_unit_test(wsync_waits_for_the_position),
        cmocka_unit_test(an_empty_journal_has_nothing_to_read),
        cmocka_unit_test(a_restart_goes_on_where_it_ended),
        cmocka_unit_test(threads_that_wait_share_syncs),
        cmocka_unit_test(segments_come_and_go_under_way),
        cmocka_unit_test(records_of_any_size_cross_segments),
        cmocka_unit_test(a_given_body_is_taken_over),
        cmocka_unit_test(reservations_do_not_overlap),
        cmocka_unit_test(a_reservation_lapses),
        cmocka_unit_test(trimmed_segments_are_kept_for_a_while),
        cmocka_unit_test(kept_segments_can_be_read_again),
        cmocka_unit_test(a_second_opener_is_refused),
        cmocka_unit_test(a_killed_process_leaves_what_was_durable),
        cmocka_unit_test(a_scan_sees_every_record),
        cmocka_unit_test(room_is_there_from_the_start_and_stays),
        cmocka_unit_test(an_idle_journal_notes_what_is_durable),
        cmocka_unit_test(a_flush_here_is_durable_at_its_return_or_soon),
        cmocka_unit_test(a_queue_keeps_the_order_of_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
