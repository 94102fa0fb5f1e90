/* SPDX-License-Identifier: Apache-2.0 */
/* api_job_actions.h - doing something to one job: the actions, PATCH and DELETE. */
#ifndef SERVE_API_JOB_ACTIONS_H
#define SERVE_API_JOB_ACTIONS_H

#include "serve/exchange.h"

void api_job_act(Exchange *exchange); /* the route says which action */
void api_job_patch(Exchange *exchange);
void api_job_delete(Exchange *exchange);

#endif
