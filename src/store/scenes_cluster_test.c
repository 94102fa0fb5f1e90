/* SPDX-License-Identifier: Apache-2.0 */
/* scenes_cluster_test.c - nodes that share a store, scene by scene: see cluster.h and
 * conformance.h. */
#include "core/share/peer.h"
#include "core/unique.h"
#include "store/cluster.h"
#include "testing/conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Two nodes that have joined: SCENE_NODE with the name SCENE_SYSID, and another. */
static uint32_t join_two(Scene *scene)
{
    assert_int_equal(scene_renew(scene, SCENE_SYSID, true).number, SCENE_NODE);
    uint32_t other = scene_renew(scene, SCENE_OTHER, true).number;
    assert_int_not_equal(other, SCENE_NODE);
    scene_join(scene, SCENE_NODE, 1);
    scene_join(scene, other, 1);
    return other;
}

static OpResult give(Scene *scene, JobId id, uint32_t to)
{
    Op op = scene_op(OP_GIVE, id);
    op.node = to;
    return scene_do(scene, &op);
}

static OpResult fence(Scene *scene, uint32_t by, uint32_t node, uint64_t epoch)
{
    Op op = scene_op(OP_FENCE, 0);
    op.node = node;
    op.count = epoch;
    return scene_do_as(scene, by, &op);
}

static OpResult take(Scene *scene, uint32_t by, uint32_t node, uint64_t count)
{
    Op op = scene_op(OP_TAKE, 0);
    op.node = node;
    op.count = count;
    return scene_do_as(scene, by, &op);
}

/* The lease of SCENE_NODE is over and `by` has fenced it. */
static void lose(Scene *scene, uint32_t by)
{
    scene_renew(scene, SCENE_SYSID, false);
    assert_int_equal(fence(scene, by, SCENE_NODE, 1), OP_APPLIED);
}

static size_t loaded(Scene *scene, Load load)
{
    Loaded found = scene_load(scene, &load);
    size_t count = found.count;
    loaded_done(&found);
    return count;
}

static size_t window_of(Scene *scene, uint32_t owner)
{
    return loaded(scene, (Load){ .kind = LOAD_WINDOW,
                                 .tenant = SLICE_LITERAL(SCENE_TENANT),
                                 .queue = SLICE_LITERAL("q"),
                                 .owner = owner,
                                 .limit = 3 });
}

/* --- Numbers and leases ------------------------------------------------------------ */

static void numbers_are_unique_and_kept(Scene *scene)
{
    NodeRow first = scene_renew(scene, SCENE_SYSID, true);
    NodeRow second = scene_renew(scene, SCENE_OTHER, true);
    NodeRow third = scene_renew(scene, "node-c", true);
    assert_int_equal(first.number, SCENE_NODE);
    assert_int_equal(second.number, 1);
    assert_int_equal(third.number, 2);
    assert_int_equal(scene_renew(scene, SCENE_OTHER, false).number, 1);
    assert_int_equal(first.epoch, 0);
    scene_join(scene, 1, 1);
    assert_int_equal(scene_renew(scene, SCENE_OTHER, true).epoch, 1);
}

typedef struct SeenNodes {
    Arena *arena;
    NodeRow rows[8];
    size_t count;
} SeenNodes;

static void see_node(void *context, const NodeRow *row)
{
    SeenNodes *seen = context;
    assert_true(seen->count < 8);
    seen->rows[seen->count] = *row;
    seen->rows[seen->count].sysid = slice_copy(seen->arena, row->sysid);
    seen->rows[seen->count++].facts = slice_copy(seen->arena, row->facts);
}

static SeenNodes nodes_of(Scene *scene)
{
    Err err = ERR_IO;
    SeenNodes seen = { .arena = &scene->arena };
    for (int tries = 0; err && tries < 2; tries++) {
        Error why = { 0 };
        seen.count = 0;
        err = scene->store->kind->nodes(scene->store, see_node, &seen, &why);
        scene->failures += err != ERR_OK;
    }
    assert_int_equal(err, ERR_OK);
    return seen;
}

static void rows_tell_of_nodes(Scene *scene)
{
    uint32_t other = join_two(scene);
    scene_renew(scene, SCENE_OTHER, false);
    SeenNodes seen = nodes_of(scene);
    assert_int_equal(seen.count, 2);
    const NodeRow *dead = &seen.rows[0]; /* its number is the smaller */
    const NodeRow *alive = &seen.rows[1];
    assert_int_equal(dead->number, other);
    assert_true(slice_is(dead->sysid, SCENE_OTHER));
    assert_true(slice_is(dead->facts, "facts"));
    assert_true(dead->left_ms <= 0);
    assert_true(alive->left_ms > MS_PER_HOUR / 2 && alive->left_ms <= MS_PER_HOUR);
    assert_int_equal(alive->epoch, 1);
    assert_false(alive->fenced);
}

