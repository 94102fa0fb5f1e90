/* SPDX-License-Identifier: Apache-2.0 */
/* sender.h - carries units from one directory to their destinations: the forwarder of a
 * processor (from output/finished) and a broker (from its source directory).
 *
 * To another machine a transfer is a job of the queue forward:NAME that runs a shell
 * script (transfer.h); on this node threads do it (carrier.h), and a broker only renames
 * where it can. What must hold: one transfer at a time for a unit and a destination; a
 * delivery is marked durably before anything forgets it; which destination a unit was
 * given to is written down before the first byte goes (marks.h); so after any crash the
 * directory is looked through again and nothing is lost, forgotten or given to two. */
#ifndef PIPELINE_FORWARD_SENDER_H
#define PIPELINE_FORWARD_SENDER_H

#include "core/job.h"
#include "pipeline/forward/carrier.h"
#include "pipeline/processor/marks.h"
#include "pipeline/processor/rate.h"

#define FORWARD_QUEUE "forward:"
#define FORWARD_TYPE  "forward"

typedef struct Transfer {
    struct Transfer *next;
    JobId job;       /* 0: it is carried, or has not begun */
    uint64_t number; /* of what is carried */
    bool begun;
    bool carried;   /* by a thread, not by a job */
    size_t forward; /* whose slot it takes */
    size_t place;
    char delivery[DELIVERY_BYTES]; /* which state of the unit */
    char unit[UNIT_BYTES_MAX + 1];
} Transfer;

typedef struct Leaving { /* every destination has it */
    const Place *last;   /* that got it just now and has no mark; NULL: all have */
    char delivery[DELIVERY_BYTES];
    char unit[UNIT_BYTES_MAX + 1];
} Leaving;
#define LEAVING_MAX 64 /* leave the source together */

typedef struct PlaceState { /* of each destination, in the order of the plan */
    unsigned failures;      /* in a row */
    int64_t try_boot;       /* not before */
    uint64_t given;         /* transfers that began and did not fail */
    uint64_t delivered;
} PlaceState;

typedef struct Refusal { /* a unit that the destination has already, from elsewhere */
    uint64_t unit;       /* hash of unit and key */
    int64_t until_boot;
} Refusal;
#define REFUSALS_MAX 256

typedef struct Sender {
    struct Pipeline *pipeline;
    struct Processor *processor; /* NULL: a broker's */
    struct Broker *broker;
    const Plan *plan;
    Buckets *buckets; /* whose .pawl keeps the marks */
    int source_fd;
    char source_dir[4096];
    char queue[sizeof FORWARD_QUEUE + 128];
    char id[256]; /* who sends */
    Transfer *transfers;
    Leaving *leaving;
    size_t leaving_count;
    size_t *in_flight;   /* jobs, by forward */
    size_t *carried;     /* what carriers have, by forward */
    bool *routed;        /* routes to be synced, by forward */
    bool gave;           /* renames of a broker to be synced */
    uint64_t *turns;     /* round-robin, by forward */
    PlaceState **states; /* by forward and place */
    Refusal refusals[REFUSALS_MAX];
    size_t refusal_next;
    BucketWalk walk;
    bool ready;
    Rate rate;
} Sender;

void sender_init(Sender *sender);
/* Takes over jobs that run, drops marks of units that are gone. */
MUST_CHECK Err sender_open(Sender *sender, Error *why);
void sender_close(Sender *sender);

/* Looks through the source, begins what can begin. True: there is more to do at once. */
bool sender_step(Sender *sender, int64_t boot_ms);
void sender_note(Sender *sender, JobId id, JobState state, int64_t boot_ms);

/* False: it is no order of this sender. */
bool sender_carried(Sender *sender, const CarryOrder *order, int64_t boot_ms);

/* After notes and carried orders: what they let go leaves the source, together. */
void sender_settle(Sender *sender, int64_t boot_ms);

/* Transfers in hand, of a unit or (NULL) of all. */
size_t sender_busy(const Sender *sender, const char *unit);

/* A unit (NULL: all of them) will be made anew: its marks and routes go. */
void sender_forget(Sender *sender, const char *unit);

#endif
