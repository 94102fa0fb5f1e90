/* SPDX-License-Identifier: Apache-2.0 */
/* run_as.h - whether jobs of a tenant may run as an account, asked when they come.
 *
 * The launcher decides again at each start, by the same file: see launch/policy.h. */
#ifndef MODEL_RUN_AS_H
#define MODEL_RUN_AS_H

#include "base/slice.h"
#include "noun/problem.h"

/* ERR_INVALID with the problem run_as_not_allowed, and why. Any thread. */
MUST_CHECK Err user_check(Slice tenant, Slice user, Problem *why);

#endif