/* S0.13: one controller at a time; it stays until its lease is over. */
static void one_node_controls(Scene *scene)
{
    join_two(scene);
    assert_true(scene_renew(scene, SCENE_SYSID, true).controls);
    assert_false(scene_renew(scene, SCENE_OTHER, true).controls);
    assert_true(scene_renew(scene, SCENE_SYSID, true).controls);
    scene_renew(scene, SCENE_SYSID, false); /* gives its lease back */
    assert_true(scene_renew(scene, SCENE_OTHER, true).controls);
    assert_false(scene_renew(scene, SCENE_SYSID, true).controls);
}

static void who_has_not_joined_does_not_control(Scene *scene)
{
    assert_false(scene_renew(scene, SCENE_SYSID, true).controls);
    scene_join(scene, SCENE_NODE, 1);
    assert_true(scene_renew(scene, SCENE_SYSID, true).controls);
}

/* --- Owners ------------------------------------------------------------------------ */

static void only_the_owner_decides(Scene *scene)
{
    uint32_t other = join_two(scene);
    JobId id = scene_add_ready(scene, "q");
    Op claim = scene_claim(scene, id, 1);
    assert_int_equal(scene_do_as(scene, other, &claim), OP_LOST);
    Op cancel = scene_move(scene, id, JOB_CANCELLED);
    assert_int_equal(scene_do_as(scene, other, &cancel), OP_LOST);
    Op removal = scene_op(OP_REMOVE, id);
    assert_int_equal(scene_do_as(scene, other, &removal), OP_LOST);
    assert_int_equal(give(scene, id, other), OP_APPLIED);
    assert_int_equal(job_owner(&(Job){ .id = id }), SCENE_NODE);
    assert_int_equal(scene_must_get(scene, id).owner, other);
    assert_int_equal(scene_do(scene, &claim), OP_LOST);
    assert_int_equal(scene_do_as(scene, other, &claim), OP_APPLIED);
    scene_expect_state(scene, id, JOB_RUNNING);
}

static void a_given_job_comes_home(Scene *scene)
{
    uint32_t other = join_two(scene);
    JobId id = scene_add_ready(scene, "q");
    assert_int_equal(give(scene, id, other), OP_APPLIED);
    Op op = scene_op(OP_GIVE, id);
    op.node = SCENE_NODE;
    assert_int_equal(scene_do_as(scene, other, &op), OP_APPLIED);
    assert_int_equal(scene_must_get(scene, id).owner, 0);
    Op claim = scene_claim(scene, id, 1);
    assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
}

static void only_waiting_jobs_are_given(Scene *scene)
{
    uint32_t other = join_two(scene);
    for (JobState state = JOB_DEFERRED; state < JOB_STATES; state++) {
        JobId id = scene_add_in(scene, state);
        OpResult result = give(scene, id, other);
        assert_int_equal(result,
                         state_in(state, STATES_WAITING) ? OP_APPLIED : OP_CONFLICT);
    }
    JobId id = scene_add_ready(scene, "q");
    assert_int_equal(give(scene, id, 0), OP_CONFLICT);
}

static void final_jobs_are_no_ones(Scene *scene)
{
    uint32_t other = join_two(scene);
    JobId done = scene_add_in(scene, JOB_DONE);
    JobId failed = scene_add_in(scene, JOB_FAILED);
    Op removal = scene_op(OP_REMOVE, done);
    assert_int_equal(scene_do_as(scene, other, &removal), OP_APPLIED);
    Op again = scene_move(scene, failed, JOB_READY);
    again.fields = FIELD_RETRY;
    assert_int_equal(scene_do_as(scene, other, &again), OP_APPLIED);
    assert_int_equal(scene_must_get(scene, failed).owner, other);
    Op claim = scene_claim(scene, failed, 2);
    assert_int_equal(scene_do(scene, &claim), OP_LOST);
}

static void who_has_not_joined_is_not_guarded(Scene *scene)
{
    scene_renew(scene, SCENE_SYSID, true);
    JobId id = scene_add_ready(scene, "q");
    Op claim = scene_claim(scene, id, 1);
    assert_int_equal(scene_do_as(scene, 77, &claim), OP_APPLIED);
}

