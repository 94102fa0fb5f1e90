/* SPDX-License-Identifier: Apache-2.0 */
/* help.h - what the table of commands looks like to a reader. */
#ifndef CLI_PRINT_HELP_H
#define CLI_PRINT_HELP_H

#include "cli/command.h"

void help_overview(const Term *term, Buf *out);
void help_command(const Command *command, const Term *term, Buf *out);

typedef struct Topic {
    const char *name;
    const char *summary;
    const char *text;
} Topic;

extern const Topic help_topics[]; /* ended by a name of NULL */

/* Adds text broken into lines of at most `width` columns, each after `indent` spaces. */
void help_wrap(Buf *out, const char *text, size_t indent, size_t width);

/* "-q, --queue QUEUE" */
void help_option_name(const Option *option, Buf *out);

#endif
