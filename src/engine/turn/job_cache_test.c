/* SPDX-License-Identifier: Apache-2.0 */
/* job_cache_test.c - whole jobs between acceptance and start. */
#include "engine/turn/job_cache.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static Job job_of(JobId id, Slice payload)
{
    Job job = job_default();
    job.id = id;
    job.payload = payload;
    return job;
}

static void a_job_is_taken_once_and_whole(void **state)
{
    (void)state;
    JobCache bodies = { 0 };
    Job in = job_of(7, SLICE_LITERAL("payload"));
    Job out;
    job_cache_put(&bodies, &in);
    Body *body = job_cache_take(&bodies, 7);
    assert_non_null(body);
    assert_int_equal(body_job(body, &out), ERR_OK);
    assert_true(out.id == 7);
    assert_true(slice_is(out.payload, "payload"));
    assert_null(job_cache_take(&bodies, 7));
    body_free(body);
    job_cache_done(&bodies);
}

static void memory_is_bounded_and_the_oldest_leaves_first(void **state)
{
    (void)state;
    JobCache bodies = { 0 };
    char *large = mem_alloc(1 << 20);
    for (JobId id = 1; id <= 100; id++) {
        Job job = job_of(id, slice_of(large, 1 << 20));
        job_cache_put(&bodies, &job);
        assert_true(bodies.bytes <= (3u << 20));
    }
    assert_null(job_cache_take(&bodies, 1));
    Body *newest = job_cache_take(&bodies, 100);
    assert_non_null(newest);
    body_free(newest);
    job_cache_done(&bodies);
    assert_int_equal(bodies.bytes, 0);
    mem_free(large);
}

static void the_same_job_again_replaces_it(void **state)
{
    (void)state;
    JobCache bodies = { 0 };
    Job out;
    for (int i = 0; i < 3; i++) {
        Job job = job_of(7, slice_text(i == 2 ? "last" : "first"));
        job_cache_put(&bodies, &job);
    }
    Body *body = job_cache_take(&bodies, 7);
    assert_int_equal(body_job(body, &out), ERR_OK);
    assert_true(slice_is(out.payload, "last"));
    assert_null(job_cache_take(&bodies, 7));
    assert_int_equal(bodies.bytes, 0);
    body_free(body);
    job_cache_done(&bodies);
}

static void a_payload_too_large_to_keep_is_left_to_the_store(void **state)
{
    (void)state;
    JobCache bodies = { 0 };
    char *large = mem_alloc((1 << 20) + 1);
    Job job = job_of(1, slice_of(large, (1 << 20) + 1));
    job_cache_put(&bodies, &job);
    assert_null(job_cache_take(&bodies, 1));
    job_cache_done(&bodies);
    mem_free(large);
}

static void a_packed_job_is_kept_as_it_is(void **state)
{
    (void)state;
    JobCache bodies = { 0 };
    Buf packed = { 0 };
    Job in = job_of(7, SLICE_LITERAL("payload"));
    Job out;
    job_pack(&packed, &in);
    job_cache_put_packed(&bodies, 7, buf_slice(&packed));
    assert_int_equal(body_job(job_cache_find(&bodies, 7), &out), ERR_OK);
    assert_true(slice_is(out.payload, "payload"));
    char *large = mem_alloc(2 << 20);
    job_cache_put_packed(&bodies, 8,
                         slice_of(large, 2 << 20)); /* is read from the store */
    assert_null(job_cache_find(&bodies, 8));
    mem_free(large);
    buf_done(&packed);
    job_cache_done(&bodies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_taken_once_and_whole),
        cmocka_unit_test(memory_is_bounded_and_the_oldest_leaves_first),
        cmocka_unit_test(the_same_job_again_replaces_it),
        cmocka_unit_test(a_payload_too_large_to_keep_is_left_to_the_store),
        cmocka_unit_test(a_packed_job_is_kept_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
