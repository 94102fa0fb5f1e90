/* SPDX-License-Identifier: Apache-2.0 */
/* http_runner.h - the runner of `http` handlers: each job, or each batch of jobs, is one
 * POST.
 *
 * One thread of its own, with libcurl's multi interface; connections are kept and used
 * again. The loop gives orders, which never wait, and takes RUN_ANSWERS out of the same
 * mailbox as the news of processes. Every job that was ordered brings exactly one answer,
 * unless the runner is closed before: then its job is lost, and the next daemon says so.
 *
 * What must hold: no connection is opened to an address that address.h refuses,
 * wherever the name or the redirect came from; no proxy, cookie or file of credentials of
 * the daemon's surroundings has a part in it; certificates are verified. */
#ifndef RUN_HTTP_HTTP_RUNNER_H
#define RUN_HTTP_HTTP_RUNNER_H

#include "run/process/process.h"

typedef struct Web Web;

typedef struct WebOptions {
    Mailbox *news;
    Slice node;               /* Pawl-Node */
    int64_t result_bytes_max; /* of one answer; what is longer is cut */
    const char *allow; /* ranges of private addresses that may be called, or NULL */
} WebOptions;

#define WEB_BATCH_MAX 400 /* jobs of one call: their ids go into one header */

MUST_CHECK Err web_open(Web **out_web, const WebOptions *options, Error *why);
void web_close(Web *web); /* calls under way are given up */

typedef struct WebOrder {
    const Job *job; /* attempt and payload included; copied */
    Slice url;
    Slice headers;       /* NAME=VALUE, each ended by NUL: go to the URL's own origin */
    uint32_t version;    /* of the handler: only jobs of one version share a call */
    uint32_t batch;      /* 0: a call of its own; else so many of its type at once */
    int64_t deadline_ms; /* wall time; 0: none */
    bool plain;          /* a document of JSON that is no job: nothing is told of one */
} WebOrder;

void web_start(Web *web, const WebOrder *order);

/* TERM and KILL give the call up; others do nothing. Jobs that share the call are ungot.
 * A job that is not known here (any more): nothing. */
void web_signal(Web *web, JobId id, uint32_t attempt, int signal_number);

/* The URL of a handler, checked as it is set: http or https, with a host. */
MUST_CHECK Err web_url_check(Slice url, Error *why);

#endif
