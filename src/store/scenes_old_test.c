/* SPDX-License-Identifier: Apache-2.0 */
/* scenes_old_test.c - old jobs go, one by one or many at once as the store has them:
 * whichever it is, the same is left. */
#include "testing/conformance.h"

#include "core/group.h"
#include "core/resource.h"
#include "core/unique.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define DAYS(n)     ((int64_t)(n)*MS_PER_DAY)
#define CAME        (SCENE_WALL - DAYS(40)) /* those that are old */
#define DUE         (SCENE_WALL - DAYS(14))
#define LATE        (DAYS(14) / 4)
#define LARGE_BYTES 3000 /* in a table of its own */

/* With everything that a store may keep of a job beside its row. */
static JobId add_laden(Scene *scene, int64_t came_ms, JobState to)
{
    Buf unique = { 0 };
    const Unique key = { .key = SLICE_LITERAL("k"), .for_ms = DAYS(1000) };
    char *payload = arena_take(&scene->arena, LARGE_BYTES);
    memset(payload, 'p', LARGE_BYTES);
    unique_write(&unique, &key);
    Job *job = scene_job_of(scene, "q", came_ms);
    job->group = SLICE_LITERAL("night");
    job->unique = slice_copy(&scene->arena, buf_slice(&unique));
    job->flags = JOB_LINKED;
    job->payload = slice_of(payload, LARGE_BYTES);
    buf_done(&unique);
    JobId id = scene_add(scene, job);
    scene_run(scene, id, 1, came_ms, JOB_RETRYING);
    Op op = scene_move(scene, id, JOB_READY);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    scene_run(scene, id, 2, came_ms + 1000, to);
    return id;
}

static JobId add_plain(Scene *scene, int64_t came_ms, int64_t ended_ms, JobState to)
{
    JobId id = scene_add(scene, scene_job_of(scene, "q", came_ms));
    scene_run(scene, id, 1, ended_ms, to);
    return id;
}

static void let_all_go(Scene *scene)
{
    scene_let_go(scene, SCENE_DONE, DUE, LATE);
    scene_let_go(scene, SCENE_DEAD, DUE, LATE);
}

static void see_bytes(void *context, const TenantUse *use)
{
    if (slice_is(use->tenant, SCENE_TENANT))
        *(int64_t *)context = use->bytes;
}

static int64_t bytes_now(Scene *scene)
{
    int64_t bytes = 0;
    Error why = { 0 };
    while (scene->store->kind->uses(scene->store, SCENE_NODE, see_bytes, &bytes, &why))
        scene->failures++;
    return bytes;
}

static void expect_nothing_of(Scene *scene, JobId id)
{
    Job job;
    assert_false(scene_get(scene, id, &job));
    assert_null(scene_result(scene, id).data);
    Loaded attempts = scene_attempts(scene, id);
    assert_int_equal(attempts.count, 0);
    loaded_done(&attempts);
}

static JobId holder(Scene *scene)
{
    static const char keys[] = SCENE_TENANT "\0uk"; /* and a NUL */
    Load load = { .kind = LOAD_UNIQUE,
                  .key = slice_of(keys, sizeof keys),
                  .dt_ms = SCENE_WALL };
    Loaded loaded = scene_load(scene, &load);
    assert_int_equal(loaded.count, 1);
    JobId id = loaded.jobs[0].id;
    loaded_done(&loaded);
    return id;
}

static uint64_t group_members(Scene *scene)
{
    GroupCounts counts;
    Loaded loaded = scene_load(scene, &(Load){ .kind = LOAD_GROUP,
                                               .tenant = SLICE_LITERAL(SCENE_TENANT),
                                               .key = SLICE_LITERAL("night") });
    assert_int_equal(loaded.value.bytes, sizeof counts);
    memcpy(&counts, loaded.value.data, sizeof counts);
    loaded_done(&loaded);
    return group_total(&counts);
}

/* --- Scenes ---------------------------------------------------------------------------
 */

