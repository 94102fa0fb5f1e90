/* SPDX-License-Identifier: Apache-2.0 */
/* pull_test.c - jobs for workers that come and ask: claims, leases, results. */
#include "core/dispatch/limits.h"
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const Handler pull = { .lang = LANG_PULL };

#define LEASE_MS (30 * MS_PER_S)

static Rig *open_rig(void)
{
    Rig *rig = rig_open(NULL);
    assert_int_equal(rig_define(rig, "mail", &pull), 1);
    assert_int_equal(rig_define(rig, "scan", &pull), 1);
    return rig;
}

static JobId add(Rig *rig, const char *type, const char *queue)
{
    Job job = rig_typed_job(type);
    job.queue = slice_text(queue);
    job.max_retries = 3;
    job.retry_delay_ms = MS_PER_MIN;
    return rig_add(rig, &job);
}

static Event claim_event(size_t max, int64_t wait_ms)
{
    return (Event){ .kind = EVENT_CLAIM,
                    .tenant = SLICE_LITERAL("default"),
                    .count = max,
                    .claim = { .lease_ms = LEASE_MS,
                               .wait_ms = wait_ms,
                               .worker = SLICE_LITERAL("w1") } };
}

/* What the last request was answered; NULL: not yet. */
static const Effect *answered(const Rig *rig, Requester request)
{
    for (size_t i = rig->log_count; i-- > 0;)
        if (rig->log[i].kind == EFFECT_REPLY && rig->log[i].request == request)
            return &rig->log[i];
    return NULL;
}

/* The one job that a claim got at once; 0: none. */
static JobId take_one(Rig *rig)
{
    assert_int_equal(rig_send(rig, claim_event(1, 0)), ERR_OK);
    const Effect *reply = answered(rig, rig->last_request);
    return reply->count ? reply->items[0].id : 0;
}

static ClaimItem item_of(const Rig *rig, JobId id)
{
    return (ClaimItem){ .id = id,
                        .attempt = rig_find(rig, id)->attempt,
                        .trusted = true,
                        .progress = -1,
                        .ending = { .kind = END_EXITED,
                                    .exit_status = -1,
                                    .said_code = 200,
                                    .progress = -1 } };
}

static ClaimStatus tell(Rig *rig, EventKind kind, const ClaimItem *item)
{
    Event event = { .kind = kind, .items = item, .count = 1 };
    assert_int_equal(rig_send(rig, event), ERR_OK);
    return answered(rig, rig->last_request)->items[0].status;
}

static ClaimStatus renew(Rig *rig, JobId id)
{
    ClaimItem item = item_of(rig, id);
    return tell(rig, EVENT_RENEW, &item);
}

static ClaimStatus finish(Rig *rig, JobId id, int32_t exitcode)
{
    ClaimItem item = item_of(rig, id);
    item.ending.said_code = exitcode;
    return tell(rig, EVENT_FINISH, &item);
}

/* S1.11, S2.31: a worker asks, works, and tells; no runner ever sees the job. */
static void a_worker_takes_a_job_and_finishes_it(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    JobId id = add(rig, "mail", "default");
    assert_int_equal(rig_state(rig, id), JOB_READY);
    assert_int_equal(take_one(rig), id);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    assert_true(slice_is(rig_find(rig, id)->message, "w1"));
    assert_int_equal(rig_count(rig, EFFECT_START, 0), 0);
    assert_int_equal(node_facts(rig->node).slots_used, 0);
    assert_int_equal(take_one(rig), 0);
    assert_int_equal(renew(rig, id), CLAIM_OK);
    assert_int_equal(finish(rig, id, 200), CLAIM_OK);
    assert_int_equal(rig_state(rig, id), JOB_DONE);
    assert_int_equal(rig_find(rig, id)->outcome.exitcode, 200);
    rig_close(rig);
}

static void the_four_outcomes_are_kept_apart(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    static const struct {
        int32_t exitcode;
        JobState state;
        JobCode code;
    } rows[] = { { 200, JOB_DONE, CODE_OK },
                 { 404, JOB_FAILED, CODE_FAILED },
                 { 150, JOB_RETRYING, CODE_RETRY },
                 { 302, JOB_RETRYING, CODE_RETRY },
                 { 500, JOB_RETRYING, CODE_ERROR } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        JobId id = add(rig, "mail", "default");
        assert_int_equal(take_one(rig), id);
        assert_int_equal(finish(rig, id, rows[i].exitcode), CLAIM_OK);
        assert_int_equal(rig_state(rig, id), rows[i].state);
        assert_int_equal(rig_find(rig, id)->outcome.code, rows[i].code);
    }
    rig_close(rig);
}

