/* SPDX-License-Identifier: Apache-2.0 */
/* journal_text.h - 002's journal as text: batches and single lines, both ways.
 *
 *     #:Batch date=2020-06-30T01:17:17.123Z,bytes=12,jobtype=acme-mail
 *     payload one
 *     payload 2
 *     #:EndBatch
 *     2020-06-30T01:17:17.123Z|acme-mail|payload three
 *     7f3a|acme-mail|payload four
 *
 * The body of a batch is counted: it may hold any bytes, and its lines are payloads. Any
 * other line that begins with # is a comment, or one that was erased. jobtype is
 * tenant-type: the tenant ends at the first dash, unless the header has tenant= too. Of
 * ours is also count=1: the whole body is one payload, newlines included. */
#ifndef CLI_JOURNAL_TEXT_H
#define CLI_JOURNAL_TEXT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

typedef struct JournalEntry {
    size_t line;   /* where it stands, from 1 */
    int64_t at_ms; /* its date; 0: it names none */
    Slice id;      /* the id it had; may be empty */
    Slice tenant;  /* empty: its jobtype has no dash */
    Slice type;
    Slice payload;
} JournalEntry;

/* Set rest and line (1); the text must outlive the entries. */
typedef struct JournalText {
    Slice rest;
    size_t line;        /* of rest */
    JournalEntry batch; /* the one whose body is being read */
    Slice body;
    bool whole;
    bool in_batch;
} JournalText;

/* ERR_NOT_FOUND behind the last; ERR_INVALID: *why has the line. */
MUST_CHECK Err journal_text_next(JournalText *text, JournalEntry *out, Error *why);

/* As a single line where that says it exactly, else as a batch of one. */
void journal_text_write(Buf *out, const JournalEntry *entry);

#endif
