/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - see record.h.
 *
 * A header has all its fields, always in the same order: there is one way to write a
 * record, and anything else is no record. Nothing here trusts what it reads: lengths
 * are compared with limits and with what is there before they are used. */
#include "journal/record.h"

#include "base/pack.h"
#include "base/text.h"

#include <assert.h>
#include <xxhash.h>

#define BEGIN     "#:Batch date="
#define FOOTER    "#:EndBatch\n"
#define HEX_BYTES 16 /* a sum, written */

/* Everything of a header but its options: names twice, seven numbers, words, sums. */
#define HEADER_FIXED_BYTES_MAX (4 * NAME_BYTES_MAX + 7 * 20 + 300)
_Static_assert(HEADER_FIXED_BYTES_MAX + 2 * RECORD_OPTIONS_BYTES_MAX <=
                   RECORD_HEADER_BYTES_MAX,
               "every header that is written can be read");

static const char *kind_name(RecordKind kind)
{
    switch (kind) {
    case RECORD_LINES:
        return "lines";
    case RECORD_JOBS:
        return "jobs";
    case RECORD_TURN:
        return "turn";
    }
    return "?";
}

/* --- Writing ------------------------------------------------------------- */

typedef struct Pen { /* writes into room that is known to be enough */
    char *at;
} Pen;

static void put(Pen *pen, Slice text)
{
    if (text.bytes)
        memcpy(pen->at, text.data, text.bytes);
    pen->at += text.bytes;
}

static void put_number(Pen *pen, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put(pen, slice_of(digits + at, sizeof digits - at));
}

static const char hex_digits[] = "0123456789abcdef";

static void put_hex(Pen *pen, Slice bytes)
{
    for (size_t i = 0; i < bytes.bytes; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        *pen->at++ = hex_digits[c >> 4];
        *pen->at++ = hex_digits[c & 15];
    }
}

static void put_sum(Pen *pen, uint64_t sum)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        *pen->at++ = hex_digits[sum >> shift & 15];
}

static int64_t date_within(int64_t date_ms)
{
    if (date_ms < 0)
        return 0;
    return date_ms > TIME_WALL_MAX_MS ? TIME_WALL_MAX_MS : date_ms;
}

#define PUT(pen, text)              put((pen), SLICE_LITERAL(text))
#define PUT_NUMBER(pen, key, value) (PUT(pen, "," key "="), put_number((pen), (value)))
#define PUT_TEXT(pen, key, value)   (PUT(pen, "," key "="), put((pen), (value)))

static void put_fields(Pen *pen, const Record *record)
{
    char date[TIME_TEXT_BYTES];
    PUT(pen, BEGIN);
    put(pen, slice_text(time_text(date_within(record->date_ms), date)));
    PUT_NUMBER(pen, "bytes", record->body.bytes);
    PUT_TEXT(pen, "jobtype", record->tenant);
    PUT(pen, "-");
    put(pen, record->type);
    PUT_TEXT(pen, "kind", slice_text(kind_name(record->kind)));
    PUT_NUMBER(pen, "node", record->node);
    PUT_TEXT(pen, "tenant", record->tenant);
    PUT_TEXT(pen, "type", record->type);
    PUT_NUMBER(pen, "first", record->first);
    PUT_NUMBER(pen, "count", record->count);
    PUT_NUMBER(pen, "number", record->number);
    PUT(pen, ",options=");
    put_hex(pen, record->options);
    PUT_NUMBER(pen, "synced", record->synced);
}

uint64_t record_sum_of(Slice bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes.data ? bytes.data : "", bytes.bytes, seed);
}

/* Of what came before, of the header and of the body: lengths cannot be confused,
 * because each part is a sum itself. */
static uint64_t chained_sum(const Chain *chain, uint64_t head_sum, Slice body)
{
    const uint64_t parts[3] = { chain->sum, head_sum, record_sum_of(body, chain->seed) };
    char bytes[sizeof parts];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(parts[i / 8] >> (8 * (i % 8)));
    return record_sum_of(slice_of(bytes, sizeof bytes), chain->seed);
}

