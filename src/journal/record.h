/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - the bytes of a journal: 002's text form with checksums chained through it.
 *
 *     #:Batch date=2026-06-30T01:17:17.123Z,bytes=12345,jobtype=acme-resize,kind=lines,
 *         node=1,first=…,count=100,…,sum=…\n        (one line in the file)
 *     <body, exactly `bytes` bytes, as received>
 *     #:EndBatch\n
 *
 * Pure: no files here, so that the simulation and the fuzzer read and write the very
 * same bytes as the daemon. A record's sum covers the sum of the record before it, its
 * own header and its body: a record that was cut, changed, moved or taken from another
 * journal does not fit. */
#ifndef JOURNAL_RECORD_H
#define JOURNAL_RECORD_H

#include "core/batch.h"

typedef enum RecordKind {
    RECORD_LINES, /* body: lines as received, each a payload; options: the pattern */
    RECORD_JOBS,  /* body: packed jobs (field 1 of pack.h each), ids included */
    RECORD_TURN,  /* body: a packed batch of the node that owns its store */
} RecordKind;

typedef struct Record {
    RecordKind kind;
    int64_t date_ms;
    uint64_t number; /* of the batch, for RECORD_TURN */
    uint64_t first;  /* c of the first id (id.h), for RECORD_LINES */
    uint64_t count;  /* jobs or operations inside */
    uint32_t node;
    Slice tenant; /* jobtype= is tenant-type; both are kept apart in the header too */
    Slice type;
    Slice options; /* RECORD_LINES: the packed pattern job */
    Slice body;
} Record;

typedef struct Chain {
    uint64_t sum; /* of the last record, or of the segment's header */
} Chain;

/* Appends header (and footer to *out_footer) of a record whose body is written
 * separately, and moves the chain on. */
void record_header(const Record *record, Chain *chain, Buf *out);
Slice record_footer(void);

typedef enum RecordRead {
    RECORD_OK,
    RECORD_END,     /* nothing more: empty, or zeros to the end */
    RECORD_TORN,    /* the bytes end inside a record, or its sum does not fit */
    RECORD_FOREIGN, /* not ours: 002's single line `id|type|payload`; see record_line */
} RecordRead;

/* Reads the record at the start of `bytes`. On RECORD_OK fills *out (slices borrow from
 * bytes; options are decoded into the arena), *out_bytes is the record's whole length
 * and the chain has moved on. */
RecordRead record_read(Slice bytes, Chain *chain, Arena *arena, Record *out,
                       size_t *out_bytes);

/* 002's single lines: `id|type|payload` and `timestamp|type|payload` (S2.65, S2.74).
 * Takes one line off *rest. */
typedef struct RecordLine {
    Slice id;        /* or */
    int64_t date_ms; /* when the first word is a timestamp; else TIME_NEVER */
    Slice jobtype;   /* tenant-type as written */
    Slice payload;   /* without its newline */
} RecordLine;
MUST_CHECK Err record_line(Slice *rest, RecordLine *out);
void record_line_write(Buf *out, int64_t date_ms, Slice jobtype, Slice payload);

/* The record as operations for a store, added to *batch (which copies the bytes). */
MUST_CHECK Err record_to_batch(const Record *record, Batch *batch);

#endif
