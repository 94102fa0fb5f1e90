/* SPDX-License-Identifier: Apache-2.0 */
/* run_as_test.c - what is said of a user that jobs may not run as. */
#include "model/run_as.h"

#include "launch/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void expect(const char *user, const char *words)
{
    Problem why = { 0 };
    assert_int_equal(user_check(SLICE_LITERAL("default"), slice_text(user), &why),
                     ERR_INVALID);
    assert_string_equal(why.kind->code, "run_as_not_allowed");
    assert_int_equal(why.kind->status, 422);
    if (!strstr(why.detail, words) || !strstr(why.detail, user))
        fail_msg("\"%s\" does not say \"%s\"", why.detail, words);
}

static void each_refusal_says_why(void **state) /* S0.20, S0.21 */
{
    (void)state;
    setenv(POLICY_VARIABLE, "/nowhere/users", 1);
    expect("root", "never");
    expect("0", "never");
    if (geteuid() == 0)
        expect("daemon", "there is no policy file");
    else
        expect("daemon", "does not run as root");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_refusal_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
