/* SPDX-License-Identifier: Apache-2.0 */
/* news.c - see news.h: what the loop is told. */
#include "run/news.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>

#define CHILD_BYTES_MAX (16 << 20) /* of J!: lines under way to the loop */

static _Atomic int64_t child_bytes; /* freed by whoever reads the news, in any thread */

RunNews *news_new(RunNewsKind kind, const RunAttempt *attempt)
{
    RunNews *news = MEM_NEW(RunNews);
    news->kind = kind;
    news->end.progress = -1;
    if (!attempt)
        return news;
    news->id = attempt->id;
    news->attempt = attempt->attempt;
    news->pid = attempt->pid;
    news->started_ms = attempt->started_ms;
    memcpy(news->token, attempt->token, sizeof news->token);
    return news;
}

void news_put(Runner *runner, RunNews *news)
{
    mailbox_put(runner->news, &news->mail);
}

void run_news_free(RunNews *news)
{
    if (news->kind == RUN_CHILD)
        atomic_fetch_sub(&child_bytes, (int64_t)(news->text.bytes + sizeof *news));
    buf_done(&news->text);
    buf_done(&news->message);
    buf_done(&news->children);
    line_note_done(&news->refused);
    mem_free(news->children_path);
    mem_free(news->answers);
    mem_free(news);
}

bool news_too_many(void)
{
    return atomic_load(&child_bytes) > CHILD_BYTES_MAX;
}

void news_child(Runner *runner, const RunAttempt *attempt, uint64_t number, Slice type,
                Slice payload)
{
    RunNews *news = news_new(RUN_CHILD, attempt);
    news->number = (int32_t)number;
    buf_add_slice(&news->text, type);
    buf_add_char(&news->text, '|');
    buf_add_slice(&news->text, payload);
    atomic_fetch_add(&child_bytes, (int64_t)(news->text.bytes + sizeof *news));
    news_put(runner, news);
}

/* Whether another node, or this one later, could start the same attempt. */
bool news_node_fault(LaunchStep step, int error_number)
{
    switch (step) {
    case LAUNCH_STEP_NONE:
    case LAUNCH_STEP_CLONE:
    case LAUNCH_STEP_SESSION:
    case LAUNCH_STEP_STDIO:
        return true;
    case LAUNCH_STEP_PREPARE:
    case LAUNCH_STEP_REQUEST:
        return error_number != E2BIG && error_number != EINVAL;
    case LAUNCH_STEP_LIMIT:
    case LAUNCH_STEP_CWD:
    case LAUNCH_STEP_EXEC:
    case LAUNCH_STEP_USER:
        return error_number == EAGAIN || error_number == ENOMEM ||
               error_number == EMFILE || error_number == ENFILE ||
               error_number == ETIMEDOUT; /* it did not come to begin */
    }
    return false;
}

void news_failed(RunNews *news, const RunAttempt *attempt, LaunchStep step,
                 int error_number)
{
    Slice names = attempt ? buf_slice(&attempt->names) : (Slice){ 0 };
    Slice program = { 0 }, cwd = { 0 }, user = { 0 };
    if (list_next(&names, &program) && list_next(&names, &cwd))
        list_next(&names, &user);
    Slice name = step == LAUNCH_STEP_EXEC   ? program
                 : step == LAUNCH_STEP_CWD  ? cwd
                 : step == LAUNCH_STEP_USER ? user
                                            : (Slice){ 0 };
    news->step = step;
    news->number = error_number;
    news->node_fault = news_node_fault(step, error_number);
    buf_printf(&news->text, "cannot start: %s%s" SLICE_FMT ": %s", launch_step_text(step),
               name.bytes ? " " : "", SLICE_ARG(name), strerror(error_number));
}

static void tell_said(RunNews *news, RunAttempt *attempt)
{
    OutputLines *said = attempt->said;
    news->end.said_code = said->code;
    news->end.result_cut = said->result_cut;
    news->end.progress = said->progress;
    news->text = said->result;
    news->message = said->message;
    news->children = said->children;
    news->child_count = said->child_count;
    news->refused = said->refused;
    said->result = said->message = said->children = (Buf){ 0 };
    said->refused = (LineNote){ 0 };
    if (said->children_bytes) {
        Buf path = { 0 };
        buf_printf(&path, "%s/children", attempt->dir);
        buf_cstr(&path);
        news->children_path = path.data;
    }
}

/* What a control file's module printed is what it returned. */
static void tell_printed(RunNews *news, const RunAttempt *attempt, size_t bytes_max)
{
    OutputPart part;
    OutputName name = attempt->streams[OUTPUT_OUT].spool.name;
    buf_clear(&news->text);
    if (output_read(&name, 0, bytes_max, &news->text, &part))
        return; /* its disk fails: there is nothing to tell */
    news->end.result_cut = part.first > 0 || part.next < part.total;
}

void news_ended(const Runner *runner, RunNews *news, RunAttempt *attempt,
                const LaunchMessage *end)
{
    news->end.exit_status = WIFEXITED(end->status) ? WEXITSTATUS(end->status) : -1;
    news->end.signal = WIFSIGNALED(end->status) ? WTERMSIG(end->status) : 0;
    news->end.core_dumped = WIFSIGNALED(end->status) && WCOREDUMP(end->status);
    news->end.leftover = end->leftover;
    news->end.started_ms = end->started_wall_ms;
    news->end.ended_ms = end->ended_wall_ms;
    news->end.usage = end->usage;
    for (int i = 0; i < OUTPUT_STREAMS; i++) {
        news->end.stream_bytes[i] = attempt->streams[i].spool.total;
        news->end.stream_first[i] = attempt->streams[i].spool.first;
    }
    if (attempt->said)
        tell_said(news, attempt);
    if ((attempt->flags & JOB_CONTROL) && !news->end.said_code)
        tell_printed(news, attempt, runner->result_bytes_max);
}

RunAnswer *news_answer(Runner *runner, JobId id, uint32_t attempt, RunAnswerKind kind)
{
    if (!runner->answers)
        runner->answers = news_new(RUN_ANSWERS, NULL);
    RunNews *news = runner->answers;
    RunAnswer *answer =
        &MEM_PUSH(news->answers, news->answer_count, news->answer_capacity);
    *answer = (RunAnswer){
        .id = id, .attempt = attempt, .kind = kind, .exit_status = -1, .progress = -1
    };
    return answer;
}

void news_answer_text(Runner *runner, RunAnswer *answer, Slice text)
{
    answer->text_at = runner->answers->text.bytes;
    answer->text_bytes = text.bytes;
    buf_add_slice(&runner->answers->text, text);
}

void news_tell_answers(Runner *runner)
{
    if (!runner->answers)
        return;
    news_put(runner, runner->answers);
    runner->answers = NULL;
}
