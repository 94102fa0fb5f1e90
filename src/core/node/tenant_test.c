/* SPDX-License-Identifier: Apache-2.0 */
/* tenant_test.c - tenants that segregate their types, and fairness between lanes
 * (oracle 6 of 002). */
#include "core/tenant.h"
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define STARTS  10000
#define BACKLOG 12 /* of each kind, at least */

static Err set_tenant(Rig *rig, const char *name, const Tenant *tenant)
{
    Buf value = { 0 };
    if (tenant)
        tenant_pack(&value, tenant);
    Err err = rig_send(rig, (Event){ .kind = EVENT_DEFINE,
                                     .request = 7,
                                     .table = SLICE_LITERAL(TENANT_TABLE),
                                     .key = slice_text(name),
                                     .value = buf_slice(&value) });
    buf_done(&value);
    return err;
}

static void segregate(Rig *rig, const char *name, bool on)
{
    const Tenant tenant = { .created_ms = 1, .segregate_types = on };
    assert_int_equal(set_tenant(rig, name, &tenant), ERR_OK);
}

typedef struct Kind {
    const char *tenant;
    const char *type;
    size_t waiting;
    size_t started;
} Kind;

static JobId add_kind(Rig *rig, const Kind *kind)
{
    Job job = rig_job();
    job.tenant = slice_text(kind->tenant);
    job.type = slice_text(kind->type);
    return rig_add(rig, &job);
}

/* The store forgets what has ended, so that it stays small. */
static void drop_ended(Rig *rig)
{
    size_t kept = 0;
    for (size_t i = 0; i < rig->count; i++)
        if (!state_in(rig->jobs[i].state, STATES_FINAL))
            rig->jobs[kept++] = rig->jobs[i];
    rig->count = kept;
}

/* Keeps a backlog of every kind and counts what starts. */
static void run_kinds(Rig *rig, Kind *kinds, size_t count)
{
    size_t started = 0;
    while (started < STARTS) {
        for (size_t k = 0; k < count; k++)
            for (; kinds[k].waiting < BACKLOG; kinds[k].waiting++)
                add_kind(rig, &kinds[k]);
        JobId ended = 0;
        for (size_t i = 0; i < rig->count && !ended; i++)
            if (rig->jobs[i].state == JOB_RUNNING)
                ended = rig->jobs[i].id;
        assert_true(ended != 0);
        const Job *job = rig_find(rig, ended);
        for (size_t k = 0; k < count; k++)
            if (slice_is(job->tenant, kinds[k].tenant) &&
                slice_is(job->type, kinds[k].type)) {
                kinds[k].started++;
                kinds[k].waiting--;
            }
        rig_exit(rig, ended, 0);
        started++;
        if (rig->count > 512)
            drop_ended(rig);
        rig_forget(rig);
    }
}

static void check_share(const Kind *kind, size_t percent)
{
    size_t wanted = STARTS * percent / 100;
    size_t slack = STARTS * 5 / 100;
    if (kind->started < wanted - slack || kind->started > wanted + slack)
        fail_msg("%s-%s started %zu times, not %zu", kind->tenant, kind->type,
                 kind->started, wanted);
}

/* S2.7, S2.30, S2.111, S2.112, S2.113: a quarter each, whatever the numbers that wait. */
static void segregated_types_share_equally(void **state)
{
    Kind kinds[] = { { "a", "one", 0, 0 },
                     { "a", "two", 0, 0 },
                     { "a", "three", 0, 0 },
                     { "b", "x", 0, 0 } };
    (void)state;
    Rig *rig = rig_open(NULL);
    segregate(rig, "a", true);
    for (size_t i = 0; i < 40; i++) /* much more of one */
        add_kind(rig, &kinds[1]);
    kinds[1].waiting = 40;
    run_kinds(rig, kinds, 4);
    for (size_t k = 0; k < 4; k++)
        check_share(&kinds[k], 25);
    rig_close(rig);
}

