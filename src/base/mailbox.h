/* SPDX-License-Identifier: Apache-2.0 */
/* mailbox.h - how threads talk: many put, one takes, all at once.
 *
 * A mailbox is the only state two threads share. Items are any struct that begins
 * with a Mail; who puts gives ownership away. `wake` is called after a put into an
 * empty box, by the putting thread, and must only wake the taker. */
#ifndef BASE_MAILBOX_H
#define BASE_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Mail {
    struct Mail *next;
} Mail;

typedef struct Mailbox {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    Mail *first;
    Mail **last;
    bool closed;
    void (*wake)(void *context); /* may be NULL: the taker waits with mailbox_wait */
    void *wake_context;
} Mailbox;

void mailbox_init(Mailbox *box);
void mailbox_done(Mailbox *box); /* the box must be empty and unused */

void mailbox_put(Mailbox *box, Mail *mail);

/* The same without `wake`: the sender sees to that itself. Who waits with mailbox_wait is
 * woken in any case. */
void mailbox_put_quiet(Mailbox *box, Mail *mail);

/* Everything in the box, oldest first, or NULL. Never waits. */
Mail *mailbox_take(Mailbox *box);

/* As mailbox_take, but waits until there is something, the box is closed or
 * timeout_ms passed (negative: no limit). */
Mail *mailbox_wait(Mailbox *box, int64_t timeout_ms);

/* Wakes every waiter for good; what is in the box can still be taken. */
void mailbox_close(Mailbox *box);
bool mailbox_closed(Mailbox *box);

#endif
