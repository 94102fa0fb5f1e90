/* SPDX-License-Identifier: Apache-2.0 */
/* scenes_links_test.c - what jobs have to do with each other: who waits for whom, groups,
 * unique keys, scene by scene: see conformance.h. */
#include "core/group.h"
#include "core/unique.h"
#include "testing/conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* --- Who waits for whom ------------------------------------------------------------- */

static JobId add_child(Scene *scene, AfterOn on, JobId first, JobId second)
{
    Buf list = { 0 };
    Job *job = scene_job(scene, "q");
    after_add(&list, (AfterItem){ on, first });
    if (second)
        after_add(&list, (AfterItem){ on, second });
    job->after = slice_copy(&scene->arena, buf_slice(&list));
    job->state = JOB_BLOCKED;
    job->flags = JOB_LINKED | JOB_WAITS;
    buf_done(&list);
    return scene_add(scene, job);
}

/* The only child with something to look at; id 0: there is none. */
static AfterCount look(Scene *scene, JobId expected)
{
    Loaded loaded = scene_load(scene, &(Load){ .kind = LOAD_AFTER, .limit = 10 });
    AfterCount count = { 0 };
    assert_int_equal(loaded.count, expected ? 1 : 0);
    if (expected) {
        assert_int_equal(loaded.jobs[0].id, expected);
        count = loaded.after[0];
        count.met = slice_copy(&scene->arena, count.met);
        count.unmet = slice_copy(&scene->arena, count.unmet);
    }
    loaded_done(&loaded);
    return count;
}

static bool anyone_waits(Scene *scene)
{
    Loaded loaded = scene_load(scene, &(Load){ .kind = LOAD_AFTER, .limit = 10 });
    bool anyone = loaded.value.bytes > 0;
    loaded_done(&loaded);
    return anyone;
}

static void finish(Scene *scene, JobId id, JobState to)
{
    Op op = scene_finish(scene, id, 1, to);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
}

static void move(Scene *scene, JobId id, JobState to, uint32_t fields)
{
    Op op = scene_move(scene, id, to);
    op.fields = fields;
    op.window_from_ms = SCENE_WALL;
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
}

static void a_parents_end_shows_its_children(Scene *scene)
{
    JobId parent = scene_add_running(scene);
    JobId child = add_child(scene, AFTER_OK, parent, 0);
    look(scene, 0);
    assert_true(anyone_waits(scene));
    finish(scene, parent, JOB_DONE);
    AfterCount count = look(scene, child);
    assert_int_equal(count.pending, 0);
    assert_int_equal(count.broken, 0);
    move(scene, child, JOB_READY, FIELD_FREED);
    Job job = scene_must_get(scene, child);
    assert_false(job.flags & JOB_WAITS);
    assert_int_equal(job.window_from_ms, SCENE_WALL);
    look(scene, 0);
}

static void what_is_settled_is_not_shown_again(Scene *scene)
{
    JobId one = scene_add_running(scene);
    JobId two = scene_add_running(scene);
    JobId child = add_child(scene, AFTER_OK, one, two);
    finish(scene, one, JOB_DONE);
    AfterCount count = look(scene, child);
    assert_int_equal(count.pending, 1);
    assert_int_equal(count.first_pending, two);
    finish(scene, two, JOB_FAILED); /* after the look: it must not be settled with it */
    Op met = scene_move(scene, child, JOB_BLOCKED);
    met.fields = FIELD_MET;
    met.value = count.met;
    assert_int_equal(scene_do(scene, &met), OP_APPLIED);
    count = look(scene, child);
    assert_int_equal(count.pending, 0);
    assert_int_equal(count.broken, two);
    assert_int_equal(count.broken_state, JOB_FAILED);
    move(scene, child, JOB_CANCELLED, 0);
    look(scene, 0);
    assert_false(scene_must_get(scene, child).flags & JOB_WAITS);
}

