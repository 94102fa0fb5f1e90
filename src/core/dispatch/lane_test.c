/* SPDX-License-Identifier: Apache-2.0 */
/* lane_test.c - windows against a plain sorted list of all ready jobs (I8).
 *
 * The list is the truth. A load is asked at one moment, looked up in the truth of a later
 * one, and answered later still; what changed between look-up and answer is left out of
 * it, as the node does. Whatever happens meanwhile: the window is the beginning of the
 * truth, and all of it unless the lane knows that there is more. */
#include "core/dispatch/lane.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TRUTH_MAX 4000

typedef struct Change { /* when a job last changed */
    JobId id;
    uint64_t step;
} Change;

typedef struct World {
    Rng rng;
    Lane lane;
    size_t limit;
    Head truth[TRUTH_MAX];
    size_t count;
    uint64_t next_c;
    uint64_t step;
    Change *changes;
    size_t change_count;
    size_t change_capacity;
    /* The load under way. */
    bool behind;
    Head key;
    bool looked_up;
    uint64_t looked_up_step;
    Head found[64];
    size_t found_count;
    bool found_more;
    uint64_t loads;
    uint64_t overflows;
    bool flood; /* with runs that are larger than what is kept aside */
} World;

static void note_change(World *world, JobId id)
{
    MEM_PUSH(world->changes, world->change_count, world->change_capacity) =
        (Change){ id, world->step };
}

static bool changed_since(const World *world, JobId id, uint64_t step)
{
    for (size_t i = world->change_count; i-- > 0;)
        if (world->changes[i].id == id && world->changes[i].step > step)
            return true;
    return false;
}

static void truth_add(World *world, const Head *head)
{
    assert_true(world->count < TRUTH_MAX);
    size_t at = world->count++;
    for (; at > 0 && head_before(head, &world->truth[at - 1]); at--)
        world->truth[at] = world->truth[at - 1];
    world->truth[at] = *head;
}

static void truth_remove(World *world, size_t at)
{
    memmove(&world->truth[at], &world->truth[at + 1],
            (--world->count - at) * sizeof *world->truth);
}

static Head any_head(World *world)
{
    return (Head){
        .id = id_from_count(world->next_c++, 1),
        .priority = (int64_t)rng_below(&world->rng, 3),
        .dt_ms = (int64_t)rng_below(&world->rng, 4),
    };
}

static void put_one(World *world)
{
    Head head = any_head(world);
    note_change(world, head.id);
    truth_add(world, &head);
    lane_put(&world->lane, &head, world->limit);
}

static void put_run(World *world, uint64_t count)
{
    HeadRun run = { any_head(world), world->next_c, count, 1 };
    world->next_c += count;
    for (uint64_t k = 0; k < count; k++) {
        Head head = run.pattern;
        head.id = id_from_count(run.first_c + k, 1);
        truth_add(world, &head);
    }
    lane_put_run(&world->lane, &run, world->limit);
}

static void take_one(World *world)
{
    if (!lane_first(&world->lane))
        return;
    Head head = lane_take(&world->lane);
    assert_true(head.id == world->truth[0].id);
    note_change(world, head.id);
    truth_remove(world, 0);
}

static void remove_any(World *world, bool put_back)
{
    if (!world->count)
        return;
    size_t at = rng_below(&world->rng, world->count);
    Head head = world->truth[at];
    truth_remove(world, at);
    note_change(world, head.id);
    lane_remove(&world->lane, head.id);
    if (!put_back)
        return;
    head.priority = (int64_t)rng_below(&world->rng, 3);
    head.dt_ms = (int64_t)rng_below(&world->rng, 4);
    truth_add(world, &head);
    lane_put(&world->lane, &head, world->limit);
}

static void ask(World *world)
{
    Lane *lane = &world->lane;
    bool wants = lane->more && lane_count(lane) <= world->limit / 4;
    if (lane->loading || !wants)
        return;
    lane->loading = true;
    world->loads++;
    world->looked_up = false;
    world->behind = lane_last(lane) != NULL;
    if (world->behind)
        world->key = *lane_last(lane);
}

