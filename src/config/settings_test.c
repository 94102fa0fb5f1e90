/* SPDX-License-Identifier: Apache-2.0 */
/* settings_test.c - 000's settings by name, as text and as JSON. */
#include "config/settings.h"

#include "base/times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* S0.14 to S0.18. */
static void settings_show_their_defaults_as_json(void **state)
{
    (void)state;
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    NodeSettings settings = node_settings_default();
    json_object(&json, NULL);
    settings_json(&json, &settings);
    json_object_end(&json);
    assert_string_equal(
        buf_cstr(&out),
        "{\"max_concurrent_jobs\":4,"
        "\"job_stale_interval\":\"PT30S\","
        "\"controller_stale_interval\":\"PT2M\","
        "\"error_handler_job\":null,"
        "\"on_error\":\"keep\","
        "\"enabled\":true,"
        "\"retry_delay\":\"PT5S\","
        "\"retry_delay_max\":\"PT5M\","
        "\"retry_window\":\"PT6H\","
        "\"keep_done\":\"PT336H\","
        "\"keep_other\":\"PT720H\",\"fairness\":\"lane\","
        "\"poll_interval\":\"PT1S\",\"chain_max\":1000,\"grace\":\"PT10S\"}");
    buf_done(&out);
}

typedef struct Row {
    const char *name;
    const char *value;
    const char *text; /* as stored; NULL: refused */
    const char *why;
} Row;

static const Row rows[] = {
    { "max_concurrent_jobs", "8", "8", NULL },
    { "max-concurrent-jobs", "4", "4", NULL }, /* 000 writes it so */
    { "enabled", "false", "off", NULL },
    { "enabled", "on", "on", NULL },
    { "job_stale_interval", "T30M", "PT30M", NULL }, /* S0.15 */
    { "controller-stale-interval", "T2M", "PT2M", NULL },
    { "error_handler_job", "on.error", "on.error", NULL },
    { "error_handler_job", "", "", NULL },
    { "on_error", "delete", "delete", NULL },
    { "retry_delay", "0.2s", "PT0.2S", NULL },
    { "retry_delay_max", "1h", "PT1H", NULL },
    { "retry_window", "1d", "PT24H", NULL },
    { "keep_done", "90", "PT1M30S", NULL },
    { "keep_other", "1w", "PT168H", NULL },
    { "fairness", "tenant", "tenant", NULL },
    { "fairness", "both", NULL, "fairness: \"both\" is not lane or tenant" },
    { "grace", "0", "PT0S", NULL },
    { "poll-interval", "200ms", "PT0.2S", NULL }, /* S3.50 */
    { "poll_interval", "10ms", NULL,
      "poll_interval: \"10ms\" is out of range: PT0.1S to PT10M" },
    { "max_concurrent_jobs", "-1", NULL,
      "max_concurrent_jobs: \"-1\" is out of range: 0 to 100000" },
    { "max_concurrent_jobs", "", NULL,
      "max_concurrent_jobs: \"\" is not a whole number" },
    { "enabled", "yes", NULL, "enabled: \"yes\" is not on or off" },
    { "job-stale-interval", "10ms", NULL,
      "job_stale_interval: \"10ms\" is out of range: PT1S to PT168H" },
    { "retry_delay", "P1Y", NULL,
      "retry_delay: \"P1Y\" is no duration: months and years have no fixed length (90s, "
      "1h30m, 200ms, PT20M)" },
    { "error_handler_job", "a b", NULL,
      "error_handler_job: \"a b\" is not the name of a type, or nothing" },
    { "enabeld", "on", NULL, "no such setting: \"enabeld\"; did you mean \"enabled\"?" },
    { "colour", "blue", NULL, "no such setting: \"colour\"" },
    { "", "blue", NULL, "no such setting: \"\"" },
};

static void texts_are_applied_or_refused_with_the_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Row *row = &rows[i];
        NodeSettings settings = node_settings_default();
        NodeSettings before;
        memcpy(&before, &settings, sizeof before); /* padding too */
        Error why = { 0 };
        Err err = settings_apply(&settings, slice_text(row->name), slice_text(row->value),
                                 &why);
        if (!row->text) {
            assert_int_not_equal(err, ERR_OK);
            assert_string_equal(why.text, row->why);
            assert_memory_equal(&before, &settings, sizeof settings);
            continue;
        }
        Buf text = { 0 };
        assert_int_equal(err, ERR_OK);
        setting_text(setting_find(slice_text(row->name), NULL), &settings, &text);
        assert_string_equal(buf_cstr(&text), row->text);
        buf_done(&text);
    }
}

static void an_unknown_name_is_another_error_than_a_bad_value(void **state)
{
    (void)state;
    Error why = { 0 };
    NodeSettings settings = node_settings_default();
    assert_int_equal(
        settings_apply(&settings, SLICE_LITERAL("x"), SLICE_LITERAL("1"), &why),
        ERR_NOT_FOUND);
    assert_int_equal(
        settings_apply(&settings, SLICE_LITERAL("grace"), SLICE_LITERAL("x"), &why),
        ERR_INVALID);
}

/* Each name changes its own place and no other. */
static void every_setting_has_its_own_place(void **state)
{
    (void)state;
    static const char *const others[] = { "9",   "77s",    "77s", "t",   "delete",
                                          "off", "77s",    "77s", "77s", "77s",
                                          "77s", "tenant", "77s", "9",   "77s" };
    NodeSettings initial = node_settings_default();
    const Setting *setting;
    size_t count = 0;
    for (; (setting = setting_number(count)); count++) {
        Error why = { 0 };
        NodeSettings settings = initial;
        const Setting *other;
        if (settings_apply(&settings, slice_text(setting->name),
                           slice_text(others[count]), &why))
            fail_msg("%s", why.text);
        for (size_t i = 0; (other = setting_number(i)); i++)
            assert_int_equal(value_equal(setting_rule(other),
                                         setting_at(other, &settings),
                                         setting_at(other, &initial)),
                             i != count);
        assert_int_equal(setting_bit(slice_text(setting->name)), 1u << count);
    }
    assert_int_equal(count, 15);
    assert_int_equal(setting_bit(SLICE_LITERAL("x")), 0);
}

