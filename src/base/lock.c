/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c - see lock.h. */
#include "base/lock.h"

#include <errno.h>
#include <sys/file.h>
#include <time.h>

#define STEP_MS 10

bool lock_soon(int fd)
{
    const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
    for (int waited_ms = 0;; waited_ms += STEP_MS) {
        if (!flock(fd, LOCK_EX | LOCK_NB))
            return true;
        if ((errno != EWOULDBLOCK && errno != EINTR) || waited_ms >= LOCK_SOON_MS)
            return false;
        nanosleep(&step, NULL);
        errno = EWOULDBLOCK;
    }
}
