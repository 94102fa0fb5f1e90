/* SPDX-License-Identifier: Apache-2.0 */
/* id.h - job ids: 63-bit, ordered by time, unique over nodes without asking anyone.
 *
 * A node counts c = (ms since 2020) << 12 | sequence, never back and never below any
 * id it has seen. The id is (c >> 12) << 22 | node << 12 | (c & 4095). Line k of a
 * bulk add has c0 + k. Written as 13 characters of lower-case Crockford base 32,
 * which sort as the numbers do. */
#ifndef BASE_ID_H
#define BASE_ID_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

typedef uint64_t JobId; /* 0 is no job */

#define ID_NODE_MAX   1023
#define ID_TEXT_BYTES 14              /* 13 characters and the NUL */
#define ID_EPOCH_MS   1577836800000LL /* 2020-01-01T00:00:00Z */

typedef struct IdGen {
    uint64_t next; /* the next c to give out */
    uint16_t node;
} IdGen;

/* The c of the first of `count` ids given out at wall_ms. */
uint64_t id_take(IdGen *gen, int64_t wall_ms, uint64_t count);

/* The gen will never again give out `id` or one before it. */
void id_seen(IdGen *gen, JobId id);

JobId id_from_count(uint64_t c, uint16_t node);
uint64_t id_count(JobId id);
uint16_t id_node(JobId id);
int64_t id_created_ms(JobId id);

char *id_text(JobId id, char out[ID_TEXT_BYTES]);
MUST_CHECK Err id_parse(Slice text, JobId *out_id);

/* The first and last id whose text begins with `prefix` (1 to 13 characters). */
MUST_CHECK Err id_prefix_range(Slice prefix, JobId *out_first, JobId *out_last);

#endif
