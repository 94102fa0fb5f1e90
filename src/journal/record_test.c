/* SPDX-License-Identifier: Apache-2.0 */
/* record_test.c - 002's journal form: what is written is read back, and nothing else
 * is: not a cut one, not a changed one, not one from elsewhere. */
#include "journal/record.h"

#include "base/pack.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define DATE_MS 1782782237123LL /* 2026-06-30T01:17:17.123Z */

static const Chain start = { .sum = 0x1234567890abcdef, .seed = 42 };

typedef struct Sample {
    Buf bytes;
    size_t ends[8]; /* behind each record */
    size_t count;
} Sample;

static void append(Sample *sample, Chain *chain, const Record *record)
{
    record_header(record, chain, &sample->bytes);
    buf_add_slice(&sample->bytes, record->body);
    buf_add_slice(&sample->bytes, record_footer());
    sample->ends[sample->count++] = sample->bytes.bytes;
}

static Record lines_record(Buf *options, Slice body)
{
    Job pattern = job_default();
    pattern.queue = SLICE_LITERAL("q");
    job_pack(options, &pattern);
    return (Record){
        .kind = RECORD_LINES,
        .date_ms = DATE_MS,
        .first = 77777,
        .count = lines_count(body),
        .node = 3,
        .tenant = SLICE_LITERAL("acme"),
        .type = SLICE_LITERAL("re-size"),
        .options = buf_slice(options),
        .body = body,
    };
}

static Record jobs_record(Buf *body)
{
    for (JobId id = 1; id <= 2; id++) {
        Job job = job_default();
        job.id = id;
        job.tenant = SLICE_LITERAL("acme");
        job.type = SLICE_LITERAL("run");
        job.payload = SLICE_LITERAL("pay\n#:EndBatch\nload");
        size_t begun = pack_begin(body, RECORD_JOBS_TAG);
        job_pack(body, &job);
        pack_end(body, begun);
    }
    return (Record){ .kind = RECORD_JOBS,
                     .date_ms = DATE_MS,
                     .node = 3,
                     .count = 2,
                     .synced = 100,
                     .body = buf_slice(body) };
}

static Record turn_record(Buf *body)
{
    Batch batch = { .number = 9, .node = 3 };
    batch_op(&batch, OP_CLAIM, 11)->attempt = 2;
    batch_op(&batch, OP_REMOVE, 12);
    batch_pack(body, &batch);
    batch_done(&batch);
    return (Record){ .kind = RECORD_TURN,
                     .date_ms = DATE_MS,
                     .number = 9,
                     .node = 3,
                     .count = 2,
                     .synced = 200,
                     .body = buf_slice(body) };
}

/* One record of each kind. */
static Sample sample_journal(void)
{
    Sample sample = { 0 };
    Chain chain = start;
    Buf options = { 0 };
    Buf jobs = { 0 };
    Buf turn = { 0 };
    Record lines = lines_record(&options, SLICE_LITERAL("a|b,c\n\n{\"x\":1}\nlast"));
    append(&sample, &chain, &lines);
    Record record = jobs_record(&jobs);
    append(&sample, &chain, &record);
    record = turn_record(&turn);
    append(&sample, &chain, &record);
    buf_done(&options);
    buf_done(&jobs);
    buf_done(&turn);
    return sample;
}

/* Reads until something other than a record comes; returns how many records came. */
static size_t read_all(Slice bytes, Chain chain, RecordRead *out_stopped)
{
    Arena arena = { 0 };
    size_t count = 0;
    for (;;) {
        Record record;
        size_t record_bytes;
        *out_stopped = record_read(bytes, &chain, &arena, &record, &record_bytes);
        if (*out_stopped != RECORD_OK)
            break;
        bytes = slice_from(bytes, record_bytes);
        count++;
    }
    arena_done(&arena);
    return count;
}

/* S2.71 S2.72 S2.73: header, the body as received, footer. */
static void a_batch_is_written_as_002_has_it(void **state)
{
    (void)state;
    Buf out = { 0 };
    Chain chain = start;
    Record record = { .date_ms = DATE_MS,
                      .tenant = SLICE_LITERAL("client"),
                      .type = SLICE_LITERAL("job-type"),
                      .count = 2,
                      .body = SLICE_LITERAL("one\ntwo\n") };
    record_header(&record, &chain, &out);
    buf_add_slice(&out, record.body);
    buf_add_slice(&out, record_footer());
    const char *text = buf_cstr(&out);
    assert_memory_equal(
        text, "#:Batch date=2026-06-30T01:17:17.123Z,bytes=8,jobtype=client-job-type,",
        strlen("#:Batch date=2026-06-30T01:17:17.123Z,bytes=8,jobtype=client-job-type,"));
    const char *body = strchr(text, '\n') + 1;
    assert_string_equal(body, "one\ntwo\n#:EndBatch\n");
    buf_done(&out);
}

