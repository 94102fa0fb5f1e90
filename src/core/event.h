/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - the first vocabulary: something asked, or something that happened.
 *
 * Events are what a turn collects; node_step() reads them and nothing else. They are
 * flat; slices and jobs in them are borrowed for the turn. */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include "core/after.h"
#include "core/batch.h"
#include "core/claim.h"
#include "core/share/peer.h"
#include "core/tenant.h"

typedef uint64_t Requester; /* whom to answer; 0: no one waits */

typedef enum EventKind {
    EVENT_ADD,           /* jobs: checked by the door, without id; request */
    EVENT_ADD_LINES,     /* job: the pattern; body; count */
    EVENT_ACT,           /* action on one job */
    EVENT_LOADED,        /* what a store answered to EFFECT_LOAD: token, loaded */
    EVENT_APPLIED,       /* the store holds everything up to batch `number`; comes after
                            all answers that were given before */
    EVENT_COMMITTED,     /* a shared store's answer to batch `number`: results */
    EVENT_ADOPTED,       /* after a start: this attempt is alive in the launcher */
    EVENT_STARTED,       /* an attempt's process runs */
    EVENT_ENDED,         /* an attempt is over, or could not be started: ending */
    EVENT_PROGRESS,      /* told by a running attempt */
    EVENT_LAUNCHER_LOST, /* every attempt it had is dead; starts of earlier turns that
                            have not been carried out must not be any more */
    EVENT_DEFINE,        /* put (or, with no value, delete) a definition; request */
    EVENT_DRAIN,         /* start no more work; without `flag`: take none either */
    EVENT_RESUME,        /* undo it */
    EVENT_TRIGGER,       /* a schedule (tenant, key) gives its job now; request */
    EVENT_ROOM,          /* flag: whether the journal has room for new jobs */
    EVENT_CLAIM,         /* a pull worker wants up to `count` jobs: claim; answered with
                            the items it got */
    EVENT_RENEW,         /* items: it still works on them; answered with their status */
    EVENT_FINISH,        /* items: it is done with them; likewise */
    EVENT_UNGET,         /* items: it never got them */
    EVENT_PEERS,         /* the lease was renewed: peers, `count` of them; lease_boot,
                            claims_boot */
    EVENT_HINT,          /* there may be mail of another node */
    EVENT_CHANGE,        /* another node has defined something: table, tenant, key, value;
                            the store has it already */
    EVENT_POST,          /* a word of this daemon to that of the node `number`: body */
    EVENT_USES,          /* the store is being asked what tenants have; with `flag`: its
                            answer, uses, `count` of them */
} EventKind;

/* A message from another node: see OP_MAIL. */
typedef struct Letter {
    uint64_t number; /* for OP_TAKEN */
    uint32_t from;   /* node */
    Slice body;
} Letter;

typedef enum Action {
    ACT_CANCEL,  /* TERM, grace, KILL; ends cancelled */
    ACT_KILL,    /* KILL at once; ends cancelled */
    ACT_HOLD,    /* a waiting job is passed over until released */
    ACT_RELEASE, /* undoes hold */
    ACT_PAUSE,   /* SIGSTOP of the tree */
    ACT_RESUME,  /* undoes pause and halt */
    ACT_HALT,    /* stop with progress kept; runs again on resume */
    ACT_RETRY,   /* again from the beginning, also out of a final state */
    ACT_REMOVE,  /* cancel if not final, then forget the job */
    ACT_PATCH,   /* change fields of a waiting job */
} Action;
#define ACTIONS (ACT_PATCH + 1)

const char *action_name(Action action);

/* The states in which an action makes sense. */
JobStates action_allowed(Action action);

typedef struct Patch {
    uint32_t fields; /* OpField bits */
    int64_t priority;
    int64_t run_at_ms;
    int64_t max_run_ms;
    Slice queue;
    Slice payload;
    Slice tags;
} Patch;

