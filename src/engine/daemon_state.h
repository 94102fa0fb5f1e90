/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_state.h - the daemon's own state. Only who takes a turn touches it (loop.h),
 * except for what is marked atomic. For the files of the engine and its parts. */
#ifndef ENGINE_DAEMON_STATE_H
#define ENGINE_DAEMON_STATE_H

#include "base/map.h"
#include "engine/daemon.h"
#include "engine/declare_apply.h"
#include "engine/ingest.h"
#include "engine/job_cache.h"
#include "engine/name_lease.h"
#include "engine/reader.h"
#include "engine/warm.h"
#include "http/http.h"
#include "intake/drop_folder.h"
#include "model/claim_token.h"
#include "pipeline/pipeline.h"
#include "run/http/http_runner.h"
#include "run/process/process.h"
#include "watch/event_log.h"
#include "watch/metrics.h"

#include <stdatomic.h>
#include <uv.h>

#define DAEMON_PATH_BYTES 4200 /* PATH_MAX and a prefix */
#define EARLY_STARTS_MAX  4

/* A turn whose effects wait for the journal; its outbox owns what they point to. */
typedef struct Turn {
    struct Turn *next;
    Outbox out;
    uint64_t end;                   /* journal position behind what it appended */
    bool answers;                   /* someone waits for it */
    size_t early[EARLY_STARTS_MAX]; /* effects: starts that are prepared and wait */
    size_t early_count;
    bool begun; /* what need not wait for a shared store has gone out */
} Turn;

typedef struct TurnMark { /* where in the journal a turn ended */
    uint64_t number;
    uint64_t end;
} TurnMark;

typedef enum StopStep { STOP_NO, STOP_DRAIN, STOP_JOBS } StopStep;

struct Daemon {
    DaemonOptions options;
    DaemonFacts facts;
    Identity identity;
    ClaimKey claim_key;
    NameLease name_lease;
    struct ClusterLink *cluster_link;   /* NULL: the store is not shared */
    struct OfflineStart *offline_start; /* started without its shared store; else NULL */
    struct SnapshotWriter
        *snapshot_writer; /* of a shared store that is there; else NULL */
    int lock_fd;
    char cluster[32];
    char data_dir[DAEMON_PATH_BYTES];
    char store_url[DAEMON_PATH_BYTES];
    char modules_root[DAEMON_PATH_BYTES];
    char socket_path[DAEMON_PATH_BYTES];
    char listen[64];
    char api_url[DAEMON_PATH_BYTES + 8];

    pthread_mutex_t turning; /* held by who takes a turn */
    int64_t armed_boot;      /* when the timer comes */
    _Atomic size_t crowd;    /* calls answered together the last time */
    _Atomic uint64_t asked;  /* journal position that the writer was asked to sync */
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t timer;
    uv_signal_t signals[3];

    Node *node;
    Declares *declares;        /* definitions of the configuration file */
    NodeSettings node_first;   /* what the configuration says */
    uint32_t settings_stored;  /* which of them the store overrides: setting_bit */
    JournalStats journal_seen; /* what the metrics have been told */
    Journal *journal;
    Store *store;
    Ingest *ingest;
    Reader *reader;
    Runner *runner;
    Pipeline *pipeline; /* processors; NULL until they are read */
    Web *web;
    Http *http;
    Drop *drop;
    Metrics *metrics;
    EventLog event_log;
    struct Alerts *alerts;
    struct Security *security; /* tokens */
    struct Notices *notices;
    struct Leftovers *leftovers;
    struct RemoteOrder
        *remote_order; /* words to other daemons: remote_order.h, remote_query.h */

    Mailbox calls;   /* from the doors */
    Mailbox answers; /* from the keeper */
    Mailbox news;    /* from the runner */
    _Atomic uint64_t durable;
    _Atomic int journal_err;
    _Atomic int not_ready; /* a NotReady of daemon.c; 0 when all is well */
    _Atomic bool hangup;

    Event *events;
    size_t event_count;
    size_t event_capacity;
    Arena step;       /* what the events of this turn point to */
    Mail *early_news; /* what the launcher told while we opened */
    Mail *used_news;  /* freed after the step */
    Mail *used_asks;

