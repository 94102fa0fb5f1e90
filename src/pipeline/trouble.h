/* SPDX-License-Identifier: Apache-2.0 */
/* trouble.h - what keeps units from moving, for status and log: the latest few, each told
 * once. */
#ifndef PIPELINE_TROUBLE_H
#define PIPELINE_TROUBLE_H

#include "base/json_out.h"
#include "pipeline/processor/bucket.h"

#define TROUBLES_MAX        16
#define TROUBLE_LINES_A_MIN 60 /* a million units may all have the same trouble */

typedef struct Trouble {
    char unit[UNIT_BYTES_MAX + 1]; /* "": of the whole */
    char text[ERROR_TEXT_BYTES];
} Trouble;

typedef struct Troubles {
    Trouble *items; /* NULL until the first */
    int64_t minute; /* of boot time: the one in which `logged` lines were written */
    unsigned logged;
    size_t count;
    size_t next; /* the oldest, once all places are taken */
} Troubles;

/* Whether it is new: then it should be logged. */
bool trouble_add(Troubles *troubles, const char *unit, const char *text);

/* Whether one more line may be written to the log. */
bool trouble_may_log(Troubles *troubles, int64_t boot_ms);

/* It is over: of this unit, or (unit "") of the whole. */
void trouble_clear(Troubles *troubles, const char *unit);
void troubles_json(JsonOut *json, const char *key, const Troubles *troubles);
void troubles_done(Troubles *troubles);

#endif
