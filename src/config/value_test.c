/* SPDX-License-Identifier: Apache-2.0 */
/* value_test.c - every kind of value: what is read, what is refused, and that
 * what is printed is read back equal. */
#include "config/value.h"

#include "base/log.h"
#include "base/text.h"
#include "base/times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef union Room { /* a place for any kind */
    bool truth;
    uint32_t count;
    int64_t duration_ms;
    uint64_t bytes;
    Address address;
    const char *text;
    LogLevel level;
    Ack ack;
    char type[NAME_BYTES_MAX + 1];
} Room;

static const ValueRule count_rule = { VALUE_COUNT, 1, 100 };
static const ValueRule duration_rule = { VALUE_DURATION, MS_PER_S, MS_PER_DAY };
static const ValueRule size_rule = { VALUE_SIZE, 1024, 1LL << 40 };
static const ValueRule bool_rule = { .kind = VALUE_BOOL };
static const ValueRule address_rule = { .kind = VALUE_ADDRESS };
static const ValueRule path_rule = { .kind = VALUE_PATH };
static const ValueRule store_rule = { .kind = VALUE_STORE };
static const ValueRule level_rule = { .kind = VALUE_LEVEL };
static const ValueRule ack_rule = { .kind = VALUE_ACK };
static const ValueRule type_rule = { .kind = VALUE_TYPE };

typedef struct Good {
    const ValueRule *rule;
    const char *text;
    const char *printed;
} Good;

static const Good good[] = {
    { &bool_rule, "on", "on" },
    { &bool_rule, "true", "on" },
    { &bool_rule, "off", "off" },
    { &bool_rule, "false", "off" },
    { &count_rule, "1", "1" },
    { &count_rule, "100", "100" },
    { &count_rule, "08", "8" },
    { &duration_rule, "90s", "PT1M30S" },
    { &duration_rule, "PT20M", "PT20M" },
    { &duration_rule, "T30M", "PT30M" },
    { &duration_rule, "1.5s", "PT1.5S" },
    { &duration_rule, "60", "PT1M" },
    { &duration_rule, "1d", "PT24H" },
    { &size_rule, "64M", "64M" },
    { &size_rule, "64m", "64M" },
    { &size_rule, "8MiB", "8M" },
    { &size_rule, "1024", "1K" },
    { &size_rule, "1025", "1025" },
    { &size_rule, "2048K", "2M" },
    { &size_rule, "1T", "1T" },
    { &address_rule, "127.0.0.1:7420", "127.0.0.1:7420" },
    { &address_rule, "127.8.0.1:0", "127.8.0.1:0" },
    { &address_rule, "localhost:80", "127.0.0.1:80" },
    { &address_rule, "[::1]:65535", "[::1]:65535" },
    { &address_rule, "off", "off" },
    { &address_rule, "false", "off" },
    { &path_rule, "/var/lib/pawl", "/var/lib/pawl" },
    { &path_rule, "data", "data" },
    { &store_rule, "sqlite:", "sqlite:" },
    { &store_rule, "postgresql://a,b/pawl", "postgresql://a,b/pawl" },
    { &store_rule, "sqlite:/a b/c.db", "sqlite:/a b/c.db" },
    { &level_rule, "debug", "debug" },
    { &level_rule, "error", "error" },
    { &ack_rule, "journal", "journal" },
    { &ack_rule, "store", "store" },
    { &type_rule, "mail.failed", "mail.failed" },
    { &type_rule, "", "" },
};

static void what_is_printed_is_read_back_equal(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const Good *row = &good[i];
        Arena arena = { 0 };
        Buf text = { 0 };
        Error why = { 0 };
        Room value = { 0 };
        Room again = { 0 };
        if (value_parse(row->rule, slice_text(row->text), &arena, &value, &why))
            fail_msg("\"%s\": %s", row->text, why.text);
        value_text(row->rule, &value, &text);
        assert_string_equal(buf_cstr(&text), row->printed);
        assert_int_equal(value_parse(row->rule, buf_slice(&text), &arena, &again, &why),
                         ERR_OK);
        assert_true(value_equal(row->rule, &value, &again));
        Room copy = { 0 };
        value_copy(row->rule, &value, &arena, &copy);
        assert_true(value_equal(row->rule, &value, &copy));
        buf_done(&text);
        arena_done(&arena);
    }
}

typedef struct Bad {
    const ValueRule *rule;
    const char *text;
    const char *why;
} Bad;

#define NO_SIZE    " is not a size such as 64M, 8MiB or a number of bytes"
#define NO_ADDRESS " is not an address such as 127.0.0.1:7420, or off"

