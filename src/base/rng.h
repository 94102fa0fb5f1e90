/* SPDX-License-Identifier: Apache-2.0 */
/* rng.h - a small seeded generator, passed to whoever needs luck.
 *
 * The same seed gives the same numbers for ever: simulations replay by it. Not for
 * secrets. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

typedef struct Rng {
    uint64_t state;
} Rng;

static inline uint64_t rng_next(Rng *rng)
{
    rng->state += 0x9e3779b97f4a7c15u;
    uint64_t z = rng->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A number below `bound` (0 gives 0). */
static inline uint64_t rng_below(Rng *rng, uint64_t bound)
{
    return bound ? rng_next(rng) % bound : 0;
}

/* True in `percent` of 100 cases. */
static inline int rng_percent(Rng *rng, unsigned percent)
{
    return rng_below(rng, 100) < percent;
}

#endif
