/* SPDX-License-Identifier: Apache-2.0 */
/* marks_test.c - what a sender remembers of its deliveries. */
#include "pipeline/processor/marks.h"

#include "pipeline/rig_test.h"

typedef struct Two {
    Place places[2];
    Forward forward;
    Plan plan;
} Two;

static void two_of(Two *two)
{
    Error why = { 0 };
    assert_int_equal(place_parse(SLICE_LITERAL("a"), &two->places[0], &why), ERR_OK);
    assert_int_equal(place_parse(SLICE_LITERAL("b"), &two->places[1], &why), ERR_OK);
    two->forward = (Forward){ .places = two->places, .count = 2, .mode = FORWARD_HASH };
    two->plan = (Plan){ .forwards = &two->forward, .forward_count = 1 };
}

/* Renamed away and back it is another state: it was perhaps made anew. */
static void a_delivery_names_the_state_of_a_unit(void **state)
{
    const Rig *rig = *state;
    char first[DELIVERY_BYTES];
    char again[DELIVERY_BYTES];
    int finished = rig->buckets.fds[OUT_FINISHED];
    assert_false(delivery_of(finished, "u", first));
    rig_put(rig, OUT_FINISHED, "u", "x");
    assert_true(delivery_of(finished, "u", first));
    assert_true(delivery_of(finished, "u", again));
    assert_string_equal(first, again);
    do {
        usleep(5000); /* file times tick in coarse steps */
        assert_int_equal(fchmodat(finished, "u", 0600, 0), 0);
        assert_true(delivery_of(finished, "u", again));
    } while (strcmp(first, again) == 0);
}

static void a_mark_counts_for_its_place_and_delivery(void **state)
{
    const Rig *rig = *state;
    Two two;
    Error why = { 0 };
    two_of(&two);
    assert_false(mark_has(&rig->buckets, &two.places[0], &(Delivery){ "u", "1" }));
    assert_int_equal(
        mark_set(&rig->buckets, &two.places[0], &(Delivery){ "u", "1" }, &why), ERR_OK);
    assert_true(mark_has(&rig->buckets, &two.places[0], &(Delivery){ "u", "1" }));
    assert_false(mark_has(&rig->buckets, &two.places[0], &(Delivery){ "u", "2" }));
    assert_false(mark_has(&rig->buckets, &two.places[1], &(Delivery){ "u", "1" }));
    assert_false(mark_has(&rig->buckets, &two.places[0], &(Delivery){ "v", "1" }));
}

static void a_choice_is_found_again_until_it_makes_no_sense(void **state)
{
    const Rig *rig = *state;
    Two two;
    Error why = { 0 };
    size_t place = 9;
    two_of(&two);
    assert_int_equal(
        choice_set(&rig->buckets, 0, &two.places[1], &(Delivery){ "u", "1" }, &why),
        ERR_OK);
    assert_int_equal(choice_sync(&rig->buckets, 0, &why), ERR_OK);
    assert_true(
        choice_find(&rig->buckets, &two.plan, 0, &(Delivery){ "u", "1" }, &place));
    assert_int_equal(place, 1);
    assert_false(
        choice_find(&rig->buckets, &two.plan, 0, &(Delivery){ "u", "2" }, &place));
    two.forward.count = 1; /* the plan has lost it */
    assert_false(
        choice_find(&rig->buckets, &two.plan, 0, &(Delivery){ "u", "1" }, &place));
}

static void what_is_about_units_that_are_gone_goes(void **state)
{
    const Rig *rig = *state;
    Two two;
    Error why = { 0 };
    size_t place;
    two_of(&two);
    rig_put(rig, OUT_FINISHED, "here", "x");
    static const char *const units[] = { "here", "gone" };
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(
            mark_set(&rig->buckets, &two.places[0], &(Delivery){ units[i], "1" }, &why),
            ERR_OK);
        assert_int_equal(choice_set(&rig->buckets, 0, &two.places[0],
                                    &(Delivery){ units[i], "1" }, &why),
                         ERR_OK);
    }
    marks_tidy(&rig->buckets, &two.plan, rig->buckets.fds[OUT_FINISHED]);
    assert_true(mark_has(&rig->buckets, &two.places[0], &(Delivery){ "here", "1" }));
    assert_false(mark_has(&rig->buckets, &two.places[0], &(Delivery){ "gone", "1" }));
    assert_false(
        choice_find(&rig->buckets, &two.plan, 0, &(Delivery){ "gone", "1" }, &place));
    marks_forget(&rig->buckets, &two.plan, "here");
    assert_false(mark_has(&rig->buckets, &two.places[0], &(Delivery){ "here", "1" }));
    assert_false(
        choice_find(&rig->buckets, &two.plan, 0, &(Delivery){ "here", "1" }, &place));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_delivery_names_the_state_of_a_unit),
        RIG_TEST(a_mark_counts_for_its_place_and_delivery),
        RIG_TEST(a_choice_is_found_again_until_it_makes_no_sense),
        RIG_TEST(what_is_about_units_that_are_gone_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
