/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_writer.h - keeps the snapshot of a node on a shared store (snapshot.h) up to
 * date: a thread with a connection of its own, only while it reads. It writes when it
 * begins, soon after a definition has changed, and now and then as the journal goes on.
 */
#ifndef CLUSTER_SNAPSHOT_WRITER_H
#define CLUSTER_SNAPSHOT_WRITER_H

#include "engine/identity.h"

typedef struct SnapshotWriter SnapshotWriter;

typedef struct SnapshotWriterOptions { /* all of it outlives it */
    const char *data_dir;
    const char *store_url;
    const Identity *identity;
    int64_t answer_ms; /* as StoreOptions has it */
} SnapshotWriterOptions;

SnapshotWriter *snapshot_writer_open(const SnapshotWriterOptions *options);

/* The store has the journal up to `position`; ids given from now on count `ids` or more.
 * Nothing is remembered before that is told. Any thread. */
void snapshot_writer_point(SnapshotWriter *snapshot_writer, uint64_t ids,
                           uint64_t position);
void snapshot_writer_touch(
    SnapshotWriter *snapshot_writer); /* a definition has changed; any thread */

void snapshot_writer_close(
    SnapshotWriter *snapshot_writer); /* NULL: nothing; writes what is left to write */

#endif
