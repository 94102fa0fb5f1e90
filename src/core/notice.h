/* SPDX-License-Identifier: Apache-2.0 */
/* notice.h - something that someone outside is to be told, until they know.
 *
 * A notice is a definition in the store, written in the batch of what it speaks of: an
 * alert that begins or ends, a job that came to its end. It goes when its target has
 * taken it; what fails is tried again with growing pauses, and given up after
 * NOTICE_TRIES_MAX, visibly: it stays for a while, with the reason. */
#ifndef CORE_NOTICE_H
#define CORE_NOTICE_H

#include "base/buf.h"
#include "base/times.h"

#define NOTICE_TABLE "notice"

/* Ends of jobs (JOB_TELLS) whose notices have not been made yet: written with the end,
 * gone with the batch that makes them. Key: id.attempt; value: the name of the state. */
#define NOTICE_OWED "notice_owed"

#define NOTICE_TRIES_MAX 16 /* with the pauses between them some six hours */
#define NOTICE_KEPT_MS   (7 * MS_PER_DAY)

typedef struct Notice {
    Slice target; /* webhook:URL or command:WORDS */
    Slice body;   /* JSON */
    Slice user;   /* whose account a command runs as; empty: the daemon's */
    uint32_t tries;
    bool gave_up;
    int64_t created_ms;
    int64_t
        due_ms;  /* wall; of the next try, or when one that was given up is forgotten */
    Slice error; /* of the last try */
} Notice;

void notice_pack(Buf *out, const Notice *notice);
MUST_CHECK Err notice_unpack(Slice packed, Notice *out);

/* A try failed: when the next one is, or that it is given up. `error` is borrowed. */
void notice_failed(Notice *notice, int64_t now_ms, Slice error);

#endif
