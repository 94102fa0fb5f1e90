/* SPDX-License-Identifier: Apache-2.0 */
/* security.c - see security.h. */
#include "serve/security.h"

typedef struct Loading {
    Security *security;
    Slice table;
} Loading;

static void stored(void *context, const Definition *definition)
{
    const Loading *loading = context;
    gate_defined(loading->security->gate, loading->table, definition->key,
                 definition->value);
}

Err security_open(Store *store, Security **out, Error *why)
{
    static const char *const tables[] = { TOKEN_TABLE, TOKEN_USES };
    Security *security = MEM_NEW(Security);
    Err err = ERR_OK;
    security->gate = gate_new();
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !err; i++) {
        Loading loading = { security, slice_text(tables[i]) };
        err = store->kind->definitions(store, loading.table, stored, &loading, why);
    }
    if (err) {
        security_close(security);
        return err;
    }
    *out = security;
    return ERR_OK;
}

void security_close(Security *security)
{
    if (!security)
        return;
    gate_free(security->gate);
    mem_free(security);
}

void security_defined(Security *security, const Effect *effect)
{
    gate_defined(security->gate, effect->table, effect->key, effect->value);
}
