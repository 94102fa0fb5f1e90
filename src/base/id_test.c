/* SPDX-License-Identifier: Apache-2.0 */
/* id_test.c - ids: unique, rising, and texts that sort as they do. */
#include "base/id.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define IN_2026_MS 1790000000000LL

static JobId parsed(const char *text)
{
    JobId id = 0;
    assert_int_equal(id_parse(slice_text(text), &id), ERR_OK);
    return id;
}

static void a_text_reads_back_as_the_id_it_came_from(void **state)
{
    (void)state;
    char text[ID_TEXT_BYTES];
    for (unsigned bit = 0; bit < 63; bit++) {
        JobId id = (JobId)1 << bit;
        assert_true(parsed(id_text(id, text)) == id);
        assert_true(parsed(id_text(id - 1, text)) == id - 1);
        assert_int_equal(strlen(text), 13);
    }
    Rng rng = { 1 };
    for (int i = 0; i < 20000; i++) {
        JobId id = rng_next(&rng) >> (1 + rng_below(&rng, 40));
        assert_true(parsed(id_text(id, text)) == id);
    }
}

static void texts_sort_as_the_numbers_do(void **state)
{
    (void)state;
    Rng rng = { 2 };
    for (int i = 0; i < 20000; i++) {
        char a_text[ID_TEXT_BYTES];
        char b_text[ID_TEXT_BYTES];
        JobId a = rng_next(&rng) >> (1 + rng_below(&rng, 60));
        JobId b = i % 3 ? rng_next(&rng) >> (1 + rng_below(&rng, 60)) : a + 1;
        int order = strcmp(id_text(a, a_text), id_text(b, b_text));
        assert_int_equal(order < 0, a < b);
        assert_int_equal(order > 0, a > b);
    }
}

static void every_character_outside_the_alphabet_is_refused(void **state)
{
    (void)state;
    static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
    for (int c = 0; c < 256; c++) {
        char text[] = "0000000000000";
        text[12] = (char)c;
        int lower = c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
        const char *known = lower ? strchr(alphabet, lower) : NULL;
        JobId id = 77;
        Err err = id_parse(slice_of(text, 13), &id);
        assert_int_equal(err, known ? ERR_OK : ERR_INVALID);
        assert_int_equal(id, known ? known - alphabet : 77);
    }
}

static void texts_of_other_lengths_and_of_64_bits_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = { "",
                                       "0",
                                       "000000000000",
                                       "00000000000000",
                                       "8000000000000",
                                       "zzzzzzzzzzzzz",
                                       "0 00000000000",
                                       "-000000000000" };
    JobId id = 5;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(id_parse(slice_text(bad[i]), &id), ERR_INVALID);
    assert_int_equal(id, 5);
    assert_true(parsed("7zzzzzzzzzzzz") == INT64_MAX);
}

static void a_prefix_covers_exactly_the_ids_that_begin_with_it(void **state)
{
    (void)state;
    Rng rng = { 3 };
    for (int i = 0; i < 5000; i++) {
        char text[ID_TEXT_BYTES];
        JobId id = rng_next(&rng) >> 1;
        id_text(id, text);
        size_t bytes = 1 + rng_below(&rng, 13);
        Slice prefix = slice_of(text, bytes);
        JobId first;
        JobId last;
        assert_int_equal(id_prefix_range(prefix, &first, &last), ERR_OK);
        assert_true(first <= id);
        assert_true(id <= last);
        char edge[ID_TEXT_BYTES];
        assert_memory_equal(id_text(first, edge), text, bytes);
        assert_memory_equal(id_text(last, edge), text, bytes);
        if (first > 0)
            assert_memory_not_equal(id_text(first - 1, edge), text, bytes);
        if (last < INT64_MAX)
            assert_memory_not_equal(id_text(last + 1, edge), text, bytes);
    }
    JobId first = 0;
    JobId last = 0;
    assert_int_equal(id_prefix_range(slice_text(""), &first, &last), ERR_INVALID);
    assert_int_equal(id_prefix_range(slice_text("8"), &first, &last), ERR_INVALID);
    assert_int_equal(id_prefix_range(slice_text("0!"), &first, &last), ERR_INVALID);
}

