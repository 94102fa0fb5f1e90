/* SPDX-License-Identifier: Apache-2.0 */
/* tokens.h - who may come in: the tokens of the store, in memory, for any thread.
 *
 * The loop tells it what is defined; HTTP threads ask it. A gate is closed as long as
 * there is a token, even one that has expired: to let its last token lapse must not open
 * a daemon to everyone. */
#ifndef ACCESS_TOKENS_H
#define ACCESS_TOKENS_H

#include "access/token.h"
#include "base/text.h"

#define CALLER_WHO_BYTES  (NAME_BYTES_MAX + 16)
#define CALLER_FROM_BYTES 64

/* Who asks. */
typedef struct Caller {
    Scopes scopes;
    bool bound;                      /* to `tenant`; else all of them */
    char tenant[NAME_BYTES_MAX + 1]; /* "" if not bound */
    char who[CALLER_WHO_BYTES];      /* "token:ci", "uid:1000"; "": nobody known */
    char from[CALLER_FROM_BYTES];    /* "unix", "127.0.0.1:4711" */
} Caller;

typedef struct Tokens Tokens;

Tokens *tokens_new(void);
void tokens_free(Tokens *tokens); /* NULL does nothing */

/* A definition of TOKEN_TABLE or TOKEN_USES is there, or (no value) gone. */
void tokens_defined(Tokens *tokens, Slice table, Slice key, Slice value);

/* NULL is open. */
bool tokens_closed(Tokens *tokens);
size_t tokens_count(Tokens *tokens);

/* Whether the secret is that of a token that holds at now_ms: then *out gets scopes,
 * tenant and who; *out_save says that its use (caller->from) is worth keeping now. */
bool tokens_admit(Tokens *tokens, Slice secret, int64_t now_ms, Caller *out,
                  bool *out_save);

/* Whether the tenant of a token may ask once more now, by the limit of its settings
 * (definitions of TENANT_TABLE are told by tokens_defined, too). */
bool tokens_allows(Tokens *tokens, const Caller *caller, int64_t boot_ms);

/* Takes a name for a token that is about to be made; false: there is one. It is given
 * back by tokens_release if nothing came of it. */
bool tokens_reserve(Tokens *tokens, Slice name);
void tokens_release(Tokens *tokens, Slice name);

/* Tokens in the order of their names, those behind `after` (may be empty), until the sink
 * says false. The sink must not call the gate. */
typedef bool TokenSink(void *context, const Token *token, const TokenUse *use);
void tokens_list(Tokens *tokens, Slice after, TokenSink *sink, void *context);

#endif
