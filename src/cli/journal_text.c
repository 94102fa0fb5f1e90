/* SPDX-License-Identifier: Apache-2.0 */
/* journal_text.c - see journal_text.h. */
#include "cli/journal_text.h"

#include "base/text.h"
#include "base/times.h"

#define BATCH     "#:Batch "
#define BATCH_END "#:EndBatch"
#define ID_MAX    128

static Err bad(const JournalText *text, Error *why, const char *what)
{
    return error_set(why, ERR_INVALID, "line %zu: %s", text->line, what);
}

static Slice take_line(JournalText *text)
{
    text->line++;
    return slice_cut(&text->rest, '\n');
}

/* tenant-type; a tenant that is named already is taken off. */
static Err split_type(Slice jobtype, JournalEntry *entry)
{
    Slice type = jobtype;
    if (entry->tenant.bytes) {
        bool prefixed = slice_starts(jobtype, entry->tenant) &&
                        jobtype.bytes > entry->tenant.bytes &&
                        jobtype.data[entry->tenant.bytes] == '-';
        if (prefixed)
            type = slice_from(jobtype, entry->tenant.bytes + 1);
    } else if (memchr(jobtype.data ? jobtype.data : "", '-', jobtype.bytes)) {
        entry->tenant = slice_cut(&type, '-');
    }
    entry->type = type;
    bool good =
        name_valid(type) && (!entry->tenant.bytes || tenant_name_valid(entry->tenant));
    return good ? ERR_OK : ERR_INVALID;
}

/* --- Batches -------------------------------------------------------------------------
 */

typedef struct Header {
    int64_t bytes;
    Slice jobtype;
} Header;

static Err read_word(JournalText *text, Slice word, Header *header, Error *why)
{
    Slice value = word;
    Slice key = slice_cut(&value, '=');
    if (!value.data)
        return bad(text, why, "a word of the batch is not key=value");
    if (slice_is(key, "date") && time_parse(value, &text->batch.at_ms))
        return bad(text, why,
                   "the date of the batch is no time such as "
                   "2020-06-30T01:17:17.123Z");
    if (slice_is(key, "bytes") && (int_parse(value, &header->bytes) || header->bytes < 0))
        return bad(text, why, "bytes of the batch is no number");
    if (slice_is(key, "jobtype"))
        header->jobtype = value;
    if (slice_is(key, "tenant"))
        text->batch.tenant = value;
    if (slice_is(key, "count"))
        text->whole = slice_is(value, "1");
    return ERR_OK; /* other words are for others */
}

/* The line of the header is in `line`, its number in text->line. */
static Err begin_batch(JournalText *text, Slice line, Error *why)
{
    Header header = { .bytes = -1 };
    Slice words = slice_from(line, strlen(BATCH));
    text->batch = (JournalEntry){ .line = text->line };
    text->whole = false;
    while (words.bytes) {
        Err err = read_word(text, slice_cut(&words, ','), &header, why);
        if (err)
            return err;
    }
    if (header.bytes < 0 || !header.jobtype.data)
        return bad(text, why, "the batch needs bytes= and jobtype=");
    if (split_type(header.jobtype, &text->batch))
        return bad(text, why, "the jobtype of the batch is no valid name");
    take_line(text);
    Slice body = slice_of(text->rest.data, (size_t)header.bytes);
    if (body.bytes > text->rest.bytes)
        return bad(text, why, "the file ends inside a batch");
    Slice rest = slice_from(text->rest, body.bytes);
    if (rest.bytes && rest.data[0] == '\n' &&
        !(body.bytes && body.data[body.bytes - 1] == '\n'))
        rest = slice_from(rest, 1); /* a body without its last newline */
    Slice end = rest;
    if (!slice_is(slice_cut(&end, '\n'), BATCH_END))
        return bad(text, why, "no #:EndBatch stands where bytes= says");
    text->body = body;
    text->rest = end;
    text->in_batch = true;
    return ERR_OK;
}

static size_t lines_in(Slice body)
{
    size_t count = 0;
    for (size_t i = 0; i < body.bytes; i++)
        count += body.data[i] == '\n';
    return count + (body.bytes && body.data[body.bytes - 1] != '\n');
}

/* False at the end of the body. */
static bool next_of_batch(JournalText *text, JournalEntry *out)
{
    *out = text->batch;
    if (text->whole) {
        text->whole = false;
        out->line = text->line;
        out->payload = text->body;
        text->line += lines_in(text->body);
        text->body = (Slice){ NULL, 0 };
        return true;
    }
    while (text->body.bytes) {
        out->line = text->line++;
        out->payload = slice_cut(&text->body, '\n');
        if (out->payload.bytes)
            return true;
    }
    text->line++; /* #:EndBatch */
    text->in_batch = false;
    return false;
}

/* --- Lines ---------------------------------------------------------------------------
 */

static Err read_line(JournalText *text, Slice line, JournalEntry *out, Error *why)
{
    *out = (JournalEntry){ .line = text->line };
    Slice payload = line;
    Slice first = slice_cut(&payload, '|');
    Slice jobtype = slice_cut(&payload, '|');
    if (!payload.data)
        return bad(text, why, "neither id|type|payload nor time|type|payload");
    if (time_parse(first, &out->at_ms)) {
        out->at_ms = 0;
        out->id = first;
    }
    if (out->id.bytes > ID_MAX || (!out->id.bytes && !out->at_ms))
        return bad(text, why, "the line begins with neither an id nor a time");
    if (split_type(jobtype, out))
        return bad(text, why, "the type is no valid name");
    out->payload = payload;
    return ERR_OK;
}

Err journal_text_next(JournalText *text, JournalEntry *out, Error *why)
{
    for (;;) {
        if (text->in_batch) {
            if (next_of_batch(text, out))
                return ERR_OK;
            continue;
        }
        if (!text->rest.bytes)
            return ERR_NOT_FOUND;
        Slice rest = text->rest;
        Slice line = slice_cut(&rest, '\n');
        Err err = ERR_OK;
        if (slice_starts(line, SLICE_LITERAL(BATCH))) {
            err = begin_batch(text, line, why);
        } else if (line.bytes && line.data[0] != '#') {
            err = read_line(text, line, out, why);
            if (!err)
                take_line(text);
            return err;
        } else {
            take_line(text);
        }
        if (err)
            return err;
    }
}

/* --- Writing -------------------------------------------------------------------------
 */

static bool has(Slice text, char c)
{
    return text.bytes && memchr(text.data, c, text.bytes);
}

void journal_text_write(Buf *out, const JournalEntry *entry)
{
    char date[TIME_TEXT_BYTES];
    time_text(entry->at_ms, date);
    bool plain = !has(entry->payload, '\n') && !has(entry->tenant, '-');
    if (plain) {
        buf_printf(out, "%s|" SLICE_FMT "-" SLICE_FMT "|", date, SLICE_ARG(entry->tenant),
                   SLICE_ARG(entry->type));
        buf_add_slice(out, entry->payload);
        buf_add_char(out, '\n');
        return;
    }
    buf_printf(out,
               BATCH "date=%s,bytes=%zu,jobtype=" SLICE_FMT "-" SLICE_FMT
                     ",tenant=" SLICE_FMT ",count=1\n",
               date, entry->payload.bytes, SLICE_ARG(entry->tenant),
               SLICE_ARG(entry->type), SLICE_ARG(entry->tenant));
    buf_add_slice(out, entry->payload);
    if (!entry->payload.bytes || entry->payload.data[entry->payload.bytes - 1] != '\n')
        buf_add_char(out, '\n');
    buf_add_text(out, BATCH_END "\n");
}