static const Bad bad[] = {
    { &bool_rule, "yes", "\"yes\" is not on or off" },
    { &bool_rule, "", "\"\" is not on or off" },
    { &bool_rule, "On", "\"On\" is not on or off" },
    { &count_rule, "four", "\"four\" is not a whole number" },
    { &count_rule, "4.5", "\"4.5\" is not a whole number" },
    { &count_rule, "0", "\"0\" is out of range: 1 to 100" },
    { &count_rule, "-1", "\"-1\" is out of range: 1 to 100" },
    { &count_rule, "101", "\"101\" is out of range: 1 to 100" },
    { &count_rule, "99999999999999999999",
      "\"99999999999999999999\" is not a whole number" },
    { &duration_rule, "soon",
      "\"soon\" is no duration: a number is missing (90s, 1h30m, 200ms, PT20M)" },
    { &duration_rule, "P1M",
      "\"P1M\" is no duration: months and years have no fixed length (90s, 1h30m, "
      "200ms, PT20M)" },
    { &duration_rule, "200ms", "\"200ms\" is out of range: PT1S to PT24H" },
    { &duration_rule, "25h", "\"25h\" is out of range: PT1S to PT24H" },
    { &size_rule, "64MB", "\"64MB\"" NO_SIZE },
    { &size_rule, "M", "\"M\"" NO_SIZE },
    { &size_rule, "-1", "\"-1\"" NO_SIZE },
    { &size_rule, "1.5G", "\"1.5G\"" NO_SIZE },
    { &size_rule, "8XiB", "\"8XiB\"" NO_SIZE },
    { &size_rule, "1023", "\"1023\" is out of range: 1K to 1T" },
    { &size_rule, "9223372036854775807T",
      "\"9223372036854775807T\" is out of range: 1K to 1T" },
    { &address_rule, "127.0.0.1", "\"127.0.0.1\"" NO_ADDRESS },
    { &address_rule, "127.0.0.1:", "\"127.0.0.1:\"" NO_ADDRESS },
    { &address_rule, "127.0.0.1:65536", "\"127.0.0.1:65536\"" NO_ADDRESS },
    { &address_rule, "127.0.0.1:-1", "\"127.0.0.1:-1\"" NO_ADDRESS },
    { &address_rule, ":7420", "\":7420\"" NO_ADDRESS },
    { &address_rule, "::1:7420", "\"::1:7420\"" NO_ADDRESS },
    { &address_rule, "[127.0.0.1]:7420", "\"[127.0.0.1]:7420\"" NO_ADDRESS },
    { &address_rule, "[]:7420", "\"[]:7420\"" NO_ADDRESS },
    { &address_rule, "example.org:7420", "\"example.org:7420\"" NO_ADDRESS },
    { &address_rule, "", "\"\"" NO_ADDRESS },
    { &path_rule, "", "\"\" is not a path" },
    { &path_rule, "~/pawl",
      "\"~\" is not expanded: write the path of the home directory" },
    { &store_rule, "sqlite", "\"sqlite\" is not the address of a store such as sqlite:" },
    { &store_rule, "mysql://me:secret@db/pawl",
      "a store \"mysql:\" is not supported: only sqlite: and postgresql:" },
    { &level_rule, "loud", "\"loud\" is not debug, info, warn or error" },
    { &ack_rule, "none", "\"none\" is not journal or store" },
    { &type_rule, "no good", "\"no good\" is not the name of a type, or nothing" },
};

static void what_is_refused_is_named_and_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Arena arena = { 0 };
        Error why = { 0 };
        Room value;
        Room before;
        memset(&value, 0x5a, sizeof value);
        memcpy(&before, &value, sizeof value);
        if (!value_parse(bad[i].rule, slice_text(bad[i].text), &arena, &value, &why))
            fail_msg("\"%s\" was accepted", bad[i].text);
        assert_string_equal(why.text, bad[i].why);
        assert_memory_equal(&before, &value, sizeof value);
        arena_done(&arena);
    }
}

static void bytes_that_are_no_text_are_refused(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Error why = { 0 };
    Room value = { 0 };
    const ValueRule *rules[] = { &path_rule, &store_rule, &address_rule, &type_rule };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        assert_int_equal(
            value_parse(rules[i], SLICE_LITERAL("sqlite:\0:80"), &arena, &value, &why),
            ERR_INVALID);
    assert_string_equal(why.text, "\"sqlite:\\x00:80\" is not the name of a type, or "
                                  "nothing");
    arena_done(&arena);
}

static void different_values_are_not_equal(void **state)
{
    (void)state;
    Room a = { .duration_ms = 1000 };
    Room b = { .duration_ms = 1001 };
    assert_false(value_equal(&duration_rule, &a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_is_read_back_equal),
        cmocka_unit_test(what_is_refused_is_named_and_changes_nothing),
        cmocka_unit_test(bytes_that_are_no_text_are_refused),
        cmocka_unit_test(different_values_are_not_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