static void every_field_survives(void **state)
{
    (void)state;
    Buf out = { 0 };
    Chain chain = start;
    Record record = { .kind = RECORD_TURN,
                      .date_ms = DATE_MS,
                      .number = UINT64_MAX,
                      .first = UINT64_MAX - 1,
                      .count = UINT64_MAX - 2,
                      .synced = UINT64_MAX - 3,
                      .node = UINT32_MAX,
                      .tenant = SLICE_LITERAL("a-b"),
                      .type = SLICE_LITERAL("c-d"),
                      .options = slice_of("\0\xff\n,", 4),
                      .body = slice_of("\0\n#:EndBatch\n", 13) };
    record_header(&record, &chain, &out);
    buf_add_slice(&out, record.body);
    buf_add_slice(&out, record_footer());
    buf_add_text(&out, "what follows");

    Arena arena = { 0 };
    Chain again = start;
    Record back;
    size_t bytes;
    assert_int_equal(record_read(buf_slice(&out), &again, &arena, &back, &bytes),
                     RECORD_OK);
    assert_int_equal(bytes, out.bytes - strlen("what follows"));
    assert_true(again.sum == chain.sum);
    assert_int_equal(back.kind, record.kind);
    assert_true(back.date_ms == record.date_ms);
    assert_true(back.number == record.number);
    assert_true(back.first == record.first);
    assert_true(back.count == record.count);
    assert_true(back.synced == record.synced);
    assert_true(back.node == record.node);
    assert_true(slice_equal(back.tenant, record.tenant));
    assert_true(slice_equal(back.type, record.type));
    assert_true(slice_equal(back.options, record.options));
    /* S2.76: payloads are byte-counted, so any bytes will do. */
    assert_true(slice_equal(back.body, record.body));
    arena_done(&arena);
    buf_done(&out);
}

static void an_impossible_date_is_kept_within_four_digits(void **state)
{
    (void)state;
    const int64_t dates[] = { INT64_MIN, -1, INT64_MAX };
    for (size_t i = 0; i < 3; i++) {
        Sample sample = { 0 };
        Chain chain = start;
        append(&sample, &chain, &(Record){ .date_ms = dates[i] });
        RecordRead stopped;
        assert_int_equal(read_all(buf_slice(&sample.bytes), start, &stopped), 1);
        assert_int_equal(stopped, RECORD_END);
        buf_done(&sample.bytes);
    }
}

/* Cut anywhere, a journal holds the records that were whole and says so. */
static void every_prefix_ends_or_is_torn(void **state)
{
    (void)state;
    Sample sample = sample_journal();
    size_t whole = 0;
    for (size_t cut = 0; cut <= sample.bytes.bytes; cut++) {
        char *exact = mem_copy(sample.bytes.data, cut); /* so that overreads are seen */
        if (whole < sample.count && cut == sample.ends[whole])
            whole++;
        RecordRead stopped;
        assert_int_equal(read_all(slice_of(exact, cut), start, &stopped), whole);
        bool at_end = cut == (whole ? sample.ends[whole - 1] : 0);
        assert_int_equal(stopped, at_end ? RECORD_END : RECORD_TORN);
        mem_free(exact);
    }
    buf_done(&sample.bytes);
}

/* The same, in a file filled with zeros ahead: fault 18, and 17 inside a record. */
static void every_prefix_before_zeros_ends_or_is_torn(void **state)
{
    (void)state;
    Sample sample = sample_journal();
    size_t bytes = sample.bytes.bytes + 64;
    size_t whole = 0;
    for (size_t cut = 0; cut <= sample.bytes.bytes; cut++) {
        char *padded = mem_alloc(bytes);
        memcpy(padded, sample.bytes.data, cut);
        if (whole < sample.count && cut == sample.ends[whole])
            whole++;
        RecordRead stopped;
        assert_int_equal(read_all(slice_of(padded, bytes), start, &stopped), whole);
        bool at_end = cut == (whole ? sample.ends[whole - 1] : 0);
        assert_int_equal(stopped, at_end ? RECORD_END : RECORD_TORN);
        mem_free(padded);
    }
    buf_done(&sample.bytes);
}

