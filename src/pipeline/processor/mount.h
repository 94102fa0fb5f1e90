/* SPDX-License-Identifier: Apache-2.0 */
/* mount.h - whether a directory's file system has been mounted without a break: then what
 * was written and not yet synced is still there, whoever died meanwhile. After a power
 * cut it may not be. */
#ifndef PIPELINE_PROCESSOR_MOUNT_H
#define PIPELINE_PROCESSOR_MOUNT_H

#include "pipeline/processor/bucket.h"

/* Since the last mount_remember. False also where the kernel (before 6.8) cannot tell. */
bool mount_lasted(const Buckets *buckets);
MUST_CHECK Err mount_remember(const Buckets *buckets, Error *why);

#endif
