/* SPDX-License-Identifier: Apache-2.0 */
/* json_fast.h - one pass over plain JSON.
 *
 * Reads the JSON that programs usually write: integers of up to 18 digits, texts without
 * \u escapes, objects of a few keys. It never says that something is wrong, only that it
 * does not know: then the other reader decides. What it does read, the other one reads
 * to the same values (json_in_test.c compares them). */
#ifndef JSON_JSON_FAST_H
#define JSON_JSON_FAST_H

#include "json/json_in.h"

/* Takes one value and the white space around it off *rest, or leaves *rest alone and
 * returns false. */
bool json_fast_take(Slice *rest, Arena *arena, JsonIn *out_value);

#endif