void record_header(const Record *record, Chain *chain, Buf *out)
{
    assert(!record->tenant.bytes || name_valid(record->tenant));
    assert(!record->type.bytes || name_valid(record->type));
    assert(record->options.bytes <= RECORD_OPTIONS_BYTES_MAX);
    assert(record->body.bytes <= RECORD_BODY_BYTES_MAX);

    char *begin = buf_room(out, HEADER_FIXED_BYTES_MAX + 2 * record->options.bytes);
    Pen pen = { begin };
    put_fields(&pen, record);
    Slice fields = slice_of(begin, (size_t)(pen.at - begin));
    uint64_t head_sum = record_sum_of(fields, chain->seed);
    PUT(&pen, ",head=");
    put_sum(&pen, head_sum);
    chain->sum = chained_sum(chain, head_sum, record->body);
    PUT(&pen, ",sum=");
    put_sum(&pen, chain->sum);
    PUT(&pen, "\n");
    out->bytes += (size_t)(pen.at - begin);
}

Slice record_footer(void)
{
    return SLICE_LITERAL(FOOTER);
}

/* --- Reading ------------------------------------------------------------- */

typedef struct Head { /* a header that fits its own sum */
    Record record;    /* without body and options */
    Slice options_hex;
    uint64_t body_bytes;
    uint64_t head_sum;
    uint64_t sum;
    size_t bytes; /* with its newline */
} Head;

static size_t whole_bytes(const Head *head)
{
    return head->bytes + head->body_bytes + sizeof FOOTER - 1;
}

static bool take_number(Slice text, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    if (!text.bytes || (text.data[0] == '0' && text.bytes > 1))
        return false;
    for (size_t i = 0; i < text.bytes; i++) {
        char c = text.data[i];
        if (c < '0' || c > '9' || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(c - '0'), &value))
            return false;
    }
    *out = value;
    return value <= max;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_sum(Slice hex, uint64_t *out)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < hex.bytes; i++) {
        int value = hex_value(hex.data[i]);
        if (value < 0)
            return false;
        sum = sum << 4 | (uint64_t)value;
    }
    *out = sum;
    return hex.bytes == HEX_BYTES;
}

/* Cuts `,key=<16 hex digits>` off the end of *text. */
static bool cut_sum(Slice *text, Slice key, uint64_t *out)
{
    if (text->bytes < key.bytes + HEX_BYTES)
        return false;
    Slice tail = slice_from(*text, text->bytes - key.bytes - HEX_BYTES);
    if (!slice_starts(tail, key) || !take_sum(slice_from(tail, key.bytes), out))
        return false;
    text->bytes -= tail.bytes;
    return true;
}

/* Takes `key=value`, and the comma after it, off *rest. */
static bool take_field(Slice *rest, const char *key, Slice *out_value)
{
    Slice name = slice_text(key);
    if (!rest->data || !slice_starts(*rest, name) || rest->bytes == name.bytes ||
        rest->data[name.bytes] != '=')
        return false;
    *rest = slice_from(*rest, name.bytes + 1);
    *out_value = slice_cut(rest, ',');
    return true;
}

static bool take_number_field(Slice *rest, const char *key, uint64_t max, uint64_t *out)
{
    Slice value;
    return take_field(rest, key, &value) && take_number(value, max, out);
}

static bool take_name_field(Slice *rest, const char *key, Slice *out)
{
    return take_field(rest, key, out) && (!out->bytes || name_valid(*out));
}

static bool take_kind(Slice *rest, RecordKind *out)
{
    Slice value;
    if (!take_field(rest, "kind", &value))
        return false;
    for (RecordKind kind = RECORD_LINES; kind <= RECORD_TURN; kind++) {
        if (!slice_is(value, kind_name(kind)))
            continue;
        *out = kind;
        return true;
    }
    return false;
}

static bool jobtype_fits(Slice jobtype, const Record *record)
{
    return jobtype.bytes == record->tenant.bytes + 1 + record->type.bytes &&
           slice_starts(jobtype, record->tenant) &&
           jobtype.data[record->tenant.bytes] == '-' &&
           slice_equal(slice_from(jobtype, record->tenant.bytes + 1), record->type);
}

static bool take_fields(Slice rest, Head *head)
{
    Record *record = &head->record;
    Slice date;
    Slice jobtype;
    uint64_t node;
    if (!take_field(&rest, "#:Batch date", &date) ||
        time_parse(date, &record->date_ms) != ERR_OK ||
        !take_number_field(&rest, "bytes", RECORD_BODY_BYTES_MAX, &head->body_bytes) ||
        !take_field(&rest, "jobtype", &jobtype) || !take_kind(&rest, &record->kind) ||
        !take_number_field(&rest, "node", UINT32_MAX, &node) ||
        !take_name_field(&rest, "tenant", &record->tenant) ||
        !take_name_field(&rest, "type", &record->type) ||
        !take_number_field(&rest, "first", UINT64_MAX, &record->first) ||
        !take_number_field(&rest, "count", UINT64_MAX, &record->count) ||
        !take_number_field(&rest, "number", UINT64_MAX, &record->number) ||
        !take_field(&rest, "options", &head->options_hex) ||
        !take_number_field(&rest, "synced", UINT64_MAX, &record->synced))
        return false;
    record->node = (uint32_t)node;
    return !rest.data && jobtype_fits(jobtype, record);
}

