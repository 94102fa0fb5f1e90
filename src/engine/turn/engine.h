/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - the turn of a node: collect, decide, make durable, and only then act.
 *
 * An engine is used by one thread at a time, but for its boxes and what is atomic. What
 * must hold:
 *   E1  no effect that waits goes out before the journal is durable behind its turn; on
 *       a shared store, none that speaks of what the store holds before it has it, and
 *       none of them once it has refused a decision of this node.
 *   E2  effects go out in the order in which they were decided, each once.
 *   E3  a read sees everything that was accepted before it came.
 *   E4  every call is answered once. */
#ifndef ENGINE_TURN_ENGINE_H
#define ENGINE_TURN_ENGINE_H

#include "base/map.h"
#include "engine/turn/job_cache.h"
#include "engine/turn/ports.h"

#include <stdatomic.h>

#define EARLY_STARTS_MAX 4
#define WAITERS_LOOK_MS  100 /* between two looks at the deadlines of those who wait */

/* A turn whose effects wait for the journal; its outbox owns what they point to. */
typedef struct Turn {
    struct Turn *next;
    Outbox out;
    uint64_t end;                   /* journal position behind what it appended */
    size_t early[EARLY_STARTS_MAX]; /* effects: starts that are prepared and wait */
    size_t early_count;
    bool begun; /* what need not wait for a shared store has gone out */
} Turn;

typedef struct TurnMark { /* where in the journal a turn ended */
    uint64_t number;
    uint64_t end;
} TurnMark;

/* What has happened since the last turn. */
typedef struct Collected {
    Event *events;
    size_t count;
    size_t capacity;
    Arena step;       /* what the events of this turn point to */
    Mail *early_news; /* what the launcher told while the engine was opened */
    Mail *used_news;  /* freed after the step */
    Mail *used_asks;
} Collected;

/* Turns on their way: to the journal, and from there into the store. */
typedef struct Turns {
    Turn *held; /* with effects that wait, oldest first */
    Turn **held_last;
    Turn *spare;
    TurnMark *marks; /* of turns that the store has not applied yet, oldest first */
    size_t mark_first;
    size_t mark_count;
    size_t mark_capacity;
} Turns;

/* Those who wait: for the store, for an answer, for the end of a job. */
typedef struct Waiting {
    Call *reads; /* oldest first */
    Call **reads_last;
    Map calls;      /* CALL_EVENT calls that are not answered yet, by number */
    Requester last; /* the number of the last */
    Map ends;       /* job id -> list of Calls */
    size_t ends_count;
} Waiting;

typedef struct Engine {
    const EnginePorts *ports;
    const EnginePart *const *parts; /* NULL behind the last */
    void *world;
    struct Daemon *daemon; /* for call->look */
    Node *node;
    uint16_t number;
    bool shared;    /* other nodes use the store, too */
    bool ack_store; /* answers wait until the store has committed */
    bool closing;   /* events of calls are refused */

    Mailbox calls;   /* from the doors */
    Mailbox answers; /* Asks and IngestNews */
    Mailbox news;    /* RunNews */
    _Atomic uint64_t durable;
    _Atomic uint64_t asked; /* journal position that was asked to be synced */
    _Atomic size_t crowd;   /* calls answered together the last time */

    Collected in;
    Turns turns;
    Waiting waiting;
    JobCache bodies;
    Map early_signals;       /* id -> EarlySignal bits, while its job is asked for */
    uint64_t applied;        /* journal position that the store has */
    uint64_t applied_number; /* last turn wholly inside it */
    bool store_failing;
    bool store_full; /* and why: the disk is full */
    bool refused;    /* a shared store has refused decisions: none is told from now on */
    bool no_room;
} Engine;

/* Everything but the node, which engine_recover makes. The boxes are ready. */
void engine_init(Engine *engine, const EnginePorts *ports, void *world);
void engine_done(
    Engine *engine); /* calls that wait are not answered: engine_refuse_all */

/* recover.c: after the store has caught up with the journal. */
typedef struct EngineStart {
    Store *store;
    NodeOptions node;
    uint32_t owner; /* on a shared store: only this node's jobs; 0: all */
    bool bare;      /* nothing is known of jobs: only definitions */
    /* Between definitions and jobs; may be NULL. */
    Err (*opened)(void *world, Error *why);
} EngineStart;
MUST_CHECK Err engine_recover(Engine *engine, const EngineStart *start, Error *why);

/* Attempts that outlived the last daemon, out of the news up to RUN_LISTED. What else the
 * launcher told stays for the first turn. */
MUST_CHECK Err engine_adopt(Engine *engine, int64_t wait_ms, Error *why);

/* turn.c */
void engine_turn(Engine *engine);
void engine_release(Engine *engine); /* effects of turns that are durable */
void engine_durable(Engine *engine, uint64_t position); /* any thread */
int64_t engine_wake_boot(const Engine *engine, Now now);
bool engine_at_rest(const Engine *engine); /* nothing waits for journal or store */

/* collect.c */
Event *engine_event(Engine *engine, EventKind kind);
void engine_collect(Engine *engine, Now now);
void engine_collected_free(Engine *engine);
void engine_collected_drop(Engine *engine); /* what is in the boxes, at the end */
void engine_refuse_calls(Engine *engine);   /* the store is silent: all but new jobs */
void engine_answer(Call *call, Err err, const char *problem);

/* On a shared store these are accepted without it. */
bool engine_accepts(EventKind kind);

/* news.c */
void engine_take_news(Engine *engine, struct RunNews *news);

/* effects.c */
void engine_effect(Engine *engine, const Effect *effect);
bool engine_start_early(Engine *engine, const Effect *effect); /* all but the word */
void engine_start_asked(Engine *engine, const Ask *ask);
bool engine_holds(const Engine *engine, const Effect *effect); /* for a shared store */

/* waiters.c */
void engine_wait_add(Engine *engine, Call *call);
bool engine_wait_ask(Engine *engine, JobId id); /* whether the store is asked about it */
void engine_wait_answer(Engine *engine, JobId id, Err err);
void engine_wait_expire(Engine *engine, Now now);
void engine_wait_end(Engine *engine);   /* they look how far it is */
void engine_refuse_all(Engine *engine); /* whoever still waits is told: draining */

#endif
