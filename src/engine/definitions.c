/* SPDX-License-Identifier: Apache-2.0 */
/* definitions.c - definitions on their way into the node: those of the store when the
 * daemon opens, those of the configuration file then and at each reload. */
#include "engine/daemon_state.h"
#include "engine/processors.h"

#include "access/security.h"
#include "cluster/retired_nodes.h"
#include "cluster/usage.h"
#include "store/held_jobs.h"
#include "watch/alerts.h"
#include "watch/notices.h"

typedef struct StoredTable {
    Node *node;
    Slice table;
} StoredTable;

static void stored_definition(void *context, const Definition *definition)
{
    const StoredTable *stored = context;
    node_load_definition(stored->node, stored->table, definition);
}

static void stored_group(void *context, const GroupCount *count)
{
    node_load_group(context, count->tenant, count->name, count->state, count->count);
}

Err daemon_load_definitions(Daemon *daemon, Error *why)
{
    Store *store = daemon->store;
    const char *table;
    Err err = ERR_OK;
    for (size_t i = 0; !err && (table = node_definitions(i)); i++) {
        StoredTable stored = { daemon->node, slice_text(table) };
        err = store->kind->definitions(store, stored.table, stored_definition, &stored,
                                       why);
    }
    declares_home(daemon->declares, processors_home(daemon));
    if (!err)
        err = store->kind->definitions(store, SLICE_LITERAL(DECLARED_TABLE),
                                       declares_stored, daemon->declares, why);
    if (!err)
        err = store->kind->definitions(store, SLICE_LITERAL(RETIRED_NODES_TABLE),
                                       declares_gone, daemon->declares, why);
    if (!err)
        err = store->kind->groups(store, NULL, stored_group, daemon->node, why);
    if (!err)
        err = usage_load(daemon, store, why);
    if (!err)
        err = alerts_open(daemon, why);
    if (!err)
        err = security_open(daemon, store, daemon->options.audit_keep_ms,
                            &daemon->security, why);
    if (!err)
        err = notices_open(daemon, why);
    return err;
}

static void stored_version(void *context, const Definition *definition)
{
    node_load_version(context, definition);
}

Err daemon_load_versions(Daemon *daemon, Error *why)
{
    if (!node_wants_versions(daemon->node))
        return ERR_OK;
    return daemon->store->kind->definitions(daemon->store,
                                            SLICE_LITERAL(HANDLER_VERSIONS),
                                            stored_version, daemon->node, why);
}

/* Cut off it cannot know what others have declared meanwhile: when it begins anew. */
void daemon_declare(Daemon *daemon)
{
    if (daemon->offline_start)
        return;
    declares_set(daemon->declares,
                 daemon->options.declared ? *daemon->options.declared : NULL);
}

typedef struct Held {
    Node *node;
    uint32_t owner;
} Held;

static void take_held(void *context, const Job *job)
{
    const Held *held = context;
    if (!held->owner || job_owner(job) == held->owner)
        node_load_held(held->node, job);
}

/* They count for the wait of their lanes. */
Err daemon_load_held(Daemon *daemon, uint32_t owner, Error *why)
{
    Held held = { daemon->node, owner };
    JobSink sink = { take_held, &held };
    return held_jobs_each(daemon->store, &sink, why);
}
