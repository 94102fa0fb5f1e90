/* SPDX-License-Identifier: Apache-2.0 */
/* divide_test.c - the modes, each by what it promises. */
#include "pipeline/forward/divide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define PLACES 4

static Forward forward_of(ForwardMode mode)
{
    return (Forward){ .mode = mode, .count = PLACES, .slots = 1 };
}

/* S4.86 */
static void round_robin_gives_each_the_same_number(void **state)
{
    (void)state;
    Forward forward = forward_of(FORWARD_ROUND_ROBIN);
    uint64_t turn = 0;
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(divide(&forward, "same", &turn, NULL), i % PLACES);
}

static void hash_depends_on_the_name_alone(void **state)
{
    (void)state;
    Forward forward = forward_of(FORWARD_HASH);
    uint64_t turn = 0;
    uint64_t other = 77;
    int shares[PLACES] = { 0 };
    for (int i = 0; i < 4000; i++) {
        char name[16];
        snprintf(name, sizeof name, "u%d", i);
        size_t place = divide(&forward, name, &turn, NULL);
        assert_int_equal(place, divide(&forward, name, &other, NULL));
        shares[place]++;
    }
    for (size_t p = 0; p < PLACES; p++)
        assert_in_range(shares[p], 850, 1150);
}

static void least_loaded_fills_the_emptiest(void **state)
{
    (void)state;
    Forward forward = forward_of(FORWARD_LEAST_LOADED);
    int64_t loads[PLACES] = { 5, 0, 9, 2 };
    uint64_t turn = 0;
    for (int i = 0; i < 20; i++)
        loads[divide(&forward, "u", &turn, loads)]++;
    for (size_t p = 0; p < PLACES; p++)
        assert_int_equal(loads[p], 9);
}

static void least_loaded_shares_among_equals(void **state)
{
    (void)state;
    Forward forward = forward_of(FORWARD_LEAST_LOADED);
    const int64_t loads[PLACES] = { 0 };
    int shares[PLACES] = { 0 };
    uint64_t turn = 0;
    for (int i = 0; i < 40; i++)
        shares[divide(&forward, "u", &turn, loads)]++;
    for (size_t p = 0; p < PLACES; p++)
        assert_int_equal(shares[p], 10);
}

static void what_is_down_gets_nothing_while_another_is_up(void **state)
{
    (void)state;
    Forward forward = forward_of(FORWARD_LEAST_LOADED);
    const int64_t loads[PLACES] = { DIVIDE_DOWN, DIVIDE_DOWN, 1000, DIVIDE_DOWN };
    uint64_t turn = 0;
    for (int i = 0; i < 8; i++)
        assert_int_equal(divide(&forward, "u", &turn, loads), 2);
}

/* S4.86: a node that is lost gets none, in whatever mode; the others keep theirs. */
static void the_next_takes_the_turn_of_who_is_down(void **state)
{
    (void)state;
    static const ForwardMode modes[] = { FORWARD_ROUND_ROBIN, FORWARD_HASH };
    const int64_t loads[PLACES] = { 0, DIVIDE_DOWN, 0, 0 };
    const int64_t none[PLACES] = { DIVIDE_DOWN, DIVIDE_DOWN, DIVIDE_DOWN, DIVIDE_DOWN };
    for (size_t m = 0; m < 2; m++) {
        Forward forward = forward_of(modes[m]);
        uint64_t turn = 0;
        uint64_t whole = 0;
        for (int i = 0; i < 400; i++) {
            char name[16];
            snprintf(name, sizeof name, "u%d", i);
            uint64_t same = whole;
            size_t meant = divide(&forward, name, &whole, NULL);
            assert_int_equal(divide(&forward, name, &turn, loads),
                             meant == 1 ? 2 : meant);
            assert_int_equal(divide(&forward, name, &same, none), meant);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_robin_gives_each_the_same_number),
        cmocka_unit_test(hash_depends_on_the_name_alone),
        cmocka_unit_test(least_loaded_fills_the_emptiest),
        cmocka_unit_test(least_loaded_shares_among_equals),
        cmocka_unit_test(what_is_down_gets_nothing_while_another_is_up),
        cmocka_unit_test(the_next_takes_the_turn_of_who_is_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
