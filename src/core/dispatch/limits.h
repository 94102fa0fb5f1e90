/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - who may start: what queues and resource managers say of a lane's jobs.
 *
 * Everyone who starts jobs asks here: the pass for runners, batches for the jobs that
 * join one, claims for pull workers. First node_admit, then the head is taken and
 * node_hold makes it a Running, then node_book; node_let_go gives everything back. Slots
 * of the node are the caller's own affair.
 *
 * A lane that is refused leaves the heap of offers and costs nothing until something
 * changes that could help it: shut lanes when their queue changes, those who wait for a
 * manager when it has room (one at a time, in order), stuck ones at any such time. The
 * rule that all this must keep is in docs/explanation/scheduling.md;
 * scheduler_model_test.c holds the node against a model that looks at every lane in every
 * pass. */
#ifndef CORE_DISPATCH_LIMITS_H
#define CORE_DISPATCH_LIMITS_H

#include "core/node/state.h"
#include "core/resource.h"

/* A resource manager and the lanes in its line. For lanes that come behind one who is in
 * line, or has just been let out of it, the manager counts as full (S3.60): it is kept
 * for the first of those it has refused. */
typedef struct Manager {
    Resource resource;
    uint32_t key; /* of Names */
    bool defined;
    Heap line;
    Lane *next; /* let out of the line to try again */
} Manager;

typedef struct QueueEntry {
    Arena arena;
    QueueDef def;
    uint32_t tenant;
    uint32_t queue;
    uint32_t running; /* attempts that count against its slots */
    bool implied;     /* no one has defined it: this node has slots of its own for it */
    Bucket bucket;
    Lane *shut; /* lanes that wait until it lets something start again */
} QueueEntry;

/* Lanes of one tenant. Where fairness goes by tenant they share a turn: the one that has
 * waited longest is offered, the others wait in `rest`; owed ones are offered beside. */
typedef struct Sisters {
    uint64_t tour; /* of their next turn */
    Lane *front;   /* the one in the node's offers */
    Heap rest;
    Lane *lanes;
} Sisters;

typedef struct Charge {
    Manager *manager;
    int64_t amount;
} Charge;

typedef enum Admit {
    ADMIT_YES,
    ADMIT_SHUT,  /* the queue is paused, full or over its rate */
    ADMIT_WAIT,  /* not enough of `lacking` */
    ADMIT_STUCK, /* no head of the window can start, each for a reason of its own, or all
                    for want of a manager that the queue names and no one has defined */
} Admit;

#define CHARGES_MAX (2 * RESOURCES_PER_JOB)

typedef struct Admission {
    size_t at; /* which head: lane_at, lane_take_at */
    Charge charges[CHARGES_MAX];
    size_t charge_count;
    Manager *lacking;
    int64_t lacks;
    JobId lacked_by; /* the job that was refused for it */
    bool wavers;     /* the answer may change without more of `lacking` */
    bool pinned;     /* someone is acting on the job that may start */
} Admission;

/* The first job of the lane that may start now. */
Admit node_admit(Node *node, Lane *lane, Admission *out);

/* Whether just this head may start now: for batches and claims. It must not be pinned.
 * ADMIT_STUCK: for a reason of its own. */
Admit node_admit_at(Node *node, Lane *lane, size_t at, Admission *out);

/* Charges a job that was admitted: its managers, its queue, its rate. Fills
 * running->bookings, which go into the OP_CLAIM. */
void node_book(Node *node, Running *running, const Admission *admission);
void node_unbook(Node *node, Running *running); /* by node_let_go */

/* After a restart: what the store says it holds. */
void node_book_loaded(Node *node, Running *running, Slice bookings);

/* --- Lanes that cannot be offered ----------------------------------------------------
 */

/* Into a heap of lanes. Its first head must not change while it is there. */
void node_lane_put(Heap *heap, Lane *lane);
/* The lane had so many turns, and, where fairness goes by tenant, its sisters with it. */
void node_lane_took(Node *node, Lane *lane, uint32_t turns);
/* Fairness is another now: all that are offered are put where they belong. */
void node_lanes_sort(Node *node);
/* Out of whichever heap it is in. Before anything that may change its first head. */
void node_lane_out(Node *node, Lane *lane);
/* Into the heap where it belongs: offers, or the line of the manager it waits for. */
void node_lane_in(Node *node, Lane *lane);
/* The lane goes away. */
void node_lane_forget_limits(Node *node, Lane *lane);
/* What becomes of a lane that was offered. */
void node_lane_refused(Node *node, Lane *lane, Admit admit, const Admission *admission);
void node_lane_started(Node *node, Lane *lane);
void node_line_moves(Node *node, Manager *manager);   /* it has more room */
void node_queue_opens(Node *node, QueueEntry *entry); /* if it was shut */
void node_unstick(Node *node);
/* A job of this lane has booked something: expected ends have moved, a manager may be
 * empty, or is not kept for it any more. Stuck lanes are asked again: those whose turn in
 * this pass is yet to come now, others in the next. */
void node_lane_booked(Node *node, const Lane *by);
/* By the clock: pauses that are over, rates that allow the next. */
void node_limits_duties(Node *node);
int64_t node_limits_wake(const Node *node); /* boot time, or TIME_NEVER */

/* --- Definitions ---------------------------------------------------------------------
 */

QueueEntry *node_queue_find(const Node *node, uint32_t tenant, uint32_t queue);
/* The same; made if no one has defined it and this node has slots of its own for it. */
QueueEntry *node_queue_here(Node *node, uint32_t tenant, uint32_t queue);
/* Whether the queue's slots are this node's own word. */
bool node_queue_slots_own(const Node *node, const QueueEntry *entry);
Manager *node_manager_find(const Node *node, Slice key);     /* NULL: not defined */
bool node_queue_charges(const QueueEntry *entry, Slice key); /* entry may be NULL */
uint32_t node_queue_slots(const Node *node, const QueueEntry *entry); /* MAX: no limit */
uint32_t node_slots(const Node *node); /* of this node, its own override counted */
void node_define_queue(Node *node, const Event *event);
void node_define_resource(Node *node, const Event *event);
void node_define_slots(Node *node, const Event *event);
void node_load_queue(Node *node, const Definition *definition);
void node_load_resource(Node *node, const Definition *definition);
void node_load_slots(Node *node, const Definition *definition);
void node_limits_free(Node *node);
void node_limits_check(const Node *node);

/* --- New jobs ------------------------------------------------------------------------
 */

/* Priority where none was said, and resources of handler and job together. `open`: the
 * job said no priority; handler may be NULL. */
void node_fill_limits(Node *node, Job *job, const Handler *handler, bool open);

/* For jobs that no one can be told about: the nearest priority their queue takes. */
int64_t node_clamp_priority(const Node *node, const Job *job);

/* Why a new job, or a changed one, cannot be taken: a problem's code, and a sentence in
 * *detail. NULL: it can. */
const char *node_refuses(Node *node, const Job *job, Buf *detail);

#endif
