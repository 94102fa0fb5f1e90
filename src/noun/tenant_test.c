/* SPDX-License-Identifier: Apache-2.0 */
/* tenant_test.c - what a tenant may be told to be. */
#include "noun/tenant.h"

#include "noun/testing.h"

static Err read_text(const char *text, Tenant *out, Problem *why)
{
    Arena arena = { 0 };
    NounIn in = noun_in(&tenant_noun, "a", out, &arena, why);
    Err err = noun_read(&in, json_of_text(text, &arena));
    arena_done(&arena);
    return err;
}

static void an_object_of_ours_can_be_sent_back(void **state)
{
    (void)state;
    Tenant tenant = { 0 };
    Problem why = { 0 };
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
    Tenant tenant;
    Problem why = { 0 };
    assert_int_equal(read_text("{\"segregate_type\":true}", &tenant, &why), ERR_INVALID);
    assert_string_equal(why.pointer, "/segregate_type");
    assert_string_equal(why.hint, "did you mean 'segregate_types'?");
    assert_int_equal(read_text("{\"segregate_types\":1}", &tenant, &why), ERR_INVALID);
    assert_string_equal(why.kind->code, "wrong_type");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_of_ours_can_be_sent_back),
        cmocka_unit_test(what_is_wrong_has_its_pointer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
