/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - see memory.h. */
#include "journal/memory.h"

#include <assert.h>
#include <inttypes.h>

#define SECTOR_BYTES 512 /* what a disk writes whole or not at all */

void memory_journal_init(MemoryJournal *journal, uint32_t node, uint64_t seed)
{
    Rng rng = { seed };
    Chain chain = { .sum = rng_next(&rng), .seed = rng_next(&rng) };
    *journal = (MemoryJournal){
        .node = node, .chain = chain, .base_sum = chain.sum, .read_sum = chain.sum
    };
}

void memory_journal_done(MemoryJournal *journal)
{
    buf_done(&journal->bytes);
    *journal = (MemoryJournal){ 0 };
}

uint64_t memory_journal_end(const MemoryJournal *journal)
{
    return journal->base + journal->bytes.bytes;
}

uint64_t memory_journal_write(MemoryJournal *journal, const Record *record)
{
    Record stamped = *record;
    stamped.synced = journal->durable;
    record_header(&stamped, &journal->chain, &journal->bytes);
    buf_add_slice(&journal->bytes, record->body);
    buf_add_slice(&journal->bytes, record_footer());
    return memory_journal_end(journal);
}

void memory_journal_sync(MemoryJournal *journal, uint64_t position)
{
    assert(position <= memory_journal_end(journal));
    if (position > journal->durable)
        journal->durable = position;
}

/* All bytes from `position` to `limit`. */
static Slice bytes_between(const MemoryJournal *journal, uint64_t position,
                           uint64_t limit)
{
    assert(position >= journal->base);
    assert(limit <= memory_journal_end(journal));
    return slice_of(journal->bytes.data + (position - journal->base),
                    (size_t)(limit - position));
}

Err memory_journal_read(MemoryJournal *journal, size_t bytes_max, Batch *out, Error *why)
{
    Arena arena = { 0 };
    Err err = ERR_OK;
    size_t taken = 0;
    while (!err && journal->read < journal->durable) {
        Chain chain = { journal->read_sum, journal->chain.seed };
        Record record;
        size_t bytes;
        Slice rest = bytes_between(journal, journal->read, journal->durable);
        if (record_read(rest, &chain, &arena, &record, &bytes) != RECORD_OK)
            err = ERR_CORRUPT;
        else if (taken && taken + bytes > bytes_max)
            break;
        else
            err = record_to_batch(&record, out);
        if (err)
            break;
        taken += bytes;
        journal->read += bytes;
        journal->read_sum = chain.sum;
        out->has_read_point = true;
        out->read_point = (ReadPoint){ journal->node, journal->read };
    }
    arena_done(&arena);
    if (err)
        return error_set(why, err, "journal: damaged at position %" PRIu64,
                         journal->read);
    return ERR_OK;
}

void memory_journal_trim(MemoryJournal *journal, uint64_t position)
{
    Arena arena = { 0 };
    size_t dropped = 0;
    if (position > journal->read)
        position = journal->read;
    for (;;) {
        Chain chain = { journal->base_sum, journal->chain.seed };
        Record record;
        size_t bytes;
        Slice rest = slice_from(buf_slice(&journal->bytes), dropped);
        if (record_read(rest, &chain, &arena, &record, &bytes) != RECORD_OK ||
            journal->base + dropped + bytes > position)
            break;
        dropped += bytes;
        journal->base_sum = chain.sum;
    }
    buf_drop(&journal->bytes, dropped);
    journal->base += dropped;
    arena_done(&arena);
}

void memory_journal_crash(MemoryJournal *journal, Rng *rng)
{
    size_t safe = (size_t)(journal->durable - journal->base);
    size_t kept = safe + (size_t)rng_below(rng, journal->bytes.bytes - safe + 1);
    unsigned percent = rng_percent(rng, 50) ? 0 : (unsigned)rng_below(rng, 100);
    for (size_t at = safe; at < kept; at += SECTOR_BYTES - at % SECTOR_BYTES) {
        size_t to = at + SECTOR_BYTES - at % SECTOR_BYTES;
        if (rng_percent(rng, percent))
            memset(journal->bytes.data + at, 0, (to < kept ? to : kept) - at);
    }
    journal->bytes.bytes = kept;
    if (rng_percent(rng, 50)) { /* the file had been filled with zeros ahead */
        memset(buf_room(&journal->bytes, SECTOR_BYTES), 0, SECTOR_BYTES);
        journal->bytes.bytes += SECTOR_BYTES;
    }
}

typedef struct Found {
    uint64_t end;
    uint64_t sum;
    uint64_t read_sum;
    uint64_t proven; /* all before had been durable */
    bool read_found;
} Found;

static Found find_end(const MemoryJournal *journal, uint64_t read_point)
{
    Arena arena = { 0 };
    Chain chain = { journal->base_sum, journal->chain.seed };
    Slice rest = buf_slice(&journal->bytes);
    Found found = { .end = journal->base, .proven = read_point };
    for (;;) {
        Record record;
        size_t bytes;
        if (found.end == read_point) {
            found.read_found = true;
            found.read_sum = chain.sum;
        }
        arena_reset(&arena);
        if (record_read(rest, &chain, &arena, &record, &bytes) != RECORD_OK)
            break;
        found.end += bytes;
        rest = slice_from(rest, bytes);
    }
    uint64_t synced = record_synced_in(rest, &chain);
    if (synced > found.proven)
        found.proven = synced;
    found.sum = chain.sum;
    arena_done(&arena);
    return found;
}

Err memory_journal_reopen(MemoryJournal *journal, uint64_t read_point, Error *why)
{
    Found found = find_end(journal, read_point);
    if (found.proven > found.end)
        return error_set(why, ERR_CORRUPT,
                         "journal: damaged at position %" PRIu64
                         ": records up to %" PRIu64 " had been durable",
                         found.end, found.proven);
    if (!found.read_found)
        return error_set(why, ERR_CORRUPT,
                         "journal: no record begins at the read point %" PRIu64,
                         read_point);
    journal->bytes.bytes = (size_t)(found.end - journal->base);
    journal->chain.sum = found.sum;
    journal->durable = found.end;
    journal->read = read_point;
    journal->read_sum = found.read_sum;
    return ERR_OK;
}
