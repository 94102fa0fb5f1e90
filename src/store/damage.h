/* SPDX-License-Identifier: Apache-2.0 */
/* damage.h - rows that are not as they were written (store/sum.h).
 *
 * Such a row is never acted upon: lists and loads leave it out, and who asks for it by
 * its id is told. Each is told once in the log and counted, for the whole process. */
#ifndef STORE_DAMAGE_H
#define STORE_DAMAGE_H

#include "base/err.h"
#include "base/id.h"

/* How many jobs are told apart; of others every sight counts. */
#define DAMAGE_KNOWN_MAX 4096

void damage_note(JobId id);

/* Of different jobs so far. Any thread. */
uint64_t damage_count(void);

#define DAMAGE_TEXT "the row of job %s is damaged: its checksum is another one"

#endif
