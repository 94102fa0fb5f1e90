/* SPDX-License-Identifier: Apache-2.0 */
/* submit.h - giving one job to the daemon, exactly once.
 *
 * The request carries an idempotency key, so that a connection lost before the answer
 * can be tried again without adding the job twice. */
#ifndef CLI_SUBMIT_H
#define CLI_SUBMIT_H

#include "cli/cli.h"

/* The caller does response_done; the answer is {"id":…,"job":{…}}. */
int submit_job(Cli *cli, const char *path, Slice body, Response *response);

/* As cli_call, for adds with a key: an answer that was lost is asked for again. The key
 * may be gone afterwards. */
int submit_call(Cli *cli, Request *request, Response *response);

/* Tells the user: on a terminal the id, the queue, when it starts and what to do next;
 * elsewhere the id alone; under --json the answer. */
int submit_say(Cli *cli, const Response *response);

#endif