static void loads_ask_for_one_owner(Scene *scene)
{
    uint32_t other = join_two(scene);
    JobId ids[6];
    for (size_t i = 0; i < 6; i++)
        ids[i] = scene_add_ready(scene, "q");
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(give(scene, ids[i], other), OP_APPLIED);
    assert_int_equal(window_of(scene, SCENE_NODE), 2);
    assert_int_equal(window_of(scene, other), 3); /* the limit */
    assert_int_equal(window_of(scene, 77), 0);
    for (uint32_t owner = 0; owner < 2; owner++) {
        Load lanes = { .kind = LOAD_LANES, .owner = owner ? SCENE_NODE : other };
        Loaded found = scene_load(scene, &lanes);
        assert_int_equal(found.count, 1);
        assert_true(found.jobs[0].id == (owner ? ids[4] : ids[0]));
        loaded_done(&found);
    }
    assert_int_equal(loaded(scene, (Load){ .kind = LOAD_LANES, .owner = 77 }), 0);
    Load listed = { .kind = LOAD_IDS,
                    .owner = other,
                    .key = slice_of((const char *)&ids[2], 3 * sizeof(JobId)) };
    assert_int_equal(loaded(scene, listed), 2); /* the fifth is not its own */
    listed.owner = 0;
    assert_int_equal(loaded(scene, listed), 3);
    JobId ended[] = { scene_add_in(scene, JOB_DONE), scene_add_in(scene, JOB_REJECTED) };
    listed.key = slice_of((const char *)ended, sizeof ended);
    assert_int_equal(loaded(scene, listed), 2);
}

static void timed_and_running_jobs_of_one_owner(Scene *scene)
{
    uint32_t other = join_two(scene);
    JobId mine = scene_add_in(scene, JOB_DEFERRED);
    JobId given = scene_add_in(scene, JOB_DEFERRED);
    JobId running = scene_add_running(scene);
    assert_int_equal(give(scene, given, other), OP_APPLIED);
    Load due = { .kind = LOAD_DUE, .dt_ms = TIME_NEVER - 1, .owner = other };
    Loaded found = scene_load(scene, &due);
    assert_int_equal(found.count, 1);
    assert_true(found.jobs[0].id == given);
    loaded_done(&found);
    due.dt_ms = 0;
    found = scene_load(scene, &due);
    assert_int_equal(found.count, 0);
    assert_true(found.next_due_ms == scene_must_get(scene, given).dt_ms);
    loaded_done(&found);
    (void)mine;
    Load runs = { .kind = LOAD_RUNNING, .owner = SCENE_NODE };
    found = scene_load(scene, &runs);
    assert_int_equal(found.count, 1);
    assert_true(found.jobs[0].id == running);
    loaded_done(&found);
    runs.owner = other;
    assert_int_equal(loaded(scene, runs), 0);
}

/* --- Fences and taking over -------------------------------------------------------- */

static void a_live_node_is_not_fenced(Scene *scene)
{
    uint32_t other = join_two(scene);
    assert_int_equal(fence(scene, other, SCENE_NODE, 1), OP_LOST);
    scene_renew(scene, SCENE_SYSID, false);
    assert_int_equal(fence(scene, other, SCENE_NODE, 2), OP_LOST); /* another epoch */
    assert_int_equal(fence(scene, other, 77, 1), OP_MISSING);
    assert_int_equal(take(scene, other, SCENE_NODE, 10), OP_LOST);
    assert_int_equal(fence(scene, other, SCENE_NODE, 1), OP_APPLIED);
    assert_int_equal(fence(scene, other, SCENE_NODE, 1), OP_LOST); /* one wins */
    assert_true(scene_renew(scene, SCENE_SYSID, true).fenced);
}

/* Late results of a node that was given up are refused. */
static void a_fenced_node_decides_nothing(Scene *scene)
{
    uint32_t other = join_two(scene);
    JobId running = scene_add_running(scene);
    JobId ready = scene_add_ready(scene, "q");
    lose(scene, other);
    Op finish = scene_finish(scene, running, 1, JOB_DONE);
    assert_int_equal(scene_do(scene, &finish), OP_LOST);
    Op claim = scene_claim(scene, ready, 1);
    assert_int_equal(scene_do(scene, &claim), OP_LOST);
    Op mail = scene_op(OP_MAIL, 0);
    mail.node = other;
    assert_int_equal(scene_do(scene, &mail), OP_LOST);
    scene_expect_state(scene, running, JOB_RUNNING);
}

