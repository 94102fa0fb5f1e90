/* SPDX-License-Identifier: Apache-2.0 */
/* node_inside.h - the node's own memory, shared by the node_*.c files only. */
#ifndef CORE_NODE_INSIDE_H
#define CORE_NODE_INSIDE_H

#include "base/rng.h"
#include "core/handler.h"
#include "core/lane.h"
#include "core/node.h"
#include "core/outcome.h"

#define TICK_MS            1000 /* a pass at least this often (S3.50) */
#define DUE_LOAD_MAX       500  /* promotions per step: a batch stays small */
#define OLD_LOAD_MAX       500  /* removals per step, likewise */
#define PURGE_EVERY_MS     (60 * MS_PER_S)
#define PROGRESS_EVERY_MS  MS_PER_S /* of one job; the last one always arrives */
#define KEY_KEPT_MS        MS_PER_DAY
#define NODE_FAULT_WAIT_MS MS_PER_S /* before trying what the node could not start */
#define KILL_AGAIN_MS      (10 * MS_PER_S) /* a KILL that did not arrive is sent again */
#define START_WAIT_MS      MS_PER_MIN      /* for an attempt's process to run */
#define WINDOW_JOBS_MAX    256
#define WINDOW_JOBS_MIN    16
#define WINDOW_JOBS_TOTAL  65536 /* heads over all lanes, roughly */
#define REASON_NO_HANDLER  "no_handler"
#define SIGNAL_TERM        15
#define SIGNAL_KILL        9
#define SIGNAL_STOP        19
#define SIGNAL_CONT        18

typedef enum StopStage { STOP_NOT, STOP_TERM, STOP_KILL } StopStage;

/* One attempt that this node holds. */
typedef struct Running {
    HeapNode timer; /* must be first: its place in the node's timers */
    int64_t wake_boot;
    Head head; /* attempt is the running one's number */
    uint32_t slot;
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
    Requester remove_request;
    int32_t progress; /* told and not yet passed on; -1: none */
    int64_t progress_boot;
    Buf message;
    Buf reason;
    Buf exit_map; /* of the handler's version that it runs */
    bool drop_result;
} Running;

/* A question to the store, and what to do with the answer. */
typedef struct Asked {
    LoadWhat what;
    Lane *lane;
    Arena arena;
    Event event; /* the ACT or ADD that waits for the answer; slices in the arena */
    struct Asked *behind; /* next action on the same job */
} Asked;

/* An idempotency key that was decided and may not be in the store yet. */
typedef struct KeyUse {
    struct KeyUse *next;
    uint64_t number; /* of the turn that wrote it; UINT64_MAX: still being decided */
    uint64_t hash;
    Arena arena;
    Slice tenant;
    Slice key;
    Slice value;
} KeyUse;

/* The newest version of a handler, as the node knows it. */
typedef struct HandlerEntry {
    Arena arena;
    Handler handler;
} HandlerEntry;

struct Node {
    NodeOptions options;
    NodeSettings settings;
    Arena own; /* sysid */
    Rng rng;
    IdGen ids;
    Names names;
    Map handlers; /* HandlerEntry by tenant and type */
    Map unblock;  /* the same keys: their blocked jobs are to be asked for again */
    Map lanes;
    Heap offers; /* lanes with something to offer, by tour and waiting time */
    Map running; /* by job id */
    Heap timers; /* of running attempts */
    bool *slots; /* taken or not, by number - 1 */
    size_t slot_capacity;
    uint32_t slots_used;
    uint64_t tour;
    uint64_t *resting; /* keys of lanes that had their turn in this tour and are empty */
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
    int64_t reload_boot; /* lanes whose load failed are asked again then */
    KeyUse *keys;
    Asked *later; /* adds that no one would send again, until the store can answer */
    int64_t next_due_ms; /* earliest dt of deferred and retrying jobs */
    bool due_loading;
    int64_t tick_boot;
    int64_t beat_boot;
    int64_t purge_boot;
    bool recovered;
    bool draining;
    bool no_room;
    bool touched_pass; /* 000's touched flag: something happened since the last pass */
    uint64_t passes;
    uint64_t started;
    uint64_t late;

    /* Of the current step. */
    Now now;
    Outbox *out;
};

/* node_add.c */
void node_add(Node *node, const Event *event);
void node_add_lines(Node *node, const Event *event);
bool node_add_after_key(Node *node, Asked *asked, const Event *answer); /* false: later */
void node_add_later(Node *node);
JobId node_add_child(Node *node, const Job *parent_like, const Job *child);
void node_keys_applied(Node *node, uint64_t number);

/* node_handler.c */
const Handler *node_find_handler(const Node *node, uint32_t tenant, uint32_t type);
const Handler *node_usable_handler(const Node *node, uint32_t tenant, uint32_t type);
void node_define_handler(Node *node, const Event *event);
void node_blocked_loaded(Node *node, const Asked *asked, const Event *answer);
void node_handler_arrives(Node *node, Job *job, Op *op);
void node_handlers_free(Node *node);
void node_block(Node *node, const Head *head);     /* a ready job lost its handler */
void node_blocked_due(Node *node, const Job *job); /* its window is over */
void node_ask_unblocked(Node *node); /* again what the store could not answer */
bool node_can_run(const Node *node, const Head *head);
int64_t node_blocked_until(const Node *node, const Head *head);

/* node_act.c */
void node_act(Node *node, const Event *event);
void node_act_loaded(Node *node, Asked *asked, const Event *answer);
void node_pins_free(Node *node);

/* node_run.c */
void node_pass(Node *node);
void node_ended(Node *node, const Event *event);
void node_progress(Node *node, const Event *event);
void node_launcher_lost(Node *node);
void node_timers(Node *node);
void node_lost_attempts(Node *node);
Running *node_hold(Node *node, const Head *head);
void node_stop(Node *node, Running *running, bool at_once);
void node_timer_set(Node *node, Running *running);
void node_running_free(Node *node, Running *running);
void node_hold_handler(Node *node, Running *running); /* it keeps this version's say */
void node_follow_error(Node *node, const Head *head, JobState state, Slice error);

/* node_load.c */
Lane *node_lane(Node *node, const Head *head);   /* made if it is not there */
void node_ready(Node *node, const Head *head);   /* a job became ready */
void node_unready(Node *node, const Head *head); /* a ready job stopped being so */
void node_lane_changed(Node *node, Lane *lane);
void node_tour_begin(Node *node, uint64_t tour);
void node_wait_until(Node *node, int64_t dt_ms); /* a job is due then */
Effect *node_ask(Node *node, LoadWhat what, Asked **out_asked);
Effect *node_ask_again(Node *node, Asked *asked);
void node_loaded(Node *node, const Event *event);
void node_duties(Node *node);
void node_reload_lanes(Node *node);
void node_applied(Node *node, uint64_t number);
void node_touch(Node *node, JobId id);
bool node_touched_since(const Node *node, JobId id, uint64_t number);
size_t node_window_limit(const Node *node);

/* node.c */
Op *node_op(Node *node, OpKind kind, JobId id);
Effect *node_changed(Node *node, const Head *head, JobState was, JobState state);
Effect *node_reply(Node *node, Requester request, Err err, const char *problem);
void node_erase(Node *node, JobId id, uint32_t attempt);
Slice node_keep(Node *node, Slice slice); /* copied into the outbox */

#endif
