/* SPDX-License-Identifier: Apache-2.0 */
/* reply.h - reading JSON that the daemon answered.
 *
 * A Doc is borrowed from the document it stands in. Every reader takes NULL and a value
 * of another kind for "not there", so that commands can ask for nested fields without
 * checking each step: what a daemon of another version leaves out is simply not shown. */
#ifndef CLI_REPLY_H
#define CLI_REPLY_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct JsonIn Doc;

/* The whole text must be one value. The caller does doc_free. */
MUST_CHECK Err doc_parse(Slice text, Doc **out_doc, Error *why);
void doc_free(Doc *doc); /* NULL: nothing */

const Doc *doc_get(const Doc *object, const char *key);
const Doc *doc_at(const Doc *array, size_t index);
size_t doc_count(const Doc *value); /* items of an array, fields of an object */

/* Walks items or fields in the order of the text; doc_key is a field's name. */
const Doc *doc_first(const Doc *value);
const Doc *doc_next(const Doc *item);
Slice doc_key(const Doc *field);

bool doc_is_object(const Doc *value);
bool doc_is_array(const Doc *value);
bool doc_is_null(const Doc *value); /* null, or not there */
bool doc_is_text(const Doc *value);

Slice doc_text(const Doc *object, const char *key); /* no bytes if it is no text */
int64_t doc_int(const Doc *object, const char *key, int64_t fallback);
double doc_number(const Doc *object, const char *key, double fallback);
double doc_as_number(const Doc *value, double fallback);
bool doc_bool(const Doc *object, const char *key);
int64_t doc_time(const Doc *object, const char *key); /* ms; 0 if there is none */

/* The value itself instead of a field of it. */
Slice doc_as_text(const Doc *value);

/* Compact JSON of a value. */
void doc_write(const Doc *value, Buf *out);

/* A scalar as people read it: text without quotes, null as "-"; else compact JSON. */
void doc_show(const Doc *value, Buf *out);

/* The same for what may be a duration: PT1H30M as 1h30m. */
void doc_show_setting(const Doc *value, Buf *out);
void setting_show(Slice text, Buf *out);

#endif