static void a_fenced_node_keeps_its_promises(Scene *scene)
{
    uint32_t other = join_two(scene);
    lose(scene, other);
    JobId accepted = scene_add_ready(scene, "q");
    scene_expect_state(scene, accepted, JOB_READY);
    Op child = scene_op(OP_ADD, 0);
    child.job = scene_job(scene, "q");
    child.own = 1;
    assert_int_equal(scene_do(scene, &child), OP_LOST);
    Op put = scene_op(OP_PUT, 0);
    put.table = SLICE_LITERAL("queue");
    put.key = SLICE_LITERAL("k1");
    put.value = SLICE_LITERAL("v");
    assert_int_equal(scene_do(scene, &put), OP_APPLIED);
    put.own = 1;
    assert_int_equal(scene_do(scene, &put), OP_LOST);
    Op key = scene_op(OP_KEY, 0);
    key.tenant = SLICE_LITERAL(SCENE_TENANT);
    key.key = SLICE_LITERAL("k1");
    key.dt_ms = SCENE_WALL + MS_PER_DAY;
    assert_int_equal(scene_do(scene, &key), OP_APPLIED);
}

/* Work on the disk of a lost node is no one else's. */
static void what_stays_waits_for_its_node(Scene *scene)
{
    uint32_t other = join_two(scene);
    Job *stays = scene_job(scene, "q");
    stays->flags |= JOB_STAYS;
    JobId id = scene_add(scene, stays);
    JobId taken = scene_add_ready(scene, "q");
    lose(scene, other);
    assert_int_equal(take(scene, other, SCENE_NODE, 3), OP_APPLIED);
    assert_int_equal(take(scene, other, SCENE_NODE, 3), OP_MISSING);
    assert_int_equal(window_of(scene, other), 1);
    assert_int_equal(window_of(scene, SCENE_NODE), 1);
    assert_int_equal(scene_must_get(scene, taken).owner, other);
    Op claim = scene_claim(scene, id, 1);
    scene_renew(scene, SCENE_SYSID, true);
    scene_join(scene, SCENE_NODE, 2);
    assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
}

/* Jobs of a lost node are taken over, once, in steps. */
static void jobs_of_a_lost_node_are_taken(Scene *scene)
{
    uint32_t other = join_two(scene);
    JobId running = scene_add_running(scene);
    for (int i = 0; i < 3; i++)
        scene_add_ready(scene, "q");
    JobId done = scene_add_in(scene, JOB_DONE);
    lose(scene, other);
    assert_int_equal(take(scene, other, SCENE_NODE, 3), OP_APPLIED);
    assert_int_equal(window_of(scene, other), 2);
    assert_int_equal(window_of(scene, SCENE_NODE), 1);
    assert_int_equal(take(scene, other, SCENE_NODE, 3), OP_APPLIED);
    assert_int_equal(take(scene, other, SCENE_NODE, 3), OP_MISSING);
    assert_int_equal(scene_must_get(scene, done).owner, 0);
    Op lost = scene_finish(scene, running, 1, JOB_READY);
    assert_int_equal(scene_do_as(scene, other, &lost), OP_APPLIED);
    Op claim = scene_claim(scene, running, 2);
    claim.lock = SLICE_LITERAL(SCENE_OTHER);
    assert_int_equal(scene_do_as(scene, other, &claim), OP_APPLIED);
    Op late = scene_finish(scene, running, 1, JOB_DONE);
    assert_int_equal(scene_do(scene, &late), OP_LOST);
}

static void a_node_that_returns_joins_anew(Scene *scene)
{
    uint32_t other = join_two(scene);
    JobId kept = scene_add_ready(scene, "q");
    JobId gone = scene_add_ready(scene, "q");
    lose(scene, other);
    Op mail = scene_op(OP_MAIL, 0);
    mail.node = SCENE_NODE;
    mail.value = SLICE_LITERAL("too late");
    assert_int_equal(scene_do_as(scene, other, &mail), OP_APPLIED);
    assert_int_equal(take(scene, other, SCENE_NODE, 1), OP_APPLIED);
    Op again = scene_op(OP_JOIN, 0);
    again.count = 1;
    assert_int_equal(scene_do(scene, &again), OP_LOST);
    scene_join(scene, SCENE_NODE, 2);
    NodeRow row = scene_renew(scene, SCENE_SYSID, true);
    assert_false(row.fenced);
    assert_int_equal(row.epoch, 2);
    assert_int_equal(take(scene, other, SCENE_NODE, 1), OP_LOST);
    Op claim = scene_claim(scene, kept, 1);
    assert_int_equal(scene_do(scene, &claim), OP_LOST);
    claim = scene_claim(scene, gone, 1);
    assert_int_equal(scene_do(scene, &claim), OP_APPLIED);
    Loaded inbox = scene_load(scene, &(Load){ .kind = LOAD_INBOX, .owner = SCENE_NODE });
    assert_int_equal(inbox.letter_count, 0);
    loaded_done(&inbox);
}

