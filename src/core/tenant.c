/* SPDX-License-Identifier: Apache-2.0 */
/* tenant.c - see tenant.h. */
#include "core/tenant.h"

#include "base/fields.h"

#include <stddef.h>

static const FieldRow rows[] = {
    { 1, offsetof(Tenant, created_ms), FIELD_64 },
    { 2, offsetof(Tenant, segregate_types), FIELD_BOOL },
    { 3, offsetof(Tenant, max_queued), FIELD_64 },
    { 4, offsetof(Tenant, max_running), FIELD_64 },
    { 5, offsetof(Tenant, max_requests), FIELD_64 },
    { 6, offsetof(Tenant, max_bytes), FIELD_64 },
};

static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

void tenant_pack(Buf *out, const Tenant *tenant)
{
    fields_pack(out, &fields, tenant);
}

Err tenant_unpack(Slice packed, Tenant *out_tenant)
{
    Tenant tenant = { 0 };
    if (fields_unpack(packed, &fields, &tenant))
        return ERR_CORRUPT;
    *out_tenant = tenant;
    return ERR_OK;
}
