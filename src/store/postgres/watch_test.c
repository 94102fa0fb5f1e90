/* SPDX-License-Identifier: Apache-2.0 */
/* watch_test.c - hints between handles on a real server: who hears what, when
 * the connection is cut, and what the texts say. That a pooler is noticed is shown end to
 * end. */
#include "store/postgres/postgres.h"
#include "testing/conformance.h"
#include "testing/testserver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OTHER    5
#define PATIENCE 120000
#define MOMENT   50

static Scene scene;
static Store *listener;

static int begin(void **state)
{
    (void)state;
    Error why = { 0 };
    scene = (Scene){ .ids.node = SCENE_NODE };
    assert_int_equal(
        store_open(testserver_fresh(), &(StoreOptions){ 0 }, &scene.store, &why), ERR_OK);
    assert_int_equal(store_open(testserver_url(), &(StoreOptions){ 0 }, &listener, &why),
                     ERR_OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    store_close(listener);
    store_close(scene.store);
    scene_done(&scene);
    return 0;
}

static bool watches(uint32_t node, int ms)
{
    return listener->kind->watch(listener, node, ms);
}

static void mail_to(uint32_t node)
{
    Op op = scene_op(OP_MAIL, 0);
    op.node = node;
    op.value = SLICE_LITERAL("letter");
    assert_int_equal(scene_do(&scene, &op), OP_APPLIED);
}

static void only_the_node_that_gets_mail_is_told(void **state)
{
    (void)state;
    assert_true(watches(OTHER, PATIENCE)); /* it begins to listen: look once */
    assert_false(watches(OTHER, MOMENT));
    mail_to(OTHER + 1);
    assert_false(watches(OTHER, MOMENT));
    mail_to(OTHER);
    assert_true(watches(OTHER, PATIENCE));
    assert_false(watches(OTHER, MOMENT));
}

static void a_change_is_told_to_all(void **state)
{
    (void)state;
    assert_true(watches(OTHER, PATIENCE));
    Op op = scene_op(OP_PUT, 0);
    op.table = SLICE_LITERAL("queue");
    op.tenant = SLICE_LITERAL("t");
    op.key = SLICE_LITERAL("k");
    op.value = SLICE_LITERAL("v");
    assert_int_equal(scene_do(&scene, &op), OP_APPLIED);
    assert_true(watches(OTHER, PATIENCE));
}

static void jobs_of_ones_own_are_told_to_no_one(void **state)
{
    (void)state;
    assert_true(watches(SCENE_NODE, PATIENCE));
    scene_add_in(&scene, JOB_DONE);
    assert_false(watches(SCENE_NODE, MOMENT));
}

static void a_cut_connection_is_made_again(void **state)
{
    (void)state;
    assert_true(watches(OTHER, PATIENCE));
    testserver_cut();
    mail_to(OTHER);
    assert_true(watches(OTHER, PATIENCE)); /* as it listens again */
    mail_to(OTHER);
    assert_true(watches(OTHER, PATIENCE));
}

static void texts_name_nodes(void **state)
{
    (void)state;
    PgHints hints = { .all = false };
    Buf text = { 0 };
    pghints_text(&hints, &text);
    assert_int_equal(text.bytes, 0);
    pghints_add(&hints, 12);
    pghints_add(&hints, 3);
    pghints_add(&hints, 12);
    pghints_text(&hints, &text);
    assert_string_equal(buf_cstr(&text), "12 3");
    assert_true(pghints_name("12 3", 12));
    assert_true(pghints_name("12 3", 3));
    assert_false(pghints_name("12 3", 2));
    assert_false(pghints_name("", 2));
    assert_true(pghints_name("*", 2));
    for (uint32_t node = 1; node < 20; node++)
        pghints_add(&hints, node);
    buf_clear(&text);
    pghints_text(&hints, &text);
    assert_string_equal(buf_cstr(&text), "*");
    buf_done(&text);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        ROW(only_the_node_that_gets_mail_is_told), ROW(a_change_is_told_to_all),
        ROW(jobs_of_ones_own_are_told_to_no_one),  ROW(a_cut_connection_is_made_again),
        cmocka_unit_test(texts_name_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