static void parents_that_are_over_or_gone_count_at_once(Scene *scene)
{
    JobId done = scene_add_in(scene, JOB_DONE);
    JobId child = add_child(scene, AFTER_OK, done, 0);
    assert_int_equal(look(scene, child).broken, 0);
    move(scene, child, JOB_READY, FIELD_FREED);
    JobId gone = scene_add_in(scene, JOB_DONE);
    Op op = scene_op(OP_REMOVE, gone);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    child = add_child(scene, AFTER_OK, gone, 0);
    AfterCount count = look(scene, child);
    assert_int_equal(count.broken, gone);
    assert_int_equal(count.broken_state, STATE_GONE);
}

static void a_parent_that_goes_was_cancelled_or_what_it_was(Scene *scene)
{
    JobId ready = scene_add_ready(scene, "q");
    JobId child = add_child(scene, AFTER_OK, ready, 0);
    Op op = scene_op(OP_REMOVE, ready);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    assert_int_equal(look(scene, child).broken_state, JOB_CANCELLED);
    op = scene_op(OP_REMOVE, child);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    JobId done = scene_add_running(scene);
    child = add_child(scene, AFTER_OK, done, 0);
    finish(scene, done, JOB_DONE);
    op = scene_op(OP_REMOVE, done);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    assert_int_equal(look(scene, child).broken, 0);
}

static void a_parent_that_runs_again_has_not_ended(Scene *scene)
{
    JobId parent = scene_add_running(scene);
    JobId child = add_child(scene, AFTER_OK, parent, 0);
    finish(scene, parent, JOB_FAILED);
    assert_int_equal(look(scene, child).broken, parent);
    move(scene, parent, JOB_READY, FIELD_RETRY);
    look(scene, 0);
}

static void cancel_for(Scene *scene, JobId child, AfterCount count)
{
    Op op = scene_move(scene, child, JOB_CANCELLED);
    op.fields = FIELD_BROKEN;
    op.value = count.unmet;
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
}

static void wait_again(Scene *scene, JobId child, uint32_t fields)
{
    Op op = scene_move(scene, child, JOB_BLOCKED);
    Job job = scene_must_get(scene, child);
    op.fields = FIELD_RETRY | FIELD_WAITS | fields;
    op.value = slice_copy(&scene->arena, job.after);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
}

/* Whatever was cancelled because of a job is shown when that one is retried, once. */
static void a_retry_shows_who_fell_with_it(Scene *scene)
{
    JobId parent = scene_add_running(scene);
    JobId child = add_child(scene, AFTER_OK, parent, 0);
    finish(scene, parent, JOB_FAILED);
    AfterCount count = look(scene, child);
    assert_true(after_names(count.unmet, parent));
    cancel_for(scene, child, count);
    look(scene, 0);
    move(scene, parent, JOB_READY, FIELD_RETRY);
    assert_true(look(scene, child).reopened);
    wait_again(scene, child, 0);
    assert_true(scene_must_get(scene, child).flags & JOB_WAITS);
    look(scene, 0);
    Op remove = scene_op(OP_REMOVE, parent);
    assert_int_equal(scene_do(scene, &remove), OP_APPLIED);
    assert_int_equal(look(scene, child).broken_state, JOB_CANCELLED);
}

static void one_retried_itself_waits_until_its_parent_is_retried(Scene *scene)
{
    JobId parent = scene_add_running(scene);
    JobId child = add_child(scene, AFTER_OK, parent, 0);
    finish(scene, parent, JOB_FAILED);
    cancel_for(scene, child, look(scene, child));
    wait_again(scene, child, FIELD_PATIENT);
    look(scene, 0);
    assert_true(anyone_waits(scene));
    move(scene, parent, JOB_READY, FIELD_RETRY);
    look(scene, 0);
    Op remove = scene_op(OP_REMOVE, child);
    assert_int_equal(scene_do(scene, &remove), OP_APPLIED);
    finish(scene, scene_add_running(scene), JOB_DONE);
    look(scene, 0);
}

