/* SPDX-License-Identifier: Apache-2.0 */
/* token.h - tokens of the API as they are stored: never the secret, only its hash.
 *
 * A secret is 256 random bits, so a fast hash is enough: nobody can try out a part of
 * them, and a slow one (for passwords that people choose) would only slow down every
 * request. A token is a definition of TOKEN_TABLE under its name; when it was last used
 * is one of TOKEN_USES, written at most once a minute. */
#ifndef ACCESS_TOKEN_H
#define ACCESS_TOKEN_H

#include "access/scope.h"
#include "base/json_out.h"
#include "noun/problem.h"
#include "json/json_in.h"

#define TOKEN_TABLE        "token"
#define TOKEN_USES         "token_use"
#define TOKEN_PREFIX       "pawl_"
#define TOKEN_HASH_BYTES   32
#define TOKEN_SECRET_BYTES 49 /* prefix, 43 characters for 32 bytes, NUL */

typedef struct Token {
    Slice name;
    Slice tenant; /* empty: all of them */
    Scopes scopes;
    int64_t created_ms;
    int64_t expires_ms; /* 0: never */
    Slice hash;         /* TOKEN_HASH_BYTES */
    Slice by;           /* who made it */
} Token;

void token_pack(Buf *out, const Token *token);
MUST_CHECK Err token_unpack(Slice packed, Token *out); /* slices borrow */

typedef struct TokenUse {
    int64_t at_ms;
    Slice from;
} TokenUse;

void token_use_pack(Buf *out, const TokenUse *use);
MUST_CHECK Err token_use_unpack(Slice packed, TokenUse *out);

/* A new secret; its hash. */
void token_secret(char out[TOKEN_SECRET_BYTES]);
void token_hash(Slice secret, unsigned char out[TOKEN_HASH_BYTES]);

/* Whether a text has the form of a secret of ours. */
bool token_formed(Slice text);

/* What POST /tokens sends. Everything but hash, created_ms and by; slices borrow. */
MUST_CHECK Err token_read(const JsonIn *object, int64_t now_ms, Token *out, Problem *why);

/* Its members, without what nobody may see. `use` may be all zero. */
void token_members(JsonOut *json, const Token *token, const TokenUse *use,
                   int64_t now_ms);

#endif
