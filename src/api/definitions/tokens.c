/* SPDX-License-Identifier: Apache-2.0 */
/* tokens.c - see tokens.h. The gate has them all in memory, as they are durable:
 * lists need no store. */
#include "api/definitions/tokens.h"

#include "access/token.h"
#include "api/common.h"
#include "model/job_json.h"

#include <sodium.h>
#include <stdio.h>

typedef struct Listing {
    JsonOut json;
    int64_t now_ms;
    uint32_t limit; /* left */
    Slice only;     /* data NULL: all */
    Slice last;
    Arena *arena;
    bool found;
    bool more;
} Listing;

static bool write_token(void *context, const Token *token, const TokenUse *use)
{
    Listing *listing = context;
    if (listing->only.data && !slice_equal(token->name, listing->only))
        return true;
    if (!listing->limit) {
        listing->more = true;
        return false;
    }
    listing->limit--;
    listing->found = true;
    listing->last = slice_copy(listing->arena, token->name);
    json_object(&listing->json, NULL);
    token_members(&listing->json, token, use, listing->now_ms);
    json_object_end(&listing->json);
    return true;
}

void api_tokens_list(Exchange *exchange)
{
    ListPage page;
    if (!api_list_page(exchange, &page))
        return;
    Listing listing = { .json = exchange_json(exchange),
                        .now_ms = clock_now().wall_ms,
                        .limit = page.limit,
                        .arena = &exchange->arena };
    json_object(&listing.json, NULL);
    json_array(&listing.json, "items");
    tokens_list(exchange_gate(exchange), page.cursor, write_token, &listing);
    json_array_end(&listing.json);
    text_or_null(&listing.json, "next_cursor",
                 listing.more ? listing.last : (Slice){ NULL, 0 });
    json_object_end(&listing.json);
    exchange_reply_json(exchange, 200);
}

void api_token_get(Exchange *exchange)
{
    Listing listing = { .json = exchange_json(exchange),
                        .now_ms = clock_now().wall_ms,
                        .limit = 1,
                        .only = exchange->parts[0],
                        .arena = &exchange->arena };
    tokens_list(exchange_gate(exchange), (Slice){ NULL, 0 }, write_token, &listing);
    if (listing.found)
        exchange_reply_json(exchange, 200);
    else
        exchange_refuse(exchange, "token_not_found", "no token has this name");
}

/* --- Making ---------------------------------------------------------------------------
 */

typedef struct Making {
    Token token;
    char secret[TOKEN_SECRET_BYTES];
    unsigned char hash[TOKEN_HASH_BYTES];
} Making;

static void made(Exchange *exchange, Call *call)
{
    Making *making = exchange->state;
    TokenUse unused = { 0 };
    if (call->err) {
        tokens_release(exchange_gate(exchange), making->token.name);
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    token_members(&json, &making->token, &unused, making->token.created_ms);
    json_cstr(&json, "token", making->secret);
    json_object_end(&json);
    sodium_memzero(making->secret, sizeof making->secret);
    api_created(exchange, "tokens", making->token.name);
    exchange_reply_json(exchange, 201);
}

void api_token_add(Exchange *exchange)
{
    Problem why;
    Making *making = ARENA_NEW(&exchange->arena, Making);
    const JsonIn *object = api_body(exchange, &exchange->arena, false);
    if (!object)
        return;
    if (token_read(object, clock_now().wall_ms, &making->token, &why)) {
        exchange_problem(exchange, &why);
        return;
    }
    Tokens *tokens = exchange_gate(exchange);
    if (!tokens || !tokens_reserve(tokens, making->token.name)) {
        exchange_refuse(exchange, "token_exists", "there is a token of this name");
        return;
    }
    token_secret(making->secret);
    token_hash(slice_text(making->secret), making->hash);
    making->token.hash = slice_of((const char *)making->hash, sizeof making->hash);
    making->token.by = slice_text(exchange->caller.who);
    exchange->state = making;
    Buf value = { 0 };
    token_pack(&value, &making->token);
    Call *call = exchange_call(exchange, CALL_EVENT, made);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(TOKEN_TABLE);
    call->event.key = making->token.name;
    call->event.value = slice_copy(&call->arena, buf_slice(&value));
    buf_done(&value);
    exchange_send(exchange, call);
}

/* --- Revoking -------------------------------------------------------------------------
 */

static void revoke(Exchange *exchange, const char *table, Step *then)
{
    Call *call = exchange_call(exchange, CALL_EVENT, then);
    call->event.kind = EVENT_DEFINE;
    call->event.table = slice_text(table);
    call->event.key = *(const Slice *)exchange->state;
    exchange_send(exchange, call);
}

/* That its use was not deleted too harms no one. */
static void use_deleted(Exchange *exchange, Call *call)
{
    (void)call;
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_text(&json, "name", *(const Slice *)exchange->state);
    json_bool(&json, "removed", true);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

static void deleted(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        revoke(exchange, TOKEN_USES, use_deleted);
}

static bool seek(void *context, const Token *token, const TokenUse *use)
{
    (void)use;
    Listing *listing = context;
    listing->found = listing->found || slice_equal(token->name, listing->only);
    return !listing->found;
}

void api_token_delete(Exchange *exchange)
{
    Slice *name = ARENA_NEW(&exchange->arena, Slice);
    *name =
        exchange->parts[0].data ? exchange->parts[0] : exchange_param(exchange, "name");
    if (!name->bytes) {
        exchange_refuse(exchange, "missing_field", "name the token: ?name=");
        return;
    }
    Listing listing = { .only = *name };
    tokens_list(exchange_gate(exchange), (Slice){ NULL, 0 }, seek, &listing);
    if (!listing.found) {
        exchange_refuse(exchange, "token_not_found", "no token has this name");
        return;
    }
    exchange->state = name;
    revoke(exchange, TOKEN_TABLE, deleted);
}
