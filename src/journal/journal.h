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
 *   J3  opening cuts a torn tail and refuses damage to what had been durable, naming
 *       the file and offset; it never deletes anything else. Durable is what the store
 *       has read, what a later segment or record says was durable when it was written,
 *       and what a note in the segment's header says: it is made at every close and
 *       whenever the journal is idle.
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

/* Makes the directory if there is none. ERR_BUSY: another process has it open.
 * ERR_CORRUPT: damaged, or behind the store. ERR_CONFLICT: of another node or cluster.
 * Signals are blocked in its thread; SIGXFSZ must be ignored by the process. */
MUST_CHECK Err journal_open(const JournalOptions *options, Journal **out, Error *why);
void journal_close(Journal *journal); /* writes and syncs what waits first */

/* Appends; returns the position behind the record. Only one thread writes. The body is
 * copied, or taken over without a copy where `give` is not NULL (it is left empty). */
uint64_t journal_write(Journal *journal, const Record *record, Buf *give);

/* Starts the write of everything appended so far (end of a turn). */
void journal_flush(Journal *journal);

/* The same, but on this thread, to its end, if the writer has nothing to do: saves the
 * two wake-ups between the threads where only one client waits. */
void journal_flush_here(Journal *journal);

/* Waits until everything up to `position` is durable (S2.66); negative: no limit. Any
 * thread. */
MUST_CHECK Err journal_wsync(Journal *journal, uint64_t position, int64_t timeout_ms);

uint64_t journal_end(const Journal *journal); /* behind the last record appended */
uint64_t journal_durable(Journal *journal);

/* Bytes that can surely be written before the disk must give new room, short of one
 * record (none is split between segments). About 8 MiB as long as the disk has room. A
 * caller that keeps some of it for what must still be written when the disk is full
 * refuses other records in time. */
uint64_t journal_room(Journal *journal);

/* For a record that is larger than what journal_room says: asks for room ahead of it and
 * waits. ERR_FULL: the disk has none. Any thread. */
MUST_CHECK Err journal_make_room(Journal *journal, uint64_t bytes, int64_t timeout_ms);

/* The disk refused room and has given none since. It is asked again every second. */
bool journal_full(Journal *journal);

/* Whether the segments that a start would need are where it would look for them. */
bool journal_there(Journal *journal);

typedef struct JournalStats {
    uint64_t records; /* appended */
    uint64_t bytes;
    uint64_t syncs; /* each one pwritev and one fdatasync, or a few */
    uint64_t write_ns;
    uint64_t sync_ns;
    uint64_t segments;
} JournalStats;
void journal_stats(Journal *journal, JournalStats *out);

/* 002's reader: reserve up to `bytes_max` (at least one record) of what is durable and
 * neither read nor reserved; without rsync within timeout_ms (boot time, as now_ms) the
 * records are given out again. Returns 0 when there is nothing. */
typedef uint64_t JournalToken;
JournalToken journal_reserve(Journal *journal, size_t bytes_max, int64_t timeout_ms,
                             int64_t now_ms);

/* The reserved records as operations, added to *out, with the read point that is true
 * once they are in the store: none if an earlier reservation has not been rsynced, for
 * a crash would then lose that one. Commit in the order of reservation for ingestion
 * exactly once. ERR_TIMEOUT when the reservation had lapsed. */
MUST_CHECK Err journal_read(Journal *journal, JournalToken token, Batch *out, Error *why);

/* What was reserved is in the store: the read point moves past it. ERR_TIMEOUT when the
 * reservation had lapsed. */
MUST_CHECK Err journal_rsync(Journal *journal, JournalToken token);

/* The store has gone back and holds only what is before `position`: reading begins there
 * again; reservations have lapsed. ERR_NOT_FOUND: the journal does not go back so far. */
MUST_CHECK Err journal_rewind(Journal *journal, uint64_t position, Error *why);

/* The store holds everything up to `position` for good: older segments may go, when
 * they are more than keep_bytes or older than keep_ms (boot time, as now_ms). */
void journal_trim(Journal *journal, uint64_t position, int64_t now_ms);

/* Where the oldest segment in the directory begins, before it is opened; 0 if there is
 * none. */
MUST_CHECK Err journal_begin(const char *dir, uint64_t *out_position, Error *why);

/* Walks a journal directory without opening it for writing: for verify and export. A
 * daemon may be writing to it. `position` is the one behind the record. A torn tail is
 * the end; damage is ERR_CORRUPT with the place; what visit returns stops the walk. */
typedef Err JournalVisit(void *context, const Record *record, uint64_t position);
MUST_CHECK Err journal_scan(const char *dir, JournalVisit *visit, void *context,
                            Error *why);

#endif
