/* SPDX-License-Identifier: Apache-2.0 */
/* ask.h - what the engine asks the store, and what it is told by whoever writes it. */
#ifndef ENGINE_TURN_ASK_H
#define ENGINE_TURN_ASK_H

#include "base/mailbox.h"
#include "store/store.h"

typedef enum AskPurpose {
    ASK_NODE,   /* the core's EFFECT_LOAD: token */
    ASK_START,  /* the whole job of an attempt that is to start: attempt */
    ASK_NOTIFY, /* whom a control file's job wants told of its end */
    ASK_WAIT,   /* whether a job that someone waits for is final already */
} AskPurpose;

/* How a job is to be started. */
typedef struct StartHow {
    int64_t deadline_ms; /* wall; 0: none */
    uint32_t slot;
    bool warm;
} StartHow;

/* A question; it comes back through the answers as it is, with `loaded` filled. */
typedef struct Ask {
    Mail mail; /* must be first, as in IngestNews */
    bool is_news;
    AskPurpose purpose;
    Arena arena; /* holds what `load` points to */
    Load load;
    uint64_t needs; /* journal position that the store must have applied */
    uint64_t token;
    uint32_t attempt;
    StartHow how;
    Err err;
    Loaded loaded;
    uint64_t applied; /* position the store had come to */
} Ask;

typedef struct IngestNews {
    Mail mail;
    bool is_news; /* true: tells it from an Ask */
    uint64_t applied;
    Err err; /* the store fails; ERR_OK: it works (again) */
    double commit_seconds;
    uint64_t ops;
    uint64_t refused; /* operations whose guard failed: never on an owned store */
    uint64_t lost;    /* of them: decisions about jobs that are another node's */
} IngestNews;

void ask_free(Ask *ask);

/* Either of the two, as the answers hold them. */
void ask_mail_free(Mail *mail);

#endif
