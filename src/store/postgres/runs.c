/* SPDX-License-Identifier: Apache-2.0 */
/* runs.c - see runs.h. */
#include "store/postgres/runs.h"

#include <stdlib.h>

#define ITEM_BYTES 12 /* a length and the value */

int64_t array_id(const PgArray *ids, int32_t at)
{
    uint64_t id = 0;
    const char *value = ids->items.data + (size_t)at * ITEM_BYTES + 4;
    for (size_t i = 0; i < 8; i++)
        id = id << 8 | (unsigned char)value[i];
    return (int64_t)id;
}

static int by_size(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static bool rises(const int64_t *ids, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (ids[i] < ids[i - 1])
            return false;
    return true;
}

void runs_of(PgRuns *out, const PgArray *ids)
{
    size_t count = (size_t)ids->count;
    int64_t *sorted = MEM_ARRAY(int64_t, count);
    *out = (PgRuns){ .first.type = PG_INT8, .last.type = PG_INT8 };
    for (size_t i = 0; i < count; i++)
        sorted[i] = array_id(ids, (int32_t)i);
    if (!rises(sorted, count))
        qsort(sorted, count, sizeof *sorted, by_size);
    for (size_t i = 0; i < count;) {
        int64_t first = sorted[i];
        int64_t last = first;
        for (i++; i < count && (sorted[i] == last || sorted[i] == last + 1); i++)
            last = sorted[i];
        array_int(&out->first, first);
        array_int(&out->last, last);
        out->ids += (int32_t)(last - first + 1);
    }
    mem_free(sorted);
}

void runs_done(PgRuns *runs)
{
    array_done(&runs->first);
    array_done(&runs->last);
}

void param_runs(PgParams *params, const PgRuns *runs)
{
    param_array(params, &runs->first);
    param_array(params, &runs->last);
}
