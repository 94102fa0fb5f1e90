/* SPDX-License-Identifier: Apache-2.0 */
/* attempt.h - part of the runner: the life of an attempt, from the order to being
 * forgotten. */
#ifndef RUN_PROCESS_ATTEMPT_H
#define RUN_PROCESS_ATTEMPT_H

#include "run/runner.h"

/* Whether the launcher killed it because the lease of its node was over. */
bool attempt_ended_by_lease(const LaunchMessage *message);

RunAttempt *attempt_find(const Runner *runner, JobId id, uint32_t attempt);
void attempt_prepare(Runner *runner, Prepared *prepared); /* then it waits for: */
void attempt_go(Runner *runner, JobId id, uint32_t attempt);
void attempt_forget(Runner *runner, JobId id, uint32_t attempt);
void attempt_free(RunAttempt *attempt);
void attempts_list_begin(Runner *runner);
void attempts_list_end(Runner *runner);       /* what was not in the list is lost */
extern const LaunchHandlers attempt_handlers; /* the context is the Runner */

#endif
