/* SPDX-License-Identifier: Apache-2.0 */
/* share_state.h - what a node remembers of the others; for node_share*.c. */
#ifndef CORE_SHARE_SHARE_STATE_H
#define CORE_SHARE_SHARE_STATE_H

#include "core/node/inside.h"
#include "core/share/node_message.h"
#include "core/share/peer.h"
#include "core/share/share.h"

/* A lost node whose jobs are being taken over. */
typedef struct TakenNode {
    uint32_t number;
    uint64_t epoch;
    int64_t fence_boot; /* not fenced by then: again */
    int64_t boot_ms;    /* of the next step */
    bool asking;        /* whether it has any left */
    uint64_t owed;      /* the epoch whose owed jobs were looked for */
} TakenNode;

typedef struct Share {
    Arena arena; /* of peers */
    Peer *peers;
    size_t peer_count;
    size_t turn; /* whose turn it is to be given jobs by a node that drains */
    bool controls;
    int64_t lease_boot;  /* nothing may run here from then on */
    int64_t claims_boot; /* nothing is started from then on */
    bool inbox_loading;
    bool hinted; /* while it is loading */
    int64_t inbox_boot;
    int64_t busy_boot; /* until then answers are expected: polls are frequent */
    int64_t ask_boot;
    int64_t pace_boot;
    uint64_t pace; /* jobs started in the last second */
    uint64_t started;
    uint64_t spare;       /* jobs that others could have */
    uint64_t pull;        /* likewise, for their pull workers */
    size_t pull_turn;     /* which peer is asked next for jobs of pull workers */
    int64_t pull_boot;    /* not before */
    int64_t pull_wait_ms; /* longer each time that nothing came of it */
    uint64_t pull_seen;   /* what all peers had when that last changed */
    Buf given;            /* ids that are to be asked for, 8 bytes each */
    size_t given_asked;
    bool given_loading;
    int64_t given_boot;
    int64_t after_boot;
    bool lanes_due; /* which lanes it has could not be read */
    int64_t lanes_boot;
    bool running_due; /* attempts of others may be among its own jobs */
    bool running_loading;
    int64_t running_boot; /* not before */
    bool owed_loading;
    int64_t owed_boot;     /* when what lost nodes owe is looked for next */
    Map owed;              /* ids of such jobs that are being added */
    Home home;             /* booking_node.c: as the store last said */
    uint64_t home_left;    /* the count up to which it was left to another */
    int64_t home_boot;     /* when jobs are next given to it */
    int64_t home_put_boot; /* not before: no one has it */
    Map calls;             /* RemoteCall by token */
    uint64_t token;
    TakenNode *taken;
    size_t taken_count;
    size_t taken_capacity;
} Share;

/* share.c */
void node_share_mail(Node *node, uint32_t to, const NodeMessage *text);
bool node_share_may_give(Node *node, const Head *head);
/* The head of the lane becomes another's; its id is added to what that one is told. */
void node_share_give_head(Node *node, Lane *lane, uint32_t to, Buf *ids);
void node_share_tell_given(Node *node, uint32_t to, const Buf *ids);

/* share_pull.c */
void node_share_pull_heard(Node *node); /* of the peers */
void node_share_pull_ask(Node *node);
void node_share_pull_give(Node *node, uint32_t to, const NodeMessage *text);
uint64_t node_share_pull_spare(Node *node);

/* share_take.c */
void node_share_take_over(Node *node);
void node_share_look_running(Node *node);
void node_share_look_lanes(Node *node);

#endif
