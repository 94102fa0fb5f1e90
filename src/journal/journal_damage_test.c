/* SPDX-License-Identifier: Apache-2.0 */
/* journal_damage_test.c - journals that are not as they were left: torn, changed,
 * someone else's, incomplete. What was durable is never given up silently. */
#include "journal/survey.h"

#include "base/log.h"
#include "journal/fixture.h"
#include "journal/io.h"

/* --- Files as bytes ------------------------------------------------------------ */

static Buf file_read(const char *path)
{
    Buf bytes = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t got;
    while ((got = read(fd, buf_room(&bytes, 65536), 65536)) > 0)
        bytes.bytes += (size_t)got;
    close(fd);
    return bytes;
}

static void file_write(const char *path, Slice bytes)
{
    /* Not O_TRUNC: some file systems then wait for the disk in close. */
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes.data, bytes.bytes, 0), bytes.bytes);
    assert_int_equal(ftruncate(fd, (off_t)bytes.bytes), 0);
    close(fd);
}

static void file_copy(const char *from, const char *to)
{
    Buf bytes = file_read(from);
    file_write(to, buf_slice(&bytes));
    buf_done(&bytes);
}

/* Two records that are noted as durable, and one more that is not: as after a crash
 * right behind it. */
typedef struct Sample {
    Fixture fixture;
    char path[160];
    Buf bytes;
    uint64_t first; /* positions behind the records */
    uint64_t second;
    uint64_t third;
} Sample;

static void sample_init(Sample *sample)
{
    Fixture *fixture = &sample->fixture;
    fixture_init(fixture);
    fixture->options.segment_bytes = 8192;
    fixture_path(fixture, 0, sample->path);
    fixture_open(fixture);
    sample->first = fixture_write(fixture->journal, 0, 40);
    sample->second = fixture_write(fixture->journal, 1, 40);
    fixture_close(fixture);
    Buf before = file_read(sample->path);
    fixture_open(fixture);
    sample->third = fixture_write(fixture->journal, 2, 40);
    fixture_close(fixture);
    sample->bytes = file_read(sample->path);
    memcpy(sample->bytes.data, before.data, SEGMENT_HEADER_BYTES);
    file_write(sample->path, buf_slice(&sample->bytes));
    buf_done(&before);
}

static void sample_done(Sample *sample)
{
    buf_done(&sample->bytes);
    fixture_done(&sample->fixture);
}

static size_t offset_of(uint64_t position)
{
    return SEGMENT_HEADER_BYTES + position;
}

/* --- Torn tails ---------------------------------------------------------------- */

static bool only_zeros_from(const char *path, size_t offset)
{
    Buf bytes = file_read(path);
    bool zeros = true;
    for (size_t i = offset; i < bytes.bytes; i++)
        zeros = zeros && !bytes.data[i];
    buf_done(&bytes);
    return zeros;
}

/* Faults 17 and 18: the last record cut at every byte, with zeros behind it or with
 * the end of the file; what had been durable stays, and the rest is zeros again. */
static void a_torn_tail_is_cut(void **state)
{
    (void)state;
    Sample sample;
    sample_init(&sample);
    Fixture *fixture = &sample.fixture;
    for (size_t cut = offset_of(sample.second); cut < offset_of(sample.third); cut++) {
        Buf torn = { 0 };
        buf_add(&torn, sample.bytes.data, cut);
        if (cut % 2) {
            size_t more = sample.bytes.bytes - cut;
            memset(buf_room(&torn, more), 0, more);
            torn.bytes += more;
        }
        file_write(sample.path, buf_slice(&torn));
        fixture_open(fixture);
        assert_int_equal(journal_end(fixture->journal), sample.second);
        if (cut % 16 == 0) { /* and it can be gone on with */
            fixture_write_synced(fixture->journal, 2, 10);
            assert_int_equal(fixture_read_all(fixture->journal, 0), 3);
        } else {
            assert_true(only_zeros_from(sample.path, offset_of(sample.second)));
        }
        fixture_close(fixture);
        buf_done(&torn);
    }
    sample_done(&sample);
}

