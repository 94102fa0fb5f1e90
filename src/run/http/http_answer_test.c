/* SPDX-License-Identifier: Apache-2.0 */
/* http_answer_test.c - what an HTTP answer means for the jobs of its call. */
#include "run/http/http_answer.h"

#include "base/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RESULT_MAX 20

static WebJob jobs[4] = {
    { 11, 1, false }, { 12, 2, false }, { 13, 1, false }, { 14, 1, false }
};

static WebCall call_of(size_t count, bool batch, const char *answer)
{
    WebCall call = { .jobs = jobs, .job_count = count, .batch = batch };
    buf_add_text(&call.answer, answer);
    return call;
}

static void expect(const RunNews *news, size_t index, int32_t code, const char *text)
{
    const RunAnswer *answer = &news->answers[index];
    assert_int_equal(answer->kind, ANSWER_SAID);
    assert_int_equal(answer->id, jobs[index].id);
    assert_int_equal(answer->attempt, jobs[index].attempt);
    assert_int_equal(answer->code, code);
    Slice said = slice_of(news->text.data + answer->text_at, answer->text_bytes);
    if (!slice_is(said, text))
        fail_msg("\"" SLICE_FMT "\" is not \"%s\"", SLICE_ARG(said), text);
}

/* B2.7: the HTTP status is the exit code, the body the result. */
static void one_job_gets_status_and_body(void **state)
{
    (void)state;
    WebCall call = call_of(1, false, "all of it");
    RunNews *news = web_answers(&call, &(WebEnd){ .status = 201 }, RESULT_MAX);
    assert_int_equal(news->answer_count, 1);
    expect(news, 0, 201, "all of it");
    assert_false(news->answers[0].cut);
    run_news_free(news);
    call.cut = true;
    news = web_answers(&call, &(WebEnd){ .status = 500 }, RESULT_MAX);
    expect(news, 0, 500, "all of it");
    assert_true(news->answers[0].cut);
    run_news_free(news);
    news =
        web_answers(&call, &(WebEnd){ .status = 302, .why = "not followed" }, RESULT_MAX);
    expect(news, 0, 302, "not followed");
    run_news_free(news);
    news = web_answers(&call, &(WebEnd){ .code = 403, .why = "private" }, RESULT_MAX);
    expect(news, 0, 403, "private");
    run_news_free(news);
    buf_done(&call.answer);
}

/* B2.7: a batch is answered with one status line per job; # begins a comment. */
static void a_batch_is_answered_line_by_line(void **state)
{
    (void)state;
    WebCall call =
        call_of(3, true,
                "# three of them\r\n200 first\r\n\n"
                "#J: mail|to a\n#J: scan|x|y\n#J: no name!|z\n"
                "404\n150 a result that is longer than allowed\n200 too many\n");
    RunNews *news = web_answers(&call, &(WebEnd){ .status = 200 }, RESULT_MAX);
    assert_int_equal(news->answer_count, 3);
    expect(news, 0, 200, "first");
    expect(news, 1, 404, "");
    expect(news, 2, 150, "a result that is lon");
    assert_true(news->answers[2].cut);
    assert_int_equal(news->answers[0].child_count, 0);
    assert_int_equal(news->answers[1].child_count, 2);
    Slice packed = slice_of(news->children.data + news->answers[1].children_at,
                            news->answers[1].children_bytes);
    static const char *const wanted[] = { "mail", "to a", "scan", "x|y" };
    PackField field;
    for (size_t i = 0; i < 4; i++) {
        assert_true(pack_next(&packed, &field));
        assert_true(slice_is(field.bytes, wanted[i]));
    }
    run_news_free(news);
    buf_done(&call.answer);
}

/* B2.7: one bad line makes all that follow invalid; what is missing is an error. */
static void a_bad_line_spoils_all_that_follow(void **state)
{
    (void)state;
    WebCall call = call_of(4, true, "200 a\nfine\n200 b\n");
    RunNews *news = web_answers(&call, &(WebEnd){ .status = 200 }, RESULT_MAX);
    expect(news, 0, 200, "a");
    for (size_t i = 1; i < 4; i++)
        expect(news, i, 500, "a line of the answer does not begin with a status");
    run_news_free(news);
    buf_clear(&call.answer);
    buf_add_text(&call.answer, "200 a\n299 b");
    jobs[2].unfit = true;
    news = web_answers(&call, &(WebEnd){ .status = 200 }, RESULT_MAX);
    expect(news, 1, 299, "b");
    expect(news, 2, 400, "a payload with a newline cannot be sent in a batch");
    expect(news, 3, 500, "the answer has no line for this job");
    run_news_free(news);
    jobs[2].unfit = false;
    news = web_answers(&call, &(WebEnd){ .status = 503 }, RESULT_MAX);
    for (size_t i = 0; i < 4; i++)
        expect(news, i, 503, "200 a\n299 b"); /* the whole call failed */
    run_news_free(news);
    buf_done(&call.answer);
}

/* S2.89: those who only shared the call are ungot. */
static void giving_up_is_for_one_job_only(void **state)
{
    (void)state;
    WebCall call = call_of(3, true, "");
    RunNews *news = web_given_up(&call, 12, 15);
    assert_int_equal(news->answer_count, 3);
    assert_int_equal(news->answers[0].kind, ANSWER_UNGOT);
    assert_int_equal(news->answers[1].kind, ANSWER_CRASHED);
    assert_int_equal(news->answers[1].signal, 15);
    assert_int_equal(news->answers[2].kind, ANSWER_UNGOT);
    run_news_free(news);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_job_gets_status_and_body),
        cmocka_unit_test(a_batch_is_answered_line_by_line),
        cmocka_unit_test(a_bad_line_spoils_all_that_follow),
        cmocka_unit_test(giving_up_is_for_one_job_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
