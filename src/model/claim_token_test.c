/* SPDX-License-Identifier: Apache-2.0 */
/* claim_token_test.c - tokens of pull workers: for one attempt, and over a restart. */
#include "model/claim_token.h"

#include "engine/claim_key.h"

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
    const ClaimTaken taken = { .id = 4711, .attempt = 2 };
    claim_token(&key, &taken, token);
    assert_int_equal(strlen(token), 32);
    Slice text = slice_text(token);
    assert_int_equal(claim_token_node(text), 0);
    assert_true(claim_token_right(&again, &taken, text));
    assert_false(claim_token_right(&again, &(ClaimTaken){ 4711, 3, 0 }, text));
    assert_false(claim_token_right(&again, &(ClaimTaken){ 4712, 2, 0 }, text));
    assert_false(claim_token_right(&again, &taken, slice_from(text, 1)));
    assert_false(claim_token_right(&again, &taken, SLICE_LITERAL("")));
    again.bytes[0] ^= 1;
    assert_false(claim_token_right(&again, &taken, text));
}

static void a_token_says_which_node_gave_the_job(void **state)
{
    (void)state;
    const ClaimKey key = { { 7 } };
    const ClaimTaken taken = { .id = 4711, .attempt = 2, .node = 1023 };
    char token[CLAIM_TOKEN_BYTES];
    Slice text = slice_text(claim_token(&key, &taken, token));
    assert_int_equal(text.bytes, CLAIM_TOKEN_BYTES - 1);
    assert_int_equal(claim_token_node(text), 1023);
    assert_true(claim_token_right(&key, &taken, text));
    token[0] = (char)(token[0] == '0' ? '1' : '0');
    assert_false(claim_token_right(&key, &taken, text));
    token[CLAIM_TOKEN_BYTES - 2] = 'x';
    assert_int_equal(claim_token_node(text), 0);
    token[CLAIM_TOKEN_BYTES - 4] = 'f'; /* no node has such a number */
    assert_int_equal(claim_token_node(text), 0);
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
        cmocka_unit_test(a_token_says_which_node_gave_the_job),
        cmocka_unit_test(a_damaged_key_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
