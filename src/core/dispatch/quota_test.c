/* SPDX-License-Identifier: Apache-2.0 */
/* quota_test.c - tenants with limits, in a node that runs by hand. */
#include "testing/node_harness.h"

#include "core/dispatch/quota.h"
#include "core/node/inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static Node *node_of_my_own(void)
{
    NodeOptions options = { .sysid = SLICE_LITERAL("n"),
                            .number = 1,
                            .settings = node_settings_default() };
    return node_new(&options);
}

static void set(Node *node, const Tenant *tenant)
{
    Buf packed = { 0 };
    tenant_pack(&packed, tenant);
    Definition definition = { .key = SLICE_LITERAL("t"), .value = buf_slice(&packed) };
    node_load_definition(node, SLICE_LITERAL(TENANT_TABLE), &definition);
    buf_done(&packed);
}

static const char *refuses(const Node *node, uint64_t count)
{
    Buf detail = { 0 };
    Job job = { .tenant = SLICE_LITERAL("t") };
    const char *problem = node_quota_refuses(node, &job, count, 0, &detail);
    buf_done(&detail);
    return problem;
}

static void waiting_jobs_are_counted_as_they_move(void **state)
{
    (void)state;
    Node *node = node_of_my_own();
    node_load_use(node, &(TenantUse){ .tenant = SLICE_LITERAL("t"),
                                      .queued_here = 2,
                                      .running_here = 7 });
    assert_null(refuses(node, 1000)); /* no limit is set */
    set(node, &(Tenant){ .created_ms = 1, .max_queued = 3 });
    uint32_t t = names_find(&node->names, SLICE_LITERAL("t"));
    assert_null(refuses(node, 1));
    assert_string_equal(refuses(node, 2), PROBLEM_QUOTA);
    node_quota_added(node, t, &(Job){ .state = JOB_HELD }, 1, 0);
    assert_non_null(refuses(node, 1));
    node_quota_moved(node, t, JOB_READY, JOB_RUNNING);
    assert_null(refuses(node, 1));
    node_quota_moved(node, t, JOB_RUNNING, JOB_RETRYING);
    assert_non_null(refuses(node, 1));
    node_quota_moved(node, t, JOB_RETRYING, JOB_CANCELLED);
    assert_null(refuses(node, 1));
    node_free(node);
}

static void running_jobs_have_a_limit_of_their_own(void **state)
{
    (void)state;
    Node *node = node_of_my_own();
    set(node, &(Tenant){ .created_ms = 1, .max_running = 1 });
    uint32_t t = names_find(&node->names, SLICE_LITERAL("t"));
    assert_false(node_quota_full(node, t));
    node_quota_runs(node, t, 1);
    assert_true(node_quota_full(node, t));
    assert_false(node_quota_full(node, t + 1));
    node_quota_runs(node, t, -1);
    assert_false(node_quota_full(node, t));
    node_free(node);
}

static const char *refuses_bytes(const Node *node, uint64_t bytes)
{
    Buf detail = { 0 };
    Job job = { .tenant = SLICE_LITERAL("t") };
    const char *problem = node_quota_refuses(node, &job, 1, bytes, &detail);
    buf_done(&detail);
    return problem;
}

/* The store is asked, answers; what comes in meanwhile is not in its answer. */
static void kept_bytes_are_those_of_the_store_and_newer_ones(void **state)
{
    (void)state;
    Outbox out = { 0 };
    Node *node = node_of_my_own();
    node_recovered(node);
    node_load_use(node, &(TenantUse){ .tenant = SLICE_LITERAL("t"), .bytes = 100 });
    assert_null(refuses_bytes(node, 100000));
    assert_false(node_wants_uses(node));
    set(node, &(Tenant){ .created_ms = 1, .max_bytes = 200 });
    assert_true(node_wants_uses(node));
    uint32_t t = names_find(&node->names, SLICE_LITERAL("t"));
    const Job job = { .state = JOB_READY };
    assert_null(refuses_bytes(node, 100));
    assert_string_equal(refuses_bytes(node, 101), PROBLEM_QUOTA);
    node_quota_added(node, t, &job, 1, 90);
    assert_null(refuses_bytes(node, 10));
    assert_non_null(refuses_bytes(node, 11));
    node_step(node, (Now){ 1, 1 }, &(Event){ .kind = EVENT_USES }, 1, &out);
    node_quota_added(node, t, &job, 1, 10);
    assert_non_null(refuses_bytes(node, 1)); /* no answer yet */
    const TenantUse use = { .tenant = SLICE_LITERAL("t"), .bytes = 150 };
    Event answer = { .kind = EVENT_USES, .flag = true, .uses = &use, .count = 1 };
    node_step(node, (Now){ 1, 1 }, &answer, 1, &out);
    assert_null(refuses_bytes(node, 40));
    assert_non_null(refuses_bytes(node, 41));
    answer.count = 0; /* it has nothing any more */
    node_step(node, (Now){ 1, 1 }, &(Event){ .kind = EVENT_USES }, 1, &out);
    node_step(node, (Now){ 1, 1 }, &answer, 1, &out);
    assert_null(refuses_bytes(node, 200));
    outbox_done(&out);
    node_free(node);
}

static void what_other_nodes_have_counts_too(void **state)
{
    (void)state;
    NodeOptions options = { .sysid = SLICE_LITERAL("n"),
                            .number = 1,
                            .shared = true,
                            .settings = node_settings_default() };
    Node *node = node_new(&options);
    set(node, &(Tenant){ .created_ms = 1, .max_queued = 5, .max_running = 2 });
    uint32_t t = names_find(&node->names, SLICE_LITERAL("t"));
    node_load_use(node, &(TenantUse){ .tenant = SLICE_LITERAL("t"),
                                      .queued_here = -3,
                                      .queued_elsewhere = 6,
                                      .running_here = -1,
                                      .running_elsewhere = 2 });
    assert_null(refuses(node, 2));
    assert_non_null(refuses(node, 3));
    assert_false(node_quota_full(node, t));
    node_quota_moved(node, t, JOB_READY, JOB_RUNNING);
    assert_true(node_quota_full(node, t));
    assert_null(refuses(node, 3));
    node_quota_moved(node, t, JOB_RUNNING, JOB_DONE);
    assert_false(node_quota_full(node, t));
    node_free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_jobs_are_counted_as_they_move),
        cmocka_unit_test(running_jobs_have_a_limit_of_their_own),
        cmocka_unit_test(kept_bytes_are_those_of_the_store_and_newer_ones),
        cmocka_unit_test(what_other_nodes_have_counts_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
