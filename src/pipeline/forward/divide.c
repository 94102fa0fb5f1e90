/* SPDX-License-Identifier: Apache-2.0 */
/* divide.c - see divide.h. */
#include "pipeline/forward/divide.h"

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

/* The place that was meant, or the next one behind it that is not down. */
static size_t up_from(size_t place, const int64_t *loads, size_t count)
{
    for (size_t i = 0; loads && i < count; i++) {
        size_t at = (place + i) % count;
        if (loads[at] != DIVIDE_DOWN)
            return at;
    }
    return place;
}

size_t divide(const Forward *forward, const char *unit, uint64_t *turn,
              const int64_t *loads)
{
    switch (forward->mode) {
    case FORWARD_ALL:
        return 0;
    case FORWARD_ROUND_ROBIN:
        return up_from((size_t)((*turn)++ % forward->count), loads, forward->count);
    case FORWARD_HASH:
        return up_from((size_t)(hash_bytes(unit, strlen(unit)) % forward->count), loads,
                       forward->count);
    case FORWARD_LEAST_LOADED:
        return least_loaded(loads, forward->count, (*turn)++);
    }
    return 0;
}
