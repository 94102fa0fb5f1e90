/* SPDX-License-Identifier: Apache-2.0 */
/* queue_test.c - what may be written about queues and slots, and what is refused. */
#include "noun/queue.h"

#include "noun/testing.h"

static Err read_text(const char *text, Arena *arena, QueueDef *def, Problem *why)
{
    NounIn in = noun_in(&queue_noun, "q", def, arena, why);
    return noun_read(&in, json_of_text(text, arena));
}

static Err patch_slots(const char *text, Arena *arena, NodeSlots *slots, Problem *why)
{
    NounIn in = noun_in(&slots_noun, "n", slots, arena, why);
    in.patch = true;
    return noun_read(&in, json_of_text(text, arena));
}

static void show(const QueueDef *def, Buf *out)
{
    JsonOut json = { .out = out };
    json_object(&json, NULL);
    noun_members(&json, &(NounView){ .noun = &queue_noun,
                                     .object = def,
                                     .tenant = def->tenant,
                                     .name = def->name });
    json_object_end(&json);
}

static void rates_are_read_in_every_form(void **state)
{
    (void)state;
    static const struct {
        const char *rate;
        uint32_t jobs;
        int64_t per_ms; /* 0: refused */
    } table[] = {
        { "\"10/s\"", 10, 1000 },
        { "\"5/min\"", 5, 60000 },
        { "\"3/PT10S\"", 3, 10000 },
        { "{\"jobs\":7,\"per\":\"1h\"}", 7, 3600000 },
        { "{\"jobs\":7}", 7, 1000 },
        { "\"0/s\"", 0, 0 },
        { "\"10\"", 0, 0 },
        { "\"10/x\"", 0, 0 },
        { "{\"jobs\":0}", 0, 0 },
        { "{\"jobs\":1,\"pro\":1}", 0, 0 },
        { "5", 0, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Arena arena = { 0 };
        Problem why = { 0 };
        QueueDef def;
        Buf text = { 0 };
        buf_printf(&text, "{\"rate\":%s}", table[i].rate);
        Err err = read_text(buf_cstr(&text), &arena, &def, &why);
        assert_int_equal(err == ERR_OK, table[i].per_ms > 0);
        if (!err) {
            assert_int_equal(def.rate_jobs, table[i].jobs);
            assert_int_equal(def.rate_ms, table[i].per_ms);
        } else {
            assert_string_equal(why.pointer, "/rate");
        }
        buf_done(&text);
        arena_done(&arena);
    }
}

static void what_is_shown_can_be_sent_back(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Problem why = { 0 };
    QueueDef def;
    assert_int_equal(
        read_text("{\"slots\":2,\"priority_min\":1,\"priority_max\":10,"
                  "\"default_priority\":3,\"policy\":\"skip\",\"aging\":1.5,"
                  "\"resources\":[\"a\",\"b\"],\"rate\":\"2/s\",\"nice\":true,"
                  "\"paused\":true,\"pause_reason\":\"tea\"}",
                  &arena, &def, &why),
        ERR_OK);
    Buf first = { 0 };
    Buf second = { 0 };
    show(&def, &first);
    QueueDef back;
    assert_int_equal(read_text(buf_cstr(&first), &arena, &back, &why), ERR_OK);
    show(&back, &second);
    assert_string_equal(buf_cstr(&first), buf_cstr(&second));
    buf_done(&first);
    buf_done(&second);
    arena_done(&arena);
}

static void a_patch_keeps_what_it_does_not_name(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Problem why = { 0 };
    QueueDef def;
    assert_int_equal(read_text("{\"slots\":2,\"rate\":\"3/s\",\"policy\":\"skip\"}",
                               &arena, &def, &why),
                     ERR_OK);
    NounIn in = noun_in(&queue_noun, "q", &def, &arena, &why);
    in.patch = true;
    assert_int_equal(noun_read(&in, json_of_text("{\"slots\":5,\"rate\":null}", &arena)),
                     ERR_OK);
    assert_int_equal(def.slots, 5);
    assert_int_equal(def.rate_jobs, 0);
    assert_int_equal(def.policy, POLICY_SKIP);
    arena_done(&arena);
}

static void a_nodes_slots_are_changed_one_by_one(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Problem why = { 0 };
    NodeSlots slots = { 0 };
    assert_int_equal(
        patch_slots("{\"slots\":3,\"queues\":{\"a\":1,\"b\":2}}", &arena, &slots, &why),
        ERR_OK);
    assert_int_equal(patch_slots("{\"queues\":{\"a\":null}}", &arena, &slots, &why),
                     ERR_OK);
    assert_true(slots.has_slots);
    assert_true(slice_equal(slots.queues, SLICE_LITERAL("b=2\0")));
    assert_int_equal(patch_slots("{\"slots\":null}", &arena, &slots, &why), ERR_OK);
    assert_false(slots.has_slots);
    assert_int_equal(patch_slots("{\"queues\":{\"b\":-1}}", &arena, &slots, &why),
                     ERR_INVALID);
    assert_int_equal(patch_slots("{\"threads\":1}", &arena, &slots, &why), ERR_INVALID);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_read_in_every_form),
        cmocka_unit_test(what_is_shown_can_be_sent_back),
        cmocka_unit_test(a_patch_keeps_what_it_does_not_name),
        cmocka_unit_test(a_nodes_slots_are_changed_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
