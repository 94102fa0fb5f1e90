/* SPDX-License-Identifier: Apache-2.0 */
/* safe.c - see safe.h. Widths are the C library's, for the UTF-8 locale that cli_main
 * sets; a character it does not know counts as one column. */
#include "cli/print/safe.h"

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

/* Decodes one character; returns its bytes, or 0 if none begins here. */
static size_t decode(Slice text, uint32_t *out_point)
{
    unsigned char lead = (unsigned char)text.data[0];
    if (lead < 0x80) {
        *out_point = lead;
        return 1;
    }
    size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (lead < 0xc2 || lead > 0xf4 || text.bytes < bytes)
        return 0;
    uint32_t point = lead & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        unsigned char next = (unsigned char)text.data[i];
        if ((next & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (next & 0x3fu);
    }
    if (point < smallest[bytes] || point > 0x10ffff ||
        (point >= 0xd800 && point < 0xe000))
        return 0;
    *out_point = point;
    return bytes;
}

static bool turns_writing(uint32_t point)
{
    return (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
           point == 0x200e || point == 0x200f || point == 0x061c;
}

static void add_escape(Buf *out, uint32_t point, size_t bytes)
{
    switch (point) {
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
        buf_printf(out, bytes > 1 ? "\\u{%04x}" : "\\x%02x", point);
    }
}

static void add(Buf *out, Slice text, bool keep_lines)
{
    while (text.bytes) {
        uint32_t point = 0;
        size_t bytes = decode(text, &point);
        bool line = point == '\n' || point == '\t';
        bool control = point < 0x20 || (point >= 0x7f && point < 0xa0) ||
                       point == 0x2028 || point == 0x2029;
        if (!bytes)
            add_escape(out, (unsigned char)text.data[0], 1);
        else if ((control && !(line && keep_lines)) || turns_writing(point))
            add_escape(out, point, bytes);
        else
            buf_add(out, text.data, bytes);
        text = slice_from(text, bytes ? bytes : 1);
    }
}

void safe_add(Buf *out, Slice text)
{
    add(out, text, false);
}

void safe_add_lines(Buf *out, Slice text)
{
    add(out, text, true);
}

static size_t columns_of(uint32_t point)
{
    int columns = wcwidth((wchar_t)point);
    return columns < 0 ? 1 : (size_t)columns;
}

size_t safe_width(Slice text)
{
    size_t width = 0;
    while (text.bytes) {
        uint32_t point = '?';
        size_t bytes = decode(text, &point);
        width += columns_of(point);
        text = slice_from(text, bytes ? bytes : 1);
    }
    return width;
}

size_t safe_fit(Slice text, size_t columns)
{
    Slice rest = text;
    size_t width = 0;
    while (rest.bytes) {
        uint32_t point = '?';
        size_t bytes = decode(rest, &point);
        width += columns_of(point);
        if (width > columns)
            break;
        rest = slice_from(rest, bytes ? bytes : 1);
    }
    return text.bytes - rest.bytes;
}
