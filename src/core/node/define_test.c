/* SPDX-License-Identifier: Apache-2.0 */
/* define_test.c - definitions that lean upon others: a queue upon its resources.
 * What queues and resources do: dispatch/limits_test.c. */
#include "core/dispatch/limits.h"
#include "core/dispatch/reasons.h"
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void many_slots(NodeSettings *settings)
{
    settings->slots = 100;
}

/* value NULL: delete it. */
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

static Err offer_queue(Rig *rig, const QueueDef *def)
{
    Buf value = { 0 };
    queue_pack(&value, def);
    Err err = define(rig, QUEUE_TABLE, "q", &value);
    buf_done(&value);
    return err;
}

static void set_quantity(Rig *rig, const char *key, int64_t quantity)
{
    ResourceDef def = resource_default(slice_text(key), RESOURCE_QUANTITY);
    Buf value = { 0 };
    def.quantity = quantity;
    resource_pack(&value, &def);
    assert_int_equal(define(rig, RESOURCE_TABLE, key, &value), ERR_OK);
    buf_done(&value);
}

static JobId add(Rig *rig)
{
    Job job = rig_job();
    job.queue = SLICE_LITERAL("q");
    return rig_add(rig, &job);
}

static void take_missing(void *context, const Reason *reason)
{
    assert_int_equal(reason->kind, REASON_RESOURCE_MISSING);
    assert_true(slice_is(reason->key, "disk"));
    (*(int *)context)++;
}

/* What `id` waits for: only for the resource that is gone. */
static void assert_missing(const Rig *rig, JobId id)
{
    int reasons = 0;
    assert_int_equal(rig_state(rig, id), JOB_READY);
    node_reasons(rig->node, rig_find(rig, id), rig->now, take_missing, &reasons);
    assert_int_equal(reasons, 1);
}

static const QueueDef charged = { .resources = { "tape\0disk", 10 } };

static void a_queue_that_names_what_is_not_there_is_refused(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_quantity(rig, "tape", 1);
    assert_int_equal(offer_queue(rig, &charged), ERR_INVALID);
    const Effect *reply = rig_last(rig, EFFECT_REPLY);
    assert_string_equal(reply->problem, "resource_unknown");
    assert_true(
        slice_is(reply->detail, "there is no resource 'disk' for the queue to charge"));
    JobId ids[2] = { add(rig), add(rig) };
    for (size_t i = 0; i < 2; i++) /* nothing of the refused one holds */
        assert_int_equal(rig_state(rig, ids[i]), JOB_RUNNING);
    set_quantity(rig, "disk", 1);
    assert_int_equal(offer_queue(rig, &charged), ERR_OK);
    rig_close(rig);
}

/* Its jobs wait and are told why, over restarts too; it can be changed all the same. */
static void a_queue_whose_resource_is_deleted_starts_nothing(void **state)
{
    (void)state;
    Rig *rig = rig_open(many_slots);
    set_quantity(rig, "tape", 9);
    set_quantity(rig, "disk", 9);
    assert_int_equal(offer_queue(rig, &charged), ERR_OK);
    JobId first = add(rig);
    assert_int_equal(rig_state(rig, first), JOB_RUNNING);
    assert_int_equal(define(rig, RESOURCE_TABLE, "disk", NULL), ERR_OK);
    JobId second = add(rig);
    assert_missing(rig, second);
    QueueDef narrow = charged;
    narrow.has_slots = true;
    narrow.slots = 3;
    assert_int_equal(offer_queue(rig, &narrow), ERR_OK);
    assert_missing(rig, second);
    rig_exit(rig, first, 0);
    assert_missing(rig, second);
    rig_reopen(rig, true);
    rig_step(rig, NULL, 0);
    assert_missing(rig, second);
    set_quantity(rig, "disk", 1);
    assert_int_equal(rig_state(rig, second), JOB_RUNNING);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_that_names_what_is_not_there_is_refused),
        cmocka_unit_test(a_queue_whose_resource_is_deleted_starts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