static void look_up(World *world)
{
    if (!world->lane.loading || world->looked_up)
        return;
    world->looked_up = true;
    world->looked_up_step = world->step;
    world->found_count = 0;
    world->found_more = false;
    for (size_t i = 0; i < world->count; i++) {
        if (world->behind && !head_before(&world->key, &world->truth[i]))
            continue;
        if (world->found_count == world->limit) {
            world->found_more = true;
            return;
        }
        world->found[world->found_count++] = world->truth[i];
    }
}

static void answer(World *world, unsigned fail_percent)
{
    Lane *lane = &world->lane;
    if (!lane->loading)
        return;
    look_up(world);
    world->overflows += lane->overflow;
    if (rng_percent(&world->rng, fail_percent)) {
        lane_load_failed(lane);
        return;
    }
    Head heads[64];
    size_t count = 0;
    for (size_t i = 0; i < world->found_count; i++)
        if (!changed_since(world, world->found[i].id, world->looked_up_step))
            heads[count++] = world->found[i];
    lane_loaded(lane, heads, count, world->found_more, world->limit);
}

static void check(const World *world)
{
    const Lane *lane = &world->lane;
    lane_check(lane);
    size_t count = lane_count(lane);
    assert_true(count <= world->limit);
    assert_true(count <= world->count);
    for (size_t i = 0; i < count; i++)
        assert_true(lane->window.items[lane->first + i].id == world->truth[i].id);
    if (!lane->more && !lane->loading)
        assert_int_equal(count, world->count); /* nothing is forgotten */
    if (count) {
        assert_ptr_equal(lane_first(lane), &lane->window.items[lane->first]);
        assert_true(lane_last(lane)->id == world->truth[count - 1].id);
    }
}

static void step(World *world)
{
    world->step++;
    switch (rng_below(&world->rng, 20)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        put_one(world);
        break;
    case 5:
        put_run(world, 1 + rng_below(&world->rng, 12));
        break;
    case 13:
        if (world->flood && rng_percent(&world->rng, 10))
            put_run(world, LANE_ASIDE_MAX + 5);
        break;
    case 6:
        remove_any(world, false);
        break;
    case 7:
        remove_any(world, true);
        break;
    case 8:
    case 9:
    case 10:
        look_up(world);
        break;
    case 11:
    case 12:
        answer(world, 10);
        break;
    default:
        take_one(world);
    }
    ask(world);
    check(world);
}

/* With no one putting any more, all come out, in order. */
static void drain(World *world)
{
    for (size_t left = 10 * world->count + 100; left && world->count; left--) {
        world->step++;
        take_one(world);
        ask(world);
        answer(world, 0);
        check(world);
    }
    assert_int_equal(world->count, 0);
    if (world->lane.loading)
        answer(world, 0);
    assert_false(world->lane.more);
}

static void run_world(World *world, uint64_t seed, size_t limit, int steps)
{
    *world = (World){ .rng = { seed }, .limit = limit, .next_c = 1 };
    world->flood = seed % 96 == 8;
    for (int i = 0; i < steps; i++) {
        step(world);
        if (world->count > TRUTH_MAX / 4)
            drain(world);
    }
    drain(world);
    lane_done(&world->lane);
    mem_free(world->changes);
}

static void a_window_is_the_beginning_of_the_truth(void **state)
{
    (void)state;
    World *world = MEM_NEW(World);
    uint64_t loads = 0;
    uint64_t overflows = 0;
    for (size_t limit = 1; limit <= 8; limit++) {
        for (uint64_t seed = 0; seed < 15; seed++) {
            run_world(world, seed * 8 + limit, limit, 1500);
            loads += world->loads;
            overflows += world->overflows;
        }
    }
    assert_true(loads > 1000); /* the interesting things did happen */
    assert_true(overflows > 20);
    mem_free(world);
}

static Lane lane_of(const int64_t *priorities, size_t count)
{
    Lane lane = { 0 };
    for (size_t i = 0; i < count; i++)
        lane_put(&lane, &(Head){ .id = 100 + i, .priority = priorities[i] }, 100);
    return lane;
}

static void larger_priority_then_earlier_date_then_smaller_id(void **state)
{
    (void)state;
    static const Head order[] = {
        { .priority = 9, .dt_ms = 50, .id = 7 }, { .priority = 5, .dt_ms = 1, .id = 9 },
        { .priority = 5, .dt_ms = 2, .id = 3 },  { .priority = 5, .dt_ms = 2, .id = 4 },
        { .priority = -5, .dt_ms = 0, .id = 1 },
    };
    for (size_t a = 0; a < 5; a++)
        for (size_t b = 0; b < 5; b++)
            assert_int_equal(head_before(&order[a], &order[b]), a < b);
}

