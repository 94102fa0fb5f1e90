/* SPDX-License-Identifier: Apache-2.0 */
/* tenant_read.c - see tenant_read.h. */
#include "model/tenant_read.h"

#include "base/text.h"

#define WRITTEN_AT 1 /* any time but never: the node puts in its own */

#define LIMIT_MAX 1000000000000

static Err read_limit(const JsonIn *value, const char *name, uint64_t *out, Problem *why)
{
    int64_t number;
    if (json_in_int(value, &number) || number < 0 || number > LIMIT_MAX)
        return problem_set(why, "invalid_value",
                           "%s must be a number from 0 (no limit) to %lld", name,
                           (long long)LIMIT_MAX);
    *out = (uint64_t)number;
    return ERR_OK;
}

static Err read_field(const JsonIn *at, Tenant *tenant, Problem *why)
{
    static const char *const fields[] = { "segregate_types", "max_queued", "max_running",
                                          "max_requests",    "max_bytes",  NULL };
    if (slice_is(at->key, fields[0]))
        return json_in_bool(at, &tenant->segregate_types)
                   ? problem_set(why, "wrong_type", "%s must be true or false, not %s",
                                 fields[0], json_in_kind_name(at->kind))
                   : ERR_OK;
    uint64_t *const limits[] = { &tenant->max_queued, &tenant->max_running,
                                 &tenant->max_requests, &tenant->max_bytes };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (slice_is(at->key, fields[i + 1]))
            return read_limit(at, fields[i + 1], limits[i], why);
    const char *nearest = nearest_word(at->key, fields);
    problem_set(why, "unknown_field", "a tenant has no field '" SLICE_FMT "'",
                SLICE_ARG(at->key));
    if (nearest)
        problem_hint(why, "did you mean '%s'?", nearest);
    return ERR_INVALID;
}

Err tenant_read(const JsonIn *object, Tenant *out_tenant, Problem *why)
{
    static const char *const ours[] = { "name", "created_at",   "declared",
                                        "jobs", "stored_bytes", NULL };
    Tenant tenant = { .created_ms = WRITTEN_AT };
    if (object->kind != JSON_IN_OBJECT)
        return problem_set(why, "wrong_type", "a tenant must be an object, not %s",
                           json_in_kind_name(object->kind));
    for (const JsonIn *at = json_in_first(object); at; at = at->next) {
        size_t our = 0;
        while (ours[our] && !slice_is(at->key, ours[our]))
            our++;
        if (ours[our] || at->kind == JSON_IN_NULL || !read_field(at, &tenant, why))
            continue;
        problem_point(why, at->key);
        return ERR_INVALID;
    }
    *out_tenant = tenant;
    return ERR_OK;
}
