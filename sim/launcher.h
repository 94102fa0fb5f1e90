/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.h - a launcher and its processes: they run, fail, hang and die by plan.
 *
 * It outlives the daemon but not the machine. It keeps every end until it is told to
 * forget it; reports to the daemon may come late or twice. */
#ifndef SIM_LAUNCHER_H
#define SIM_LAUNCHER_H

#include "core/effect.h"

struct World;
struct Machine;

typedef struct Process {
    JobId id;
    uint32_t attempt;
    uint32_t slot; /* of the warm context that has it in hand; 0: a process of its own */
    bool begun;    /* in a context one runs after the other */
    bool alive;
    bool stopped;
    bool ignores_term;
    bool term_waits; /* came while it was stopped */
    int64_t end_ms;  /* when it ends by itself; runs on when stopped */
    int32_t plan_exit;
    int32_t plan_signal;
    int32_t plan_said;
    uint32_t children;
    Ending ending; /* once it is over; slices in `text` */
    char result[40];
    bool reported;
    int64_t again_ms; /* a lost report is sent again then */
    bool unknown;     /* to the daemon that has asked what there is */
} Process;

typedef struct LateNews { /* not delivered before at_ms */
    struct RunNews *news;
    int64_t at_ms;
} LateNews;

typedef struct Launcher {
    Process *processes;
    size_t count;
    size_t capacity;
    LateNews *news;
    size_t news_count;
    size_t news_capacity;
} Launcher;

void launcher_start(struct Machine *machine, const Job *job, uint32_t slot);
void launcher_daemon_dies(struct Machine *machine); /* and its contexts with it */
void launcher_signal(struct Machine *machine, JobId id, uint32_t attempt, int32_t signal);
void launcher_forget(struct Machine *machine, JobId id, uint32_t attempt);
void launcher_step(struct Machine *machine);      /* what is due happens */
void launcher_dies(struct Machine *machine);      /* and all its processes */
void launcher_power_cut(struct Machine *machine); /* likewise, and no one is told */
void launcher_list(struct Machine *machine);      /* a new daemon asks what there is */
void launcher_adopted(struct Machine *machine);   /* and has taken over what it knows */
int64_t launcher_wake_ms(const struct Machine *machine);
void launcher_done(Launcher *launcher);

#endif
