/* SPDX-License-Identifier: Apache-2.0 */
/* pending_adds_test.c - stories of jobs that jobs, schedules and errors add, and that
 * want a key: they merge as those of a door do. */
#include "core/schedule.h"
#include "testing/node_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const Handler one = { .lang = LANG_SH, .body = { "true", 4 }, .highlander = true };

/* A node without slots but for the job that causes others, and one of type `one` that
 * waits. */
typedef struct Story {
    Rig *rig;
    JobId cause;
    JobId first;
} Story;

static Story begin(void (*change)(NodeSettings *settings), const Job *cause)
{
    Story story = { .rig = rig_open(change) };
    assert_int_equal(rig_define(story.rig, "one", &one), 1);
    rig_slots(story.rig, 1);
    story.cause = rig_add(story.rig, cause);
    assert_int_equal(rig_state(story.rig, story.cause), JOB_RUNNING);
    rig_slots(story.rig, 0);
    Job job = rig_typed_job("one");
    Event add = { .kind = EVENT_ADD, .tenant = job.tenant, .jobs = &job, .count = 1 };
    assert_int_equal(rig_send(story.rig, add), ERR_OK);
    story.first = rig_last(story.rig, EFFECT_REPLY)->added_items[0].id;
    assert_int_equal(rig_state(story.rig, story.first), JOB_READY);
    return story;
}

static size_t count_in(const Rig *rig, const char *type, JobState state)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->count; i++)
        count += slice_is(rig->jobs[i].type, type) && rig->jobs[i].state == state;
    return count;
}

static bool nothing_is_owed(const Rig *rig)
{
    for (size_t i = 0; i < rig->definition_count; i++)
        if (slice_is(rig->definitions[i].table, OWED_TABLE) &&
            rig->definitions[i].value.bytes)
            return false;
    return true;
}

static void expect_reason(const Rig *rig, const char *before, JobId holder)
{
    char id[ID_TEXT_BYTES];
    Buf reason = { 0 };
    buf_printf(&reason, "%s%s", before, id_text(holder, id));
    size_t found = 0;
    for (size_t i = 0; i < rig->count; i++)
        found += rig->jobs[i].state == JOB_CANCELLED &&
                 slice_starts(rig->jobs[i].reason, buf_slice(&reason));
    assert_true(found > 0);
    buf_done(&reason);
}

/* `count` more were caused, and became the one that waits; the next that is caused
 * while that one runs is a job of its own. */
static void expect_merged(const Story *story, size_t count)
{
    assert_int_equal(count_in(story->rig, "one", JOB_READY), 1);
    assert_int_equal(count_in(story->rig, "one", JOB_CANCELLED), count);
    assert_int_equal(rig_state(story->rig, story->first), JOB_READY);
    expect_reason(story->rig, "merged into job ", story->first);
    assert_true(nothing_is_owed(story->rig));
}

static void send_line(Rig *rig, JobId parent, const char *key)
{
    Job job = rig_typed_job("one");
    job.parent = parent;
    Event event = { .kind = EVENT_ADD,
                    .tenant = job.tenant,
                    .jobs = &job,
                    .count = 1,
                    .key = slice_text(key),
                    .key_hash = SLICE_LITERAL("child") };
    rig_step(rig, &event, 1);
}

static void end_with_children(Rig *rig, JobId id, Job *children, size_t count)
{
    Ending ending = { .kind = END_EXITED,
                      .progress = -1,
                      .children = children,
                      .child_count = count,
                      .children_whole = true };
    rig_end(rig, id, &ending);
}

static void lines_of_a_running_job_merge(void **state)
{
    (void)state;
    Job cause = rig_job();
    Story story = begin(NULL, &cause);
    send_line(story.rig, story.cause, "child:1");
    send_line(story.rig, story.cause, "child:2");
    send_line(story.rig, story.cause, "child:2"); /* told again: nothing new */
    expect_merged(&story, 2);
    rig_close(story.rig);
}

