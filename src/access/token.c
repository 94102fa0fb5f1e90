/* SPDX-License-Identifier: Apache-2.0 */
/* token.c - see token.h. */
#include "access/token.h"

#include "base/fields.h"
#include "base/text.h"
#include "base/times.h"
#include "model/job_json.h"

#include <sodium.h>
#include <stddef.h>
#include <stdio.h>

#define TENANT_ALL     "*"
#define TENANT_DEFAULT "default"

static const FieldRow token_rows[] = {
    { 1, offsetof(Token, name), FIELD_SLICE },
    { 2, offsetof(Token, tenant), FIELD_SLICE },
    { 3, offsetof(Token, scopes), FIELD_32 },
    { 4, offsetof(Token, created_ms), FIELD_64 },
    { 5, offsetof(Token, expires_ms), FIELD_64 },
    { 6, offsetof(Token, hash), FIELD_SLICE },
    { 7, offsetof(Token, by), FIELD_SLICE },
};
static const Fields token_fields = { token_rows, FIELDS_COUNT(token_rows), NULL };

static const FieldRow use_rows[] = {
    { 1, offsetof(TokenUse, at_ms), FIELD_64 },
    { 2, offsetof(TokenUse, from), FIELD_SLICE },
};
static const Fields use_fields = { use_rows, FIELDS_COUNT(use_rows), NULL };

void token_pack(Buf *out, const Token *token)
{
    fields_pack(out, &token_fields, token);
}

Err token_unpack(Slice packed, Token *out)
{
    Token token = { 0 };
    if (fields_unpack(packed, &token_fields, &token) ||
        token.hash.bytes != TOKEN_HASH_BYTES || !token.name.bytes)
        return ERR_CORRUPT;
    *out = token;
    return ERR_OK;
}

void token_use_pack(Buf *out, const TokenUse *use)
{
    fields_pack(out, &use_fields, use);
}

Err token_use_unpack(Slice packed, TokenUse *out)
{
    TokenUse use = { 0 };
    if (fields_unpack(packed, &use_fields, &use))
        return ERR_CORRUPT;
    *out = use;
    return ERR_OK;
}

