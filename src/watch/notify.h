/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h - telling of the end of a control file's job, as its <notify> asked (S0.44).
 *
 * That someone has to be told is written with the end itself (NOTICE_OWED). Then the job
 * is read, and each target that wants the event gets a notice (notices.h), in the batch
 * that takes the debt away: nothing is forgotten, whatever crashes. Loop thread only. */
#ifndef WATCH_NOTIFY_H
#define WATCH_NOTIFY_H

#include "engine/daemon_state.h"

/* A job came to its end, durably: asks the store whom to tell, if it wants that. */
void notify_ended(Daemon *daemon, const Effect *effect);

/* The store's answer: the job at its end, or nothing if it has been removed. */
void notify_loaded(Daemon *daemon, const Ask *ask);

/* After a start: ends that were owed when the daemon before this one went; read before
 * its threads run, asked about once they do. notify_ask frees the list. */
typedef struct OwedList {
    struct Owed *items;
    size_t count;
    size_t capacity;
} OwedList;
MUST_CHECK Err notify_read(const Daemon *daemon, OwedList *out, Error *why);
void notify_ask(Daemon *daemon, OwedList *list);

#endif
