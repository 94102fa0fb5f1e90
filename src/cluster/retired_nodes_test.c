/* SPDX-License-Identifier: Apache-2.0 */
/* retired_nodes_test.c - which nodes count as gone, and whether one has something left.
 */
#include "cluster/retired_nodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void define(RetiredNodes *gone, const char *sysid, const char *value)
{
    Definition definition = { .key = slice_text(sysid) };
    if (value)
        definition.value = slice_text(value);
    retired_nodes_defined(gone, &definition);
}

static void a_node_is_gone_as_long_as_its_epoch_is_the_same(void **state)
{
    (void)state;
    RetiredNodes *gone = retired_nodes_new();
    Buf value = { 0 };
    retired_nodes_value(&value, 3);
    assert_false(retired_nodes_has(gone, SLICE_LITERAL("a"), 3));
    define(gone, "a", buf_cstr(&value));
    define(gone, "b", "1");
    define(gone, "c", "no number");
    assert_true(retired_nodes_has(gone, SLICE_LITERAL("a"), 3));
    assert_false(retired_nodes_has(gone, SLICE_LITERAL("a"), 4)); /* it has come back */
    assert_true(retired_nodes_has(gone, SLICE_LITERAL("b"), 1));
    assert_false(retired_nodes_has(gone, SLICE_LITERAL("c"), 0));
    define(gone, "a", "4");
    assert_true(retired_nodes_has(gone, SLICE_LITERAL("a"), 4));
    define(gone, "a", NULL);
    assert_false(retired_nodes_has(gone, SLICE_LITERAL("a"), 4));
    buf_done(&value);
    retired_nodes_free(gone);
}

static bool owns(Store *store, uint32_t number)
{
    Error why = { 0 };
    bool some = false;
    assert_int_equal(retired_nodes_owns(store, number, &some, &why), ERR_OK);
    return some;
}

static void add(Store *store, uint32_t node, JobState state)
{
    Error why = { 0 };
    Job job = job_default();
    job.id = id_from_count(1000 + (uint64_t)state, (uint16_t)node);
    job.state = state;
    job.tenant = SLICE_LITERAL("t");
    job.queue = SLICE_LITERAL("q");
    job.type = SLICE_LITERAL("x");
    job.dt_ms = 5000;
    Op op = { .kind = OP_ADD, .id = job.id, .job = &job };
    Batch batch = { .node = node, .ops = &op, .count = 1 };
    assert_int_equal(store->kind->commit(store, &batch, 1, NULL, &why), ERR_OK);
}

static void jobs_in_any_state_are_something(void **state)
{
    static const JobState states[] = { JOB_READY, JOB_HELD, JOB_DEFERRED };
    Error why = { 0 };
    Store *store = NULL;
    (void)state;
    assert_int_equal(store_open("memory:", &(StoreOptions){ 0 }, &store, &why), ERR_OK);
    for (uint32_t i = 0; i < 3; i++) {
        assert_false(owns(store, i + 1));
        add(store, i + 1, states[i]);
        assert_true(owns(store, i + 1));
    }
    add(store, 9, JOB_CANCELLED);
    assert_false(owns(store, 9));
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_is_gone_as_long_as_its_epoch_is_the_same),
        cmocka_unit_test(jobs_in_any_state_are_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
