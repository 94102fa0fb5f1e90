/* SPDX-License-Identifier: Apache-2.0 */
/* head.h - the head of a request: its first line and its fields (RFC 9112).
 *
 * Strict where two readers could see different things: lines end with CR LF, names have
 * no spaces, nothing is folded, and no control characters are let through. Pure. */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include "base/slice.h"

#include <stdint.h>

#define HEAD_FIELDS_MAX 256

typedef struct HeadField {
    Slice name;
    Slice value; /* without spaces around it; a NUL follows */
} HeadField;

typedef struct HttpHead {
    Slice method;
    Slice target;    /* path and query as they were sent; a NUL follows */
    Slice authority; /* host and port of a target that was a whole URL, as proxies send
                        it: Host does not count then; data is NULL otherwise */
    bool old;        /* HTTP/1.0 */
    HeadField *fields;
    size_t field_count;
} HttpHead;

/* Why a request cannot be read: a problem's code, and a sentence. */
typedef struct HeadFault {
    const char *code;
    const char *detail;
} HeadFault;

/* Bytes up to and with the empty line that ends the head; 0: it is not there yet. */
size_t head_length(Slice bytes);

/* What to say of a head that is longer than it may be. */
HeadFault head_too_long(Slice begun, size_t most);

/* A whole head. `text` is written to and must live as long as `out`, as must the arena.
 * False: see out_fault. */
bool head_parse(char *text, size_t bytes, Arena *arena, HttpHead *out,
                HeadFault *out_fault);

/* The first field of that name, whatever its case; data is NULL when there is none. */
Slice head_field(const HttpHead *head, const char *name);
unsigned head_field_count(const HttpHead *head, const char *name);

/* Whether the words of the field, divided by commas, have this one. */
bool head_field_has(const HttpHead *head, const char *name, const char *word);

/* The number that Content-Length is. False: it is none. One that is larger than any body
 * is UINT64_MAX. */
bool head_content_length(Slice value, uint64_t *out_bytes);

#endif
