/* SPDX-License-Identifier: Apache-2.0 */
/* security.h - what the daemon keeps to know who may do what, and how much: one pointer
 * of it. */
#ifndef ACCESS_SECURITY_H
#define ACCESS_SECURITY_H

#include "access/audit.h"
#include "access/tokens.h"
#include "cluster/usage.h"
#include "core/effect.h"
#include "store/store.h"

typedef struct Security {
    Tokens *tokens;
    Audit *audit;
    Usage *usage;
} Security;

/* With what the store holds. */
MUST_CHECK Err security_open(Daemon *daemon, Store *store, int64_t audit_keep_ms,
                             Security **out, Error *why);
void security_close(Security *security); /* NULL does nothing */

/* EFFECT_DEFINED. */
void security_defined(Security *security, const Effect *effect);

#endif
