/* SPDX-License-Identifier: Apache-2.0 */
/* reply.h - what a warm context says on its descriptor 3, read line by line.
 *
 *     R: ID CODE result        the answer to a job; the rest of the line is the result
 *     R: ID CODE <<N           the same, the result being the N bytes after this line
 *     J: ID type|payload       a new job when this one ends; also #J:
 *     J: ID type|<<N           the same, the payload being the N bytes after this line
 *     J!: ID type|payload      a new job at once
 *     P: ID 45 message         progress in percent
 *     O: ID OUT ERR            where in standard output and error the job's text ends
 *
 * Every line names its job, so that nothing depends on order. What is not exactly so is
 * REPLY_BAD. The same answers come out however the bytes were cut. */
#ifndef RUN_CONTEXT_REPLY_H
#define RUN_CONTEXT_REPLY_H

#include "base/buf.h"
#include "base/id.h"

#include <stdbool.h>
#include <stdint.h>

#define REPLY_LINE_MAX (17u << 20) /* longer without a newline: not this protocol */

typedef enum ReplyKind {
    REPLY_RESULT,    /* number: code; text: result; cut */
    REPLY_CHILD,     /* type, text: payload */
    REPLY_CHILD_NOW, /* type, text: payload */
    REPLY_PROGRESS,  /* number: percent; text: message */
    REPLY_OUTPUT,    /* ends[0], ends[1] */
    REPLY_BAD,       /* text: the line, or its beginning */
} ReplyKind;

typedef struct Reply {
    ReplyKind kind;
    JobId id;
    int32_t number;
    bool cut;
    Slice type;
    Slice text; /* this and type: valid until the next call */
    int64_t ends[2];
} Reply;

typedef struct ReplyReader {
    size_t result_bytes_max; /* larger results are cut */
    Buf in;                  /* bytes not yet read as lines, from `at` on */
    size_t at;
    bool counted; /* a line with <<N was read: N bytes follow */
    Reply head;   /* what that line said; its type is in `type` */
    Buf type;
    Buf text;      /* of the counted bytes those that are kept */
    uint64_t left; /* of them still to come */
} ReplyReader;

/* Room for `bytes` more input; the caller fills it and says how many with reply_put. */
char *reply_room(ReplyReader *reader, size_t bytes);
void reply_put(ReplyReader *reader, size_t bytes);

/* The next thing said; false when more input is needed. */
bool reply_next(ReplyReader *reader, Reply *out_reply);

/* Whether more is kept than any line of the protocol has. */
bool reply_over(const ReplyReader *reader);

void reply_done(ReplyReader *reader);

#endif
