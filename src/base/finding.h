/* SPDX-License-Identifier: Apache-2.0 */
/* finding.h - one thing that a check-up found: good, doubtful or bad, why it matters and
 * what helps. Whoever checks tells; who hears shows. */
#ifndef BASE_FINDING_H
#define BASE_FINDING_H

#include "base/err.h"

typedef enum Health {
    HEALTH_GOOD,
    HEALTH_WARNING,
    HEALTH_BAD,
} Health;

typedef struct Finding {
    Health health;
    const char *check; /* a stable word */
    const char *why;   /* it matters; NULL: nothing does */
    const char *fix;   /* a setting or a command; NULL: there is nothing to do */
} Finding;

typedef struct Findings {
    void (*tell)(void *context, const Finding *finding, const char *text);
    void *context;
} Findings;

/* "ok", "warning", "bad" */
const char *health_name(Health health);

Finding finding_good(const char *check);

/* The rest is the sentence that says what was found. */
void finding_tell(const Findings *to, Finding finding, const char *format, ...)
    PRINTF_LIKE(3, 4);

#endif
