/* SPDX-License-Identifier: Apache-2.0 */
/* head.c - see head.h. */
#include "http/head.h"

#include <string.h>
#include <strings.h>

#define METHOD_BYTES_MAX 32
#define LENGTH_DIGITS    18 /* more of them are more than any disk has */

static const HeadFault no_line = { "bad_request", "the first line is no HTTP request" };

/* Characters of names: RFC 9110, 5.6.2. */
static bool is_token(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_text(unsigned char c)
{
    return c == '\t' || (c >= ' ' && c != 0x7f);
}

static bool all(Slice text, bool (*is)(unsigned char c))
{
    for (size_t i = 0; i < text.bytes; i++)
        if (!is((unsigned char)text.data[i]))
            return false;
    return true;
}

size_t head_length(Slice bytes)
{
    const char *at = bytes.data;
    const char *end = bytes.data + bytes.bytes;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        if (end - at >= 2 && at[0] == '\r' && at[1] == '\n')
            return (size_t)(at - bytes.data) + 2;
        if (end - at >= 1 && at[0] == '\n') /* refused, but it is the end */
            return (size_t)(at - bytes.data) + 1;
    }
    return 0;
}

HeadFault head_too_long(Slice begun, size_t most)
{
    size_t looked = begun.bytes < most ? begun.bytes : most;
    return looked && memchr(begun.data, '\n', looked)
               ? (HeadFault){ "header_too_large", "the headers are too large" }
               : (HeadFault){ "uri_too_long", "the first line is too long" };
}

/* Cuts a line off *rest, without its end. False if that is not CR LF. */
static bool cut_line(Slice *rest, Slice *out_line)
{
    *out_line = slice_cut(rest, '\n');
    if (!out_line->bytes || out_line->data[out_line->bytes - 1] != '\r')
        return false;
    out_line->bytes--;
    return true;
}

static bool is_target(unsigned char c)
{
    return c > ' ' && c != 0x7f;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "HTTP/1.1" */
static bool parse_version(Slice text, HttpHead *out, HeadFault *fault)
{
    *fault = no_line;
    if (text.bytes != 8 || memcmp(text.data, "HTTP/", 5) != 0 || text.data[6] != '.' ||
        !is_digit(text.data[5]) || !is_digit(text.data[7]))
        return false;
    *fault = (HeadFault){ "version_not_supported", "only HTTP/1.1 and HTTP/1.0 are" };
    out->old = text.data[7] == '0';
    return text.data[5] == '1';
}

static bool parse_first(Slice line, HttpHead *out, HeadFault *fault)
{
    Slice rest = line;
    out->method = slice_cut(&rest, ' ');
    out->target = slice_cut(&rest, ' ');
    *fault = no_line;
    if (!out->method.bytes || out->method.bytes > METHOD_BYTES_MAX ||
        !all(out->method, is_token) || !out->target.bytes || !all(out->target, is_target))
        return false;
    return rest.data && parse_version(rest, out, fault);
}

static size_t scheme_bytes(Slice target)
{
    static const char *const schemes[] = { "http://", "https://" };
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t bytes = strlen(schemes[i]);
        if (target.bytes > bytes && !strncasecmp(target.data, schemes[i], bytes))
            return bytes;
    }
    return 0;
}

/* "http://host:port/path?query" (RFC 9112, 3.2.2) becomes host and port, and the rest. */
static bool split_target(Arena *arena, HttpHead *out, HeadFault *fault)
{
    size_t scheme = scheme_bytes(out->target);
    if (!scheme)
        return true;
    Slice rest = slice_from(out->target, scheme);
    size_t host = 0;
    while (host < rest.bytes && rest.data[host] != '/' && rest.data[host] != '?')
        host++;
    out->authority = slice_of(rest.data, host);
    out->target = slice_from(rest, host);
    *fault =
        (HeadFault){ "bad_request", "the URL of the request has no host, or a user" };
    if (!host || memchr(rest.data, '@', host))
        return false;
    if (out->target.bytes && out->target.data[0] == '/')
        return true;
    char *path = arena_take(arena, out->target.bytes + 2);
    path[0] = '/';
    memcpy(path + 1, out->target.data, out->target.bytes);
    path[out->target.bytes + 1] = '\0';
    out->target = slice_of(path, out->target.bytes + 1);
    return true;
}

