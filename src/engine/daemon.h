/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.h - one node as a running program: opened, run until told to stop, closed. */
#ifndef ENGINE_DAEMON_H
#define ENGINE_DAEMON_H

#include "config/declare.h"
#include "engine/call.h"
#include "engine/identity.h"

typedef struct DaemonOptions {
    const char *data_dir;        /* absolute; exists or is made, mode 0700 */
    const char *listen;          /* "127.0.0.1:7420"; "": the Unix socket only */
    const char *tls_certificate; /* PEM files; "" or NULL: no TLS */
    const char *tls_key;
    int64_t audit_keep_ms;    /* rows of the audit that are older go */
    int64_t forget_ms;        /* nodes that were lost so long ago are gone for good */
    const char *store_url;    /* "sqlite:/PATH" */
    const char *modules_root; /* absolute */
    bool ack_store;           /* answer only when the store has committed too */
    const char *launcher;     /* program; NULL: as it is found */
    NodeSettings settings;
    uint64_t segment_bytes;
    uint64_t journal_keep_bytes;
    int64_t journal_keep_ms;
    uint64_t journal_lag_max; /* bytes the store may be behind; more: adds get 503 */
    uint64_t body_bytes_max;
    uint64_t payload_bytes_max;
    uint64_t output_bytes_max;
    uint64_t result_bytes_max;
    const char *allow_private; /* ranges that http handlers may call; NULL: none */
    uint32_t context_jobs;     /* of warm contexts: jobs served, idleness, age */
    int64_t context_idle_ms;
    int64_t context_age_ms;
    uint64_t header_bytes_max;
    uint32_t connections_max;
    int64_t idle_ms;  /* of an HTTP connection */
    int64_t drain_ms; /* after a signal to stop: still answers, but is not ready */
    bool legacy;      /* 002's first paths too */
    bool private_one; /* leaves after private_idle_ms with nothing unfinished */
    int64_t private_idle_ms;
    /* SIGHUP: the configuration's settings anew; false leaves everything as it is. Bits
     * in `stored` (setting_bit) tell which an API call has set: those stay as they are.
     */
    bool (*reload)(void *context, uint32_t stored, NodeSettings *settings);
    void *reload_context;
    const struct Config *config; /* what a reload changes in place; NULL: not known */
    /* The first of the definitions in the configuration file (declare.h); looked at again
     * after each reload that was taken. NULL: none. */
    Declared *const *declared;
} DaemonOptions;

/* Opens everything in order: data directory and lock, identity, store, journal (whose
 * tail goes into the store), launcher (whose jobs are taken over), listeners. After
 * ERR_OK daemon_ready() is true. */
MUST_CHECK Err daemon_open(const DaemonOptions *options, Daemon **out, Error *why);

/* Turns until SIGTERM or SIGINT; returns the exit status of the program. */
int daemon_run(Daemon *daemon);

/* Jobs that run go on with the launcher. */
void daemon_close(Daemon *daemon);

#endif
