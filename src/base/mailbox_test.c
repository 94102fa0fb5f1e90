/* SPDX-License-Identifier: Apache-2.0 */
/* mailbox_test.c - nothing put is lost, doubled or out of its sender's order. */
#include "base/mailbox.h"

#include "base/mem.h"
#include "base/times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SENDERS 4
#define LETTERS 5000

typedef struct Letter {
    Mail mail; /* must be first */
    int sender;
    int number;
} Letter;

typedef struct Sender {
    Mailbox *box;
    int number;
    pthread_t thread;
} Sender;

static void *send_all(void *context)
{
    Sender *sender = context;
    for (int i = 0; i < LETTERS; i++) {
        Letter *letter = MEM_NEW(Letter);
        letter->sender = sender->number;
        letter->number = i;
        mailbox_put(sender->box, &letter->mail);
    }
    return NULL;
}

static void begin_senders(Mailbox *box, Sender *senders)
{
    for (int i = 0; i < SENDERS; i++) {
        senders[i] = (Sender){ .box = box, .number = i };
        assert_int_equal(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]),
                         0);
    }
}

/* Reads letters off a list; next[] is the number each sender must send next. */
static int read_letters(Mail *mail, int *next)
{
    int count = 0;
    while (mail) {
        Letter *letter = (Letter *)(void *)mail;
        mail = mail->next;
        assert_int_equal(letter->number, next[letter->sender]++);
        mem_free(letter);
        count++;
    }
    return count;
}

static void many_put_and_one_takes_all_in_order(void **state)
{
    (void)state;
    Mailbox box;
    mailbox_init(&box);
    Sender senders[SENDERS];
    begin_senders(&box, senders);
    int next[SENDERS] = { 0 };
    for (int got = 0; got < SENDERS * LETTERS;) {
        Mail *mail = mailbox_wait(&box, 120000);
        assert_non_null(mail); /* no wake-up is lost */
        got += read_letters(mail, next);
    }
    for (int i = 0; i < SENDERS; i++)
        pthread_join(senders[i].thread, NULL);
    assert_null(mailbox_take(&box));
    mailbox_done(&box);
}

/* A taker that, as an event loop does, sleeps until it is woken. */
typedef struct Bell {
    _Atomic int rung;
} Bell;

static void ring(void *context)
{
    ((Bell *)context)->rung++;
}

static void a_put_into_an_empty_box_rings(void **state)
{
    (void)state;
    Bell bell = { 0 };
    Mailbox box;
    mailbox_init(&box);
    box.wake = ring;
    box.wake_context = &bell;
    Mail letters[3];
    mailbox_put(&box, &letters[0]);
    mailbox_put(&box, &letters[1]);
    assert_int_equal(bell.rung, 1); /* one wake is enough for both */
    assert_ptr_equal(mailbox_take(&box), &letters[0]);
    assert_ptr_equal(letters[0].next, &letters[1]);
    assert_null(letters[1].next);
    mailbox_put(&box, &letters[2]);
    assert_int_equal(bell.rung, 2);
    assert_ptr_equal(mailbox_take(&box), &letters[2]);
    assert_null(mailbox_take(&box));
    mailbox_done(&box);
}

static void whoever_takes_on_every_ring_gets_everything(void **state)
{
    (void)state;
    Bell bell = { 0 };
    Mailbox box;
    mailbox_init(&box);
    box.wake = ring;
    box.wake_context = &bell;
    Sender senders[SENDERS];
    begin_senders(&box, senders);
    int next[SENDERS] = { 0 };
    int64_t give_up = clock_now().boot_ms + 120000;
    for (int got = 0; got < SENDERS * LETTERS;) {
        while (!bell.rung)
            assert_true(clock_now().boot_ms < give_up);
        bell.rung = 0;
        got += read_letters(mailbox_take(&box), next);
    }
    for (int i = 0; i < SENDERS; i++)
        pthread_join(senders[i].thread, NULL);
    mailbox_done(&box);
}

static void *put_quietly(void *context)
{
    static Mail late;
    mailbox_put_quiet(context, &late);
    return NULL;
}

static void a_quiet_put_does_not_ring_but_wakes_who_waits(void **state)
{
    (void)state;
    Bell bell = { 0 };
    Mailbox box;
    mailbox_init(&box);
    box.wake = ring;
    box.wake_context = &bell;
    pthread_t sender;
    assert_int_equal(pthread_create(&sender, NULL, put_quietly, &box), 0);
    assert_non_null(mailbox_wait(&box, 120000));
    pthread_join(sender, NULL);
    assert_int_equal(bell.rung, 0);
    mailbox_done(&box);
}

static void waiting_ends_in_time(void **state)
{
    (void)state;
    Mailbox box;
    mailbox_init(&box);
    assert_null(mailbox_wait(&box, 0));
    int64_t before = clock_now().boot_ms;
    assert_null(mailbox_wait(&box, 30));
    assert_true(clock_now().boot_ms - before >= 29);
    mailbox_done(&box);
}

static void *close_box(void *context)
{
    mailbox_close(context);
    return NULL;
}

static void closing_wakes_for_good_and_loses_nothing(void **state)
{
    (void)state;
    Mailbox box;
    mailbox_init(&box);
    assert_false(mailbox_closed(&box));
    pthread_t closer;
    assert_int_equal(pthread_create(&closer, NULL, close_box, &box), 0);
    assert_null(mailbox_wait(&box, -1)); /* would wait for ever */
    pthread_join(closer, NULL);
    assert_true(mailbox_closed(&box));
    Mail late;
    mailbox_put(&box, &late);
    assert_ptr_equal(mailbox_wait(&box, -1), &late);
    mailbox_done(&box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_put_and_one_takes_all_in_order),
        cmocka_unit_test(a_put_into_an_empty_box_rings),
        cmocka_unit_test(whoever_takes_on_every_ring_gets_everything),
        cmocka_unit_test(a_quiet_put_does_not_ring_but_wakes_who_waits),
        cmocka_unit_test(waiting_ends_in_time),
        cmocka_unit_test(closing_wakes_for_good_and_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
