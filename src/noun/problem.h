/* SPDX-License-Identifier: Apache-2.0 */
/* problem.h - what went wrong, for people and programs (RFC 9457).
 *
 * A problem is one of a table of codes: stable words, each with its HTTP status, title
 * and usual hint. The table is also what the API description lists. */
#ifndef NOUN_PROBLEM_H
#define NOUN_PROBLEM_H

#include "base/err.h"
#include "base/json_out.h"

#define PROBLEM_HINT_BYTES    200
#define PROBLEM_POINTER_BYTES 160

typedef struct ProblemKind {
    const char *code;
    int status;
    const char *title;
    const char *hint; /* "" if there is nothing to say in general */
} ProblemKind;

typedef struct Problem {
    const ProblemKind *kind;
    char detail[ERROR_TEXT_BYTES];
    char hint[PROBLEM_HINT_BYTES];       /* empty: the kind's own */
    char pointer[PROBLEM_POINTER_BYTES]; /* JSON pointer to the field, or empty */
    Slice members; /* more members as JSON text: "allowed":["cancel"] */
} Problem;

/* The kinds, ended by one without a code. */
const ProblemKind *problem_kinds(void);

/* NULL for a word that is none of ours. */
const ProblemKind *problem_find(const char *code);

/* The code that stands for an Err which brought no word of its own. */
const char *problem_code(Err err);

/* Ends the sentence with ": 'NAME'", in characters that do no harm. */
void problem_name(Problem *problem, Slice name);

/* Sets kind and detail and empties the rest. Returns the Err for callers that go on
 * with it: always ERR_INVALID. */
Err problem_set(Problem *problem, const char *code, const char *detail, ...)
    PRINTF_LIKE(3, 4);
void problem_hint(Problem *problem, const char *hint, ...) PRINTF_LIKE(2, 3);

/* Adds "/name" to the pointer, with ~ and / written as JSON Pointer wants them. */
void problem_point(Problem *problem, Slice name);

/* The members of a problem document, without its braces. */
void problem_members(JsonOut *json, const Problem *problem);

#endif
