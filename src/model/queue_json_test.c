/* SPDX-License-Identifier: Apache-2.0 */
/* queue_json_test.c - what may be written about queues, what is refused, and the words in
 * which a waiting job is explained. */
#include "model/queue_json.h"

#include "api/jobs/explain_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const JsonIn *parse(const char *text, Arena *arena)
{
    const JsonIn *value = NULL;
    assert_int_equal(json_in_load(slice_text(text), arena, &value, NULL), ERR_OK);
    return value;
}

static Err read_text(const char *text, Arena *arena, QueueDef *def, Problem *why)
{
    *def = (QueueDef){ .tenant = SLICE_LITERAL("t"), .name = SLICE_LITERAL("q") };
    return queue_read(parse(text, arena), arena, def, why);
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
    JsonOut json = { .out = &first };
    json_object(&json, NULL);
    queue_members(&json, &def, 0);
    json_object_end(&json);
    QueueDef back;
    assert_int_equal(read_text(buf_cstr(&first), &arena, &back, &why), ERR_OK);
    json = (JsonOut){ .out = &second };
    json_object(&json, NULL);
    queue_members(&json, &back, 0);
    json_object_end(&json);
    assert_string_equal(buf_cstr(&first), buf_cstr(&second));
    buf_done(&first);
    buf_done(&second);
    arena_done(&arena);
}

static void a_nodes_slots_are_changed_one_by_one(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Problem why = { 0 };
    NodeSlots slots = { 0 };
    uint32_t number = 0;
    assert_int_equal(
        slots_read(parse("{\"slots\":3,\"queues\":{\"a\":1,\"b\":2}}", &arena), &arena,
                   &slots, &why),
        ERR_OK);
    assert_int_equal(
        slots_read(parse("{\"queues\":{\"a\":null}}", &arena), &arena, &slots, &why),
        ERR_OK);
    assert_true(slots.has_slots);
    assert_false(slots_of_queue(&slots, SLICE_LITERAL("a"), &number));
    assert_true(slots_of_queue(&slots, SLICE_LITERAL("b"), &number));
    assert_int_equal(slots_read(parse("{\"slots\":null}", &arena), &arena, &slots, &why),
                     ERR_OK);
    assert_false(slots.has_slots);
    assert_int_equal(
        slots_read(parse("{\"queues\":{\"b\":-1}}", &arena), &arena, &slots, &why),
        ERR_INVALID);
    assert_int_equal(slots_read(parse("{\"threads\":1}", &arena), &arena, &slots, &why),
                     ERR_INVALID);
    arena_done(&arena);
}

/* S0.2 and others see it in e2e; here: each kind has a word and a sentence. */
static void every_reason_has_words(void **state)
{
    (void)state;
    Job job = job_default();
    job.tenant = SLICE_LITERAL("acme");
    job.queue = SLICE_LITERAL("mail");
    job.type = SLICE_LITERAL("send");
    for (int kind = REASON_DRAINING; kind <= REASON_HIGHLANDER; kind++) {
        Buf text = { 0 };
        Buf help = { 0 };
        Reason reason = { .kind = (ReasonKind)kind,
                          .key = SLICE_LITERAL("gpu"),
                          .amount = 2,
                          .free = 1,
                          .total = 3,
                          .every_ms = 1000,
                          .until_ms = 6000,
                          .holder = 77 };
        assert_true(reason_word(reason.kind)[0] != '?');
        reason_text(&reason, &job, 1000, &text);
        reason_help(&reason, &job, &help);
        assert_true(text.bytes > 10);
        if (kind == REASON_QUEUE_PAUSED)
            assert_string_equal(buf_cstr(&help), "pawl queue resume mail --tenant acme");
        if (kind == REASON_RESOURCE_BUSY)
            assert_non_null(strstr(buf_cstr(&text), "needs 2 of resource gpu"));
        buf_done(&text);
        buf_done(&help);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_read_in_every_form),
        cmocka_unit_test(what_is_shown_can_be_sent_back),
        cmocka_unit_test(a_nodes_slots_are_changed_one_by_one),
        cmocka_unit_test(every_reason_has_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
