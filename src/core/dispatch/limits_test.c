/* SPDX-License-Identifier: Apache-2.0 */
/* limits_test.c - stories of queues and resources: who may start, who waits, and
 * what brings him back. */
#include "core/dispatch/limits.h"
#include "core/dispatch/reasons.h"
#include "core/node/inside.h"
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* --- Tools
 * ------------------------------------------------------------------------------
 */

static Err define(Rig *rig, const char *table, const char *key, const Buf *value)
{
    bool machine = slice_is(slice_text(table), RESOURCE_TABLE);
    return rig_send(rig,
                    (Event){ .kind = EVENT_DEFINE,
                             .table = slice_text(table),
                             .tenant = slice_text(machine ? "" : "default"),
                             .key = slice_text(key),
                             .value = value ? buf_slice(value) : (Slice){ NULL, 0 } });
}

static void set_queue(Rig *rig, const char *name, QueueDef def)
{
    Buf value = { 0 };
    def.tenant = SLICE_LITERAL("default");
    def.name = slice_text(name);
    queue_pack(&value, &def);
    assert_int_equal(define(rig, QUEUE_TABLE, name, &value), ERR_OK);
    buf_done(&value);
}

static void set_resource(Rig *rig, ResourceDef def)
{
    Buf value = { 0 };
    char key[64] = "";
    memcpy(key, def.key.data, def.key.bytes);
    resource_pack(&value, &def);
    assert_int_equal(define(rig, RESOURCE_TABLE, key, &value), ERR_OK);
    buf_done(&value);
}

static void set_quantity(Rig *rig, const char *key, int64_t quantity)
{
    ResourceDef def = resource_default(slice_text(key), RESOURCE_QUANTITY);
    def.quantity = quantity;
    set_resource(rig, def);
}

static Job job_in(const char *queue)
{
    Job job = rig_job();
    job.queue = slice_text(queue);
    return job;
}

static JobId add_to(Rig *rig, const char *queue)
{
    Job job = job_in(queue);
    return rig_add(rig, &job);
}

/* wants: "KEY=AMOUNT", one only. */
static JobId add_wanting(Rig *rig, const char *queue, const char *wants,
                         int64_t service_ms)
{
    Job job = job_in(queue);
    job.resources = slice_of(wants, strlen(wants) + 1);
    job.service_ms = service_ms;
    return rig_add(rig, &job);
}

static Err refused_with(Rig *rig, Job *job, const char *problem)
{
    Event event = {
        .kind = EVENT_ADD, .tenant = SLICE_LITERAL("default"), .jobs = job, .count = 1
    };
    Err err = rig_send(rig, event);
    const Effect *reply = rig_last(rig, EFFECT_REPLY);
    if (err) {
        assert_string_equal(reply->problem, problem);
        assert_true(reply->detail.bytes > 0);
    }
    return err;
}

#define RUNS(id)  assert_int_equal(rig_state(rig, (id)), JOB_RUNNING)
#define WAITS(id) assert_int_equal(rig_state(rig, (id)), JOB_READY)

static void many_slots(NodeSettings *settings)
{
    settings->slots = 100;
}

static void tenant_fairness(NodeSettings *settings)
{
    settings->slots = 1;
    settings->fair_tenants = true;
}

/* --- Queues ---------------------------------------------------------------------------
 */

/* S3.9, S3.10, S3.15: the thread limit of a queue on a node. */
static void a_queue_runs_as_many_as_its_slots(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_queue(rig, "q", (QueueDef){ .has_slots = true, .slots = 2 });
    JobId ids[4];
    for (size_t i = 0; i < 4; i++)
        ids[i] = add_to(rig, "q");
    JobId other = add_to(rig, "other");
    RUNS(ids[0]);
    RUNS(ids[1]);
    WAITS(ids[2]);
    RUNS(other);
    rig_exit(rig, ids[0], 0);
    RUNS(ids[2]);
    WAITS(ids[3]);
    set_queue(rig, "q", (QueueDef){ .has_slots = true, .slots = 1 }); /* kills nothing */
    RUNS(ids[1]);
    RUNS(ids[2]);
    rig_exit(rig, ids[1], 0);
    WAITS(ids[3]);
    rig_exit(rig, ids[2], 0);
    RUNS(ids[3]);
    rig_close(rig);
}

