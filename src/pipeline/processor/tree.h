/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - a file or a folder with all that is in it: copied, made durable.
 *
 * No link is followed: links are copied as links. Devices, pipes and sockets are passed
 * over, as rsync does. Entries are named relative to open directories, so that nobody
 * can lead a copy elsewhere by changing a path meanwhile. */
#ifndef PIPELINE_PROCESSOR_TREE_H
#define PIPELINE_PROCESSOR_TREE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TREE_DEPTH_MAX 100 /* folders in folders; a deeper one is ELOOP */

typedef struct TreeCopy {
    int64_t rate;           /* bytes a second; 0: as fast as it goes */
    const atomic_bool *end; /* true: give up with ECANCELED; may be NULL */
    int64_t bytes;          /* copied so far */
    int64_t began_ms;       /* boot time of the first byte */
} TreeCopy;

/* `name` of one directory into another, where it must not be yet. Shares blocks where the
 * file system can. False with errno; what was made so far stays. */
bool tree_copy(TreeCopy *copy, int from, int to, const char *name);

/* The bytes and entries reach the disk. False with errno. */
bool tree_sync(int dir, const char *name);

#endif
