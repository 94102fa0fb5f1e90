/* SPDX-License-Identifier: Apache-2.0 */
/* transfer_test.c - the words of a transfer; what the script does is tested with real
 * directories, ssh and rsync by tests/e2e/test_forwarder.py. */
#include "pipeline/forward/transfer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void a_command_tells_unit_place_and_delivery(void **state)
{
    (void)state;
    Place place;
    Error why;
    Buf command = { 0 };
    Slice unit;
    Slice key;
    Slice delivery;
    const Forward forward = { .slots = 1 };
    assert_int_equal(place_parse(SLICE_LITERAL("ssh:h:/d"), &place, &why), ERR_OK);
    TransferOrder order = { .place = &place,
                            .forward = &forward,
                            .source = "/x/output/finished/-u\n'",
                            .unit = "-u\n'",
                            .sender = "n:up",
                            .delivery = "1-2.3" };
    transfer_command(&command, &order);
    assert_true(transfer_parse(buf_slice(&command), &unit, &key, &delivery));
    assert_true(slice_is(unit, "-u\n'"));
    assert_true(slice_is(key, place.key));
    assert_true(slice_is(delivery, "1-2.3"));
    assert_false(transfer_parse(SLICE_LITERAL("a\0b\0"), &unit, &key, &delivery));
    buf_done(&command);
}

static void quoting_leaves_nothing_to_the_shell(void **state)
{
    (void)state;
    Buf out = { 0 };
    shell_quote(&out, SLICE_LITERAL("a'b $(x)\n"));
    assert_string_equal(buf_cstr(&out), "'a'\\''b $(x)\n'");
    buf_done(&out);
}

static void exit_statuses_have_words(void **state)
{
    (void)state;
    assert_non_null(strstr(transfer_problem(TRANSFER_CLASH), "already"));
    assert_non_null(strstr(transfer_problem(TRANSFER_NO_PROGRAM), "rsync"));
    assert_non_null(strstr(transfer_problem(-1), "failed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_tells_unit_place_and_delivery),
        cmocka_unit_test(quoting_leaves_nothing_to_the_shell),
        cmocka_unit_test(exit_statuses_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