/* A long poll is answered when work arrives, and with nothing when its time is up. */
static void a_claim_waits_for_work(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    assert_int_equal(rig_send(rig, claim_event(5, 30 * MS_PER_S)), ERR_BUSY);
    Requester waiting = rig->last_request;
    rig_wait(rig, 10 * MS_PER_S);
    assert_null(answered(rig, waiting));
    JobId id = add(rig, "mail", "default");
    assert_non_null(answered(rig, waiting));
    assert_int_equal(answered(rig, waiting)->count, 1);
    assert_int_equal(answered(rig, waiting)->items[0].id, id);
    assert_int_equal(rig_send(rig, claim_event(5, 30 * MS_PER_S)), ERR_BUSY);
    waiting = rig->last_request;
    assert_true(node_next_wake(rig->node) <= rig->now.boot_ms + 30 * MS_PER_S);
    rig_wait(rig, 30 * MS_PER_S - 1);
    assert_null(answered(rig, waiting));
    rig_wait(rig, 1);
    assert_non_null(answered(rig, waiting));
    assert_int_equal(answered(rig, waiting)->count, 0);
    rig_close(rig);
}

/* Its time is its own, not that of the passes; until then there is nothing to do. */
static void a_claim_that_waited_in_vain_is_answered_in_time(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    assert_int_equal(rig_send(rig, claim_event(5, 1234)), ERR_BUSY);
    Requester waiting = rig->last_request;
    rig_wait(rig, 1233);
    assert_null(answered(rig, waiting));
    assert_true(node_next_wake(rig->node) > rig->now.boot_ms);
    rig_wait(rig, 1);
    assert_non_null(answered(rig, waiting));
    assert_true(node_next_wake(rig->node) > rig->now.boot_ms);
    rig_close(rig);
}

/* S3.54: by priority inside a queue, in turns between queues. */
static void jobs_are_given_in_order_and_in_turns(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    JobId a1 = add(rig, "mail", "a");
    JobId a2 = add(rig, "mail", "a");
    rig_wait(rig, 1000);
    JobId b1 = add(rig, "mail", "b");
    JobId b2 = add(rig, "mail", "b");
    Job urgent = rig_typed_job("mail");
    urgent.queue = SLICE_LITERAL("b");
    urgent.priority = 9;
    JobId b0 = rig_add(rig, &urgent);
    assert_int_equal(rig_send(rig, claim_event(10, 0)), ERR_OK);
    const Effect *reply = answered(rig, rig->last_request);
    const JobId wanted[] = { a1, b0, a2, b1, b2 };
    assert_int_equal(reply->count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(reply->items[i].id, wanted[i]);
    rig_close(rig);
}

/* A queue that is filled drop by drop does not go before one that waits. */
static void a_queue_that_had_its_turn_waits_for_the_others(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    JobId b1 = add(rig, "mail", "b");
    rig_wait(rig, 1000);
    for (int i = 0; i < 3; i++)
        add(rig, "mail", "a");
    assert_int_equal(take_one(rig), b1); /* b is empty now */
    add(rig, "mail", "b");
    const char *const turns[] = { "a", "a", "b", "a", "b" }; /* a waits longer */
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        assert_true(slice_is(rig_find(rig, take_one(rig))->queue, turns[i]));
        if (turns[i][0] == 'b')
            add(rig, "mail", "b");
    }
    rig_close(rig);
}

