/* SPDX-License-Identifier: Apache-2.0 */
/* news.h - part of the runner: what the loop is told. */
#ifndef RUN_NEWS_H
#define RUN_NEWS_H

#include "run/runner.h"

RunNews *news_new(RunNewsKind kind, const RunAttempt *attempt);
void news_put(Runner *runner, RunNews *news);
void news_failed(RunNews *news, const RunAttempt *attempt, LaunchStep step,
                 int error_number);
void news_ended(const Runner *runner, RunNews *news, RunAttempt *attempt,
                const LaunchMessage *end);
/* A J!: line; bytes of them that the loop has not freed yet are counted. */
void news_child(Runner *runner, const RunAttempt *attempt, uint64_t number, Slice type,
                Slice payload);
bool news_too_many(void);
/* An answer of this round; news_tell_answers tells all of them at once. */
RunAnswer *news_answer(Runner *runner, JobId id, uint32_t attempt, RunAnswerKind kind);
void news_answer_text(Runner *runner, RunAnswer *answer, Slice text);
void news_tell_answers(Runner *runner);
bool news_node_fault(LaunchStep step, int error_number);

#endif