/* --- The home of what is counted over all nodes ------------------------------------ */

static OpResult put_home(Scene *scene, uint32_t by, uint32_t to, uint64_t count)
{
    Buf value = { 0 };
    Op op = scene_op(OP_PUT, 0);
    op.own = 1;
    op.table = SLICE_LITERAL(HOME_TABLE);
    home_write(&value, &(Home){ to, count });
    op.value = slice_copy(&scene->arena, buf_slice(&value));
    buf_done(&value);
    return scene_do_as(scene, by, &op);
}

/* S3.44: who has it leaves it; no one takes it from a node that is not fenced. */
static void the_home_is_taken_from_no_one_alive(Scene *scene)
{
    uint32_t other = join_two(scene);
    assert_int_equal(put_home(scene, SCENE_NODE, SCENE_NODE, 1), OP_APPLIED);
    assert_int_equal(put_home(scene, other, other, 1), OP_LOST);
    assert_int_equal(put_home(scene, other, other, 2), OP_LOST);
    assert_int_equal(put_home(scene, SCENE_NODE, other, 3), OP_LOST); /* not the next */
    assert_int_equal(put_home(scene, SCENE_NODE, other, 2), OP_APPLIED);
    assert_int_equal(put_home(scene, SCENE_NODE, SCENE_NODE, 3), OP_LOST);
    assert_int_equal(put_home(scene, other, SCENE_NODE, 3), OP_APPLIED);
    lose(scene, other);
    assert_int_equal(put_home(scene, SCENE_NODE, SCENE_NODE, 4), OP_LOST);
    assert_int_equal(put_home(scene, other, other, 4), OP_APPLIED);
}

/* As it is in a store that was filled from another one. */
static void the_home_of_an_unknown_node_is_free(Scene *scene)
{
    uint32_t other = join_two(scene);
    assert_int_equal(put_home(scene, other, 77, 1), OP_APPLIED);
    assert_int_equal(put_home(scene, SCENE_NODE, SCENE_NODE, 2), OP_APPLIED);
    assert_int_equal(put_home(scene, other, other, 3), OP_LOST);
}

/* --- Mail and changes -------------------------------------------------------------- */

static void mail_arrives_in_order_and_goes_when_taken(Scene *scene)
{
    uint32_t other = join_two(scene);
    static const char *const bodies[] = { "first", "second", "third" };
    for (size_t i = 0; i < 3; i++) {
        Op op = scene_op(OP_MAIL, 0);
        op.node = other;
        op.value = slice_text(bodies[i]);
        assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    }
    Load load = { .kind = LOAD_INBOX, .owner = other, .limit = 2 };
    Loaded inbox = scene_load(scene, &load);
    assert_int_equal(inbox.letter_count, 2);
    assert_true(inbox.more);
    assert_true(slice_is(inbox.letters[0].body, "first"));
    assert_true(slice_is(inbox.letters[1].body, "second"));
    assert_int_equal(inbox.letters[0].from, SCENE_NODE);
    Op taken = scene_op(OP_TAKEN, 0);
    taken.count = inbox.letters[0].number;
    loaded_done(&inbox);
    assert_int_equal(scene_do(scene, &taken), OP_MISSING); /* not its own */
    assert_int_equal(scene_do_as(scene, other, &taken), OP_APPLIED);
    assert_int_equal(scene_do_as(scene, other, &taken), OP_MISSING);
    inbox = scene_load(scene, &load);
    assert_int_equal(inbox.letter_count, 2);
    assert_false(inbox.more);
    assert_true(slice_is(inbox.letters[0].body, "second"));
    loaded_done(&inbox);
}

typedef struct SeenChanges {
    Buf text;
    uint64_t last;
} SeenChanges;

static void see_change(void *context, const Change *change)
{
    SeenChanges *seen = context;
    assert_true(change->change > seen->last);
    seen->last = change->change;
    const Definition *definition = &change->definition;
    buf_printf(&seen->text, SLICE_FMT "/" SLICE_FMT "=", SLICE_ARG(change->table),
               SLICE_ARG(definition->key));
    if (definition->value.data)
        buf_add_slice(&seen->text, definition->value);
    else
        buf_add_text(&seen->text, "gone");
    buf_printf(&seen->text, " by %u;", change->node);
}