static void a_paused_queue_starts_nothing_until_it_is_resumed(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    JobId before = add_to(rig, "q");
    set_queue(rig, "q", (QueueDef){ .paused = true });
    JobId held = add_to(rig, "q");
    JobId free = add_to(rig, "other");
    RUNS(before); /* running jobs go on */
    WAITS(held);
    RUNS(free);
    rig_wait(rig, 3600 * 1000);
    WAITS(held);
    set_queue(rig, "q", (QueueDef){ 0 });
    RUNS(held);
    rig_close(rig);
}

static void a_pause_until_a_time_ends_by_itself(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_queue(rig, "q",
              (QueueDef){ .paused = true, .paused_until_ms = rig->now.wall_ms + 5000 });
    JobId id = add_to(rig, "q");
    rig_wait(rig, 4999);
    WAITS(id);
    assert_true(node_next_wake(rig->node) <= rig->now.boot_ms + 1);
    rig_wait(rig, 1);
    RUNS(id);
    rig_close(rig);
}

static void a_rate_lets_the_next_start_in_time(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_queue(rig, "q", (QueueDef){ .rate_jobs = 2, .rate_ms = 1000 });
    JobId ids[4];
    for (size_t i = 0; i < 4; i++)
        ids[i] = add_to(rig, "q");
    RUNS(ids[1]);
    WAITS(ids[2]);
    assert_int_equal(node_next_wake(rig->node), rig->now.boot_ms + 500);
    rig_wait(rig, 499);
    WAITS(ids[2]);
    rig_wait(rig, 1);
    RUNS(ids[2]);
    WAITS(ids[3]);
    rig_wait(rig, 500);
    RUNS(ids[3]);
    rig_close(rig);
}

/* S3.2: refused at submission, with the range. */
static void a_priority_outside_the_range_is_refused(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_queue(
        rig, "q",
        (QueueDef){
            .has_min = true, .priority_min = 1, .has_max = true, .priority_max = 10 });
    Job job = job_in("q");
    job.priority = 11;
    assert_int_equal(refused_with(rig, &job, "priority_out_of_range"), ERR_INVALID);
    Slice detail = rig_last(rig, EFFECT_REPLY)->detail;
    assert_non_null(memmem(detail.data, detail.bytes, "1 to 10", 7));
    job.priority = 10;
    assert_int_equal(refused_with(rig, &job, ""), ERR_OK);
    rig_close(rig);
}

/* S3.5, S0.78: a change obeys the range too. */
static void a_change_obeys_the_range_of_the_queue(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    set_queue(rig, "small", (QueueDef){ .has_max = true, .priority_max = 5 });
    Job job = job_in("q");
    job.priority = 50;
    JobId id = rig_add(rig, &job);
    Event patch = { .kind = EVENT_ACT, .id = id, .action = ACT_PATCH };
    patch.patch = (Patch){ .fields = FIELD_QUEUE, .queue = SLICE_LITERAL("small") };
    assert_int_equal(rig_send(rig, patch), ERR_INVALID);
    assert_true(slice_is(rig_find(rig, id)->queue, "q"));
    patch.patch.fields = FIELD_QUEUE | FIELD_PRIORITY;
    patch.patch.priority = 5;
    assert_int_equal(rig_send(rig, patch), ERR_OK);
    assert_true(slice_is(rig_find(rig, id)->queue, "small"));
    assert_int_equal(rig_find(rig, id)->priority, 5);
    rig_close(rig);
}

static void one_of_many_is_refused_alone(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_queue(rig, "q", (QueueDef){ .has_max = true, .priority_max = 5 });
    Job jobs[3] = { job_in("q"), job_in("q"), job_in("q") };
    jobs[1].priority = 6;
    Event event = {
        .kind = EVENT_ADD, .tenant = SLICE_LITERAL("default"), .jobs = jobs, .count = 3
    };
    size_t before = rig->count;
    assert_int_equal(rig_send(rig, event), ERR_OK);
    const Effect *reply = rig_last(rig, EFFECT_REPLY);
    assert_int_equal(reply->refused_count, 1);
    assert_int_equal(rig->count, before + 2);
    rig_close(rig);
}

