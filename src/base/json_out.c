/* SPDX-License-Identifier: Apache-2.0 */
/* json_out.c - see json_out.h. */
#include "base/json_out.h"

#include "base/text.h"
#include "base/times.h"

#include <stdio.h>

/* A comma where one is needed, the key, and then a value that needs no escapes, all in
 * one piece: an answer has sixty of them. Keys are ours: no escapes there either. */
static void member(JsonOut *json, const char *key, Slice value)
{
    size_t key_bytes = key ? strlen(key) : 0;
    char *room = buf_room(json->out, key_bytes + value.bytes + 4);
    char *at = room;
    if (json->comma)
        *at++ = ',';
    json->comma = true;
    if (key) {
        *at++ = '"';
        memcpy(at, key, key_bytes);
        at += key_bytes;
        *at++ = '"';
        *at++ = ':';
    }
    if (value.bytes)
        memcpy(at, value.data, value.bytes);
    json->out->bytes += (size_t)(at - room) + value.bytes;
}

static void key_before(JsonOut *json, const char *key)
{
    member(json, key, (Slice){ NULL, 0 });
}

static void open_with(JsonOut *json, const char *key, char bracket)
{
    key_before(json, key);
    buf_add_char(json->out, bracket);
    json->comma = false;
}

static void close_with(JsonOut *json, char bracket)
{
    buf_add_char(json->out, bracket);
    json->comma = true;
}

void json_object(JsonOut *json, const char *key)
{
    open_with(json, key, '{');
}

void json_object_end(JsonOut *json)
{
    close_with(json, '}');
}

void json_array(JsonOut *json, const char *key)
{
    open_with(json, key, '[');
}

void json_array_end(JsonOut *json)
{
    close_with(json, ']');
}

static void escape_char(Buf *out, unsigned char c)
{
    switch (c) {
    case '"':
        buf_add_text(out, "\\\"");
        return;
    case '\\':
        buf_add_text(out, "\\\\");
        return;
    case '\n':
        buf_add_text(out, "\\n");
        return;
    case '\r':
        buf_add_text(out, "\\r");
        return;
    case '\t':
        buf_add_text(out, "\\t");
        return;
    default:
        buf_printf(out, "\\u%04x", c);
    }
}

/* Length of the longest valid UTF-8 sequence at the start of `text`, 0 if none. */
static size_t sequence_length(Slice text)
{
    for (size_t length = 2; length <= 4 && length <= text.bytes; length++)
        if (utf8_valid(slice_of(text.data, length)))
            return length;
    return 0;
}

void json_escape(Buf *out, Slice text)
{
    size_t plain_from = 0;
    for (size_t i = 0; i < text.bytes;) {
        unsigned char c = (unsigned char)text.data[i];
        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
            i++;
            continue;
        }
        size_t length = c < 0x80 ? 0 : sequence_length(slice_from(text, i));
        if (length) {
            i += length;
            continue;
        }
        buf_add(out, text.data + plain_from, i - plain_from);
        if (c < 0x80)
            escape_char(out, c);
        else
            buf_add_text(out, "\\ufffd");
        plain_from = ++i;
    }
    if (text.bytes > plain_from)
        buf_add(out, text.data + plain_from, text.bytes - plain_from);
}

static void quoted(Buf *out, Slice text)
{
    buf_add_char(out, '"');
    json_escape(out, text);
    buf_add_char(out, '"');
}

void json_text(JsonOut *json, const char *key, Slice value)
{
    key_before(json, key);
    quoted(json->out, value);
}

void json_text_key(JsonOut *json, Slice key, Slice value)
{
    key_before(json, NULL);
    quoted(json->out, key);
    buf_add_char(json->out, ':');
    quoted(json->out, value);
}

void json_cstr(JsonOut *json, const char *key, const char *value)
{
    if (!value) {
        json_null(json, key);
        return;
    }
    json_text(json, key, slice_text(value));
}

void json_int(JsonOut *json, const char *key, int64_t value)
{
    key_before(json, key);
    buf_add_int(json->out, value);
}

void json_double(JsonOut *json, const char *key, double value)
{
    key_before(json, key);
    if (value - value == 0)
        buf_printf(json->out, "%.6g", value);
    else
        buf_add_text(json->out, "null");
}

void json_bool(JsonOut *json, const char *key, bool value)
{
    member(json, key, value ? SLICE_LITERAL("true") : SLICE_LITERAL("false"));
}

void json_null(JsonOut *json, const char *key)
{
    member(json, key, SLICE_LITERAL("null"));
}

void json_raw(JsonOut *json, const char *key, Slice json_value)
{
    member(json, key, json_value);
}

void json_time(JsonOut *json, const char *key, int64_t wall_ms)
{
    char text[TIME_TEXT_BYTES];
    if (wall_ms == TIME_NEVER || wall_ms == 0) {
        json_null(json, key);
        return;
    }
    char quoted_text[TIME_TEXT_BYTES + 2];
    time_text(wall_ms, text);
    size_t bytes = strlen(text);
    quoted_text[0] = quoted_text[bytes + 1] = '"';
    memcpy(quoted_text + 1, text, bytes);
    member(json, key, slice_of(quoted_text, bytes + 2));
}

void json_duration(JsonOut *json, const char *key, int64_t duration_ms)
{
    char text[DURATION_TEXT_BYTES];
    json_cstr(json, key, duration_iso(duration_ms, text));
}

void json_base64(JsonOut *json, const char *key, Slice bytes)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    key_before(json, key);
    buf_add_char(json->out, '"');
    for (size_t i = 0; i < bytes.bytes; i += 3) {
        size_t left = bytes.bytes - i;
        uint32_t bits = (uint32_t)(unsigned char)bytes.data[i] << 16;
        if (left > 1)
            bits |= (uint32_t)(unsigned char)bytes.data[i + 1] << 8;
        if (left > 2)
            bits |= (unsigned char)bytes.data[i + 2];
        char four[4] = { digits[bits >> 18], digits[bits >> 12 & 63],
                         left > 1 ? digits[bits >> 6 & 63] : '=',
                         left > 2 ? digits[bits & 63] : '=' };
        buf_add(json->out, four, sizeof four);
    }
    buf_add_char(json->out, '"');
}
