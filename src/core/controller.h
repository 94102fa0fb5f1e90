/* SPDX-License-Identifier: Apache-2.0 */
/* controller.h - the controller lock as it is kept: a definition of CONTROLLER_TABLE.
 *
 * Its holder has the duties that a cluster does once: schedules, purge, rollups, alerts.
 */
#ifndef CORE_CONTROLLER_H
#define CORE_CONTROLLER_H

#include "base/buf.h"

#include <stdint.h>

#define CONTROLLER_TABLE "controller"
#define CONTROLLER_KEY   "lock"

typedef struct ControllerLock {
    uint64_t version;     /* counts the owners: 1 for the first */
    int64_t timestamp_ms; /* wall; last renewed; 0: given back */
    Slice owner;          /* sysid; "": there was none yet */
} ControllerLock;

void controller_pack(Buf *out, const ControllerLock *lock);
MUST_CHECK Err controller_unpack(Slice packed, ControllerLock *out);

#endif
