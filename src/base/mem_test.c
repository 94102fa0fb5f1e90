/* SPDX-License-Identifier: Apache-2.0 */
/* mem_test.c - arenas, growing lists and owned bytes. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool all_are(const char *bytes, size_t count, char c)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != c)
            return false;
    return true;
}

static void what_an_arena_gave_stays_as_it_was(void **state)
{
    (void)state;
    enum { PIECES = 400 };
    Rng rng = { 1 };
    Arena arena = { 0 };
    for (int round = 0; round < 3; round++) {
        char *pieces[PIECES];
        size_t sizes[PIECES];
        for (int i = 0; i < PIECES; i++) {
            sizes[i] = rng_below(&rng, i % 50 ? 200 : 60000);
            pieces[i] = arena_take(&arena, sizes[i]);
            assert_int_equal((uintptr_t)pieces[i] % 16, 0);
            assert_true(all_are(pieces[i], sizes[i], 0)); /* also where it was used */
            memset(pieces[i], i & 0x7f, sizes[i]);
        }
        for (int i = 0; i < PIECES; i++)
            assert_true(all_are(pieces[i], sizes[i], (char)(i & 0x7f)));
        arena_reset(&arena);
    }
    arena_done(&arena);
    arena_done(&arena); /* done twice is done */
}

static void an_arena_that_was_never_used_can_be_reset(void **state)
{
    (void)state;
    Arena arena = { 0 };
    arena_reset(&arena);
    assert_non_null(arena_copy(&arena, NULL, 0));
    assert_string_equal(slice_cstr(&arena, slice_text("abc")), "abc");
    assert_string_equal(slice_cstr(&arena, (Slice){ NULL, 0 }), "");
    assert_null(slice_copy(&arena, slice_text("")).data);
    arena_done(&arena);
}

static void an_arena_keeps_no_huge_block(void **state)
{
    (void)state;
    Arena arena = { 0 };
    arena_take(&arena, (size_t)10 << 20);
    arena_reset(&arena);
    assert_null(arena.first);
    arena_take(&arena, 100);
    arena_reset(&arena);
    assert_non_null(arena.first);
    arena_done(&arena);
}

static void a_list_grows_by_pushing(void **state)
{
    (void)state;
    uint64_t *items = NULL;
    size_t count = 0;
    size_t capacity = 0;
    for (uint64_t i = 0; i < 1000; i++)
        MEM_PUSH(items, count, capacity) = i * i;
    assert_int_equal(count, 1000);
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(items[i] == i * i);
    mem_free(items);
}

static void memory_comes_zeroed_and_copies_are_apart(void **state)
{
    (void)state;
    char *fresh = mem_alloc(1000);
    assert_true(all_are(fresh, 1000, 0));
    fresh[0] = 'x';
    char *copy = mem_copy(fresh, 1000);
    fresh[0] = 'y';
    assert_int_equal(copy[0], 'x');
    mem_free(fresh);
    mem_free(copy);
    mem_free(mem_alloc(0));
    mem_free(NULL);
}

static void a_buf_is_what_was_added_to_it(void **state)
{
    (void)state;
    Buf buf = { 0 };
    assert_string_equal(buf_cstr(&buf), "");
    buf_add_text(&buf, "one");
    buf_add_char(&buf, ' ');
    buf_add(&buf, "two!", 3);
    buf_add(&buf, NULL, 0);
    buf_add_slice(&buf, slice_text(" three"));
    buf_printf(&buf, " %d%s", 4, "!");
    buf_printf(&buf, "%s", "");
    assert_string_equal(buf_cstr(&buf), "one two three 4!");
    assert_true(slice_is(buf_slice(&buf), "one two three 4!"));
    buf_drop(&buf, 4);
    assert_string_equal(buf_cstr(&buf), "two three 4!");
    buf_drop(&buf, 1000);
    assert_int_equal(buf.bytes, 0);
    buf_add_text(&buf, "again");
    buf_clear(&buf);
    assert_string_equal(buf_cstr(&buf), "");
    buf_done(&buf);
    assert_null(buf.data);
}

static void a_buf_grows_over_any_size(void **state)
{
    (void)state;
    Buf buf = { 0 };
    for (int i = 0; i < 5000; i++)
        buf_printf(&buf, "%04d", i);
    assert_int_equal(buf.bytes, 20000);
    assert_memory_equal(buf.data + 4 * 1234, "1234", 4);
    memset(buf_room(&buf, 100000), 'z', 100000);
    assert_int_equal(buf.bytes, 20000); /* the caller adds to it */
    buf_done(&buf);
}

static void slices_cut_and_compare(void **state)
{
    (void)state;
    Slice rest = slice_text("a,,b");
    assert_true(slice_is(slice_cut(&rest, ','), "a"));
    assert_true(slice_is(slice_cut(&rest, ','), ""));
    assert_non_null(rest.data);
    assert_true(slice_is(slice_cut(&rest, ','), "b"));
    assert_null(rest.data);
    assert_true(slice_is(slice_cut(&rest, ','), ""));
    assert_true(slice_equal((Slice){ NULL, 0 }, slice_text("")));
    assert_false(slice_equal(slice_text("a"), slice_text("b")));
    assert_true(slice_starts(slice_text("abc"), slice_text("ab")));
    assert_false(slice_starts(slice_text("a"), slice_text("ab")));
    assert_true(slice_is(slice_from(slice_text("abc"), 1), "bc"));
    assert_int_equal(slice_from(slice_text("abc"), 3).bytes, 0);
    assert_int_equal(slice_from(slice_text("abc"), 9).bytes, 0);
    assert_int_equal(slice_text(NULL).bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_arena_gave_stays_as_it_was),
        cmocka_unit_test(an_arena_that_was_never_used_can_be_reset),
        cmocka_unit_test(an_arena_keeps_no_huge_block),
        cmocka_unit_test(a_list_grows_by_pushing),
        cmocka_unit_test(memory_comes_zeroed_and_copies_are_apart),
        cmocka_unit_test(a_buf_is_what_was_added_to_it),
        cmocka_unit_test(a_buf_grows_over_any_size),
        cmocka_unit_test(slices_cut_and_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