static void a_claim_names_queues_and_types(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    add(rig, "mail", "a");
    JobId scan = add(rig, "scan", "a");
    JobId other = add(rig, "mail", "b");
    Event event = claim_event(10, 0);
    event.claim.types = SLICE_LITERAL("never-seen\0scan\0");
    assert_int_equal(rig_send(rig, event), ERR_OK);
    assert_int_equal(answered(rig, rig->last_request)->count, 1);
    assert_int_equal(answered(rig, rig->last_request)->items[0].id, scan);
    event = claim_event(10, 0);
    event.claim.queues = SLICE_LITERAL("b\0");
    assert_int_equal(rig_send(rig, event), ERR_OK);
    assert_int_equal(answered(rig, rig->last_request)->count, 1);
    assert_int_equal(answered(rig, rig->last_request)->items[0].id, other);
    event.tenant = SLICE_LITERAL("acme"); /* has nothing */
    event.claim.queues = (Slice){ NULL, 0 };
    assert_int_equal(rig_send(rig, event), ERR_OK);
    assert_int_equal(answered(rig, rig->last_request)->count, 0);
    rig_close(rig);
}

/* S1.28: who is not heard from loses the job, charged, with the usual delay. */
static void a_lapsed_lease_is_an_error_of_the_attempt(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    JobId id = add(rig, "mail", "default");
    assert_int_equal(take_one(rig), id);
    rig_wait(rig, LEASE_MS - 1);
    assert_int_equal(renew(rig, id), CLAIM_OK);
    rig_wait(rig, LEASE_MS - 1);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_wait(rig, 1);
    assert_int_equal(rig_state(rig, id), JOB_RETRYING);
    assert_int_equal(rig_find(rig, id)->outcome.code, CODE_ERROR);
    assert_int_equal(rig_find(rig, id)->retry_number, 1);
    assert_int_equal(node_facts(rig->node).lapsed, 1);
    assert_int_equal(renew(rig, id), CLAIM_LOST);
    assert_int_equal(finish(rig, id, 200), CLAIM_LATE);
    assert_int_equal(node_facts(rig->node).late, 1);
    rig_wait(rig, 2 * MS_PER_MIN);
    assert_int_equal(take_one(rig), id);
    ClaimItem old = item_of(rig, id);
    old.attempt = 1;
    assert_int_equal(tell(rig, EVENT_FINISH, &old), CLAIM_LATE);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_close(rig);
}

static void who_has_no_token_changes_nothing(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    JobId id = add(rig, "mail", "default");
    assert_int_equal(take_one(rig), id);
    ClaimItem forged = item_of(rig, id);
    forged.trusted = false;
    assert_int_equal(tell(rig, EVENT_RENEW, &forged), CLAIM_LOST);
    assert_int_equal(tell(rig, EVENT_FINISH, &forged), CLAIM_LATE);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    ClaimItem mine = item_of(rig, id);
    Event foreign = {
        .kind = EVENT_FINISH, .items = &mine, .count = 1, .tenant = SLICE_LITERAL("acme")
    };
    assert_int_equal(rig_send(rig, foreign), ERR_OK);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    JobId local = rig_add_default(rig); /* runs here: no one's to finish */
    assert_int_equal(rig_state(rig, local), JOB_RUNNING);
    assert_int_equal(finish(rig, local, 200), CLAIM_LATE);
    assert_int_equal(rig_state(rig, local), JOB_RUNNING);
    rig_close(rig);
}

/* A cancel is heard at the next renewal, which then renews nothing. */
static void a_cancel_is_told_and_ends_with_the_lease(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    JobId told = add(rig, "mail", "default");
    JobId silent = add(rig, "mail", "default");
    JobId killed = add(rig, "mail", "default");
    JobId removed = add(rig, "mail", "default");
    assert_int_equal(rig_send(rig, claim_event(4, 0)), ERR_OK);
    assert_int_equal(rig_act(rig, told, ACT_PAUSE), ERR_CONFLICT);
    assert_int_equal(rig_act(rig, told, ACT_CANCEL), ERR_OK);
    assert_int_equal(rig_act(rig, silent, ACT_CANCEL), ERR_OK);
    assert_int_equal(rig_act(rig, killed, ACT_KILL), ERR_OK);
    assert_int_equal(rig_state(rig, killed), JOB_CANCELLED);
    assert_int_equal(rig_act(rig, removed, ACT_REMOVE), ERR_OK);
    assert_null(rig_find(rig, removed));
    assert_int_equal(renew(rig, told), CLAIM_CANCEL);
    assert_int_equal(finish(rig, told, 200), CLAIM_OK);
    assert_int_equal(rig_state(rig, told), JOB_CANCELLED);
    rig_wait(rig, LEASE_MS / 2);
    assert_int_equal(renew(rig, silent), CLAIM_CANCEL);
    rig_wait(rig, LEASE_MS / 2);
    assert_int_equal(rig_state(rig, silent), JOB_CANCELLED);
    assert_int_equal(rig_count(rig, EFFECT_SIGNAL, 0), 0);
    rig_close(rig);
}

