/* SPDX-License-Identifier: Apache-2.0 */
/* security.c - see security.h. */
#include "access/security.h"

#include "config/settings.h"
#include "core/node/node.h"
#include "engine/processors.h"
#include "noun/alert_rule.h"

typedef struct Loading {
    Security *security;
    Slice table;
} Loading;

static void stored(void *context, const Definition *definition)
{
    const Loading *loading = context;
    tokens_defined(loading->security->tokens, loading->table, definition->key,
                   definition->value);
    audit_known(loading->security->audit, loading->table, definition->tenant,
                definition->key, definition->value);
}

static Err load(Security *security, Store *store, const char *table, Error *why)
{
    Loading loading = { security, slice_text(table) };
    return store->kind->definitions(store, loading.table, stored, &loading, why);
}

Err security_open(Daemon *daemon, Store *store, int64_t audit_keep_ms, Security **out,
                  Error *why)
{
    static const char *const tables[] = { TOKEN_TABLE, TOKEN_USES, ALERT_TABLE,
                                          SETTINGS_TABLE, PROCESSOR_TABLE };
    Security *security = MEM_NEW(Security);
    const char *table;
    Err err = ERR_OK;
    security->tokens = tokens_new();
    security->audit = audit_new(daemon, audit_keep_ms);
    security->usage = usage_new(daemon);
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !err; i++)
        err = load(security, store, tables[i], why);
    for (size_t i = 0; !err && (table = node_definitions(i)); i++)
        err = load(security, store, table, why);
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
    tokens_free(security->tokens);
    audit_free(security->audit);
    usage_free(security->usage);
    mem_free(security);
}

void security_defined(Security *security, const Effect *effect)
{
    tokens_defined(security->tokens, effect->table, effect->key, effect->value);
}
