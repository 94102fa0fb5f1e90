/* SPDX-License-Identifier: Apache-2.0 */
/* command_options.h - what each command takes, for the table in command.c. */
#ifndef CLI_COMMAND_OPTIONS_H
#define CLI_COMMAND_OPTIONS_H

#include "cli/command.h"

extern const Option job_options[];
extern const Option run_options[];
extern const Option add_options[];
extern const Option ls_options[];
extern const Option import_options[];
extern const Option export_options[];
extern const Option tenant_options[];
extern const Option audit_options[];
extern const Option token_options[];
extern const Option logs_options[];
extern const Option wait_options[];
extern const Option processor_options[];
extern const Option node_options[];
extern const Option parts_options[];
extern const Option match_options[];
extern const Option retry_options[];
extern const Option set_options[];
extern const Option queue_options[];
extern const Option resource_options[];
extern const Option handler_options[];
extern const Option events_options[];
extern const Option worker_options[];
extern const Option schedule_options[];
extern const Option stats_options[];
extern const Option config_options[];
extern const Option doctor_options[];
extern const Option serve_options[];

#endif
