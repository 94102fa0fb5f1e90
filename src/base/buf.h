/* SPDX-License-Identifier: Apache-2.0 */
/* buf.h - owned, growing bytes. Zero-initialised is empty; buf_done frees. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>
#include <string.h>

typedef struct Buf {
    char *data;
    size_t bytes;
    size_t capacity;
} Buf;

void buf_grow(Buf *buf, size_t bytes); /* so that there is room for `bytes` more */

/* Room for `bytes` more; returns where they go. The caller adds to buf->bytes. */
static inline char *buf_room(Buf *buf, size_t bytes)
{
    if (buf->capacity - buf->bytes < bytes)
        buf_grow(buf, bytes);
    return buf->data + buf->bytes;
}

/* These few are most of the work of an answer, so they are seen through. */
static inline void buf_add(Buf *buf, const void *data, size_t bytes)
{
    if (!bytes)
        return;
    memcpy(buf_room(buf, bytes), data, bytes);
    buf->bytes += bytes;
}

static inline void buf_add_slice(Buf *buf, Slice slice)
{
    buf_add(buf, slice.data, slice.bytes);
}

static inline void buf_add_text(Buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

static inline void buf_add_char(Buf *buf, char c)
{
    *buf_room(buf, 1) = c;
    buf->bytes++;
}

void buf_add_int(Buf *buf, int64_t value); /* as %lld, in a tenth of its time */
void buf_printf(Buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_clear(Buf *buf);
void buf_done(Buf *buf);

/* Drops the first `bytes`, moving the rest to the front. */
void buf_drop(Buf *buf, size_t bytes);

static inline Slice buf_slice(const Buf *buf)
{
    return (Slice){ buf->data, buf->bytes };
}

/* The text so far, NUL-terminated; valid until the next change. */
const char *buf_cstr(Buf *buf);

#endif
