/* SPDX-License-Identifier: Apache-2.0 */
/* job_test.c - the life of a job step by step, and its packed form field by field. */
#include "core/job.h"

#include "base/pack.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The table of states once more, written by hand: one row per state, one column per
 * state, `x` where there is such a step. A final state is left only by a retry. */
static const struct {
    JobState from;
    const char *name;
    const char *status;
    const char *steps;
} life[JOB_STATES] = {
    /*                                       dbrh rphT dfjc */
    { JOB_DEFERRED, "deferred", "Pending", /**/ "xxxx ---- --xx" },
    { JOB_BLOCKED, "blocked", "Pending", /*  */ "xxxx ---x --xx" },
    { JOB_READY, "ready", "Pending", /*      */ "xxxx x--x --xx" },
    { JOB_HELD, "held", "Pending", /*        */ "xxxx ---x ---x" },
    { JOB_RUNNING, "running", "InProgress", /**/ "-xx- -xxx xxxx" },
    { JOB_PAUSED, "paused", "InProgress", /* */ "--x- x-xx xxxx" },
    { JOB_HALTED, "halted", "Pending", /*    */ "x-xx --x- ---x" },
    { JOB_RETRYING, "retrying", "Failed", /* */ "xxxx ---x --xx" },
    { JOB_DONE, "done", "Completed", /*      */ "-xx- ---- ----" },
    { JOB_FAILED, "failed", "Failed", /*     */ "-xx- ---- ----" },
    { JOB_REJECTED, "rejected", "Rejected", /**/ "-xx- ---- ----" },
    { JOB_CANCELLED, "cancelled", "Cancelled", /**/ "-xx- ---- ----" },
};

static bool may_step(JobState from, JobState to)
{
    size_t column = (size_t)to + (size_t)to / 4; /* the gaps between the groups */
    return life[from].steps[column] == 'x';
}

static void every_step_is_in_the_table_or_refused(void **state)
{
    (void)state;
    for (unsigned from = 0; from < JOB_STATES; from++) {
        assert_int_equal(life[from].from, from);
        for (unsigned to = 0; to < JOB_STATES; to++)
            if (state_step((JobState)from, (JobState)to) !=
                may_step((JobState)from, (JobState)to))
                fail_msg("%s -> %s", life[from].name, life[to].name);
    }
}

