/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - the pure core of one daemon: events in, operations and effects out.
 *
 * node_step() decides; it changes nothing but its own memory, reads no clock and draws
 * luck only from its own seeded generator. What it holds in memory: the heads of the
 * lanes (bounded windows of ready jobs), the attempts that run here, and what is under
 * way with the store. Everything else is in the store.
 *
 * What must hold after each step (node_check):
 *   N1  every attempt held is in a slot, but for those of pull workers; a slot in use
 *       holds one attempt, or those of one warm context; never more slots than the
 *       setting allows to start.
 *   N2  a job is in at most one of: a lane's window, the running attempts.
 *   N3  windows are sorted, and hold every ready job of their lane up to their last key,
 *       or know that there are more.
 *   N4  every effect that shows the outside a decision waits for that decision. */
#ifndef CORE_NODE_NODE_H
#define CORE_NODE_NODE_H

#include "base/text.h"
#include "core/controller.h"
#include "core/effect.h"
#include "core/group.h"
#include "core/handler.h"

typedef struct Node Node;

/* What becomes of failed and rejected jobs. */
typedef enum Fate {
    FATE_KEEP,   /* they can be looked at and retried until they are too old */
    FATE_DELETE, /* 000's literal behaviour */
} Fate;

typedef struct NodeSettings {
    uint32_t slots;             /* max-concurrent-jobs of this node */
    bool enabled;               /* 000's switch: false starts nothing */
    int64_t grace_ms;           /* between TERM and KILL */
    int64_t lease_ms;           /* job-stale-interval */
    int64_t poll_ms;            /* a pass at least this often (S3.50) */
    int64_t retry_delay_ms;     /* first delay; doubles ... */
    int64_t retry_delay_max_ms; /* ... up to this */
    int64_t retry_window_ms;    /* from the end of the first attempt */
    int64_t keep_done_ms;       /* archive ages */
    int64_t keep_other_ms;
    int64_t controller_stale_ms;            /* for nodes that share a store */
    char error_handler[NAME_BYTES_MAX + 1]; /* type of the error-handler job, or "" */
    Fate on_error;
    uint32_t chain_max;   /* `then` steps in a row; 0: without end */
    bool fair_tenants;    /* fairness = tenant: each tenant one offer per tour */
    uint32_t window_jobs; /* heads kept per lane; 0: chosen by number of lanes */
} NodeSettings;

NodeSettings node_settings_default(void);

typedef struct NodeOptions {
    Slice sysid;
    uint16_t number; /* in job ids */
    uint64_t seed;   /* of its generator: jitter */
    JobId last_id;   /* the largest known of this node */
    uint64_t turn;   /* number of the last turn in journal or store */
    bool shared;     /* other nodes work on the same store */
    NodeSettings settings;
} NodeOptions;

Node *node_new(const NodeOptions *options);
void node_free(Node *node);

/* What the store holds at the start, before the first step: attempts recorded as running
 * here, and one ready job of every lane. node_recovered() closes it: attempts that were
 * not adopted until then are lost (and given back uncharged in the first step). */
void node_load_running(Node *node, const Job *job);
/* Whether one of them runs with a version of its handler that is not the newest: then
 * every row of HANDLER_VERSIONS is to be loaded. */
bool node_wants_versions(const Node *node);
void node_load_version(Node *node, const Definition *definition);
void node_load_lane(Node *node, const Job *head);
void node_load_held(Node *node, const Job *job); /* as many as are worth it */
bool node_adopt(Node *node, JobId id, uint32_t attempt, Now now); /* false: unknown */
/* Definitions of the tables that the node itself looks at: their names by number, NULL
 * behind the last. */
const char *node_definitions(size_t number);
void node_load_definition(Node *node, Slice table, const Definition *definition);
void node_load_group(Node *node, Slice tenant, Slice name, JobState state,
                     uint64_t count); /* so many members are in that state */
void node_load_use(Node *node, const TenantUse *use); /* of every tenant */
void node_recovered(Node *node);

/* One turn. */
void node_step(Node *node, Now now, const Event *events, size_t count, Outbox *out);

/* Boot time at which node_step wants to be called even if nothing happens. */
int64_t node_next_wake(const Node *node);

/* The controller lock as this node knows it; *out_mine: it is ours. Valid until the next
 * step. */
ControllerLock node_controller_lock(const Node *node, bool *out_mine);

/* Whether a limit of some tenant needs EVENT_USES now and then. */
bool node_wants_uses(const Node *node);

/* Whether a node that shares the store is gone: its lease is over, and it had not said
 * that it leaves. *out_sysid: one such; valid until the next step. */
bool node_lost_peer(const Node *node, Slice *out_sysid);

/* Since when the first ready job of a queue has waited; TIME_NEVER: none does. */
int64_t node_oldest(const Node *node, Slice tenant, Slice queue);

size_t node_schedule_count(const Node *node);

void node_settings_set(Node *node, const NodeSettings *settings);
const NodeSettings *node_settings(const Node *node);

/* Facts for status pages. */
typedef struct NodeFacts {
    uint32_t slots;
    uint32_t slots_used;
    uint32_t lanes;
    uint32_t lanes_ready; /* with something to start */
    uint64_t passes;
    uint64_t started;
    uint64_t late;   /* results refused */
    uint64_t lapsed; /* leases of pull workers that ended without a result */
    bool draining;
    bool drained;         /* someone has asked for it: see drain.h */
    uint64_t spare;       /* jobs that other nodes could have of it */
    uint64_t pull;        /* likewise, for their pull workers */
    uint32_t nodes;       /* that are alive and share the store, itself among them, */
    uint64_t nodes_slots; /* and their slots, as last heard */
    uint64_t nodes_used;
} NodeFacts;
NodeFacts node_facts(const Node *node);

/* No id that is given out from now on counts less than what it returns (base/id.h). */
uint64_t node_ids_pass(Node *node, int64_t wall_ms);

typedef struct RunningJob {
    JobId id;
    uint32_t attempt;
    int64_t started_ms;
    bool paused;
    bool stopping;
    uint32_t slot;
    uint32_t flags; /* JobFlag bits */
    uint32_t error_depth;
    Slice tenant;
    Slice queue;
    Slice type;
    Slice bookings; /* what it holds of resources */
} RunningJob;
typedef void RunningSink(void *context, const RunningJob *job);
void node_running(const Node *node, RunningSink *sink, void *context);
bool node_running_find(const Node *node, JobId id, RunningJob *out); /* false: no */

/* The newest version of a handler for jobs that start, or NULL: none, deleted or
 * disabled. Valid until the next step. */
const Handler *node_handler(const Node *node, Slice tenant, Slice type);

/* Niceness of a job's processes, if its queue turns priorities into it (S3.6). */
int node_job_nice(const Node *node, const Job *job);

/* Whether a job was changed by a later turn than `number`, or runs: what the store said
 * of it then is old. */
bool node_changed_since(const Node *node, JobId id, uint64_t number);

/* A group that has members or a definition; slices are valid until the next step. */
typedef struct GroupFacts {
    GroupCounts counts;
    Slice then; /* empty: no completion job is asked for */
    JobId completion;
    int64_t created_ms;
} GroupFacts;
bool node_group(const Node *node, Slice tenant, Slice name, GroupFacts *out);

/* Asserts N1 to N3; used by tests and the simulation after each step. */
void node_check(const Node *node);

#endif