static void a_queue_says_the_priority_of_those_who_say_none(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_queue(rig, "q", (QueueDef){ .has_default = true, .default_priority = 8 });
    Job job = job_in("q");
    job.priority = PRIORITY_UNSET;
    JobId id = rig_add(rig, &job);
    assert_int_equal(rig_find(rig, id)->priority, 8);
    rig_close(rig);
}

/* Aging: exact whatever the window, and told to the store. */
static void waiting_makes_up_for_priority(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    set_queue(rig, "q", (QueueDef){ .aging_milli = 1000 }); /* a point per minute */
    Job low = job_in("q");
    low.priority = 0;
    JobId old = rig_add(rig, &low);
    rig_wait(rig, 10 * 60 * 1000 + 1);
    Job high = job_in("q");
    high.priority = 10; /* ten points: ten minutes */
    JobId urgent = rig_add(rig, &high);
    high.priority = 11;
    JobId more = rig_add(rig, &high);
    rig_slots(rig, 1);
    RUNS(more);
    rig_exit(rig, more, 0);
    RUNS(old);
    WAITS(urgent);
    set_queue(rig, "q", (QueueDef){ 0 }); /* hard priority again */
    JobId again = rig_add(rig, &low);
    rig_exit(rig, old, 0);
    RUNS(urgent);
    rig_exit(rig, urgent, 0);
    RUNS(again);
    rig_close(rig);
}

/* S3.10: the node's own number goes before the queue's, whether or not anyone has defined
 * that, and for the node itself. */
static void a_node_may_have_slots_of_its_own(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    NodeSlots slots = { .queues = { "q=1", 4 } };
    Buf value = { 0 };
    slots_pack(&value, &slots);
    assert_int_equal(define(rig, SLOTS_TABLE, "rig-0001", &value), ERR_OK);
    JobId first = add_to(rig, "q");
    JobId second = add_to(rig, "q");
    RUNS(first);
    WAITS(second);
    assert_int_equal(define(rig, QUEUE_TABLE, "q", NULL), ERR_NOT_FOUND);
    set_queue(rig, "q", (QueueDef){ .has_slots = true, .slots = 3 });
    WAITS(second);
    assert_int_equal(define(rig, SLOTS_TABLE, "rig-0001", NULL), ERR_OK);
    RUNS(second);
    slots = (NodeSlots){ .has_slots = true, .slots = 2 };
    buf_clear(&value);
    slots_pack(&value, &slots);
    assert_int_equal(define(rig, SLOTS_TABLE, "rig-0001", &value), ERR_OK);
    assert_int_equal(node_facts(rig->node).slots, 2);
    JobId third = add_to(rig, "other");
    WAITS(third);
    buf_done(&value);
    rig_close(rig);
}

/* --- Resources
 * --------------------------------------------------------------------------
 */

/* S3.8, S3.11, S3.12, S3.26 */
static void a_job_waits_for_what_it_needs(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_quantity(rig, "lic", 2);
    JobId first = add_wanting(rig, "q", "lic=2", 0);
    JobId second = add_wanting(rig, "q", "lic=1", 0);
    JobId free = add_to(rig, "other");
    RUNS(first);
    WAITS(second);
    RUNS(free);
    assert_true(slice_equal(rig_find(rig, first)->bookings, slice_of("lic=#2", 7)));
    rig_exit(rig, first, 0);
    RUNS(second);
    rig_close(rig);
}

/* S3.57: every job of a queue is charged by the queue's managers. */
static void managers_of_the_queue_charge_every_job(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_quantity(rig, "tape", 1);
    set_queue(rig, "q", (QueueDef){ .resources = { "tape", 5 } });
    JobId first = add_to(rig, "q");
    JobId second = add_to(rig, "q");
    RUNS(first);
    WAITS(second);
    rig_exit(rig, first, 0);
    RUNS(second);
    rig_close(rig);
}