static Err apply_json(NodeSettings *settings, const char *text, Error *why)
{
    Arena arena = { 0 };
    const JsonIn *object;
    NodeSettings first = node_settings_default();
    assert_int_equal(json_in_load(slice_text(text), &arena, &object, NULL), ERR_OK);
    Err err = settings_apply_json(settings, json_in_first(object), &first, why);
    arena_done(&arena);
    return err;
}

static void json_values_have_their_own_types(void **state)
{
    (void)state;
    static const Row json_rows[] = {
        { "enabled", "{\"enabled\":false}", "off", NULL },
        { "max_concurrent_jobs", "{\"max_concurrent_jobs\":12}", "12", NULL },
        { "retry_delay", "{\"retry_delay\":\"PT0.2S\"}", "PT0.2S", NULL },
        { "retry_delay", "{\"retry_delay\":90}", "PT1M30S", NULL },
        { "retry_delay", "{\"retry_delay\":0.25}", "PT0.25S", NULL },
        { "error_handler_job", "{\"error_handler_job\":\"fix\"}", "fix", NULL },
        { "grace", "{\"grace\":null}", "PT10S", NULL },
        { "error_handler_job", "{\"error_handler_job\":null}", "", NULL },
        { NULL, "{\"enabled\":\"on\"}", NULL,
          "enabled: true or false is expected, not a string" },
        { NULL, "{\"max_concurrent_jobs\":\"8\"}", NULL,
          "max_concurrent_jobs: a whole number is expected, not a string" },
        { NULL, "{\"max_concurrent_jobs\":8.5}", NULL,
          "max_concurrent_jobs: a whole number is expected, not a number with a "
          "fraction" },
        { NULL, "{\"max_concurrent_jobs\":-1}", NULL,
          "max_concurrent_jobs: \"-1\" is out of range: 0 to 100000" },
        { NULL, "{\"retry_delay\":true}", NULL,
          "retry_delay: a duration such as 90s, 1h30m or PT20M is expected, not true or "
          "false" },
        { NULL, "{\"retry_delay\":-1}", NULL,
          "retry_delay: \"-1\" is no duration: it is negative (90s, 1h30m, 200ms, "
          "PT20M)" },
        { NULL, "{\"grace\":{}}", NULL,
          "grace: a duration such as 90s, 1h30m or PT20M is expected, not an object" },
        { NULL, "{\"grase\":1}", NULL,
          "no such setting: \"grase\"; did you mean \"grace\"?" },
    };
    for (size_t i = 0; i < sizeof json_rows / sizeof *json_rows; i++) {
        const Row *row = &json_rows[i];
        Error why = { 0 };
        Buf text = { 0 };
        NodeSettings settings = node_settings_default();
        settings.grace_ms = 1;
        memcpy(settings.error_handler, "other", 6);
        NodeSettings before;
        memcpy(&before, &settings, sizeof before); /* padding too */
        Err err = apply_json(&settings, row->value, &why);
        if (row->text) {
            assert_int_equal(err, ERR_OK);
            setting_text(setting_find(slice_text(row->name), NULL), &settings, &text);
            assert_string_equal(buf_cstr(&text), row->text);
        } else {
            assert_int_not_equal(err, ERR_OK);
            assert_string_equal(why.text, row->why);
            assert_memory_equal(&before, &settings, sizeof settings);
        }
        buf_done(&text);
    }
}

static void settings_must_make_sense_together(void **state)
{
    (void)state;
    Error why = { 0 };
    NodeSettings settings = node_settings_default();
    assert_int_equal(settings_check(&settings, &why), ERR_OK);
    settings.retry_delay_ms = settings.retry_delay_max_ms + 1;
    assert_int_equal(settings_check(&settings, &why), ERR_INVALID);
    assert_string_equal(why.text,
                        "retry_delay (PT5M0.001S) is longer than retry_delay_max (PT5M)");
}

/* The file gives the first values, the store has the last word. */
static void a_reload_leaves_what_the_api_has_set(void **state)
{
    (void)state;
    NodeSettings settings = node_settings_default();
    NodeSettings file = node_settings_default();
    Error why = { 0 };
    assert_int_equal(settings_apply(&settings, SLICE_LITERAL("max_concurrent_jobs"),
                                    SLICE_LITERAL("6"), &why),
                     ERR_OK);
    file.slots = 8;
    file.grace_ms = 1;
    settings_first(&settings, &file, setting_bit(SLICE_LITERAL("max-concurrent-jobs")));
    assert_int_equal(settings.slots, 6);
    assert_int_equal(settings.grace_ms, 1);
    settings_first(&settings, &file, 0);
    assert_int_equal(settings.slots, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_show_their_defaults_as_json),
        cmocka_unit_test(texts_are_applied_or_refused_with_the_reason),
        cmocka_unit_test(an_unknown_name_is_another_error_than_a_bad_value),
        cmocka_unit_test(every_setting_has_its_own_place),
        cmocka_unit_test(json_values_have_their_own_types),
        cmocka_unit_test(settings_must_make_sense_together),
        cmocka_unit_test(a_reload_leaves_what_the_api_has_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
