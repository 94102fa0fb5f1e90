/* SPDX-License-Identifier: Apache-2.0 */
/* commit.h - batches into the file.
 *
 * A job is read when an operation first touches it and written once, at the end: what
 * came and went within one transaction costs one row. Only sets (heartbeat, purge) and
 * long line adds go past these held jobs, after those have been written. */
#ifndef STORE_SQLITE_COMMIT_H
#define STORE_SQLITE_COMMIT_H

#include "store/sqlite/sqlite.h"

MUST_CHECK Err sqlite_commit(Store *store, const Batch *batches, size_t count,
                             OpResult *out_results, Error *why);

#endif
