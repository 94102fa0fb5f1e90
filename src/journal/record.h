/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - the bytes of a journal: 002's text form with checksums chained through it.
 *
 *     #:Batch date=2026-06-30T01:17:17.123Z,bytes=12345,jobtype=acme-resize,kind=lines,
 *         node=1,tenant=acme,type=resize,first=…,count=100,number=0,options=…,synced=…,
 *         head=…,sum=…\n                            (one line in the file)
 *     <body, exactly `bytes` bytes, as received>
 *     #:EndBatch\n
 *
 * Pure: no files here, so that the simulation and the fuzzer read and write the very
 * same bytes as the daemon. A record's sum covers the sum of the record before it, its
 * own header and its body: a record that was cut, changed, moved or taken from another
 * journal does not fit. `head` covers the header alone, so that a header can be trusted
 * even where the chain before it is broken: that is how a power cut, which may keep the
 * later pages of an unsynced write and lose earlier ones, is told from damage. All sums
 * are seeded with a number that only this journal knows, so that no body can hold a
 * record that passes for a real one. */
#ifndef JOURNAL_RECORD_H
#define JOURNAL_RECORD_H

#include "core/batch.h"

/* A pattern job without its payload: argv and environment are the large parts. */
#define RECORD_OPTIONS_BYTES_MAX ((size_t)256 * 1024)
#define RECORD_HEADER_BYTES_MAX  (2 * RECORD_OPTIONS_BYTES_MAX + 1024)
#define RECORD_BODY_BYTES_MAX    ((size_t)256 * 1024 * 1024) /* what pack.h can nest */

typedef enum RecordKind {
    RECORD_LINES, /* body: lines as received, each a payload; options: the pattern */
    RECORD_JOBS,  /* body: packed jobs (field 1 of pack.h each), ids included */
    RECORD_TURN,  /* body: a packed batch of the node that owns its store */
} RecordKind;

#define RECORD_JOBS_TAG 1 /* of each job in the body of RECORD_JOBS */

typedef struct Record {
    RecordKind kind;
    int64_t date_ms;
    uint64_t number; /* of the batch, for RECORD_TURN */
    uint64_t first;  /* c of the first id (id.h), for RECORD_LINES */
    uint64_t count;  /* jobs or operations inside */
    uint64_t synced; /* all before this position was durable when this was written; set
                        by the journal */
    uint32_t node;
    Slice tenant; /* jobtype= is tenant-type; both are kept apart in the header too */
    Slice type;
    Slice options; /* RECORD_LINES: the packed pattern job */
    Slice body;
} Record;

typedef struct Chain {
    uint64_t sum;  /* of the last record, or as the segment's header has it */
    uint64_t seed; /* of all sums of this journal; never changes */
} Chain;

/* Appends the header of a record whose body and footer are written separately, and
 * moves the chain on. Names must be valid or empty, options and body within limits. */
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

/* How many bytes record_read wants to see of the record at the start of `bytes`: more
 * than there are, if its header or body is not all there; 0 if no bytes can help. */
size_t record_wants(Slice bytes, const Chain *chain);

/* The largest `synced` of all headers in `bytes` that are whole, chained or not. Where
 * record_read found RECORD_TORN, this says whether what is torn had been durable. */
uint64_t record_synced_in(Slice bytes, const Chain *chain);

/* Sum of bytes that stand alone, such as a segment's header. */
uint64_t record_sum_of(Slice bytes, uint64_t seed);

/* 002's single lines: `id|type|payload` and `timestamp|type|payload` (S2.65, S2.74).
 * Takes one line off *rest; ERR_INVALID, with *rest as it was, if it is none. */
typedef struct RecordLine {
    Slice id;        /* or */
    int64_t date_ms; /* when the first word is a timestamp; else TIME_NEVER */
    Slice jobtype;   /* tenant-type as written */
    Slice payload;   /* without its newline */
} RecordLine;
MUST_CHECK Err record_line(Slice *rest, RecordLine *out);

/* payload has no newline, but for one at its end. */
void record_line_write(Buf *out, int64_t date_ms, Slice jobtype, Slice payload);

/* The record as operations for a store, added to *batch (which copies the bytes).
 * ERR_CORRUPT, with no operation added, if the body is not what the header says. */
MUST_CHECK Err record_to_batch(const Record *record, Batch *batch);

#endif
