/* SPDX-License-Identifier: Apache-2.0 */
/* alert_rule_test.c - the language of conditions, targets, and what is refused. */
#include "noun/alert_rule.h"

#include "base/times.h"

#include "noun/testing.h"

static void every_condition_is_understood(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        AlertKind kind;
        const char *name;
        int64_t limit;
        int64_t window_ms;
    } table[] = {
        { "oldest(default) > 5m", ALERT_OLDEST, "default", 5 * MS_PER_MIN, 0 },
        { " oldest( a/b )>PT1H ", ALERT_OLDEST, "a/b", MS_PER_HOUR, 0 },
        { "failures(mail.send) > 10 in 10m", ALERT_FAILURES, "mail.send", 10,
          10 * MS_PER_MIN },
        { "failures(*) > 0 in 1h", ALERT_FAILURES, "*", 0, MS_PER_HOUR },
        { "disk free < 1G", ALERT_DISK, "", 1 << 30, 0 },
        { "disk free < 500M", ALERT_DISK, "", 500 << 20, 0 },
        { "disk free < 4096", ALERT_DISK, "", 4096, 0 },
        { "schedule missed", ALERT_SCHEDULE, "", 0, 0 },
        { "controller stale", ALERT_CONTROLLER, "", 0, 0 },
        { "node lost", ALERT_NODE, "", 0, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        AlertWhen when;
        Error why = { 0 };
        if (alert_when_parse(slice_text(table[i].text), &when, &why))
            fail_msg("%s: %s", table[i].text, why.text);
        assert_int_equal(when.kind, table[i].kind);
        assert_true(slice_is(when.name, table[i].name));
        assert_true(when.limit == table[i].limit);
        assert_true(when.window_ms == table[i].window_ms);
    }
    static const char *const bad[] = {
        "",
        "oldest() > 5m",
        "oldest(a) < 5m",
        "oldest(*) > 5m",
        "oldest(a)",
        "oldest(a) > x",
        "failures(a) > 10",
        "failures(a) > x in 1m",
        "disk",
        "disk free < 10Q",
        "failures(a) > 1 in 10s",
        "failures(a) > 1 in 7h",
        "node gone",
        "disk free < 0",
        "failures(a) > -1 in 10m",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        AlertWhen when;
        Error why = { 0 };
        if (!alert_when_parse(slice_text(bad[i]), &when, &why))
            fail_msg("%s is understood", bad[i]);
        assert_true(why.text[0] != '\0');
    }
}

static Err read_text(const char *text, Arena *arena, AlertRule *out, Problem *why)
{
    NounIn in = noun_in(&alert_rule_noun, "r", out, arena, why);
    return noun_read(&in, json_of_text(text, arena));
}

static void rules_are_read_and_written_back(void **state)
{
    (void)state;
    Arena arena = { 0 };
    AlertRule rule;
    AlertRule back;
    Problem why = { 0 };
    Buf packed = { 0 };
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    assert_int_equal(read_text("{\"when\":\"node lost\",\"to\":[\"log\","
                               "\"webhook:http://h/\",\"command:mail me\"]}",
                               &arena, &rule, &why),
                     ERR_OK);
    alert_rule_pack(&packed, &rule);
    assert_int_equal(alert_rule_unpack(buf_slice(&packed), &back), ERR_OK);
    json_object(&json, NULL);
    noun_members(&json, &(NounView){ .noun = &alert_rule_noun,
                                     .object = &back,
                                     .name = SLICE_LITERAL("r") });
    json_object_end(&json);
    assert_string_equal(buf_cstr(&out),
                        "{\"name\":\"r\",\"when\":\"node lost\",\"to\":[\"log\","
                        "\"webhook:http://h/\",\"command:mail me\"]}");
    assert_int_equal(read_text(buf_cstr(&out), &arena, &rule, &why), ERR_OK);
    assert_int_equal(read_text("{\"when\":\"node lost\"}", &arena, &rule, &why), ERR_OK);
    assert_true(slice_equal(rule.to, SLICE_LITERAL("log\0")));
    buf_done(&packed);
    buf_done(&out);
    int64_t since_ms;
    Slice detail;
    alert_state_pack(&packed, 77, SLICE_LITERAL("old"));
    assert_int_equal(alert_state_unpack(buf_slice(&packed), &since_ms, &detail), ERR_OK);
    assert_int_equal(since_ms, 77);
    assert_true(slice_is(detail, "old"));
    buf_done(&packed);
    arena_done(&arena);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "[]",
        "{}",
        "{\"when\":5}",
        "{\"when\":\"never\"}",
        "{\"when\":\"node lost\",\"to\":\"mail:me\"}",
        "{\"when\":\"node lost\",\"to\":5}",
        "{\"when\":\"node lost\",\"to\":\"webhook:ftp://x\"}",
        "{\"when\":\"node lost\",\"name\":\"other\"}",
        "{\"when\":\"node lost\",\"wen\":1}",
        ("{\"when\":\"node lost\",\"to\":[\"log\",\"log\",\"log\",\"log\",\"log\","
         "\"log\",\"log\",\"log\",\"log\"]}"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Arena arena = { 0 };
        AlertRule rule;
        Problem why = { 0 };
        if (!read_text(bad[i], &arena, &rule, &why))
            fail_msg("%s is understood", bad[i]);
        arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_condition_is_understood),
        cmocka_unit_test(rules_are_read_and_written_back),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