static Slice trim(Slice text)
{
    while (text.bytes && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = slice_from(text, 1);
    while (text.bytes &&
           (text.data[text.bytes - 1] == ' ' || text.data[text.bytes - 1] == '\t'))
        text.bytes--;
    return text;
}

static bool parse_field(Slice line, HeadField *out, HeadFault *fault)
{
    Slice rest = line;
    *fault = (HeadFault){ "bad_request", "a header is no 'name: value'" };
    out->name = slice_cut(&rest, ':');
    if (!rest.data || !out->name.bytes || !all(out->name, is_token))
        return false;
    out->value = trim(rest);
    *fault = (HeadFault){ "bad_request", "a header has control characters" };
    return all(out->value, is_text);
}

/* In place of the space or line end behind it. */
static void end_text(char *text, Slice part)
{
    text[part.data + part.bytes - text] = '\0';
}

bool head_parse(char *text, size_t bytes, Arena *arena, HttpHead *out, HeadFault *fault)
{
    static const HeadFault line_end = { "bad_request", "a line does not end with CR LF" };
    Slice rest = { text, bytes };
    Slice line;
    size_t lines = 0;
    for (const char *at = text; (at = memchr(at, '\n', bytes - (size_t)(at - text)));
         at++)
        lines++;
    *out = (HttpHead){ 0 };
    *fault = line_end;
    if (!cut_line(&rest, &line))
        return false;
    if (!parse_first(line, out, fault))
        return false;
    if (lines - 2 > HEAD_FIELDS_MAX) {
        *fault = (HeadFault){ "header_too_large", "there are too many headers" };
        return false;
    }
    out->fields = arena_take(arena, lines * sizeof *out->fields);
    for (*fault = line_end; cut_line(&rest, &line); *fault = line_end) {
        if (!line.bytes)
            break;
        if (!parse_field(line, &out->fields[out->field_count++], fault))
            return false;
    }
    if (line.data != text + bytes - 2)
        return false;
    end_text(text, out->target);
    if (!split_target(arena, out, fault))
        return false;
    for (size_t i = 0; i < out->field_count; i++)
        end_text(text, out->fields[i].value);
    return true;
}

static bool is_named(const HeadField *field, Slice name)
{
    return field->name.bytes == name.bytes &&
           strncasecmp(field->name.data, name.data, name.bytes) == 0;
}

Slice head_field(const HttpHead *head, const char *name)
{
    Slice wanted = slice_text(name);
    for (size_t i = 0; i < head->field_count; i++)
        if (is_named(&head->fields[i], wanted))
            return head->fields[i].value;
    return (Slice){ NULL, 0 };
}

unsigned head_field_count(const HttpHead *head, const char *name)
{
    Slice wanted = slice_text(name);
    unsigned count = 0;
    for (size_t i = 0; i < head->field_count; i++)
        count += is_named(&head->fields[i], wanted);
    return count;
}

bool head_field_has(const HttpHead *head, const char *name, const char *word)
{
    Slice wanted = slice_text(name);
    for (size_t i = 0; i < head->field_count; i++) {
        Slice rest = head->fields[i].value;
        while (is_named(&head->fields[i], wanted) && rest.data) {
            Slice one = trim(slice_cut(&rest, ','));
            if (one.bytes == strlen(word) && !strncasecmp(one.data, word, one.bytes))
                return true;
        }
    }
    return false;
}

bool head_content_length(Slice value, uint64_t *out_bytes)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < value.bytes; i++) {
        if (!is_digit(value.data[i]))
            return false;
        bytes =
            i < LENGTH_DIGITS ? bytes * 10 + (uint64_t)(value.data[i] - '0') : UINT64_MAX;
    }
    *out_bytes = bytes;
    return value.bytes > 0;
}
