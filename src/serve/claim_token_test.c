/* SPDX-License-Identifier: Apache-2.0 */
/* claim_token_test.c - tokens of pull workers: for one attempt, and over a restart. */
#include "serve/claim_token.h"

#include "serve/claim_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/claim-token-XXXXXX";
static char path[sizeof folder + 16];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/%s", folder, CLAIM_KEY_FILE);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void a_token_is_for_one_attempt_and_outlives_a_restart(void **state)
{
    (void)state;
    ClaimKey key, again;
    Error why = { 0 };
    char token[CLAIM_TOKEN_BYTES];
    struct stat status;
    assert_int_equal(claim_key_load(folder, &key, &why), ERR_OK);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(claim_key_load(folder, &again, &why), ERR_OK);
    claim_token(&key, 4711, 2, token);
    assert_int_equal(strlen(token), CLAIM_TOKEN_BYTES - 1);
    Slice text = slice_text(token);
    assert_true(claim_token_right(&again, 4711, 2, text));
    assert_false(claim_token_right(&again, 4711, 3, text));
    assert_false(claim_token_right(&again, 4712, 2, text));
    assert_false(claim_token_right(&again, 4711, 2, slice_from(text, 1)));
    assert_false(claim_token_right(&again, 4711, 2, SLICE_LITERAL("")));
    again.bytes[0] ^= 1;
    assert_false(claim_token_right(&again, 4711, 2, text));
}

static void a_damaged_key_is_told(void **state)
{
    (void)state;
    ClaimKey key;
    Error why = { 0 };
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("not a key\n", file);
    fclose(file);
    assert_int_equal(claim_key_load(folder, &key, &why), ERR_CORRUPT);
    assert_non_null(strstr(why.text, CLAIM_KEY_FILE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_for_one_attempt_and_outlives_a_restart),
        cmocka_unit_test(a_damaged_key_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