/* Fault 22: one bit changed anywhere, and the record it is in is not one any more. */
static void every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    Sample sample = sample_journal();
    for (size_t at = 0; at < sample.bytes.bytes; at++) {
        size_t before = 0;
        while (sample.ends[before] <= at)
            before++;
        for (unsigned bit = 0; bit < 8; bit++) {
            sample.bytes.data[at] = (char)(sample.bytes.data[at] ^ (1 << bit));
            RecordRead stopped;
            assert_int_equal(read_all(buf_slice(&sample.bytes), start, &stopped), before);
            assert_int_equal(stopped, RECORD_TORN);
            sample.bytes.data[at] = (char)(sample.bytes.data[at] ^ (1 << bit));
        }
    }
    buf_done(&sample.bytes);
}

static void a_record_fits_only_behind_its_own_forerunner(void **state)
{
    (void)state;
    Sample sample = sample_journal();
    RecordRead stopped;
    Chain other = { start.sum + 1, start.seed };
    assert_int_equal(read_all(buf_slice(&sample.bytes), other, &stopped), 0);
    other = (Chain){ start.sum, start.seed + 1 };
    assert_int_equal(read_all(buf_slice(&sample.bytes), other, &stopped), 0);
    /* The second record alone, at the beginning. */
    Slice moved = slice_from(buf_slice(&sample.bytes), sample.ends[0]);
    assert_int_equal(read_all(moved, start, &stopped), 0);
    assert_int_equal(stopped, RECORD_TORN);
    buf_done(&sample.bytes);
}

static void wants_says_how_much_to_load(void **state)
{
    (void)state;
    Sample sample = sample_journal();
    size_t line = (size_t)((char *)memchr(sample.bytes.data, '\n', sample.bytes.bytes) -
                           sample.bytes.data);
    for (size_t cut = 0; cut < sample.ends[0]; cut++) {
        size_t wants = record_wants(slice_of(sample.bytes.data, cut), &start);
        if (cut < sizeof "#:Batch date=" - 1)
            assert_int_equal(wants, sizeof "#:Batch date=" - 1);
        else if (cut <= line)
            assert_int_equal(wants, RECORD_HEADER_BYTES_MAX);
        else
            assert_int_equal(wants, sample.ends[0]);
    }
    assert_int_equal(record_wants(SLICE_LITERAL("#:Bitch"), &start), 0);
    assert_int_equal(record_wants(SLICE_LITERAL("#:Batch date=bad\n"), &start), 0);
    buf_done(&sample.bytes);
}

/* What was synced can be learnt from any header behind a broken place, but not from
 * a header of another journal that someone sent as a body. */
static void headers_behind_damage_tell_what_was_synced(void **state)
{
    (void)state;
    Sample sample = sample_journal();
    Slice rest = slice_from(buf_slice(&sample.bytes), 5);
    assert_true(record_synced_in(rest, &start) == 200);
    rest = slice_of(sample.bytes.data, sample.ends[1]);
    assert_true(record_synced_in(rest, &start) == 100);
    rest = slice_of(sample.bytes.data, sample.ends[0]);
    assert_true(record_synced_in(rest, &start) == 0);
    Chain other = { start.sum, start.seed + 1 };
    assert_true(record_synced_in(buf_slice(&sample.bytes), &other) == 0);
    buf_done(&sample.bytes);
}

static void hostile_headers_are_no_records(void **state)
{
    (void)state;
#define GOOD_START "#:Batch date=2026-06-30T01:17:17.123Z,bytes=0,jobtype=-,kind=turn,"
#define GOOD_END                                                                         \
    "node=1,tenant=,type=,first=0,count=0,number=0,options=,synced=0,"                   \
    "head=0000000000000000,sum=0000000000000000\n"
    static const char *const texts[] = {
        "#:Batch date=\n",
        "#:Batch date=2026-06-30T01:17:17.123Z,bytes=18446744073709551615,jobtype=-\n",
        "#:Batch date=2026-06-30T01:17:17.123Z,bytes=-1,jobtype=-\n",
        (GOOD_START GOOD_END "#:EndBatch\n"),
        (GOOD_START "sum=0000000000000000\n"),
        "#:Batch date=,sum=0000000000000000\n",
        "#:Batch date=,head=0000000000000000,sum=0000000000000000\n",
        ",sum=0000000000000000\n",
        "#:EndBatch\n",
        "\n",
        "|||\n",
        "a||b\n",
        "../x|type|payload\n",
        "id|bad,type|payload\n",
        "id|type\n",
        "id|type|no newline",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        RecordRead stopped;
        assert_int_equal(read_all(slice_text(texts[i]), start, &stopped), 0);
        assert_int_equal(stopped, RECORD_TORN);
    }
    /* A line that never ends is not searched beyond the longest header there is. */
    Buf endless = { 0 };
    buf_add_text(&endless, "#:Batch date=");
    memset(buf_room(&endless, 4 * RECORD_HEADER_BYTES_MAX), 'x',
           4 * RECORD_HEADER_BYTES_MAX);
    endless.bytes += 4 * RECORD_HEADER_BYTES_MAX;
    assert_int_equal(record_wants(buf_slice(&endless), &start), 0);
    buf_done(&endless);
}

