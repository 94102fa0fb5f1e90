/* SPDX-License-Identifier: Apache-2.0 */
/* headers.c - see headers.h. */
#include "noun/headers.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Those that make the message, or that only pawl can say. */
static const char *const reserved[] = {
    "Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect", "Upgrade",
    "TE",   "Trailer",        "Traceparent"
};

static bool begins_ours(Slice name)
{
    return name.bytes >= 5 && strncasecmp(name.data, "Pawl-", 5) == 0;
}

static bool is_reserved(Slice name)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (name.bytes == strlen(reserved[i]) &&
            strncasecmp(name.data, reserved[i], name.bytes) == 0)
            return true;
    return begins_ours(name);
}

/* Letters, digits and what RFC 9110 calls a token besides; "=" is none. */
static bool is_token(Slice name)
{
    for (size_t i = 0; i < name.bytes; i++)
        if (!memchr(
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+"
                "-.^_`|~",
                name.data[i], 77))
            return false;
    return name.bytes > 0;
}

static bool is_line(Slice value)
{
    for (size_t i = 0; i < value.bytes; i++)
        if (value.data[i] < ' ' || value.data[i] > '~')
            return false;
    return value.bytes > 0;
}

static bool named_before(const JsonIn *object, const JsonIn *pair)
{
    for (const JsonIn *at = json_in_first(object); at != pair; at = at->next)
        if (at->key.bytes == pair->key.bytes &&
            strncasecmp(at->key.data, pair->key.data, at->key.bytes) == 0)
            return true;
    return false;
}

/* What is wrong with a header, or NULL. */
static const char *fault_of(const JsonIn *object, const JsonIn *pair)
{
    if (!is_token(pair->key))
        return "is no valid name of a header";
    if (is_reserved(pair->key))
        return "is a header that pawl sets itself";
    if (named_before(object, pair))
        return "stands there twice";
    if (pair->kind == JSON_IN_NULL)
        return "has no value: values are not shown, so each must be sent again";
    if (pair->kind != JSON_IN_TEXT || !is_line(pair->as.text))
        return "needs a value: one line of printable ASCII characters";
    if (pair->key.bytes + pair->as.text.bytes > HANDLER_HEADER_BYTES_MAX)
        return "is longer than 4096 bytes";
    return NULL;
}

/* A patch names all of them: what is not sent again is not known here. */
static Err read_headers(NounIn *in, const Field *field, const JsonIn *value)
{
    Buf list = { 0 };
    size_t count = 0;
    const char *fault = NULL;
    if (value->kind != JSON_IN_OBJECT)
        return problem_set(in->why, "wrong_type", "headers must be an object");
    for (const JsonIn *pair = json_in_first(value); pair && !fault; pair = pair->next) {
        fault = ++count > HANDLER_HEADERS_MAX ? "is one too many: up to 32"
                                              : fault_of(value, pair);
        if (fault)
            problem_set(in->why, "invalid_value", "headers: " SLICE_FMT " %s",
                        SLICE_ARG(pair->key), fault);
        buf_add_slice(&list, pair->key);
        buf_add_char(&list, '=');
        if (pair->kind == JSON_IN_TEXT)
            buf_add_slice(&list, pair->as.text);
        buf_add_char(&list, '\0');
    }
    if (!fault)
        *(Slice *)(void *)((char *)in->object + field->stored.offset) =
            slice_copy(in->arena, buf_slice(&list));
    buf_done(&list);
    return fault ? ERR_INVALID : ERR_OK;
}

static void write_headers(JsonOut *json, const Field *field, const NounView *view)
{
    Slice rest;
    memcpy(&rest, (const char *)view->object + field->stored.offset, sizeof rest);
    json_object(json, field->name);
    for (Slice value; list_next(&rest, &value);) {
        char name[HANDLER_HEADER_BYTES_MAX + 1];
        Slice key = slice_cut(&value, '=');
        snprintf(name, sizeof name, SLICE_FMT, SLICE_ARG(key));
        json_null(json, name);
    }
    json_object_end(json);
}

const FieldHooks headers_hooks = { read_headers, write_headers, NULL, NULL };
