/* SPDX-License-Identifier: Apache-2.0 */
/* copy_unit_test.c - deliveries between directories, from every state a crash can leave.
 */
#include "pipeline/forward/copy_unit.h"

#include "pipeline/forward/carrier.h"
#include "pipeline/processor/notes.h"
#include "pipeline/rig_test.h"

/* The rig is both ends: from its output/finished to its own input. */
static CarryOrder *order_of(const Rig *rig, const char *unit, const char *record)
{
    char source[128];
    snprintf(source, sizeof source, "%s/output/finished", rig->dir);
    CarryOrder *order = carry_order_new(source, rig->dir);
    snprintf(order->unit, sizeof order->unit, "%s", unit);
    snprintf(order->record, sizeof order->record, "%s", record);
    order->sender_bytes = (size_t)(strchr(record, ' ') - record) + 1;
    return order;
}

static CarryEnd carry_one(const Rig *rig, const char *unit, const char *record)
{
    CarryOrder *order = order_of(rig, unit, record);
    carry_all(&order, 1, NULL);
    CarryEnd end = order->end;
    carry_order_free(order);
    return end;
}

static bool record_is(const Rig *rig, const char *unit, const char *record)
{
    Buf text = { 0 };
    bool same = !own_read(&rig->buckets, "arrived", unit, &text) &&
                slice_is(buf_slice(&text), record);
    buf_done(&text);
    return same;
}

static void set_record(const Rig *rig, const char *unit, const char *record)
{
    Error why = { 0 };
    assert_int_equal(own_note(&rig->buckets, "arrived", unit, slice_text(record), &why),
                     ERR_OK);
}

/* S4.15, S4.16 */
static void a_unit_arrives_in_work_once(void **state)
{
    Rig *rig = *state;
    Error why = { 0 };
    rig_put(rig, OUT_FINISHED, "u", "data");
    assert_int_equal(carry_one(rig, "u", "n:p 1"), CARRY_DONE);
    rig_holds(rig, IN_WORK, "u", "data");
    rig_holds(rig, OUT_FINISHED, "u", "data");
    assert_true(record_is(rig, "u", "n:p 1"));
    assert_false(bucket_has(&rig->buckets, IN_RECEIVE, "u"));
    assert_int_equal(bucket_move(&rig->buckets, "u", IN_WORK, IN_PROCESSED, &why),
                     ERR_OK);
    assert_int_equal(carry_one(rig, "u", "n:p 1"), CARRY_DONE); /* a repeat */
    assert_false(bucket_has(&rig->buckets, IN_WORK, "u"));
}

/* S4.14: an older state of the same sender leaves work; nobody else's does. */
static void a_newer_state_takes_the_place_of_the_older(void **state)
{
    const Rig *rig = *state;
    rig_put(rig, OUT_FINISHED, "u", "old");
    assert_int_equal(carry_one(rig, "u", "n:p 1"), CARRY_DONE);
    rig_put(rig, OUT_FINISHED, "u", "new");
    assert_int_equal(carry_one(rig, "u", "n:p 2"), CARRY_DONE);
    rig_holds(rig, IN_WORK, "u", "new");
    assert_int_equal(carry_one(rig, "u", "n:pp 3"), CARRY_CLASH);
    assert_int_equal(carry_one(rig, "u", "n:other 3"), CARRY_CLASH);
    rig_holds(rig, IN_WORK, "u", "new");
    assert_true(record_is(rig, "u", "n:p 2"));
}

static void a_unit_of_this_name_elsewhere_is_a_clash(void **state)
{
    static const Bucket buckets[] = { IN_ACTIVE, IN_PROCESSED, IN_FAILED, IN_WORK };
    const Rig *rig = *state;
    rig_put(rig, OUT_FINISHED, "u", "new");
    for (size_t i = 0; i < sizeof buckets / sizeof *buckets; i++) {
        rig_put(rig, buckets[i], "u", "old");
        assert_int_equal(carry_one(rig, "u", "n:p 1"), CARRY_CLASH);
        rig_holds(rig, buckets[i], "u", "old");
        assert_int_equal(unlinkat(rig->buckets.fds[buckets[i]], "u", 0), 0);
    }
    assert_int_equal(carry_one(rig, "u", "n:p 1"), CARRY_DONE);
}

/* A crash in the middle of the copy: half is there, and nothing says that it is whole. */
static void half_a_copy_is_made_anew(void **state)
{
    const Rig *rig = *state;
    rig_put(rig, OUT_FINISHED, "u", "whole");
    rig_put(rig, IN_RECEIVE, "u", "wh");
    assert_int_equal(carry_one(rig, "u", "n:p 1"), CARRY_DONE);
    rig_holds(rig, IN_WORK, "u", "whole");
}

/* A crash between the record and the rename: only the rename is missing. */
static void a_noted_copy_is_only_renamed(void **state)
{
    const Rig *rig = *state;
    rig_put(rig, OUT_FINISHED, "u", "whole");
    rig_put(rig, IN_RECEIVE, "u", "whole");
    set_record(rig, "u", "n:p 1");
    assert_int_equal(carry_one(rig, "u", "n:p 1"), CARRY_DONE);
    rig_holds(rig, IN_WORK, "u", "whole");
    assert_false(bucket_has(&rig->buckets, IN_RECEIVE, "u"));
}

static void a_unit_that_is_gone_fails_alone(void **state)
{
    const Rig *rig = *state;
    rig_put(rig, OUT_FINISHED, "a", "A");
    rig_put(rig, OUT_FINISHED, "c", "C");
    CarryOrder *orders[] = { order_of(rig, "a", "n:p 1"), order_of(rig, "b", "n:p 2"),
                             order_of(rig, "c", "n:p 3") };
    carry_all(orders, 3, NULL);
    assert_int_equal(orders[0]->end, CARRY_DONE);
    assert_int_equal(orders[1]->end, CARRY_FAILED);
    assert_int_equal(orders[2]->end, CARRY_DONE);
    for (size_t i = 0; i < 3; i++)
        carry_order_free(orders[i]);
    rig_holds(rig, IN_WORK, "c", "C");
}

static void what_is_no_processor_is_told(void **state)
{
    const Rig *rig = *state;
    rig_put(rig, OUT_FINISHED, "u", "x");
    CarryOrder *order = order_of(rig, "u", "n:p 1");
    mem_free(order->dir);
    order->dir = mem_copy("/nowhere", sizeof "/nowhere");
    carry_all(&order, 1, NULL);
    assert_int_equal(order->end, CARRY_NO_PLACE);
    assert_non_null(strstr(order->why.text, "input/receive"));
    carry_order_free(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_unit_arrives_in_work_once),
        RIG_TEST(a_newer_state_takes_the_place_of_the_older),
        RIG_TEST(a_unit_of_this_name_elsewhere_is_a_clash),
        RIG_TEST(half_a_copy_is_made_anew),
        RIG_TEST(a_noted_copy_is_only_renamed),
        RIG_TEST(a_unit_that_is_gone_fails_alone),
        RIG_TEST(what_is_no_processor_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