static void garbage_behind_the_end_is_cut(void **state)
{
    (void)state;
    static const char *const tails[] = { "x", "\n", "#:Batch date=", "id|type|payload\n",
                                         "#:EndBatch\n" };
    Sample sample;
    sample_init(&sample);
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        memcpy(sample.bytes.data + offset_of(sample.third), tails[i], strlen(tails[i]));
        file_write(sample.path, buf_slice(&sample.bytes));
        fixture_open(&sample.fixture);
        assert_int_equal(journal_end(sample.fixture.journal), sample.third);
        fixture_close(&sample.fixture);
    }
    sample_done(&sample);
}

/* A body with records of its own in it is a body, also when it is torn: they would have
 * to be signed with this journal's seed. */
static void a_record_inside_a_body_does_not_count(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture.options.segment_bytes = 8192;
    fixture_open(&fixture);
    Buf body = { 0 };
    Chain chain = { 1, 2 };
    record_header(&(Record){ .synced = 1u << 20 }, &chain, &body);
    buf_add_slice(&body, record_footer());
    Record record = { .kind = RECORD_JOBS, .body = buf_slice(&body) };
    uint64_t end = journal_write(fixture.journal, &record, NULL);
    assert_int_equal(journal_wsync(fixture.journal, end, 60000), ERR_OK);
    fixture_close(&fixture);
    char path[160];
    fixture_path(&fixture, 0, path);
    Buf bytes = file_read(path);
    memset(bytes.data + 1024, ' ', 512); /* not noted as durable */
    bytes.data[SEGMENT_HEADER_BYTES] = 0;
    file_write(path, buf_slice(&bytes));
    fixture_open(&fixture);
    assert_int_equal(journal_end(fixture.journal), 0);
    buf_done(&body);
    buf_done(&bytes);
    fixture_done(&fixture);
}

/* --- Damage -------------------------------------------------------------------- */

/* Tries to open; expects a refusal with file and offset that changes nothing. */
static void refused_at(Sample *sample, size_t offset)
{
    char place[64];
    Buf before = file_read(sample->path);
    assert_int_equal(fixture_try_open(&sample->fixture), ERR_CORRUPT);
    snprintf(place, sizeof place, ".journal is damaged at offset %zu ", offset);
    if (!strstr(sample->fixture.why.text, place))
        print_error("%s, not: %s\n", place, sample->fixture.why.text);
    assert_non_null(strstr(sample->fixture.why.text, place));
    Buf after = file_read(sample->path);
    assert_true(slice_equal(buf_slice(&before), buf_slice(&after)));
    buf_done(&before);
    buf_done(&after);
}

/* Fault 22: a bit of each byte of what was noted as durable. */
static void damage_to_what_was_durable_is_refused(void **state)
{
    (void)state;
    Sample sample;
    sample_init(&sample);
    for (size_t at = offset_of(0); at < offset_of(sample.second); at++) {
        char flip = (char)(1 << at % 8);
        sample.bytes.data[at] = (char)(sample.bytes.data[at] ^ flip);
        file_write(sample.path, buf_slice(&sample.bytes));
        refused_at(&sample, offset_of(at < offset_of(sample.first) ? 0 : sample.first));
        sample.bytes.data[at] = (char)(sample.bytes.data[at] ^ flip);
    }
    sample_done(&sample);
}

/* A journal that was closed has a note about all of it: also its last record is not
 * taken for a torn tail. */
static void a_closed_journal_has_no_torn_tail(void **state)
{
    (void)state;
    Sample sample;
    sample_init(&sample);
    fixture_open(&sample.fixture);
    fixture_close(&sample.fixture);
    Buf closed = file_read(sample.path);
    for (size_t at = offset_of(sample.second); at < offset_of(sample.third); at += 5) {
        closed.data[at] ^= 2;
        file_write(sample.path, buf_slice(&closed));
        refused_at(&sample, offset_of(sample.second));
        closed.data[at] ^= 2;
    }
    memset(closed.data + offset_of(sample.second), 0, sample.third - sample.second);
    file_write(sample.path, buf_slice(&closed));
    refused_at(&sample, offset_of(sample.second));
    buf_done(&closed);
    sample_done(&sample);
}