static uint64_t expect_changes(Scene *scene, uint64_t after, const char *expected)
{
    Err err = ERR_IO;
    SeenChanges seen = { .last = after == CHANGES_LAST ? 0 : after };
    for (int tries = 0; err && tries < 2; tries++) {
        Error why = { 0 };
        err = scene->store->kind->changes(scene->store, after, see_change, &seen, &why);
        scene->failures += err != ERR_OK;
    }
    assert_int_equal(err, ERR_OK);
    assert_string_equal(buf_cstr(&seen.text), expected);
    buf_done(&seen.text);
    return seen.last;
}

static void define_in(Scene *scene, const char *table, const char *key, const char *value)
{
    Op op = scene_op(value ? OP_PUT : OP_DELETE, 0);
    op.table = slice_text(table);
    op.tenant = SLICE_LITERAL("");
    op.key = slice_text(key);
    if (value)
        op.value = slice_text(value);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
}

static void define(Scene *scene, uint32_t node, const char *key, const char *value)
{
    Op op = scene_op(value ? OP_PUT : OP_DELETE, 0);
    op.table = SLICE_LITERAL("queue");
    op.tenant = SLICE_LITERAL(SCENE_TENANT);
    op.key = slice_text(key);
    if (value)
        op.value = slice_text(value);
    assert_int_equal(scene_do_as(scene, node, &op), OP_APPLIED);
}

static void changes_of_definitions_are_told_in_order(Scene *scene)
{
    uint64_t last = expect_changes(scene, 0, "");
    define(scene, SCENE_NODE, "k1", "one");
    define(scene, 9, "k2", "two");
    last = expect_changes(scene, last, "queue/k1=one by 3;queue/k2=two by 9;");
    expect_changes(scene, last, "");
    define(scene, 9, "k1", "more");
    define(scene, SCENE_NODE, "k1", "most");
    define(scene, SCENE_NODE, "k2", NULL);
    expect_changes(scene, last, "queue/k1=most by 3;queue/k2=gone by 3;");
    expect_changes(scene, 0, "queue/k1=most by 3;queue/k2=gone by 3;");
}

/* What was removed is forgotten, but not by those who ask often enough; what is there
 * never is. */
static void words_on_what_is_gone_go(Scene *scene)
{
    define(scene, SCENE_NODE, "gone", "one");
    define(scene, SCENE_NODE, "gone", NULL);
    define(scene, SCENE_NODE, "stays", "one");
    define(scene, SCENE_NODE, "often", "one");
    uint64_t last = expect_changes(scene, CHANGES_LAST, "queue/often=one by 3;");
    expect_changes(scene, 0,
                   "queue/gone=gone by 3;queue/stays=one by 3;queue/often=one by 3;");
    Batch batch = { .node = SCENE_NODE };
    for (uint64_t i = 0; i < CHANGES_KEPT + CHANGES_KEPT / 10; i++) {
        Op *op = batch_op(&batch, OP_PUT, 0);
        op->table = SLICE_LITERAL("queue");
        op->key = SLICE_LITERAL("often");
        op->tenant = SLICE_LITERAL(SCENE_TENANT);
        op->value = SLICE_LITERAL("more");
    }
    scene_commit(scene, &batch, 1, NULL);
    expect_changes(scene, 0, "queue/stays=one by 3;queue/often=more by 3;");
    expect_changes(scene, last, "queue/often=more by 3;");
    batch_done(&batch);
}

/* What is told stays for long: rows of the audit, which come and go, would fill the store
 * with words on what is long gone. */
static void nobody_is_told_of_the_audit(Scene *scene)
{
    uint64_t last = expect_changes(scene, 0, "");
    define_in(scene, AUDIT_TABLE, "0000495000", "1");
    define_in(scene, AUDIT_HOUR_TABLE "0000495000", "a", "row");
    define_in(scene, AUDIT_HOUR_TABLE "0000495000", "a", NULL);
    define_in(scene, AUDIT_TABLE, "0000495000", NULL);
    expect_changes(scene, last, "");
    define_in(scene, "auditor", "a", "one"); /* a table of its own */
    expect_changes(scene, last, "auditor/a=one by 3;");
}

