/* SPDX-License-Identifier: Apache-2.0 */
/* map_test.c - maps against an array that has a place for every key. */
#include "base/map.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define KEYS 96

typedef struct Model {
    uint64_t keys[KEYS]; /* the keys in use; some differ only in high bits */
    void *values[KEYS];  /* NULL: absent */
} Model;

static void check(const Map *map, const Model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < KEYS; i++) {
        assert_ptr_equal(map_find(map, model->keys[i]), model->values[i]);
        count += model->values[i] != NULL;
    }
    assert_int_equal(map->count, count);
    size_t walked = 0;
    MapEntry entry;
    for (size_t at = 0; map_next(map, &at, &entry); walked++)
        assert_non_null(entry.value);
    assert_int_equal(walked, count);
}

static void a_map_holds_what_was_put_and_not_removed(void **state)
{
    (void)state;
    static char values[256];
    for (uint64_t seed = 0; seed < 40; seed++) {
        Rng rng = { seed };
        Map map = { 0 };
        Model model = { 0 };
        for (size_t i = 0; i < KEYS; i++)
            model.keys[i] = i % 2 ? (uint64_t)i << 57 : i * (seed + 1) << 1;
        assert_null(map_find(&map, 1));
        assert_null(map_remove(&map, 1));
        /* Few keys, then many, then few: through growth and long shifts. */
        for (int step = 0; step < 3000; step++) {
            size_t i = rng_below(&rng, KEYS);
            unsigned put = step / 1000 == 1 ? 75 : 30;
            if (rng_percent(&rng, put)) {
                model.values[i] = &values[rng_below(&rng, sizeof values)];
                map_put(&map, model.keys[i], model.values[i]);
            } else {
                assert_ptr_equal(map_remove(&map, model.keys[i]), model.values[i]);
                model.values[i] = NULL;
            }
            if (step % 16 == 0)
                check(&map, &model);
        }
        check(&map, &model);
        map_done(&map);
        assert_null(map_find(&map, model.keys[0]));
    }
}

/* Keys whose home is the same place of a map of 16. */
static size_t colliding(uint64_t *out_keys, size_t wanted, uint64_t home)
{
    size_t found = 0;
    for (uint64_t key = 0; found < wanted; key++)
        if ((hash_u64(key) & 15) == home)
            out_keys[found++] = key;
    return found;
}

static void removal_leaves_no_one_behind_a_hole(void **state)
{
    (void)state;
    static char value[12];
    /* A cluster over the end of the table, each of its members removed in turn. */
    for (size_t removed = 0; removed < 12; removed++) {
        uint64_t keys[12];
        colliding(keys, 5, 14);
        colliding(keys + 5, 4, 15);
        colliding(keys + 9, 3, 0);
        Map map = { 0 };
        for (size_t i = 0; i < 12; i++)
            map_put(&map, keys[i], &value[i]);
        assert_int_equal(map.capacity, 16);
        assert_ptr_equal(map_remove(&map, keys[removed]), &value[removed]);
        for (size_t i = 0; i < 12; i++)
            assert_ptr_equal(map_find(&map, keys[i]), i == removed ? NULL : &value[i]);
        map_done(&map);
    }
}

static void each_text_has_one_number_for_ever(void **state)
{
    (void)state;
    Names names = { 0 };
    assert_int_equal(names_find(&names, slice_text("a")), 0);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 3000; i++) {
            char text[16];
            snprintf(text, sizeof text, "n%u", i);
            assert_int_equal(names_intern(&names, slice_text(text)), i + 1);
            assert_int_equal(names_find(&names, slice_text(text)), i + 1);
            memset(text, 'x', sizeof text); /* it must have kept its own copy */
        }
    }
    assert_true(slice_is(names_text(&names, 1), "n0"));
    assert_true(slice_is(names_text(&names, 3000), "n2999"));
    assert_int_equal(names_find(&names, slice_text("n3000")), 0);
    uint32_t empty = names_intern(&names, slice_text(""));
    assert_int_equal(names_intern(&names, (Slice){ NULL, 0 }), empty);
    assert_int_equal(names_text(&names, empty).bytes, 0);
    names_done(&names);
}

static void a_hash_sees_every_byte_and_the_length(void **state)
{
    (void)state;
    char bytes[40] = { 0 };
    for (size_t length = 0; length <= sizeof bytes; length++) {
        uint64_t plain = hash_bytes(bytes, length);
        assert_true(plain == hash_bytes(bytes, length));
        if (length)
            assert_true(plain != hash_bytes(bytes, length - 1));
        for (size_t i = 0; i < length; i++) {
            bytes[i] = 1;
            assert_true(hash_bytes(bytes, length) != plain);
            bytes[i] = 0;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_holds_what_was_put_and_not_removed),
        cmocka_unit_test(removal_leaves_no_one_behind_a_hole),
        cmocka_unit_test(each_text_has_one_number_for_ever),
        cmocka_unit_test(a_hash_sees_every_byte_and_the_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
