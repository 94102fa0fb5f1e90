/* SPDX-License-Identifier: Apache-2.0 */
/* listen.h - listening sockets on addresses and in the file system. */
#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define LISTEN_TEXT_BYTES 64

/* "127.0.0.1:7420", "localhost:0", "[::1]:7420" or any other address of this machine.
 * out_text gets the address as really bound. */
MUST_CHECK Err listen_tcp(const char *address, int *out_fd,
                          char out_text[LISTEN_TEXT_BYTES], Error *why);

/* Whether it is reached from other machines: anything but loopback. */
bool listen_beyond(const char *address);

/* A socket of mode 0600 at `path`, whatever the umask. One that a dead process left
 * there is replaced; ERR_BUSY if someone still listens on it. */
MUST_CHECK Err listen_unix(const char *path, int *out_fd, Error *why);

#endif
