/* SPDX-License-Identifier: Apache-2.0 */
/* tenant_test.c - a tenant's settings, packed and read back. */
#include "core/tenant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_is_packed_is_read_back(void **state)
{
    const Tenant cases[] = { { .created_ms = 1, .segregate_types = true },
                             { .created_ms = 1700000000000 } };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        Buf packed = { 0 };
        Tenant back = { .created_ms = 77, .segregate_types = true };
        tenant_pack(&packed, &cases[i]);
        assert_true(packed.bytes > 0);
        assert_int_equal(tenant_unpack(buf_slice(&packed), &back), ERR_OK);
        assert_int_equal(back.created_ms, cases[i].created_ms);
        assert_int_equal(back.segregate_types, cases[i].segregate_types);
        assert_int_equal(tenant_unpack(slice_of(packed.data, packed.bytes - 1), &back),
                         ERR_CORRUPT);
        buf_done(&packed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
