/* SPDX-License-Identifier: Apache-2.0 */
/* base_test.c - the small tools under everything else. */
#include "base/id.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void ids_survive_their_text(void **state)
{
    (void)state;
    char text[ID_TEXT_BYTES];
    JobId id = id_from_count(id_take(&(IdGen){ .node = 7 }, 1790000000000, 1), 7);
    JobId back;
    assert_int_equal(id_parse(slice_text(id_text(id, text)), &back), ERR_OK);
    assert_true(id == back);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ids_survive_their_text) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
