/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - the thread that brings records to the disk.
 *
 * Each turn takes all that waits, writes it with one pwritev into room that was made
 * before, syncs once and reports. When nothing waits it makes room ahead, a step at a
 * time, so that no record has to wait for more than one step. */
#ifndef JOURNAL_WRITER_H
#define JOURNAL_WRITER_H

#include "journal/state.h"

MUST_CHECK Err writer_start(Journal *journal, Error *why);

/* The appending thread does the writer's work itself, if the writer rests: one waiting
 * client is answered two wake-ups earlier. False: nothing was done. */
bool writer_commit_here(Journal *journal);

/* Writes what waits, and returns when the thread has ended. */
void writer_stop(Journal *journal);

#endif
