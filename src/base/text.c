/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - see text.h. */
#include "base/text.h"

#define NEAREST_EDITS_MAX 2
#define NEAREST_BYTES_MAX 64

static bool letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

static bool valid_with(Slice name, const char *others, size_t bytes_max)
{
    if (!name.bytes || name.bytes > bytes_max || !letter_or_digit(name.data[0]))
        return false;
    for (size_t i = 1; i < name.bytes; i++) {
        char c = name.data[i];
        if (!letter_or_digit(c) && (!c || !strchr(others, c)))
            return false;
    }
    return true;
}

bool name_valid(Slice name)
{
    return valid_with(name, ".:-", NAME_BYTES_MAX);
}

bool queue_name_valid(Slice name)
{
    if (!valid_with(name, ".:+/;$()-", QUEUE_NAME_BYTES_MAX))
        return false;
    for (size_t i = 0; i + 1 < name.bytes; i++)
        if (name.data[i] == '.' && name.data[i + 1] == '.')
            return false;
    return true;
}

bool tenant_name_valid(Slice name)
{
    static const char *const reserved[] = {
        "api",          "ui",  "metrics", "livez", "readyz", "healthz", "docs",
        "openapi.json", "add", "start",   "stop",  "quit",   "static",
    };
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (slice_is(name, reserved[i]))
            return false;
    return name_valid(name);
}

/* Bytes of the sequence that `lead` begins, 0 if none does, and the smallest code
 * point that needs so many. */
static size_t utf8_length(unsigned char lead, uint32_t *out_smallest, uint32_t *out_bits)
{
    if (lead >= 0xc2 && lead <= 0xdf) {
        *out_smallest = 0x80;
        *out_bits = lead & 0x1fu;
        return 2;
    }
    if ((lead & 0xf0) == 0xe0) {
        *out_smallest = 0x800;
        *out_bits = lead & 0x0fu;
        return 3;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        *out_smallest = 0x10000;
        *out_bits = lead & 0x07u;
        return 4;
    }
    return 0;
}

size_t utf8_prefix(Slice text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    size_t i = 0;
    while (i < text.bytes) {
        if (at[i] < 0x80) {
            i++;
            continue;
        }
        uint32_t smallest = 0;
        uint32_t point = 0;
        size_t length = utf8_length(at[i], &smallest, &point);
        if (!length || length > text.bytes - i)
            return i;
        for (size_t k = 1; k < length; k++) {
            if ((at[i + k] & 0xc0) != 0x80)
                return i;
            point = point << 6 | (at[i + k] & 0x3fu);
        }
        if (point < smallest || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
            return i;
        i += length;
    }
    return i;
}

bool utf8_valid(Slice text)
{
    return utf8_prefix(text) == text.bytes;
}

Err int_parse(Slice text, int64_t *out_value)
{
    bool negative = text.bytes && text.data[0] == '-';
    if (negative || (text.bytes && text.data[0] == '+'))
        text = slice_from(text, 1);
    if (!text.bytes)
        return ERR_INVALID;
    int64_t value = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        char c = text.data[i];
        if (c < '0' || c > '9')
            return ERR_INVALID;
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, c - '0', &value))
            return ERR_LIMIT;
    }
    /* Counted downwards, so that the smallest number fits too. */
    if (!negative && value == INT64_MIN)
        return ERR_LIMIT;
    *out_value = negative ? value : -value;
    return ERR_OK;
}

/* Edits (insert, remove, replace) between two short words. */
static unsigned edits(Slice a, Slice b)
{
    unsigned row[NEAREST_BYTES_MAX + 1];
    for (unsigned j = 0; j <= b.bytes; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a.bytes; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b.bytes; j++) {
            unsigned replaced = diagonal + (a.data[i - 1] != b.data[j - 1]);
            unsigned removed = row[j] + 1;
            unsigned inserted = row[j - 1] + 1;
            diagonal = row[j];
            unsigned least = replaced < removed ? replaced : removed;
            row[j] = least < inserted ? least : inserted;
        }
    }
    return row[b.bytes];
}

const char *nearest_word(Slice word, const char *const *words)
{
    const char *best = NULL;
    unsigned best_edits = NEAREST_EDITS_MAX + 1;
    if (!word.bytes || word.bytes > NEAREST_BYTES_MAX)
        return NULL;
    for (; *words; words++) {
        Slice candidate = slice_text(*words);
        if (candidate.bytes > NEAREST_BYTES_MAX)
            continue;
        unsigned distance = edits(word, candidate);
        if (distance < best_edits && distance < candidate.bytes) {
            best = *words;
            best_edits = distance;
        }
    }
    return best;
}