/* The same without the note: the header of a later record tells. */
static void a_later_record_testifies(void **state)
{
    (void)state;
    Fixture fixture;
    fixture_init(&fixture);
    fixture.options.segment_bytes = 8192;
    fixture_open(&fixture);
    uint64_t ends[3];
    for (uint64_t i = 0; i < 3; i++)
        ends[i] = fixture_write_synced(fixture.journal, i, 40);
    fixture_close(&fixture);
    Sample sample = { .fixture = fixture };
    fixture_path(&fixture, 0, sample.path);
    sample.fixture.options.dir = sample.fixture.dir;
    sample.bytes = file_read(sample.path);
    memset(sample.bytes.data + 1024, ' ', 512);
    /* Each was synced before the next was written: two are known to have been durable. */
    for (size_t at = offset_of(0); at < offset_of(ends[1]); at += 3) {
        sample.bytes.data[at] = (char)(sample.bytes.data[at] ^ 1);
        file_write(sample.path, buf_slice(&sample.bytes));
        refused_at(&sample, offset_of(at < offset_of(ends[0]) ? 0 : ends[0]));
        sample.bytes.data[at] = (char)(sample.bytes.data[at] ^ 1);
    }
    /* Zeros over the first one are damage too, not an end. */
    memset(sample.bytes.data + offset_of(0), 0, ends[0]);
    file_write(sample.path, buf_slice(&sample.bytes));
    refused_at(&sample, offset_of(0));
    sample_done(&sample);
}

/* Without note and later record: what the store has read had been durable. */
static void the_read_point_testifies(void **state)
{
    (void)state;
    Sample sample;
    sample_init(&sample);
    sample.fixture.options.read_point = sample.third;
    sample.bytes.data[offset_of(sample.second) + 20] ^= 1;
    file_write(sample.path, buf_slice(&sample.bytes));
    refused_at(&sample, offset_of(sample.second));
    sample.fixture.options.read_point = sample.second;
    fixture_open(&sample.fixture);
    assert_int_equal(journal_end(sample.fixture.journal), sample.second);
    sample_done(&sample);
}

/* Fault 30, 31: a journal that is not the one the store has read. */
static void a_journal_behind_its_store_is_refused(void **state)
{
    (void)state;
    Sample sample;
    sample_init(&sample);
    Fixture *fixture = &sample.fixture;
    fixture->options.read_point = sample.third + 1;
    assert_int_equal(fixture_try_open(fixture), ERR_CORRUPT);
    assert_non_null(strstr(fixture->why.text, "the store is ahead of this journal"));
    fixture->options.read_point = sample.second + 1;
    assert_int_equal(fixture_try_open(fixture), ERR_CORRUPT);
    assert_non_null(strstr(fixture->why.text, "inside a record"));
    unlink(sample.path);
    assert_int_equal(fixture_try_open(fixture), ERR_CORRUPT);
    assert_non_null(strstr(fixture->why.text, "is empty"));
    sample_done(&sample);
}