/* S3.48 */
static void jobs_that_an_end_adds_merge(void **state)
{
    (void)state;
    Job cause = rig_job();
    Story story = begin(NULL, &cause);
    Job children[2] = { rig_typed_job("one"), rig_typed_job("one") };
    end_with_children(story.rig, story.cause, children, 2);
    expect_merged(&story, 2);
    rig_close(story.rig);
}

static void alone_one_of_many_is_added(void **state)
{
    (void)state;
    Job cause = rig_job();
    Story story = begin(NULL, &cause);
    rig_act(story.rig, story.first, ACT_CANCEL);
    Job children[3] = { rig_typed_job("one"), rig_typed_job("one"),
                        rig_typed_job("one") };
    end_with_children(story.rig, story.cause, children, 3);
    assert_int_equal(count_in(story.rig, "one", JOB_READY), 1);
    assert_int_equal(count_in(story.rig, "one", JOB_CANCELLED), 3);
    assert_true(nothing_is_owed(story.rig));
    rig_close(story.rig);
}

static void one_that_runs_is_not_merged_with(void **state)
{
    (void)state;
    Job cause = rig_job();
    Story story = begin(NULL, &cause);
    rig_slots(story.rig, 2);
    assert_int_equal(rig_state(story.rig, story.first), JOB_RUNNING);
    send_line(story.rig, story.cause, "child:1");
    assert_int_equal(count_in(story.rig, "one", JOB_READY), 1);
    assert_int_equal(count_in(story.rig, "one", JOB_CANCELLED), 0);
    rig_close(story.rig);
}

static void then_merges(void **state)
{
    (void)state;
    Job cause = rig_job();
    cause.then = SLICE_LITERAL("one");
    Story story = begin(NULL, &cause);
    rig_exit(story.rig, story.cause, 0);
    expect_merged(&story, 1);
    rig_close(story.rig);
}

static void on_error_merges(void **state)
{
    (void)state;
    Job cause = rig_job();
    cause.on_error = SLICE_LITERAL("one");
    Story story = begin(NULL, &cause);
    rig_exit(story.rig, story.cause, 65);
    assert_int_equal(rig_state(story.rig, story.cause), JOB_FAILED);
    expect_merged(&story, 1);
    rig_close(story.rig);
}

static void with_handler(NodeSettings *settings)
{
    memcpy(settings->error_handler, "one", sizeof "one");
}

static void the_error_handler_merges(void **state)
{
    (void)state;
    Job cause = rig_job();
    Story story = begin(with_handler, &cause);
    rig_exit(story.rig, story.cause, 65);
    expect_merged(&story, 1);
    rig_close(story.rig);
}

/* What a control file's job returns is a whole job. */
static void a_returned_job_merges(void **state)
{
    (void)state;
    Job cause = rig_job();
    Story story = begin(NULL, &cause);
    Job returned = rig_typed_job("one");
    Ending ending = { .kind = END_EXITED, .progress = -1, .returned = &returned };
    rig_end(story.rig, story.cause, &ending);
    expect_merged(&story, 1);
    rig_close(story.rig);
}

static Err send_schedule(Rig *rig, EventKind kind)
{
    Buf job = { 0 };
    Buf value = { 0 };
    Job pattern = rig_typed_job("one");
    job_pack(&job, &pattern);
    Schedule schedule = { .cron = SLICE_LITERAL("* * * * *"),
                          .tz = SLICE_LITERAL("UTC"),
                          .overlap = OVERLAP_ALLOW,
                          .job = buf_slice(&job) };
    schedule_pack(&value, &schedule);
    Err err = rig_send(rig, (Event){ .kind = kind,
                                     .tenant = SLICE_LITERAL("default"),
                                     .table = SLICE_LITERAL(SCHEDULE_TABLE),
                                     .key = SLICE_LITERAL("s"),
                                     .value = buf_slice(&value) });
    buf_done(&job);
    buf_done(&value);
    return err;
}

