/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_test.c - the stores around other stores. */
#include "store/memory/memory.h"
#include "store/row.h"
#include "testing/conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void a_trace_has_one_line_per_call(void **state)
{
    (void)state;
    Buf trace = { 0 };
    Scene scene = { .store = store_trace_new(store_memory_new(), &trace),
                    .ids.node = SCENE_NODE };
    JobId id = scene_add_ready(&scene, "q");
    Loaded window = scene_window(&scene, "q");
    loaded_done(&window);
    scene_result(&scene, id);
    char expected[256];
    char text[ID_TEXT_BYTES];
    snprintf(expected, sizeof expected,
             "commit node=3 number=1 add(%s)\ncommit -> ok\n"
             "found 1 load window -> ok\nresult -> not_found\n",
             id_text(id, text));
    assert_string_equal(buf_cstr(&trace), expected);
    store_close(scene.store);
    assert_non_null(strstr(buf_cstr(&trace), "close\n"));
    buf_done(&trace);
    scene_done(&scene);
}

static Err add_directly(Scene *scene, JobId *out_id)
{
    Job *job = scene_job(scene, "q");
    Op op = { .kind = OP_ADD, .job = job };
    Batch batch = {
        .node = SCENE_NODE, .number = ++scene->number, .ops = &op, .count = 1
    };
    *out_id = job->id;
    return scene->store->kind->commit(scene->store, &batch, 1, NULL, NULL);
}

static void faults_come_when_planned(void **state)
{
    (void)state;
    StoreFault fault = { .fail_at = 2, .times = 2, .err = ERR_FULL };
    Scene scene = { .store = store_fault_new(store_memory_new(), &fault),
                    .ids.node = SCENE_NODE };
    JobId ids[4];
    assert_int_equal(add_directly(&scene, &ids[0]), ERR_OK);
    assert_int_equal(add_directly(&scene, &ids[1]), ERR_FULL);
    fault.after = true;
    assert_int_equal(add_directly(&scene, &ids[2]), ERR_FULL);
    assert_int_equal(add_directly(&scene, &ids[3]), ERR_OK);
    assert_int_equal(fault.calls, 4);
    const JobId there[] = { ids[0], ids[2], ids[3] };
    scene_expect_window(&scene, "q", there, 3);
    store_close(scene.store);
    scene_done(&scene);
}

static void a_row_knows_what_it_forgets(void **state)
{
    (void)state;
    Job job = job_default();
    job.id = 1;
    Row row = row_new(&job);
    Job attempt;
    Op claim = {
        .kind = OP_CLAIM, .attempt = 1, .lock = SLICE_LITERAL("n"), .at_ms = 5, .count = 3
    };
    assert_int_equal(row_guard(&row, &claim), OP_APPLIED);
    assert_false(row_forgets(&row, &claim));
    assert_false(row_attempt(&row, &attempt));
    row_change(&row, &claim);
    assert_int_equal(row.slot, 3);
    assert_true(row_attempt(&row, &attempt));
    assert_int_equal(attempt.state, JOB_RUNNING);
    Op finish = { .kind = OP_FINISH,
                  .attempt = 1,
                  .lock = SLICE_LITERAL("n"),
                  .to = JOB_READY,
                  .retry_number = 1 };
    assert_int_equal(row_guard(&row, &finish), OP_APPLIED);
    row_change(&row, &finish);
    claim.attempt = 2;
    assert_true(row_forgets(&row, &claim));
    Op cancel = { .kind = OP_MOVE, .to = JOB_CANCELLED };
    assert_true(row_forgets(&row, &cancel));
    Op hold = { .kind = OP_MOVE, .to = JOB_HELD };
    assert_false(row_forgets(&row, &hold));
    assert_int_equal(row_guard(&row, &(Op){ .kind = OP_KEY }), OP_CONFLICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_has_one_line_per_call),
        cmocka_unit_test(faults_come_when_planned),
        cmocka_unit_test(a_row_knows_what_it_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