static void someone_elses_journal_is_refused(void **state)
{
    (void)state;
    Sample sample;
    sample_init(&sample);
    Fixture *fixture = &sample.fixture;
    fixture->options.node = 2;
    assert_int_equal(fixture_try_open(fixture), ERR_CONFLICT);
    assert_non_null(strstr(fixture->why.text, "belongs to node 1"));
    fixture->options.node = 1;
    fixture->options.cluster = 5;
    assert_int_equal(fixture_try_open(fixture), ERR_CONFLICT);
    fixture->options.cluster = FIXTURE_CLUSTER;
    fixture->options.epoch++; /* a later start of the same node */
    fixture_open(fixture);
    fixture_close(fixture);
    sample.bytes.data[sizeof "#:Journal version=" - 1] = '7';
    file_write(sample.path, buf_slice(&sample.bytes));
    assert_int_equal(fixture_try_open(fixture), ERR_UNSUPPORTED);
    assert_non_null(strstr(fixture->why.text, "newer version"));
    sample.bytes.data[sizeof "#:Journal version=" - 1] = '1';
    sample.bytes.data[40] ^= 1;
    file_write(sample.path, buf_slice(&sample.bytes));
    assert_int_equal(fixture_try_open(fixture), ERR_CORRUPT);
    assert_non_null(strstr(fixture->why.text, "damaged at offset 0"));
    file_write(sample.path, (Slice){ 0 });
    assert_int_equal(fixture_try_open(fixture), ERR_CORRUPT);
    sample_done(&sample);
}

/* --- Several segments ----------------------------------------------------------- */

typedef struct Series {
    Fixture fixture;
    uint64_t starts[5]; /* of segments with one record each */
    uint64_t end;
} Series;

static void series_init(Series *series)
{
    fixture_init(&series->fixture);
    series->fixture.options.segment_bytes = 8192;
    series->fixture.options.dir = series->fixture.dir;
    fixture_open(&series->fixture);
    for (uint64_t i = 0; i < 5; i++) {
        series->starts[i] = journal_end(series->fixture.journal);
        fixture_write_synced(series->fixture.journal, i, 3000);
    }
    series->end = journal_end(series->fixture.journal);
    fixture_close(&series->fixture);
}

static void remove_segment(const Series *series, size_t index)
{
    char path[160];
    fixture_path(&series->fixture, series->starts[index], path);
    assert_int_equal(unlink(path), 0);
}

static void older_segments_may_be_missing_but_not_newer_ones(void **state)
{
    (void)state;
    Series series;
    series_init(&series);
    Fixture *fixture = &series.fixture;
    remove_segment(&series, 0);
    assert_int_equal(fixture_try_open(fixture), ERR_CORRUPT);
    assert_non_null(strstr(fixture->why.text, "segments are missing"));
    fixture->options.read_point = series.starts[1];
    fixture_open(fixture);
    assert_int_equal(fixture_read_all(fixture->journal, 1), 5);
    fixture_close(fixture);
    remove_segment(&series, 3);
    assert_int_equal(fixture_try_open(fixture), ERR_CORRUPT);
    assert_non_null(strstr(fixture->why.text, "a later segment exists"));
    fixture->options.read_point = series.starts[4];
    fixture_open(fixture);
    assert_int_equal(fixture_read_all(fixture->journal, 4), 5);
    fixture_done(fixture);
}

/* A tail can only be torn in the last segment. */
static void a_torn_segment_before_another_is_damage(void **state)
{
    (void)state;
    Series series;
    series_init(&series);
    Fixture *fixture = &series.fixture;
    Sample sample = { .fixture = *fixture };
    sample.fixture.options.dir = sample.fixture.dir;
    fixture_path(fixture, series.starts[2], sample.path);
    sample.bytes = file_read(sample.path);
    Buf whole = file_read(sample.path);
    for (size_t cut = SEGMENT_HEADER_BYTES; cut < sample.bytes.bytes; cut += 501) {
        memset(sample.bytes.data + cut, 0, sample.bytes.bytes - cut);
        file_write(sample.path, buf_slice(&sample.bytes));
        refused_at(&sample, SEGMENT_HEADER_BYTES);
        memcpy(sample.bytes.data, whole.data, whole.bytes);
        file_write(sample.path, slice_of(whole.data, cut));
        refused_at(&sample, SEGMENT_HEADER_BYTES);
    }
    /* Reading that begins behind it does not need it. */
    sample.fixture.options.read_point = series.starts[3];
    fixture_open(&sample.fixture);
    assert_int_equal(journal_end(sample.fixture.journal), series.end);
    buf_done(&whole);
    sample_done(&sample);
}

