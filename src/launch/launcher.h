/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.h - inside of the launcher program: its one table, and who may change it.
 *
 * launcher.c owns the attempts and the loop, conn.c the connection to the daemon. */
#ifndef LAUNCH_LAUNCHER_H
#define LAUNCH_LAUNCHER_H

#include "launch/child.h"
#include "launch/protocol.h"
#include "launch/tree.h"

#include <sys/resource.h>

typedef enum Told { /* what the connected daemon knows of an attempt */
                    TOLD_NOTHING,
                    TOLD_TAKEN, /* LAUNCH_WAITS, once */
                    TOLD_SLOW,  /* and once more */
                    TOLD_START,
                    TOLD_END,
} Told;

typedef struct Attempt {
    LaunchMessage facts; /* as they are told; facts.state 0: the place is free */
    TreeJob tree;
    Told told;
    bool unwanted;       /* to be forgotten as soon as it has ended */
    bool begins;         /* its program does not run yet: `told_r` will tell */
    int told_r;          /* with begins */
    bool stop_later;     /* with begins: it is to stand still once its program runs */
    ChildFault fault;    /* why its program could not be run; step 0: it was */
    int64_t begun_ms;    /* boot time of its START */
    bool dying;          /* the main process is gone, its tree not yet */
    int64_t give_up_ms;  /* boot time at which we stop waiting for what was killed; 0: it
                          * was not */
    int64_t deadline_ms; /* boot time; 0: none */
    int out_r;
    int err_r;
} Attempt;

typedef struct Launcher {
    Tree tree;
    struct rlimit nofile; /* as we found it: the jobs' */
    uint32_t top;         /* places from here on have never been used */
    uint32_t used;
    uint32_t running; /* main processes alive */
    uint32_t dying;
    uint32_t beginning;
    uint32_t killed; /* those with a give_up_ms that are not dying */
    uint32_t deadlines;
    bool untold; /* the daemon may have to be told something */
    int listen_fd;
    int conn_fd; /* -1: no daemon */
    int signal_fd;
    bool listing;
    uint32_t list_next;
    bool quit;          /* leave as soon as empty and alone */
    bool closing;       /* SIGTERM: take nothing new */
    int64_t idle_since; /* boot time since when there is no daemon */
    Attempt attempts[LAUNCH_ATTEMPTS_MAX];
} Launcher;

int64_t boot_ms(void);

Attempt *attempt_find(Launcher *launcher, uint64_t id, uint32_t attempt);
/* Returns an errno if the attempt cannot even be kept. Descriptors that it keeps are
 * replaced by -1. */
int attempt_start(Launcher *launcher, const LaunchMessage *request,
                  int fds[LAUNCH_FD_MOST]);
void attempt_forget(Launcher *launcher, Attempt *attempt);
/* To its whole tree. */
void attempt_signal(Launcher *launcher, Attempt *attempt, int signal_number);
void attempt_deadline(Launcher *launcher, Attempt *attempt, int64_t time_ms);

#endif
