/* SPDX-License-Identifier: Apache-2.0 */
/* tenant_read.c - see tenant_read.h. */
#include "serve/tenant_read.h"

#include "base/text.h"

#define WRITTEN_AT 1 /* any time but never: the node puts in its own */

Err tenant_read(const JsonIn *object, Tenant *out_tenant, Problem *why)
{
    static const char *const fields[] = { "segregate_types", NULL };
    static const char *const ours[] = { "name", "created_at", "declared", "jobs", NULL };
    Tenant tenant = { .created_ms = WRITTEN_AT };
    if (object->kind != JSON_IN_OBJECT)
        return problem_set(why, "wrong_type", "a tenant must be an object, not %s",
                           json_in_kind_name(object->kind));
    for (const JsonIn *at = json_in_first(object); at; at = at->next) {
        size_t our = 0;
        while (ours[our] && !slice_is(at->key, ours[our]))
            our++;
        if (ours[our] || at->kind == JSON_IN_NULL)
            continue;
        const char *nearest = nearest_word(at->key, fields);
        if (!slice_is(at->key, fields[0])) {
            problem_set(why, "unknown_field", "a tenant has no field '" SLICE_FMT "'",
                        SLICE_ARG(at->key));
            if (nearest)
                problem_hint(why, "did you mean '%s'?", nearest);
        } else if (json_in_bool(at, &tenant.segregate_types)) {
            problem_set(why, "wrong_type", "%s must be true or false, not %s", fields[0],
                        json_in_kind_name(at->kind));
        } else {
            continue;
        }
        problem_point(why, at->key);
        return ERR_INVALID;
    }
    *out_tenant = tenant;
    return ERR_OK;
}