/* No one can retry it any more. */
static void a_patient_one_is_shown_when_its_parent_goes(Scene *scene)
{
    JobId parent = scene_add_running(scene);
    JobId child = add_child(scene, AFTER_OK, parent, 0);
    finish(scene, parent, JOB_FAILED);
    cancel_for(scene, child, look(scene, child));
    wait_again(scene, child, FIELD_PATIENT);
    Op remove = scene_op(OP_REMOVE, parent);
    assert_int_equal(scene_do(scene, &remove), OP_APPLIED);
    assert_int_equal(look(scene, child).broken, parent);
}

/* Exactly as with an id that no job ever had; and whoever of its own tenant waits for it
 * is not concerned. */
static void jobs_of_another_tenant_are_not_there(Scene *scene)
{
    Job *job = scene_job(scene, "q");
    job->tenant = SLICE_LITERAL("other");
    JobId foreign = scene_add(scene, job);
    Job *sister = scene_job(scene, "q");
    Buf list = { 0 };
    after_add(&list, (AfterItem){ AFTER_OK, foreign });
    sister->tenant = SLICE_LITERAL("other");
    sister->state = JOB_BLOCKED;
    sister->flags = JOB_LINKED | JOB_WAITS;
    sister->after = buf_slice(&list);
    scene_add(scene, sister);
    buf_done(&list);
    const JobId parents[] = { foreign, foreign + 1000 };
    for (size_t i = 0; i < 2; i++) {
        JobId child = add_child(scene, AFTER_OK, parents[i], 0);
        AfterCount count = look(scene, child);
        assert_int_equal(count.broken, parents[i]);
        assert_int_equal(count.broken_on, AFTER_OK);
        assert_int_equal(count.broken_state, STATE_GONE);
        move(scene, child, JOB_CANCELLED, 0);
        child = add_child(scene, AFTER_ANY, parents[i], 0);
        count = look(scene, child);
        assert_int_equal(count.broken, 0);
        assert_int_equal(count.pending, 0);
        move(scene, child, JOB_READY, FIELD_FREED);
        look(scene, 0); /* nothing is left of it */
    }
    Op op = scene_op(OP_REMOVE, foreign);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    assert_int_equal(look(scene, sister->id).broken_state, JOB_CANCELLED);
}

/* Not a link between jobs, but one between a job and its handler. */
static void the_version_goes_with_the_attempt(Scene *scene)
{
    JobId id = scene_add_ready(scene, "q");
    for (uint32_t attempt = 1; attempt <= 2; attempt++) {
        Op claim = scene_claim(scene, id, attempt);
        claim.version = 40 + attempt;
        assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
        Load load = { .kind = LOAD_RUNNING, .lock = SLICE_LITERAL(SCENE_SYSID) };
        Loaded running = scene_load(scene, &load);
        assert_int_equal(running.count, 1);
        assert_int_equal(running.jobs[0].version, 40 + attempt);
        loaded_done(&running);
        Op end = scene_finish(scene, id, attempt, JOB_READY);
        assert_int_equal(scene_do(scene, &end), OP_APPLIED);
    }
    Loaded attempts = scene_load(scene, &(Load){ .kind = LOAD_ATTEMPTS, .id = id });
    assert_int_equal(attempts.count, 2);
    assert_int_equal(attempts.jobs[0].version, 41);
    assert_int_equal(attempts.jobs[1].version, 42);
    loaded_done(&attempts);
}

static void children_come_in_steps(Scene *scene)
{
    JobId parent = scene_add_running(scene);
    for (int i = 0; i < 25; i++)
        add_child(scene, AFTER_ANY, parent, 0);
    finish(scene, parent, JOB_CANCELLED);
    size_t freed = 0;
    bool more = true;
    while (more) {
        Loaded loaded = scene_load(scene, &(Load){ .kind = LOAD_AFTER, .limit = 10 });
        more = loaded.more;
        for (size_t i = 0; i < loaded.count; i++)
            move(scene, loaded.jobs[i].id, JOB_READY, FIELD_FREED);
        freed += loaded.count;
        loaded_done(&loaded);
    }
    assert_int_equal(freed, 25);
}

