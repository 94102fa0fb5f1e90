/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - starts a thread that leaves all signals to the loop's. */
#ifndef RUN_THREAD_H
#define RUN_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static inline pthread_t thread_start(void *(*work)(void *context), void *context)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, work, context))
        abort(); /* at the start of the daemon: a machine without memory */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return thread;
}

#endif
