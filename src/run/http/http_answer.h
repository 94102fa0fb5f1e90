/* SPDX-License-Identifier: Apache-2.0 */
/* http_answer.h - inside of http_runner.h: http_runner.c has the doors, the thread and
 * the calls, http_answer.c what an answer means for the jobs of its call. */
#ifndef RUN_HTTP_HTTP_ANSWER_H
#define RUN_HTTP_HTTP_ANSWER_H

#include "run/http/http_runner.h"

#include <curl/curl.h>

typedef struct WebJob {
    JobId id;
    uint32_t attempt;
    bool unfit; /* its payload cannot be a line: it is not in the body */
} WebJob;

typedef struct WebCall {
    struct WebCall *next; /* of all */
    CURL *easy;
    struct curl_slist *headers;
    WebJob *jobs;
    size_t job_count;
    size_t job_capacity;
    bool batch;
    uint32_t batch_max;
    size_t unfit;       /* jobs that are not in the body */
    int64_t begin_boot; /* a batch is gathered until then */
    Buf group;          /* what jobs of one batch have in common */
    Buf url;
    Buf head; /* header lines, each ended by NUL, but for those of each job */
    Buf own;  /* of the handler: NAME=VALUE, each ended by NUL */
    Buf body;
    Buf answer;
    size_t answer_max;
    bool cut;
    unsigned hops;    /* redirects followed */
    char refused[80]; /* an address that may not be called, or "" */
    char error[CURL_ERROR_SIZE];
    const struct Web *web;
} WebCall;

/* What came of a call. */
typedef struct WebEnd {
    long status;     /* of HTTP; 0: there was no answer */
    int32_t code;    /* for its jobs where there was none */
    const char *why; /* in words, with it; or NULL */
} WebEnd;

/* One RUN_ANSWERS with an answer for each job of the call. */
RunNews *web_answers(const WebCall *call, const WebEnd *end, size_t result_bytes_max);

/* The same when the call was given up for the sake of one job. */
RunNews *web_given_up(const WebCall *call, JobId id, int signal_number);

#endif
