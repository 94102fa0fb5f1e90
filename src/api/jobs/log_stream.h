/* SPDX-License-Identifier: Apache-2.0 */
/* log_stream.h - what a job prints, followed: see logs.h. */
#ifndef API_JOBS_LOG_STREAM_H
#define API_JOBS_LOG_STREAM_H

#include "http/exchange.h"
#include "run/process/output.h"

#define LOG_TEXT_TYPE "text/plain; charset=utf-8"

typedef struct LogWanted {
    uint32_t attempt; /* 0: the last one */
    bool streams[OUTPUT_STREAMS];
    bool follow;
    /* jobs/logs.c */
    uint32_t found; /* which attempt that is */
    Slice node;     /* the other node that has it; empty: this one */
    const Job *job; /* as it was then */
    int64_t offsets[OUTPUT_STREAMS];
} LogWanted;

/* Output that its cap took away is not passed over in silence. */
void log_gap(Buf *out, int64_t bytes);

/* The other node that ran the attempt; empty: this one did, or none. For read(): the
 * call's err says if it failed. */
Slice log_place(Call *call, Store *store, const DaemonFacts *facts, uint32_t attempt);

/* Replies with a stream that ends with the job, or with the attempt that is wanted. */
void log_follow(Exchange *exchange, const LogWanted *wanted);

#endif
