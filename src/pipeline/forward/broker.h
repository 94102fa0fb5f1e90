/* SPDX-License-Identifier: Apache-2.0 */
/* broker.h - divides the units of a directory among processors (S4.86): a sender whose
 * source is that directory, and which gives units away instead of keeping them. */
#ifndef PIPELINE_FORWARD_BROKER_H
#define PIPELINE_FORWARD_BROKER_H

#include "pipeline/forward/sender.h"
#include "pipeline/trouble.h"

typedef struct Broker {
    struct Broker *next;
    struct Pipeline *pipeline;
    Arena arena; /* holds the plan */
    Plan plan;
    Buckets own; /* only its .pawl: <data>/processors/.brokers/NAME */
    bool open;
    int source_fd;
    int watch;
    Sender sender;
    Troubles troubles;
    size_t backs;         /* units on their way back: reclaim.h */
    int64_t reclaim_boot; /* of the next look for lost nodes */
} Broker;

Broker *broker_new(struct Pipeline *pipeline, const Plan *plan);
MUST_CHECK Err broker_open(Broker *broker, Error *why);
void broker_free(Broker *broker);
bool broker_step(Broker *broker, int64_t boot_ms);

void broker_trouble(Broker *broker, const char *unit, const char *text);

/* A unit that its processor has leaves the source; durable after broker_sync. */
MUST_CHECK Err broker_remove(Broker *broker, const char *unit, Error *why);
MUST_CHECK Err broker_sync(Broker *broker, Error *why);

#endif