static void a_handler_does_not_see_who_waits_for_a_job(Scene *scene)
{
    JobId parent = scene_add_running(scene);
    JobId child = add_child(scene, AFTER_OK, parent, 0);
    Job job = scene_must_get(scene, child);
    Load load = {
        .kind = LOAD_BLOCKED, .tenant = job.tenant, .key = job.type, .limit = 10
    };
    Loaded loaded = scene_load(scene, &load);
    assert_int_equal(loaded.count, 0);
    loaded_done(&loaded);
    move(scene, child, JOB_BLOCKED, FIELD_FREED);
    loaded = scene_load(scene, &load);
    assert_int_equal(loaded.count, 1);
    loaded_done(&loaded);
}

/* --- Groups ---------------------------------------------------------------------------
 */

static void take_count(void *context, const GroupCount *count)
{
    uint64_t *counts = context;
    assert_true(slice_is(count->name, "night"));
    counts[count->state] = count->count;
    counts[JOB_STATES] += count->count;
}

static uint64_t count_of(Scene *scene, JobState state, uint64_t *out_total)
{
    uint64_t counts[JOB_STATES + 1] = { 0 };
    Error why;
    Job *job = scene_job(scene, "q");
    const GroupCount one = { .tenant = job->tenant, .name = SLICE_LITERAL("night") };
    while (scene->store->kind->groups(scene->store, &one, take_count, counts, &why)) {
        scene->failures++;
        memset(counts, 0, sizeof counts);
    }
    *out_total = counts[JOB_STATES];
    return counts[state];
}

/* As nodes ask: all of it at once. */
static void expect_loaded_group(Scene *scene, JobState state, uint64_t count,
                                uint64_t total)
{
    GroupCounts counts;
    Loaded loaded = scene_load(scene, &(Load){ .kind = LOAD_GROUP,
                                               .tenant = SLICE_LITERAL(SCENE_TENANT),
                                               .key = SLICE_LITERAL("night") });
    assert_int_equal(loaded.value.bytes, sizeof counts);
    memcpy(&counts, loaded.value.data, sizeof counts);
    assert_int_equal(counts.of[state], count);
    assert_int_equal(group_total(&counts), total);
    loaded_done(&loaded);
}

static void expect_group(Scene *scene, JobState state, uint64_t count, uint64_t total)
{
    uint64_t found;
    expect_loaded_group(scene, state, count, total);
    assert_int_equal(count_of(scene, state, &found), count);
    assert_int_equal(found, total);
}

static JobId add_member(Scene *scene)
{
    Job *job = scene_job(scene, "q");
    job->group = SLICE_LITERAL("night");
    job->flags = JOB_LINKED;
    return scene_add(scene, job);
}

static void groups_count_their_members(Scene *scene)
{
    JobId one = add_member(scene);
    JobId two = add_member(scene);
    expect_group(scene, JOB_READY, 2, 2);
    Op op = scene_claim(scene, one, 1);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    expect_group(scene, JOB_RUNNING, 1, 2);
    finish(scene, one, JOB_FAILED);
    expect_group(scene, JOB_FAILED, 1, 2);
    move(scene, one, JOB_READY, FIELD_RETRY);
    expect_group(scene, JOB_READY, 2, 2);
    move(scene, two, JOB_CANCELLED, 0);
    op = scene_op(OP_REMOVE, two);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    expect_group(scene, JOB_READY, 1, 1);
    op = scene_op(OP_REMOVE, one);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    expect_group(scene, JOB_READY, 0, 0);
}

static void lines_are_members(Scene *scene)
{
    Job *job = scene_job(scene, "q");
    Buf body = { 0 };
    for (int i = 0; i < 100; i++)
        buf_add_text(&body, "line\n");
    job->group = SLICE_LITERAL("night");
    job->flags = JOB_LINKED;
    Op op = scene_op(OP_ADD_LINES, job->id);
    op.job = job;
    op.first = id_count(job->id);
    op.count = 100;
    op.body = slice_copy(&scene->arena, buf_slice(&body));
    buf_done(&body);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    expect_group(scene, JOB_READY, 100, 100);
}

/* --- Unique keys ----------------------------------------------------------------------
 */

