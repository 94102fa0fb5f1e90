/* SPDX-License-Identifier: Apache-2.0 */
/* sum.c - see sum.h. */
#include "store/sum.h"

#include "base/map.h"
#include "store/row_columns.h"

#include <xxhash.h>

enum { TEXTS = 10, SHORT_BYTES = 240 };

/* Each step is a bijection of what came before and of the number. */
static uint64_t mix(uint64_t sum, uint64_t number)
{
    sum = (sum ^ number) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 32;
}

static uint64_t both(uint64_t high, uint64_t low)
{
    return high << 32 | low;
}

static uint64_t sum_run(uint64_t sum, const Row *row)
{
    const Job *job = &row->job;
    const Outcome *outcome = &job->outcome;
    sum = mix(sum, both(job->attempt, job->retry_number));
    sum = mix(sum, (uint64_t)job->started_ms);
    sum = mix(sum, (uint64_t)job->finished_ms);
    sum = mix(sum, both(outcome->code, (uint32_t)outcome->exitcode));
    sum = mix(sum, both((uint32_t)outcome->exit_status, (uint32_t)outcome->signal));
    sum = mix(sum, both((uint32_t)job->progress, row->slot));
    sum = mix(sum, (uint64_t)job->result_bytes);
    return mix(sum, both((uint32_t)row->run_state, row->run_retry));
}

static uint64_t sum_numbers(const Row *row)
{
    const Job *job = &row->job;
    bool beats = state_in(job->state, STATES_OWNED) && !(job->flags & JOB_PULL);
    uint64_t sum = mix(0, both(job->state, job->flags));
    sum = mix(sum, (uint64_t)job->priority);
    sum = mix(sum, beats ? 0 : (uint64_t)job->dt_ms);
    sum = mix(sum, (uint64_t)job->created_ms);
    sum = mix(sum, (uint64_t)job->run_at_ms);
    sum = mix(sum, job->parent);
    sum = mix(sum, (uint64_t)job->service_ms);
    return row_columns_has_run(row) ? sum_run(sum, row) : sum;
}

/* Short texts are put together and summed at once; with their lengths, because otherwise
 * bytes could change sides unseen. */
uint64_t sum_body(const Row *row, Slice spec)
{
    const Job *job = &row->job;
    const Slice texts[TEXTS] = { spec,       job->tenant, job->queue, job->type,
                                 job->lock,  job->node,   job->name,  job->reason,
                                 job->error, job->message };
    uint64_t sum = sum_numbers(row);
    uint64_t lengths = 0;
    char block[SHORT_BYTES];
    size_t at = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        size_t bytes = texts[i].bytes;
        lengths = (lengths << 6 | lengths >> 58) ^ bytes;
        if (!bytes)
            continue;
        if (bytes > sizeof block - at) {
            sum = mix(sum, XXH3_64bits(texts[i].data, bytes));
            continue;
        }
        memcpy(block + at, texts[i].data, bytes);
        at += bytes;
    }
    return mix(mix(sum, lengths), XXH3_64bits(block, at));
}

uint32_t sum_payload(Slice payload)
{
    uint64_t sum = XXH3_64bits(payload.data ? payload.data : "", payload.bytes);
    uint32_t half = (uint32_t)(sum >> 32);
    return half ? half : 1;
}

int64_t sum_join(uint64_t body, JobId id, bool apart, uint32_t payload)
{
    uint64_t whole = hash_u64(body ^ hash_u64(id * 2 + apart));
    return (int64_t)((whole & ~(uint64_t)UINT32_MAX) | payload);
}