static void max_run_time_counts_for_workers_too(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    Job job = rig_typed_job("mail");
    job.max_run_ms = 5 * MS_PER_S;
    job.max_retries = 0;
    JobId id = rig_add(rig, &job);
    assert_int_equal(take_one(rig), id);
    rig_wait(rig, 4 * MS_PER_S);
    assert_int_equal(renew(rig, id), CLAIM_OK);
    rig_wait(rig, MS_PER_S);
    assert_int_equal(renew(rig, id), CLAIM_CANCEL);
    assert_int_equal(rig_state(rig, id), JOB_RUNNING);
    rig_wait(rig, rig->settings.grace_ms);
    assert_int_equal(rig_state(rig, id), JOB_REJECTED);
    assert_int_equal(rig_find(rig, id)->outcome.exitcode, 504);
    rig_close(rig);
}

/* A restart loses no claim; leases begin anew, in full. */
static void leases_begin_anew_after_a_restart(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    JobId kept = add(rig, "mail", "default");
    JobId dropped = add(rig, "mail", "default");
    JobId ending = add(rig, "mail", "default");
    assert_int_equal(rig_send(rig, claim_event(3, 0)), ERR_OK);
    rig_wait(rig, LEASE_MS - 1000);
    assert_int_equal(renew(rig, kept), CLAIM_OK);
    assert_int_equal(rig_act(rig, ending, ACT_CANCEL), ERR_OK);
    rig_reopen(rig, true);
    rig_step(rig, NULL, 0);
    rig_wait(rig, LEASE_MS - 1);
    assert_int_equal(rig_state(rig, dropped), JOB_RUNNING);
    assert_int_equal(renew(rig, kept), CLAIM_OK);
    rig_wait(rig, 1);
    assert_int_equal(rig_state(rig, dropped), JOB_RETRYING);
    assert_int_equal(rig_state(rig, kept), JOB_RUNNING);
    assert_int_equal(finish(rig, kept, 200), CLAIM_OK);
    assert_int_equal(rig_state(rig, kept), JOB_DONE);
    assert_int_equal(rig_state(rig, ending), JOB_CANCELLED);
    rig_close(rig);
}

/* S2.89: what was never delivered is there again at once, uncharged, in its place. */
static void a_job_that_was_not_delivered_is_given_back(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    JobId id = add(rig, "mail", "default");
    rig_wait(rig, 1000);
    JobId behind = add(rig, "mail", "default");
    assert_int_equal(take_one(rig), id);
    ClaimItem item = item_of(rig, id);
    Event unget = { .kind = EVENT_UNGET, .items = &item, .count = 1 };
    rig_step(rig, &unget, 1);
    assert_int_equal(rig_state(rig, id), JOB_READY);
    assert_int_equal(rig_find(rig, id)->retry_number, 0);
    assert_int_equal(rig_find(rig, id)->flags & JOB_LOSSES, 0);
    assert_int_equal(take_one(rig), id);
    assert_int_equal(take_one(rig), behind);
    rig_close(rig);
}

/* Jobs that come with a result are there when it is, and only then. */
static void a_result_brings_jobs(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    Job child = rig_typed_job("scan");
    child.priority = 8;
    child.tenant = SLICE_LITERAL("acme"); /* whatever it says */
    JobId id = add(rig, "mail", "default");
    for (int attempt = 1; attempt <= 2; attempt++) {
        assert_int_equal(take_one(rig), id);
        ClaimItem item = item_of(rig, id);
        item.ending.said_code = attempt == 1 ? 500 : 200;
        item.ending.children = &child;
        item.ending.child_count = 1;
        item.ending.children_whole = true;
        assert_int_equal(tell(rig, EVENT_FINISH, &item), CLAIM_OK);
        assert_int_equal(rig->count, attempt);
        rig_wait(rig, 2 * MS_PER_MIN);
    }
    const Job *made = &rig->jobs[1];
    assert_int_equal(made->parent, id);
    assert_int_equal(made->priority, 8);
    assert_true(slice_is(made->tenant, "default"));
    rig_close(rig);
}

