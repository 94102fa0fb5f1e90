/* SPDX-License-Identifier: Apache-2.0 */
/* lane.c - see lane.h. */
#include "core/dispatch/lane.h"

#include "core/group.h"

#include <assert.h>

Head head_of(const Job *job, Names *names)
{
    return (Head){
        .id = job->id,
        .priority = job->priority,
        .dt_ms = job->dt_ms,
        .window_from_ms = job->window_from_ms,
        .retry_delay_ms = job->retry_delay_ms,
        .retry_window_ms = job->retry_window_ms,
        .max_run_ms = job->max_run_ms,
        .service_ms = job->service_ms,
        .wants = job->resources.bytes ? names_intern(names, job->resources) : 0,
        .then = job->then.bytes ? names_intern(names, job->then) : 0,
        .on_error = job->on_error.bytes ? names_intern(names, job->on_error) : 0,
        .tenant = names_intern(names, job->tenant),
        .queue = names_intern(names, job->queue),
        .type = names_intern(names, job->type),
        .attempt = job->attempt,
        .retry_number = job->retry_number,
        .max_retries = job->max_retries,
        .flags = job->flags,
        .error_depth = job->error_depth,
        .chain = job->chain,
        .document_hash = job->document_hash,
        .group = job->group.bytes ? group_number(job->tenant, job->group) : 0,
    };
}

bool head_before(const Head *a, const Head *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->dt_ms != b->dt_ms)
        return a->dt_ms < b->dt_ms;
    return a->id < b->id;
}

bool lane_head_before(const Lane *lane, const Head *a, const Head *b)
{
    if (!lane->age_ms)
        return head_before(a, b);
    int64_t first = a->dt_ms - a->priority * lane->age_ms;
    int64_t second = b->dt_ms - b->priority * lane->age_ms;
    return first != second ? first < second : a->id < b->id;
}

size_t lane_count(const Lane *lane)
{
    return lane->window.count - lane->first;
}

const Head *lane_first(const Lane *lane)
{
    return lane_count(lane) ? &lane->window.items[lane->first] : NULL;
}

const Head *lane_last(const Lane *lane)
{
    return lane_count(lane) ? &lane->window.items[lane->window.count - 1] : NULL;
}

const Head *lane_at(const Lane *lane, size_t at)
{
    assert(at < lane_count(lane));
    return &lane->window.items[lane->first + at];
}

static void reset_if_empty(Lane *lane)
{
    if (lane_count(lane))
        return;
    lane->first = 0;
    lane->window.count = 0;
}

Head lane_take(Lane *lane)
{
    assert(lane_count(lane));
    Head head = lane->window.items[lane->first++];
    lane->taken++;
    reset_if_empty(lane);
    return head;
}

Head lane_take_at(Lane *lane, size_t at)
{
    if (!at)
        return lane_take(lane);
    Head head = *lane_at(lane, at);
    size_t place = lane->first + at;
    memmove(&lane->window.items[place], &lane->window.items[place + 1],
            (lane->window.count - place - 1) * sizeof head);
    lane->window.count--;
    lane->taken++;
    return head;
}

