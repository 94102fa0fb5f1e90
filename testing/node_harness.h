/* SPDX-License-Identifier: Apache-2.0 */
/* node_harness.h - a node in a test's hand: clocks, a store in an array, and what it did.
 *
 * Everything a step decides is durable and stored at once; its questions are answered in
 * the steps that follow, unless the test holds the answers back. The store checks that
 * every operation finds the job as it expects it: on a store that the node owns, none
 * may fail. node_check runs after each step. */
#ifndef TESTING_NODE_HARNESS_H
#define TESTING_NODE_HARNESS_H

#include "core/node/node.h"
#include "core/query.h"
#include "core/unique.h"

#define RIG_JOBS_MAX 4096

typedef struct RigAnswer {
    uint64_t token;
    uint64_t number;
    Err err;
    Job *jobs; /* in the rig's arena */
    size_t count;
    bool more;
    bool gone;
    bool whole;
    int64_t next_due_ms;
    Slice value;
    AfterCount *after;
    JobId cursor;
    Letter *letter; /* NULL: none */
} RigAnswer;

typedef struct RigKey {
    Slice tenant;
    Slice key;
    Slice value;
    int64_t expiry_ms;
} RigKey;

typedef struct RigWait { /* child waits for parent */
    JobId parent;
    JobId child;
    AfterOn on;
    int32_t state; /* how the parent ended, once it is gone */
    bool patient;  /* FIELD_PATIENT, until the parent is retried */
    bool broke;    /* AFTER_BROKE */
} RigWait;

typedef struct RigDefinition { /* OP_PUT */
    Slice table;
    Slice tenant;
    Slice key;
    Slice value;
} RigDefinition;

typedef struct Rig {
    Node *node;
    NodeSettings settings;
    Now now;
    Outbox out;
    Arena arena; /* what the store keeps */
    Job jobs[RIG_JOBS_MAX];
    size_t count;
    RigKey keys[64];
    size_t key_count;
    RigWait waits[RIG_JOBS_MAX];
    size_t wait_count;
    uint64_t after_asked; /* questions of WANT_AFTER */
    int64_t old_late_ms;  /* of the last WANT_OLD_DONE */
    RigDefinition definitions[64];
    size_t definition_count;
    uint64_t number; /* of the last turn that wrote */
    uint64_t operations;
    uint64_t starts;
    uint64_t fences; /* of other nodes */
    uint64_t given;  /* jobs, to other nodes */
    uint64_t mails;  /* to them */
    Op drop;         /* the last OP_DROP and OP_SWEPT */
    Op swept;
    Slice last_mail;
    Letter letter; /* comes with the next look into the inbox; no bytes: none */

    bool shared;       /* the next node of rig_reopen is one of several */
    bool hold_answers; /* questions are looked up, but not answered until rig_answer */
    bool store_fails;  /* questions are answered with an error */
    bool slow_starts;  /* no one says that a process runs */
    RigAnswer *answers;
    size_t answer_count;
    size_t answer_capacity;

    Effect *log; /* of all steps since rig_forget, loads left out */
    size_t log_count;
    size_t log_capacity;
    size_t told; /* of the log: starts up to here have been told */
    Requester last_request;
} Rig;

/* Two slots, and whatever `change` makes of the settings (may be NULL). */
Rig *rig_open(void (*change)(NodeSettings *settings));
void rig_close(Rig *rig);

/* The node is gone, its store remains; a new node takes over. Attempts are adopted
 * where `alive` says so. No step yet. */
void rig_reopen(Rig *rig, bool alive);

void rig_step(Rig *rig, const Event *events, size_t count);
void rig_answer(Rig *rig); /* delivers what was held back */
void rig_wait(Rig *rig, int64_t ms);
void rig_slots(Rig *rig, uint32_t slots);

/* A job that runs `true` in queue `default`. */
Job rig_job(void);
JobId rig_add(Rig *rig, const Job *job);
JobId rig_add_default(Rig *rig);
/* A job of type `type` that names no command: its handler says what to run. */
Job rig_typed_job(const char *type);
/* Sets the handler of a type of tenant `default`; NULL deletes it. Returns its version
 * (0: refused). */
uint32_t rig_define(Rig *rig, const char *type, const Handler *handler);
void rig_switch(Rig *rig, const char *type, bool enabled);
/* The stored definition, deleted ones too; NULL: none. */
const RigDefinition *rig_definition(const Rig *rig, const char *table, const char *key);
/* One step with one such event; returns what was answered (ERR_BUSY: nothing yet). */
Err rig_act(Rig *rig, JobId id, Action action);
Err rig_send(Rig *rig, Event event);
void rig_end(Rig *rig, JobId id, const Ending *ending);
void rig_exit(Rig *rig, JobId id, int32_t exit_status);

const Job *rig_find(const Rig *rig, JobId id); /* NULL: the store has no such job */
JobState rig_state(const Rig *rig, JobId id);  /* there must be one */
void rig_forget(Rig *rig);                     /* clears the log */
size_t rig_count(const Rig *rig, EffectKind kind, JobId id); /* 0: of any job */
const Effect *rig_last(const Rig *rig, EffectKind kind);     /* NULL: none */
size_t rig_signals(const Rig *rig, JobId id, int32_t signal);

#endif