typedef enum EndKind {
    END_EXITED,      /* exit_status */
    END_SIGNALLED,   /* signal */
    END_NOT_STARTED, /* error says why; `node_fault`: not the job's own doing */
    END_LOST,        /* died with its launcher, or was never seen again: uncharged */
    END_LAPSED,      /* its worker was not heard from until its lease ended */
    END_UNGOT,       /* given back before it began: ready again, as if never taken */
    END_ANSWERED,    /* by a warm context: said_code */
} EndKind;

typedef struct Ending {
    EndKind kind;
    int32_t exit_status;
    int32_t signal;
    bool node_fault;
    int64_t ended_ms;  /* wall time; 0: now */
    int64_t took_us;   /* END_ANSWERED: of its context's time, the wait for it left out */
    int32_t said_code; /* of an R: line; 0: none */
    bool ask_again;    /* END_ANSWERED: a service's http_status_retries */
    bool cut;          /* the result was cut at its limit */
    int32_t progress;  /* -1: none */
    Slice message;
    Slice note; /* of ours about its lines: told behind its message */
    Slice result;
    Slice error;
    const Job *children; /* of J: lines: type and payload only */
    size_t child_count;
    bool children_whole; /* not of lines: every field of theirs counts */
    bool rerun;          /* CONTROL: it asks to be run again, as it is */
    const Job *returned; /* CONTROL: the job of the <batch-job> it returned, checked by
                            the door; or NULL */
    Slice job_name;      /* what the door knows of the job, for an error handler */
    Slice job_payload;
} Ending;

/* One attempt in the hands of a pull worker. */
typedef struct ClaimItem {
    JobId id;
    uint32_t attempt;
    bool trusted;
    ClaimStatus status; /* the answer */
    int32_t progress;   /* RENEW; -1: none */
    Slice message;      /* RENEW */
    Ending ending;      /* FINISH */
} ClaimItem;

typedef struct Event {
    EventKind kind;
    Action action; /* ACT */
    Requester request;
    JobId id;
    uint32_t attempt;
    int32_t progress; /* PROGRESS */
    Slice tenant;     /* ACT: only a job of this tenant; empty: any */
    Patch patch;
    Slice reason;        /* ACT: a person's words */
    Job *jobs;           /* ADD; ADD_LINES: the pattern */
    size_t count;        /* ADD: jobs; ADD_LINES: lines in body */
    Slice key;           /* ADD: idempotency key; DEFINE: its key */
    Slice key_hash;      /* ADD: of the body, to tell a repeat from a clash */
    int64_t key_kept_ms; /* ADD: how long the key is remembered; 0: a day */
    Slice table;         /* DEFINE */
    Slice value;         /* DEFINE */
    Slice body;          /* ADD_LINES */
    uint64_t token;
    uint64_t number; /* APPLIED, COMMITTED; LOADED: the store held everything up to it */
    const Job *loaded; /* LOADED */
    size_t loaded_count;
    JobId cursor; /* LOADED for WANT_MATCH: where the next page begins; 0: none */
    const AfterCount *after; /* LOADED for WANT_AFTER: one per job */
    const Letter *letters;   /* LOADED for WANT_INBOX */
    size_t letter_count;
    const Peer *peers;       /* PEERS */
    const TenantUse *uses;   /* USES */
    int64_t lease_boot;      /* PEERS: what runs here must have ended by then */
    int64_t claims_boot;     /* PEERS: nothing may be started from then on */
    int64_t next_due_ms;     /* LOADED */
    const OpResult *results; /* COMMITTED */
    int64_t pid;             /* STARTED */
    Slice message;
    Ending ending;
    ClaimAsk claim;         /* CLAIM */
    const ClaimItem *items; /* RENEW, FINISH, UNGET: `count` of them */
    Err err;                /* LOADED, COMMITTED: the store failed */
    bool more;              /* LOADED */
    bool gone;              /* LOADED for WANT_OLD: see load.h; so is `whole` */
    bool whole;
    bool flag; /* ROOM; DEFINE: only a switch of what is there is turned; ACT:
                  only if it waits */
} Event;

#endif