static void nothing_is_left_of_old_jobs(Scene *scene)
{
    JobId laden = add_laden(scene, CAME, JOB_DONE);
    JobId plain = add_plain(scene, CAME + 1, CAME + 9000, JOB_DONE);
    JobId dead = add_plain(scene, CAME + 2, CAME + 8000, JOB_FAILED);
    JobId young = add_plain(scene, SCENE_WALL, SCENE_WALL, JOB_DONE);
    JobId ready = scene_add_ready(scene, "q");
    assert_true(holder(scene) == laden);
    assert_int_equal(group_members(scene), 1);
    assert_int_equal(bytes_now(scene), LARGE_BYTES + 4 * 5 + 4);
    let_all_go(scene);
    expect_nothing_of(scene, laden);
    expect_nothing_of(scene, plain);
    expect_nothing_of(scene, dead);
    const JobId left[] = { ready, young };
    assert_string_equal(scene_query(scene, "", 0), scene_ids(scene, left, 2));
    assert_int_equal(scene_count(scene, "q", JOB_DONE), 1);
    assert_int_equal(scene_count(scene, "q", JOB_FAILED), 0);
    assert_int_equal(bytes_now(scene), 2 * 5 + 1);
    assert_true(holder(scene) == 0);
    assert_int_equal(group_members(scene), 0);
    assert_int_equal(scene_result(scene, young).bytes, 1);
}

/* One that came with them has ended yesterday: it stays, they go. */
static void one_that_ended_late_stays(Scene *scene)
{
    JobId first = add_plain(scene, CAME, CAME + 5000, JOB_DONE);
    JobId late = add_plain(scene, CAME + 1, SCENE_WALL - DAYS(1), JOB_DONE);
    JobId last = add_plain(scene, CAME + 2, CAME + 6000, JOB_DONE);
    let_all_go(scene);
    expect_nothing_of(scene, first);
    expect_nothing_of(scene, last);
    scene_expect_state(scene, late, JOB_DONE);
    assert_int_equal(scene_result(scene, late).bytes, 1);
    assert_int_equal(scene_count(scene, "q", JOB_DONE), 1);
}

/* It is not old any more: it runs again, with what it had. */
static void one_that_is_retried_before_stays(Scene *scene)
{
    JobId again = add_laden(scene, CAME, JOB_DONE);
    JobId old = add_plain(scene, CAME + 1, CAME + 9000, JOB_DONE);
    Op retry = scene_move(scene, again, JOB_READY);
    retry.fields = FIELD_RETRY;
    assert_int_equal(scene_do(scene, &retry), OP_APPLIED);
    let_all_go(scene);
    expect_nothing_of(scene, old);
    assert_int_equal(scene_must_get(scene, again).payload.bytes, LARGE_BYTES);
    Loaded attempts = scene_attempts(scene, again);
    assert_int_equal(attempts.count, 2);
    loaded_done(&attempts);
    assert_true(holder(scene) == again);
    scene_run(scene, again, 3, SCENE_WALL, JOB_DONE);
    let_all_go(scene);
    scene_expect_state(scene, again, JOB_DONE);
    assert_int_equal(scene_count(scene, "q", JOB_DONE), 1);
    assert_int_equal(group_members(scene), 1);
}

/* One of those that went comes to its end only now. */
static void one_that_ends_after_the_others_went_is_kept(Scene *scene)
{
    JobId old = add_plain(scene, CAME, CAME + 9000, JOB_DONE);
    JobId live = scene_add(scene, scene_job_of(scene, "q", CAME + 1));
    let_all_go(scene);
    expect_nothing_of(scene, old);
    scene_run(scene, live, 1, SCENE_WALL, JOB_DONE);
    let_all_go(scene);
    scene_expect_state(scene, live, JOB_DONE);
    assert_int_equal(scene_count(scene, "q", JOB_DONE), 1);
}

/* Whoever keeps jobs for a short time means it. */
static void a_short_time_is_meant_as_it_is_said(Scene *scene)
{
    JobId old = add_plain(scene, DUE - 1000, DUE - 1, JOB_DONE);
    JobId young = add_plain(scene, DUE - 999, DUE, JOB_DONE);
    scene_let_go(scene, SCENE_DONE, DUE, 0);
    expect_nothing_of(scene, old);
    scene_expect_state(scene, young, JOB_DONE);
}

const SceneRow scenes_of_the_old[] = {
    SCENE(nothing_is_left_of_old_jobs),
    SCENE(one_that_ended_late_stays),
    SCENE(one_that_is_retried_before_stays),
    SCENE(one_that_ends_after_the_others_went_is_kept),
    SCENE(a_short_time_is_meant_as_it_is_said),
    { NULL, NULL },
};
