/* SPDX-License-Identifier: Apache-2.0 */
/* carrier_test.c - threads that carry: everything ends once, also at the end. */
#include "pipeline/forward/carrier.h"

#include "pipeline/rig_test.h"

#define UNITS 300

static void give(const Rig *rig, Carrier *carrier, uint64_t number)
{
    char source[128];
    snprintf(source, sizeof source, "%s/output/finished", rig->dir);
    CarryOrder *order = carry_order_new(source, rig->dir);
    order->number = number;
    snprintf(order->unit, sizeof order->unit, "u%llu", (unsigned long long)number);
    snprintf(order->record, sizeof order->record, "n:p %llu", (unsigned long long)number);
    order->sender_bytes = strlen("n:p ");
    rig_put(rig, OUT_FINISHED, order->unit, order->unit);
    carrier_give(carrier, order, (CarrierLane){ number % 3, 1 + number % 2 });
}

static void every_order_ends_once(void **state)
{
    const Rig *rig = *state;
    Mailbox ended;
    int seen[UNITS] = { 0 };
    mailbox_init(&ended);
    Carrier *carrier = carrier_new(&ended);
    for (uint64_t number = 0; number < UNITS; number++)
        give(rig, carrier, number);
    for (int count = 0; count < UNITS;) {
        Mail *mail = mailbox_wait(&ended, -1);
        while (mail) {
            CarryOrder *order = (CarryOrder *)(void *)mail;
            mail = mail->next;
            assert_int_equal(order->end, CARRY_DONE);
            seen[order->number]++;
            count++;
            rig_holds(rig, IN_WORK, order->unit, order->unit);
            carry_order_free(order);
        }
    }
    for (int i = 0; i < UNITS; i++)
        assert_int_equal(seen[i], 1);
    carrier_free(carrier);
    mailbox_done(&ended);
}

/* The rest is freed, and what was begun is whole or not there. */
static void an_end_waits_for_nothing_that_has_not_begun(void **state)
{
    const Rig *rig = *state;
    Mailbox ended;
    mailbox_init(&ended);
    Carrier *carrier = carrier_new(&ended);
    for (uint64_t number = 0; number < UNITS; number++)
        give(rig, carrier, number);
    carrier_free(carrier);
    for (Mail *mail = mailbox_take(&ended); mail;) {
        CarryOrder *order = (CarryOrder *)(void *)mail;
        mail = mail->next;
        if (order->end == CARRY_DONE)
            rig_holds(rig, IN_WORK, order->unit, order->unit);
        carry_order_free(order);
    }
    mailbox_done(&ended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(every_order_ends_once),
        RIG_TEST(an_end_waits_for_nothing_that_has_not_begun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
