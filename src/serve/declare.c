/* SPDX-License-Identifier: Apache-2.0 */
/* declare.c - see declare.h: which kinds of definitions a file may hold. */
#include "serve/declare.h"

#include "base/text.h"
#include "base/times.h"
#include "serve/alert_rule.h"
#include "serve/handler_json.h"
#include "serve/schedule_json.h"

static Err read_handler(Declaring *in, Buf *out_value)
{
    JobRules rules = { .tenant = in->tenant, .wall_ms = clock_now().wall_ms };
    HandlerReader reader = { .job = { .rules = &rules, .arena = in->arena } };
    reader.handler.tenant = in->tenant;
    reader.handler.type = in->name;
    handler_read_begin(&reader);
    Err err = handler_read(&reader, in->object);
    if (!err)
        err = handler_read_end(&reader);
    if (err)
        in->why = reader.job.why;
    else
        handler_pack(out_value, &reader.handler);
    return err;
}

#define SCHEDULE_PAYLOAD_MAX (1 << 20) /* it stands in a file */

static Err read_schedule(Declaring *in, Buf *out_value)
{
    JobRules rules = { .tenant = in->tenant,
                       .wall_ms = clock_now().wall_ms,
                       .payload_bytes_max = SCHEDULE_PAYLOAD_MAX };
    ScheduleReader reader = { .name = in->name,
                              .job = { .rules = &rules, .arena = in->arena } };
    Err err = schedule_read(&reader, in->object);
    if (err)
        in->why = reader.job.why;
    else
        schedule_pack(out_value, &reader.schedule);
    return err;
}

static Err read_alert(Declaring *in, Buf *out_value)
{
    AlertRule rule;
    Err err = alert_rule_read(in->object, in->name, in->arena, &rule, &in->why);
    if (!err)
        alert_rule_pack(out_value, &rule);
    return err;
}

static const DeclareSection rows[] = {
    { "handlers", HANDLER_TABLE, true, name_valid, read_handler },
    { "schedules", SCHEDULE_TABLE, true, name_valid, read_schedule },
    { "alerts", ALERT_TABLE, true, name_valid, read_alert },
    { NULL, NULL, false, NULL, NULL },
};

const DeclareSection *declare_sections(void)
{
    return rows;
}
