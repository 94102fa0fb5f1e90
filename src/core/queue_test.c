/* SPDX-License-Identifier: Apache-2.0 */
/* queue_test.c - the pure rules of a queue's definition. */
#include "core/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_packed_definition_is_the_whole_one(void **state)
{
    (void)state;
    const QueueDef def = {
        .tenant = SLICE_LITERAL("acme"),
        .name = SLICE_LITERAL("mail"),
        .paused = true,
        .paused_until_ms = 1790000000000,
        .pause_reason = SLICE_LITERAL("moving"),
        .has_slots = true,
        .slots = 3,
        .has_min = true,
        .priority_min = 1,
        .has_max = true,
        .priority_max = 10,
        .has_default = true,
        .default_priority = 4,
        .policy = POLICY_BACKFILL,
        .resources = { "gpu\0lic", 8 },
        .rate_jobs = 10,
        .rate_ms = 1000,
        .aging_milli = 2500,
        .nice = true,
    };
    Buf packed = { 0 };
    Buf again = { 0 };
    QueueDef back;
    queue_pack(&packed, &def);
    assert_int_equal(queue_unpack(buf_slice(&packed), &back), ERR_OK);
    queue_pack(&again, &back);
    assert_true(slice_equal(buf_slice(&packed), buf_slice(&again)));
    assert_int_equal(back.aging_milli, 2500);
    assert_true(slice_equal(back.resources, def.resources));
    Arena arena = { 0 };
    QueueDef copy = queue_copy(&arena, &back);
    assert_true(slice_is(copy.pause_reason, "moving"));
    packed.bytes--;
    assert_int_equal(queue_unpack(buf_slice(&packed), &back), ERR_CORRUPT);
    arena_done(&arena);
    buf_done(&packed);
    buf_done(&again);
}

static void policies_have_names(void **state)
{
    (void)state;
    for (unsigned i = 0; i < QUEUE_POLICIES; i++) {
        assert_true(policy_name((QueuePolicy)i)[0] != '?');
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(policy_name((QueuePolicy)i),
                                    policy_name((QueuePolicy)k));
    }
}

/* S3.2: 003's queues take 1 to 10. */
static void a_range_takes_what_is_inside(void **state)
{
    (void)state;
    const QueueDef def = {
        .has_min = true, .priority_min = 1, .has_max = true, .priority_max = 10
    };
    assert_true(queue_takes_priority(&def, 1));
    assert_true(queue_takes_priority(&def, 10));
    assert_false(queue_takes_priority(&def, 0));
    assert_false(queue_takes_priority(&def, 11));
    assert_int_equal(queue_clamp_priority(&def, 99), 10);
    assert_int_equal(queue_clamp_priority(&def, -5), 1);
    assert_int_equal(queue_default_priority(&def), 5);
    const QueueDef high = { .has_min = true, .priority_min = 7 };
    assert_int_equal(queue_default_priority(&high), 7);
    assert_true(queue_takes_priority(NULL, INT64_MIN));
    assert_int_equal(queue_default_priority(NULL), 5);
    const QueueDef said = { .has_default = true, .default_priority = 2 };
    assert_int_equal(queue_default_priority(&said), 2);
}

static void a_pause_ends_by_itself_when_it_was_told(void **state)
{
    (void)state;
    const QueueDef paused = { .paused = true };
    const QueueDef until = { .paused = true, .paused_until_ms = 1000 };
    assert_true(queue_paused(&paused, INT64_MAX));
    assert_true(queue_paused(&until, 999));
    assert_false(queue_paused(&until, 1000));
    assert_false(queue_paused(&(QueueDef){ 0 }, 0));
}