static void nothing_is_given_while_disabled_or_draining(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    add(rig, "mail", "default");
    rig->settings.enabled = false;
    node_settings_set(rig->node, &rig->settings);
    assert_int_equal(take_one(rig), 0);
    assert_int_equal(rig_send(rig, claim_event(1, MS_PER_MIN)), ERR_BUSY);
    Requester waiting = rig->last_request;
    Event drain = { .kind = EVENT_DRAIN };
    rig_step(rig, &drain, 1);
    rig_wait(rig, 1000);
    assert_int_equal(answered(rig, waiting)->err, ERR_UNAVAILABLE);
    assert_int_equal(rig_send(rig, claim_event(1, 0)), ERR_UNAVAILABLE);
    rig_close(rig);
}

/* S2.83: without its handler a job is not given out; it waits for another. */
static void a_job_whose_handler_is_gone_waits(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    JobId id = add(rig, "mail", "default");
    rig_switch(rig, "mail", false);
    assert_int_equal(rig_state(rig, id), JOB_BLOCKED);
    assert_int_equal(take_one(rig), 0);
    rig_switch(rig, "mail", true);
    assert_int_equal(take_one(rig), id);
    rig_close(rig);
}

static void small_windows(NodeSettings *settings)
{
    settings->window_jobs = 4;
}

/* A claim finds its types however many jobs of others wait before them. */
static void a_type_is_found_behind_many_others(void **state)
{
    (void)state;
    Rig *rig = rig_open(small_windows);
    rig_define(rig, "mail", &pull);
    rig_define(rig, "scan", &pull);
    JobId first = 0;
    for (int i = 0; i < 50; i++) {
        JobId id = add(rig, "mail", "a");
        first = first ? first : id;
    }
    JobId scan = add(rig, "scan", "a");
    Event event = claim_event(1, 0);
    event.claim.types = SLICE_LITERAL("scan\0");
    assert_int_equal(rig_send(rig, event), ERR_OK);
    assert_int_equal(answered(rig, rig->last_request)->count, 1);
    assert_int_equal(answered(rig, rig->last_request)->items[0].id, scan);
    assert_int_equal(take_one(rig), first); /* and all of a queue are one line */
    Job urgent = rig_typed_job("scan");
    urgent.queue = SLICE_LITERAL("a");
    urgent.priority = 9;
    JobId id = rig_add(rig, &urgent);
    assert_int_equal(take_one(rig), id);
    rig_close(rig);
}

static void set_queue(Rig *rig, QueueDef def)
{
    Buf value = { 0 };
    def.tenant = SLICE_LITERAL("default");
    queue_pack(&value, &def);
    Event event = { .kind = EVENT_DEFINE,
                    .table = SLICE_LITERAL(QUEUE_TABLE),
                    .tenant = def.tenant,
                    .key = def.name,
                    .value = buf_slice(&value) };
    assert_int_equal(rig_send(rig, event), ERR_OK);
    buf_done(&value);
}

static void set_quantity(Rig *rig, const char *key, int64_t quantity)
{
    Buf value = { 0 };
    ResourceDef def = resource_default(slice_text(key), RESOURCE_QUANTITY);
    def.quantity = quantity;
    resource_pack(&value, &def);
    Event event = { .kind = EVENT_DEFINE,
                    .table = SLICE_LITERAL(RESOURCE_TABLE),
                    .key = slice_text(key),
                    .value = buf_slice(&value) };
    assert_int_equal(rig_send(rig, event), ERR_OK);
    buf_done(&value);
}

/* Workers take no slot of the node, but what queues and managers have counts, and a claim
 * that waits hears when there is room again. */
