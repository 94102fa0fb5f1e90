/* SPDX-License-Identifier: Apache-2.0 */
/* actions.h - doing something to one job: the actions, PATCH and DELETE. */
#ifndef API_JOBS_ACTIONS_H
#define API_JOBS_ACTIONS_H

#include "http/exchange.h"

void api_job_act(Exchange *exchange); /* the route says which action */
void api_job_patch(Exchange *exchange);
void api_job_delete(Exchange *exchange);

#endif
