/* SPDX-License-Identifier: Apache-2.0 */
/* node_harness_links.h - what the rig's store knows of jobs that have to do with each
 * other.
 */
#ifndef TESTING_NODE_HARNESS_LINKS_H
#define TESTING_NODE_HARNESS_LINKS_H

#include "testing/node_harness.h"

/* Where a child stands; *out_any: at least one parent has ended. */
AfterCount rig_count_waits(Rig *rig, JobId child, bool *out_any);
void rig_settle_waits(Rig *rig, JobId child, const Slice *list); /* NULL: all */
void rig_add_waits(Rig *rig, JobId child, Slice list, RigWait how);
void rig_change_waits(Rig *rig, const Job *job, const Op *op, uint32_t had);
void rig_parent_again(Rig *rig, JobId parent); /* it is not final any more */
void rig_parent_goes(Rig *rig, const Job *parent);

/* Of the jobs that wait those with something to look at. */
size_t rig_keep_ended(Rig *rig, const Job **jobs, size_t count, AfterCount *out);

/* Answers to WANT_UNIQUE and WANT_MATCH. */
void rig_look_up_keys(Rig *rig, const Effect *effect, RigAnswer *answer);
void rig_look_up_matches(Rig *rig, const Effect *effect, RigAnswer *answer);
void rig_look_up_owed(Rig *rig, RigAnswer *answer); /* WANT_OWED */

#endif
