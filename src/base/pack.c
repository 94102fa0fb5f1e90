/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - see pack.h. */
#include "base/pack.h"

#include <assert.h>

#define VARINT_BYTES_MAX 10
#define LENGTH_BYTES     4 /* of a nested record: fixed, to be filled in later */

static size_t put_varint(char *out, uint64_t value)
{
    size_t bytes = 0;
    while (value >= 0x80) {
        out[bytes++] = (char)(value | 0x80);
        value >>= 7;
    }
    out[bytes++] = (char)value;
    return bytes;
}

static bool take_varint(Slice *rest, uint64_t *out_value)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX && i < rest->bytes; i++) {
        unsigned char c = (unsigned char)rest->data[i];
        value |= (uint64_t)(c & 0x7f) << (7 * i);
        if (c & 0x80)
            continue;
        *rest = slice_from(*rest, i + 1);
        *out_value = value;
        return true;
    }
    return false;
}

void pack_int(Buf *out, uint32_t tag, int64_t value)
{
    if (!value)
        return;
    char number[VARINT_BYTES_MAX];
    uint64_t zigzag = (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
    size_t number_bytes = put_varint(number, zigzag);
    char *room = buf_room(out, 2 * VARINT_BYTES_MAX + number_bytes);
    size_t at = put_varint(room, tag);
    at += put_varint(room + at, number_bytes);
    memcpy(room + at, number, number_bytes);
    out->bytes += at + number_bytes;
}

void pack_bytes(Buf *out, uint32_t tag, Slice value)
{
    if (!value.bytes)
        return;
    char *room = buf_room(out, 2 * VARINT_BYTES_MAX + value.bytes);
    size_t at = put_varint(room, tag);
    at += put_varint(room + at, value.bytes);
    memcpy(room + at, value.data, value.bytes);
    out->bytes += at + value.bytes;
}

size_t pack_begin(Buf *out, uint32_t tag)
{
    char *room = buf_room(out, VARINT_BYTES_MAX + LENGTH_BYTES);
    out->bytes += put_varint(room, tag) + LENGTH_BYTES;
    return out->bytes;
}

void pack_end(Buf *out, size_t begun)
{
    size_t bytes = out->bytes - begun;
    assert(bytes < (size_t)1 << (7 * LENGTH_BYTES));
    /* A varint of fixed width: every byte but the last says that more follow. */
    for (size_t i = 0; i < LENGTH_BYTES; i++) {
        unsigned more = i + 1 < LENGTH_BYTES ? 0x80 : 0;
        out->data[begun - LENGTH_BYTES + i] = (char)((bytes >> (7 * i) & 0x7f) | more);
    }
}

static int64_t as_number(Slice bytes)
{
    uint64_t zigzag;
    if (!take_varint(&bytes, &zigzag) || bytes.bytes)
        return 0;
    return (int64_t)(zigzag >> 1 ^ (zigzag & 1 ? UINT64_MAX : 0));
}

bool pack_next(Slice *rest, PackField *out_field)
{
    if (!rest->bytes)
        return false;
    Slice at = *rest;
    uint64_t tag;
    uint64_t bytes;
    if (!take_varint(&at, &tag) || !tag || tag >= 1u << 28 || !take_varint(&at, &bytes) ||
        bytes > at.bytes) {
        *rest = (Slice){ NULL, 1 };
        return false;
    }
    out_field->tag = (uint32_t)tag;
    out_field->bytes = slice_of(at.data, bytes);
    out_field->number = as_number(out_field->bytes);
    *rest = slice_from(at, bytes);
    return true;
}
