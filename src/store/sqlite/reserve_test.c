/* SPDX-License-Identifier: Apache-2.0 */
/* reserve_test.c - room that is kept, spent once, and kept again when there is some. */
#include "store/sqlite/reserve.h"

#include "testing/testdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

static int64_t room_of(const TestDir *dir)
{
    struct stat status;
    assert_int_equal(stat(testdir_file(dir, "pawl.db.reserve"), &status), 0);
    return (int64_t)status.st_blocks * 512;
}

static void room_is_kept_spent_and_kept_again(void **state)
{
    (void)state;
    TestDir dir;
    Reserve reserve;
    testdir_make(&dir);
    reserve_init(&reserve, testdir_file(&dir, "pawl.db"));
    assert_true(room_of(&dir) >= RESERVE_BYTES);
    assert_false(reserve_full(&reserve));
    assert_true(reserve_spend(&reserve));
    assert_int_equal(room_of(&dir), 0);
    assert_true(reserve_is_spent(&reserve));
    assert_true(reserve_full(&reserve)); /* the disk is not asked at once */
    assert_false(reserve_spend(&reserve));
    reserve.look_boot = 0;
    assert_false(reserve_full(&reserve)); /* it has room */
    assert_false(reserve_is_spent(&reserve));
    assert_true(room_of(&dir) >= RESERVE_BYTES);
    reserve_done(&reserve);
    testdir_remove(&dir);
}

/* Where the disk gives none, what is free inside the store's own file counts. */
static void room_inside_the_file_counts(void **state)
{
    (void)state;
    TestDir dir;
    Reserve reserve;
    testdir_make(&dir);
    reserve_init(&reserve, testdir_file(&dir, "not/there"));
    assert_true(reserve_is_spent(&reserve));
    assert_true(reserve_needed(&reserve));
    assert_true(reserve_low(&reserve));
    assert_true(reserve_full(&reserve));
    reserve_note_free(&reserve, RESERVE_BYTES);
    reserve.look_boot = 0;
    assert_false(reserve_full(&reserve));
    reserve_note_free(&reserve, 0);
    reserve.look_boot = 0;
    assert_true(reserve_full(&reserve));
    reserve_done(&reserve);
    testdir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_is_kept_spent_and_kept_again),
        cmocka_unit_test(room_inside_the_file_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
