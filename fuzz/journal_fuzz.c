/* SPDX-License-Identifier: Apache-2.0 */
/* journal_fuzz.c - any bytes as a journal: nothing but whole, fitting records is taken
 * for a record, and no record breaks the way to operations.
 *
 * The sums keep a mutated header out of the deeper code, so the first byte of the input
 * chooses: read the rest as it is, or wrap it as the body, the options or the names of a
 * record that is written and must be read back equal, or read it as single lines. */
#include "journal/record.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "journal_fuzz: %s\n", what);
    abort();
}

static void read_raw(Slice bytes)
{
    Chain chain = { 1, 2 };
    Arena arena = { 0 };
    Batch batch = { 0 };
    for (;;) {
        Record record;
        size_t record_bytes;
        if (record_read(bytes, &chain, &arena, &record, &record_bytes) != RECORD_OK)
            break;
        must(record_bytes <= bytes.bytes, "a record is longer than what there is");
        must(record_wants(bytes, &chain) == record_bytes, "wants another length");
        Err err = record_to_batch(&record, &batch);
        must(!err || err == ERR_CORRUPT, "an unexpected error");
        bytes = slice_from(bytes, record_bytes);
    }
    record_wants(bytes, &chain);
    record_synced_in(bytes, &chain);
    batch_done(&batch);
    arena_done(&arena);
}

static void read_lines(Slice rest)
{
    RecordLine line;
    while (!record_line(&rest, &line)) {
        Buf out = { 0 };
        int64_t date_ms = line.date_ms == TIME_NEVER ? 0 : line.date_ms;
        record_line_write(&out, date_ms, line.jobtype, line.payload);
        Slice again = buf_slice(&out);
        RecordLine back;
        must(!record_line(&again, &back), "a line that was written is none");
        must(slice_equal(back.payload, line.payload), "another payload");
        must(slice_equal(back.jobtype, line.jobtype), "another jobtype");
        must(!again.bytes, "more than one line");
        buf_done(&out);
    }
}

static void write_and_read(const Record *record)
{
    Chain chain = { 3, 4 };
    Chain again = chain;
    Buf out = { 0 };
    record_header(record, &chain, &out);
    buf_add_slice(&out, record->body);
    buf_add_slice(&out, record_footer());

    Arena arena = { 0 };
    Batch batch = { 0 };
    Record back;
    size_t bytes;
    must(record_read(buf_slice(&out), &again, &arena, &back, &bytes) == RECORD_OK,
         "a record that was written cannot be read");
    must(bytes == out.bytes, "another length");
    must(again.sum == chain.sum, "another chain");
    must(slice_equal(back.body, record->body), "another body");
    must(slice_equal(back.options, record->options), "other options");
    must(slice_equal(back.tenant, record->tenant), "another tenant");
    must(slice_equal(back.type, record->type), "another type");
    Err err = record_to_batch(&back, &batch);
    must(!err || err == ERR_CORRUPT, "an unexpected error");
    must(err || batch.count == (back.kind == RECORD_LINES ? 1 : back.count),
         "operations are missing");
    batch_done(&batch);
    arena_done(&arena);
    buf_done(&out);
}

/* data: flags, kind, count, length of the options, options, body */
static void write_record(Slice data)
{
    if (data.bytes < 3)
        return;
    const unsigned char *head = (const unsigned char *)data.data;
    Record record = { .kind = (RecordKind)(head[0] % 3), .count = head[1] };
    size_t options = head[2];
    data = slice_from(data, 3);
    record.options = slice_of(data.data, options < data.bytes ? options : data.bytes);
    record.body = slice_from(data, options);
    if (record.kind == RECORD_LINES && record.count == 255)
        record.count = lines_count(record.body);
    Slice names = record.options;
    Slice tenant = slice_cut(&names, '-');
    if (name_valid(tenant))
        record.tenant = tenant;
    if (name_valid(names))
        record.type = names;
    write_and_read(&record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (!bytes)
        return 0;
    Slice rest = slice_of((const char *)data + 1, bytes - 1);
    switch (data[0] % 3) {
    case 0:
        read_raw(rest);
        break;
    case 1:
        read_lines(rest);
        break;
    case 2:
        write_record(rest);
        break;
    }
    return 0;
}
