/* SPDX-License-Identifier: Apache-2.0 */
/* followup.h - the signal that follows the work on a unit (S4.53, S4.57, S4.58).
 *
 * What is to be sent is kept in .pawl/next/UNIT until the unit is done; then it becomes a
 * job that is tried again until the other processor has answered. */
#ifndef PIPELINE_PROCESSOR_FOLLOWUP_H
#define PIPELINE_PROCESSOR_FOLLOWUP_H

#include "pipeline/processor/processor.h"

/* After `unit` is done, `destination` (a processor's name or id) gets `process UNIT`. */
MUST_CHECK Err next_keep(const Processor *processor, const char *unit, Slice destination,
                         Error *why);

/* The unit is done: sends what was kept for it, if anything. */
void next_send(Processor *processor, const char *unit);

/* After a start: what a crash kept from being sent. */
void next_recover(Processor *processor);

#endif