static void by_tenant(NodeSettings *settings)
{
    settings->fair_tenants = true;
}

/* S2.112: the other half of oracle 6: half for each tenant, and that of three types in
 * three. */
static void tenants_share_equally_where_fairness_goes_by_tenant(void **state)
{
    Kind kinds[] = { { "a", "one", 0, 0 },
                     { "a", "two", 0, 0 },
                     { "a", "three", 0, 0 },
                     { "b", "x", 0, 0 } };
    (void)state;
    Rig *rig = rig_open(by_tenant);
    segregate(rig, "a", true);
    run_kinds(rig, kinds, 4);
    check_share(&kinds[3], 50);
    for (size_t k = 0; k < 3; k++)
        check_share(&kinds[k], 17);
    rig_close(rig);
}

static void without_it_a_queue_of_a_tenant_is_one_lane(void **state)
{
    Kind kinds[] = { { "a", "one", 0, 0 }, { "a", "two", 0, 0 }, { "b", "x", 0, 0 } };
    (void)state;
    Rig *rig = rig_open(NULL);
    run_kinds(rig, kinds, 3);
    check_share(&kinds[2], 50);
    rig_close(rig);
}

/* What was added before stays in its lane; a restart finds every lane again. */
static void it_holds_for_jobs_that_are_added_from_then_on(void **state)
{
    Kind one = { "a", "one", 0, 0 };
    Kind two = { "a", "two", 0, 0 };
    (void)state;
    Rig *rig = rig_open(NULL);
    rig_slots(rig, 0);
    add_kind(rig, &one);
    add_kind(rig, &two);
    assert_int_equal(node_facts(rig->node).lanes, 1);
    segregate(rig, "a", true);
    JobId later = add_kind(rig, &one);
    assert_true(rig_find(rig, later)->flags & JOB_SEGREGATED);
    add_kind(rig, &two);
    assert_int_equal(node_facts(rig->node).lanes, 3);
    rig_reopen(rig, false);
    rig_wait(rig, MS_PER_S);
    assert_int_equal(node_facts(rig->node).lanes, 3);
    add_kind(rig, &one); /* the setting is known again */
    assert_int_equal(node_facts(rig->node).lanes, 3);
    segregate(rig, "a", false);
    assert_false(rig_find(rig, add_kind(rig, &one))->flags & JOB_SEGREGATED);
    rig_slots(rig, 2);
    while (rig->starts < 6)
        for (size_t i = 0; i < rig->count; i++)
            if (rig->jobs[i].state == JOB_RUNNING)
                rig_exit(rig, rig->jobs[i].id, 0);
    rig_close(rig);
}

static void a_tenant_is_set_and_given_its_defaults_back(void **state)
{
    (void)state;
    Rig *rig = rig_open(NULL);
    assert_int_equal(set_tenant(rig, "a", NULL), ERR_NOT_FOUND);
    segregate(rig, "a", true);
    assert_false(rig_last(rig, EFFECT_REPLY)->replayed);
    segregate(rig, "a", true);
    assert_true(rig_last(rig, EFFECT_REPLY)->replayed);
    assert_non_null(rig_definition(rig, TENANT_TABLE, "a"));
    assert_int_equal(set_tenant(rig, "a", NULL), ERR_OK);
    Kind one = { "a", "one", 0, 0 };
    assert_false(rig_find(rig, add_kind(rig, &one))->flags & JOB_SEGREGATED);
    assert_int_equal(set_tenant(rig, "a", NULL), ERR_NOT_FOUND);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segregated_types_share_equally),
        cmocka_unit_test(tenants_share_equally_where_fairness_goes_by_tenant),
        cmocka_unit_test(without_it_a_queue_of_a_tenant_is_one_lane),
        cmocka_unit_test(it_holds_for_jobs_that_are_added_from_then_on),
        cmocka_unit_test(a_tenant_is_set_and_given_its_defaults_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