void token_secret(char out[TOKEN_SECRET_BYTES])
{
    unsigned char bytes[TOKEN_HASH_BYTES];
    randombytes_buf(bytes, sizeof bytes);
    int prefix = snprintf(out, TOKEN_SECRET_BYTES, TOKEN_PREFIX);
    sodium_bin2base64(out + prefix, TOKEN_SECRET_BYTES - (size_t)prefix, bytes,
                      sizeof bytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(bytes, sizeof bytes);
}

void token_hash(Slice secret, unsigned char out[TOKEN_HASH_BYTES])
{
    crypto_generichash(out, TOKEN_HASH_BYTES, (const unsigned char *)secret.data,
                       secret.bytes, NULL, 0);
}

bool token_formed(Slice text)
{
    return text.bytes == TOKEN_SECRET_BYTES - 1 &&
           slice_starts(text, SLICE_LITERAL(TOKEN_PREFIX));
}

/* --- JSON ----------------------------------------------------------------------------
 */

static Err bad_scope(Slice name, Problem *why)
{
    problem_set(why, "invalid_value", "there is no scope '" SLICE_FMT "'",
                SLICE_ARG(slice_of(name.data, name.bytes > 80 ? 80 : name.bytes)));
    problem_hint(why, "scopes are: read, enqueue, work, operate, admin");
    return ERR_INVALID;
}

static Err add_scope(Slice name, Scopes *scopes, Problem *why)
{
    Scope scope;
    if (!scope_find(name, &scope))
        return bad_scope(name, why);
    *scopes |= SCOPE_BIT(scope);
    return ERR_OK;
}

static Err read_name(const JsonIn *value, Token *token, Problem *why)
{
    if (json_in_text(value, &token->name) || !name_valid(token->name))
        return problem_set(why, "invalid_name", "name is not a valid name of a token");
    return ERR_OK;
}

static Err read_tenant(const JsonIn *value, Token *token, Problem *why)
{
    if (json_in_text(value, &token->tenant) ||
        (!slice_is(token->tenant, TENANT_ALL) && !tenant_name_valid(token->tenant)))
        return problem_set(why, "invalid_name",
                           "tenant is the name of a tenant, or * for all of them");
    return ERR_OK;
}

/* A list, or one text with commas. */
static Err read_scopes(const JsonIn *value, Token *token, Problem *why)
{
    Err err = ERR_OK;
    Slice text;
    if (!json_in_text(value, &text)) {
        while (!err && text.data)
            err = add_scope(slice_cut(&text, ','), &token->scopes, why);
        return err;
    }
    if (value->kind != JSON_IN_LIST)
        return problem_set(why, "wrong_type", "scopes must be a list of texts, not %s",
                           json_in_kind_name(value->kind));
    for (const JsonIn *at = json_in_first(value); at && !err; at = at->next)
        err = json_in_text(at, &text)
                  ? problem_set(why, "wrong_type", "scopes must be a list of texts")
                  : add_scope(text, &token->scopes, why);
    return err;
}

static Err read_expires_in(const JsonIn *value, Token *token, Problem *why)
{
    Slice text;
    Error error = { 0 };
    int64_t after_ms = 0;
    if (json_in_text(value, &text))
        return problem_set(why, "wrong_type", "expires_in must be a duration such as %s",
                           "\"P30D\"");
    if (duration_parse(text, &after_ms, &error))
        return problem_set(why, "invalid_value", "expires_in: %s", error.text);
    if (after_ms <= 0)
        return problem_set(why, "invalid_value", "expires_in must be more than nothing");
    token->expires_ms = token->created_ms + after_ms;
    return ERR_OK;
}

static Err read_expires_at(const JsonIn *value, Token *token, Problem *why)
{
    Slice text;
    if (json_in_text(value, &text) || time_parse(text, &token->expires_ms))
        return problem_set(why, "invalid_value", "expires_at must be a time such as %s",
                           "\"2030-01-31T12:00:00Z\"");
    if (token->expires_ms <= token->created_ms)
        return problem_set(why, "invalid_value", "expires_at has passed");
    return ERR_OK;
}

static const struct {
    const char *name;
    Err (*read)(const JsonIn *value, Token *token, Problem *why);
} readers[] = {
    { "name", read_name },
    { "tenant", read_tenant },
    { "scopes", read_scopes },
    { "expires_in", read_expires_in },
    { "expires_at", read_expires_at },
};
#define READERS (sizeof readers / sizeof *readers)

static Err read_member(const JsonIn *at, Token *token, Problem *why)
{
    const char *words[READERS + 1] = { NULL };
    for (size_t i = 0; i < READERS; i++) {
        words[i] = readers[i].name;
        if (!slice_is(at->key, readers[i].name))
            continue;
        Err err = at->kind == JSON_IN_NULL ? ERR_OK : readers[i].read(at, token, why);
        if (err)
            problem_point(why, at->key);
        return err;
    }
    const char *nearest = nearest_word(at->key, words);
    problem_set(why, "unknown_field", "a token has no field '" SLICE_FMT "'",
                SLICE_ARG(at->key));
    if (nearest)
        problem_hint(why, "did you mean '%s'?", nearest);
    problem_point(why, at->key);
    return ERR_INVALID;
}

Err token_read(const JsonIn *object, int64_t now_ms, Token *out, Problem *why)
{
    Token token = { .created_ms = now_ms };
    if (object->kind != JSON_IN_OBJECT)
        return problem_set(why, "wrong_type", "a token must be an object, not %s",
                           json_in_kind_name(object->kind));
    for (const JsonIn *at = json_in_first(object); at; at = at->next)
        if (read_member(at, &token, why))
            return ERR_INVALID;
    if (!token.name.bytes)
        return problem_set(why, "missing_field", "a token needs a name");
    if (!token.scopes) {
        problem_set(why, "missing_field", "a token needs scopes");
        problem_hint(why, "scopes are: read, enqueue, work, operate, admin");
        return ERR_INVALID;
    }
    /* Who may define everything is not for one tenant, unless that is said. */
    if (!token.tenant.bytes && !(token.scopes & SCOPE_BIT(SCOPE_ADMIN)))
        token.tenant = SLICE_LITERAL(TENANT_DEFAULT);
    if (slice_is(token.tenant, TENANT_ALL))
        token.tenant = (Slice){ NULL, 0 };
    *out = token;
    return ERR_OK;
}

void token_members(JsonOut *json, const Token *token, const TokenUse *use, int64_t now_ms)
{
    json_text(json, "name", token->name);
    json_text(json, "tenant",
              token->tenant.bytes ? token->tenant : SLICE_LITERAL(TENANT_ALL));
    json_array(json, "scopes");
    for (Scope scope = SCOPE_READ; scope < SCOPES; scope++)
        if (token->scopes & SCOPE_BIT(scope))
            json_cstr(json, NULL, scope_name(scope));
    json_array_end(json);
    json_time(json, "created_at", token->created_ms);
    text_or_null(json, "created_by", token->by);
    json_time(json, "expires_at", token->expires_ms);
    json_bool(json, "expired", token->expires_ms && token->expires_ms <= now_ms);
    json_time(json, "last_used_at", use->at_ms);
    text_or_null(json, "last_used_from", use->from);
}
