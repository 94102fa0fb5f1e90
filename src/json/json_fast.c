/* SPDX-License-Identifier: Apache-2.0 */
/* json_fast.c - see json_fast.h. Recursive descent; depth is bounded by the caller's
 * limit, which is also the limit of this stack. */
#include "json/json_fast.h"

#include "base/text.h"

#define FAST_KEYS_MAX   48 /* keys are compared pairwise: more go to the hash table */
#define FAST_DIGITS_MAX 18 /* always fit into 63 bits */

typedef struct Fast {
    const char *at;
    const char *end;
    Arena *arena;
    size_t values;
    unsigned depth;
} Fast;

static bool take_value(Fast *in, JsonIn *out);

static void skip_space(Fast *in)
{
    while (in->at < in->end &&
           (*in->at == ' ' || *in->at == '\n' || *in->at == '\r' || *in->at == '\t'))
        in->at++;
}

static bool take_char(Fast *in, char c)
{
    if (in->at == in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

static char unescaped(char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/':
        return c;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return '\0'; /* \u, or no escape at all */
    }
}

/* The text from `from` on, whose first escape is at in->at; goes behind its quote. */
static bool take_escaped(Fast *in, const char *from, const char *quote, Slice *out)
{
    char *text = arena_take(in->arena, (size_t)(quote - from));
    size_t bytes = 0;
    for (const char *at = from; at < quote; at++) {
        char c = *at;
        if (c == '\\') {
            c = unescaped(*++at);
            if (!c)
                return false;
        }
        text[bytes++] = c;
    }
    *out = slice_of(text, bytes);
    return true;
}

static bool take_text(Fast *in, Slice *out)
{
    const char *from = in->at;
    bool escapes = false;
    unsigned char high = 0;
    const char *at = from;
    for (;; at++) {
        if (at == in->end)
            return false;
        unsigned char c = (unsigned char)*at;
        if (c == '"')
            break;
        if (c < 0x20)
            return false;
        if (c == '\\') {
            escapes = true;
            if (++at == in->end)
                return false;
            c = (unsigned char)*at;
        }
        high |= c;
    }
    in->at = at + 1;
    *out = slice_of(from, (size_t)(at - from));
    if (high >= 0x80 && !utf8_valid(*out))
        return false;
    return !escapes || take_escaped(in, from, at, out);
}

static bool take_number(Fast *in, JsonIn *out)
{
    bool negative = take_char(in, '-');
    const char *from = in->at;
    int64_t number = 0;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9') {
        if (in->at - from == FAST_DIGITS_MAX)
            return false;
        number = number * 10 + (*in->at++ - '0');
    }
    bool leading_zero = in->at - from > 1 && *from == '0';
    if (in->at == from || leading_zero)
        return false;
    if (in->at < in->end && (*in->at == '.' || *in->at == 'e' || *in->at == 'E'))
        return false;
    out->kind = JSON_IN_INT;
    out->as.integer = negative ? -number : number;
    return true;
}

static bool take_word(Fast *in, const char *word)
{
    size_t bytes = strlen(word);
    if ((size_t)(in->end - in->at) < bytes || memcmp(in->at, word, bytes) != 0)
        return false;
    in->at += bytes;
    return true;
}

static bool take_key(Fast *in, const JsonIn *object, JsonIn *member)
{
    if (!take_char(in, '"') || !take_text(in, &member->key))
        return false;
    if (object->as.items.count == FAST_KEYS_MAX)
        return false;
    for (const JsonIn *other = object->as.items.first; other; other = other->next)
        if (slice_equal(other->key, member->key))
            return false;
    skip_space(in);
    if (!take_char(in, ':'))
        return false;
    skip_space(in);
    return true;
}

static bool take_items(Fast *in, JsonIn *out, JsonKind kind, char closing)
{
    out->kind = kind;
    out->as.items.first = NULL;
    out->as.items.count = 0;
    JsonIn **last = &out->as.items.first;
    skip_space(in);
    if (take_char(in, closing))
        return true;
    do {
        skip_space(in);
        if (++in->values > JSON_VALUES_MAX)
            return false;
        JsonIn *item = ARENA_NEW(in->arena, JsonIn);
        if (kind == JSON_IN_OBJECT && !take_key(in, out, item))
            return false;
        if (!take_value(in, item))
            return false;
        *last = item;
        last = &item->next;
        out->as.items.count++;
        skip_space(in);
    } while (take_char(in, ','));
    return take_char(in, closing);
}

static bool take_nested(Fast *in, JsonIn *out, JsonKind kind, char closing)
{
    if (in->depth == JSON_DEPTH_MAX)
        return false;
    in->at++;
    in->depth++;
    bool taken = take_items(in, out, kind, closing);
    in->depth--;
    return taken;
}

static bool take_value(Fast *in, JsonIn *out)
{
    if (in->at == in->end)
        return false;
    switch (*in->at) {
    case '{':
        return take_nested(in, out, JSON_IN_OBJECT, '}');
    case '[':
        return take_nested(in, out, JSON_IN_LIST, ']');
    case '"':
        in->at++;
        out->kind = JSON_IN_TEXT;
        return take_text(in, &out->as.text);
    case 't':
    case 'f':
        out->kind = JSON_IN_BOOL;
        out->as.truth = *in->at == 't';
        return take_word(in, out->as.truth ? "true" : "false");
    case 'n':
        out->kind = JSON_IN_NULL;
        return take_word(in, "null");
    default:
        return take_number(in, out);
    }
}

bool json_fast_take(Slice *rest, Arena *arena, JsonIn *out_value)
{
    if (!rest->bytes)
        return false;
    Fast in = { .at = rest->data, .end = rest->data + rest->bytes, .arena = arena };
    JsonIn value = { .kind = JSON_IN_NULL };
    skip_space(&in);
    if (!take_value(&in, &value))
        return false;
    /* "truex" and "12a": the caller sees only what is behind the value. */
    if (in.at < in.end && (!*in.at || !strchr(" \n\r\t,]}", *in.at)))
        return false;
    skip_space(&in);
    *rest = slice_of(in.at, (size_t)(in.end - in.at));
    *out_value = value;
    return true;
}