static JobId add_key(Scene *scene, const Unique *unique, uint32_t flags,
                     int64_t created_ms)
{
    Job *job = scene_job(scene, "q");
    Buf text = { 0 };
    if (unique->key.bytes)
        unique_write(&text, unique);
    job->unique = slice_copy(&scene->arena, buf_slice(&text));
    job->flags = JOB_LINKED | flags;
    job->created_ms = created_ms;
    buf_done(&text);
    return scene_add(scene, job);
}

static JobId add_unique(Scene *scene, const char *key, int64_t for_ms, uint32_t flags)
{
    Unique unique = { .for_ms = for_ms, .on_conflict = CONFLICT_REJECT };
    if (key)
        unique.key = slice_text(key);
    return add_key(scene, &unique, flags, SCENE_WALL);
}

static JobId holder(Scene *scene, const char *key, int64_t wall_ms)
{
    Buf keys = { 0 };
    Job *job = scene_job(scene, "q");
    buf_add_slice(&keys, job->tenant);
    buf_add_char(&keys, '\0');
    buf_add_text(&keys, key);
    buf_add_char(&keys, '\0');
    Load load = { .kind = LOAD_UNIQUE, .key = buf_slice(&keys), .dt_ms = wall_ms };
    Loaded loaded = scene_load(scene, &load);
    assert_int_equal(loaded.count, 1);
    JobId id = loaded.jobs[0].id;
    loaded_done(&loaded);
    buf_done(&keys);
    return id;
}

static void a_key_is_held_until_its_job_is_final(Scene *scene)
{
    JobId id = add_unique(scene, "k", 0, 0);
    assert_int_equal(holder(scene, "uk", SCENE_WALL), id);
    assert_int_equal(holder(scene, "ul", SCENE_WALL), 0);
    Op op = scene_claim(scene, id, 1);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    assert_int_equal(holder(scene, "uk", SCENE_WALL), id);
    finish(scene, id, JOB_DONE);
    assert_int_equal(holder(scene, "uk", SCENE_WALL), 0);
    id = add_unique(scene, "k", 0, 0);
    op = scene_op(OP_REMOVE, id);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    assert_int_equal(holder(scene, "uk", SCENE_WALL), 0);
}

static void a_key_with_a_time_is_held_that_long(Scene *scene)
{
    JobId id = add_unique(scene, "k", 5000, 0);
    move(scene, id, JOB_CANCELLED, 0);
    assert_int_equal(holder(scene, "uk", SCENE_WALL + 4999), id);
    assert_int_equal(holder(scene, "uk", SCENE_WALL + 5000), 0);
}

static void the_first_has_the_key_until_it_is_free(Scene *scene)
{
    JobId first = add_unique(scene, "k", 0, 0);
    JobId second = add_unique(scene, "k", 0, 0);
    assert_int_equal(holder(scene, "uk", SCENE_WALL), first);
    Op again = scene_op(OP_MOVE, second);
    again.to = JOB_READY;
    again.fields = FIELD_KEYS;
    assert_int_equal(scene_do(scene, &again), OP_APPLIED);
    assert_int_equal(holder(scene, "uk", SCENE_WALL), first);
    move(scene, first, JOB_CANCELLED, 0);
    assert_int_equal(holder(scene, "uk", SCENE_WALL), 0);
    assert_int_equal(scene_do(scene, &again), OP_APPLIED);
    assert_int_equal(holder(scene, "uk", SCENE_WALL), second);
}

static void a_key_whose_time_is_over_is_free(Scene *scene)
{
    Unique unique = { SLICE_LITERAL("k"), 5000, CONFLICT_REJECT };
    JobId first = add_key(scene, &unique, 0, SCENE_WALL);
    (void)add_key(scene, &unique, 0, SCENE_WALL + 4999);
    assert_int_equal(holder(scene, "uk", SCENE_WALL + 1), first);
    JobId third = add_key(scene, &unique, 0, SCENE_WALL + 5000);
    assert_int_equal(holder(scene, "uk", SCENE_WALL + 5001), third);
}

