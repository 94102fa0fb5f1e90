/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_json_test.c - schedules read and written back, and what is refused. */
#include "model/schedule_json.h"

#include "noun/testing.h"

static Err read_text(const char *text, Arena *arena, Schedule *out, Problem *why)
{
    static const JobRules rules = { .tenant = { "acme", 4 },
                                    .wall_ms = 1790000000000,
                                    .payload_bytes_max = 1000 };
    NounIn in = noun_in(&schedule_noun, "nightly", out, arena, why);
    in.tenant = rules.tenant;
    in.patch = out->cron.bytes != 0;
    return schedule_read(&in, json_of_text(text, arena), &rules);
}

static void write_text(const Schedule *schedule, Buf *out)
{
    JsonOut json = { .out = out };
    ScheduleState state = { .planned_ms = 1790000000000, .fired = 3 };
    json_object(&json, NULL);
    noun_members(&json, &(NounView){ .noun = &schedule_noun,
                                     .object = schedule,
                                     .tenant = SLICE_LITERAL("acme"),
                                     .name = SLICE_LITERAL("nightly") });
    schedule_facts(&json, schedule, &state);
    json_object_end(&json);
}

static void what_was_set_is_shown_and_can_be_sent_back(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Schedule schedule = { 0 };
    Schedule again = { 0 };
    Problem why = { 0 };
    Buf first = { 0 };
    Buf second = { 0 };
    assert_int_equal(
        read_text("{\"cron\":\"30 2 * * 1-5\",\"tz\":\"Europe/Paris\",\"type\":\"etl\","
                  "\"payload\":\"all\",\"priority\":-3,\"missed\":\"once\","
                  "\"overlap\":\"queue\",\"tags\":[\"a\"],\"job_name\":\"night run\","
                  "\"max_run_time\":\"PT1H\"}",
                  &arena, &schedule, &why),
        ERR_OK);
    write_text(&schedule, &first);
    assert_non_null(strstr(buf_cstr(&first), "\"next_at\":\"2026-09-22T00:30:00.000Z\""));
    assert_non_null(strstr(buf_cstr(&first), "\"priority\":-3"));
    assert_non_null(strstr(buf_cstr(&first), "\"job_name\":\"night run\""));
    assert_int_equal(read_text(buf_cstr(&first), &arena, &again, &why), ERR_OK);
    write_text(&again, &second);
    assert_string_equal(buf_cstr(&first), buf_cstr(&second));
    buf_done(&first);
    buf_done(&second);
    arena_done(&arena);
}

static void a_patch_keeps_what_it_does_not_name(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Schedule schedule = { 0 };
    Problem why = { 0 };
    Job job;
    assert_int_equal(read_text("{\"cron\":\"@daily\",\"tz\":\"Europe/Paris\","
                               "\"command\":[\"a\",\"b\"],\"overlap\":\"skip\","
                               "\"payload_base64\":\"/w==\",\"tags\":[\"x\"],"
                               "\"max_retries\":4}",
                               &arena, &schedule, &why),
                     ERR_OK);
    const Schedule before = schedule;
    assert_int_equal(read_text("{\"cron\":\"@hourly\",\"tags\":null,\"queue\":\"q\"}",
                               &arena, &schedule, &why),
                     ERR_OK);
    assert_true(slice_is(schedule.cron, "@hourly"));
    assert_true(slice_is(schedule.tz, "Europe/Paris"));
    assert_true(slice_equal(schedule.zone, before.zone));
    assert_int_equal(schedule.overlap, OVERLAP_SKIP);
    assert_int_equal(job_unpack(schedule.job, &job), ERR_OK);
    assert_true(slice_equal(job.command, SLICE_LITERAL("a\0b\0")));
    assert_true(slice_equal(job.payload, SLICE_LITERAL("\xff")));
    assert_int_equal(job.tags.bytes, 0);
    assert_int_equal(job.max_retries, 4);
    assert_true(slice_is(job.queue, "q"));
    assert_int_equal(read_text("{\"payload\":\"text\"}", &arena, &schedule, &why),
                     ERR_OK);
    assert_int_equal(job_unpack(schedule.job, &job), ERR_OK);
    assert_true(slice_is(job.payload, "text"));
    arena_done(&arena);
}

static void times_are_shown_in_utc_and_by_the_clock(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Schedule schedule = { 0 };
    Problem why = { 0 };
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    assert_int_equal(read_text("{\"cron\":\"@every 2s\",\"command\":[\"true\"]}", &arena,
                               &schedule, &why),
                     ERR_OK);
    json_array(&json, NULL);
    schedule_preview(&json, &schedule, 1790000000000, 2);
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
        { "[]", "must be an object", "" },
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
        Schedule schedule = { 0 };
        Problem why = { 0 };
        assert_int_not_equal(read_text(table[i].text, &arena, &schedule, &why), ERR_OK);
        if (!strstr(why.detail, table[i].says))
            fail_msg("%s: %s", table[i].text, why.detail);
        assert_string_equal(why.pointer, table[i].pointer);
        arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_set_is_shown_and_can_be_sent_back),
        cmocka_unit_test(a_patch_keeps_what_it_does_not_name),
        cmocka_unit_test(times_are_shown_in_utc_and_by_the_clock),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
