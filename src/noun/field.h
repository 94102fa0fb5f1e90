/* SPDX-License-Identifier: Apache-2.0 */
/* field.h - the value of one field: read from JSON, written as JSON, described. See
 * types.h for a row. */
#ifndef NOUN_FIELD_H
#define NOUN_FIELD_H

#include "noun/types.h"

/* Reads the value of a field (not null) into in->object. On failure *in->why says why
 * and the object is as before. */
MUST_CHECK Err field_read(NounIn *in, const Field *field, const JsonIn *value);

/* Gives the field of in->object its default. */
void field_clear(NounIn *in, const Field *field);

void field_write(JsonOut *json, const Field *field, const NounView *view);

/* The JSON Schema of its value, without braces. `sent`: as a client may write it. */
void field_schema(Buf *out, const Field *field, bool sent);

/* A duration of a field, in ms; an explicit zero stays one. */
MUST_CHECK Err field_duration(NounIn *in, const JsonIn *value, int64_t *out_ms);

/* A duration as text or number of seconds. ERR_UNSUPPORTED: it is neither. */
MUST_CHECK Err duration_read(const JsonIn *value, int64_t *out_ms, Error *why);

/* For hooks: the problem of a value of another type. */
Err field_wrong_type(NounIn *in, const JsonIn *value, const char *wanted);

/* For hooks: the item of a list that is wrong. Always ERR_INVALID. */
Err field_point_item(NounIn *in, const JsonIn *list, size_t index);

/* A list of NUL-ended items as an array. */
void list_json(JsonOut *json, const char *key, Slice items);

/* NAME=VALUE items as an object; numbers stay numbers. */
void pairs_json(JsonOut *json, const char *key, Slice items, bool numbers);

/* Text that people will read in one line. */
bool one_line(Slice text);

/* Values that may be unset: empty text; 0, or negative for `none`. */
static inline void text_or_null(JsonOut *json, const char *key, Slice text)
{
    if (text.bytes)
        json_text(json, key, text);
    else
        json_null(json, key);
}

static inline void duration_or_null(JsonOut *json, const char *key, int64_t duration_ms)
{
    if (duration_ms > 0)
        json_duration(json, key, duration_ms);
    else if (duration_ms < 0)
        json_cstr(json, key, "none");
    else
        json_null(json, key);
}

#endif
