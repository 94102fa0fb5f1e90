/* SPDX-License-Identifier: Apache-2.0 */
/* lane.h - one queue of one tenant: a bounded, exact window on its ready jobs.
 *
 * The window holds the first ready jobs in order: priority (larger first), then dt, then
 * id; in a queue with aging as queue.h says, which the store knows too. `more` says that
 * the store has others behind the window's last one. While a load is under way, jobs that
 * become ready behind the window wait aside, because the answer may or may not hold them.
 * So the window is exact at every moment on a store that this node owns, whatever its
 * bound. */
#ifndef CORE_DISPATCH_LANE_H
#define CORE_DISPATCH_LANE_H

#include "base/heap.h"
#include "base/map.h"
#include "core/job.h"

/* What the core remembers of a waiting job. */
typedef struct Head {
    JobId id;
    int64_t priority;
    int64_t dt_ms;
    int64_t window_from_ms;
    int64_t retry_delay_ms;
    int64_t retry_window_ms;
    int64_t max_run_ms;
    int64_t service_ms;
    uint32_t wants; /* what it says of resources; a number of Names, 0: nothing */
    uint32_t then;  /* types of jobs that follow; 0: none */
    uint32_t on_error;
    uint32_t tenant; /* numbers of Names */
    uint32_t queue;
    uint32_t type;
    uint32_t attempt;
    uint32_t retry_number;
    int32_t max_retries;
    uint32_t flags;
    uint32_t error_depth;
    uint32_t chain;
    uint64_t document_hash;
    uint64_t group; /* group_number; 0: none */
} Head;

Head head_of(const Job *job, Names *names);
bool head_before(const Head *a, const Head *b); /* without aging */

typedef struct HeadList {
    Head *items;
    size_t count;
    size_t capacity;
} HeadList;

struct Manager;
struct Sisters;

typedef struct Lane {
    /* What lanes are compared by is together: one line of the cache for each. */
    HeapNode offer;   /* its place in the heap `in`; must be first */
    uint64_t owed;    /* refused for lack of a resource: goes first, by this; 0: not */
    uint64_t tour;    /* the scheduling tour in which it is next offered */
    int64_t since_ms; /* while it is in a heap: since when its first job waits, */
    JobId first_id;   /* and which one that is, */
    int64_t first_dt_ms;
    int64_t first_priority; /* and where it stands in the lane's order */
    Heap *in;               /* offers, its sisters' rest, a manager's line; or NULL */
    uint32_t tenant;
    uint32_t queue;
    uint32_t type;  /* of a tenant that segregates them; 0: all of the queue's */
    uint32_t reach; /* how many times longer than usual its window is; 0: as usual */
    /* What every job that comes or goes looks at follows: another line or two. */
    HeadList window;
    size_t first; /* window.items[first] is the next job */
    bool pull;
    bool more;
    bool loading;
    bool overflow; /* more came than is kept: the load under way is void */
    bool resting;  /* empty, but kept until the tour in which it had its turn is over */
    bool wavers;   /* refused, but the answer may change without more of that resource */
    bool shut;     /* its queue lets nothing start now */
    bool scans;    /* its heads may be passed over: policy skip, backfill */
    bool stuck;    /* it is asked again whenever anything changes */
    struct Sisters *sisters;
    struct Manager *waits;    /* refused `refused` for lack of this */
    struct Manager *next_for; /* it has been let out of that one's line to try again */
    int64_t age_ms;           /* waiting that is worth a point of priority; 0: none */
    HeadList held;            /* the first of its held jobs, in order */
    HeadList aside;
    JobId refused;
    int64_t lacks;          /* how much `refused` needs of it */
    struct Manager *lacked; /* in line or not, `lacked_by` waits for this one before */
    JobId lacked_by;        /* anything else that it needs; NULL: it lacks nothing */
    struct Lane *stuck_next;
    struct Lane *stuck_before;
    uint64_t asked; /* number of the pass in which it was last refused */
    struct Lane *shut_next;
    struct Lane *sister_next; /* of the same tenant */
    struct Lane *sister_before;
    int64_t asked_boot; /* when the store was last asked for more */
    size_t taken;       /* since then */
} Lane;

#define LANE_ASIDE_MAX 1024

size_t lane_count(const Lane *lane);
const Head *lane_first(const Lane *lane); /* NULL when the window is empty */
const Head *lane_last(const Lane *lane);
const Head *lane_at(const Lane *lane, size_t at);
Head lane_take(Lane *lane);               /* the first one leaves; there must be one */
Head lane_take_at(Lane *lane, size_t at); /* the one behind `at` others */
bool lane_head_before(const Lane *lane, const Head *a, const Head *b);

/* The order has changed: nothing is known any more but that there is more. */
void lane_forget(Lane *lane, int64_t age_ms);

/* A job of this lane became ready. The window keeps at most `limit`. False: it was left
 * to the store, in its place behind the window. */
bool lane_put(Lane *lane, const Head *head, size_t limit);

/* Jobs that are all like `pattern` but for their ids: first_c, first_c + 1, ... */
typedef struct HeadRun {
    Head pattern;
    uint64_t first_c;
    uint64_t count;
    uint16_t node;
} HeadRun;

/* All of them became ready. */
void lane_put_run(Lane *lane, const HeadRun *run, size_t limit);

/* A due job of this lane is held. It is passed over, but where it would be the first it
 * counts for how long the lane waits (S3.55). Only so many are remembered. */
#define LANE_HELD_MAX 16
void lane_hold(Lane *lane, const Head *head);
int64_t lane_since(const Lane *lane); /* there must be a first one */

/* A ready or held job stopped being so. Whether the window or what is aside held it. */
bool lane_remove(Lane *lane, JobId id);

/* The answer to a load of jobs behind the window's last key (or from the start when it
 * was empty), in order; `more`: the store has others behind them. */
void lane_loaded(Lane *lane, const Head *heads, size_t count, bool more, size_t limit);

/* There is no answer. */
void lane_load_failed(Lane *lane);

void lane_done(Lane *lane);

/* Asserts that the window is sorted and within what it may hold. */
void lane_check(const Lane *lane);

#endif
