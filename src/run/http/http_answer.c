/* SPDX-License-Identifier: Apache-2.0 */
/* http_answer.c - what an HTTP answer means for the jobs of its call.
 *
 * One job: the status is its exit code, the body its result. A batch that was answered
 * 2xx: one line per job in order, `CODE result`; lines that begin with # are comments,
 * `#J: type|payload` is a new job of the one whose line comes next. A line that is none
 * of these makes its job and all behind it errors, and so does an answer that ends early.
 */
#include "run/http/http_answer.h"

#include "base/pack.h"
#include "base/text.h"
#include "core/outcome.h"

#include <stdio.h>

#define CODE_NO_RESPONSE 500
#define CODE_UNFIT       400

static RunNews *answers_new(const WebCall *call)
{
    RunNews *news = MEM_NEW(RunNews);
    news->kind = RUN_ANSWERS;
    news->answers = MEM_ARRAY(RunAnswer, call->job_count);
    return news;
}

static RunAnswer *add(RunNews *news, const WebJob *job, RunAnswerKind kind)
{
    RunAnswer *answer = &news->answers[news->answer_count++];
    *answer = (RunAnswer){ .id = job->id,
                           .attempt = job->attempt,
                           .kind = kind,
                           .exit_status = -1,
                           .progress = -1,
                           .text_at = news->text.bytes,
                           .children_at = news->children.bytes };
    return answer;
}

static void say(RunNews *news, const WebJob *job, int32_t code, Slice text)
{
    RunAnswer *answer = add(news, job, ANSWER_SAID);
    answer->code = code;
    answer->ask_again = http_status_retries(code);
    answer->text_bytes = text.bytes;
    buf_add_slice(&news->text, text);
}

static void say_unfit(RunNews *news, const WebJob *job)
{
    say(news, job, CODE_UNFIT,
        SLICE_LITERAL("a payload with a newline cannot be sent in a batch"));
}

/* The same for all. */
static void say_all(RunNews *news, const WebCall *call, int32_t code, Slice text)
{
    for (size_t i = 0; i < call->job_count; i++)
        if (call->jobs[i].unfit)
            say_unfit(news, &call->jobs[i]);
        else
            say(news, &call->jobs[i], code, text);
}

/* --- Batches ----------------------------------------------------------------------- */

/* How many jobs the line adds: one, or none. */
static uint64_t add_child(Buf *out, Slice line)
{
    Slice mark = SLICE_LITERAL("#J: ");
    Slice payload = slice_from(line, mark.bytes);
    Slice type = slice_cut(&payload, '|');
    if (!slice_starts(line, mark) || !name_valid(type))
        return 0;
    pack_bytes(out, RUN_CHILD_TYPE, type);
    pack_bytes(out, RUN_CHILD_PAYLOAD, payload);
    return 1;
}

static bool read_status(Slice *line, int32_t *out_code)
{
    int64_t code;
    if (int_parse(slice_cut(line, ' '), &code) || code < 100 || code > 599)
        return false;
    *out_code = (int32_t)code;
    return true;
}

typedef struct BatchLines {
    Slice rest;
    const char *why; /* once it is over: what all other jobs get */
} BatchLines;

/* The next status line, for `job`. */
static void say_line(RunNews *news, const WebJob *job, BatchLines *lines, size_t max)
{
    size_t children_at = news->children.bytes;
    uint64_t children = 0;
    int32_t code = 0;
    Slice line = { NULL, 0 };
    while (!lines->why && !code) {
        if (!lines->rest.bytes) {
            lines->why = "the answer has no line for this job";
            break;
        }
        line = slice_cut(&lines->rest, '\n');
        if (line.bytes && line.data[line.bytes - 1] == '\r')
            line.bytes--;
        children += add_child(&news->children, line);
        if (line.bytes && line.data[0] != '#' && !read_status(&line, &code))
            lines->why = "a line of the answer does not begin with a status";
    }
    if (lines->why) {
        say(news, job, CODE_NO_RESPONSE, slice_text(lines->why));
        return;
    }
    bool cut = line.bytes > max;
    say(news, job, code, slice_of(line.data, cut ? max : line.bytes));
    RunAnswer *answer = &news->answers[news->answer_count - 1];
    answer->cut = cut;
    answer->children_at = children_at;
    answer->children_bytes = news->children.bytes - children_at;
    answer->child_count = children;
}

static void say_lines(RunNews *news, const WebCall *call, size_t max)
{
    BatchLines lines = { .rest = buf_slice(&call->answer) };
    for (size_t i = 0; i < call->job_count; i++)
        if (call->jobs[i].unfit)
            say_unfit(news, &call->jobs[i]);
        else
            say_line(news, &call->jobs[i], &lines, max);
}

/* --- Ends -------------------------------------------------------------------------- */

RunNews *web_answers(const WebCall *call, const WebEnd *end, size_t result_bytes_max)
{
    RunNews *news = answers_new(call);
    if (!end->status) {
        say_all(news, call, end->code, slice_text(end->why));
        return news;
    }
    if (call->batch && end->status / 100 == 2) {
        say_lines(news, call, result_bytes_max);
        return news;
    }
    Slice text = buf_slice(&call->answer);
    if (end->why)
        text = slice_text(end->why);
    say_all(news, call, (int32_t)end->status, text);
    news->answers[0].cut = call->cut && !end->why;
    return news;
}

RunNews *web_given_up(const WebCall *call, JobId id, int signal_number)
{
    RunNews *news = answers_new(call);
    for (size_t i = 0; i < call->job_count; i++) {
        bool meant = call->jobs[i].id == id;
        RunAnswer *answer =
            add(news, &call->jobs[i], meant ? ANSWER_CRASHED : ANSWER_UNGOT);
        answer->signal = meant ? signal_number : 0;
    }
    return news;
}
