/* SPDX-License-Identifier: Apache-2.0 */
/* tenant.c - see tenant.h. */
#include "noun/tenant.h"

#include "base/text.h"
#include "noun/facts.h"

#define WRITTEN_AT 1 /* any time but never: the node puts in its own */

#define AT(tag, member, kind) STORED(Tenant, tag, member, kind)
#define LIMIT(field, tag, word, sentence)                                                \
    {                                                                                    \
        .name = #field, .stored = AT(tag, field, FIELD_64), .type = AS_COUNT,            \
        .use = USE_BOTH, .most = TENANT_LIMIT_MAX, .option = (word),                     \
        .meaning = (sentence)                                                            \
    }

static const Field fields[] = {
    { .name = "name", .type = AS_OWN_NAME, .use = USE_SHOWN, .meaning = "of the tenant" },
    { .name = "segregate_types",
      .stored = AT(2, segregate_types, FIELD_BOOL),
      .type = AS_BOOL,
      .use = USE_BOTH,
      .option = "segregate-types",
      .meaning = "each type of its jobs has its own turn" },
    LIMIT(max_queued, 3, "max-queued", "jobs that may wait; 0: any number"),
    LIMIT(max_running, 4, "max-running", "jobs that may run at once; 0: any number"),
    LIMIT(max_requests, 5, "max-requests",
          "requests of its tokens per second, at each node; 0: any number"),
    LIMIT(max_bytes, 6, "max-bytes",
          "bytes of bodies and results that are kept; 0: any number"),
    { .name = "created_at",
      .stored = AT(1, created_ms, FIELD_64),
      .type = AS_TIME,
      .use = USE_SHOWN,
      .meaning = "when it was first set" },
    FACT_DECLARED,
    { .name = "jobs",
      .type = AS_FACT,
      .use = USE_SHOWN,
      .schema = SCHEMA_COUNTS,
      .meaning = "how many there are of it, by state" },
    { .name = "stored_bytes",
      .type = AS_FACT,
      .use = USE_SHOWN,
      .schema = SCHEMA_COUNT,
      .meaning = "bytes of the bodies and results of its jobs" },
};
#undef AT

NOUN_STORED(tenant, fields, NULL)

static Err check_tenant(NounIn *in)
{
    Tenant *tenant = in->object;
    if (!tenant->created_ms)
        tenant->created_ms = WRITTEN_AT;
    return ERR_OK;
}

const Noun tenant_noun = {
    .name = "tenant",
    .a = "a tenant",
    .plural = "tenants",
    .section = "tenants",
    .table = TENANT_TABLE,
    .missing = "tenant_not_found",
    .fields = fields,
    .count = NOUN_COUNT(fields),
    .bytes = sizeof(Tenant),
    .stored = &tenant_stored,
    .name_valid = tenant_name_valid,
    .undefined = true,
    .check = check_tenant,
};

void tenant_pack(Buf *out, const Tenant *tenant)
{
    noun_pack(out, &tenant_noun, tenant);
}

Err tenant_unpack(Slice packed, Tenant *out_tenant)
{
    Tenant tenant;
    Err err = noun_unpack(packed, &tenant_noun, &tenant);
    if (!err)
        *out_tenant = tenant;
    return err;
}
