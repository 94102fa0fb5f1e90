/* SPDX-License-Identifier: Apache-2.0 */
/* tokens.c - see tokens.h.
 *
 * A secret is looked up by its hash: what one learns from how long that takes is
 * something about a hash that one cannot choose. The whole hash is then compared in
 * constant time. */
#include "access/tokens.h"

#include "base/map.h"
#include "base/times.h"
#include "core/tenant.h"

#include <pthread.h>
#include <sodium.h>
#include <stdio.h>

#define SAVE_EVERY_MS (60 * MS_PER_S) /* of a token's last use */

typedef struct Entry {
    Arena arena;
    Token token;
    int64_t used_ms;
    int64_t row_columns_ms;
    char used_from[CALLER_FROM_BYTES];
    bool reserved; /* only a name: the token is being made */
} Entry;

/* Requests of one tenant: a second's worth may come at once. */
typedef struct Rate {
    uint64_t per_second;
    int64_t left_milli; /* thousandths of a request */
    int64_t at_ms;
} Rate;

struct Tokens {
    pthread_mutex_t lock;
    Entry **entries; /* by name */
    size_t count;
    size_t capacity;
    size_t tokens; /* those that are not reserved */
    Map by_hash;   /* first eight bytes -> Entry */
    Map rates;     /* hash of a tenant's name -> Rate */
};

static uint64_t hash_key(const void *hash)
{
    uint64_t key;
    memcpy(&key, hash, sizeof key);
    return key;
}

