/* SPDX-License-Identifier: Apache-2.0 */
/* fields_test.c - structs as packed fields. */
#include "base/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct Thing {
    int64_t large;
    int32_t small;
    bool flag;
    Slice text;
    uint64_t later;
} Thing;

static const FieldRow rows[] = {
    { 1, offsetof(Thing, large), FIELD_64 },   { 2, offsetof(Thing, small), FIELD_32 },
    { 5, offsetof(Thing, flag), FIELD_BOOL },  { 40, offsetof(Thing, text), FIELD_SLICE },
    { 127, offsetof(Thing, later), FIELD_64 },
};
static const Thing defaults = { .small = -1 };
static const Fields fields = { rows, FIELDS_COUNT(rows), &defaults };

static Thing unpack(Slice packed)
{
    Thing thing = defaults;
    assert_int_equal(fields_unpack(packed, &fields, &thing), ERR_OK);
    return thing;
}

static void what_is_packed_comes_back(void **state)
{
    (void)state;
    Buf buf = { 0 };
    Thing in = { INT64_MIN, INT32_MAX, true, SLICE_LITERAL("words"), UINT64_MAX };
    fields_pack(&buf, &fields, &in);
    Thing out = unpack(buf_slice(&buf));
    assert_true(out.large == in.large);
    assert_int_equal(out.small, in.small);
    assert_true(out.flag);
    assert_true(slice_equal(out.text, in.text));
    assert_true(out.later == in.later);
    buf_done(&buf);
}

static void defaults_take_no_room_and_absence_means_default(void **state)
{
    (void)state;
    Buf buf = { 0 };
    fields_pack(&buf, &fields, &defaults);
    assert_int_equal(buf.bytes, 0);
    assert_int_equal(unpack(buf_slice(&buf)).small, -1);
}

static void an_unknown_tag_is_passed_over_and_a_bad_number_is_not(void **state)
{
    (void)state;
    Thing thing = defaults;
    for (uint32_t tag = 3; tag < 130; tag++) {
        if (tag == 5 || tag == 40 || tag == 127)
            continue;
        PackField news = { .tag = tag, .number = 7 };
        assert_int_equal(fields_set(&fields, &news, &thing), ERR_OK);
        assert_memory_equal(&thing, &defaults, sizeof thing);
    }
    PackField too_large = { .tag = 2, .number = (int64_t)1 << 40 };
    assert_int_equal(fields_set(&fields, &too_large, &thing), ERR_CORRUPT);
    PackField no_flag = { .tag = 5, .number = 2 };
    assert_int_equal(fields_set(&fields, &no_flag, &thing), ERR_CORRUPT);
}

static void what_is_cut_is_corrupt(void **state)
{
    (void)state;
    Buf buf = { 0 };
    Thing in = { .large = 5, .text = SLICE_LITERAL("words") };
    Thing out = defaults;
    fields_pack(&buf, &fields, &in);
    Slice cut = slice_of(buf.data, buf.bytes - 1);
    assert_int_equal(fields_unpack(cut, &fields, &out), ERR_CORRUPT);
    buf_done(&buf);
}

static void kept_slices_outlive_their_source(void **state)
{
    (void)state;
    Arena arena = { 0 };
    char source[] = "words";
    Thing thing = { .text = { source, 5 } };
    fields_keep(&fields, &arena, &thing);
    source[0] = 'x';
    assert_true(slice_is(thing.text, "words"));
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_comes_back),
        cmocka_unit_test(defaults_take_no_room_and_absence_means_default),
        cmocka_unit_test(an_unknown_tag_is_passed_over_and_a_bad_number_is_not),
        cmocka_unit_test(what_is_cut_is_corrupt),
        cmocka_unit_test(kept_slices_outlive_their_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
