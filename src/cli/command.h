/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - the table of commands: the one place that knows their names and options.
 *
 * Help, man pages and shell completion are made from it, so that they cannot disagree
 * with what the commands take. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/cli.h"

typedef enum CommandNeed {
    NEED_NOTHING,
    NEED_SERVER,   /* a daemon must answer */
    NEED_OR_START, /* a private one is started if none does */
} CommandNeed;

typedef enum OperandKind {
    OPERAND_NONE, /* nothing that completion could offer */
    OPERAND_JOBS,
    OPERAND_FILES,
    OPERAND_WORDS, /* Command.operand_words */
} OperandKind;

struct Command {
    const char *name;
    const char *summary; /* one line */
    const char *usage;   /* what follows the name */
    const char *example; /* lines, each a whole command line */
    const char *detail;  /* paragraphs for --help and the man page, or NULL */
    const Option *options[OPTION_TABLES_MAX]; /* ended by NULL */
    CommandNeed need;
    OperandKind operand;
    const char *operand_words; /* separated by spaces, or NULL */
    bool first_ends;           /* the first operand ends options */
    bool terms;                /* its operands are a query */
    bool hidden;
    int (*run)(Cli *cli);
};

extern const Command commands[]; /* ended by a name of NULL */
extern const Option global_options[];

const Command *command_find(const char *name);

/* The nearest name of a visible command, or NULL. */
const char *command_nearest(const char *name);

/* One file per command: cmd_NAME.c; the actions of jobs share commands/act.c. */
int cmd_run(Cli *cli);
int cmd_add(Cli *cli);
int cmd_ls(Cli *cli);
int cmd_show(Cli *cli);
int cmd_logs(Cli *cli);
int cmd_wait(Cli *cli);
int cmd_map(Cli *cli);
int cmd_tenant(Cli *cli);
int cmd_token(Cli *cli);
int cmd_audit(Cli *cli);
int cmd_import(Cli *cli);
int cmd_export(Cli *cli);
int cmd_move(Cli *cli, CliMoveHook *move); /* either of them with --all */
int cmd_status(Cli *cli);
int cmd_explain(Cli *cli);
int cmd_act(Cli *cli);
int cmd_set(Cli *cli);
int cmd_config(Cli *cli);
int cmd_handler(Cli *cli);
int cmd_worker(Cli *cli);
int cmd_events(Cli *cli);
int cmd_schedule(Cli *cli);
int cmd_queue(Cli *cli);
int cmd_operation(Cli *cli);
int cmd_top(Cli *cli);
int cmd_resource(Cli *cli);
int cmd_stats(Cli *cli);
int cmd_doctor(Cli *cli);
int cmd_node(Cli *cli);
int cmd_processor(Cli *cli);
int cmd_parts(Cli *cli);
int cmd_serve(Cli *cli);
int cmd_version(Cli *cli);
int cmd_completion(Cli *cli);
int cmd_complete(Cli *cli);
int cmd_help(Cli *cli);
int cmd_man(Cli *cli);

#endif
