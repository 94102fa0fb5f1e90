/* SPDX-License-Identifier: Apache-2.0 */
/* base64.c - see base64.h. */
#include "json/base64.h"

#include <stdint.h>

static int digit64(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

Err base64_decode(Slice text, Arena *arena, Slice *out_bytes)
{
    if (text.bytes % 4 != 0)
        return ERR_INVALID;
    size_t padding = 0;
    while (padding < 2 && padding < text.bytes &&
           text.data[text.bytes - 1 - padding] == '=')
        padding++;
    char *bytes = arena_take(arena, text.bytes / 4 * 3 + 1);
    size_t count = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        int digit = i < text.bytes - padding ? digit64(text.data[i]) : 0;
        if (digit < 0)
            return ERR_INVALID;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 != 3)
            continue;
        bytes[count++] = (char)(bits >> 16);
        bytes[count++] = (char)(bits >> 8);
        bytes[count++] = (char)bits;
        bits = 0;
    }
    *out_bytes = slice_of(bytes, count - padding);
    return ERR_OK;
}
