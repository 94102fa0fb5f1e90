/* SPDX-License-Identifier: Apache-2.0 */
/* tenant.h - what a tenant has. What is set for one is in noun/tenant.h. */
#ifndef CORE_TENANT_H
#define CORE_TENANT_H

#include "noun/tenant.h"

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

#endif
