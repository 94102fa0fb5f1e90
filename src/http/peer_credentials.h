/* SPDX-License-Identifier: Apache-2.0 */
/* peer_credentials.h - whose process is at the other end of a local connection. */
#ifndef HTTP_PEER_CREDENTIALS_H
#define HTTP_PEER_CREDENTIALS_H

#include <stdbool.h>
#include <sys/types.h>

/* The owner of the other end's socket. False when it cannot be found out, and when the
 * other end is closed already: the kernel then shows root in its owner's place. */
bool peer_uid(int fd, uid_t *out_uid);

/* As peer_uid for a TCP connection, out of /proc/net/tcp and tcp6 alone: for kernels
 * without socket diagnosis. */
bool peer_uid_by_proc(int fd, uid_t *out_uid);

#endif