static void a_segment_of_another_journal_does_not_fit(void **state)
{
    (void)state;
    Series series;
    Series other;
    series_init(&series);
    series_init(&other);
    char mine[160];
    char foreign[160];
    fixture_path(&series.fixture, series.starts[2], mine);
    fixture_path(&other.fixture, other.starts[2], foreign);
    assert_int_equal(series.starts[2], other.starts[2]);
    file_copy(foreign, mine);
    assert_int_equal(fixture_try_open(&series.fixture), ERR_CORRUPT);
    assert_non_null(strstr(series.fixture.why.text, "does not belong behind"));
    assert_int_equal(journal_scan(series.fixture.dir, NULL, NULL, NULL), ERR_CORRUPT);
    assert_int_equal(journal_scan(other.fixture.dir, NULL, NULL, NULL), ERR_OK);
    fixture_done(&series.fixture);
    fixture_done(&other.fixture);
}

/* What someone else keeps in the directory stays. */
static void other_files_are_left_alone(void **state)
{
    (void)state;
    Series series;
    series_init(&series);
    char path[160];
    snprintf(path, sizeof path, "%s/notes.txt", series.fixture.dir);
    file_write(path, SLICE_LITERAL("mine"));
    fixture_open(&series.fixture);
    fixture_read_all(series.fixture.journal, 0);
    journal_trim(series.fixture.journal, series.end, 0);
    fixture_close(&series.fixture);
    Buf bytes = file_read(path);
    assert_true(slice_is(buf_slice(&bytes), "mine"));
    buf_done(&bytes);
    fixture_done(&series.fixture);
}

/* Damage that comes while it is open is told to who reads, who can try again. */
static void damage_under_way_is_told_to_the_reader(void **state)
{
    (void)state;
    Series series;
    series_init(&series);
    Fixture *fixture = &series.fixture;
    fixture_open(fixture);
    char path[160];
    fixture_path(fixture, series.starts[0], path);
    Buf bytes = file_read(path);
    bytes.data[SEGMENT_HEADER_BYTES + 1000] ^= 1;
    file_write(path, buf_slice(&bytes));
    JournalToken token = journal_reserve(fixture->journal, 1000, 1000, 0);
    assert_true(token != 0);
    Batch batch = { 0 };
    assert_int_equal(journal_read(fixture->journal, token, &batch, &fixture->why),
                     ERR_CORRUPT);
    assert_non_null(strstr(fixture->why.text, "damaged at offset 4096"));
    assert_int_equal(batch.count, 0);
    assert_int_equal(journal_rsync(fixture->journal, token), ERR_TIMEOUT);
    bytes.data[SEGMENT_HEADER_BYTES + 1000] ^= 1;
    file_write(path, buf_slice(&bytes));
    fixture_close(fixture);
    fixture_open(fixture);
    assert_int_equal(fixture_read_all(fixture->journal, 0), 5);
    batch_done(&batch);
    buf_done(&bytes);
    fixture_done(fixture);
}

static int no_sync(int fd)
{
    (void)fd;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_torn_tail_is_cut),
        cmocka_unit_test(garbage_behind_the_end_is_cut),
        cmocka_unit_test(a_record_inside_a_body_does_not_count),
        cmocka_unit_test(damage_to_what_was_durable_is_refused),
        cmocka_unit_test(a_closed_journal_has_no_torn_tail),
        cmocka_unit_test(a_later_record_testifies),
        cmocka_unit_test(the_read_point_testifies),
        cmocka_unit_test(a_journal_behind_its_store_is_refused),
        cmocka_unit_test(someone_elses_journal_is_refused),
        cmocka_unit_test(older_segments_may_be_missing_but_not_newer_ones),
        cmocka_unit_test(a_torn_segment_before_another_is_damage),
        cmocka_unit_test(a_segment_of_another_journal_does_not_fit),
        cmocka_unit_test(other_files_are_left_alone),
        cmocka_unit_test(damage_under_way_is_told_to_the_reader),
    };
    log_level_set(LOG_ERROR);
    journal_io.fdatasync = journal_io.fsync = no_sync; /* thousands of openings */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
