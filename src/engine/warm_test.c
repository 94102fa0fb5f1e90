/* SPDX-License-Identifier: Apache-2.0 */
/* warm_test.c - a job as a warm context reads it. */
#include "engine/warm.h"

#include "json/json_in.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const JsonIn *line_of(Arena *arena, const Job *job, Buf *out)
{
    const JsonIn *root = NULL;
    warm_line(out, job, SLICE_LITERAL("t@1"));
    assert_int_equal(out->data[out->bytes - 1], '\n');
    assert_null(
        memchr(out->data, '\n', out->bytes - 1)); /* one line, whatever it holds */
    assert_int_equal(json_in_load(buf_slice(out), arena, &root, NULL), ERR_OK);
    return root;
}

/* S2.8 */
static void a_payload_comes_without_its_final_newline(void **state)
{
    (void)state;
    static const struct {
        const char *sent;
        const char *seen;
    } rows[] = { { "a\n", "a" }, { "a", "a" }, { "a\n\n", "a\n" }, { "", "" } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena arena = { 0 };
        Buf out = { 0 };
        Job job = job_default();
        Slice text;
        job.type = SLICE_LITERAL("t");
        job.tenant = SLICE_LITERAL("acme");
        job.queue = SLICE_LITERAL("default");
        job.payload = slice_text(rows[i].sent);
        const JsonIn *root = line_of(&arena, &job, &out);
        assert_int_equal(json_in_text(json_in_find(root, "payload"), &text), ERR_OK);
        assert_true(slice_is(text, rows[i].seen));
        assert_int_equal(json_in_text(json_in_find(root, "handler"), &text), ERR_OK);
        assert_true(slice_is(text, "t@1"));
        buf_done(&out);
        arena_done(&arena);
    }
}

static void bytes_that_are_no_text_come_as_base64(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Buf out = { 0 };
    Job job = job_default();
    Slice text;
    job.payload = SLICE_LITERAL("\xff\n");
    const JsonIn *root = line_of(&arena, &job, &out);
    assert_null(json_in_find(root, "payload"));
    assert_int_equal(json_in_text(json_in_find(root, "payload_base64"), &text), ERR_OK);
    assert_true(slice_is(text, "/wo="));
    buf_done(&out);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_payload_comes_without_its_final_newline),
        cmocka_unit_test(bytes_that_are_no_text_come_as_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