/* Oracle 4: two queues share a manager of 3, 2 are free; the longest-waiting head needs
 * 3, the other 1. S3.59, S3.60 */
static void oracle_4(Rig *rig, QueuePolicy policy, bool starts)
{
    set_quantity(rig, "m", 3);
    set_queue(rig, "a", (QueueDef){ .policy = policy });
    set_queue(rig, "b", (QueueDef){ .policy = policy });
    JobId holder = add_wanting(rig, "c", "m=1", 60000);
    RUNS(holder);
    rig_slots(rig, 0);
    JobId big = add_wanting(rig, "a", "m=3", 60000);
    rig_wait(rig, 10);
    JobId small = add_wanting(rig, "b", "m=1", 30000);
    rig_slots(rig, 100);
    WAITS(big);
    assert_int_equal(rig_state(rig, small), starts ? JOB_RUNNING : JOB_READY);
    rig_exit(rig, holder, 0);
    if (starts)
        rig_exit(rig, small, 0);
    RUNS(big);
    rig_close(rig);
}

static void a_manager_is_kept_for_the_one_who_waits_longest(void **state)
{
    (void)state;
    oracle_4(rig_open(many_slots), POLICY_FAIR, false);
}

static void a_short_job_fills_the_gap_under_backfill(void **state)
{
    (void)state;
    oracle_4(rig_open(many_slots), POLICY_BACKFILL, true);
}

static void backfill_needs_to_know_that_it_ends_in_time(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_quantity(rig, "m", 3);
    set_queue(rig, "a", (QueueDef){ .policy = POLICY_BACKFILL });
    JobId holder = add_wanting(rig, "a", "m=2", 60000);
    JobId big = add_wanting(rig, "a", "m=3", 60000);
    JobId unknown = add_wanting(rig, "a", "m=1", 0);
    JobId late = add_wanting(rig, "a", "m=1", 60001);
    JobId good = add_wanting(rig, "a", "m=1", 60000);
    RUNS(holder);
    WAITS(big);
    WAITS(unknown);
    WAITS(late);
    RUNS(good);
    rig_exit(rig, good, 0);
    rig_exit(rig, holder, 0);
    RUNS(big);
    rig_close(rig);
}

/* S3.14: not enough for this one, and the next is looked at. */
static void skip_passes_over_what_does_not_fit(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_quantity(rig, "m", 3);
    set_queue(rig, "q", (QueueDef){ .policy = POLICY_SKIP });
    JobId holder = add_wanting(rig, "q", "m=2", 0);
    JobId big = add_wanting(rig, "q", "m=2", 0);
    JobId small = add_wanting(rig, "q", "m=1", 0);
    JobId none = add_to(rig, "q");
    RUNS(holder);
    WAITS(big);
    RUNS(small);
    WAITS(none); /* exhausted: the lane is over for the pass */
    rig_exit(rig, small, 0);
    RUNS(none);
    WAITS(big);
    rig_exit(rig, holder, 0);
    RUNS(big);
    rig_close(rig);
}

/* Oracle 5 (one node), S3.16, S3.48, I.5: normal jobs go on, never two instances. */
static void a_highlander_refuses_only_itself(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    const Handler only = { .lang = LANG_SH,
                           .body = SLICE_LITERAL("x"),
                           .highlander = true };
    assert_int_equal(rig_define(rig, "only", &only), 1);
    Job job = rig_typed_job("only");
    job.queue = SLICE_LITERAL("q");
    JobId first = rig_add(rig, &job);
    RUNS(first);
    JobId second = rig_add(rig, &job);
    JobId normal = add_to(rig, "q");
    if (rig_find(rig, second))
        WAITS(second);
    RUNS(normal);
    rig_exit(rig, first, 0);
    if (rig_find(rig, second))
        RUNS(second);
    rig_close(rig);
}

