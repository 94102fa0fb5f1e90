/* SPDX-License-Identifier: Apache-2.0 */
/* tenant.h - what is set for a tenant. Tenants need no definition: one that nobody
 * defined has the defaults. Kept as definitions of TENANT_TABLE under the tenant's name.
 */
#ifndef NOUN_TENANT_H
#define NOUN_TENANT_H

#include "noun/noun.h"

#define TENANT_TABLE     "tenant"
#define TENANT_LIMIT_MAX 1000000000000

typedef struct Tenant {
    int64_t created_ms;    /* when it was first set; 0: never */
    bool segregate_types;  /* each type of its jobs waits in a lane of its own (S2.7);
                              holds for jobs that are added from then on */
    uint64_t max_queued;   /* jobs that wait; 0: no limit, as of the others */
    uint64_t max_running;  /* at once */
    uint64_t max_requests; /* of its tokens, per second, at each node */
    uint64_t max_bytes;    /* of bodies and results that the store keeps */
} Tenant;

extern const Noun tenant_noun;

void tenant_pack(Buf *out, const Tenant *tenant);
MUST_CHECK Err tenant_unpack(Slice packed, Tenant *out_tenant);

#endif