/* A header whose own sum is right can still lie: each field is checked by itself. */
static void a_signed_header_with_wrong_fields_is_refused(void **state)
{
    (void)state;
#define FIELDS(bytes, kind, node, tenant, options)                                       \
    "#:Batch date=2026-06-30T01:17:17.123Z,bytes=" bytes ",jobtype=" tenant              \
    "-,kind=" kind ",node=" node ",tenant=" tenant                                       \
    ",type=,first=0,count=0,number=0,options=" options ",synced=0"
    static const struct {
        const char *fields;
        RecordRead expect;
    } rows[] = {
        { FIELDS("0", "turn", "1", "a", "00ff"), RECORD_OK },
        { FIELDS("00", "turn", "1", "a", ""), RECORD_TORN },
        { FIELDS("268435457", "turn", "1", "a", ""), RECORD_TORN },
        { FIELDS("0", "Turn", "1", "a", ""), RECORD_TORN },
        { FIELDS("0", "", "1", "a", ""), RECORD_TORN },
        { FIELDS("0", "turn", "4294967296", "a", ""), RECORD_TORN },
        { FIELDS("0", "turn", "", "a", ""), RECORD_TORN },
        { FIELDS("0", "turn", "1", "../a", ""), RECORD_TORN },
        { FIELDS("0", "turn", "1", "a", "0"), RECORD_TORN },
        { FIELDS("0", "turn", "1", "a", "0g"), RECORD_TORN },
        { FIELDS("0", "turn", "1", "a", "") ",more=1", RECORD_TORN },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Buf out = { 0 };
        buf_add_text(&out, rows[i].fields);
        uint64_t own = record_sum_of(buf_slice(&out), start.seed);
        buf_printf(&out, ",head=%016llx", (unsigned long long)own);
        uint64_t parts[] = { start.sum, own, record_sum_of((Slice){ 0 }, start.seed) };
        Slice covered = slice_of((const char *)parts, sizeof parts);
        uint64_t sum = record_sum_of(covered, start.seed);
        buf_printf(&out, ",sum=%016llx\n#:EndBatch\n", (unsigned long long)sum);
        Arena arena = { 0 };
        Chain chain = start;
        Record record;
        size_t bytes;
        assert_int_equal(record_read(buf_slice(&out), &chain, &arena, &record, &bytes),
                         rows[i].expect);
        arena_done(&arena);
        buf_done(&out);
    }
}

/* S2.74 and S2.37, S2.65: single lines, by id and by timestamp. */
static void single_lines_are_read(void **state)
{
    (void)state;
    Slice rest = SLICE_LITERAL("0000000000abc|acme-resize|pay|load\n"
                               "2026-06-30T01:17:17.123Z|acme-re-size|\n"
                               "#:EndBatch\n");
    RecordLine line;
    Arena arena = { 0 };
    Chain chain = start;
    Record record;
    size_t bytes;
    assert_int_equal(record_read(rest, &chain, &arena, &record, &bytes), RECORD_FOREIGN);
    assert_int_equal(record_line(&rest, &line), ERR_OK);
    assert_true(slice_is(line.id, "0000000000abc"));
    assert_true(line.date_ms == TIME_NEVER);
    assert_true(slice_is(line.jobtype, "acme-resize"));
    assert_true(slice_is(line.payload, "pay|load"));
    assert_int_equal(record_line(&rest, &line), ERR_OK);
    assert_int_equal(line.id.bytes, 0);
    assert_true(line.date_ms == DATE_MS);
    assert_true(slice_is(line.jobtype, "acme-re-size"));
    assert_int_equal(line.payload.bytes, 0);
    Slice before = rest;
    assert_int_equal(record_line(&rest, &line), ERR_INVALID);
    assert_true(slice_equal(before, rest));
    arena_done(&arena);
}

