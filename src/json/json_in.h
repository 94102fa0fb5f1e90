/* SPDX-License-Identifier: Apache-2.0 */
/* json_in.h - reading JSON: a document becomes a tree of values in an arena.
 *
 * Strict: RFC 8259 only, valid UTF-8, no key twice in one object, integers of 64 bits,
 * nesting and number of values bounded. What is plain is read in one pass by json_fast.c
 * (a subset on which both readers agree); all the rest, and every judgement that
 * something is wrong, is jansson's, so that an error has its words and its place.
 *
 * Texts without escapes borrow from the document, which must outlive the tree. Values
 * borrow from the arena. */
#ifndef JSON_JSON_IN_H
#define JSON_JSON_IN_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

#define JSON_DEPTH_MAX  64     /* deeper than anything people write */
#define JSON_VALUES_MAX 100000 /* of one document: bounds what a body can cost */

typedef enum JsonKind {
    JSON_IN_NULL,
    JSON_IN_BOOL,
    JSON_IN_INT,
    JSON_IN_REAL,
    JSON_IN_TEXT,
    JSON_IN_LIST,
    JSON_IN_OBJECT,
} JsonKind;

typedef struct JsonIn JsonIn;
struct JsonIn {
    JsonKind kind;
    Slice key;    /* inside an object */
    JsonIn *next; /* the next value of the same list or object */
    union {
        bool truth;
        int64_t integer;
        double real;
        Slice text; /* decoded; may hold NUL bytes */
        struct {
            JsonIn *first;
            size_t count;
        } items; /* of a list or an object */
    } as;
};

#define JSON_FAULT_BYTES 200

/* Why a text could not be read. The code is a stable word: malformed_json, invalid_utf8,
 * duplicate_key, too_deep, too_many_values or number_too_large. */
typedef struct JsonFault {
    const char *code;
    size_t offset;   /* in bytes from the start of the document */
    unsigned line;   /* from 1 */
    unsigned column; /* from 1 */
    char text[JSON_FAULT_BYTES];
} JsonFault;

/* The one value in `text`. `why` may be NULL. */
MUST_CHECK Err json_in_load(Slice text, Arena *arena, const JsonIn **out_value,
                            JsonFault *why);

/* Takes one value and the white space around it off *rest: for the items of a long
 * array, one by one. */
MUST_CHECK Err json_in_take(Slice *rest, Arena *arena, const JsonIn **out_value,
                            JsonFault *why);

/* The value of a key, or NULL; also NULL when `object` is NULL or no object. */
const JsonIn *json_in_find(const JsonIn *object, const char *key);

/* What kind of thing it is, for sentences: "a number", "an object", ... */
const char *json_in_kind_name(JsonKind kind);

/* Typed readers; ERR_INVALID for a value of another kind (or NULL). */
MUST_CHECK Err json_in_text(const JsonIn *value, Slice *out);
MUST_CHECK Err json_in_int(const JsonIn *value, int64_t *out);
MUST_CHECK Err json_in_real(const JsonIn *value, double *out); /* integers too */
MUST_CHECK Err json_in_bool(const JsonIn *value, bool *out);

/* The same by key, with what stands for absent, null or another kind. */
Slice json_in_text_of(const JsonIn *object, const char *key); /* absent: empty */
int64_t json_in_int_of(const JsonIn *object, const char *key, int64_t otherwise);
bool json_in_bool_of(const JsonIn *object, const char *key, bool otherwise);

/* First of the items of a list or object; go on with ->next. NULL if there are none. */
const JsonIn *json_in_first(const JsonIn *value);

#endif
