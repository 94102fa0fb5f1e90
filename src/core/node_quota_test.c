/* SPDX-License-Identifier: Apache-2.0 */
/* node_quota_test.c - tenants with limits, in a node that runs by hand. */
#include "core/node_rig.h"

#include "core/node_inside.h"

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
    const char *problem = node_quota_refuses(node, &job, count, &detail);
    buf_done(&detail);
    return problem;
}

static void waiting_jobs_are_counted_as_they_move(void **state)
{
    (void)state;
    Node *node = node_of_my_own();
    node_load_count(node, SLICE_LITERAL("t"), JOB_READY, 2);
    node_load_count(node, SLICE_LITERAL("t"), JOB_DONE, 50);
    node_load_count(node, SLICE_LITERAL("t"), JOB_RUNNING, 7);
    assert_null(refuses(node, 1000)); /* no limit is set */
    set(node, &(Tenant){ .created_ms = 1, .max_queued = 3 });
    uint32_t t = names_find(&node->names, SLICE_LITERAL("t"));
    assert_null(refuses(node, 1));
    assert_string_equal(refuses(node, 2), PROBLEM_QUOTA);
    node_quota_added(node, t, JOB_HELD, 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_jobs_are_counted_as_they_move),
        cmocka_unit_test(running_jobs_have_a_limit_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
