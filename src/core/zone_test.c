/* SPDX-License-Identifier: Apache-2.0 */
/* zone_test.c - offsets by table and by rule, gaps and folds, and bytes that are no zone.
 *
 * Whole years of real zones are compared with another implementation by
 * tests/e2e/test_schedules.py; here are zones small enough to be seen through. */
#include "core/zone.h"

#include "base/buf.h"
#include "base/times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void put_u32(Buf *out, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_add_char(out, (char)(value >> shift));
}

static void put_header(Buf *out, char version, uint32_t times)
{
    buf_add_text(out, "TZif");
    buf_add_char(out, version);
    for (int i = 0; i < 15; i++)
        buf_add_char(out, 0);
    uint32_t counts[] = { 0, 0, 0, times, 2, 4 };
    for (size_t i = 0; i < 6; i++)
        put_u32(out, counts[i]);
}

/* One hour east, two from the second change on every other one. */
static void put_block(Buf *out, const int64_t *times, uint32_t count, bool wide)
{
    for (uint32_t i = 0; i < count; i++) {
        if (wide)
            put_u32(out, (uint32_t)((uint64_t)times[i] >> 32));
        put_u32(out, (uint32_t)times[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        buf_add_char(out, (char)((i + 1) % 2));
    for (uint32_t type = 0; type < 2; type++) {
        put_u32(out, 3600 + 3600 * type);
        buf_add_char(out, (char)type);
        buf_add_char(out, 0);
    }
    buf_add(out, "AAA", 4);
}

static Buf zone_file(const int64_t *times, uint32_t count, const char *rule)
{
    Buf out = { 0 };
    put_header(&out, rule ? '2' : 0, rule ? 0 : count);
    put_block(&out, times, rule ? 0 : count, false);
    if (rule) {
        put_header(&out, '2', count);
        put_block(&out, times, count, true);
        buf_printf(&out, "\n%s\n", rule);
    }
    return out;
}

static Zone zone_of(const int64_t *times, uint32_t count, const char *rule)
{
    Buf file = zone_file(times, count, rule);
    Zone zone = { 0 };
    assert_int_equal(zone_parse(buf_slice(&file), &zone, NULL), ERR_OK);
    buf_done(&file);
    return zone;
}

static int64_t utc(const char *text)
{
    int64_t ms = 0;
    assert_int_equal(time_parse(slice_text(text), &ms), ERR_OK);
    return ms / 1000;
}

static void the_table_says_the_past_in_both_forms(void **state)
{
    (void)state;
    static const int64_t times[] = { 1000000, 2000000, 3000000 };
    for (int form = 0; form < 2; form++) {
        Zone zone = zone_of(times, 3, form ? "" : NULL);
        assert_int_equal(zone_span(&zone, 0).offset_s, 3600);
        assert_int_equal(zone_span(&zone, 999999).until_s, 1000000);
        assert_int_equal(zone_span(&zone, 1000000).offset_s, 7200);
        assert_int_equal(zone_span(&zone, 2500000).offset_s, 3600);
        assert_int_equal(zone_span(&zone, 9000000).offset_s, 7200);
        assert_true(zone_span(&zone, 9000000).until_s == INT64_MAX);
        zone_done(&zone);
    }
}

static void a_skipped_time_is_the_change_and_a_doubled_one_the_first(void **state)
{
    (void)state;
    static const int64_t times[] = { 1000000, 2000000 };
    Zone zone = zone_of(times, 2, "");
    int32_t gap = 7;
    assert_int_equal(zone_to_utc(&zone, 1000000 + 3599, &gap), 999999);
    assert_int_equal(gap, 0);
    assert_int_equal(zone_to_utc(&zone, 1000000 + 3600, &gap), 1000000); /* skipped */
    assert_int_equal(gap, 3600);
    assert_int_equal(zone_to_utc(&zone, 1000000 + 7199, &gap), 1000000);
    assert_int_equal(zone_to_utc(&zone, 1000000 + 7200, &gap), 1000000);
    assert_int_equal(gap, 0);
    assert_int_equal(zone_to_utc(&zone, 2000000 + 3600, &gap),
                     2000000 - 3600); /* twice */
    assert_int_equal(zone_to_utc(&zone, 2000000 + 7200, &gap), 2000000 + 3600);
    zone_done(&zone);
}

static void the_rule_says_the_future(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        const char *before; /* last second before it changes */
        int32_t from;
        int32_t to;
    } table[] = {
        { "CET-1CEST,M3.5.0,M10.5.0/3", "2050-03-27T00:59:59Z", 3600, 7200 },
        { "CET-1CEST,M3.5.0,M10.5.0/3", "2050-10-30T00:59:59Z", 7200, 3600 },
        { "EST5EDT,M3.2.0,M11.1.0", "2050-03-13T06:59:59Z", -18000, -14400 },
        { "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2050-10-01T15:29:59Z", 37800, 39600 },
        { "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2050-04-02T14:59:59Z", 39600, 37800 },
        { "AAA0BBB,J60/0,300/0", "2052-02-29T23:59:59Z", 0, 3600 }, /* a leap year */
        { "AAA0BBB,J60/0,300/0", "2052-10-26T22:59:59Z", 3600, 0 },
        { "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2050-03-27T00:59:59Z", -7200, -3600 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Zone zone = zone_of(NULL, 0, table[i].rule);
        int64_t at = utc(table[i].before);
        assert_int_equal(zone_span(&zone, at).offset_s, table[i].from);
        assert_int_equal(zone_span(&zone, at + 1).offset_s, table[i].to);
        assert_true(zone_span(&zone, at).until_s == at + 1);
        assert_true(zone_span(&zone, at + 1).from_s == at + 1);
        Zone copy = zone_copy(&zone);
        zone_done(&zone);
        assert_int_equal(zone_span(&copy, at).offset_s, table[i].from);
        zone_done(&copy);
    }
    Zone none = { 0 };
    assert_int_equal(zone_span(&none, 5).offset_s, 0);
}

static void damaged_bytes_are_refused(void **state)
{
    (void)state;
    static const int64_t times[] = { 1000000, 2000000 };
    Buf file = zone_file(times, 2, "CET-1CEST,M3.5.0,M10.5.0/3");
    for (size_t bytes = 0; bytes < file.bytes; bytes++) {
        Error why = { 0 };
        Zone zone = { 0 };
        /* Bytes of its own: reading behind them is seen. */
        char *cut = bytes ? mem_alloc(bytes) : NULL;
        if (bytes)
            memcpy(cut, file.data, bytes);
        assert_int_equal(zone_parse(slice_of(cut, bytes), &zone, &why), ERR_CORRUPT);
        assert_non_null(strstr(why.text, "TZif"));
        mem_free(cut);
    }
    buf_done(&file);
    static const char *const rules[] = { "CE-1",
                                         "CET",
                                         "CET-1CEST",
                                         "CET-1CEST,M13.1.0,M1.1.0",
                                         "CET-1CEST,M3.5.0,M10.6.0",
                                         "CET-99",
                                         "CET-1CEST,M3.5.0,M10.5.0/3x" };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        Zone zone = { 0 };
        file = zone_file(times, 2, rules[i]);
        assert_int_equal(zone_parse(buf_slice(&file), &zone, NULL), ERR_CORRUPT);
        buf_done(&file);
    }
    static const int64_t unsorted[] = { 2000000, 1000000 };
    Zone zone = { 0 };
    file = zone_file(unsorted, 2, "");
    assert_int_equal(zone_parse(buf_slice(&file), &zone, NULL), ERR_CORRUPT);
    buf_done(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_says_the_past_in_both_forms),
        cmocka_unit_test(a_skipped_time_is_the_change_and_a_doubled_one_the_first),
        cmocka_unit_test(the_rule_says_the_future),
        cmocka_unit_test(damaged_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
