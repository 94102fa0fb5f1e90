/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - a journal in memory, for the simulation: the same bytes as on a disk, and a
 * power supply that can fail. One thread, no clock, no luck of its own.
 *
 *     MemoryJournal journal;
 *     memory_journal_init(&journal, node, seed);
 *     position = memory_journal_write(&journal, &record);    (appended, not durable)
 *     memory_journal_sync(&journal, position);               (all before is durable)
 *     memory_journal_read(&journal, 65536, &batch, &why);    (what is durable and unread)
 *     memory_journal_crash(&journal, &rng);                  (the power goes)
 *     memory_journal_reopen(&journal, read_point, &why);     (as journal_open does)
 *
 * A process that dies without the machine is a reopen without a crash. */
#ifndef JOURNAL_MEMORY_H
#define JOURNAL_MEMORY_H

#include "base/rng.h"
#include "journal/record.h"

typedef struct MemoryJournal {
    Buf bytes;     /* all records from position `base` on */
    uint64_t base; /* what is before was trimmed */
    uint64_t base_sum;
    uint64_t durable;  /* position: all before survives a crash, whole */
    uint64_t read;     /* position: all before was read */
    uint64_t read_sum; /* of the chain there */
    Chain chain;       /* at the end */
    uint32_t node;
} MemoryJournal;

void memory_journal_init(MemoryJournal *journal, uint32_t node, uint64_t seed);
void memory_journal_done(MemoryJournal *journal);

/* As journal_write: returns the position behind the record. */
uint64_t memory_journal_write(MemoryJournal *journal, const Record *record);

/* Everything before `position`, which is behind a record, becomes durable. */
void memory_journal_sync(MemoryJournal *journal, uint64_t position);
uint64_t memory_journal_end(const MemoryJournal *journal);

/* Adds the next records that are durable, up to bytes_max bytes but at least one, to
 * *out with the read point behind them. Adds nothing when there are none. */
MUST_CHECK Err memory_journal_read(MemoryJournal *journal, size_t bytes_max, Batch *out,
                                   Error *why);

/* Forgets what is before `position` and was read. */
void memory_journal_trim(MemoryJournal *journal, uint64_t position);

/* What was not durable is cut at any byte, or has holes, or is still there. Until it is
 * reopened only memory_journal_done may follow. */
void memory_journal_crash(MemoryJournal *journal, Rng *rng);

/* Finds the end as journal_open does: a torn tail is cut, damage to what had been
 * durable is ERR_CORRUPT. Reading goes on at read_point; all there is, is durable. */
MUST_CHECK Err memory_journal_reopen(MemoryJournal *journal, uint64_t read_point,
                                     Error *why);

#endif