/* Who controls asks for them when their node is lost; no one else has use for them. */
static void jobs_that_are_owed_are_loaded_and_not_told(Scene *scene)
{
    uint32_t other = join_two(scene);
    Job *job = scene_job(scene, "q");
    Buf packed = { 0 };
    uint64_t last = expect_changes(scene, 0, "");
    job->payload = SLICE_LITERAL("what to do");
    job_pack(&packed, job);
    Op put = scene_op(OP_PUT, 0);
    put.own = 1;
    put.table = SLICE_LITERAL(OWED_TABLE);
    put.key = SLICE_LITERAL("some id");
    put.value = buf_slice(&packed);
    assert_int_equal(loaded(scene, (Load){ .kind = LOAD_OWED }), 0);
    assert_int_equal(scene_do(scene, &put), OP_APPLIED);
    Loaded found = scene_load(scene, &(Load){ .kind = LOAD_OWED });
    assert_int_equal(found.count, 1);
    assert_int_equal(found.jobs[0].id, job->id);
    assert_true(slice_is(found.jobs[0].payload, "what to do"));
    loaded_done(&found);
    expect_changes(scene, last, "");

    lose(scene, other);
    Op add = scene_op(OP_ADD, 0);
    Op strike = put;
    add.own = 1;
    add.job = job;
    strike.kind = OP_DELETE;
    assert_int_equal(scene_do(scene, &add), OP_LOST); /* it is for the other now */
    assert_int_equal(scene_do(scene, &strike), OP_LOST);
    job_set_owner(job, other);
    assert_int_equal(scene_do_as(scene, other, &add), OP_APPLIED);
    assert_int_equal(scene_do_as(scene, other, &add), OP_EXISTS);
    assert_int_equal(scene_do_as(scene, other, &strike), OP_APPLIED);
    assert_int_equal(loaded(scene, (Load){ .kind = LOAD_OWED }), 0);
    assert_int_equal(loaded(scene, (Load){ .kind = LOAD_LANES, .owner = other }), 1);
    expect_changes(scene, last, "");
    buf_done(&packed);
}

/* --- What tenants have ---------------------------------------------------------------
 */

static void see_use(void *context, const TenantUse *use)
{
    TenantUse *seen = context;
    if (slice_is(use->tenant, SCENE_TENANT)) {
        Slice none = { NULL, 0 };
        *seen = *use;
        seen->tenant = none; /* only during the call */
    }
}

static TenantUse use_now(Scene *scene)
{
    TenantUse seen = { 0 };
    Err err = ERR_IO;
    for (int tries = 0; err && tries < 2; tries++) {
        Error why = { 0 };
        err = scene->store->kind->uses(scene->store, SCENE_NODE, see_use, &seen, &why);
        scene->failures += err != ERR_OK;
    }
    assert_int_equal(err, ERR_OK);
    return seen;
}

static JobId add_body(Scene *scene, Slice body)
{
    Job *job = scene_job(scene, "q");
    job->payload = body;
    return scene_add(scene, job);
}

static void patch_body(Scene *scene, JobId id, Slice body)
{
    Op op = scene_move(scene, id, JOB_READY);
    op.fields = FIELD_PAYLOAD;
    op.payload = body;
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
}

static void end_with(Scene *scene, JobId id, uint32_t attempt, const char *result)
{
    Op op = scene_claim(scene, id, attempt);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
    op = scene_finish(scene, id, attempt, JOB_DONE);
    op.result = slice_text(result);
    assert_int_equal(scene_do(scene, &op), OP_APPLIED);
}

#define LARGE 5000 /* bytes: in a table of its own */

static void bodies_and_results_are_counted(Scene *scene)
{
    Buf large = { 0 };
    for (size_t i = 0; i < LARGE; i++)
        buf_add_char(&large, (char)i);
    assert_int_equal(use_now(scene).bytes, 0);
    JobId small = add_body(scene, SLICE_LITERAL("four"));
    JobId other = add_body(scene, buf_slice(&large));
    assert_int_equal(use_now(scene).bytes, 4 + LARGE);
    assert_int_equal(use_now(scene).queued_here, 2);
    patch_body(scene, small, buf_slice(&large));
    assert_int_equal(use_now(scene).bytes, LARGE + LARGE);
    patch_body(scene, small, slice_of(buf_slice(&large).data, LARGE - 1));
    assert_int_equal(use_now(scene).bytes, LARGE - 1 + LARGE);
    patch_body(scene, small, SLICE_LITERAL("six456"));
    assert_int_equal(use_now(scene).bytes, 6 + LARGE);
    end_with(scene, small, 1, "result");
    assert_int_equal(use_now(scene).bytes, 6 + 6 + LARGE);
    Op again = scene_move(scene, small, JOB_READY);
    again.fields = FIELD_RETRY;
    assert_int_equal(scene_do(scene, &again), OP_APPLIED);
    end_with(scene, small, 2, "so");
    assert_int_equal(use_now(scene).bytes, 6 + 2 + LARGE);
    assert_int_equal(use_now(scene).queued_here, 1);
    Op gone = scene_op(OP_REMOVE, other);
    assert_int_equal(scene_do(scene, &gone), OP_APPLIED);
    assert_int_equal(use_now(scene).bytes, 6 + 2);
    gone = scene_op(OP_REMOVE, small);
    assert_int_equal(scene_do(scene, &gone), OP_APPLIED);
    assert_int_equal(use_now(scene).bytes, 0);
    assert_int_equal(use_now(scene).queued_here, 0);
    buf_done(&large);
}

