/* SPDX-License-Identifier: Apache-2.0 */
/* meters.h - processors and brokers as Prometheus text. Labels are bounded: after
 * METERS_MAX processors the rest are one, named "other". */
#ifndef PIPELINE_PROCESSOR_METERS_H
#define PIPELINE_PROCESSOR_METERS_H

#include "pipeline/forward/broker.h"
#include "pipeline/processor/processor.h"

#define METERS_MAX 100

void meters_write(Buf *out, Processor *processors, const Broker *brokers,
                  int64_t boot_ms);

#endif
