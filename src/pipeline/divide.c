/* SPDX-License-Identifier: Apache-2.0 */
/* divide.c - see divide.h. */
#include "pipeline/divide.h"

#include "base/map.h"

#include <string.h>

/* Of equals the one whose turn it is, so that the first is not always the fullest. */
static size_t least_loaded(const int64_t *loads, size_t count, uint64_t turn)
{
    size_t best = (size_t)(turn % count);
    for (size_t i = 1; i < count; i++) {
        size_t place = (size_t)((turn + i) % count);
        if (loads[place] < loads[best])
            best = place;
    }
    return best;
}

size_t divide(const Forward *forward, const char *unit, uint64_t *turn,
              const int64_t *loads)
{
    switch (forward->mode) {
    case FORWARD_ALL:
        return 0;
    case FORWARD_ROUND_ROBIN:
        return (size_t)((*turn)++ % forward->count);
    case FORWARD_HASH:
        return (size_t)(hash_bytes(unit, strlen(unit)) % forward->count);
    case FORWARD_LEAST_LOADED:
        return least_loaded(loads, forward->count, (*turn)++);
    }
    return 0;
}
