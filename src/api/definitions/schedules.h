/* SPDX-License-Identifier: Apache-2.0 */
/* schedules.h - the routes of schedules: set, show, list, pause, trigger, preview. */
#ifndef API_DEFINITIONS_SCHEDULES_H
#define API_DEFINITIONS_SCHEDULES_H

#include "http/exchange.h"

void api_schedules_list(Exchange *exchange);
void api_schedule_get(Exchange *exchange);
void api_schedule_put(Exchange *exchange);
void api_schedule_patch(Exchange *exchange);
void api_schedule_delete(Exchange *exchange);
void api_schedule_pause(Exchange *exchange);
void api_schedule_resume(Exchange *exchange);
void api_schedule_trigger(Exchange *exchange);
void api_schedule_preview(Exchange *exchange);

#endif