static void jobs_of_a_schedule_merge(void **state)
{
    (void)state;
    Job cause = rig_job();
    Story story = begin(NULL, &cause);
    assert_int_equal(send_schedule(story.rig, EVENT_DEFINE), ERR_OK);
    for (int i = 0; i < 120; i++)
        rig_wait(story.rig, MS_PER_S);
    expect_merged(&story, 2);
    rig_close(story.rig);
}

static void a_trigger_is_answered_with_what_became_of_it(void **state)
{
    (void)state;
    Job cause = rig_job();
    Story story = begin(NULL, &cause);
    assert_int_equal(send_schedule(story.rig, EVENT_DEFINE), ERR_OK);
    assert_int_equal(send_schedule(story.rig, EVENT_TRIGGER), ERR_OK);
    const Job *told = rig_last(story.rig, EFFECT_REPLY)->job;
    assert_non_null(told);
    assert_int_equal(told->state, JOB_CANCELLED);
    assert_int_equal(rig_state(story.rig, told->id), JOB_CANCELLED);
    expect_merged(&story, 1);
    rig_act(story.rig, story.first, ACT_CANCEL);
    assert_int_equal(send_schedule(story.rig, EVENT_TRIGGER), ERR_OK);
    told = rig_last(story.rig, EFFECT_REPLY)->job;
    assert_int_equal(rig_state(story.rig, told->id), JOB_READY);
    rig_close(story.rig);
}

static Job unique_job(Buf *text, OnConflict on_conflict)
{
    Job job = rig_job();
    buf_clear(text);
    unique_write(text, &(Unique){ SLICE_LITERAL("k"), 0, on_conflict });
    job.unique = buf_slice(text);
    return job;
}

static void unique_jobs_are_decided_as_they_ask(void **state)
{
    (void)state;
    static const char *const reasons[] = { [CONFLICT_REJECT] = "job ",
                                           [CONFLICT_IGNORE] = "merged into job ",
                                           [CONFLICT_REPLACE] = "replaced by job " };
    for (unsigned i = 0; i <= CONFLICT_REPLACE; i++) {
        Buf text = { 0 };
        Job cause = rig_job();
        Story story = begin(NULL, &cause);
        Job children[2] = { unique_job(&text, (OnConflict)i),
                            unique_job(&text, (OnConflict)i) };
        size_t before = story.rig->count;
        end_with_children(story.rig, story.cause, children, 2);
        assert_int_equal(story.rig->count, before + 2);
        bool replaced = i == CONFLICT_REPLACE;
        const Job *kept = &story.rig->jobs[before + replaced];
        const Job *lost = &story.rig->jobs[before + !replaced];
        assert_int_equal(kept->state, JOB_READY);
        assert_int_equal(lost->state, JOB_CANCELLED);
        expect_reason(story.rig, reasons[i], kept->id);
        assert_true(nothing_is_owed(story.rig));
        rig_close(story.rig);
        buf_done(&text);
    }
}

static void what_is_owed_outlives_a_crash(void **state)
{
    (void)state;
    Job cause = rig_job();
    cause.then = SLICE_LITERAL("one");
    Story story = begin(NULL, &cause);
    story.rig->hold_answers = true;
    rig_exit(story.rig, story.cause, 0);
    assert_false(nothing_is_owed(story.rig));
    assert_int_equal(count_in(story.rig, "one", JOB_CANCELLED), 0);
    story.rig->hold_answers = false;
    rig_reopen(story.rig, true);
    rig_slots(story.rig, 0);
    expect_merged(&story, 1);
    rig_close(story.rig);
}

static void a_store_that_fails_is_asked_again(void **state)
{
    (void)state;
    Job cause = rig_job();
    cause.then = SLICE_LITERAL("one");
    Story story = begin(NULL, &cause);
    story.rig->store_fails = true;
    rig_exit(story.rig, story.cause, 0);
    assert_false(nothing_is_owed(story.rig));
    story.rig->store_fails = false;
    for (int i = 0; i < 5; i++)
        rig_wait(story.rig, MS_PER_S);
    expect_merged(&story, 1);
    rig_close(story.rig);
}

