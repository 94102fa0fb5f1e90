/* SPDX-License-Identifier: Apache-2.0 */
/* buf.h - owned, growing bytes. Zero-initialised is empty; buf_done frees. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

typedef struct Buf {
    char *data;
    size_t bytes;
    size_t capacity;
} Buf;

/* Room for `bytes` more; returns where they go. The caller adds to buf->bytes. */
char *buf_room(Buf *buf, size_t bytes);
void buf_add(Buf *buf, const void *data, size_t bytes);
void buf_add_slice(Buf *buf, Slice slice);
void buf_add_text(Buf *buf, const char *text);
void buf_add_char(Buf *buf, char c);
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