static void count_node_and_time_come_back_out_of_an_id(void **state)
{
    (void)state;
    static const uint64_t counts[] = {
        1, 4095, 4096, 4097, ((uint64_t)1 << 53) - 1, (uint64_t)212163200000 << 12 | 17
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (uint16_t node = 0; node <= ID_NODE_MAX; node++) {
            JobId id = id_from_count(counts[i], node);
            assert_true(id_count(id) == counts[i]);
            assert_int_equal(id_node(id), node);
            assert_true(id_created_ms(id) == (int64_t)(counts[i] >> 12) + ID_EPOCH_MS);
            assert_true(id <= INT64_MAX);
        }
    }
}

static void ids_rise_whatever_the_clock_does(void **state)
{
    (void)state;
    Rng rng = { 4 };
    IdGen gen = { .node = 9 };
    int64_t wall_ms = IN_2026_MS;
    JobId before = 0;
    for (int i = 0; i < 20000; i++) {
        wall_ms += (int64_t)rng_below(&rng, 2000) - 1000;
        uint64_t count = 1 + rng_below(&rng, 5000);
        uint64_t c = id_take(&gen, wall_ms, count);
        assert_true(id_from_count(c, 9) > before);
        before = id_from_count(c + count - 1, 9);
        assert_true(id_from_count(c, 9) <= before);
    }
}

static void a_new_millisecond_starts_its_own_sequence(void **state)
{
    (void)state;
    IdGen gen = { .node = 1 };
    uint64_t first = id_take(&gen, IN_2026_MS, 2);
    assert_true(first == (uint64_t)(IN_2026_MS - ID_EPOCH_MS) << 12);
    assert_true(id_take(&gen, IN_2026_MS, 1) == first + 2);
    assert_true(id_take(&gen, IN_2026_MS + 1, 1) == first + 4096);
    assert_true(id_take(&gen, IN_2026_MS - 500, 1) == first + 4097);
}

static void what_was_seen_is_never_given_out_again(void **state)
{
    (void)state;
    IdGen gen = { .node = 3 };
    JobId seen = id_from_count((uint64_t)(IN_2026_MS - ID_EPOCH_MS) << 12 | 4095, 3);
    id_seen(&gen, seen);
    assert_true(id_from_count(id_take(&gen, IN_2026_MS, 1), 3) > seen);
    id_seen(&gen, 1); /* an old one changes nothing */
    assert_true(id_from_count(id_take(&gen, IN_2026_MS - 9999, 1), 3) > seen);
}

static void no_clock_however_wrong_gives_a_bad_id(void **state)
{
    (void)state;
    static const int64_t clocks[] = { INT64_MIN / 2,
                                      0,
                                      ID_EPOCH_MS - 1,
                                      ID_EPOCH_MS,
                                      ID_EPOCH_MS + 1,
                                      IN_2026_MS,
                                      3776000000000LL,
                                      ID_EPOCH_MS + (1LL << 41) - 1,
                                      ID_EPOCH_MS + (1LL << 41),
                                      ID_EPOCH_MS + (1LL << 42) + 5,
                                      32503679999999LL };
    IdGen gen = { .node = ID_NODE_MAX };
    JobId before = 0;
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        for (int k = 0; k < 5000; k++) {
            JobId id = id_from_count(id_take(&gen, clocks[i], 1), ID_NODE_MAX);
            assert_true(id > before); /* 0 means no job */
            assert_true(id <= INT64_MAX);
            before = id;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_reads_back_as_the_id_it_came_from),
        cmocka_unit_test(texts_sort_as_the_numbers_do),
        cmocka_unit_test(every_character_outside_the_alphabet_is_refused),
        cmocka_unit_test(texts_of_other_lengths_and_of_64_bits_are_refused),
        cmocka_unit_test(a_prefix_covers_exactly_the_ids_that_begin_with_it),
        cmocka_unit_test(count_node_and_time_come_back_out_of_an_id),
        cmocka_unit_test(ids_rise_whatever_the_clock_does),
        cmocka_unit_test(a_new_millisecond_starts_its_own_sequence),
        cmocka_unit_test(what_was_seen_is_never_given_out_again),
        cmocka_unit_test(no_clock_however_wrong_gives_a_bad_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
