/* SPDX-License-Identifier: Apache-2.0 */
/* json_out.h - an append-only JSON writer: no tree, one pass, valid by construction.
 *
 * Commas are placed by the writer. Text that is not UTF-8 is written with U+FFFD in
 * place of the bad bytes, so the output can always be parsed. */
#ifndef BASE_JSON_OUT_H
#define BASE_JSON_OUT_H

#include "base/buf.h"
#include "base/times.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct JsonOut {
    Buf *out;
    bool comma; /* the next value needs a comma before it */
    /* The last moment that was written, and its text in quotes: times of a job are often
     * the same. */
    int64_t moment_ms;
    char moment[TIME_TEXT_BYTES + 2];
    size_t moment_bytes;
} JsonOut;

/* A comma if one is needed, the key (data NULL: none; no escapes), and a value as it is.
 */
void json_member(JsonOut *json, Slice key, Slice value);

/* key NULL: a value inside an array, or the document itself. */
void json_object(JsonOut *json, const char *key);
void json_object_end(JsonOut *json);
void json_array(JsonOut *json, const char *key);
void json_array_end(JsonOut *json);
void json_text(JsonOut *json, const char *key, Slice value);
void json_cstr(JsonOut *json, const char *key, const char *value); /* NULL: null */
void json_int(JsonOut *json, const char *key, int64_t value);
void json_double(JsonOut *json, const char *key, double value);
void json_raw(JsonOut *json, const char *key, Slice json_value);

/* Half of all that is written is one of these; the compiler counts the keys. */
static inline void json_null(JsonOut *json, const char *key)
{
    json_member(json, slice_text(key), SLICE_LITERAL("null"));
}

static inline void json_bool(JsonOut *json, const char *key, bool value)
{
    json_member(json, slice_text(key),
                value ? SLICE_LITERAL("true") : SLICE_LITERAL("false"));
}

/* As json_text for keys that are not C text. */
void json_text_key(JsonOut *json, Slice key, Slice value);

/* Common shapes: a moment (TIME_NEVER or 0 gives null), a duration as ISO 8601. */
void json_moment(JsonOut *json, const char *key, int64_t wall_ms);
static inline void json_time(JsonOut *json, const char *key, int64_t wall_ms)
{
    if (wall_ms == TIME_NEVER || wall_ms == 0)
        json_null(json, key);
    else
        json_moment(json, key, wall_ms);
}
void json_duration(JsonOut *json, const char *key, int64_t duration_ms);
void json_base64(JsonOut *json, const char *key, Slice bytes);

/* Appends text with JSON escapes, without quotes. */
void json_escape(Buf *out, Slice text);

#endif
