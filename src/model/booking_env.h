/* SPDX-License-Identifier: Apache-2.0 */
/* booking_env.h - what a running job is told of the resources that it holds. */
#ifndef MODEL_BOOKING_ENV_H
#define MODEL_BOOKING_ENV_H

#include "base/buf.h"

/* PAWL_RESOURCE_<KEY>_ITEMS and JQM_RM_DISCRETE_<KEY>_ITEMS for everything that is held
 * by name, each ended by NUL (S3.36, S3.45). */
void booking_env(Slice bookings, Buf *env);

#endif