    Turn *held; /* turns with effects that wait, oldest first */
    Turn **held_last;
    Turn *spare;
    TurnMark *marks; /* of turns that the store has not applied yet, oldest first */
    size_t mark_first;
    size_t mark_count;
    size_t mark_capacity;
    int64_t sync_ns;         /* the last sync took about so long */
    uint64_t applied;        /* journal position that the store has */
    uint64_t applied_number; /* last turn wholly inside it */

    JobCache bodies;
    Warm warm;         /* jobs of this turn for warm contexts */
    Map early_signals; /* id -> EarlySignal bits, while its job is asked for */
    Call *reads;       /* reads that wait for the store, oldest first */
    Call **reads_last;
    Map open_calls;      /* CALL_EVENT calls that are not answered yet, by number */
    Requester last_call; /* the number of the last */
    Map trials;          /* id -> one under way (trials.c) */
    IdGen trial_ids;
    Map waiters; /* job id -> list of Calls */
    size_t waiter_count;
    bool store_failing;
    bool store_full; /* and why: the disk is full */
    bool no_room;
    bool data_gone; /* its directory was moved or removed: nothing would survive */
    dev_t data_device;
    ino_t data_inode;
    int64_t data_look_boot;
    bool leaving; /* told to stop, and still answers: options.drain_ms */
    StopStep stop;
    int64_t stop_boot;
    int64_t busy_boot; /* when there was last something unfinished (private daemons) */
};

/* turn.c */
void daemon_turn(Daemon *daemon);
void daemon_release(Daemon *daemon); /* effects of turns that are durable */

/* collect.c */
void daemon_collect(Daemon *daemon, Now now);
void daemon_collected_free(Daemon *daemon);
void daemon_collect_drop(Daemon *daemon); /* what is in the boxes, at the end */
Event *daemon_event(Daemon *daemon, EventKind kind);
void daemon_reads_release(Daemon *daemon);

/* effects.c */
void daemon_effect(Daemon *daemon, const Effect *effect);
bool daemon_start_early(Daemon *daemon, const Effect *effect); /* all but the word */
void daemon_start_trial(Daemon *daemon, const Job *job, int64_t deadline_ms);
void daemon_tell_signal(Daemon *daemon, JobId id, uint32_t attempt, int number);
void daemon_start_asked(Daemon *daemon, const Job *job, const StartHow *how);
void daemon_waiter_add(Daemon *daemon, Call *call);
bool daemon_waiter_ask(Daemon *daemon, JobId id); /* whether it has ended by now */
void daemon_waiters_answer(Daemon *daemon, JobId id, Err err);
void daemon_waiters_expire(Daemon *daemon, Now now);
void daemon_waiters_end(Daemon *daemon); /* they look how far it is */

/* trials.c */
JobId daemon_trial_id(Daemon *daemon); /* of an attempt that is no job's */
void daemon_trial_begin(Daemon *daemon, Call *call);
const Handler *daemon_trial_handler(const Daemon *daemon, JobId id); /* NULL: none */
bool daemon_trial_event(Daemon *daemon, const Event *event); /* it was a trial's */
bool daemon_trial_child(Daemon *daemon, JobId id, Slice line);
void daemon_trials_look(Daemon *daemon, Now now); /* those whose time is over */
void daemon_trials_drop(Daemon *daemon);

/* definitions.c */
MUST_CHECK Err daemon_load_definitions(Daemon *daemon, Error *why);
MUST_CHECK Err daemon_load_versions(Daemon *daemon, Error *why); /* of what runs */
MUST_CHECK Err daemon_load_held(Daemon *daemon, uint32_t owner, Error *why);
void daemon_declare(Daemon *daemon); /* what the file says now */

/* listeners.c, daemon.c */
MUST_CHECK Err daemon_open_doors(Daemon *daemon, Error *why);
void daemon_reload_doors(Daemon *daemon); /* SIGHUP: the certificate anew */
void daemon_state_changed(Daemon *daemon);

#endif
