/* SPDX-License-Identifier: Apache-2.0 */
/* rate.c - see rate.h. */
#include "pipeline/processor/rate.h"

#include <string.h>

void rate_start(Rate *rate, int64_t boot_ms)
{
    *rate = (Rate){ .second = boot_ms / 1000, .since = boot_ms / 1000 };
}

/* Seconds in which nothing happened count as such. */
static void advance(Rate *rate, int64_t second)
{
    if (second - rate->second >= RATE_SECONDS) {
        memset(rate->counts, 0, sizeof rate->counts);
        rate->second = second;
    }
    while (rate->second < second)
        rate->counts[++rate->second % RATE_SECONDS] = 0;
}

void rate_count(Rate *rate, int64_t boot_ms)
{
    advance(rate, boot_ms / 1000);
    rate->counts[rate->second % RATE_SECONDS]++;
    rate->total++;
}

double rate_last_minute(Rate *rate, int64_t boot_ms)
{
    uint64_t sum = 0;
    advance(rate, boot_ms / 1000);
    for (int i = 0; i < RATE_SECONDS; i++)
        sum += rate->counts[i];
    int64_t seconds = rate->second - rate->since + 1;
    return (double)sum / (double)(seconds < RATE_SECONDS ? seconds : RATE_SECONDS);
}

double rate_overall(const Rate *rate, int64_t boot_ms)
{
    return (double)rate->total / (double)(boot_ms / 1000 - rate->since + 1);
}
