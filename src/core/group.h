/* SPDX-License-Identifier: Apache-2.0 */
/* group.h - jobs that are looked at together: how far they are, and what comes after.
 *
 * How many members are in which state is kept by stores and mirrored by the node. A group
 * may have a definition: the type of the job that is added when every member is final,
 * once. */
#ifndef CORE_GROUP_H
#define CORE_GROUP_H

#include "core/job.h"

#define GROUP_TABLE "group"

typedef struct GroupCounts {
    uint64_t of[JOB_STATES];
} GroupCounts;

uint64_t group_total(const GroupCounts *counts);
uint64_t group_open(const GroupCounts *counts); /* members that are not final */

typedef struct GroupDefinition {
    Slice then;       /* type of the completion job */
    JobId completion; /* it was added; 0: not yet */
    int64_t created_ms;
    int64_t asked_ms; /* when `then` was said: another time, another completion */
} GroupDefinition;

void group_pack(Buf *out, const GroupDefinition *group);
MUST_CHECK Err group_unpack(Slice packed, GroupDefinition *out_group);

/* The same for the same group, another one for any other. */
uint64_t group_number(Slice tenant, Slice name);

/* The payload of the completion job. */
void group_summary(Buf *out, Slice name, const GroupCounts *counts);

#endif
