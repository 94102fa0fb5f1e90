/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the node's own memory; for node/inside.h. */
#ifndef CORE_NODE_STATE_H
#define CORE_NODE_STATE_H

#include "base/rng.h"
#include "core/after.h"
#include "core/controller.h"
#include "core/dispatch/lane.h"
#include "core/dispatch/slot.h"
#include "core/group.h"
#include "core/handler.h"
#include "core/node/kept.h"
#include "core/node/node.h"
#include "core/node/pull.h"
#include "core/operation.h"
#include "core/outcome.h"
#include "core/queue.h"
#include "core/schedule.h"
#include "core/tenant.h"
#include "core/unique.h"

#define TICK_MS            1000 /* duties are looked at at least this often */
#define DUE_LOAD_MAX       500  /* promotions per step: a batch stays small */
#define OLD_LOAD_MAX       500  /* removals per step, likewise */
#define PURGE_EVERY_MS     (60 * MS_PER_S)
#define OLD_LATE_FROM_MS   (14 * MS_PER_DAY) /* kept for so long: a fourth more is fine */
#define OLD_LATE_SHARE     4
#define PROGRESS_EVERY_MS  MS_PER_S /* of one job; the last one always arrives */
#define KEY_KEPT_MS        MS_PER_DAY
#define NODE_FAULT_WAIT_MS MS_PER_S /* before trying what the node could not start */
#define KILL_AGAIN_MS      (10 * MS_PER_S) /* a KILL that did not arrive is sent again */
#define START_WAIT_MS      MS_PER_MIN      /* for an attempt's process to run */
#define WINDOW_JOBS_MAX    256
#define WINDOW_JOBS_MIN    16
#define WINDOW_JOBS_TOTAL  65536 /* heads over all lanes, roughly */
#define SCAN_JOBS_MAX      1000  /* heads looked at per lane and pass (skip, backfill) */
#define REASON_NO_HANDLER  "no_handler"
#define ERROR_DEPTH_MAX    8   /* on_error steps in a row */
#define OPERATION_AGAIN_MS 100 /* before a job that moved is looked at again */
#define REASON_AFTER       "waits for other jobs"
#define REASON_UNSURE      "waits for its key"
#define UNSURE_AGAIN_MS    50
#define PROBLEM_UNIQUE     "unique_conflict"
#define PROBLEM_QUOTA      "quota_exceeded"
enum { SIGNAL_KILL = 9, SIGNAL_TERM = 15, SIGNAL_CONT = 18, SIGNAL_STOP = 19 };

typedef enum StopStage { STOP_NOT, STOP_TERM, STOP_KILL } StopStage;

/* One attempt that this node holds. */
typedef struct Running {
    HeapNode timer; /* must be first: its place in the node's timers */
    int64_t wake_boot;
    Head head; /* attempt is the running one's number */
    uint32_t slot;
    bool warm; /* in a warm context or a batch: others share the slot */
    int64_t started_ms;
    int64_t ready_ms;      /* since when it could have run */
    int64_t deadline_boot; /* of max-run-time; TIME_NEVER: none */
    int64_t paused_boot;   /* since when; 0: not paused */
    StopStage stop;
    bool timed_out;
    bool cancelling;
    bool halting;
    bool removing;
    bool adopted;
    bool booked; /* counted by its queue and managers */
    Requester remove_request;
    int32_t progress; /* told and not yet passed on; -1: none */
    int64_t progress_boot;
    Buf message;
    Buf reason;
    uint32_t version; /* of the handler that it runs with; 0: none, or not known */
    Buf exit_map;     /* of that version */
    Buf bookings;     /* what it holds of resources; see resource.h */
    bool drop_result;
    bool unpausable;      /* nothing that a signal could stop */
    int64_t lease_ms;     /* of a pull worker; 0: it runs here */
    int64_t lease_boot;   /* its end */
    int64_t renewed_boot; /* when the store was last told */
} Running;

/* A question to the store, and what to do with the answer. */
typedef struct Asked {
    LoadWhat what;
    Lane *lane;
    Arena arena;
    Event event; /* the ACT or ADD that waits for the answer; slices in the arena */
    struct Asked *behind; /* next action on the same job */
    Requester waits;      /* of an add that the node owes: who is answered with the job */
} Asked;

typedef struct NodeDraining NodeDraining;