static int name_order(Slice a, Slice b)
{
    size_t least = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = least ? memcmp(a.data, b.data, least) : 0;
    return order ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

/* Where the name is, or would be. */
static size_t place_of(const Tokens *tokens, Slice name)
{
    size_t low = 0;
    size_t high = tokens->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (name_order(tokens->entries[middle]->token.name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static Entry *find(const Tokens *tokens, Slice name)
{
    size_t at = place_of(tokens, name);
    bool there = at < tokens->count && slice_equal(tokens->entries[at]->token.name, name);
    return there ? tokens->entries[at] : NULL;
}

static Entry *insert(Tokens *tokens, Slice name)
{
    size_t at = place_of(tokens, name);
    Entry *entry = MEM_NEW(Entry);
    entry->token.name = slice_copy(&entry->arena, name);
    MEM_PUSH(tokens->entries, tokens->count, tokens->capacity) = entry;
    memmove(tokens->entries + at + 1, tokens->entries + at,
            (tokens->count - 1 - at) * sizeof(Entry *));
    tokens->entries[at] = entry;
    return entry;
}

static void forget_hash(Tokens *tokens, const Entry *entry)
{
    if (entry->reserved)
        return;
    tokens->tokens--;
    map_remove(&tokens->by_hash, hash_key(entry->token.hash.data));
}

static void entry_free(Entry *entry)
{
    arena_done(&entry->arena);
    mem_free(entry);
}

static void drop(Tokens *tokens, Slice name)
{
    Entry *entry = find(tokens, name);
    if (!entry)
        return;
    size_t at = place_of(tokens, name);
    forget_hash(tokens, entry);
    tokens->count--;
    memmove(tokens->entries + at, tokens->entries + at + 1,
            (tokens->count - at) * sizeof(Entry *));
    entry_free(entry);
}

Tokens *tokens_new(void)
{
    Tokens *tokens = MEM_NEW(Tokens);
    pthread_mutex_init(&tokens->lock, NULL);
    return tokens;
}

void tokens_free(Tokens *tokens)
{
    if (!tokens)
        return;
    for (size_t i = 0; i < tokens->count; i++)
        entry_free(tokens->entries[i]);
    mem_free(tokens->entries);
    MapEntry rate;
    for (size_t at = 0; map_next(&tokens->rates, &at, &rate);)
        mem_free(rate.value);
    map_done(&tokens->rates);
    map_done(&tokens->by_hash);
    pthread_mutex_destroy(&tokens->lock);
    mem_free(tokens);
}

static void keep_token(Tokens *tokens, Slice name, Slice value)
{
    Token token;
    if (token_unpack(value, &token))
        return;
    Entry *entry = find(tokens, name);
    if (entry)
        forget_hash(tokens, entry);
    else
        entry = insert(tokens, name);
    entry->reserved = false;
    entry->token = (Token){
        .name = entry->token.name,
        .tenant = slice_copy(&entry->arena, token.tenant),
        .scopes = token.scopes,
        .created_ms = token.created_ms,
        .expires_ms = token.expires_ms,
        .hash = slice_copy(&entry->arena, token.hash),
        .by = slice_copy(&entry->arena, token.by),
    };
    tokens->tokens++;
    map_put(&tokens->by_hash, hash_key(entry->token.hash.data), entry);
}

/* One that another node wrote, or that was stored before; an older token of the same
 * name left it behind if it is from before this one was made. */
static void keep_use(Tokens *tokens, Slice name, Slice value)
{
    TokenUse use;
    Entry *entry = find(tokens, name);
    if (!entry || token_use_unpack(value, &use) || use.at_ms < entry->token.created_ms ||
        use.at_ms <= entry->used_ms)
        return;
    entry->used_ms = use.at_ms;
    entry->row_columns_ms = use.at_ms;
    snprintf(entry->used_from, sizeof entry->used_from, SLICE_FMT, SLICE_ARG(use.from));
}

static void keep_rate(Tokens *tokens, Slice name, Slice value)
{
    Tenant tenant = { 0 };
    uint64_t key = hash_bytes(name.data, name.bytes);
    Rate *rate = map_find(&tokens->rates, key);
    if (value.data && tenant_unpack(value, &tenant))
        return;
    if (!tenant.max_requests) {
        mem_free(map_remove(&tokens->rates, key));
        return;
    }
    if (!rate) {
        rate = MEM_NEW(Rate);
        map_put(&tokens->rates, key, rate);
        rate->left_milli = (int64_t)tenant.max_requests * 1000;
    }
    rate->per_second = tenant.max_requests;
}

bool tokens_allows(Tokens *tokens, const Caller *caller, int64_t boot_ms)
{
    if (!tokens || !caller->bound)
        return true;
    pthread_mutex_lock(&tokens->lock);
    Rate *rate =
        map_find(&tokens->rates, hash_bytes(caller->tenant, strlen(caller->tenant)));
    bool allowed = true;
    if (rate) {
        int64_t most = (int64_t)rate->per_second * 1000;
        int64_t passed_ms = boot_ms - rate->at_ms;
        passed_ms = passed_ms < 0 ? 0 : passed_ms > MS_PER_S ? MS_PER_S : passed_ms;
        int64_t left = rate->left_milli + passed_ms * (int64_t)rate->per_second;
        rate->at_ms = boot_ms;
        rate->left_milli = left < most ? left : most;
        allowed = rate->left_milli >= 1000;
        rate->left_milli -= allowed ? 1000 : 0;
    }
    pthread_mutex_unlock(&tokens->lock);
    return allowed;
}

void tokens_defined(Tokens *tokens, Slice table, Slice key, Slice value)
{
    if (!tokens)
        return;
    pthread_mutex_lock(&tokens->lock);
    if (slice_is(table, TOKEN_TABLE) && value.data)
        keep_token(tokens, key, value);
    else if (slice_is(table, TOKEN_TABLE))
        drop(tokens, key);
    else if (slice_is(table, TENANT_TABLE))
        keep_rate(tokens, key, value);
    else if (slice_is(table, TOKEN_USES) && value.data)
        keep_use(tokens, key, value);
    pthread_mutex_unlock(&tokens->lock);
}

size_t tokens_count(Tokens *tokens)
{
    if (!tokens)
        return 0;
    pthread_mutex_lock(&tokens->lock);
    size_t count = tokens->tokens;
    pthread_mutex_unlock(&tokens->lock);
    return count;
}

bool tokens_closed(Tokens *tokens)
{
    return tokens_count(tokens) != 0;
}

static void use_token(Entry *entry, int64_t now_ms, Caller *out, bool *out_save)
{
    const Token *token = &entry->token;
    out->scopes = token->scopes;
    out->bound = token->tenant.bytes != 0;
    snprintf(out->tenant, sizeof out->tenant, SLICE_FMT, SLICE_ARG(token->tenant));
    snprintf(out->who, sizeof out->who, "token:" SLICE_FMT, SLICE_ARG(token->name));
    entry->used_ms = now_ms;
    memcpy(entry->used_from, out->from, sizeof entry->used_from);
    *out_save = now_ms - entry->row_columns_ms >= SAVE_EVERY_MS;
    if (*out_save)
        entry->row_columns_ms = now_ms;
}

bool tokens_admit(Tokens *tokens, Slice secret, int64_t now_ms, Caller *out,
                  bool *out_save)
{
    unsigned char hash[TOKEN_HASH_BYTES];
    *out_save = false;
    if (!tokens || !token_formed(secret))
        return false;
    token_hash(secret, hash);
    pthread_mutex_lock(&tokens->lock);
    Entry *entry = map_find(&tokens->by_hash, hash_key(hash));
    bool good = entry && !sodium_memcmp(entry->token.hash.data, hash, sizeof hash) &&
                (!entry->token.expires_ms || entry->token.expires_ms > now_ms);
    if (good)
        use_token(entry, now_ms, out, out_save);
    pthread_mutex_unlock(&tokens->lock);
    return good;
}

bool tokens_reserve(Tokens *tokens, Slice name)
{
    pthread_mutex_lock(&tokens->lock);
    bool is_free = !find(tokens, name);
    if (is_free)
        insert(tokens, name)->reserved = true;
    pthread_mutex_unlock(&tokens->lock);
    return is_free;
}

void tokens_release(Tokens *tokens, Slice name)
{
    pthread_mutex_lock(&tokens->lock);
    const Entry *entry = find(tokens, name);
    if (entry && entry->reserved)
        drop(tokens, name);
    pthread_mutex_unlock(&tokens->lock);
}

void tokens_list(Tokens *tokens, Slice after, TokenSink *sink, void *context)
{
    bool goes_on = tokens != NULL;
    if (!tokens)
        return;
    pthread_mutex_lock(&tokens->lock);
    for (size_t i = after.bytes ? place_of(tokens, after) : 0;
         goes_on && i < tokens->count; i++) {
        const Entry *entry = tokens->entries[i];
        TokenUse use = { entry->used_ms, slice_text(entry->used_from) };
        if (!entry->reserved && !(after.bytes && slice_equal(entry->token.name, after)))
            goes_on = sink(context, &entry->token, &use);
    }
    pthread_mutex_unlock(&tokens->lock);
}