static void what_is_cut_while_a_load_is_under_way_makes_it_void(void **state)
{
    (void)state;
    Lane lane = lane_of((const int64_t[]){ 5 }, 1);
    lane.more = true;
    lane.loading = true; /* asked: behind priority 5 */
    for (JobId id = 1; id <= 4; id++)
        lane_put(&lane, &(Head){ .id = id, .priority = 9 }, 4);
    assert_int_equal(lane_count(&lane), 4); /* the one of priority 5 was cut */
    lane_loaded(&lane, &(Head){ .id = 50, .priority = 1 }, 1, false, 4);
    assert_int_equal(lane_count(&lane), 4);
    assert_true(lane_last(&lane)->id == 4); /* not 50: 5 would come before it */
    assert_true(lane.more);
    lane_done(&lane);
}

static void a_run_before_the_window_enters_it_in_spite_of_an_overflow(void **state)
{
    (void)state;
    Lane lane = lane_of((const int64_t[]){ 5, 4, 3 }, 3);
    lane.more = true;
    lane.loading = true;
    lane.overflow = true;
    HeadRun run = { { .priority = 9 }, 1, 1000000, 1 };
    lane_put_run(&lane, &run, 8);
    assert_int_equal(lane_count(&lane), 8);
    for (uint64_t k = 0; k < 8; k++)
        assert_true(lane_take(&lane).id == id_from_count(1 + k, 1));
    lane_done(&lane);
}

static void a_million_lines_cost_a_window(void **state)
{
    (void)state;
    Lane lane = { 0 };
    HeadRun run = { { .priority = 5 }, 1, (uint64_t)1 << 40, 1 };
    lane_put_run(&lane, &run, 8); /* would take years if it looked at each */
    assert_int_equal(lane_count(&lane), 8);
    assert_true(lane.more);
    lane.loading = true;
    run.first_c += run.count;
    lane_put_run(&lane, &run, 8);
    assert_true(lane.overflow);
    lane_load_failed(&lane);
    assert_int_equal(lane_count(&lane), 8);
    lane_check(&lane);
    lane_done(&lane);
}

static void a_head_is_what_the_core_needs_of_a_job(void **state)
{
    (void)state;
    Names names = { 0 };
    Job job = job_default();
    job.id = 1;
    job.priority = 2;
    job.dt_ms = 3;
    job.window_from_ms = 4;
    job.retry_delay_ms = 5;
    job.retry_window_ms = 6;
    job.max_run_ms = 7;
    job.attempt = 8;
    job.retry_number = 9;
    job.max_retries = 10;
    job.flags = 11;
    job.tenant = SLICE_LITERAL("t");
    job.queue = SLICE_LITERAL("q");
    job.type = SLICE_LITERAL("y");
    Head head = head_of(&job, &names);
    assert_true(head.id == 1);
    assert_true(head.priority == 2);
    assert_true(head.dt_ms == 3);
    assert_true(head.window_from_ms == 4);
    assert_true(head.retry_delay_ms == 5);
    assert_true(head.retry_window_ms == 6);
    assert_true(head.max_run_ms == 7);
    assert_int_equal(head.attempt, 8);
    assert_int_equal(head.retry_number, 9);
    assert_int_equal(head.max_retries, 10);
    assert_int_equal(head.flags, 11);
    assert_true(slice_is(names_text(&names, head.tenant), "t"));
    assert_true(slice_is(names_text(&names, head.queue), "q"));
    assert_true(slice_is(names_text(&names, head.type), "y"));
    names_done(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_is_the_beginning_of_the_truth),
        cmocka_unit_test(larger_priority_then_earlier_date_then_smaller_id),
        cmocka_unit_test(what_is_cut_while_a_load_is_under_way_makes_it_void),
        cmocka_unit_test(a_run_before_the_window_enters_it_in_spite_of_an_overflow),
        cmocka_unit_test(a_million_lines_cost_a_window),
        cmocka_unit_test(a_head_is_what_the_core_needs_of_a_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
