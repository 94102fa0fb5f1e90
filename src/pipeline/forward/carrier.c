/* SPDX-License-Identifier: Apache-2.0 */
/* carrier.c - see carrier.h. */
#include "pipeline/forward/carrier.h"

#include "base/mem.h"
#include "run/thread.h"

#include <string.h>

#define THREADS 3

typedef struct Waiting {
    struct Waiting *next;
    CarryOrder *order;
    CarrierLane lane;
} Waiting;

typedef struct Group { /* what one thread carries */
    Waiting *items[CARRY_TOGETHER_MAX];
    size_t count;
} Group;

struct Carrier {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t threads[THREADS];
    bool started; /* threads come with the first order */
    atomic_bool stop;
    Waiting *first;
    Waiting **last;
    Group *busy[THREADS];
    Mailbox *ended;
};

CarryOrder *carry_order_new(const char *source, const char *dir)
{
    CarryOrder *order = MEM_NEW(CarryOrder);
    order->source = mem_copy(source, strlen(source) + 1);
    order->dir = mem_copy(dir, strlen(dir) + 1);
    return order;
}

void carry_order_free(CarryOrder *order)
{
    mem_free(order->source);
    mem_free(order->dir);
    mem_free(order);
}

/* --- Under the lock -------------------------------------------------------------------
 */

static bool may_begin(const Carrier *carrier, const Waiting *waiting)
{
    uint32_t wide = 0;
    for (size_t i = 0; i < THREADS; i++) {
        const Group *group = carrier->busy[i];
        if (!group)
            continue;
        if (strcmp(group->items[0]->order->dir, waiting->order->dir) == 0)
            return false;
        wide += group->items[0]->lane.lane == waiting->lane.lane;
    }
    return wide < waiting->lane.wide;
}

static bool belongs(const Group *group, const Waiting *waiting)
{
    const Waiting *first = group->items[0];
    return first->lane.lane == waiting->lane.lane &&
           strcmp(first->order->dir, waiting->order->dir) == 0 &&
           strcmp(first->order->source, waiting->order->source) == 0;
}

/* The oldest that may begin, and those that go with it. */
static void pick(Carrier *carrier, Group *group)
{
    group->count = 0;
    for (Waiting **at = &carrier->first; *at;) {
        Waiting *waiting = *at;
        bool taken = group->count ? belongs(group, waiting) : may_begin(carrier, waiting);
        if (!taken || group->count == CARRY_TOGETHER_MAX) {
            at = &waiting->next;
            continue;
        }
        *at = waiting->next;
        group->items[group->count++] = waiting;
    }
    carrier->last = &carrier->first;
    while (*carrier->last)
        carrier->last = &(*carrier->last)->next;
}

static void append(Carrier *carrier, Waiting *waiting)
{
    waiting->next = NULL;
    *carrier->last = waiting;
    carrier->last = &waiting->next;
}

/* --- Threads --------------------------------------------------------------------------
 */

static void carry_group(const Carrier *carrier, const Group *group)
{
    CarryOrder *orders[CARRY_TOGETHER_MAX];
    for (size_t i = 0; i < group->count; i++)
        orders[i] = group->items[i]->order;
    carry_all(orders, group->count, &carrier->stop);
}

/* Results go out; what was not begun waits again. */
static void hand_back(Carrier *carrier, const Group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        Waiting *waiting = group->items[i];
        if (waiting->order->end == CARRY_NOT_YET) {
            append(carrier, waiting);
            continue;
        }
        mailbox_put(carrier->ended, &waiting->order->mail);
        mem_free(waiting);
    }
}

static size_t seat(Carrier *carrier, Group *group)
{
    size_t i = 0;
    while (carrier->busy[i])
        i++;
    carrier->busy[i] = group;
    return i;
}

static void *work(void *context)
{
    Carrier *carrier = context;
    Group *group = MEM_NEW(Group);
    pthread_mutex_lock(&carrier->lock);
    while (!carrier->stop) {
        pick(carrier, group);
        if (!group->count) {
            pthread_cond_wait(&carrier->changed, &carrier->lock);
            continue;
        }
        size_t place = seat(carrier, group);
        pthread_mutex_unlock(&carrier->lock);
        carry_group(carrier, group);
        pthread_mutex_lock(&carrier->lock);
        carrier->busy[place] = NULL;
        hand_back(carrier, group);
        pthread_cond_broadcast(&carrier->changed);
    }
    pthread_mutex_unlock(&carrier->lock);
    mem_free(group);
    return NULL;
}

/* --- From outside ---------------------------------------------------------------------
 */

Carrier *carrier_new(Mailbox *ended)
{
    Carrier *carrier = MEM_NEW(Carrier);
    pthread_mutex_init(&carrier->lock, NULL);
    pthread_cond_init(&carrier->changed, NULL);
    carrier->last = &carrier->first;
    carrier->ended = ended;
    return carrier;
}

void carrier_give(Carrier *carrier, CarryOrder *order, CarrierLane lane)
{
    Waiting *waiting = MEM_NEW(Waiting);
    waiting->order = order;
    waiting->lane = lane;
    pthread_mutex_lock(&carrier->lock);
    append(carrier, waiting);
    pthread_cond_signal(&carrier->changed);
    pthread_mutex_unlock(&carrier->lock);
    if (carrier->started)
        return;
    carrier->started = true;
    for (size_t i = 0; i < THREADS; i++)
        carrier->threads[i] = thread_start(work, carrier);
}

void carrier_free(Carrier *carrier)
{
    if (!carrier)
        return;
    pthread_mutex_lock(&carrier->lock);
    carrier->stop = true;
    pthread_cond_broadcast(&carrier->changed);
    pthread_mutex_unlock(&carrier->lock);
    for (size_t i = 0; carrier->started && i < THREADS; i++)
        pthread_join(carrier->threads[i], NULL);
    while (carrier->first) {
        Waiting *waiting = carrier->first;
        carrier->first = waiting->next;
        carry_order_free(waiting->order);
        mem_free(waiting);
    }
    pthread_cond_destroy(&carrier->changed);
    pthread_mutex_destroy(&carrier->lock);
    mem_free(carrier);
}
