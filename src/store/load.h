/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - what can be asked of a store, and what it answers: see store.h. */
#ifndef STORE_LOAD_H
#define STORE_LOAD_H

#include "core/effect.h"

typedef enum LoadKind {
    LOAD_LANES,  /* the first ready job of every lane */
    LOAD_WINDOW, /* ready jobs of one lane (`key`: its type, if it has one) in order;
                    with age_ms in the order of dt - priority * age_ms, then id */
    LOAD_DUE,    /* deferred, retrying and blocked jobs whose dt has come, oldest first */
    LOAD_BLOCKED,  /* blocked jobs of tenant and type (in `key`) that wait for no other
                      job (JOB_WAITS), oldest first */
    LOAD_RUNNING,  /* running and paused jobs of `lock` */
    LOAD_JOB,      /* one job by id, with payload; found among final ones too */
    LOAD_KEY,      /* an idempotency key: value in `value` */
    LOAD_ATTEMPTS, /* all attempts of one job, oldest first, as Jobs (attempt, started_ms,
                      finished_ms, outcome, error, node, retry_number, state: the one it
                      is in, or left the job in) */
    LOAD_OLD,      /* final jobs of `states` that ended before dt_ms, oldest first. What a
                      store keeps in one piece it may want to let go in one piece: `whole`
                      says that OP_DROP would find some; jobs that would go so within
                      late_ms are left out meanwhile. Once they went, they come here by
                      id, in pages of LOAD_GONE_MAX whatever the limit is: `gone`, until
                      OP_SWEPT says that they are dealt with */
    LOAD_AFTER,    /* jobs of whose `after` at least one has ended and is not settled
                      (FIELD_MET, FIELD_FREED), with where they stand in `after`; `value`
                      is empty if no job waits for another at all */
    LOAD_UNIQUE,   /* the jobs that hold the keys in `key` (tenant and unique_key, each
                      ended by NUL) at dt_ms: one for each, with id 0 where none does */
    LOAD_MATCH,    /* jobs below behind_id that match the query text `key`, read as of
                      dt_ms, newest first; `cursor` is where the next page begins */
    LOAD_INBOX,    /* messages for the node `owner`, oldest first: `letters` */
    LOAD_IDS,      /* the jobs with the ids in `key` (8 bytes each, as they are in memory)
                      that are there, final ones too, and, with an owner, its own */
    LOAD_GROUP,    /* counts of the group `key` of tenant: `value`, a GroupCounts */
    LOAD_OWED,     /* the jobs that nodes owe (core/unique.h), as they are to be added */
} LoadKind;

typedef struct Load {
    LoadKind kind;
    JobId id;
    Slice tenant; /* LOAD_WINDOW, LOAD_KEY; LOAD_JOB, LOAD_ATTEMPTS: empty = any tenant */
    Slice queue;
    Slice lock; /* LOAD_RUNNING: empty = of everyone */
    Slice key;
    bool bare;   /* LOAD_JOB: without its payload */
    bool pull;   /* LOAD_WINDOW: the lane of pull workers */
    bool behind; /* LOAD_WINDOW: only jobs behind (priority, dt, id) below */
    int64_t priority;
    int64_t dt_ms; /* LOAD_WINDOW key; LOAD_DUE: until, itself included; LOAD_KEY: now, a
                      key that has expired is not found (0: however old) */
    JobId behind_id;
    int64_t age_ms;   /* LOAD_WINDOW: see queue.h */
    JobStates states; /* LOAD_OLD: exactly one family: done, or all other final ones */
    int64_t late_ms;  /* LOAD_OLD */
    uint32_t limit;   /* 0: none */
    uint32_t owner;   /* LANES, WINDOW, DUE, BLOCKED, RUNNING, AFTER, IDS: only jobs of
                         this node; 0: whoever's. INBOX: whose */
} Load;

/* Payloads up to this size come with LOAD_WINDOW; a job with a larger one has
 * JOB_PAYLOAD_APART among its flags there, and only there. */
#define STORE_PAYLOAD_SMALL 1024
#define JOB_PAYLOAD_APART   (1u << 31)

#define LOAD_GONE_MAX 2000 /* they cost less than jobs that go one by one */

/* Each idempotency key that is added takes away up to so many that have expired: their
 * number stays bounded without a duty of its own. */
#define STORE_KEYS_EXPIRED_PER_ADD 2

/* Nothing found is no error: count is 0, value.data is NULL. */
typedef struct Loaded {
    Arena arena; /* holds the slices of everything below */
    Job *jobs;   /* without payload except for LOAD_JOB and small ones of LOAD_WINDOW;
                    with bookings for LOAD_JOB, LOAD_RUNNING and LOAD_ATTEMPTS only */
    size_t count;
    size_t capacity;
    bool more;           /* the limit cut it short */
    bool gone;           /* LOAD_OLD */
    bool whole;          /* LOAD_OLD */
    int64_t next_due_ms; /* LOAD_DUE: earliest dt that is left; TIME_NEVER if none */
    Slice value;         /* LOAD_KEY, LOAD_AFTER */
    AfterCount *after;   /* LOAD_AFTER: one for each job */
    JobId cursor;        /* LOAD_MATCH; 0: no more */
    Letter *letters;     /* LOAD_INBOX */
    size_t letter_count;
    size_t letter_capacity;
} Loaded;

void loaded_done(Loaded *loaded);

struct Store;

/* LOAD_MATCH, for every kind of store. */
MUST_CHECK Err load_match(struct Store *store, const Load *load, Loaded *out, Error *why);

/* LOAD_GROUP, likewise. */
MUST_CHECK Err load_group_counts(struct Store *store, const Load *load, Loaded *out,
                                 Error *why);

/* LOAD_OWED, likewise. */
MUST_CHECK Err load_owed(struct Store *store, Loaded *out, Error *why);

/* What an EFFECT_LOAD asks for; slices are copied into the arena. */
Load load_of(const Effect *effect, Arena *arena);

/* Fills an EVENT_LOADED with what was found; borrowed. */
void loaded_tell(const Loaded *loaded, Event *event);

#endif
