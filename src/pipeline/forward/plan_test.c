/* SPDX-License-Identifier: Apache-2.0 */
/* plan_test.c - plans of processors and brokers, read and written. */
#include "pipeline/forward/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static Arena arena;

static Err read_plan(const char *text, Plan *plan, PlanFault *fault)
{
    const JsonIn *object;
    *fault = (PlanFault){ 0 };
    assert_int_equal(json_in_load(slice_text(text), &arena, &object, NULL), ERR_OK);
    return plan_read(object, SLICE_LITERAL("ocr"), &arena, plan, fault);
}

static void a_plan_written_reads_as_the_same_plan(void **state)
{
    (void)state;
    Plan plan;
    Plan again;
    PlanFault fault;
    Buf first = { 0 };
    Buf second = { 0 };
    assert_int_equal(
        read_plan("{\"command\":[\"./ocr.sh\",\"-x\"],\"slots\":2,"
                  "\"max_retries\":3,\"retry_delay\":\"PT2S\",\"env\":[\"A=1\"],"
                  "\"forward\":[{\"to\":[\"thumbs\",\"ssh:host2:ocr2\","
                  "\"rsync://host3/ocr3\"],\"mode\":\"hash\"}]}",
                  &plan, &fault),
        ERR_OK);
    assert_int_equal(plan.slots, 2);
    assert_int_equal(plan.forwards[0].count, 3);
    assert_int_equal(plan.forwards[0].places[0].kind, PLACE_LOCAL);
    assert_int_equal(plan.forwards[0].places[1].kind, PLACE_SSH);
    assert_true(slice_is(plan.forwards[0].places[1].host, "host2"));
    assert_int_equal(plan.forwards[0].places[2].kind, PLACE_RSYNC);
    JsonOut json = { .out = &first };
    json_object(&json, NULL);
    plan_members(&json, &plan);
    json_object_end(&json);
    assert_int_equal(read_plan(buf_cstr(&first), &again, &fault), ERR_OK);
    json = (JsonOut){ .out = &second };
    json_object(&json, NULL);
    plan_members(&json, &again);
    json_object_end(&json);
    assert_string_equal(buf_cstr(&first), buf_cstr(&second));
    buf_done(&first);
    buf_done(&second);
}

static void a_command_in_one_text_is_for_the_shell(void **state)
{
    (void)state;
    Plan plan;
    PlanFault fault;
    assert_int_equal(read_plan("{\"command\":\"wc -c\"}", &plan, &fault), ERR_OK);
    assert_int_equal(plan.command.bytes, sizeof "/bin/sh\0-c\0wc -c");
    assert_memory_equal(plan.command.data, "/bin/sh\0-c\0wc -c", plan.command.bytes);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *code;
        const char *word;
    } rows[] = {
        { "{}", "missing_field", "command" },
        { "{\"command\":\"x\",\"slot\":1}", "unknown_field", "slots" },
        { "{\"command\":\"x\",\"slots\":0}", "invalid_value", "slots" },
        { "{\"command\":\"x\",\"slots\":\"2\"}", "wrong_type", "slots" },
        { "{\"command\":\"x\",\"type\":\"y\"}", "conflicting_fields", "both" },
        { "{\"command\":[]}", "invalid_value", "command" },
        { "{\"command\":\"x\",\"dir\":\"rel\"}", "invalid_value", "absolute" },
        { "{\"command\":\"x\",\"forward\":[{}]}", "missing_field", "to" },
        { "{\"command\":\"x\",\"forward\":[{\"to\":[\"ocr\"]}]}", "invalid_value",
          "itself" },
        { "{\"command\":\"x\",\"forward\":[{\"to\":[\"a\",\"a\"]}]}", "invalid_value",
          "twice" },
        { "{\"command\":\"x\",\"forward\":[{\"to\":[\"ssh:-oProxy=x:n\"]}]}",
          "invalid_value", "ssh:HOST" },
        { "{\"command\":\"x\",\"forward\":[{\"to\":[\"rsync://\"]}]}", "invalid_value",
          "rsync://" },
        { "{\"command\":\"x\",\"forward\":[{\"to\":[\"b\"],\"mode\":\"some\"}]}",
          "invalid_value", "round-robin" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Plan plan;
        PlanFault fault;
        assert_int_not_equal(read_plan(rows[i].text, &plan, &fault), ERR_OK);
        assert_string_equal(fault.code, rows[i].code);
        assert_non_null(strstr(fault.why.text, rows[i].word));
    }
}

/* S4.86 */
static void a_broker_has_a_source_and_processors(void **state)
{
    (void)state;
    Plan plan;
    PlanFault fault = { 0 };
    const JsonIn *object;
    Slice text = SLICE_LITERAL(
        "{\"from\":\"/in\",\"to\":[\"a\",\"b\"],\"mode\":\"least-loaded\"}");
    assert_int_equal(json_in_load(text, &arena, &object, NULL), ERR_OK);
    assert_int_equal(
        plan_read_broker(object, SLICE_LITERAL("split"), &arena, &plan, &fault), ERR_OK);
    assert_int_equal(plan.forwards[0].count, 2);
    assert_int_equal(plan.forwards[0].mode, FORWARD_LEAST_LOADED);
    assert_int_equal(
        json_in_load(SLICE_LITERAL("{\"to\":[\"a\"]}"), &arena, &object, NULL), ERR_OK);
    assert_int_not_equal(
        plan_read_broker(object, SLICE_LITERAL("split"), &arena, &plan, &fault), ERR_OK);
    assert_string_equal(fault.code, "missing_field");
}

static int done(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_written_reads_as_the_same_plan),
        cmocka_unit_test(a_command_in_one_text_is_for_the_shell),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(a_broker_has_a_source_and_processors),
    };
    return cmocka_run_group_tests(tests, NULL, done);
}
