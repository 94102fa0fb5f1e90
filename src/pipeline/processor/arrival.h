/* SPDX-License-Identifier: Apache-2.0 */
/* arrival.h - units that an rsync daemon received: it can write, but not rename.
 *
 * The sender uploads to input/receive/UNIT and then a mark, input/receive/.arrived/UNIT,
 * that says which delivery is whole. Here the mark is honoured: once for each delivery,
 * and never over a unit that came from elsewhere. */
#ifndef PIPELINE_PROCESSOR_ARRIVAL_H
#define PIPELINE_PROCESSOR_ARRIVAL_H

#include "pipeline/processor/processor.h"

void arrivals_take(Processor *processor);

/* Records of deliveries that are a week old go, some at each call. */
void arrivals_tidy(Processor *processor, Now now);

#endif
