/* SPDX-License-Identifier: Apache-2.0 */
/* zone_file.h - the bytes of a time zone by its name, from the system's tzdata. */
#ifndef MODEL_ZONE_FILE_H
#define MODEL_ZONE_FILE_H

#include "base/buf.h"

#define ZONE_NAME_MAX 64

/* Adds the TZif bytes of a name such as Europe/Paris; nothing for UTC, which needs none.
 * ERR_NOT_FOUND with a hint for a name that is none, ERR_CORRUPT for a file that is no
 * zone. $TZDIR is looked at before /usr/share/zoneinfo. */
MUST_CHECK Err zone_file_read(Slice name, Buf *out, Error *why);

#endif