/* Index of the first item that does not come before `head`. */
static size_t place_for(const Lane *lane, const HeadList *list, size_t from,
                        const Head *head)
{
    size_t low = from;
    size_t high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        assert(list->items);
        if (lane_head_before(lane, &list->items[middle], head))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(const Lane *lane, HeadList *list, size_t from, const Head *head)
{
    size_t at = place_for(lane, list, from, head);
    mem_room((void **)&list->items, list->count, &list->capacity, sizeof *list->items);
    assert(list->items);
    if (at < list->count && list->items[at].id == head->id)
        return;
    list->count++;
    memmove(&list->items[at + 1], &list->items[at],
            (list->count - 1 - at) * sizeof *list->items);
    list->items[at] = *head;
}

/* Taken heads leave room at the front; it is given back before the list would grow. */
static void compact(Lane *lane)
{
    if (!lane->first || lane->window.count < lane->window.capacity)
        return;
    assert(lane->window.items);
    memmove(lane->window.items, &lane->window.items[lane->first],
            lane_count(lane) * sizeof *lane->window.items);
    lane->window.count -= lane->first;
    lane->first = 0;
}

static void keep_within(Lane *lane, size_t limit)
{
    while (lane_count(lane) > limit) {
        lane->window.count--;
        lane->more = true;
        /* The load under way begins behind what was just cut: it would leave a gap. */
        lane->overflow = lane->overflow || lane->loading;
    }
}

static bool put_aside(Lane *lane, const Head *head)
{
    if (lane->aside.count >= LANE_ASIDE_MAX)
        lane->overflow = true;
    if (lane->overflow)
        return false; /* nothing of the load under way will be used */
    insert(lane, &lane->aside, 0, head);
    return true;
}

bool lane_put(Lane *lane, const Head *head, size_t limit)
{
    const Head *last = lane_last(lane);
    bool inside = last && lane_head_before(lane, head, last);
    if (!inside && lane->loading)
        return put_aside(lane, head);
    if (!inside && lane->more)
        return false;
    compact(lane);
    insert(lane, &lane->window, lane->first, head);
    keep_within(lane, limit);
    return true;
}

void lane_put_run(Lane *lane, const HeadRun *run, size_t limit)
{
    Head head = run->pattern;
    for (uint64_t k = 0; k < run->count; k++) {
        head.id = id_from_count(run->first_c + k, run->node);
        /* Later ones come behind earlier ones: once one was left to the store, all
         * that follow are. */
        if (!lane_put(lane, &head, limit))
            return;
    }
}

static bool remove_from(HeadList *list, size_t from, JobId id)
{
    for (size_t i = from; i < list->count; i++) {
        if (list->items[i].id != id)
            continue;
        memmove(&list->items[i], &list->items[i + 1],
                (list->count - i - 1) * sizeof *list->items);
        list->count--;
        return true;
    }
    return false;
}

bool lane_remove(Lane *lane, JobId id)
{
    bool held = remove_from(&lane->window, lane->first, id);
    reset_if_empty(lane);
    remove_from(&lane->held, 0, id);
    return remove_from(&lane->aside, 0, id) || held;
}

void lane_hold(Lane *lane, const Head *head)
{
    insert(lane, &lane->held, 0, head);
    if (lane->held.count > LANE_HELD_MAX)
        lane->held.count--;
}

int64_t lane_since(const Lane *lane)
{
    const Head *first = lane_first(lane);
    int64_t since_ms = first->dt_ms;
    for (size_t i = 0; i < lane->held.count; i++) {
        const Head *held = &lane->held.items[i];
        if (!lane_head_before(lane, held, first))
            break;
        if (held->dt_ms < since_ms)
            since_ms = held->dt_ms;
    }
    return since_ms;
}

void lane_load_failed(Lane *lane)
{
    lane->loading = false;
    lane->overflow = false;
    lane->aside.count = 0; /* the store has them */
    lane->more = true;
}

void lane_forget(Lane *lane, int64_t age_ms)
{
    lane->age_ms = age_ms;
    lane->more = lane->more || lane_count(lane) || lane->aside.count;
    lane->overflow = lane->loading; /* what it brings is in the old order */
    lane->first = lane->window.count = lane->aside.count = 0;
}

void lane_loaded(Lane *lane, const Head *heads, size_t count, bool more, size_t limit)
{
    if (lane->overflow) {
        /* Too much happened meanwhile to merge; the next load starts afresh. */
        lane_load_failed(lane);
        return;
    }
    lane->loading = false;
    for (size_t i = 0; i < count; i++) {
        compact(lane);
        insert(lane, &lane->window, lane->first, &heads[i]);
    }
    lane->more = more;
    const Head *bound = count ? &heads[count - 1] : NULL;
    for (size_t i = 0; i < lane->aside.count; i++) {
        const Head *head = &lane->aside.items[i];
        if (more && (!bound || lane_head_before(lane, bound, head)))
            continue; /* behind what was loaded: the store has it there */
        compact(lane);
        insert(lane, &lane->window, lane->first, head);
    }
    lane->aside.count = 0;
    keep_within(lane, limit);
}

void lane_done(Lane *lane)
{
    mem_free(lane->window.items);
    mem_free(lane->aside.items);
    mem_free(lane->held.items);
    lane->window = lane->aside = lane->held = (HeadList){ 0 };
}

void lane_check(const Lane *lane)
{
    assert(lane->first <= lane->window.count);
    for (size_t i = lane->first; i + 1 < lane->window.count; i++)
        assert(
            lane_head_before(lane, &lane->window.items[i], &lane->window.items[i + 1]));
    if (!lane->loading)
        assert(lane->aside.count == 0);
}
