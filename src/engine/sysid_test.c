/* SPDX-License-Identifier: Apache-2.0 */
/* sysid_test.c - reserving, renewing, losing and releasing a name in a store. */
#include "engine/sysid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define NAME SLICE_LITERAL("host-1f00")
#define NOW  1790000000000LL

static const SysidClaim one = { .host = { "host", 4 },
                                .boot = { "b1", 2 },
                                .device = 1,
                                .inode = 100,
                                .pid = 7,
                                .reserved_ms = NOW,
                                .expires_ms = NOW + SYSID_LIFE_MS };

static Store *open_store(void)
{
    Store *store = NULL;
    Error why = { 0 };
    assert_int_equal(store_open("memory:", &(StoreOptions){ 0 }, &store, &why), ERR_OK);
    return store;
}

static bool is_ours(Store *store, const SysidClaim *claim)
{
    bool ours = false;
    Error why = { 0 };
    assert_int_equal(sysid_ours(store, NAME, claim, &ours, &why), ERR_OK);
    return ours;
}

/* S2.106, S2.33: a copy of the data directory is another daemon. */
static void a_name_is_reserved_once(void **state)
{
    (void)state;
    Error why = { 0 };
    Store *store = open_store();
    SysidClaim copy = one;
    copy.inode = 101;
    copy.pid = 8;
    copy.reserved_ms = NOW + 1;
    assert_int_equal(sysid_reserve(store, NAME, &one, false, &why), ERR_OK);
    assert_int_equal(sysid_reserve(store, NAME, &copy, false, &why), ERR_BUSY);
    assert_non_null(strstr(why.text, "host-1f00 is in use on this store, by process 7"));
    assert_true(is_ours(store, &one));
    assert_false(is_ours(store, &copy));
    /* Another name is free. */
    assert_int_equal(sysid_reserve(store, SLICE_LITERAL("other"), &copy, false, &why),
                     ERR_OK);
    store_close(store);
}

/* S2.34: in another store it means nothing. */
static void the_same_name_in_another_store_is_free(void **state)
{
    (void)state;
    Error why = { 0 };
    Store *stores[] = { open_store(), open_store() };
    SysidClaim copy = one;
    copy.inode = 101;
    assert_int_equal(sysid_reserve(stores[0], NAME, &one, false, &why), ERR_OK);
    assert_int_equal(sysid_reserve(stores[1], NAME, &copy, false, &why), ERR_OK);
    assert_true(is_ours(stores[0], &one) && is_ours(stores[1], &copy));
    store_close(stores[0]);
    store_close(stores[1]);
}

/* S2.107: the same directory takes its own back and goes on. */
static void it_is_renewed_by_its_owner(void **state)
{
    (void)state;
    Error why = { 0 };
    Store *store = open_store();
    SysidClaim again = one;
    SysidClaim copy = one;
    again.pid = 9;
    again.reserved_ms = NOW + MS_PER_MIN;
    again.expires_ms = again.reserved_ms + SYSID_LIFE_MS;
    copy.inode = 101;
    copy.reserved_ms = one.expires_ms; /* when the first reservation would be over */
    assert_int_equal(sysid_reserve(store, NAME, &one, false, &why), ERR_OK);
    assert_int_equal(sysid_reserve(store, NAME, &again, false, &why), ERR_OK);
    assert_int_equal(sysid_reserve(store, NAME, &copy, false, &why), ERR_BUSY);
    store_close(store);
}

static void what_no_one_can_hold_any_more_is_free(void **state)
{
    (void)state;
    Error why = { 0 };
    Store *store = open_store();
    SysidClaim late = one;
    SysidClaim restarted = one;
    late.inode = 101;
    late.reserved_ms = one.expires_ms;
    late.expires_ms = late.reserved_ms + SYSID_LIFE_MS;
    restarted.inode = 102;
    restarted.boot = SLICE_LITERAL("b2");
    assert_int_equal(sysid_reserve(store, NAME, &one, false, &why), ERR_OK);
    assert_int_equal(sysid_reserve(store, NAME, &late, false, &why), ERR_OK);
    assert_false(is_ours(store, &one)); /* it has lost it */
    assert_int_equal(sysid_reserve(store, NAME, &restarted, false, &why), ERR_OK);
    store_close(store);
}

/* A copy of a data directory has a copy of the store in it: no one else is there. */
static void a_store_that_was_copied_with_its_directory_is_its_own(void **state)
{
    (void)state;
    Error why = { 0 };
    Store *store = open_store();
    SysidClaim copy = one;
    copy.inode = 101;
    assert_int_equal(sysid_reserve(store, NAME, &one, false, &why), ERR_OK);
    assert_int_equal(sysid_reserve(store, NAME, &copy, true, &why), ERR_OK);
    assert_true(is_ours(store, &copy));
    store_close(store);
}

/* S2.108 */
static void it_is_released_by_its_owner_only(void **state)
{
    (void)state;
    Error why = { 0 };
    Store *store = open_store();
    SysidClaim copy = one;
    copy.inode = 101;
    assert_int_equal(sysid_reserve(store, NAME, &one, false, &why), ERR_OK);
    assert_int_equal(sysid_release(store, NAME, &copy, &why), ERR_OK);
    assert_true(is_ours(store, &one));
    assert_int_equal(sysid_release(store, NAME, &one, &why), ERR_OK);
    assert_false(is_ours(store, &one));
    assert_int_equal(sysid_reserve(store, NAME, &copy, false, &why), ERR_OK);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_reserved_once),
        cmocka_unit_test(the_same_name_in_another_store_is_free),
        cmocka_unit_test(it_is_renewed_by_its_owner),
        cmocka_unit_test(what_no_one_can_hold_any_more_is_free),
        cmocka_unit_test(a_store_that_was_copied_with_its_directory_is_its_own),
        cmocka_unit_test(it_is_released_by_its_owner_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
