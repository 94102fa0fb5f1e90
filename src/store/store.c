/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - see store.h: from a url to one of the kinds. */
#include "store/store.h"

#include "store/memory/memory.h"
#include "store/postgres/checkup.h"
#include "store/postgres/postgres.h"
#include "store/sqlite/sqlite.h"

Err store_open(const char *url, const StoreOptions *options, Store **out, Error *why)
{
    Slice rest = slice_text(url);
    const Slice sqlite = SLICE_LITERAL("sqlite:");
    if (slice_is(rest, "memory:")) {
        if (options->read_only)
            return error_set(why, ERR_UNSUPPORTED,
                             "store: what is in memory has no second handle");
        *out = store_memory_new();
        return ERR_OK;
    }
    if (slice_starts(rest, sqlite) && rest.bytes > sqlite.bytes)
        return store_sqlite_open(url + sqlite.bytes, options, out, why);
    if (postgres_is_url(url))
        return store_postgres_open(url, options, out, why);
    return error_set(why, ERR_UNSUPPORTED,
                     "store: '%s' is none that this pawl knows; write sqlite:PATH or "
                     "postgresql://HOST/DATABASE",
                     url);
}

/* Of USER:PASSWORD@ the part between colon and at sign; of parameters the password's. */
void store_url_shown(const char *url, Buf *out)
{
    const char *rest = strstr(url, "://");
    rest = rest ? rest + 3 : url;
    size_t authority = strcspn(rest, "/?");
    const char *at = NULL;
    for (size_t i = 0; i < authority; i++)
        if (rest[i] == '@')
            at = rest + i;
    const char *colon = at ? memchr(rest, ':', (size_t)(at - rest)) : NULL;
    buf_add(out, url, (size_t)((colon ? colon : rest) - url));
    rest = colon ? at : rest;
    for (const char *secret; (secret = strstr(rest, "password="));) {
        buf_add(out, rest, (size_t)(secret - rest));
        buf_add_text(out, "password=...");
        rest = secret + strcspn(secret, "&");
    }
    buf_add_text(out, rest);
}

void loaded_done(Loaded *loaded)
{
    arena_done(&loaded->arena);
    mem_free(loaded->jobs);
    mem_free(loaded->letters);
    *loaded = (Loaded){ 0 };
}
