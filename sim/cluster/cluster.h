/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - several whole nodes on one shared store, in one thread, from one seed.
 *
 * Cores and engines are real (src/engine/turn), the store is the memory store; processes,
 * disks, leases and clients are made here. Nodes crash, sleep longer than their lease,
 * lose the store and come back with a tail of their journal. What must hold: K1  every
 * job that was acknowledged is in the store and comes to its end. K2  the store holds no
 * job that no one sent. K3  no job runs in two places at once, whoever believed what. K4
 * a job that was final stays as it was. K5  at most one node has the duties of the
 * cluster. K6  a cancellation that was acknowledged holds. K7  of the jobs with one
 * unique key one runs at a time, and of the requests with one idempotency key one has its
 * jobs run, wherever they were accepted. K8  what is counted over the cluster is never
 * booked beyond what there is: units of a resource, the one instance of a highlander
 * type. K9  a group whose members are final has its completion job, and one of them runs.
 *   K10 a job that is owed (its cause is in the store) comes to its end as others do,
 *       though the node that owes it may never return. */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include "base/map.h"
#include "base/rng.h"
#include "engine/turn/engine.h"
#include "engine/turn/ingest.h"
#include "journal/memory.h"
#include "sim/cluster/flaws.h"
#include "store/memory/memory.h"

#define NODES_MAX  4
#define LEASE_MS   3000
#define MARGIN_MS  100
#define TIME_BEGIN 1790000000000LL

typedef struct Process {
    JobId id;
    uint32_t attempt;
    int64_t end_ms;
    bool alive;
} Process;

typedef struct Request {
    Requester request;
    bool add;
    JobId id; /* ACT */
} Request;

typedef struct Member Member;

typedef struct MemberCall { /* from a client */
    Call call;              /* must be first */
    Member *member;
    Requester number;
} MemberCall;

/* The shared store as one member reaches it. */
typedef struct MemberStore {
    Store store; /* must be first */
    Member *member;
} MemberStore;

struct Member {
    struct Cluster *cluster;
    unsigned index;
    char sysid[16];
    uint32_t number;

    MemoryJournal journal;
    bool has_journal;

    Process processes[256]; /* with the launcher: they outlive the daemon */
    size_t process_count;
    int64_t deadline_ms; /* at which the launcher ends them all */

    Node *node; /* NULL: it does not run */
    uint64_t epoch;
    Engine engine; /* its node is `node` */
    Ingest ingest;
    MemberStore store;
    Ask **asks; /* on their way to the ingestion */
    size_t ask_count;
    size_t ask_capacity;
    MemberCall **calls; /* not answered yet */
    size_t call_count;
    size_t call_capacity;
    int64_t renew_ms;
    int64_t restart_ms;
    int64_t asleep_until_ms;
    int64_t cut_until_ms;
    bool peers_due; /* the next turn is told of the others */
    int64_t lease_boot;
    int64_t claims_boot;
    bool rejoin;
    bool gone;       /* for ever */
    uint64_t change; /* the last definition that it was told of */
};

#define KEYS     3 /* of each kind that clients use */
#define LICENCES 2

typedef struct Known { /* a job, as clients and processes know it */
    JobId id;
    unsigned key;       /* its unique key; 0: none */
    unsigned request;   /* its idempotency key; 0: none */
    uint64_t requested; /* which request that was */
    bool licence;       /* holds one of LICENCES while it runs */
    bool highlander;
    bool completion; /* of the group */
    bool owed;       /* more than one node may come to add it */
    bool acknowledged;
    bool cancelled; /* and that was acknowledged */
    JobState final; /* 0: not yet seen final */
    unsigned completed;
    Member *runs_on; /* NULL: nowhere */
} Known;

typedef struct Cluster {
    uint64_t seed;
    Rng rng;
    int64_t time_ms;
    bool calm;
    bool print;
    Flaw flaw;
    Store *store;
    unsigned count;
    unsigned gone; /* of them, for ever */
    Member members[NODES_MAX];
    unsigned licences; /* held by what runs now */
    unsigned highlanders;
    bool grouped;                       /* the group has members */
    bool defined;                       /* and is to have a completion job */
    unsigned completions;               /* that ran to their end */
    const Known *running_key[KEYS + 1]; /* who runs with that key */
    uint64_t ran_request[KEYS + 1];     /* which request of that key had its jobs run */
    Map jobs;                           /* Known by id */
    Map requests;                       /* Call by request */
    Requester last_request;
    uint64_t sent;
    uint64_t acknowledged;
    uint64_t starts;
    uint64_t lost;
    uint64_t taken;
    uint64_t given;
    uint64_t rejoins;
    uint64_t crashes;
    uint64_t sleeps;
    uint64_t cuts;
    uint64_t owed; /* jobs of nodes that did not return */
    bool failed;
    char failure[200];
} Cluster;

void violate(Cluster *cluster, const char *invariant, JobId id);
void say(Cluster *cluster, const Member *member, const char *what, JobId id);
Known *known_job(Cluster *cluster, JobId id);

static inline bool reaches_store(const Member *member)
{
    return member->cluster->time_ms >= member->cut_until_ms;
}

/* ports.c: the world as a member's engine sees it */
extern const EnginePorts member_ports;
extern const IngestPorts member_ingest_ports;
extern const EnginePart *const member_parts[];
extern const StoreKind member_store_kind;
Now member_now(const Member *member);

/* member.c */
void member_open(Member *member); /* may fail: then it is tried again later */
void member_crash(Member *member, bool power);
void member_turn(Member *member);
void member_sync(Member *member);
void member_release(Member *member);
void member_ingest(Member *member, size_t most);
void member_answer(Member *member);
MemberCall *
member_call(Member *member); /* an empty one; its event is filled, and then: */
void member_send(Member *member, MemberCall *call, Requester number);
void member_renew(Member *member);
void member_close(Member *member);
/* It is killed and never returns; what was acknowledged by it is in the store. */
void member_goes(Member *member);

#endif
