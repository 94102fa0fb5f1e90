/* SPDX-License-Identifier: Apache-2.0 */
/* move_store.h - pawl export and import of whole stores, without a daemon: which store,
 * whether it is free, and whose it is.
 *
 * A store in use is refused: its daemon would not see what is put in, and what it accepts
 * meanwhile would not be in the file. A store and the data directory of its node belong
 * together, for the journal is there: what it has and the store has not is brought in
 * before an export, and an import must go with it. */
#ifndef MOVE_MOVE_STORE_H
#define MOVE_MOVE_STORE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* data, config, store: as `pawl serve` takes them; NULL: as it would find them. */
typedef struct StoreMove {
    const char *data;
    const char *config;
    const char *store;
    const char *file;
    bool replace; /* import: what is in the store goes */
} StoreMove;

/* The file is there whole or not at all; one of that name is replaced. */
MUST_CHECK Err store_export(const StoreMove *move, uint64_t *out_rows, Error *why);

/* All of it or nothing. ERR_CONFLICT: the store is not empty, or the file does not go
 * with the data directory. */
MUST_CHECK Err store_import(const StoreMove *move, uint64_t *out_rows, Error *why);

#endif
