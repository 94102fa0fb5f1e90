/* SPDX-License-Identifier: Apache-2.0 */
/* pack_test.c - packed fields: what goes in comes out, what was cut is noticed. */
#include "base/pack.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const int64_t numbers[] = {
    1,
    -1,
    2,
    63,
    64,
    -64,
    -65,
    8191,
    8192,
    INT32_MAX,
    INT32_MIN,
    INT64_MAX,
    INT64_MIN,
    INT64_MAX - 1,
    INT64_MIN + 1,
    1790000000000,
};
#define NUMBERS (sizeof numbers / sizeof *numbers)

static void numbers_come_out_as_they_went_in(void **state)
{
    (void)state;
    Buf out = { 0 };
    for (uint32_t i = 0; i < NUMBERS; i++)
        pack_int(&out, i + 1, numbers[i]);
    Slice rest = buf_slice(&out);
    PackField field;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        assert_true(pack_next(&rest, &field));
        assert_int_equal(field.tag, i + 1);
        assert_true(field.number == numbers[i]);
    }
    assert_false(pack_next(&rest, &field));
    assert_false(pack_damaged(rest));
    buf_done(&out);
}

static void nothing_takes_no_room(void **state)
{
    (void)state;
    Buf out = { 0 };
    pack_int(&out, 1, 0);
    pack_bytes(&out, 2, (Slice){ NULL, 0 });
    assert_int_equal(out.bytes, 0);
    Slice rest = buf_slice(&out);
    PackField field;
    assert_false(pack_next(&rest, &field));
    assert_false(pack_damaged(rest));
}

static void bytes_of_any_size_and_tags_of_any_width_survive(void **state)
{
    (void)state;
    static const uint32_t tags[] = { 1, 127, 128, 16383, 16384, (1u << 28) - 1 };
    static const size_t sizes[] = { 1, 2, 127, 128, 129, 16383, 16384, 100000 };
    for (size_t t = 0; t < sizeof tags / sizeof *tags; t++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            char *value = mem_alloc(sizes[s]);
            memset(value, (int)(t + 1), sizes[s]);
            Buf out = { 0 };
            pack_bytes(&out, tags[t], slice_of(value, sizes[s]));
            Slice rest = buf_slice(&out);
            PackField field;
            assert_true(pack_next(&rest, &field));
            assert_int_equal(field.tag, tags[t]);
            assert_true(slice_equal(field.bytes, slice_of(value, sizes[s])));
            assert_int_equal(rest.bytes, 0);
            buf_done(&out);
            mem_free(value);
        }
    }
}

/* A record as pawl writes them: numbers, bytes, and records inside records. */
static void pack_sample(Buf *out)
{
    pack_int(out, 1, 300);
    pack_bytes(out, 40, slice_text("some text"));
    size_t outer = pack_begin(out, 3);
    pack_int(out, 1, -5);
    size_t inner = pack_begin(out, 200);
    pack_bytes(out, 9, slice_text("deep"));
    pack_end(out, inner);
    pack_end(out, outer);
    size_t empty = pack_begin(out, 4);
    pack_end(out, empty);
}

static void records_nest(void **state)
{
    (void)state;
    Buf out = { 0 };
    pack_sample(&out);
    Slice rest = buf_slice(&out);
    PackField field;
    assert_true(pack_next(&rest, &field));
    assert_true(pack_next(&rest, &field));
    assert_true(slice_is(field.bytes, "some text"));
    assert_true(pack_next(&rest, &field));
    assert_int_equal(field.tag, 3);
    Slice outer = field.bytes;
    assert_true(pack_next(&outer, &field));
    assert_int_equal(field.number, -5);
    assert_true(pack_next(&outer, &field));
    assert_int_equal(field.tag, 200);
    Slice inner = field.bytes;
    assert_true(pack_next(&inner, &field));
    assert_true(slice_is(field.bytes, "deep"));
    assert_true(pack_next(&rest, &field));
    assert_int_equal(field.tag, 4);
    assert_int_equal(field.bytes.bytes, 0);
    assert_false(pack_next(&rest, &field));
    buf_done(&out);
}

