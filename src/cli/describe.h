/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h - a job from the words of the command line to the object the API takes. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include "cli/cli.h"

#include "base/json_out.h"

/* Writes the fields that the options of run and add ask for, but those that `except` (an
 * object, may be NULL) has already. now_ms is for --at. */
int describe_options(Cli *cli, int64_t now_ms, const Doc *except, JsonOut *json);

/* The same for the options of handler set. */
int describe_handler(Cli *cli, JsonOut *json);

/* The same for the options of schedule add. */
int describe_schedule(Cli *cli, JsonOut *json);

/* Text as `payload`; what is no text, or has to reach the job byte for byte, as
 * `payload_base64`. */
void describe_payload(JsonOut *json, Slice payload, bool exact);

/* The array `command`; every word must be UTF-8. */
int describe_command(Cli *cli, char **words, size_t count, JsonOut *json);

/* `cwd`: --cwd, or where we are if the daemon is on this machine. */
int describe_cwd(Cli *cli, JsonOut *json);

/* A whole file, or standard input for "-". */
int describe_read(Cli *cli, const char *path, Buf *out);

/* When the job is due by --at and --in, or 0. */
MUST_CHECK Err describe_due(const Args *args, int64_t now_ms, int64_t *out_ms,
                            Error *why);

/* 32 random hexadecimal digits. */
#define KEY_TEXT_BYTES 33
char *describe_key(char out[KEY_TEXT_BYTES]);

#endif
