/* SPDX-License-Identifier: Apache-2.0 */
/* verb.h - commands with verbs (pawl handler set, pawl schedule ls): which one is meant,
 * and lists that come in pages. */
#ifndef CLI_VERB_H
#define CLI_VERB_H

#include "cli/cli.h"
#include "cli/print/table.h"

typedef struct Verb {
    const char *name;
    size_t words_min; /* the verb itself included */
    size_t words_max;
    int (*run)(Cli *cli); /* NULL: one request without a body, see verb_call */
    const char *method;
    const char *rest;
} Verb;

#define VERBS_MAX 16

typedef struct VerbSet {
    const char *command;
    const char *missing; /* what to ask when a word is missing: "of which type?" */
    const Verb *verbs;
    size_t count;
    const char *otherwise; /* the verb when none is named */
    const char *path;      /* of what the verbs are about: "/api/v1/schedules" */
    /* Tells what an answer says; under --json it is printed as it is. */
    void (*say)(const Cli *cli, const Doc *answer);
} VerbSet;

int verb_run(Cli *cli, const VerbSet *set);

/* The path of the thing that the second word names, and what follows. */
void verb_path(Buf *out, const Cli *cli, const VerbSet *set, const char *rest);

/* One request to it, and what is said of the answer. */
typedef struct VerbCall {
    const char *method;
    const char *rest;
    Slice body;
    bool only_new; /* refused if there is one of this name already */
} VerbCall;
int verb_call(Cli *cli, const VerbSet *set, const VerbCall *call);

/* Says what an answer tells, or that it is a failure. */
int verb_answer(Cli *cli, const VerbSet *set, const Response *response);

/* Tells every field of an answer that is not null, one in a line. */
void verb_fields(const Cli *cli, const Doc *thing);

/* The thing that the second word names, in all its fields. */
int verb_show(Cli *cli, const VerbSet *set);

/* Reads all pages of a list; the path has no parameters yet. row() fills the table. */
typedef struct VerbList {
    const char *path;
    const Column *columns;
    size_t column_count;
    void (*row)(Table *table, const Doc *item);
    const char *nothing; /* to say when there is none */
} VerbList;

int verb_list(Cli *cli, const VerbList *list);

#endif
