/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h - who this daemon is: kept in its data directory over restarts.
 *
 * sysid: the name under which it owns jobs; number: its part of job ids; cluster: which
 * store and journal belong together; epoch: counts its starts, so that two lives of one
 * node can be told apart. */
#ifndef ENGINE_IDENTITY_H
#define ENGINE_IDENTITY_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

#define SYSID_BYTES 64

typedef struct Identity {
    char sysid[SYSID_BYTES];
    uint16_t number;
    uint64_t cluster;
    uint64_t epoch;
} Identity;

/* Reads <data>/identity, makes it if it is not there, and counts the epoch up, durably
 * before it returns. */
MUST_CHECK Err identity_begin(const char *data_dir, Identity *out, Error *why);

/* The same without changing anything. ERR_NOT_FOUND: there is none yet. */
MUST_CHECK Err identity_read(const char *data_dir, Identity *out, Error *why);

/* Whether it has a journal: then it has given ids under its number. */
bool identity_has_begun(const char *data_dir);

/* Another number, durably: the one it had is taken by another node of the store. Only
 * before it has given ids: ERR_CONFLICT if there is a journal. */
MUST_CHECK Err identity_number(const char *data_dir, Identity *identity, uint16_t number,
                               Error *why);

/* One daemon per data directory: holds <data>/pawl.lock until the process ends.
 * ERR_BUSY names the process that has it. Returns the descriptor. */
MUST_CHECK Err identity_lock(const char *data_dir, int *out_fd, Error *why);

/* Writes a small file whole or not at all: temporary name, fsync, rename, fsync. */
MUST_CHECK Err file_replace(const char *dir, const char *name, const char *text,
                            Error *why);

/* The same in two steps, for bytes that tell something of the file itself. The draft is
 * closed by file_publish, whatever comes of it; its words are borrowed. */
typedef struct FileDraft {
    const char *dir;
    const char *name;
    int fd;
} FileDraft;
MUST_CHECK Err file_draft(FileDraft *draft, const char *dir, const char *name,
                          Error *why);
MUST_CHECK Err file_publish(FileDraft *draft, Slice bytes, Error *why);

/* Makes the file, if there is none, and keeps others out of it. SQLite gives the files
 * beside its own the same mode; so its own is made first, for payloads are no one else's
 * business. */
MUST_CHECK Err file_make_private(const char *path, Error *why);

#endif
