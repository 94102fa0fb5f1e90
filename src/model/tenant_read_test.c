/* SPDX-License-Identifier: Apache-2.0 */
/* tenant_read_test.c - what a tenant may be told to be. */
#include "model/tenant_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static Err read_text(const char *text, Tenant *out, Problem *why)
{
    Arena arena = { 0 };
    const JsonIn *object;
    assert_int_equal(json_in_load(slice_text(text), &arena, &object, NULL), ERR_OK);
    Err err = tenant_read(object, out, why);
    arena_done(&arena);
    return err;
}

static void an_object_of_ours_can_be_sent_back(void **state)
{
    (void)state;
    Tenant tenant = { 0 };
    Problem why;
    assert_int_equal(read_text("{\"name\":\"a\",\"segregate_types\":true,\"jobs\":{},"
                               "\"created_at\":null,\"declared\":false}",
                               &tenant, &why),
                     ERR_OK);
    assert_true(tenant.segregate_types);
    assert_int_equal(read_text("{}", &tenant, &why), ERR_OK);
    assert_false(tenant.segregate_types);
    assert_true(tenant.created_ms != 0); /* so that it is something */
}

static void what_is_wrong_has_its_pointer(void **state)
{
    (void)state;
    Tenant tenant = { .created_ms = 7 };
    Problem why;
    assert_int_equal(read_text("{\"segregate_type\":true}", &tenant, &why), ERR_INVALID);
    assert_string_equal(why.pointer, "/segregate_type");
    assert_string_equal(why.hint, "did you mean 'segregate_types'?");
    assert_int_equal(read_text("{\"segregate_types\":1}", &tenant, &why), ERR_INVALID);
    assert_string_equal(why.kind->code, "wrong_type");
    assert_int_equal(tenant.created_ms, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_of_ours_can_be_sent_back),
        cmocka_unit_test(what_is_wrong_has_its_pointer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
