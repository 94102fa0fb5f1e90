/* SPDX-License-Identifier: Apache-2.0 */
/* memory_test.c - the simulation's journal keeps what is durable over any crash. */
#include "journal/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void sync_all(MemoryJournal *journal)
{
    memory_journal_sync(journal, memory_journal_end(journal));
}

static uint64_t write_number(MemoryJournal *journal, uint64_t number, size_t bytes)
{
    Buf body = { 0 };
    buf_add_char(&body, 'x');
    memset(buf_room(&body, bytes), 'x', bytes);
    body.bytes += bytes;
    Record record = { .kind = RECORD_LINES,
                      .first = number,
                      .count = 1,
                      .node = 1,
                      .body = buf_slice(&body) };
    uint64_t end = memory_journal_write(journal, &record);
    buf_done(&body);
    return end;
}

/* Reads all; expects the records `from`, `from` + 1, ... Returns what would be next. */
static uint64_t read_all(MemoryJournal *journal, uint64_t from, size_t bytes_max)
{
    Batch batch = { 0 };
    for (;;) {
        batch_clear(&batch);
        assert_int_equal(memory_journal_read(journal, bytes_max, &batch, NULL), ERR_OK);
        if (!batch.count)
            break;
        assert_true(batch.has_read_point);
        assert_int_equal(batch.read_point.position, journal->read);
        for (size_t i = 0; i < batch.count; i++)
            assert_int_equal(batch.ops[i].first, from++);
    }
    batch_done(&batch);
    return from;
}

static void only_what_is_durable_is_read(void **state)
{
    (void)state;
    MemoryJournal journal;
    memory_journal_init(&journal, 1, 7);
    uint64_t first = write_number(&journal, 0, 10);
    assert_int_equal(read_all(&journal, 0, 1), 0);
    write_number(&journal, 1, 10);
    memory_journal_sync(&journal, first);
    assert_int_equal(read_all(&journal, 0, 1), 1);
    sync_all(&journal);
    assert_int_equal(read_all(&journal, 1, 1), 2);
    memory_journal_done(&journal);
}

static void what_was_read_can_be_trimmed(void **state)
{
    (void)state;
    MemoryJournal journal;
    memory_journal_init(&journal, 1, 7);
    uint64_t first = write_number(&journal, 0, 10);
    uint64_t second = write_number(&journal, 1, 10);
    write_number(&journal, 2, 10);
    sync_all(&journal);
    memory_journal_trim(&journal, second);
    assert_int_equal(journal.base, 0); /* nothing was read */
    assert_int_equal(read_all(&journal, 0, 100000), 3);
    memory_journal_trim(&journal, second - 1);
    assert_int_equal(journal.base, first);
    assert_int_equal(memory_journal_reopen(&journal, first, NULL), ERR_OK);
    assert_int_equal(read_all(&journal, 1, 100000), 3);
    assert_int_equal(memory_journal_reopen(&journal, 0, NULL), ERR_CORRUPT);
    memory_journal_done(&journal);
}

/* Any crash, again and again: all that was durable is there, in order, and perhaps some
 * of what was written after it. */
static void crashes_lose_nothing_that_was_durable(void **state)
{
    (void)state;
    uint64_t lost = 0;
    uint64_t kept = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        Rng rng = { seed };
        MemoryJournal journal;
        memory_journal_init(&journal, 1, seed);
        uint64_t written = 0;
        uint64_t ingested = 0;
        uint64_t read_point = 0;
        for (int crash = 0; crash < 10; crash++) {
            uint64_t safe = written;
            for (uint64_t i = rng_below(&rng, 20); i; i--) {
                write_number(&journal, written++, rng_below(&rng, 900));
                if (!rng_percent(&rng, 30))
                    continue;
                sync_all(&journal);
                safe = written;
                if (rng_percent(&rng, 30)) {
                    ingested = read_all(&journal, ingested, 2000);
                    read_point = journal.read;
                    memory_journal_trim(&journal, read_point);
                }
            }
            uint64_t durable = journal.durable;
            if (rng_percent(&rng, 80))
                memory_journal_crash(&journal, &rng);
            Error why = { 0 };
            assert_int_equal(memory_journal_reopen(&journal, read_point, &why), ERR_OK);
            assert_true(memory_journal_end(&journal) >= durable);
            uint64_t found = read_all(&journal, ingested, 2000);
            assert_in_range(found, safe, written);
            lost += written - found;
            kept += found - safe;
            ingested = written = found;
            read_point = journal.read;
        }
        memory_journal_done(&journal);
    }
    assert_true(lost > 1000); /* the crashes are real, and not only total */
    assert_true(kept > 1000);
}

static void damage_to_what_was_durable_is_refused(void **state)
{
    (void)state;
    MemoryJournal journal;
    memory_journal_init(&journal, 1, 7);
    uint64_t first = write_number(&journal, 0, 10);
    sync_all(&journal);
    write_number(&journal, 1, 10); /* says that the first was durable */
    for (size_t at = 0; at < first; at++) {
        journal.bytes.data[at] ^= 4;
        assert_int_equal(memory_journal_reopen(&journal, 0, NULL), ERR_CORRUPT);
        journal.bytes.data[at] ^= 4;
    }
    assert_int_equal(memory_journal_reopen(&journal, 0, NULL), ERR_OK);
    assert_int_equal(memory_journal_reopen(&journal, 1u << 20, NULL), ERR_CORRUPT);
    memory_journal_done(&journal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_durable_is_read),
        cmocka_unit_test(what_was_read_can_be_trimmed),
        cmocka_unit_test(crashes_lose_nothing_that_was_durable),
        cmocka_unit_test(damage_to_what_was_durable_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
