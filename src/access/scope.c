/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c - see scope.h. */
#include "access/scope.h"

static const char *const names[SCOPES] = {
    [SCOPE_NONE] = "none", [SCOPE_READ] = "read",       [SCOPE_ENQUEUE] = "enqueue",
    [SCOPE_WORK] = "work", [SCOPE_OPERATE] = "operate", [SCOPE_ADMIN] = "admin",
};

const char *scope_name(Scope scope)
{
    return names[scope];
}

bool scope_find(Slice name, Scope *out)
{
    for (Scope scope = SCOPE_READ; scope < SCOPES; scope++) {
        if (!slice_is(name, names[scope]))
            continue;
        *out = scope;
        return true;
    }
    return false;
}

bool scopes_allow(Scopes scopes, Scope needed)
{
    return needed == SCOPE_NONE ||
           (scopes & (SCOPE_BIT(needed) | SCOPE_BIT(SCOPE_ADMIN)));
}