static void limits_of_queues_and_managers_count_for_claims(void **state)
{
    (void)state;
    Rig *rig = open_rig();
    QueueDef narrow = { 0 };
    narrow.name = SLICE_LITERAL("narrow");
    narrow.has_slots = true;
    narrow.slots = 1;
    set_queue(rig, narrow);
    set_quantity(rig, "licence", 2);
    JobId first = add(rig, "mail", "narrow");
    JobId second = add(rig, "scan", "narrow");
    assert_int_equal(take_one(rig), first);
    assert_int_equal(rig_send(rig, claim_event(5, MS_PER_MIN)), ERR_BUSY);
    Requester waiting = rig->last_request;
    assert_int_equal(finish(rig, first, 200), CLAIM_OK);
    assert_non_null(answered(rig, waiting));
    assert_int_equal(answered(rig, waiting)->items[0].id, second);
    assert_int_equal(finish(rig, second, 200), CLAIM_OK);
    for (int i = 0; i < 3; i++) {
        Job job = rig_typed_job("mail");
        job.resources = SLICE_LITERAL("licence=1\0");
        rig_add(rig, &job);
    }
    assert_int_equal(rig_send(rig, claim_event(5, 0)), ERR_OK);
    assert_int_equal(answered(rig, rig->last_request)->count, 2);
    JobId one = answered(rig, rig->last_request)->items[0].id;
    assert_int_equal(take_one(rig), 0);
    assert_int_equal(finish(rig, one, 404), CLAIM_OK);
    assert_true(take_one(rig) != 0);
    rig_close(rig);
}

/* A type with a pull handler is never given to runners, whenever it became one; and the
 * other way round. */
static void jobs_follow_their_handler_to_workers_and_back(void **state)
{
    (void)state;
    static const Handler plain = { .lang = LANG_SH, .body = { "true", 4 } };
    Rig *rig = rig_open(small_windows);
    rig_slots(rig, 0);
    assert_int_equal(rig_define(rig, "mail", &plain), 1);
    JobId ids[12];
    for (size_t i = 0; i < 12; i++) /* most of them are only in the store */
        ids[i] = add(rig, "mail", "a");
    assert_int_equal(take_one(rig), 0);
    assert_int_equal(rig_define(rig, "mail", &pull), 2);
    rig_slots(rig, 2);
    assert_int_equal(rig_count(rig, EFFECT_START, 0), 0);
    size_t taken = 0;
    for (JobId id; taken < 6 && (id = take_one(rig)); taken++)
        assert_int_equal(id, ids[taken]);
    assert_int_equal(taken, 6);
    assert_int_equal(rig_define(rig, "mail", &plain), 3);
    assert_int_equal(take_one(rig), 0);
    for (size_t i = 0; i < 20; i++) {
        for (size_t k = 6; k < 12; k++)
            if (rig_state(rig, ids[k]) == JOB_RUNNING)
                rig_exit(rig, ids[k], 0);
    }
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(rig_state(rig, ids[i]), i < 6 ? JOB_RUNNING : JOB_DONE);
        assert_int_equal((rig_find(rig, ids[i])->flags & JOB_PULL) != 0, i < 6);
    }
    assert_int_equal(finish(rig, ids[0], 500), CLAIM_OK); /* it began with a worker */
    rig_wait(rig, 2 * MS_PER_MIN);
    assert_int_equal(rig_count(rig, EFFECT_START, ids[0]), 1);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_takes_a_job_and_finishes_it),
        cmocka_unit_test(the_four_outcomes_are_kept_apart),
        cmocka_unit_test(a_claim_waits_for_work),
        cmocka_unit_test(a_claim_that_waited_in_vain_is_answered_in_time),
        cmocka_unit_test(jobs_are_given_in_order_and_in_turns),
        cmocka_unit_test(a_queue_that_had_its_turn_waits_for_the_others),
        cmocka_unit_test(a_claim_names_queues_and_types),
        cmocka_unit_test(a_lapsed_lease_is_an_error_of_the_attempt),
        cmocka_unit_test(who_has_no_token_changes_nothing),
        cmocka_unit_test(a_cancel_is_told_and_ends_with_the_lease),
        cmocka_unit_test(max_run_time_counts_for_workers_too),
        cmocka_unit_test(leases_begin_anew_after_a_restart),
        cmocka_unit_test(a_job_that_was_not_delivered_is_given_back),
        cmocka_unit_test(a_result_brings_jobs),
        cmocka_unit_test(nothing_is_given_while_disabled_or_draining),
        cmocka_unit_test(a_job_whose_handler_is_gone_waits),
        cmocka_unit_test(a_type_is_found_behind_many_others),
        cmocka_unit_test(limits_of_queues_and_managers_count_for_claims),
        cmocka_unit_test(jobs_follow_their_handler_to_workers_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
