/* SPDX-License-Identifier: Apache-2.0 */
/* security.h - what the daemon keeps to know who may do what, and how much: one pointer
 * of it. */
#ifndef SERVE_SECURITY_H
#define SERVE_SECURITY_H

#include "core/effect.h"
#include "serve/audit.h"
#include "serve/gate.h"
#include "serve/usage.h"
#include "store/store.h"

typedef struct Security {
    Gate *gate;
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