/* S3.6 */
static void priorities_become_niceness(void **state)
{
    (void)state;
    const QueueDef plain = { .nice = true };
    assert_int_equal(queue_nice(&plain, 10), 0);
    assert_int_equal(queue_nice(&plain, 1), 19);
    assert_int_equal(queue_nice(&plain, 100), 0);
    assert_int_equal(queue_nice(&plain, -100), 19);
    assert_true(queue_nice(&plain, 7) < queue_nice(&plain, 4));
    const QueueDef wide = { .nice = true,
                            .has_min = true,
                            .priority_min = 0,
                            .has_max = true,
                            .priority_max = 190 };
    assert_int_equal(queue_nice(&wide, 100), 9);
    assert_int_equal(queue_nice(&(QueueDef){ 0 }, 1), 0);
    assert_int_equal(queue_nice(NULL, 1), 0);
}

static void aging_says_what_a_point_is_worth(void **state)
{
    (void)state;
    assert_int_equal(queue_age_ms(NULL), 0);
    assert_int_equal(queue_age_ms(&(QueueDef){ 0 }), 0);
    assert_int_equal(queue_age_ms(&(QueueDef){ .aging_milli = 1000 }), 60000);
    assert_int_equal(queue_age_ms(&(QueueDef){ .aging_milli = 2000 }), 30000);
    assert_int_equal(queue_age_ms(&(QueueDef){ .aging_milli = 1 }), 60000000);
    assert_int_equal(queue_age_ms(&(QueueDef){ .aging_milli = INT64_MAX }), 1);
}

/* A bucket of n tokens that fills in its period: never more than n at once, and in the
 * long run no more than n per period. */
static void a_rate_is_kept(void **state)
{
    (void)state;
    const QueueDef def = { .rate_jobs = 3, .rate_ms = 1000 };
    Bucket bucket = { 0 };
    int64_t next = 0;
    int started = 0;
    for (int64_t now = 5000; now < 15000; now++) {
        if (!bucket_ready(&bucket, &def, now, &next)) {
            assert_true(next > now && next <= now + 334);
            continue;
        }
        bucket_take(&bucket, &def, now);
        started++;
    }
    assert_in_range(started, 3 + 29, 3 + 30); /* a full bucket, then 3 each second */
    bucket = (Bucket){ 0 };
    for (int i = 0; i < 3; i++) {
        assert_true(bucket_ready(&bucket, &def, 100, &next));
        bucket_take(&bucket, &def, 100);
    }
    assert_false(bucket_ready(&bucket, &def, 100, &next));
    assert_int_equal(next, 100 + 334);
    assert_false(bucket_ready(&bucket, &def, next - 1, &next));
    assert_true(bucket_ready(&bucket, &def, next, &next));
    assert_true(bucket_ready(&(Bucket){ 0 }, &(QueueDef){ 0 }, 0, &next));
}

static void a_nodes_own_slots_are_found_by_queue(void **state)
{
    (void)state;
    const NodeSlots slots = { .has_slots = true,
                              .slots = 8,
                              .queues = { "a=2\0b/c=0", 10 } };
    Buf packed = { 0 };
    NodeSlots back;
    uint32_t number = 77;
    slots_pack(&packed, &slots);
    assert_int_equal(slots_unpack(buf_slice(&packed), &back), ERR_OK);
    assert_int_equal(back.slots, 8);
    assert_true(slots_of_queue(&back, SLICE_LITERAL("a"), &number));
    assert_int_equal(number, 2);
    assert_true(slots_of_queue(&back, SLICE_LITERAL("b/c"), &number));
    assert_int_equal(number, 0);
    number = 77;
    assert_false(slots_of_queue(&back, SLICE_LITERAL("b"), &number));
    assert_int_equal(number, 77);
    buf_done(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_definition_is_the_whole_one),
        cmocka_unit_test(policies_have_names),
        cmocka_unit_test(a_range_takes_what_is_inside),
        cmocka_unit_test(a_pause_ends_by_itself_when_it_was_told),
        cmocka_unit_test(priorities_become_niceness),
        cmocka_unit_test(aging_says_what_a_point_is_worth),
        cmocka_unit_test(a_rate_is_kept),
        cmocka_unit_test(a_nodes_own_slots_are_found_by_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
