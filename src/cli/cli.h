/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h - what every command shares: its words, its server, its way to fail.
 *
 * Data goes to stdout, messages to stderr. Helpers that can fail return an exit code,
 * 0 for success, and have told the user when it is another. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "cli/client.h"
#include "cli/exit.h"
#include "cli/options.h"
#include "cli/print/table.h"
#include "cli/print/term.h"
#include "cli/reply.h"

#include "base/finding.h"
#include "base/id.h"

#include <stdbool.h>

typedef struct Command Command;

/* What the command line does not know itself, because it does not know the daemon. Each
 * may be NULL in a build without one. */
typedef void ConfigRow(void *context, const char *key, const char *value,
                       const char *origin);

/* What is to be checked of a daemon's configuration and of its store. */
typedef struct CheckupAsk {
    const char *data;   /* its directory; may be "" */
    const char *store;  /* the url to look at instead of its own; NULL: its own */
    int64_t daemon_pid; /* how that one was started counts; 0: as one here would be */
    bool store_only;    /* its configuration is on another machine */
} CheckupAsk;

/* A whole store and a file; NULL: as a daemon would find it. */
typedef struct CliMove {
    const char *data;
    const char *config;
    const char *store;
    const char *file;
    bool replace;
} CliMove;
typedef Err CliMoveHook(const CliMove *move, uint64_t *out_rows, Error *why);

typedef struct CliHooks {
    int (*serve)(int argc, char **argv);
    /* Every value that a daemon with this data directory (may be NULL) would have. */
    Err (*config)(const char *data, ConfigRow *row, void *context, Error *why);
    void (*checkup)(const CheckupAsk *ask, const Findings *findings);
    CliMoveHook *store_export;
    CliMoveHook *store_import;
} CliHooks;

typedef struct Cli {
    const Command *command;
    Args args;
    Client client;     /* connected by cli_connect */
    Buf data_dir;      /* absolute; empty when there is none */
    Buf server;        /* in the words of --server */
    bool server_named; /* by --server or $PAWL_SERVER: no private daemon then */
    bool data_named;   /* by --data or $PAWL_DATA: the daemon there, or none */
    bool json;
    bool waits; /* run --wait: failures of pawl itself end with 125 */
    Term out;   /* stdout */
    Term err;   /* stderr */
    const CliHooks *hooks;
    int word_count; /* words after the command, as they were typed */
    char **words;
} Cli;

/* The whole program. Returns the exit code. */
int cli_main(int argc, char **argv, const CliHooks *hooks);

/* Chooses the server and prepares the client; starts a private daemon when nobody
 * answers and the command may. */
int cli_connect(Cli *cli);

typedef struct Fault {
    int exit;
    const char *code; /* the stable word in brackets */
    const char *hint; /* what to do next: up to three lines, or NULL */
} Fault;

/* Tells the failure (under --json as a problem object) and returns the exit code. */
int cli_fail(const Cli *cli, Fault fault, const char *format, ...) PRINTF_LIKE(3, 4);

/* Wrong usage, with the sentence of *why. */
int cli_misused(const Cli *cli, const Error *why);

/* The failure that an answer of 4xx or 5xx tells, or a call without an answer. */
int cli_fail_response(const Cli *cli, const Response *response);
int cli_fail_call(const Cli *cli, Err err, const Error *why);

/* Calls, and fails unless the answer is 2xx. The caller does response_done / doc_free. */
int cli_call(Cli *cli, const Request *request, Response *response);
int cli_call_doc(Cli *cli, const Request *request, Doc **out_doc);
int cli_get(Cli *cli, const char *path, Doc **out_doc);

/* The id meant by a whole id, a unique beginning of six characters or more, or `last`. */
int cli_job_id(Cli *cli, const char *text, char out_id[ID_TEXT_BYTES]);

/* "/api/v1/jobs/ID" and what follows. */
void cli_job_path(Buf *out, const char *id, const char *rest);

/* One JSON text to stdout, ended by exactly one newline. */
void cli_print_json(Slice json);
void cli_print(const Buf *text);

/* The items of a page as a table; under --json the page as it is. */
typedef struct ListShape {
    const Column *columns;
    size_t column_count;
    void (*add_row)(Table *table, const Doc *item);
    const char *none; /* said when there are no items */
} ListShape;
void cli_print_list(const Cli *cli, const Doc *page, const ListShape *shape);

/* A line to stderr: "pawl: ...". */
void cli_note(const char *format, ...) PRINTF_LIKE(1, 2);

/* Asks on the terminal; without one, only --yes is a yes. The question is a whole
 * sentence without the mark. */
bool cli_confirm(const Cli *cli, const char *question);

#endif
