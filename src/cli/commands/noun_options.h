/* SPDX-License-Identifier: Apache-2.0 */
/* noun_options.h - the fields of a noun as options: what `set` and `add` send. */
#ifndef CLI_COMMANDS_NOUN_OPTIONS_H
#define CLI_COMMANDS_NOUN_OPTIONS_H

#include "cli/cli.h"
#include "cli/verb.h"

#include "base/json_out.h"
#include "noun/noun.h"

/* Writes the member of every field whose option was given; `none` is null, --no-NAME is
 * false. The exit code: 0, or the user was told what is wrong. */
int noun_options(Cli *cli, const Noun *noun, JsonOut *json);

/* NAME=VALUE pairs of an option as an object; a name that stands twice has its last
 * value. Numbers for AS_AMOUNTS. */
MUST_CHECK Err options_pairs(const Args *args, const char *option, const Field *field,
                             JsonOut *json, Error *why);

/* JSON holds no other text than UTF-8; file names stay here and may be anything. */
MUST_CHECK Err options_check(const Args *args, Error *why);

/* Changes what `body` names of the thing that the second word names, and leaves the rest;
 * makes it if there is none. */
int verb_set(Cli *cli, const VerbSet *set, Slice body);

/* The same with the options of the noun as the body. */
int verb_set_options(Cli *cli, const VerbSet *set, const Noun *noun);

#endif
