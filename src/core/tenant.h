/* SPDX-License-Identifier: Apache-2.0 */
/* tenant.h - what is set for a tenant. Tenants need no definition: one that nobody
 * defined has the defaults. Kept as definitions of TENANT_TABLE under the tenant's name.
 */
#ifndef CORE_TENANT_H
#define CORE_TENANT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

#define TENANT_TABLE "tenant"

typedef struct Tenant {
    int64_t created_ms;    /* when it was first set; 0: never */
    bool segregate_types;  /* each type of its jobs waits in a lane of its own (S2.7);
                              holds for jobs that are added from then on */
    uint64_t max_queued;   /* jobs that wait; 0: no limit, as of the others */
    uint64_t max_running;  /* at once */
    uint64_t max_requests; /* of its tokens, per second, at each node */
    uint64_t max_bytes;    /* of bodies and results that the store keeps */
} Tenant;

/* What a tenant has in the store. Jobs are told as what the commits of this node have
 * made of them and what those of others have: the sum counts, a part may be negative. On
 * a store that is not shared everything is here. */
typedef struct TenantUse {
    Slice tenant;
    int64_t bytes; /* of the bodies and results of all its jobs */
    int64_t queued_here;
    int64_t queued_elsewhere;
    int64_t running_here;
    int64_t running_elsewhere;
} TenantUse;

void tenant_pack(Buf *out, const Tenant *tenant);
MUST_CHECK Err tenant_unpack(Slice packed, Tenant *out_tenant);

#endif