static void states_keep_their_words(void **state)
{
    (void)state;
    JobState parsed = JOB_READY;
    for (unsigned i = 0; i < JOB_STATES; i++) {
        assert_string_equal(state_name((JobState)i), life[i].name);
        assert_string_equal(state_status((JobState)i), life[i].status);
        assert_int_equal(state_parse(slice_text(life[i].name), &parsed), ERR_OK);
        assert_int_equal(parsed, i);
    }
    static const char *const bad[] = { "", "?", "Ready", "readyy", "read", "unknown" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(state_parse(slice_text(bad[i]), &parsed), ERR_INVALID);
    assert_int_equal(parsed, JOB_CANCELLED); /* as it was */
    assert_string_equal(state_name((JobState)99), "?");
    assert_string_equal(state_status((JobState)99), "?");
    static const char *const codes[] = { "", "ok", "failed", "retry", "error", "?" };
    for (unsigned i = 0; i < 6; i++)
        assert_string_equal(code_name((JobCode)i), codes[i]);
}

static void every_state_is_in_one_family(void **state)
{
    (void)state;
    for (unsigned i = 0; i < JOB_STATES; i++) {
        int families = state_in((JobState)i, STATES_FINAL) +
                       state_in((JobState)i, STATES_OWNED) +
                       state_in((JobState)i, STATES_WAITING);
        assert_int_equal(families, 1);
    }
}

static void a_move_keeps_date_and_lock_true(void **state)
{
    (void)state;
    for (unsigned from = 0; from < JOB_STATES; from++) {
        for (unsigned to = 0; to < JOB_STATES; to++) {
            Job job = job_default();
            job.state = (JobState)from;
            job.lock = SLICE_LITERAL("node-1");
            job.dt_ms = 5;
            job.finished_ms = 1790000000000;
            Job before = job;
            Err err = job_move(&job, (JobState)to, 77);
            assert_int_equal(err, may_step((JobState)from, (JobState)to) ? ERR_OK
                                                                         : ERR_CONFLICT);
            if (err) {
                assert_memory_equal(&job, &before, sizeof job);
                continue;
            }
            assert_int_equal(job.state, to);
            if (state_in(job.state, STATES_FINAL)) {
                assert_true(slice_is(job.lock, "__done"));
                assert_true(job.dt_ms == 1790000000000 + MS_PER_1000_YEARS);
                continue;
            }
            assert_int_equal(job.dt_ms, 77);
            assert_true(
                slice_is(job.lock, state_in(job.state, STATES_OWNED) ? "node-1" : ""));
        }
    }
}

static void a_free_job_is_what_its_due_time_says(void **state)
{
    (void)state;
    for (int64_t dt_ms = 98; dt_ms <= 102; dt_ms++) {
        Job fresh = { .dt_ms = dt_ms };
        Job tried = { .dt_ms = dt_ms, .attempt = 1 };
        assert_int_equal(job_waiting_state(&fresh, 100),
                         dt_ms <= 100 ? JOB_READY : JOB_DEFERRED);
        assert_int_equal(job_waiting_state(&tried, 100),
                         dt_ms <= 100 ? JOB_READY : JOB_RETRYING);
    }
}

/* Every field of a job that is a number, and every one that is bytes. A field that is
 * missing here shows in a_packed_job_is_the_whole_job, which fills the job by memory. */
#define NUMBERS(ROW)                                                                     \
    ROW(id);                                                                             \
    ROW(parent);                                                                         \
    ROW(flags);                                                                          \
    ROW(priority);                                                                       \
    ROW(dt_ms);                                                                          \
    ROW(created_ms);                                                                     \
    ROW(run_at_ms);                                                                      \
    ROW(started_ms);                                                                     \
    ROW(finished_ms);                                                                    \
    ROW(beat_ms);                                                                        \
    ROW(window_from_ms);                                                                 \
    ROW(retry_delay_ms);                                                                 \
    ROW(retry_window_ms);                                                                \
    ROW(max_run_ms);                                                                     \
    ROW(service_ms);                                                                     \
    ROW(result_bytes);                                                                   \
    ROW(attempt);                                                                        \
    ROW(retry_number);                                                                   \
    ROW(max_retries);                                                                    \
    ROW(progress);                                                                       \
    ROW(error_depth);                                                                    \
    ROW(chain);                                                                          \
    ROW(document_hash);                                                                  \
    ROW(outcome.exitcode);                                                               \
    ROW(outcome.exit_status);                                                            \
    ROW(outcome.signal);
#define SLICES(ROW)                                                                      \
    ROW(tenant);                                                                         \
    ROW(type);                                                                           \
    ROW(queue);                                                                          \
    ROW(lock);                                                                           \
    ROW(node);                                                                           \
    ROW(name);                                                                           \
    ROW(reason);                                                                         \
    ROW(error);                                                                          \
    ROW(message);                                                                        \
    ROW(command);                                                                        \
    ROW(env);                                                                            \
    ROW(cwd);                                                                            \
    ROW(user);                                                                           \
    ROW(tags);                                                                           \
    ROW(resources);                                                                      \
    ROW(after);                                                                          \
    ROW(then);                                                                           \
    ROW(on_error);                                                                       \
    ROW(group);                                                                          \
    ROW(schedule);                                                                       \
    ROW(unique);                                                                         \
    ROW(document_uri);                                                                   \
    ROW(param);                                                                          \
    ROW(children);                                                                       \
    ROW(trace);                                                                          \
    ROW(notify);                                                                         \
    ROW(request);                                                                        \
    ROW(payload);                                                                        \
    ROW(bookings);

static void expect_equal(const Job *a, const Job *b)
{
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->outcome.code, b->outcome.code);
#define SAME(field) assert_true(a->field == b->field)
    NUMBERS(SAME)
#undef SAME
#define SAME(field) assert_true(slice_equal(a->field, b->field))
    SLICES(SAME)
#undef SAME
}

static Job round_trip(const Job *job, Buf *packed)
{
    Job back;
    buf_clear(packed);
    job_pack(packed, job);
    assert_int_equal(job_unpack(buf_slice(packed), &back), ERR_OK);
    return back;
}

