/* SPDX-License-Identifier: Apache-2.0 */
/* divide.h - which of several destinations a unit goes to (S4.86). Pure. */
#ifndef PIPELINE_FORWARD_DIVIDE_H
#define PIPELINE_FORWARD_DIVIDE_H

#include "pipeline/forward/plan.h"

#define DIVIDE_DOWN INT64_MAX /* the load of a destination that cannot take anything */

/* `turn` counts the units divided so far; `loads` has what waits at each destination;
 * modes other than least-loaded only look who is down, and may be given NULL. Not for
 * FORWARD_ALL. */
size_t divide(const Forward *forward, const char *unit, uint64_t *turn,
              const int64_t *loads);

#endif
