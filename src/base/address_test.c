/* SPDX-License-Identifier: Apache-2.0 */
/* address_test.c - which addresses calls may go to. */
#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool allowed(const char *text, const char *ranges)
{
    struct sockaddr_storage storage = { 0 };
    struct sockaddr_in *v4 = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage;
    AddressRanges parsed = { 0 };
    Error why = { 0 };
    assert_int_equal(address_ranges_parse(slice_text(ranges), &parsed, &why), ERR_OK);
    storage.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
    void *at =
        storage.ss_family == AF_INET6 ? (void *)&v6->sin6_addr : (void *)&v4->sin_addr;
    if (inet_pton(storage.ss_family, text, at) != 1)
        fail_msg("%s is no address", text);
    bool answer = address_allowed((struct sockaddr *)&storage, &parsed);
    address_ranges_done(&parsed);
    return answer;
}

static void addresses_that_are_not_everyones_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "127.0.0.1",
        "127.255.0.9",
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "100.127.255.255",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "192.0.0.8",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::1",
        "2002:c0a8:101::1",
        "2001:0:1::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "100::1",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (allowed(rows[i], ""))
            fail_msg("%s is allowed", rows[i]);
}

static void addresses_of_everyone_are_allowed(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "1.1.1.1",         "8.8.8.8",         "100.63.255.255", "100.128.0.1",
        "172.15.255.255",  "172.32.0.1",      "192.0.1.1",      "203.0.113.7",
        "223.255.255.255", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808",
        "2002:808:808::1", "2001:db8::1",     "2400::1",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!allowed(rows[i], ""))
            fail_msg("%s is refused", rows[i]);
}

static void what_the_configuration_names_is_allowed(void **state)
{
    (void)state;
    assert_true(allowed("10.1.2.3", "10.0.0.0/8"));
    assert_true(allowed("::ffff:10.1.2.3", "10.0.0.0/8"));
    assert_true(allowed("127.0.0.1", "10.0.0.0/8, 127.0.0.1"));
    assert_false(allowed("127.0.0.2", "10.0.0.0/8,127.0.0.1/32"));
    assert_true(allowed("172.31.0.1", "172.16.0.0/12"));
    assert_true(allowed("192.168.127.1", "192.168.0.0/17"));
    assert_false(allowed("192.168.128.1", "192.168.0.0/17"));
    assert_true(allowed("::1", "::1"));
    assert_false(allowed("::1", "0.0.0.0/0"));
    assert_true(allowed("127.0.0.1", "0.0.0.0/0"));
    assert_true(allowed("fd12::1", "fd12::/16 fe80::/10"));
    assert_false(allowed("fd13::1", "fd12::/16"));
}

static void a_range_that_is_none_is_told(void **state)
{
    (void)state;
    static const char *const rows[] = { "10.0.0.0/33", "10.0.0/8",    "x",
                                        "::/129",      "10.0.0.0/-1", "10.0.0.0/",
                                        "1.2.3.4/8/8" };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AddressRanges ranges = { 0 };
        Error why = { 0 };
        assert_int_equal(address_ranges_parse(slice_text(rows[i]), &ranges, &why),
                         ERR_INVALID);
        assert_non_null(strstr(why.text, rows[i]));
        assert_int_equal(ranges.count, 0);
    }
}

static void other_kinds_of_sockets_are_refused(void **state)
{
    (void)state;
    struct sockaddr_storage local = { .ss_family = AF_UNIX };
    AddressRanges none = { 0 };
    assert_false(address_allowed((struct sockaddr *)&local, &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_that_are_not_everyones_are_refused),
        cmocka_unit_test(addresses_of_everyone_are_allowed),
        cmocka_unit_test(what_the_configuration_names_is_allowed),
        cmocka_unit_test(a_range_that_is_none_is_told),
        cmocka_unit_test(other_kinds_of_sockets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
