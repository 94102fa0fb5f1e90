/* SPDX-License-Identifier: Apache-2.0 */
/* scenes_dispatch_test.c - the list of ready jobs in the order in which they start. */
#include "core/queue.h"
#include "testing/conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Tour by tour: the head of every lane, longest waiting first, before any second. */
static void dispatch_order_takes_turns(Scene *scene)
{
    JobId ids[6];
    static const char *const queues[] = { "a", "a", "a", "b", "b", "c" };
    for (size_t i = 0; i < 6; i++) {
        Job *job = scene_job(scene, queues[i]);
        job->dt_ms = SCENE_WALL - (int64_t)i; /* c has waited longest */
        job->priority = i == 2 ? 7 : 5;
        ids[i] = scene_add(scene, job);
    }
    const JobId order[] = { ids[5], ids[4], ids[2], ids[3], ids[1], ids[0] };
    for (uint32_t limit = 0; limit < 3; limit++)
        assert_string_equal(scene_query(scene, "!", limit), scene_ids(scene, order, 6));
    const JobId of_b[] = { ids[4], ids[3] };
    assert_string_equal(scene_query(scene, "!queue:b", 0), scene_ids(scene, of_b, 2));
    const JobId high[] = { ids[2] };
    assert_string_equal(scene_query(scene, "!priority:7", 0), scene_ids(scene, high, 1));
    assert_string_equal(scene_query(scene, "!state:held", 0), "");
}

/* A queue with aging gives its jobs out in that order, page by page; others do not. */
static void dispatch_order_knows_aging(Scene *scene)
{
    enum { JOBS = 70 };                     /* more than stores read of a lane at once */
    QueueDef def = { .aging_milli = 1000 }; /* a point a minute */
    JobId order[2 * JOBS];
    Buf value = { 0 };
    queue_pack(&value, &def);
    Op op = scene_op(OP_PUT, 0);
    op.table = SLICE_LITERAL(QUEUE_TABLE);
    op.tenant = SLICE_LITERAL(SCENE_TENANT);
    op.key = SLICE_LITERAL("aged");
    op.value = buf_slice(&value);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    buf_done(&value);
    for (int i = 0; i < JOBS; i++) {
        Job *job = scene_job(scene, "aged"); /* more urgent ones came that much later */
        job->priority = 1 + i % 7;
        job->dt_ms = SCENE_WALL + (int64_t)i * 61000 + job->priority * 60000;
        order[2 * i] = scene_add(scene, job);
        job = scene_job(scene, "plain");
        job->priority = 5;
        job->dt_ms = SCENE_WALL + 600000 + (int64_t)i;
        order[2 * i + 1] = scene_add(scene, job);
    }
    for (uint32_t limit = 0; limit < 60; limit += 29)
        assert_string_equal(scene_query(scene, "!", limit),
                            scene_ids(scene, order, sizeof order / sizeof *order));
}

/* S3.55: a lane whose first job is held waits since that one does, if it would be first;
 * one that would come later counts for nothing. */
static void dispatch_order_knows_held_heads(Scene *scene)
{
    enum { OLDER, FROZEN, LATER };
    static const struct {
        const char *queue;
        int64_t dt_ms;
        int64_t priority;
        bool held;
    } rows[] = {
        { "older", SCENE_WALL - 50, 5, false }, { "frozen", SCENE_WALL - 10, 5, false },
        { "later", SCENE_WALL - 20, 5, false }, { "frozen", SCENE_WALL - 90, 5, true },
        { "later", SCENE_WALL - 95, 4, true },  { "other", SCENE_WALL - 99, 5, true },
        { "frozen", SCENE_WALL - 9, 5, false },
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    JobId ids[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        Job *job = scene_job(scene, rows[i].queue);
        job->dt_ms = rows[i].dt_ms;
        job->priority = rows[i].priority;
        ids[i] = scene_add(scene, job);
        if (!rows[i].held)
            continue;
        Op hold = scene_move(scene, ids[i], JOB_HELD);
        hold.dt_ms = rows[i].dt_ms;
        assert_int_equal(scene_do(scene, &hold), OP_APPLIED);
    }
    const JobId order[] = { ids[FROZEN], ids[OLDER], ids[LATER], ids[6] };
    for (uint32_t limit = 0; limit < 3; limit++)
        assert_string_equal(scene_query(scene, "!", limit), scene_ids(scene, order, 4));
    Op release = scene_move(scene, ids[3], JOB_READY);
    release.dt_ms = SCENE_WALL - 90;
    assert_int_equal(scene_do(scene, &release), OP_APPLIED);
    const JobId after[] = { ids[3], ids[OLDER], ids[LATER], ids[FROZEN], ids[6] };
    assert_string_equal(scene_query(scene, "!", 0), scene_ids(scene, after, 5));
}

const SceneRow scenes_of_dispatch[] = {
    SCENE(dispatch_order_takes_turns),
    SCENE(dispatch_order_knows_aging),
    SCENE(dispatch_order_knows_held_heads),
    { NULL, NULL },
};
