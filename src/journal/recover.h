/* SPDX-License-Identifier: Apache-2.0 */
/* recover.h - opening a journal: what is on the disk becomes what can be gone on with.
 *
 * Cuts a torn tail, and makes durable what a process that died had written but not
 * synced, before anyone is told of it. */
#ifndef JOURNAL_RECOVER_H
#define JOURNAL_RECOVER_H

#include "journal/state.h"

/* Fills chain, seed, end, durable, rows, the writer's current segment and where reading
 * goes on; makes the first segment if there is none. options and dir_fd are set. */
MUST_CHECK Err recover_journal(Journal *journal, Error *why);

#endif
