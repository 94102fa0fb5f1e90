/* SPDX-License-Identifier: Apache-2.0 */
/* connect.h - finds the launcher of a data directory, or starts it. Part of client.h. */
#ifndef LAUNCH_CONNECT_H
#define LAUNCH_CONNECT_H

#include "base/err.h"
#include "launch/protocol.h"

/* A connected, non-blocking socket and what the launcher said first. Waits. */
MUST_CHECK Err launch_connect(const char *data_dir, const char *program, int *out_fd,
                              LaunchMessage *out_hello, Error *why);

#endif
