/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - what a processor is doing, as JSON (S4.34-S4.48, S4.67-S4.73). */
#ifndef PIPELINE_PROCESSOR_STATUS_H
#define PIPELINE_PROCESSOR_STATUS_H

#include "pipeline/forward/broker.h"
#include "pipeline/processor/processor.h"

/* The whole object. */
void processor_json(JsonOut *json, Processor *processor, int64_t boot_ms);
void broker_json(JsonOut *json, Broker *broker, int64_t boot_ms);

/* Units whose processes are there, stopped or not. */
size_t processor_running(const Processor *processor);

/* no-input, have-input, in-progress, completed, failed, paused or halted. */
const char *unit_status(const Processor *processor, const char *unit);

#endif