/* S2.64 S2.65: newline-terminated payloads become `timestamp|tenant-jobtype|payload`. */
static void single_lines_are_written(void **state)
{
    (void)state;
    Buf out = { 0 };
    record_line_write(&out, DATE_MS, SLICE_LITERAL("acme-resize"),
                      SLICE_LITERAL("one|two\n"));
    record_line_write(&out, DATE_MS, SLICE_LITERAL("acme-resize"), (Slice){ 0 });
    assert_string_equal(buf_cstr(&out), "2026-06-30T01:17:17.123Z|acme-resize|one|two\n"
                                        "2026-06-30T01:17:17.123Z|acme-resize|\n");
    Slice rest = buf_slice(&out);
    RecordLine line;
    assert_int_equal(record_line(&rest, &line), ERR_OK);
    assert_true(slice_is(line.payload, "one|two"));
    buf_done(&out);
}

/* S2.36 S2.40: what a store gets of each kind of record. */
static void records_become_operations(void **state)
{
    (void)state;
    Sample sample = sample_journal();
    Slice rest = buf_slice(&sample.bytes);
    Chain chain = start;
    Arena arena = { 0 };
    Batch batch = { 0 };
    for (size_t i = 0; i < sample.count; i++) {
        Record record;
        size_t bytes;
        assert_int_equal(record_read(rest, &chain, &arena, &record, &bytes), RECORD_OK);
        assert_int_equal(record_to_batch(&record, &batch), ERR_OK);
        rest = slice_from(rest, bytes);
    }
    memset(sample.bytes.data, 'x', sample.bytes.bytes); /* the batch has copies */
    arena_done(&arena);

    assert(batch.ops);
    assert_int_equal(batch.count, 5);
    assert_int_equal(batch.node, 3);
    assert_int_equal(batch.number, 9);
    const Op *lines = &batch.ops[0];
    assert_int_equal(lines->kind, OP_ADD_LINES);
    assert_int_equal(lines->count, 3);
    assert_int_equal(lines->first, 77777);
    assert_true(slice_is(lines->body, "a|b,c\n\n{\"x\":1}\nlast"));
    assert_true(slice_is(lines->job->tenant, "acme"));
    assert_true(slice_is(lines->job->type, "re-size"));
    assert_true(slice_is(lines->job->queue, "q"));
    assert_int_equal(batch.ops[2].kind, OP_ADD);
    assert_int_equal(batch.ops[2].id, 2);
    assert_true(slice_is(batch.ops[2].job->payload, "pay\n#:EndBatch\nload"));
    assert_int_equal(batch.ops[3].kind, OP_CLAIM);
    assert_int_equal(batch.ops[3].attempt, 2);
    assert_int_equal(batch.ops[4].kind, OP_REMOVE);
    batch_done(&batch);
    buf_done(&sample.bytes);
}

static void a_body_that_is_not_as_counted_adds_nothing(void **state)
{
    (void)state;
    Buf options = { 0 };
    Buf jobs = { 0 };
    Buf turn = { 0 };
    Record records[] = { lines_record(&options, SLICE_LITERAL("a\nb\n")),
                         jobs_record(&jobs), turn_record(&turn) };
    Batch batch = { .node = 8 };
    batch_op(&batch, OP_REMOVE, 1);
    for (size_t i = 0; i < 3; i++) {
        records[i].count++;
        assert_int_equal(record_to_batch(&records[i], &batch), ERR_CORRUPT);
        records[i].count--;
        if (records[i].kind != RECORD_LINES) {
            records[i].body.bytes--;
            assert_int_equal(record_to_batch(&records[i], &batch), ERR_CORRUPT);
        }
        assert_int_equal(batch.count, 1);
        assert_int_equal(batch.node, 8);
        assert_int_equal(batch.number, 0);
    }
    batch_done(&batch);
    buf_done(&options);
    buf_done(&jobs);
    buf_done(&turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_written_as_002_has_it),
        cmocka_unit_test(every_field_survives),
        cmocka_unit_test(an_impossible_date_is_kept_within_four_digits),
        cmocka_unit_test(every_prefix_ends_or_is_torn),
        cmocka_unit_test(every_prefix_before_zeros_ends_or_is_torn),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(a_record_fits_only_behind_its_own_forerunner),
        cmocka_unit_test(wants_says_how_much_to_load),
        cmocka_unit_test(headers_behind_damage_tell_what_was_synced),
        cmocka_unit_test(hostile_headers_are_no_records),
        cmocka_unit_test(a_signed_header_with_wrong_fields_is_refused),
        cmocka_unit_test(single_lines_are_read),
        cmocka_unit_test(single_lines_are_written),
        cmocka_unit_test(records_become_operations),
        cmocka_unit_test(a_body_that_is_not_as_counted_adds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