/* --- Another node owes it, and is lost ---------------------------------------------- */

#define OTHER 2

typedef struct Debt {
    Rig *rig;
    JobId id; /* of the job that node OTHER owes */
} Debt;

/* What the nodes are, told as a lease tells it. */
static void tell_peers(Rig *rig, bool controls, int64_t left_ms, bool fenced)
{
    Peer peers[] = {
        { .number = 1, .epoch = 1, .left_ms = 9000, .controls = controls },
        { .number = OTHER, .epoch = 1, .left_ms = left_ms, .fenced = fenced }
    };
    Event event = { .kind = EVENT_PEERS,
                    .peers = peers,
                    .count = 2,
                    .lease_boot = rig->now.boot_ms + MS_PER_HOUR,
                    .claims_boot = rig->now.boot_ms + MS_PER_HOUR };
    rig_step(rig, &event, 1);
}

static Debt begin_debt(Slice unique)
{
    char key[ID_TEXT_BYTES];
    Debt debt = { .rig = rig_open(NULL), .id = id_from_count(4711, OTHER) };
    Job job = rig_typed_job("one");
    Buf value = { 0 };
    assert_int_equal(rig_define(debt.rig, "one", &one), 1);
    rig_slots(debt.rig, 0);
    debt.rig->shared = true;
    rig_reopen(debt.rig, true);
    tell_peers(debt.rig, true, 9000, false);
    job.id = debt.id;
    job.unique = unique;
    job_pack(&value, &job);
    Event put = { .kind = EVENT_DEFINE,
                  .table = SLICE_LITERAL(OWED_TABLE),
                  .key = slice_text(id_text(debt.id, key)),
                  .value = buf_slice(&value) };
    assert_int_equal(rig_send(debt.rig, put), ERR_OK);
    buf_done(&value);
    return debt;
}

static void what_a_lost_node_owes_is_added_by_who_controls(void **state)
{
    (void)state;
    Debt debt = begin_debt((Slice){ NULL, 0 });
    rig_wait(debt.rig, MS_PER_MIN); /* it lives: it sees to it itself */
    tell_peers(debt.rig, true, -1, false);
    rig_wait(debt.rig, MS_PER_MIN); /* not known to be fenced */
    assert_null(rig_find(debt.rig, debt.id));
    tell_peers(debt.rig, false, -1, true);
    rig_wait(debt.rig, MS_PER_MIN); /* another controls */
    assert_null(rig_find(debt.rig, debt.id));
    tell_peers(debt.rig, true, -1, true);
    rig_wait(debt.rig, MS_PER_S);
    assert_true(nothing_is_owed(debt.rig));
    assert_non_null(rig_find(debt.rig, debt.id)); /* whoever was told this id finds it */
    assert_int_equal(job_owner(rig_find(debt.rig, debt.id)), 1);
    assert_int_equal(rig_state(debt.rig, debt.id), JOB_READY);
    rig_wait(debt.rig, 2 * MS_PER_MIN);
    assert_int_equal(debt.rig->count, 1);
    assert_int_equal(rig_state(debt.rig, debt.id), JOB_READY);
    rig_close(debt.rig);
}

static void a_node_that_no_one_knows_any_more_is_lost(void **state)
{
    (void)state;
    Debt debt = begin_debt((Slice){ NULL, 0 });
    Peer self = { .number = 1, .epoch = 1, .left_ms = 9000, .controls = true };
    Event event = { .kind = EVENT_PEERS,
                    .peers = &self,
                    .count = 1,
                    .lease_boot = debt.rig->now.boot_ms + MS_PER_HOUR,
                    .claims_boot = debt.rig->now.boot_ms + MS_PER_HOUR };
    rig_step(debt.rig, &event, 1);
    rig_wait(debt.rig, MS_PER_MIN);
    assert_true(nothing_is_owed(debt.rig));
    assert_int_equal(rig_state(debt.rig, debt.id), JOB_READY);
    rig_close(debt.rig);
}