static bool begins_record(Slice bytes)
{
    return slice_starts(bytes, SLICE_LITERAL(BEGIN));
}

/* The header line without its newline; false if its end is not within reach. */
static bool header_line(Slice bytes, Slice *out)
{
    size_t reach =
        bytes.bytes < RECORD_HEADER_BYTES_MAX ? bytes.bytes : RECORD_HEADER_BYTES_MAX;
    const char *end = memchr(bytes.data, '\n', reach);
    if (!end)
        return false;
    *out = slice_of(bytes.data, (size_t)(end - bytes.data));
    return true;
}

static bool read_head(Slice bytes, uint64_t seed, Head *out)
{
    Slice line;
    Head head = { 0 };
    if (!begins_record(bytes) || !header_line(bytes, &line))
        return false;
    head.bytes = line.bytes + 1;
    if (!cut_sum(&line, SLICE_LITERAL(",sum="), &head.sum) ||
        !cut_sum(&line, SLICE_LITERAL(",head="), &head.head_sum) ||
        head.head_sum != record_sum_of(line, seed) || !take_fields(line, &head))
        return false;
    *out = head;
    return true;
}

static bool read_options(Slice hex, Arena *arena, Slice *out)
{
    if (hex.bytes % 2 || hex.bytes > 2 * RECORD_OPTIONS_BYTES_MAX)
        return false;
    char *bytes = hex.bytes ? arena_take(arena, hex.bytes / 2) : NULL;
    for (size_t i = 0; i < hex.bytes; i += 2) {
        int high = hex_value(hex.data[i]);
        int low = hex_value(hex.data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i / 2] = (char)(high << 4 | low);
    }
    *out = slice_of(bytes, hex.bytes / 2);
    return true;
}

static bool all_zero(Slice bytes)
{
    return !bytes.bytes ||
           (bytes.data[0] == 0 && !memcmp(bytes.data, bytes.data + 1, bytes.bytes - 1));
}

RecordRead record_read(Slice bytes, Chain *chain, Arena *arena, Record *out,
                       size_t *out_bytes)
{
    if (all_zero(bytes))
        return RECORD_END;
    if (!begins_record(bytes)) {
        RecordLine line;
        return record_line(&bytes, &line) ? RECORD_TORN : RECORD_FOREIGN;
    }
    Head head;
    if (!read_head(bytes, chain->seed, &head) || whole_bytes(&head) > bytes.bytes)
        return RECORD_TORN;
    Record record = head.record;
    record.body = slice_of(bytes.data + head.bytes, head.body_bytes);
    Slice footer = slice_from(bytes, head.bytes + head.body_bytes);
    if (!slice_starts(footer, record_footer()) ||
        chained_sum(chain, head.head_sum, record.body) != head.sum ||
        !read_options(head.options_hex, arena, &record.options))
        return RECORD_TORN;
    chain->sum = head.sum;
    *out = record;
    *out_bytes = whole_bytes(&head);
    return RECORD_OK;
}

size_t record_wants(Slice bytes, const Chain *chain)
{
    Slice begin = SLICE_LITERAL(BEGIN);
    if (bytes.bytes < begin.bytes)
        return slice_starts(begin, bytes) ? begin.bytes : 0;
    Slice line;
    Head head;
    if (!begins_record(bytes))
        return 0;
    if (!header_line(bytes, &line))
        return bytes.bytes < RECORD_HEADER_BYTES_MAX ? RECORD_HEADER_BYTES_MAX : 0;
    return read_head(bytes, chain->seed, &head) ? whole_bytes(&head) : 0;
}

uint64_t record_synced_in(Slice bytes, const Chain *chain)
{
    Slice begin = SLICE_LITERAL(BEGIN);
    uint64_t synced = 0;
    while (bytes.bytes) {
        const char *at = memmem(bytes.data, bytes.bytes, begin.data, begin.bytes);
        if (!at)
            break;
        bytes = slice_from(bytes, (size_t)(at - bytes.data));
        Head head;
        if (read_head(bytes, chain->seed, &head) && head.record.synced > synced)
            synced = head.record.synced;
        bytes = slice_from(bytes, begin.bytes);
    }
    return synced;
}

/* --- 002's single lines -------------------------------------------------- */

