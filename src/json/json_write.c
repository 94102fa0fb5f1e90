/* SPDX-License-Identifier: Apache-2.0 */
/* json_write.c - see json_write.h. */
#include "json/json_write.h"

#include "base/json_out.h"

static void write_text(Slice text, Buf *out)
{
    buf_add_char(out, '"');
    json_escape(out, text);
    buf_add_char(out, '"');
}

static void write_items(const JsonIn *value, Buf *out)
{
    bool object = value->kind == JSON_IN_OBJECT;
    buf_add_char(out, object ? '{' : '[');
    for (const JsonIn *item = json_in_first(value); item; item = item->next) {
        if (object) {
            write_text(item->key, out);
            buf_add_char(out, ':');
        }
        json_in_write(item, out);
        if (item->next)
            buf_add_char(out, ',');
    }
    buf_add_char(out, object ? '}' : ']');
}

void json_in_write(const JsonIn *value, Buf *out)
{
    switch (value->kind) {
    case JSON_IN_NULL:
        buf_add_text(out, "null");
        return;
    case JSON_IN_BOOL:
        buf_add_text(out, value->as.truth ? "true" : "false");
        return;
    case JSON_IN_INT:
        buf_printf(out, "%lld", (long long)value->as.integer);
        return;
    case JSON_IN_REAL:
        buf_printf(out, "%.17g", value->as.real);
        return;
    case JSON_IN_TEXT:
        write_text(value->as.text, out);
        return;
    case JSON_IN_LIST:
    case JSON_IN_OBJECT:
        write_items(value, out);
        return;
    }
}
