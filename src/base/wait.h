/* SPDX-License-Identifier: Apache-2.0 */
/* wait.h - condition variables with time limits that no change of the clock disturbs. */
#ifndef BASE_WAIT_H
#define BASE_WAIT_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Instead of pthread_cond_init. */
static inline void wait_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* The end of a wait of so long, for pthread_cond_timedwait; a negative one ends now. */
static inline struct timespec wait_end(int64_t timeout_ms)
{
    struct timespec at;
    int64_t ms = timeout_ms > 0 ? timeout_ms : 0;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

#endif