/* A first word that is neither a time nor a name is no line of ours. */
static bool take_first_word(Slice word, RecordLine *line)
{
    if (time_parse(word, &line->date_ms) == ERR_OK)
        return true;
    line->date_ms = TIME_NEVER;
    line->id = word;
    return name_valid(word);
}

/* Tenant and type are joined by a hyphen, which both may also hold. */
static bool jobtype_valid(Slice jobtype)
{
    static const char other[] = "_.:-";
    if (!jobtype.bytes || jobtype.bytes > 2 * NAME_BYTES_MAX + 1)
        return false;
    for (size_t i = 0; i < jobtype.bytes; i++) {
        char c = jobtype.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool digit = c >= '0' && c <= '9';
        if (!letter && !digit && !memchr(other, c, sizeof other - 1))
            return false;
    }
    return true;
}

Err record_line(Slice *rest, RecordLine *out)
{
    if (!rest->bytes || !memchr(rest->data, '\n', rest->bytes))
        return ERR_INVALID;
    Slice after = *rest;
    Slice payload = slice_cut(&after, '\n');
    Slice first = slice_cut(&payload, '|');
    Slice jobtype = slice_cut(&payload, '|');
    RecordLine line = { .jobtype = jobtype, .payload = payload };
    if (!payload.data || payload.bytes > RECORD_BODY_BYTES_MAX ||
        !take_first_word(first, &line) || !jobtype_valid(jobtype))
        return ERR_INVALID;
    *rest = after;
    *out = line;
    return ERR_OK;
}

void record_line_write(Buf *out, int64_t date_ms, Slice jobtype, Slice payload)
{
    char date[TIME_TEXT_BYTES];
    if (payload.bytes && payload.data[payload.bytes - 1] == '\n')
        payload.bytes--;
    assert(!payload.bytes || !memchr(payload.data, '\n', payload.bytes));
    assert(jobtype_valid(jobtype));
    buf_add_text(out, time_text(date_within(date_ms), date));
    buf_add_char(out, '|');
    buf_add_slice(out, jobtype);
    buf_add_char(out, '|');
    buf_add_slice(out, payload);
    buf_add_char(out, '\n');
}

/* --- As operations ------------------------------------------------------- */

static Err add_lines(const Record *record, Batch *batch)
{
    Job pattern;
    if (lines_count(record->body) != record->count)
        return ERR_CORRUPT;
    Err err = job_unpack(record->options, &pattern);
    if (err)
        return err;
    pattern.tenant = record->tenant;
    pattern.type = record->type;
    Job *job = ARENA_NEW(&batch->arena, Job);
    *job = job_copy(&batch->arena, &pattern);
    Op *op = batch_op(batch, OP_ADD_LINES, 0);
    op->job = job;
    op->at_ms = record->date_ms;
    op->first = record->first;
    op->count = record->count;
    op->body = slice_copy(&batch->arena, record->body);
    return ERR_OK;
}

static Err add_jobs(const Record *record, Batch *batch)
{
    Slice rest = record->body;
    PackField field;
    uint64_t count = 0;
    while (pack_next(&rest, &field)) {
        Job job;
        if (field.tag != RECORD_JOBS_TAG)
            continue;
        Err err = job_unpack(field.bytes, &job);
        if (err)
            return err;
        Job *copy = ARENA_NEW(&batch->arena, Job);
        *copy = job_copy(&batch->arena, &job);
        Op *op = batch_op(batch, OP_ADD, job.id);
        op->job = copy;
        op->at_ms = record->date_ms;
        count++;
    }
    return pack_damaged(rest) || count != record->count ? ERR_CORRUPT : ERR_OK;
}

static Err add_turn(const Record *record, Batch *batch)
{
    size_t before = batch->count;
    Err err = batch_unpack(record->body, batch);
    if (err)
        return err;
    return batch->count - before == record->count ? ERR_OK : ERR_CORRUPT;
}

static Err add_ops(const Record *record, Batch *batch)
{
    switch (record->kind) {
    case RECORD_LINES:
        return add_lines(record, batch);
    case RECORD_JOBS:
        return add_jobs(record, batch);
    case RECORD_TURN:
        return add_turn(record, batch);
    }
    return ERR_CORRUPT;
}

Err record_to_batch(const Record *record, Batch *batch)
{
    size_t before = batch->count;
    uint64_t number = batch->number;
    uint32_t node = batch->node;
    Err err = add_ops(record, batch);
    batch->node = err ? node : record->node;
    if (!err)
        return ERR_OK;
    batch->count = before;
    batch->number = number;
    return ERR_CORRUPT;
}
