/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_json_test.c - schedules read and written back, and what is refused. */
#include "model/schedule_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static Err read_text(const char *text, Arena *arena, ScheduleReader *out)
{
    static const JobRules rules = { .tenant = { "acme", 4 },
                                    .wall_ms = 1790000000000,
                                    .payload_bytes_max = 1000 };
    const JsonIn *object;
    assert_int_equal(json_in_load(slice_text(text), arena, &object, NULL), ERR_OK);
    *out = (ScheduleReader){ .name = SLICE_LITERAL("nightly"),
                             .job = { .rules = &rules, .arena = arena } };
    return schedule_read(out, object);
}

static void write_text(const Schedule *schedule, Buf *out)
{
    JsonOut json = { .out = out };
    ScheduleView view = { .tenant = SLICE_LITERAL("acme"),
                          .name = SLICE_LITERAL("nightly"),
                          .schedule = *schedule,
                          .state = { .planned_ms = 1790000000000, .fired = 3 } };
    schedule_json(&json, &view);
}

static void what_was_set_is_shown_and_can_be_sent_back(void **state)
{
    (void)state;
    Arena arena = { 0 };
    ScheduleReader reader;
    ScheduleReader again;
    Buf first = { 0 };
    Buf second = { 0 };
    assert_int_equal(
        read_text("{\"cron\":\"30 2 * * 1-5\",\"tz\":\"Europe/Paris\",\"type\":\"etl\","
                  "\"payload\":\"all\",\"priority\":-3,\"missed\":\"once\","
                  "\"overlap\":\"queue\",\"tags\":[\"a\"],\"job_name\":\"night run\","
                  "\"max_run_time\":\"PT1H\"}",
                  &arena, &reader),
        ERR_OK);
    write_text(&reader.schedule, &first);
    assert_non_null(strstr(buf_cstr(&first), "\"next_at\":\"2026-09-22T00:30:00.000Z\""));
    assert_non_null(strstr(buf_cstr(&first), "\"priority\":-3"));
    assert_non_null(strstr(buf_cstr(&first), "\"job_name\":\"night run\""));
    assert_int_equal(read_text(buf_cstr(&first), &arena, &again), ERR_OK);
    write_text(&again.schedule, &second);
    assert_string_equal(buf_cstr(&first), buf_cstr(&second));
    buf_done(&first);
    buf_done(&second);
    arena_done(&arena);
}

static void times_are_shown_in_utc_and_by_the_clock(void **state)
{
    (void)state;
    Arena arena = { 0 };
    ScheduleReader reader;
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    assert_int_equal(
        read_text("{\"cron\":\"@every 2s\",\"command\":[\"true\"]}", &arena, &reader),
        ERR_OK);
    json_array(&json, NULL);
    schedule_preview(&json, &reader.schedule, 1790000000000, 2);
    json_array_end(&json);
    assert_string_equal(buf_cstr(&out), "[{\"at\":\"2026-09-21T14:13:22.000Z\","
                                        "\"local\":\"2026-09-21T14:13:22.000+00:00\"},"
                                        "{\"at\":\"2026-09-21T14:13:24.000Z\","
                                        "\"local\":\"2026-09-21T14:13:24.000+00:00\"}]");
    buf_done(&out);
    arena_done(&arena);
}

static void what_makes_no_sense_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *says;
        const char *pointer;
    } table[] = {
        { "[]", "is an object", "" },
        { "{\"type\":\"etl\"}", "needs cron", "" },
        { "{\"cron\":\"@daily\"}", "type or a command", "/type" },
        { "{\"cron\":5}", "must be a string", "/cron" },
        { "{\"cron\":\"* * * *\",\"type\":\"etl\"}", "five fields", "/cron" },
        { "{\"cron\":\"@daily\",\"tz\":\"Mars\",\"type\":\"etl\"}", "no time zone",
          "/tz" },
        { "{\"cron\":\"@daily\",\"missed\":\"never\"}", "cannot be 'never'", "/missed" },
        { "{\"cron\":\"@daily\",\"overlap\":\"x\"}", "overlap cannot be", "/overlap" },
        { "{\"cron\":\"@daily\",\"paused\":1}", "true or false", "/paused" },
        { "{\"cron\":\"@daily\",\"run_at\":\"now\"}", "cannot have 'run_at'", "/run_at" },
        { "{\"cron\":\"@daily\",\"crom\":1}", "no field 'crom'", "/crom" },
        { "{\"cron\":\"@daily\",\"name\":\"other\"}", "not the one that", "/name" },
        { "{\"cron\":\"@daily\",\"priority\":\"x\"}", "priority", "/priority" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Arena arena = { 0 };
        ScheduleReader reader;
        assert_int_not_equal(read_text(table[i].text, &arena, &reader), ERR_OK);
        if (!strstr(reader.job.why.detail, table[i].says))
            fail_msg("%s: %s", table[i].text, reader.job.why.detail);
        assert_string_equal(reader.job.why.pointer, table[i].pointer);
        arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_set_is_shown_and_can_be_sent_back),
        cmocka_unit_test(times_are_shown_in_utc_and_by_the_clock),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
