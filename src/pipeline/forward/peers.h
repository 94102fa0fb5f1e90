/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h - what the pipeline knows of other nodes that share the store, and of their
 * processors: who is alive, where each processor's directory is, how it is reached, what
 * waits there. Told by the daemon; the pipeline's thread alone looks into it. */
#ifndef PIPELINE_FORWARD_PEERS_H
#define PIPELINE_FORWARD_PEERS_H

#include "base/buf.h"
#include "base/mailbox.h"
#include "base/map.h"

#include <stdint.h>

typedef struct PeerNode {
    Slice sysid;
    bool alive;
    bool fenced;  /* what it decides counts no more, until it joins anew */
    Slice loads;  /* lines "NAME UNITS" */
    int64_t boot; /* since when it is as it is */
} PeerNode;

/* A processor of some node, as that node has published it. */
typedef struct PeerPlace {
    Slice node;
    Slice name;
    Slice dir;     /* absolute, over there */
    Slice address; /* how rsync gets there: ssh:HOST:/DIRECTORY or rsync://HOST/MODULE */
    Arena arena;   /* of the slices */
    int64_t looked_boot;
    bool seen; /* its directory is here, too: the same machine, or a shared file system */
} PeerPlace;

typedef enum PeersKind {
    PEERS_NODES, /* all nodes, anew */
    PEERS_PLACE, /* one processor; without a directory: it is gone */
} PeersKind;

typedef struct PeersNews {
    Mail mail; /* first */
    Arena arena;
    PeersKind kind;
    PeerNode *nodes;
    size_t count;
    size_t capacity;
    PeerPlace place; /* slices in the arena of the news */
} PeersNews;

PeersNews *peers_news(PeersKind kind);
void peers_news_node(PeersNews *news, const PeerNode *node); /* copied */
void peers_news_free(PeersNews *news);

typedef struct Peers {
    PeersNews *nodes; /* the last ones; NULL: nothing was heard */
    PeerPlace **places;
    size_t count;
    size_t capacity;
} Peers;

void peers_take(Peers *peers, PeersNews *news); /* owns it from now on */
void peers_done(Peers *peers);

const PeerNode *peers_node(const Peers *peers, Slice sysid); /* NULL: not known */
PeerPlace *peers_place(const Peers *peers, Slice sysid, Slice name);

/* What waits there as its node last said; -1: it did not. */
int64_t peers_load(const PeerNode *node, Slice name);

/* Whether the directory of the place can be used from here: it says itself whose it is.
 */
bool peers_seen(PeerPlace *place, int64_t boot_ms);

#define PEERS_ID_FILE                                                                    \
    "id" /* in .pawl: the id of the processor that has the directory                     \
          */

#endif
