/* SPDX-License-Identifier: Apache-2.0 */
/* scope.h - what a caller may do. Each route of routes.h needs one scope. */
#ifndef ACCESS_SCOPE_H
#define ACCESS_SCOPE_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum Scope {
    SCOPE_NONE,    /* needs no one's leave */
    SCOPE_READ,    /* see jobs, definitions, numbers */
    SCOPE_ENQUEUE, /* add jobs */
    SCOPE_WORK,    /* take jobs and finish them */
    SCOPE_OPERATE, /* act on jobs, pause queues */
    SCOPE_ADMIN,   /* definitions and settings; has all the others in it */
} Scope;
#define SCOPES (SCOPE_ADMIN + 1)

typedef uint32_t Scopes; /* of bits */
#define SCOPE_BIT(scope) (1u << (scope))
#define SCOPES_ALL       (SCOPE_BIT(SCOPES) - 2u)

const char *scope_name(Scope scope);

/* The scope of that name, other than none. */
bool scope_find(Slice name, Scope *out);

bool scopes_allow(Scopes scopes, Scope needed);

#endif
