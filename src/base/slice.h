/* SPDX-License-Identifier: Apache-2.0 */
/* slice.h - borrowed bytes. A Slice never owns; whoever made the bytes frees them.
 *
 * Slices may hold any byte, NUL included. data may be NULL when bytes is 0. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct Slice {
    const char *data;
    size_t bytes;
} Slice;

#define SLICE_LITERAL(text) ((Slice){ "" text, sizeof(text) - 1 })
#define SLICE_INIT(text)                                                                 \
    {                                                                                    \
        "" text, sizeof(text) - 1                                                        \
    } /* the same in static tables */
#define SLICE_FMT        "%.*s"
#define SLICE_ARG(slice) (int)(slice).bytes, (slice).data ? (slice).data : ""

static inline Slice slice_of(const char *data, size_t bytes)
{
    return (Slice){ data, bytes };
}

static inline Slice slice_text(const char *text)
{
    return (Slice){ text, text ? strlen(text) : 0 };
}

static inline bool slice_equal(Slice a, Slice b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.data, b.data, a.bytes) == 0);
}

static inline bool slice_is(Slice a, const char *text)
{
    return slice_equal(a, slice_text(text));
}

static inline bool slice_starts(Slice a, Slice prefix)
{
    /* An empty slice may have no data, which memcmp must not be given. */
    return prefix.bytes == 0 ||
           (a.bytes >= prefix.bytes && memcmp(a.data, prefix.data, prefix.bytes) == 0);
}

static inline Slice slice_from(Slice a, size_t offset)
{
    return offset >= a.bytes ? (Slice){ a.data, 0 }
                             : (Slice){ a.data + offset, a.bytes - offset };
}

/* Cuts the part before the first `separator` off *rest and returns it; without a
 * separator returns all of it and leaves *rest empty with data NULL. */
static inline Slice slice_cut(Slice *rest, char separator)
{
    const char *at = rest->bytes ? memchr(rest->data, separator, rest->bytes) : NULL;
    Slice head = *rest;
    if (!at) {
        *rest = (Slice){ NULL, 0 };
        return head;
    }
    head.bytes = (size_t)(at - rest->data);
    *rest = (Slice){ at + 1, rest->bytes - head.bytes - 1 };
    return head;
}

/* Walks a list of NUL-ended items: while (list_next(&rest, &item)) ... */
static inline bool list_next(Slice *rest, Slice *out_item)
{
    if (!rest->bytes)
        return false;
    *out_item = slice_cut(rest, '\0');
    return true;
}

static inline Slice slice_copy(Arena *arena, Slice a)
{
    return a.bytes ? (Slice){ arena_copy(arena, a.data, a.bytes), a.bytes }
                   : (Slice){ NULL, 0 };
}

/* What a digit of a hexadecimal number counts; -1: it is none. */
static inline int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* NUL-terminated copy, for system calls. */
static inline char *slice_cstr(Arena *arena, Slice a)
{
    char *text = arena_take(arena, a.bytes + 1);
    if (a.bytes)
        memcpy(text, a.data, a.bytes);
    return text;
}

#endif