static void more_than_there_is_at_all_is_refused(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_quantity(rig, "m", 3);
    Job job = job_in("q");
    job.resources = slice_of("m=4", 4);
    assert_int_equal(refused_with(rig, &job, "resource_too_small"), ERR_INVALID);
    job.resources = slice_of("nope=1", 7);
    assert_int_equal(refused_with(rig, &job, "resource_unknown"), ERR_INVALID);
    job.resources = slice_of("m=3", 4);
    assert_int_equal(refused_with(rig, &job, ""), ERR_OK);
    rig_close(rig);
}

static void one_job_never_freezes_a_manager(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_quantity(rig, "m", 3);
    JobId holder = add_wanting(rig, "q", "m=1", 0);
    JobId big = add_wanting(rig, "q", "m=3", 0);
    JobId small = add_wanting(rig, "q", "m=1", 0);
    WAITS(big);
    WAITS(small);
    set_quantity(rig, "m", 2); /* the bookings stay: one is in use */
    WAITS(big);
    RUNS(small);
    rig_exit(rig, holder, 0);
    rig_exit(rig, small, 0);
    WAITS(big);
    set_quantity(rig, "m", 3);
    RUNS(big);
    rig_close(rig);
}

/* S3.22, live change keeps bookings. */
static void a_smaller_manager_keeps_what_is_booked(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_quantity(rig, "m", 4);
    JobId first = add_wanting(rig, "q", "m=2", 0);
    JobId second = add_wanting(rig, "q", "m=2", 0);
    set_quantity(rig, "m", 2);
    RUNS(first);
    RUNS(second);
    JobId third = add_wanting(rig, "q", "m=1", 0);
    rig_exit(rig, first, 0);
    WAITS(third); /* two of two are still in use */
    rig_exit(rig, second, 0);
    RUNS(third);
    rig_close(rig);
}

/* S3.27, S3.38: decided otherwise: counted again from what lives. */
static void a_restart_counts_what_still_runs(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_quantity(rig, "m", 2);
    set_queue(rig, "q", (QueueDef){ .has_slots = true, .slots = 1 });
    JobId holder = add_wanting(rig, "q", "m=2", 0);
    JobId same_queue = add_to(rig, "q");
    JobId other = add_wanting(rig, "other", "m=1", 0);
    rig_reopen(rig, true);
    rig_step(rig, NULL, 0);
    RUNS(holder);
    WAITS(same_queue);
    WAITS(other);
    rig_exit(rig, holder, 0);
    RUNS(same_queue);
    RUNS(other);
    rig_reopen(rig, false); /* their processes are gone: nothing is held by the dead */
    rig_step(rig, NULL, 0);
    RUNS(same_queue);
    RUNS(other);
    rig_close(rig);
}

/* S3.19: what the job says goes before what its handler says, key by key. */
static void job_before_handler_before_manager(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_quantity(rig, "a", 10);
    set_quantity(rig, "b", 10);
    const Handler handler = { .lang = LANG_SH,
                              .body = SLICE_LITERAL("x"),
                              .resources = { "a=2\0b=3", 8 } };
    rig_define(rig, "t", &handler);
    Job job = rig_typed_job("t");
    JobId plain = rig_add(rig, &job);
    assert_true(slice_equal(rig_find(rig, plain)->bookings, slice_of("a=#2\0b=#3", 10)));
    job.resources = slice_of("b=5", 4);
    JobId own = rig_add(rig, &job);
    assert_true(slice_equal(rig_find(rig, own)->bookings, slice_of("a=#2\0b=#5", 10)));
    job.resources = slice_of("*quantity=1", 12);
    JobId kind = rig_add(rig, &job);
    assert_true(slice_equal(rig_find(rig, kind)->bookings, slice_of("a=#1\0b=#1", 10)));
    rig_close(rig);
}

/* --- Tours
 * ------------------------------------------------------------------------------
 */

typedef struct Told {
    ReasonKind kinds[8];
    Reason last;
    size_t count;
} Told;

static void take_reason(void *context, const Reason *reason)
{
    Told *told = context;
    told->kinds[told->count++] = reason->kind;
    told->last = *reason;
}

