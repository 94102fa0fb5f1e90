/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - see store.h: from a url to one of the kinds. */
#include "store/store.h"

#include "store/memory.h"
#include "store/sqlite.h"

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
    return error_set(why, ERR_UNSUPPORTED,
                     "store: '%s' is none that this pawl knows; write sqlite:PATH", url);
}

void loaded_done(Loaded *loaded)
{
    arena_done(&loaded->arena);
    mem_free(loaded->jobs);
    mem_free(loaded->letters);
    *loaded = (Loaded){ 0 };
}
