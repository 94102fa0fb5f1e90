/* SPDX-License-Identifier: Apache-2.0 */
/* unit.h - the way of a unit through the buckets of a processor: claimed, run, ended. */
#ifndef PIPELINE_PROCESSOR_UNIT_H
#define PIPELINE_PROCESSOR_UNIT_H

#include "pipeline/processor/processor.h"

/* Units beyond the slots that may be in hand because they are halted or wait for their
 * next try. */
#define UNITS_APART_MAX 1000

/* Claims as many as there is room for. True: there may be more. */
bool units_claim(Processor *processor, int64_t boot_ms);

/* The renames of units whose jobs have ended. */
void units_finish(Processor *processor, int64_t boot_ms);

/* Takes over live jobs, and decides on every unit in `input/active` without one. */
MUST_CHECK Err units_recover(Processor *processor, Error *why);

/* What is in output/processing of no unit in hand gets its place, or goes. */
void units_sweep_output(Processor *processor);

/* Units that take a slot. */
size_t units_busy(const Processor *processor);

/* The unit is no longer in hand; frees it. */
void unit_drop(Processor *processor, Unit *unit);

/* Undoes the run of a unit without a live job: output gone, input back in work. */
MUST_CHECK Err unit_back(Processor *processor, const char *name, Error *why);

/* The unit of a job of ours: PAWL_UNIT in its environment. */
bool unit_of_job(const Job *job, char out_name[UNIT_BYTES_MAX + 1]);

#endif