static void each_number_survives_alone_over_its_whole_range(void **state)
{
    (void)state;
    static const int64_t values[] = { 0,    1,         -1,        5,         127,
                                      -128, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN };
    Buf packed = { 0 };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
#define ALONE(field)                                                                     \
    {                                                                                    \
        Job job = job_default();                                                         \
        int64_t value = values[i];                                                       \
        memcpy(&job.field, &value, sizeof job.field);                                    \
        Job back = round_trip(&job, &packed);                                            \
        expect_equal(&back, &job);                                                       \
    }
        NUMBERS(ALONE)
#undef ALONE
    }
    for (unsigned i = 0; i < JOB_STATES; i++) {
        Job job = job_default();
        job.state = (JobState)i;
        job.outcome.code = (JobCode)(i % (CODE_ERROR + 1));
        Job back = round_trip(&job, &packed);
        expect_equal(&back, &job);
    }
    buf_done(&packed);
}

static void each_text_survives_alone(void **state)
{
    (void)state;
    Buf packed = { 0 };
#define ALONE(field)                                                                     \
    {                                                                                    \
        Job job = job_default();                                                         \
        job.field = slice_of(#field "\0\xff", sizeof #field + 1);                        \
        Job back = round_trip(&job, &packed);                                            \
        expect_equal(&back, &job);                                                       \
    }
    SLICES(ALONE)
#undef ALONE
    buf_done(&packed);
}

/* A job in which no byte is as in another: every slice a part of `text`. */
static Job full_job(const char *text)
{
    Job job;
    memset(&job, 0x11, sizeof job);
    job.state = JOB_RETRYING;
    job.outcome.code = CODE_ERROR;
    size_t at = 0;
#define FILL(field) job.field = slice_of(text + at++, 3)
    SLICES(FILL)
#undef FILL
    return job;
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

static void a_packed_job_is_the_whole_job(void **state)
{
    (void)state;
    Buf packed = { 0 };
    Job job = full_job(letters);
    Job back = round_trip(&job, &packed);
    expect_equal(&back, &job);
    /* Beyond the lists above: nothing of the struct but slices' addresses differs. */
#define CLEAR(field) job.field = back.field = (Slice){ NULL, 0 }
    SLICES(CLEAR)
#undef CLEAR
    Job all = job_default();
    memset(&all, 0x11, sizeof all);
    all.state = job.state;
    all.outcome.code = job.outcome.code;
#define CLEAR(field) all.field = (Slice){ NULL, 0 }
    SLICES(CLEAR)
#undef CLEAR
    assert_memory_equal(&job, &all, sizeof job);
    buf_done(&packed);
}

static void a_default_job_takes_no_room(void **state)
{
    (void)state;
    Buf packed = { 0 };
    Job job = job_default();
    Job back = round_trip(&job, &packed);
    assert_int_equal(packed.bytes, 0);
    expect_equal(&back, &job);
    assert_int_equal(job.state, JOB_READY);
    assert_int_equal(job.priority, 5);
    assert_int_equal(job.max_retries, RETRIES_UNSET);
    assert_int_equal(job.progress, -1);
    assert_int_equal(job.outcome.exit_status, -1);
}

static void fields_of_a_later_version_are_passed_over(void **state)
{
    (void)state;
    Buf packed = { 0 };
    pack_bytes(&packed, 9999, slice_text("from the future"));
    Job job = job_default();
    job.id = 42;
    job.name = slice_text("n");
    job_pack(&packed, &job);
    pack_int(&packed, 9998, -7);
    Job back;
    assert_int_equal(job_unpack(buf_slice(&packed), &back), ERR_OK);
    expect_equal(&back, &job);
    buf_done(&packed);
}

static void a_state_or_code_that_no_one_wrote_is_damage(void **state)
{
    (void)state;
    static const struct {
        uint32_t tag;
        int64_t number;
    } bad[] = { { 3, JOB_STATES - (int64_t)JOB_READY },
                { 3, -3 },
                { 3, INT64_MAX },
                { 22, CODE_ERROR + 1 },
                { 22, -1 } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Buf packed = { 0 };
        pack_int(&packed, bad[i].tag, bad[i].number);
        Job job = job_default();
        job.id = 7;
        assert_int_equal(job_unpack(buf_slice(&packed), &job), ERR_CORRUPT);
        assert_int_equal(job.id, 7); /* untouched */
        buf_done(&packed);
    }
}

static void cuts_and_flipped_bits_never_do_harm(void **state)
{
    (void)state;
    Rng rng = { 3 };
    Buf packed = { 0 };
    Job job = full_job(letters);
    job_pack(&packed, &job);
    for (size_t bytes = 0; bytes <= packed.bytes; bytes++) {
        char *copy = mem_copy(packed.data, bytes);
        Job back;
        Err err = job_unpack(slice_of(copy, bytes), &back);
        assert_true(err == ERR_OK || err == ERR_CORRUPT);
        mem_free(copy);
    }
    for (int i = 0; i < 20000; i++) {
        char *copy = mem_copy(packed.data, packed.bytes);
        for (uint64_t flips = 1 + rng_below(&rng, 5); flips; flips--)
            copy[rng_below(&rng, packed.bytes)] ^= (char)(1 << rng_below(&rng, 8));
        Job back;
        Arena arena = { 0 };
        if (!job_unpack(slice_of(copy, packed.bytes), &back)) {
            assert_true((unsigned)back.state < JOB_STATES);
            job_copy(&arena, &back); /* every slice can be read */
        }
        arena_done(&arena);
        mem_free(copy);
    }
    buf_done(&packed);
}

static void a_copy_owes_nothing_to_its_original(void **state)
{
    (void)state;
    char *text = mem_copy(letters, sizeof letters);
    Job job = full_job(text);
    Job expected = full_job(letters);
    Arena arena = { 0 };
    Job copy = job_copy(&arena, &job);
    memset(text, 'x', sizeof letters);
    mem_free(text);
    expect_equal(&copy, &expected);
    arena_done(&arena);
}

static void lists_are_walked_item_by_item(void **state)
{
    (void)state;
    Slice rest = slice_of("ls\0-l\0\0x\0", 9);
    static const char *const items[] = { "ls", "-l", "", "x" };
    Slice item;
    for (size_t i = 0; i < 4; i++) {
        assert_true(list_next(&rest, &item));
        assert_true(slice_is(item, items[i]));
    }
    assert_false(list_next(&rest, &item));
    rest = slice_text("no end");
    assert_true(list_next(&rest, &item));
    assert_true(slice_is(item, "no end"));
    assert_false(list_next(&rest, &item));
}

static void no_two_flags_share_a_bit(void **state)
{
    (void)state;
    static const uint32_t flags[] = {
        JOB_BINARY,    JOB_PROTOCOL,   JOB_FILES,         JOB_KEEP_STATE, JOB_PULL,
        JOB_CUT,       JOB_CANCELLING, JOB_HALTING,       JOB_LOSSES,     JOB_COMMAND,
        JOB_UNHANDLED, JOB_OPEN_QUEUE, JOB_OPEN_PRIORITY, JOB_SEGREGATED, JOB_CONTROL,
        JOB_AFTERMATH, JOB_UNIT,       JOB_STAYS,         JOB_LINKED,     JOB_MERGES,
        JOB_TELLS,     JOB_WAITS,      JOB_UNSURE,
    };
    uint32_t seen = 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        assert_int_equal(seen & flags[i], 0);
        seen |= flags[i];
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_flags_share_a_bit),
        cmocka_unit_test(every_step_is_in_the_table_or_refused),
        cmocka_unit_test(states_keep_their_words),
        cmocka_unit_test(every_state_is_in_one_family),
        cmocka_unit_test(a_move_keeps_date_and_lock_true),
        cmocka_unit_test(a_free_job_is_what_its_due_time_says),
        cmocka_unit_test(each_number_survives_alone_over_its_whole_range),
        cmocka_unit_test(each_text_survives_alone),
        cmocka_unit_test(a_packed_job_is_the_whole_job),
        cmocka_unit_test(a_default_job_takes_no_room),
        cmocka_unit_test(fields_of_a_later_version_are_passed_over),
        cmocka_unit_test(a_state_or_code_that_no_one_wrote_is_damage),
        cmocka_unit_test(cuts_and_flipped_bits_never_do_harm),
        cmocka_unit_test(a_copy_owes_nothing_to_its_original),
        cmocka_unit_test(lists_are_walked_item_by_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
