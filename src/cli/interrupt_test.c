/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt_test.c - Ctrl-C is noted and wakes whoever sleeps. */
#include "cli/interrupt.h"

#include "cli/testing.h"

#include <poll.h>
#include <signal.h>

static void a_signal_is_noted_and_ends_a_sleep(void **state)
{
    (void)state;
    assert_int_equal(interrupt_fd(), -1);
    interrupt_sleep(1); /* before it is caught: just a pause */
    interrupt_catch();
    interrupt_catch();
    assert_false(interrupt_seen());
    raise(SIGINT);
    assert_true(interrupt_seen());
    struct pollfd waiting = { .fd = interrupt_fd(), .events = POLLIN };
    assert_int_equal(poll(&waiting, 1, 0), 1);
    interrupt_sleep(3600 * 1000); /* returns at once, or this test never ends */
    /* The second one would end the program. */
    struct sigaction action;
    assert_int_equal(sigaction(SIGINT, NULL, &action), 0);
    assert_true(action.sa_handler == SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_is_noted_and_ends_a_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
