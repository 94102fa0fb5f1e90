/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the words after a command, read by the command's own table of options.
 *
 * An option stands anywhere among the operands, as --name VALUE, --name=VALUE, -n VALUE
 * or -nVALUE; `--` ends options. Names are never abbreviated. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Option {
    const char *name;  /* without dashes; NULL ends a table */
    char letter;       /* or 0 */
    const char *value; /* what it takes, in capitals; NULL: nothing */
    const char *help;
} Option;

#define OPTION_TABLES_MAX 4

typedef struct Given {
    const Option *option;
    const char *value; /* NULL for options without one */
} Given;

typedef struct Args {
    const Option *tables[OPTION_TABLES_MAX + 1]; /* ended by NULL */
    bool first_ends;                             /* the first operand ends options */
    bool terms;                                  /* -word:value is an operand */
    Given *given;
    size_t given_count;
    size_t given_capacity;
    char **operands; /* borrowed from argv */
    size_t operand_count;
    size_t operand_capacity;
} Args;

/* Adds the words to what args has already. Errors name the word and the nearest one. */
MUST_CHECK Err args_parse(Args *args, int count, char **words, Error *why);
void args_done(Args *args);

/* Whether a flag was given; the last value given, or NULL. The name must be in the
 * tables. */
bool args_flag(const Args *args, const char *name);
const char *args_value(const Args *args, const char *name);

/* Walks the values of an option that may stand several times:
 *     for (size_t at = 0; (value = args_next(args, "tag", &at));) ... */
const char *args_next(const Args *args, const char *name, size_t *at);

/* The value as a number in a range; `fallback` when it was not given. */
MUST_CHECK Err args_int(const Args *args, const char *name, int64_t fallback,
                        int64_t *out_value, Error *why);

/* As a duration in ms; -1 when it was not given. */
MUST_CHECK Err args_duration(const Args *args, const char *name, int64_t *out_ms,
                             Error *why);

#endif