static void lines_are_counted_until_they_are_purged(Scene *scene)
{
    enum { LINES = 100 };
    Buf body = { 0 };
    for (size_t i = 0; i < LINES; i++)
        buf_add_text(&body, "line\n");
    Job *job = scene_job(scene, "q");
    job->state = JOB_CANCELLED;
    job->finished_ms = 1;
    job->dt_ms = 1 + MS_PER_1000_YEARS;
    Op add = scene_op(OP_ADD_LINES, job->id);
    add.job = job;
    add.first = 1000;
    add.body = buf_slice(&body);
    assert_int_equal(scene_do(scene, &add), OP_APPLIED);
    assert_int_equal(use_now(scene).bytes, LINES * 4);
    Op purge = scene_op(OP_PURGE, 0);
    purge.dt_ms = 1000;
    purge.count = LINES - 1;
    assert_int_equal(scene_do(scene, &purge), OP_APPLIED);
    assert_int_equal(use_now(scene).bytes, 4);
    buf_done(&body);
}

/* By who has made it so: the sum is right whoever has run it. */
static void what_others_have_made_is_told_apart(Scene *scene)
{
    uint32_t other = join_two(scene);
    JobId id = scene_add_ready(scene, "q");
    TenantUse use = use_now(scene);
    assert_int_equal(use.queued_here + use.queued_elsewhere, 1);
    Op give = scene_op(OP_GIVE, id);
    give.node = other;
    assert_int_equal(scene_do(scene, &give), OP_APPLIED);
    Op claim = scene_claim(scene, id, 1);
    assert_int_equal(scene_do_as(scene, other, &claim), OP_APPLIED);
    use = use_now(scene);
    assert_int_equal(use.queued_here + use.queued_elsewhere, 0);
    assert_int_equal(use.running_here + use.running_elsewhere, 1);
    if (scene->store->kind->shared && use.running_elsewhere) {
        assert_int_equal(use.queued_here, 1);
        assert_int_equal(use.queued_elsewhere, -1);
        assert_int_equal(use.running_here, 0);
    }
}

const SceneRow scenes_of_clusters[] = {
    SCENE(numbers_are_unique_and_kept),
    SCENE(rows_tell_of_nodes),
    SCENE(one_node_controls),
    SCENE(who_has_not_joined_does_not_control),
    SCENE(only_the_owner_decides),
    SCENE(a_given_job_comes_home),
    SCENE(only_waiting_jobs_are_given),
    SCENE(final_jobs_are_no_ones),
    SCENE(who_has_not_joined_is_not_guarded),
    SCENE(loads_ask_for_one_owner),
    SCENE(timed_and_running_jobs_of_one_owner),
    SCENE(a_live_node_is_not_fenced),
    SCENE(a_fenced_node_decides_nothing),
    SCENE(a_fenced_node_keeps_its_promises),
    SCENE(jobs_of_a_lost_node_are_taken),
    SCENE(what_stays_waits_for_its_node),
    SCENE(a_node_that_returns_joins_anew),
    SCENE(the_home_is_taken_from_no_one_alive),
    SCENE(the_home_of_an_unknown_node_is_free),
    SCENE(mail_arrives_in_order_and_goes_when_taken),
    SCENE(changes_of_definitions_are_told_in_order),
    SCENE(words_on_what_is_gone_go),
    SCENE(nobody_is_told_of_the_audit),
    SCENE(jobs_that_are_owed_are_loaded_and_not_told),
    SCENE(bodies_and_results_are_counted),
    SCENE(lines_are_counted_until_they_are_purged),
    SCENE(what_others_have_made_is_told_apart),
    { NULL, NULL },
};
