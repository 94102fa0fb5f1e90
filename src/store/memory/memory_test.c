/* SPDX-License-Identifier: Apache-2.0 */
/* memory_test.c - what the memory store has that others have not: clones and
 * hashes. And the small parts under it. */
#include "store/memory/memory.h"

#include "store/memory/sorted_map.h"
#include "store/point.h"
#include "testing/conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_clone_goes_its_own_way(void **state)
{
    (void)state;
    Scene scene = { .store = store_memory_new(), .ids.node = SCENE_NODE };
    JobId kept = scene_add_ready(&scene, "q");
    JobId changed = scene_add_ready(&scene, "q");
    Store *clone = store_memory_clone(scene.store);
    uint64_t hash = store_memory_hash(clone);
    assert_true(store_memory_hash(scene.store) == hash);
    Op claim = scene_claim(&scene, changed, 1);
    assert_int_equal(scene_do(&scene, &claim), OP_APPLIED);
    Op remove = scene_op(OP_REMOVE, kept);
    assert_int_equal(scene_do(&scene, &remove), OP_APPLIED);
    assert_false(store_memory_hash(scene.store) == hash);
    assert_true(store_memory_hash(clone) == hash);
    store_close(scene.store);
    scene.store = clone;
    scene_expect_state(&scene, kept, JOB_READY);
    scene_expect_state(&scene, changed, JOB_READY);
    store_close(clone);
    scene_done(&scene);
}

/* I14: the same state, by whichever way, has the same hash; any other has another. */
static void a_hash_tells_states_apart(void **state)
{
    (void)state;
    Scene scenes[2] = { { .store = store_memory_new(), .ids.node = SCENE_NODE },
                        { .store = store_memory_new(), .ids.node = SCENE_NODE } };
    for (size_t i = 0; i < 2; i++) {
        Scene *scene = &scenes[i];
        JobId id = scene_add_ready(scene, "q");
        if (i) { /* a detour */
            Op hold = scene_move(scene, id, JOB_HELD);
            Op release = scene_move(scene, id, JOB_READY);
            scene_do(scene, &hold);
            scene_do(scene, &release);
        }
        scene->number = 10;
        Op claim = scene_claim(scene, id, 1);
        scene_do(scene, &claim);
    }
    assert_true(store_memory_hash(scenes[0].store) == store_memory_hash(scenes[1].store));
    Op beat = scene_op(OP_BEAT, 0);
    beat.lock = SLICE_LITERAL(SCENE_SYSID);
    beat.dt_ms = SCENE_WALL + 31001;
    beat.at_ms = SCENE_WALL + 1000;
    scene_do(&scenes[0], &beat);
    beat.dt_ms--;
    scene_do(&scenes[1], &beat);
    assert_false(store_memory_hash(scenes[0].store) ==
                 store_memory_hash(scenes[1].store));
    for (size_t i = 0; i < 2; i++) {
        store_close(scenes[i].store);
        scene_done(&scenes[i]);
    }
}

static void entries_are_sorted_by_key(void **state)
{
    (void)state;
    SortedMap table = { 0 };
    sorted_map_put(&table, SLICE_LITERAL("b"), SLICE_LITERAL("2"), 2);
    sorted_map_put(&table, SLICE_LITERAL("a"), SLICE_LITERAL("1"), 1);
    sorted_map_put(&table, SLICE_LITERAL("ab"), SLICE_LITERAL("3"), 3);
    sorted_map_put(&table, SLICE_LITERAL("a"), SLICE_LITERAL("4"), 4);
    assert_int_equal(table.count, 3);
    assert_true(slice_is(buf_slice(&table.items[0].value), "4"));
    assert_true(slice_is(buf_slice(&table.items[1].key), "ab"));
    sorted_map_remove(&table, sorted_map_find(&table, SLICE_LITERAL("a")));
    assert_null(sorted_map_find(&table, SLICE_LITERAL("a")));
    assert_int_equal(sorted_map_find(&table, SLICE_LITERAL("b"))->number, 2);
    sorted_map_done(&table);
}

static void a_point_remembers_refusals_of_the_last_commit_only(void **state)
{
    (void)state;
    Points points = { 0 };
    Batch batch = { .node = 7, .number = 5 };
    Point *point = points_of(&points, 7);
    points_of(&points, 2);
    point = points_of(&points, 7);
    assert_false(point_passed(point, &batch));
    point_note(point, &batch, 3, OP_LOST);
    point_move(point, &batch);
    points_settle(&points);
    assert_true(point_passed(point, &batch));
    assert_int_equal(point_result(point, &batch, 3), OP_LOST);
    assert_int_equal(point_result(point, &batch, 2), OP_APPLIED);
    Batch next = { .node = 7, .number = 6 };
    point_move(point, &next);
    points_settle(&points);
    assert_int_equal(point_result(point, &batch, 3), OP_APPLIED);
    Batch read = { .node = 1, .has_read_point = true, .read_point = { 7, 100 } };
    assert_int_equal(point_node(&read), 7);
    assert_false(point_passed(point, &read));
    point_move(point, &read);
    assert_true(point_passed(point, &read));
    read.read_point.position = 99; /* never back */
    point_move(point, &read);
    assert_int_equal(points_find(&points, 7)->position, 100);
    assert_null(points_find(&points, 3));
    points_done(&points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clone_goes_its_own_way),
        cmocka_unit_test(a_hash_tells_states_apart),
        cmocka_unit_test(entries_are_sorted_by_key),
        cmocka_unit_test(a_point_remembers_refusals_of_the_last_commit_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
