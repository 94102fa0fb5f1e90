/* SPDX-License-Identifier: Apache-2.0 */
/* sysid.h - 002's sysid store: a daemon reserves its name in the store before it touches
 * anything else there, renews the reservation while it lives, and releases it.
 *
 * A reservation names the data directory by its place on a machine: the same directory
 * takes its own back at once after any crash, a copy of it does not. One of a machine
 * that has been started again since, or that was not renewed in time, is void. */
#ifndef ENGINE_SYSID_H
#define ENGINE_SYSID_H

#include "store/store.h"

#define SYSID_TABLE    "sysid"
#define SYSID_LIFE_MS  (30 * MS_PER_MIN)
#define SYSID_RENEW_MS (5 * MS_PER_MIN)

typedef struct SysidClaim {
    Slice host;
    Slice boot; /* this run of the machine */
    int64_t device;
    int64_t inode; /* of the data directory */
    int64_t pid;
    int64_t reserved_ms;
    int64_t expires_ms;
} SysidClaim;

void sysid_pack(Buf *out, const SysidClaim *claim);

/* ERR_BUSY: another one has it; *why says who. A store that lies in the data directory is
 * `alone` with it: its reservation was copied, or moved to another disk, together with
 * it, and whose it was does not matter. */
MUST_CHECK Err sysid_reserve(Store *store, Slice sysid, const SysidClaim *claim,
                             bool alone, Error *why);

/* Whether the store still says that it is ours; *out_ours is set on ERR_OK. */
MUST_CHECK Err sysid_ours(Store *store, Slice sysid, const SysidClaim *claim,
                          bool *out_ours, Error *why);

/* Gives it back, if it is still ours. */
MUST_CHECK Err sysid_release(Store *store, Slice sysid, const SysidClaim *claim,
                             Error *why);

#endif
