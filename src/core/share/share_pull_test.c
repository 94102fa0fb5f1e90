/* SPDX-License-Identifier: Apache-2.0 */
/* share_pull_test.c - jobs for pull workers go to the node where workers wait. */
#include "core/share/node_message.h"
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OTHER 2

static void tell_of_other(Rig *rig, uint64_t pull)
{
    Peer peers[] = { { .number = 1, .epoch = 1, .left_ms = 9000 },
                     { .number = OTHER,
                       .epoch = 1,
                       .left_ms = 9000,
                       .facts = { .slots = 4, .used = 1, .pull = pull } } };
    Event event = { .kind = EVENT_PEERS,
                    .peers = peers,
                    .count = 2,
                    .lease_boot = rig->now.boot_ms + MS_PER_HOUR,
                    .claims_boot = rig->now.boot_ms + MS_PER_HOUR };
    rig_step(rig, &event, 1);
}

static Rig *open_shared(void)
{
    static const Handler pull = { .lang = LANG_PULL };
    Rig *rig = rig_open(NULL);
    rig->shared = true;
    rig_reopen(rig, true);
    tell_of_other(rig, 0);
    rig_define(rig, "mail", &pull);
    rig_define(rig, "scan", &pull);
    return rig;
}

static void add(Rig *rig, const char *type, int count)
{
    Job job = rig_typed_job(type);
    for (int i = 0; i < count; i++)
        rig_add(rig, &job);
}

/* Another node writes that its workers wait. */
static void ask_for(Rig *rig, uint64_t count, Slice types)
{
    Buf body = { 0 };
    node_message_pack(&body, &(NodeMessage){ .kind = MESSAGE_PULL,
                                             .count = count,
                                             .tenant = SLICE_LITERAL("default"),
                                             .types = types });
    rig->letter = (Letter){ 1, OTHER, slice_copy(&rig->arena, buf_slice(&body)) };
    buf_done(&body);
    rig->given = rig->mails = 0;
    rig_wait(rig, 2 * MS_PER_S);
}

static void half_of_what_matches_is_given(void **state)
{
    (void)state;
    Rig *rig = open_shared();
    add(rig, "mail", 5);
    add(rig, "scan", 4);
    ask_for(rig, 100, SLICE_LITERAL("mail\0"));
    assert_int_equal(rig->given, 3);
    assert_int_equal(rig->mails, 1);
    NodeMessage text;
    assert_int_equal(node_message_unpack(rig->last_mail, &text), ERR_OK);
    assert_int_equal(text.kind, MESSAGE_GIVEN);
    assert_int_equal(text.body.bytes, 3 * sizeof(JobId));
    ask_for(rig, 1, (Slice){ NULL, 0 });
    assert_int_equal(rig->given, 1);
    ask_for(rig, 100, SLICE_LITERAL("other\0"));
    assert_int_equal(rig->given, 0);
    rig_close(rig);
}

static void a_lone_job_is_given_too(void **state)
{
    (void)state;
    Rig *rig = open_shared();
    add(rig, "mail", 1);
    assert_int_equal(node_facts(rig->node).pull, 1);
    ask_for(rig, 7, (Slice){ NULL, 0 });
    assert_int_equal(rig->given, 1);
    assert_int_equal(node_facts(rig->node).pull, 0);
    rig_close(rig);
}

static void claim(Rig *rig, const char *types, size_t bytes)
{
    Event event = { .kind = EVENT_CLAIM,
                    .request = ++rig->last_request,
                    .tenant = SLICE_LITERAL("default"),
                    .count = 3,
                    .claim = { .types = slice_of(types, bytes),
                               .lease_ms = MS_PER_MIN,
                               .wait_ms = MS_PER_HOUR } };
    rig_step(rig, &event, 1);
}

/* What several workers want alike is one letter. */
static void a_node_whose_workers_wait_asks_who_has_jobs(void **state)
{
    (void)state;
    Rig *rig = open_shared();
    claim(rig, "mail", 5);
    claim(rig, "mail", 5);
    assert_int_equal(rig->mails, 0); /* no one has any */
    tell_of_other(rig, 9);
    assert_int_equal(rig->mails, 1);
    NodeMessage text;
    assert_int_equal(node_message_unpack(rig->last_mail, &text), ERR_OK);
    assert_int_equal(text.kind, MESSAGE_PULL);
    assert_int_equal(text.count, 6);
    assert_true(slice_is(text.tenant, "default"));
    assert_int_equal(text.types.bytes, 5);
    rig_close(rig);
}

/* What the other has is for other workers: it is asked again, but ever more seldom. */
static void who_gives_nothing_is_asked_less_often(void **state)
{
    (void)state;
    Rig *rig = open_shared();
    claim(rig, "mail", 5);
    for (int i = 0; i < 100; i++) {
        tell_of_other(rig, 9);
        rig_wait(rig, 200);
    }
    assert_in_range(rig->mails, 8, 20);
    uint64_t before = rig->mails;
    tell_of_other(rig, 10); /* there is something new */
    assert_int_equal(rig->mails, before + 1);
    rig_close(rig);
}

static void nodes_and_their_slots_are_counted(void **state)
{
    (void)state;
    Rig *rig = open_shared();
    NodeFacts facts = node_facts(rig->node);
    assert_int_equal(facts.nodes, 2);
    assert_int_equal(facts.nodes_slots, facts.slots + 4);
    assert_int_equal(facts.nodes_used, 1);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_what_matches_is_given),
        cmocka_unit_test(a_lone_job_is_given_too),
        cmocka_unit_test(a_node_whose_workers_wait_asks_who_has_jobs),
        cmocka_unit_test(who_gives_nothing_is_asked_less_often),
        cmocka_unit_test(nodes_and_their_slots_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
