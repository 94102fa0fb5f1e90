/* SPDX-License-Identifier: Apache-2.0 */
/* mailbox.c - see mailbox.h. */
#include "base/mailbox.h"

#include "base/wait.h"

#include <errno.h>

void mailbox_init(Mailbox *box)
{
    *box = (Mailbox){ 0 };
    box->last = &box->first;
    pthread_mutex_init(&box->lock, NULL);
    wait_init(&box->filled);
}

void mailbox_done(Mailbox *box)
{
    pthread_cond_destroy(&box->filled);
    pthread_mutex_destroy(&box->lock);
}

/* Whether the box was empty. */
static bool put(Mailbox *box, Mail *mail)
{
    mail->next = NULL;
    pthread_mutex_lock(&box->lock);
    bool was_empty = !box->first;
    *box->last = mail;
    box->last = &mail->next;
    pthread_mutex_unlock(&box->lock);
    if (was_empty)
        pthread_cond_signal(&box->filled); /* without the lock: the taker wants it next */
    return was_empty;
}

void mailbox_put_quiet(Mailbox *box, Mail *mail)
{
    put(box, mail);
}

void mailbox_put(Mailbox *box, Mail *mail)
{
    if (put(box, mail) && box->wake)
        box->wake(box->wake_context);
}

static Mail *take_locked(Mailbox *box)
{
    Mail *first = box->first;
    box->first = NULL;
    box->last = &box->first;
    return first;
}

Mail *mailbox_take(Mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    Mail *first = take_locked(box);
    pthread_mutex_unlock(&box->lock);
    return first;
}

Mail *mailbox_wait(Mailbox *box, int64_t timeout_ms)
{
    struct timespec deadline = wait_end(timeout_ms);
    pthread_mutex_lock(&box->lock);
    while (!box->first && !box->closed) {
        int failed = timeout_ms < 0
                         ? pthread_cond_wait(&box->filled, &box->lock)
                         : pthread_cond_timedwait(&box->filled, &box->lock, &deadline);
        if (failed == ETIMEDOUT)
            break;
    }
    Mail *first = take_locked(box);
    pthread_mutex_unlock(&box->lock);
    return first;
}

void mailbox_close(Mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    box->closed = true;
    pthread_cond_broadcast(&box->filled);
    pthread_mutex_unlock(&box->lock);
}

bool mailbox_closed(Mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    bool closed = box->closed;
    pthread_mutex_unlock(&box->lock);
    return closed;
}
