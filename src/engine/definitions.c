/* SPDX-License-Identifier: Apache-2.0 */
/* definitions.c - what the parts of the daemon find in the store when it opens, and the
 * definitions of the configuration file, then and at each reload. */
#include "engine/daemon_state.h"
#include "engine/processors.h"

#include "access/security.h"
#include "cluster/retired_nodes.h"
#include "cluster/usage.h"
#include "watch/alerts.h"
#include "watch/notices.h"

Err daemon_open_parts(Daemon *daemon, Error *why)
{
    Store *store = daemon->store;
    declares_home(daemon->declares, processors_home(daemon));
    Err err = store->kind->definitions(store, SLICE_LITERAL(DECLARED_TABLE),
                                       declares_stored, daemon->declares, why);
    if (!err)
        err = store->kind->definitions(store, SLICE_LITERAL(RETIRED_NODES_TABLE),
                                       declares_gone, daemon->declares, why);
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

/* Cut off it cannot know what others have declared meanwhile: when it begins anew. */
void daemon_declare(Daemon *daemon)
{
    if (daemon->offline_start)
        return;
    declares_set(daemon->declares,
                 daemon->options.declared ? *daemon->options.declared : NULL);
}
