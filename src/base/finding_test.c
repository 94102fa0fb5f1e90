/* SPDX-License-Identifier: Apache-2.0 */
/* finding_test.c - what is told arrives as it was said. */
#include "base/finding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void write_down(void *context, const Finding *finding, const char *text)
{
    snprintf(context, 200, "%s %s: %s (%s; %s)", health_name(finding->health),
             finding->check, text, finding->why ? finding->why : "-",
             finding->fix ? finding->fix : "-");
}

static void what_is_told_is_heard(void **state)
{
    (void)state;
    char heard[200];
    Findings to = { write_down, heard };
    finding_tell(&to, finding_good("disk"), "%d MiB are free", 7);
    assert_string_equal(heard, "ok disk: 7 MiB are free (-; -)");
    Finding bad = { HEALTH_BAD, "sync", "jobs get lost", "fsync=on" };
    finding_tell(&to, bad, "fsync is %s", "off");
    assert_string_equal(heard, "bad sync: fsync is off (jobs get lost; fsync=on)");
    assert_string_equal(health_name(HEALTH_WARNING), "warning");
}

static void a_long_sentence_is_cut(void **state)
{
    (void)state;
    char heard[200] = "";
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    finding_tell(&(Findings){ write_down, heard }, finding_good("long"), "%s", text);
    assert_int_equal(strncmp(heard, "ok long: xxx", 12), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_is_heard),
        cmocka_unit_test(a_long_sentence_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
