/* SPDX-License-Identifier: Apache-2.0 */
/* rate.h - how many per second, over the last minute and since the start. */
#ifndef PIPELINE_PROCESSOR_RATE_H
#define PIPELINE_PROCESSOR_RATE_H

#include <stdint.h>

#define RATE_SECONDS 60

typedef struct Rate {
    uint32_t counts[RATE_SECONDS];
    int64_t second; /* of boot time: the newest one counted */
    int64_t since;  /* the first second looked at */
    uint64_t total;
} Rate;

void rate_start(Rate *rate, int64_t boot_ms);
void rate_count(Rate *rate, int64_t boot_ms);
double rate_last_minute(Rate *rate, int64_t boot_ms); /* per second */
double rate_overall(const Rate *rate, int64_t boot_ms);

#endif
