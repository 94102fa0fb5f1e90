/* SPDX-License-Identifier: Apache-2.0 */
/* err_test.c - errors keep their words. */
#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void every_code_has_its_own_word(void **state)
{
    (void)state;
    for (int a = ERR_OK; a <= ERR_UNSUPPORTED; a++) {
        assert_string_not_equal(err_name((Err)a), "unknown");
        for (int b = ERR_OK; b < a; b++)
            assert_string_not_equal(err_name((Err)a), err_name((Err)b));
    }
    assert_string_equal(err_name((Err)99), "unknown");
}

static void errno_is_translated_where_it_matters(void **state)
{
    (void)state;
    static const struct {
        int number;
        Err err;
    } table[] = {
        { 0, ERR_OK },
        { ENOENT, ERR_NOT_FOUND },
        { ESRCH, ERR_NOT_FOUND },
        { EACCES, ERR_DENIED },
        { EPERM, ERR_DENIED },
        { EROFS, ERR_DENIED },
        { ENOSPC, ERR_FULL },
        { EDQUOT, ERR_FULL },
        { EFBIG, ERR_FULL },
        { EAGAIN, ERR_BUSY },
        { EBUSY, ERR_BUSY },
        { EADDRINUSE, ERR_BUSY },
        { EEXIST, ERR_CONFLICT },
        { EMFILE, ERR_LIMIT },
        { ENFILE, ERR_LIMIT },
        { ENAMETOOLONG, ERR_LIMIT },
        { ECONNREFUSED, ERR_UNAVAILABLE },
        { EPIPE, ERR_UNAVAILABLE },
        { ECONNRESET, ERR_UNAVAILABLE },
        { ETIMEDOUT, ERR_TIMEOUT },
        { EINVAL, ERR_INVALID },
        { EIO, ERR_IO },
        { ENOTTY, ERR_IO },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_int_equal(err_from_errno(table[i].number), table[i].err);
}

static void a_sentence_goes_with_the_code(void **state)
{
    (void)state;
    Error why = { 0 };
    assert_int_equal(error_set(&why, ERR_FULL, "no room for %d", 5), ERR_FULL);
    assert_int_equal(why.code, ERR_FULL);
    assert_string_equal(why.text, "no room for 5");
    assert_int_equal(error_set(NULL, ERR_FULL, "unheard"), ERR_FULL);
    errno = ENOENT;
    assert_int_equal(error_errno(&why, "cannot open %s", "x"), ERR_NOT_FOUND);
    assert_string_equal(why.text, "cannot open x: No such file or directory");
    errno = ENOSPC;
    assert_int_equal(error_errno(NULL, "unheard"), ERR_FULL);
}

static void a_long_sentence_is_cut(void **state)
{
    (void)state;
    char text[2 * ERROR_TEXT_BYTES];
    memset(text, 'w', sizeof text);
    text[sizeof text - 1] = '\0';
    Error why = { 0 };
    error_set(&why, ERR_IO, "%s", text);
    assert_int_equal(strlen(why.text), ERROR_TEXT_BYTES - 1);
    errno = EIO;
    error_errno(&why, "%s", text);
    assert_int_equal(strlen(why.text), ERROR_TEXT_BYTES - 1);
    text[ERROR_TEXT_BYTES - 5] = '\0';
    errno = EIO;
    error_errno(&why, "%s", text);
    assert_int_equal(strlen(why.text), ERROR_TEXT_BYTES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_own_word),
        cmocka_unit_test(errno_is_translated_where_it_matters),
        cmocka_unit_test(a_sentence_goes_with_the_code),
        cmocka_unit_test(a_long_sentence_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
