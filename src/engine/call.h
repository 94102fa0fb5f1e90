/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - how a door (HTTP and others) asks the daemon for something.
 *
 * A door fills a Call and gives it to daemon_call() from any thread. The daemon does what
 * is asked and calls call->done exactly once, from one of its own threads or from one
 * that is in daemon_call_here; from then on the call belongs to the door again.
 * Everything the call points to lives in its arena.
 */
#ifndef ENGINE_CALL_H
#define ENGINE_CALL_H

#include "base/mailbox.h"
#include "core/effect.h"
#include "core/node/node.h"
#include "store/store.h"

typedef struct Daemon Daemon;
typedef struct Call Call;
struct EventSources;

typedef enum CallKind {
    CALL_EVENT, /* event: ADD, ADD_LINES, ACT or DEFINE; answered when it is durable */
    CALL_READ,  /* read(): on a reader thread with a read-only store, after the store has
                   applied everything that was accepted before this call */
    CALL_LOOK,  /* look(): on the loop thread, for facts that live in the node's memory */
    CALL_WAIT,  /* until job `event.id` is final or timeout_ms passed (ERR_TIMEOUT); with
                   event.table of operations: until that operation ends */
    CALL_TRY,   /* trial: a handler is tried out; answered when the run has ended */
    CALL_PIPELINE, /* order: for the pipeline of directories; answered in it */
    CALL_AFAR,     /* question: for the daemon of another node; answered in it */
    CALL_SETTLE,   /* settling: answered when the store has what its node accepted (count
                      1), or after a moment: look again. ERR_UNAVAILABLE: that cannot be
                      known, or timeout_ms is over */
} CallKind;

struct Call {
    Mail mail;
    CallKind kind;
    Arena arena;
    void (*done)(Call *call);
    void *context;               /* the door's own */
    const struct Caller *caller; /* who asks; NULL: the daemon itself */

    Event event;
    void (*read)(Call *call, Store *store);
    void (*look)(Call *call, Daemon *daemon);
    int64_t timeout_ms;
    struct Trial *trial;       /* TRY */
    struct SignalOrder *order; /* PIPELINE; its done and context are the daemon's */
    struct Settling *settling; /* SETTLE */
    struct Question *question; /* AFAR */

    /* The answer. */
    Err err;
    const char *problem; /* stable word such as "job_not_found", or NULL */
    Error why;           /* a sentence; may be empty */
    JobStates allowed;   /* with ERR_CONFLICT on an action */
    Job job;             /* ADD of one job: as it was accepted (slices in the arena) */
    bool has_job;
    uint64_t
        first; /* ADD, ADD_LINES: c of the first id; id_from_count(first + k, node) */
    uint64_t count;
    const AddedItem *added; /* ADD: what became of each; NULL: new ones, ids in a row */
    uint16_t node;
    bool replayed;
    const ClaimItem *items; /* CLAIM, RENEW, FINISH: `count` of them */
    Job *jobs; /* CLAIM: those of the items that were at hand; id 0: not this one */
    const Refused *refused; /* ADD of several: those that were not taken, in order */
    size_t refused_count;

    /* The daemon's own, while it has the call. */
    uint64_t needs;        /* READ: turn that must be applied first */
    int64_t deadline_boot; /* WAIT */
    void (*on_loop)(Call *call);
};

void daemon_call(Daemon *daemon, Call *call);

/* The same for a caller behind whom no one waits: if the loop sleeps, this thread takes
 * the turn itself, to the end of its sync, and no thread has to be woken for it. `done`
 * may have been called when it returns. The caller holds no lock. */
void daemon_call_here(Daemon *daemon, Call *call);

/* For look(): what happens to jobs, here and at other nodes. */
void daemon_event_sources(Daemon *daemon, struct EventSources *out);

/* For look(): facts of the daemon, only on the loop thread. */
Node *daemon_node(Daemon *daemon);
const struct Metrics *daemon_metrics(const Daemon *daemon);

/* The settings as the configuration gives them: what a setting goes back to. */
const NodeSettings *daemon_first_settings(const Daemon *daemon);

/* For look(): every value that is in force, see in_force.h. */
struct InForce;
void daemon_in_force(const Daemon *daemon, struct InForce *out);

/* Whether the configuration file has this definition: then no call changes it. Any
 * thread. */
bool daemon_declared(const Daemon *daemon, Slice table, Slice tenant, Slice key);

/* For look(): as if it had been told to stop by a signal. */
void daemon_quit(Daemon *daemon);

/* What is watched and firing; NULL: nothing. Loop thread. */
const struct Alerts *daemon_alerts(const Daemon *daemon);

/* Facts that never change while the daemon runs; any thread. */
typedef struct DaemonFacts {
    const char *data_dir;
    const char *sysid;
    uint16_t node;
    int64_t started_ms;
    const char *listen;  /* "127.0.0.1:7420" as really bound, or "" */
    const char *api_url; /* "http://127.0.0.1:7420", or "unix:PATH" */
    const char *store_url;
    const char *modules_root; /* of control files that name none */
    uint64_t payload_bytes_max;
    uint64_t body_bytes_max;
    uint64_t output_bytes_max;
    uint64_t result_bytes_max;
    uint32_t connections_max;
    const struct ClaimKey *claim_key;
    bool legacy; /* 002's first paths are served too */
    bool shared; /* other nodes use the store, too */
} DaemonFacts;
const DaemonFacts *daemon_facts(const Daemon *daemon);

/* Whether the journal is replayed, every listener open and adding possible; else a word
 * why not ("starting", "draining", "journal_full", "store_failing"). Any thread. */
bool daemon_ready(const Daemon *daemon, const char **out_why);

#endif
