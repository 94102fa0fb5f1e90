/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_state.h - the daemon's own state. Only who takes a turn touches it (loop.h),
 * except for what is marked atomic. For the files of the engine and its parts. */
#ifndef ENGINE_DAEMON_STATE_H
#define ENGINE_DAEMON_STATE_H

#include "base/map.h"
#include "engine/daemon.h"
#include "engine/declare_apply.h"
#include "engine/ingest_thread.h"
#include "engine/name_lease.h"
#include "engine/reader.h"
#include "engine/turn/engine.h"
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

typedef enum StopStep { STOP_NO, STOP_DRAIN, STOP_JOBS } StopStep;

struct Daemon {
    Engine engine;
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
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t timer;
    uv_signal_t signals[3];

    Declares *declares;        /* definitions of the configuration file */
    NodeSettings node_first;   /* what the configuration says */
    uint32_t settings_stored;  /* which of them the store overrides: setting_bit */
    JournalStats journal_seen; /* what the metrics have been told */
    Journal *journal;
    Store *store;
    IngestThread *ingest;
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

    _Atomic int journal_err;
    _Atomic int not_ready; /* a NotReady of daemon.c; 0 when all is well */
    _Atomic bool hangup;

    int64_t sync_ns; /* the last sync took about so long */
    Warm warm;       /* jobs of this turn for warm contexts */
    Map trials;      /* id -> one under way (trials.c) */
    IdGen trial_ids;
    bool data_gone; /* its directory was moved or removed: nothing would survive */
    dev_t data_device;
    ino_t data_inode;
    int64_t data_look_boot;
    bool leaving; /* told to stop, and still answers: options.drain_ms */
    StopStep stop;
    int64_t stop_boot;
    int64_t busy_boot; /* when there was last something unfinished (private daemons) */
};

/* daemon_ports.c, daemon_parts.c */
extern const EnginePorts daemon_ports;
extern const EnginePart *const daemon_parts[]; /* NULL behind the last */

/* trials.c */
JobId daemon_trial_id(Daemon *daemon); /* of an attempt that is no job's */
void daemon_trial_begin(Daemon *daemon, Call *call);
const Handler *daemon_trial_handler(const Daemon *daemon, JobId id); /* NULL: none */
bool daemon_trial_event(Daemon *daemon, const Event *event); /* it was a trial's */
bool daemon_trial_child(Daemon *daemon, JobId id, Slice line);
void daemon_trials_look(Daemon *daemon, Now now); /* those whose time is over */
void daemon_trials_drop(Daemon *daemon);

/* definitions.c */
MUST_CHECK Err daemon_open_parts(Daemon *daemon, Error *why); /* out of the store */
void daemon_declare(Daemon *daemon);                          /* what the file says now */

/* listeners.c, daemon.c */
MUST_CHECK Err daemon_open_doors(Daemon *daemon, Error *why);
void daemon_reload_doors(Daemon *daemon); /* SIGHUP: the certificate anew */
void daemon_state_changed(Daemon *daemon);

#endif
