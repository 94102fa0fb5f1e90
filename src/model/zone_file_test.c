/* SPDX-License-Identifier: Apache-2.0 */
/* zone_file_test.c - names that are zones, and names that are not. */
#include "model/zone_file.h"

#include "core/zone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void zones_of_the_system_are_read(void **state)
{
    (void)state;
    static const char *const names[] = { "Europe/Paris", "America/New_York", "Etc/GMT+5",
                                         "America/Argentina/Buenos_Aires" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Buf bytes = { 0 };
        Error why = { 0 };
        Zone zone = { 0 };
        if (zone_file_read(slice_text(names[i]), &bytes, &why))
            fail_msg("%s", why.text);
        assert_int_equal(zone_parse(buf_slice(&bytes), &zone, &why), ERR_OK);
        zone_done(&zone);
        buf_done(&bytes);
    }
    Buf none = { 0 };
    assert_int_equal(zone_file_read(SLICE_LITERAL("UTC"), &none, NULL), ERR_OK);
    assert_int_equal(none.bytes, 0);
}

static void other_names_are_refused_with_a_hint(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "Europe/Pariss",
        "../../etc/passwd",
        "/etc/localtime",
        "Europe",
        "a//b",
        "Europe/",
        "Europe/../UTC",
        ".",
        "5",
        "tab\t",
        "zone1970.tab",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Buf bytes = { 0 };
        Error why = { 0 };
        assert_int_not_equal(zone_file_read(slice_text(names[i]), &bytes, &why), ERR_OK);
        assert_non_null(strstr(why.text, "zone"));
        assert_int_equal(bytes.bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zones_of_the_system_are_read),
        cmocka_unit_test(other_names_are_refused_with_a_hint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