/* Every reason, in order. */
static void a_waiting_job_is_told_why(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    set_quantity(rig, "m", 2);
    set_queue(rig, "q", (QueueDef){ .has_slots = true, .slots = 1 });
    JobId holder = add_wanting(rig, "q", "m=2", 60000);
    JobId waiting = add_wanting(rig, "q", "m=1", 0);
    Told told = { .count = 0 };
    node_reasons(rig->node, rig_find(rig, waiting), rig->now, take_reason, &told);
    assert_int_equal(told.count, 2);
    assert_int_equal(told.kinds[0], REASON_QUEUE_FULL);
    assert_int_equal(told.kinds[1], REASON_RESOURCE_BUSY);
    assert_true(told.last.holder == holder);
    assert_int_equal(told.last.until_ms, rig_find(rig, holder)->started_ms + 60000);
    set_queue(rig, "q", (QueueDef){ .paused = true });
    rig_slots(rig, 1);
    told.count = 0;
    node_reasons(rig->node, rig_find(rig, waiting), rig->now, take_reason, &told);
    assert_int_equal(told.count, 3);
    assert_int_equal(told.kinds[0], REASON_QUEUE_PAUSED);
    assert_int_equal(told.kinds[1], REASON_NODE_FULL);
    assert_int_equal(told.kinds[2], REASON_RESOURCE_BUSY);
    rig_close(rig);
}

/* S3.55: a held job that would be the first counts for how long its queue has waited. */
static void a_held_head_counts_for_the_wait_of_its_lane(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    JobId held = add_to(rig, "b");
    assert_int_equal(rig_act(rig, held, ACT_HOLD), ERR_OK);
    rig_wait(rig, 10);
    JobId first = add_to(rig, "a");
    rig_wait(rig, 10);
    JobId behind = add_to(rig, "b");
    rig_slots(rig, 1);
    RUNS(behind); /* its lane waits since the held one came */
    WAITS(first);
    rig_exit(rig, behind, 0);
    RUNS(first);
    rig_exit(rig, first, 0);
    rig_slots(rig, 0);
    assert_int_equal(rig_act(rig, held, ACT_CANCEL), ERR_OK);
    JobId older = add_to(rig, "a");
    rig_wait(rig, 10);
    JobId newer = add_to(rig, "b");
    rig_slots(rig, 1);
    RUNS(older); /* no one is held any more */
    WAITS(newer);
    rig_close(rig);
}

/* S3.53: the node takes more heads than it has slots: while the store says nothing more,
 * each end starts the next. */
static void more_heads_are_taken_than_can_run(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    JobId ids[8];
    rig_slots(rig, 1);
    for (size_t i = 0; i < 8; i++)
        ids[i] = add_to(rig, "q");
    rig_reopen(rig, true); /* they come from the store now */
    rig_step(rig, NULL, 0);
    RUNS(ids[0]);
    rig->hold_answers = true;
    for (size_t i = 1; i < 8; i++) {
        WAITS(ids[i]);
        rig_exit(rig, ids[i - 1], 0);
        RUNS(ids[i]);
    }
    rig_close(rig);
}

/* S3.7: hard priority: as long as higher ones come, a lower one waits. */
static void a_low_priority_waits_as_long_as_higher_ones_come(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 1);
    Job job = job_in("q");
    job.priority = 9;
    JobId running = rig_add(rig, &job);
    job.priority = 1;
    JobId low = rig_add(rig, &job);
    job.priority = 9;
    for (int i = 0; i < 50; i++) {
        JobId next = rig_add(rig, &job);
        rig_exit(rig, running, 0);
        RUNS(next);
        WAITS(low);
        rig_wait(rig, 60000);
        running = next;
    }
    rig_exit(rig, running, 0);
    RUNS(low);
    rig_close(rig);
}

/* S3.49, S3.54, S3.56, S3.61: a refused lane keeps its turn; others get theirs. */
static void a_refused_lane_goes_first_when_there_is_room(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_quantity(rig, "m", 1);
    JobId holder = add_wanting(rig, "a", "m=1", 0);
    rig_wait(rig, 1);
    JobId waiting = add_wanting(rig, "b", "m=1", 0);
    rig_wait(rig, 1);
    JobId behind = add_wanting(rig, "a", "m=1", 0);
    rig_exit(rig, holder, 0);
    RUNS(waiting);
    WAITS(behind);
    rig_exit(rig, waiting, 0);
    RUNS(behind);
    rig_close(rig);
}