struct Node {
    NodeOptions options;
    struct Share *share; /* share.h; NULL: it has its store for itself */
    NodeSettings settings;
    Arena own; /* sysid */
    Rng rng;
    IdGen ids;
    Names names;
    Map handlers;        /* HandlerEntry by tenant and type */
    Map unblock;         /* the same keys: their blocked jobs are to be asked for again */
    Map tenants;         /* Tenant by number of the name */
    Map tenant_uses;     /* quota.c */
    uint64_t uses_asked; /* the turn behind which the store was last asked for them */
    Map lanes;
    Heap offers;  /* lanes with something to offer, by tour and waiting time */
    Map sisters;  /* Sisters by number of the tenant */
    Map queues;   /* QueueEntry by tenant and queue: those that are defined */
    Map managers; /* Manager by key */
    Map types;    /* how many attempts run, by tenant and type */
    Lane *stuck;
    bool booked; /* since the last pass: expected ends have moved, managers are empty */
    Arena slots_arena;
    NodeSlots own_slots;
    int64_t limits_boot; /* when a shut queue may open by itself */
    Map running;         /* by job id */
    Heap timers;         /* of running attempts */
    Map pull_tenants;    /* PullTenant by tenant */
    Claim *claims;       /* that wait, oldest first */
    int64_t claims_boot; /* when the first of them has waited long enough */
    int64_t pull_boot;   /* when they are looked at again in any case */
    bool pull_stirred;   /* or at once: something has changed that may help one */
    Slot *slots;         /* by number - 1 */
    size_t slot_capacity;
    uint32_t slots_used;
    uint64_t tour;
    uint64_t refusals;  /* for lack of a resource */
    uint64_t tour_last; /* of the turns that lanes have */
    uint64_t *resting;  /* keys of lanes that had their turn in this tour and are empty */
    size_t resting_count;
    size_t resting_capacity;
    uint64_t turn;
    uint64_t token;
    Map asked;   /* by token */
    Map pins;    /* job id -> Asked of the action under way; others wait behind it */
    Map touched; /* job id -> number of the turn that changed it while it waited */
    uint64_t touched_up_to;
    Map touched_before; /* the generation before: goes when the store has applied it */
    uint64_t touched_before_up_to;
    int64_t reload_boot;   /* lanes whose load failed are asked again then */
    Map groups;            /* by group_number: node/group.c */
    bool groups_due;       /* some group is */
    uint32_t groups_asked; /* questions under way */
    int64_t groups_boot;   /* not before */
    bool some_wait;        /* a job may wait for another */
    bool after_due;        /* there may be children to look at */
    bool after_loading;    /* they are asked for */
    int64_t after_boot;    /* not before */
    uint64_t after_number; /* of the last turn that added a job that waits */
    Map operations;        /* by id: node/operation.c */
    bool operation_loading;
    int64_t operation_boot; /* not before */
    KeyUse *keys;
    Map verdicts;       /* by job: key_confirm.c */
    UniqueUse *uniques; /* taken and perhaps not in the store yet */
    Asked *later; /* adds that no one would send again, until the store can answer */
    int64_t later_boot;  /* not before */
    int64_t next_due_ms; /* earliest dt of deferred and retrying jobs */
    bool due_loading;
    Map schedules;     /* ScheduleEntry by tenant and name */
    Heap schedule_due; /* by due_ms */
    bool clock_known;  /* what the wall clock is ahead of the other one: */
    int64_t clock_offset_ms;
    int64_t clock_moved_boot; /* when that changed by more than a little; 0: never */
    bool clock_checked; /* no schedule has dealt with times that are far ahead of it */
    ControllerLock controller;
    bool controlling;             /* the lock is ours */
    int64_t controller_boot;      /* when to look at the lock again */
    int64_t controller_seen_boot; /* when another's was first seen */
    int64_t tick_boot;
    int64_t beat_boot;
    int64_t purge_boot;
    int64_t drop_boot[2]; /* OP_DROP of jobs that ended otherwise, and were done */
    bool recovered;
    bool draining;
    struct NodeDraining { /* why: see drain.h */
        bool closed;
        bool leaving;
        bool asked;
    } drain;
    bool no_room;
    bool touched_pass; /* 000's touched flag: something happened since the last pass */
    uint64_t passes;
    uint64_t started;
    uint64_t late;
    uint64_t lapsed; /* leases of pull workers */

    /* Of the current step. */
    Now now;
    Outbox *out;
    const Ending *ending;   /* of the attempt that is ending; NULL: none is */
    const Outcome *outcome; /* likewise */
};

#endif
