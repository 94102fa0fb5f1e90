/* SPDX-License-Identifier: Apache-2.0 */
/* buf.c - see buf.h. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

void buf_grow(Buf *buf, size_t bytes)
{
    size_t need = buf->bytes + bytes;
    size_t capacity = buf->capacity ? buf->capacity * 2 : 256;
    while (capacity < need)
        capacity *= 2;
    buf->data = mem_grow(buf->data, capacity);
    buf->capacity = capacity;
}

void buf_add_int(Buf *buf, int64_t value)
{
    char digits[20]; /* of 2^63, and the sign */
    size_t at = sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        digits[--at] = '-';
    buf_add(buf, digits + at, sizeof digits - at);
}

void buf_printf(Buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int need = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (need > 0) {
        vsnprintf(buf_room(buf, (size_t)need + 1), (size_t)need + 1, format, again);
        buf->bytes += (size_t)need;
    }
    va_end(again);
}

void buf_clear(Buf *buf)
{
    buf->bytes = 0;
}

void buf_done(Buf *buf)
{
    mem_free(buf->data);
    *buf = (Buf){ 0 };
}

void buf_drop(Buf *buf, size_t bytes)
{
    if (bytes >= buf->bytes) {
        buf->bytes = 0;
        return;
    }
    memmove(buf->data, buf->data + bytes, buf->bytes - bytes);
    buf->bytes -= bytes;
}

const char *buf_cstr(Buf *buf)
{
    *buf_room(buf, 1) = '\0';
    return buf->data;
}
