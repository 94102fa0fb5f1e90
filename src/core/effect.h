/* SPDX-License-Identifier: Apache-2.0 */
/* effect.h - the third vocabulary: something to do outside, once it is safe to.
 *
 * Each effect names what it waits for. The outside world never sees what a crash could
 * still undo: that one rule is the whole of group commit. */
#ifndef CORE_EFFECT_H
#define CORE_EFFECT_H

#include "core/event.h"

typedef enum EffectKind {
    EFFECT_REPLY,   /* answer a request */
    EFFECT_START,   /* start an attempt of a job */
    EFFECT_SIGNAL,  /* send `signal` to the whole tree of an attempt */
    EFFECT_FORGET,  /* the attempt's end is recorded: the launcher may drop it */
    EFFECT_LOAD,    /* ask the store, once it holds this turn and all before it; the
                       answer comes as EVENT_LOADED with `token` */
    EFFECT_CHANGED, /* a job is now in `state`: logs, waiters, metrics, event stream */
    EFFECT_ERASE, /* logs (of attempts up to `attempt`), state, files of a job now gone */
    EFFECT_DEFINED, /* a definition changed */
    EFFECT_LETTER,  /* a word of another node's daemon (EVENT_POST): owner, value */
} EffectKind;

typedef enum Wait {
    WAIT_NONE,    /* do it at the end of this turn */
    WAIT_JOURNAL, /* until the journal is durable behind this turn's adds */
    WAIT_BATCH,   /* until this turn's batch is committed (an owner: journalled) */
} Wait;

typedef enum LoadWhat { /* for whom a load is; goes into the store's own words outside */
                        WANT_WINDOW, /* key: the type whose lane it is, if it has one */
                        WANT_DUE,
                        WANT_JOB,
                        WANT_KEY,
                        WANT_OLD_DONE,
                        WANT_OLD_OTHER,
                        WANT_BLOCKED, /* jobs of tenant and type (key) without a handler
                                       */
                        WANT_LAST,    /* the last job of a schedule: `id` */
                        WANT_AFTER,   /* jobs of whose `after` something has ended */
                        WANT_UNIQUE,  /* who holds the keys in `key` */
                        WANT_MATCH, /* jobs below behind_id that match the query `key` */
                        WANT_INBOX, /* messages of other nodes */
                        WANT_GIVEN, /* jobs with the ids in `key` */
                        WANT_LANES, /* one ready job of every lane */
                        WANT_RUNNING, /* attempts of its jobs, whoever began them */
                        WANT_GROUP,   /* counts of the group `key` of tenant */
                        WANT_OWED,    /* jobs that nodes owe (unique.h) */
} LoadWhat;

typedef struct Refused { /* one job of several that cannot be taken */
    size_t index;
    const char *problem;
    Slice detail;
} Refused;

/* What became of one job of an ADD that had to be decided one by one. */
typedef struct AddedItem {
    JobId id;            /* of the new job, or of the one that was there */
    bool existed;        /* it was there */
    const char *problem; /* refused; `id`, if there is one, is in the way */
    Slice detail;        /* a sentence with it, or empty */
} AddedItem;

typedef struct Effect {
    EffectKind kind;
    Wait wait;
    Requester request;
    JobId id;
    uint32_t attempt;
    JobState state;  /* CHANGED */
    JobState was;    /* CHANGED; equal to state when only fields changed or it is new */
    bool added;      /* CHANGED: the jobs are new */
    bool chain_over; /* CHANGED to done: what should follow does not (chain_max) */
    JobCode code;    /* CHANGED at the end of an attempt */
    uint32_t flags;  /* CHANGED: JobFlag bits */
    int32_t signal;
    /* REPLY */
    Err err;
    const char *problem; /* stable word for people and programs, e.g. "job_not_found" */
    Slice detail;        /* a sentence with it, or empty */
    const Refused *refused; /* ADD of several jobs */
    size_t refused_count;
    JobStates allowed; /* with ERR_CONFLICT: states in which it would make sense */
    const Job *job;    /* the job as it is now, where the core has it whole */
    uint64_t first;    /* ADD: c of the first id */
    uint64_t count;    /* ADD: jobs added; CHANGED: jobs it speaks of */
    bool replayed;     /* ADD: answered from an idempotency key */
    const AddedItem *added_items; /* ADD: `count`; NULL: all new, ids in a row */
    const ClaimItem *items;       /* CLAIM, RENEW, FINISH: `count` of them */
    /* START */
    int64_t deadline_ms; /* wall; 0: none */
    uint32_t slot;       /* 1-based */
    Slice bookings;      /* what it holds of resources; see resource.h */
    bool warm;           /* shares the slot: for a warm context */
    /* LOAD */
    LoadWhat what;
    uint64_t token;
    Slice tenant;
    Slice queue;
    Slice type; /* CHANGED */
    bool pull;
    bool behind;
    int64_t priority;
    int64_t dt_ms;
    JobId behind_id;
    int64_t age_ms;  /* the order is that of dt - priority * age_ms; 0: not */
    int64_t late_ms; /* OLD: jobs may stay so much longer if they then go as a whole */
    uint32_t limit;
    uint32_t owner; /* only jobs of this node; 0: whoever's */
    Slice lock;
    Slice key;
    Slice table; /* DEFINED, with tenant, key and value (no data: deleted) */
    Slice value;
    int64_t wait_ms; /* CHANGED to running: how long it waited */
    int64_t run_ms;  /* CHANGED at the end of an attempt: how long it ran */
} Effect;

/* What a turn decided. Everything in it lives until outbox_clear. */
typedef struct Outbox {
    Batch adds;  /* jobs from the doors: OP_ADD, OP_ADD_LINES; journalled first */
    Batch batch; /* all other operations of the turn, and adds that they cause */
    Effect *effects;
    size_t effect_count;
    size_t effect_capacity;
    uint64_t number; /* of this turn; both batches carry it */
} Outbox;

Effect *outbox_effect(Outbox *outbox, EffectKind kind, Wait wait);
void outbox_clear(Outbox *outbox);
void outbox_done(Outbox *outbox);

#endif