static void what_replaces_takes_the_key_of_one_that_is_over(Scene *scene)
{
    Unique unique = { SLICE_LITERAL("k"), 5000, CONFLICT_REPLACE };
    JobId first = add_key(scene, &unique, 0, SCENE_WALL);
    JobId second = add_key(scene, &unique, 0, SCENE_WALL);
    assert_int_equal(holder(scene, "uk", SCENE_WALL), first);
    move(scene, first, JOB_CANCELLED, 0);
    assert_int_equal(holder(scene, "uk", SCENE_WALL), first);
    JobId third = add_key(scene, &unique, 0, SCENE_WALL);
    assert_int_equal(holder(scene, "uk", SCENE_WALL), third);
    assert_int_not_equal(second, third);
}

static void jobs_of_one_request_hold_its_key_for_a_day(Scene *scene)
{
    Job *job = scene_job(scene, "q");
    job->flags = JOB_LINKED | JOB_UNSURE;
    job->created_ms = SCENE_WALL;
    job->request = SLICE_LITERAL("k\0"
                                 "1-1\0");
    JobId first = scene_add(scene, job);
    Job *other = scene_job(scene, "q");
    JobId second = other->id;
    *other = *job;
    other->id = second;
    other->request = SLICE_LITERAL("k\0"
                                   "2-7\0");
    (void)scene_add(scene, other);
    move(scene, first, JOB_CANCELLED, 0);
    assert_int_equal(holder(scene, "rk", SCENE_WALL + MS_PER_DAY - 1), first);
    assert_int_equal(holder(scene, "rk", SCENE_WALL + MS_PER_DAY), 0);
    Job kept = scene_must_get(scene, first);
    assert_true(slice_equal(kept.request, SLICE_LITERAL("k\0"
                                                        "1-1\0")));
}

static void a_job_becomes_sure_of_its_keys(Scene *scene)
{
    JobId id = add_unique(scene, "k", 0, JOB_UNSURE);
    Op op = scene_op(OP_MOVE, id);
    op.to = JOB_READY;
    op.fields = FIELD_SURE;
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    assert_int_equal(scene_must_get(scene, id).flags & JOB_UNSURE, 0);
}

static void others_merge_only_while_it_waits(Scene *scene)
{
    JobId id = add_unique(scene, NULL, 0, JOB_MERGES);
    Job job = scene_must_get(scene, id);
    Buf key = { 0 };
    assert_true(unique_key(&job, UNIQUE_MERGE, &key));
    assert_int_equal(holder(scene, buf_cstr(&key), SCENE_WALL), id);
    Op op = scene_claim(scene, id, 1);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    assert_int_equal(holder(scene, buf_cstr(&key), SCENE_WALL), 0);
    buf_done(&key);
}

const SceneRow scenes_of_links[] = {
    SCENE(a_parents_end_shows_its_children),
    SCENE(what_is_settled_is_not_shown_again),
    SCENE(parents_that_are_over_or_gone_count_at_once),
    SCENE(a_parent_that_goes_was_cancelled_or_what_it_was),
    SCENE(a_parent_that_runs_again_has_not_ended),
    SCENE(a_retry_shows_who_fell_with_it),
    SCENE(one_retried_itself_waits_until_its_parent_is_retried),
    SCENE(a_patient_one_is_shown_when_its_parent_goes),
    SCENE(jobs_of_another_tenant_are_not_there),
    SCENE(the_version_goes_with_the_attempt),
    SCENE(children_come_in_steps),
    SCENE(a_handler_does_not_see_who_waits_for_a_job),
    SCENE(groups_count_their_members),
    SCENE(lines_are_members),
    SCENE(a_key_is_held_until_its_job_is_final),
    SCENE(a_key_with_a_time_is_held_that_long),
    SCENE(the_first_has_the_key_until_it_is_free),
    SCENE(a_key_whose_time_is_over_is_free),
    SCENE(what_replaces_takes_the_key_of_one_that_is_over),
    SCENE(jobs_of_one_request_hold_its_key_for_a_day),
    SCENE(a_job_becomes_sure_of_its_keys),
    SCENE(others_merge_only_while_it_waits),
    { NULL, NULL },
};
