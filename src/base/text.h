/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - what counts as a name, as UTF-8, and as a near miss. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

#define NAME_BYTES_MAX       128
#define QUEUE_NAME_BYTES_MAX 200

/* Names of tenants, types, resources, processors, schedules:
 * [A-Za-z0-9_][A-Za-z0-9_.:-]{0,127} */
bool name_valid(Slice name);

/* [A-Za-z0-9_][A-Za-z0-9_.:+/;$()-]{0,199} without ".." */
bool queue_name_valid(Slice name);

/* A name that is also the first word of a path of ours cannot be a tenant. */
bool tenant_name_valid(Slice name);

/* How many bytes from the start are UTF-8. */
size_t utf8_prefix(Slice text);
bool utf8_valid(Slice text);

/* A whole decimal number with an optional sign and nothing after it. */
MUST_CHECK Err int_parse(Slice text, int64_t *out_value);

/* The nearest of `words` (ended by NULL) within two edits of `word`, or NULL. */
const char *nearest_word(Slice word, const char *const *words);

#endif