/* The node came to add it, but not to be known to have done so; or it has just returned.
 */
static void what_a_lost_node_has_added_stays_as_it_is(void **state)
{
    (void)state;
    const Slice uniques[] = { { NULL, 0 },
                              SLICE_LITERAL("k\0\0ignore\0"),
                              SLICE_LITERAL("k\0\0replace\0") };
    for (size_t i = 0; i < sizeof uniques / sizeof *uniques; i++) {
        Debt debt = begin_debt(uniques[i]);
        Job job = rig_typed_job("one");
        job.id = debt.id;
        job.queue = SLICE_LITERAL("default");
        job.flags |= JOB_MERGES;
        job.unique = uniques[i];
        job.state = JOB_HELD;
        debt.rig->jobs[debt.rig->count++] = job;
        tell_peers(debt.rig, true, -1, true);
        rig_wait(debt.rig, MS_PER_S);
        assert_true(nothing_is_owed(debt.rig));
        assert_int_equal(rig_state(debt.rig, debt.id), JOB_HELD);
        rig_close(debt.rig);
    }
}

static void what_a_lost_node_owes_merges_with_what_waits(void **state)
{
    (void)state;
    Debt debt = begin_debt((Slice){ NULL, 0 });
    Job job = rig_typed_job("one");
    Event add = { .kind = EVENT_ADD, .tenant = job.tenant, .jobs = &job, .count = 1 };
    assert_int_equal(rig_send(debt.rig, add), ERR_OK);
    JobId first = rig_last(debt.rig, EFFECT_REPLY)->added_items[0].id;
    tell_peers(debt.rig, true, -1, true);
    rig_wait(debt.rig, MS_PER_S);
    assert_true(nothing_is_owed(debt.rig));
    assert_int_equal(rig_state(debt.rig, debt.id), JOB_CANCELLED);
    assert_int_equal(rig_state(debt.rig, first), JOB_READY);
    expect_reason(debt.rig, "merged into job ", first);
    rig_close(debt.rig);
}

static void what_is_owed_is_looked_for_again_if_the_store_fails(void **state)
{
    (void)state;
    Debt debt = begin_debt((Slice){ NULL, 0 });
    debt.rig->store_fails = true;
    tell_peers(debt.rig, true, -1, true);
    rig_wait(debt.rig, MS_PER_S);
    assert_false(nothing_is_owed(debt.rig));
    debt.rig->store_fails = false;
    for (int i = 0; i < 5; i++)
        rig_wait(debt.rig, MS_PER_S);
    assert_true(nothing_is_owed(debt.rig));
    assert_int_equal(rig_state(debt.rig, debt.id), JOB_READY);
    rig_close(debt.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_a_running_job_merge),
        cmocka_unit_test(jobs_that_an_end_adds_merge),
        cmocka_unit_test(alone_one_of_many_is_added),
        cmocka_unit_test(one_that_runs_is_not_merged_with),
        cmocka_unit_test(then_merges),
        cmocka_unit_test(on_error_merges),
        cmocka_unit_test(the_error_handler_merges),
        cmocka_unit_test(a_returned_job_merges),
        cmocka_unit_test(jobs_of_a_schedule_merge),
        cmocka_unit_test(a_trigger_is_answered_with_what_became_of_it),
        cmocka_unit_test(unique_jobs_are_decided_as_they_ask),
        cmocka_unit_test(what_is_owed_outlives_a_crash),
        cmocka_unit_test(a_store_that_fails_is_asked_again),
        cmocka_unit_test(what_a_lost_node_owes_is_added_by_who_controls),
        cmocka_unit_test(a_node_that_no_one_knows_any_more_is_lost),
        cmocka_unit_test(what_a_lost_node_has_added_stays_as_it_is),
        cmocka_unit_test(what_a_lost_node_owes_merges_with_what_waits),
        cmocka_unit_test(what_is_owed_is_looked_for_again_if_the_store_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
