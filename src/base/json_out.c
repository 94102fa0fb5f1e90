/* SPDX-License-Identifier: Apache-2.0 */
/* json_out.c - see json_out.h. */
#include "base/json_out.h"

#include "base/text.h"

#include <stdio.h>

#define SHORT_BYTES 16

/* Keys and most values are short: a call of memcpy would cost more than the copy. */
static inline char *put(char *at, Slice text)
{
    if (text.bytes > SHORT_BYTES) {
        memcpy(at, text.data, text.bytes);
    } else if (text.bytes >= 8) {
        memcpy(at, text.data, 8);
        memcpy(at + text.bytes - 8, text.data + text.bytes - 8, 8);
    } else if (text.bytes >= 4) {
        memcpy(at, text.data, 4);
        memcpy(at + text.bytes - 4, text.data + text.bytes - 4, 4);
    } else {
        for (size_t i = 0; i < text.bytes; i++)
            at[i] = text.data[i];
    }
    return at + text.bytes;
}

/* In one piece: an answer has sixty of them. */
static inline void put_member(JsonOut *json, Slice key, Slice value, bool quotes)
{
    char *room = buf_room(json->out, key.bytes + value.bytes + 6);
    char *at = room;
    if (json->comma)
        *at++ = ',';
    json->comma = true;
    if (key.data) {
        *at++ = '"';
        at = put(at, key);
        *at++ = '"';
        *at++ = ':';
    }
    if (quotes)
        *at++ = '"';
    at = put(at, value);
    if (quotes)
        *at++ = '"';
    json->out->bytes += (size_t)(at - room);
}

void json_member(JsonOut *json, Slice key, Slice value)
{
    put_member(json, key, value, false);
}

static void member(JsonOut *json, const char *key, Slice value)
{
    json_member(json, slice_text(key), value);
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

#define EACH(byte) (0x0101010101010101u * (byte))

/* Whether some byte of the word is one (of those below 0x80) that the test finds. */
static bool has_zero(uint64_t word)
{
    return (word - EACH(1u)) & ~word & EACH(0x80u);
}

/* Eight bytes of which none needs a look of its own: it is what texts are made of. */
static bool are_plain(const char *data)
{
    uint64_t word;
    memcpy(&word, data, sizeof word);
    bool ascii = !(word & EACH(0x80u));
    bool printed =
        !((word - EACH(0x20u)) & EACH(0x80u)) && !((word + EACH(1u)) & EACH(0x80u));
    return ascii && printed && !has_zero(word ^ EACH('"')) &&
           !has_zero(word ^ EACH('\\'));
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* How many bytes from `from` on need no escape. */
static size_t plain_bytes(Slice text, size_t from)
{
    size_t at = from;
    while (text.bytes - at >= sizeof(uint64_t) && are_plain(text.data + at))
        at += sizeof(uint64_t);
    while (at < text.bytes && is_plain((unsigned char)text.data[at]))
        at++;
    return at - from;
}

void json_escape(Buf *out, Slice text)
{
    size_t plain_from = 0;
    for (size_t i = plain_bytes(text, 0); i < text.bytes; i += plain_bytes(text, i)) {
        unsigned char c = (unsigned char)text.data[i];
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
    if (plain_bytes(value, 0) == value.bytes) {
        put_member(json, slice_text(key), value, true);
        return;
    }
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

void json_raw(JsonOut *json, const char *key, Slice json_value)
{
    member(json, key, json_value);
}

void json_moment(JsonOut *json, const char *key, int64_t wall_ms)
{
    if (!json->moment_bytes || json->moment_ms != wall_ms) {
        size_t bytes = strlen(time_text(wall_ms, json->moment + 1));
        json->moment[0] = json->moment[bytes + 1] = '"';
        json->moment_bytes = bytes + 2;
        json->moment_ms = wall_ms;
    }
    member(json, key, slice_of(json->moment, json->moment_bytes));
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
