/* SPDX-License-Identifier: Apache-2.0 */
/* verb.h - commands with verbs (pawl handler set, pawl schedule ls): which one is meant,
 * and lists that come in pages. */
#ifndef CLI_VERB_H
#define CLI_VERB_H

#include "cli/cli.h"
#include "cli/table.h"

typedef struct Verb {
    const char *name;
    size_t words_min; /* the verb itself included */
    size_t words_max;
    int (*run)(Cli *cli);
} Verb;

#define VERBS_MAX 16

typedef struct VerbSet {
    const char *command;
    const char *missing; /* what to ask when a word is missing: "of which type?" */
    const Verb *verbs;
    size_t count;
    const char *otherwise; /* the verb when none is named */
} VerbSet;

int verb_run(Cli *cli, const VerbSet *set);

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
