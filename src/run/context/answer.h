/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - the end of one job of a warm context, as the loop is told. Many come in one
 * RunNews, whose buffers hold their texts. For process.h. */
#ifndef RUN_CONTEXT_ANSWER_H
#define RUN_CONTEXT_ANSWER_H

#include "base/id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum RunAnswerKind {
    ANSWER_SAID,    /* code; text: the result, and the error unless code is 2xx */
    ANSWER_EXITED,  /* with its batch: exit_status or signal; code, text: of an R: line */
    ANSWER_CRASHED, /* its context ended while it ran: exit_status or signal; text */
    ANSWER_UNGOT,   /* its context ended, but for another job's sake */
    ANSWER_FAILED,  /* its context could not be started: text, node_fault */
    ANSWER_LOST,    /* died with its launcher, or with its node's lease: text */
} RunAnswerKind;

typedef struct RunAnswer {
    JobId id;
    uint32_t attempt;
    RunAnswerKind kind;
    int32_t code;
    int32_t exit_status; /* -1: it did not exit by itself */
    int32_t signal;
    bool cut;
    bool ask_again; /* ANSWER_SAID: see Ending */
    bool node_fault;
    int32_t progress; /* -1: none */
    int64_t took_us;  /* ANSWER_SAID: of the context's time */
    size_t text_at;   /* in RunNews.text */
    size_t text_bytes;
    size_t children_at; /* in RunNews.children: packed, RUN_CHILD_TYPE and _PAYLOAD */
    size_t children_bytes;
    uint64_t child_count;
    uint64_t refused; /* J: lines that are no jobs, */
    size_t note_at;   /* and the first of them, in RunNews.message */
    size_t note_bytes;
} RunAnswer;
enum { RUN_CHILD_TYPE = 1, RUN_CHILD_PAYLOAD = 2 };

#endif