static JobId add_for(Rig *rig, const char *tenant, const char *queue)
{
    Job job = job_in(queue);
    job.tenant = slice_text(tenant);
    return rig_add(rig, &job);
}

/* Oracle 6, second half: 50/50 between tenants, however many queues one of them has. */
static void fairness_by_tenant_gives_each_its_share(void **state)
{
    (void)state;
    Rig *rig = rig_open(tenant_fairness);
    static const char *const queues[] = { "q1", "q2", "q3" };
    JobId held = add_for(rig, "other", "q");
    for (int round = 0; round < 12; round++) {
        add_for(rig, "a", queues[round % 3]);
        add_for(rig, "b", "q");
    }
    int of_a = 0;
    JobId running = held;
    for (int i = 0; i < 12; i++) {
        rig_exit(rig, running, 0);
        for (size_t k = 0; k < rig->count; k++)
            if (rig->jobs[k].state == JOB_RUNNING)
                running = rig->jobs[k].id;
        of_a += slice_is(rig_find(rig, running)->tenant, "a");
    }
    assert_int_equal(of_a, 6);
    rig_close(rig);
}

/* S0.66, S3.63: nothing that waits is looked at again and again. */
static void lanes_that_wait_cost_nothing(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_quantity(rig, "m", 1);
    set_queue(rig, "shut", (QueueDef){ .paused = true });
    JobId holder = add_wanting(rig, "a", "m=1", 0);
    add_wanting(rig, "b", "m=1", 0);
    add_wanting(rig, "c", "m=1", 0);
    add_to(rig, "shut");
    assert_int_equal(node_facts(rig->node).lanes_ready, 0);
    rig_exit(rig, holder, 0);
    assert_int_equal(node_facts(rig->node).lanes_ready, 0);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_runs_as_many_as_its_slots),
        cmocka_unit_test(a_paused_queue_starts_nothing_until_it_is_resumed),
        cmocka_unit_test(a_pause_until_a_time_ends_by_itself),
        cmocka_unit_test(a_rate_lets_the_next_start_in_time),
        cmocka_unit_test(a_priority_outside_the_range_is_refused),
        cmocka_unit_test(a_change_obeys_the_range_of_the_queue),
        cmocka_unit_test(one_of_many_is_refused_alone),
        cmocka_unit_test(a_queue_says_the_priority_of_those_who_say_none),
        cmocka_unit_test(waiting_makes_up_for_priority),
        cmocka_unit_test(a_node_may_have_slots_of_its_own),
        cmocka_unit_test(a_job_waits_for_what_it_needs),
        cmocka_unit_test(managers_of_the_queue_charge_every_job),
        cmocka_unit_test(a_manager_is_kept_for_the_one_who_waits_longest),
        cmocka_unit_test(a_short_job_fills_the_gap_under_backfill),
        cmocka_unit_test(backfill_needs_to_know_that_it_ends_in_time),
        cmocka_unit_test(skip_passes_over_what_does_not_fit),
        cmocka_unit_test(a_highlander_refuses_only_itself),
        cmocka_unit_test(more_than_there_is_at_all_is_refused),
        cmocka_unit_test(one_job_never_freezes_a_manager),
        cmocka_unit_test(a_smaller_manager_keeps_what_is_booked),
        cmocka_unit_test(a_restart_counts_what_still_runs),
        cmocka_unit_test(job_before_handler_before_manager),
        cmocka_unit_test(a_waiting_job_is_told_why),
        cmocka_unit_test(a_held_head_counts_for_the_wait_of_its_lane),
        cmocka_unit_test(more_heads_are_taken_than_can_run),
        cmocka_unit_test(a_low_priority_waits_as_long_as_higher_ones_come),
        cmocka_unit_test(a_refused_lane_goes_first_when_there_is_room),
        cmocka_unit_test(fairness_by_tenant_gives_each_its_share),
        cmocka_unit_test(lanes_that_wait_cost_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