/* How many whole fields `bytes` begins with; *out_damaged tells what ended them. */
static size_t count_fields(Slice bytes, bool *out_damaged)
{
    size_t count = 0;
    PackField field;
    while (pack_next(&bytes, &field))
        count++;
    *out_damaged = pack_damaged(bytes);
    return count;
}

static void a_cut_is_noticed_wherever_it_is_not_between_fields(void **state)
{
    (void)state;
    Buf out = { 0 };
    size_t ends[5] = { 0 };
    pack_int(&out, 1, 300);
    ends[1] = out.bytes;
    pack_bytes(&out, 40, slice_text("some text"));
    ends[2] = out.bytes;
    size_t begun = pack_begin(&out, 3);
    pack_int(&out, 1, INT64_MIN);
    pack_end(&out, begun);
    ends[3] = out.bytes;
    pack_int(&out, (1u << 28) - 1, -1);
    ends[4] = out.bytes;
    for (size_t bytes = 0; bytes <= out.bytes; bytes++) {
        /* A copy of its own, so that a look beyond its end is seen. */
        char *copy = mem_copy(out.data, bytes);
        size_t whole = 0;
        while (whole < 4 && ends[whole + 1] <= bytes)
            whole++;
        bool damaged;
        assert_int_equal(count_fields(slice_of(copy, bytes), &damaged), whole);
        assert_int_equal(damaged, ends[whole] != bytes);
        mem_free(copy);
    }
    buf_done(&out);
}

static void tag_zero_and_tags_beyond_the_limit_are_damage(void **state)
{
    (void)state;
    static const Slice bad[] = {
        { "\x00\x01x", 3 },                        /* tag 0 */
        { "\x80\x80\x80\x80\x01\x01x", 7 },        /* tag 2^28 */
        { "\x01\xff\xff\xff\xff\xff\xff\xff", 8 }, /* a length without an end */
        { "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x00", 13 },
        { "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 }, /* 2^64 - 1 bytes */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bool damaged;
        assert_int_equal(count_fields(bad[i], &damaged), 0);
        assert_true(damaged);
    }
}

static void bytes_that_are_no_number_read_as_zero(void **state)
{
    (void)state;
    Buf out = { 0 };
    pack_bytes(&out, 1, slice_text("\x80")); /* a number that does not end */
    pack_bytes(&out, 2, slice_text("ab"));   /* one and a half */
    Slice rest = buf_slice(&out);
    PackField field;
    assert_true(pack_next(&rest, &field));
    assert_int_equal(field.number, 0);
    assert_true(pack_next(&rest, &field));
    assert_int_equal(field.number, 0);
    buf_done(&out);
}

static void damage_of_any_kind_ends_in_order(void **state)
{
    (void)state;
    Rng rng = { 5 };
    Buf out = { 0 };
    pack_sample(&out);
    for (int i = 0; i < 20000; i++) {
        size_t bytes = 1 + rng_below(&rng, out.bytes);
        char *copy = mem_copy(out.data, bytes);
        for (uint64_t flips = 1 + rng_below(&rng, 4); flips; flips--)
            copy[rng_below(&rng, bytes)] ^= (char)(1 << rng_below(&rng, 8));
        bool damaged;
        assert_true(count_fields(slice_of(copy, bytes), &damaged) <= bytes);
        mem_free(copy);
    }
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_out_as_they_went_in),
        cmocka_unit_test(nothing_takes_no_room),
        cmocka_unit_test(bytes_of_any_size_and_tags_of_any_width_survive),
        cmocka_unit_test(records_nest),
        cmocka_unit_test(a_cut_is_noticed_wherever_it_is_not_between_fields),
        cmocka_unit_test(tag_zero_and_tags_beyond_the_limit_are_damage),
        cmocka_unit_test(bytes_that_are_no_number_read_as_zero),
        cmocka_unit_test(damage_of_any_kind_ends_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
