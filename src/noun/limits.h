/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - numbers that several nouns share. */
#ifndef NOUN_LIMITS_H
#define NOUN_LIMITS_H

#define PRIORITY_MIN     (-2147483648LL) /* for callers; kept in 64 bits */
#define PRIORITY_MAX     2147483647LL
#define PRIORITY_DEFAULT 5

#define RESOURCES_PER_JOB 32 /* that a job, a handler or a queue may name */

#endif
