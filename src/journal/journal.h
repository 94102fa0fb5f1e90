/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - a local file of records: appended at the end, ingested from the front.
 *
 * One writer thread gathers what waits, writes it with one pwritev and one fdatasync,
 * and reports how far the journal is durable: group commit without a knob. Positions
 * are byte counts since the journal's beginning, over all segments. Segments are filled
 * with zeros ahead of use, so a write inside them needs no new room on the disk; when
 * the next segment cannot be made, journal_room() says so before anything is lost.
 *
 * What must hold:
 *   J1  what on_durable has reported is on stable storage, whole.
 *   J2  a failed fdatasync is never retried: it is reported once, and nothing after it
 *       is ever reported durable.
 *   J3  opening cuts a torn tail and refuses damage before valid records, naming the
 *       file and offset; it never deletes anything else.
 *   J4  a segment is removed only when every record in it is behind journal_trim. */
#ifndef JOURNAL_JOURNAL_H
#define JOURNAL_JOURNAL_H

#include "journal/record.h"

typedef struct Journal Journal;

typedef struct JournalOptions {
    const char *dir;
    uint64_t segment_bytes; /* 0: 64 MiB */
    uint64_t keep_bytes;    /* trimmed segments are kept up to this much */
    int64_t keep_ms;        /* ... and this long */
    uint32_t node;
    uint64_t epoch;
    uint64_t cluster;    /* identity: another cluster's journal is refused */
    uint64_t read_point; /* what the store has: reading starts here; older segments may
                            be missing, newer ones may not */
    /* Called by the writer thread after each sync. err: see J2. */
    void (*on_durable)(void *context, uint64_t position, Err err);
    void *context;
} JournalOptions;

MUST_CHECK Err journal_open(const JournalOptions *options, Journal **out, Error *why);
void journal_close(Journal *journal); /* writes and syncs what waits first */

/* Appends; returns the position behind the record. Only one thread writes. The body is
 * copied, or taken over without a copy where `give` is not NULL (it is left empty). */
uint64_t journal_write(Journal *journal, const Record *record, Buf *give);

/* Starts the write of everything appended so far (end of a turn). */
void journal_flush(Journal *journal);

/* Waits until everything up to `position` is durable (S2.66). */
MUST_CHECK Err journal_wsync(Journal *journal, uint64_t position, int64_t timeout_ms);

uint64_t journal_end(const Journal *journal); /* behind the last record appended */
uint64_t journal_durable(Journal *journal);

/* Bytes that can surely be written before the disk must give new room. */
uint64_t journal_room(Journal *journal);

/* 002's reader: reserve up to `bytes_max` (at least one record) of what is durable and
 * neither read nor reserved; without rsync within timeout_ms (boot time, as now_ms) the
 * records are given out again. Returns 0 when there is nothing. */
typedef uint64_t JournalToken;
JournalToken journal_reserve(Journal *journal, size_t bytes_max, int64_t timeout_ms,
                             int64_t now_ms);

/* The reserved records as batches of operations, read point included, added to *out
 * (one Batch per call: everything reserved). */
MUST_CHECK Err journal_read(Journal *journal, JournalToken token, Batch *out, Error *why);

/* What was reserved is in the store: the read point moves past it. ERR_TIMEOUT when the
 * reservation had lapsed. */
MUST_CHECK Err journal_rsync(Journal *journal, JournalToken token);

/* The store holds everything up to `position` for good: older segments may go. */
void journal_trim(Journal *journal, uint64_t position, int64_t now_ms);

/* Walks a journal directory without opening it for writing: for verify and export. */
typedef Err JournalVisit(void *context, const Record *record, uint64_t position);
MUST_CHECK Err journal_scan(const char *dir, JournalVisit *visit, void *context,
                            Error *why);

#endif
