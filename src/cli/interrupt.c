/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c - see interrupt.h. */
#include "cli/interrupt.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

static volatile sig_atomic_t seen;
static int wake_fd = -1;

static void note(int signal_number)
{
    (void)signal_number;
    int saved = errno;
    uint64_t one = 1;
    seen = 1;
    /* Should the write fail, the flag is still seen at the next wake-up. */
    ssize_t written = write(wake_fd, &one, sizeof one);
    (void)written;
    errno = saved;
}

void interrupt_catch(void)
{
    if (wake_fd >= 0)
        return;
    wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0)
        return;
    /* SA_RESETHAND: who presses it twice wants out at once. */
    struct sigaction action = { .sa_handler = note, .sa_flags = (int)SA_RESETHAND };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

bool interrupt_seen(void)
{
    return seen != 0;
}

int interrupt_fd(void)
{
    return wake_fd;
}

void interrupt_sleep(int64_t ms)
{
    struct pollfd waiting = { .fd = wake_fd, .events = POLLIN };
    if (ms > 0 && !seen)
        poll(&waiting, 1, ms > INT_MAX ? INT_MAX : (int)ms);
}
