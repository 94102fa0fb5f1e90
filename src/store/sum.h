/* SPDX-License-Identifier: Apache-2.0 */
/* sum.h - the checksum of a job's row: a flipped bit never becomes another job.
 *
 * One number of two halves. The upper one is of everything in the row but the payload,
 * with names as texts: so it is the same in every store, and a damaged name is noticed in
 * the rows that use it. The lower one is of the payload, wherever it stands; 0: unknown.
 *
 * What a heartbeat writes for many rows at once is not in it: beat_ms, and dt_ms while a
 * node runs the job. */
#ifndef STORE_SUM_H
#define STORE_SUM_H

#include "store/row.h"

/* Of all but the id, `apart` and the payload. */
uint64_t sum_body(const Row *row, Slice spec);

/* Never 0. */
uint32_t sum_payload(Slice payload);

/* What stands in the column. */
int64_t sum_join(uint64_t body, JobId id, bool apart, uint32_t payload);

static inline uint32_t sum_row_half(int64_t sum)
{
    return (uint32_t)((uint64_t)sum >> 32);
}

static inline uint32_t sum_payload_half(int64_t sum)
{
    return (uint32_t)((uint64_t)sum & UINT32_MAX);
}

#endif
