/* SPDX-License-Identifier: Apache-2.0 */
/* declare.c - see declare.h: which kinds of definitions a file may hold. */
#include "config/declare.h"

#include "base/text.h"
#include "base/times.h"
#include "engine/processors.h"
#include "model/alert_rule.h"
#include "model/handler_json.h"
#include "model/queue_json.h"
#include "model/resource_json.h"
#include "model/schedule_json.h"
#include "model/tenant_read.h"
#include "pipeline/forward/plan.h"

static Err read_tenant(Declaring *in, Buf *out_value)
{
    Tenant tenant;
    Err err = tenant_read(in->object, &tenant, &in->why);
    if (!err)
        tenant_pack(out_value, &tenant);
    return err;
}

static Err keep_plan(Declaring *in, Err err, const PlanFault *fault, const Plan *plan,
                     Buf *out_value)
{
    JsonOut json = { .out = out_value };
    if (err)
        return problem_set(&in->why, fault->code, "%s", fault->why.text);
    json_object(&json, NULL);
    if (plan->from.bytes)
        plan_broker_members(&json, plan);
    else
        plan_members(&json, plan);
    json_object_end(&json);
    return ERR_OK;
}

static Err read_processor(Declaring *in, Buf *out_value)
{
    Plan plan;
    PlanFault fault = { 0 };
    Err err = plan_read(in->object, in->name, in->arena, &plan, &fault);
    return keep_plan(in, err, &fault, &plan, out_value);
}

static Err read_broker(Declaring *in, Buf *out_value)
{
    Plan plan;
    PlanFault fault = { 0 };
    Err err = plan_read_broker(in->object, in->name, in->arena, &plan, &fault);
    return keep_plan(in, err, &fault, &plan, out_value);
}

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

static Err read_queue(Declaring *in, Buf *out_value)
{
    QueueDef def = { .tenant = in->tenant, .name = in->name };
    Err err = queue_read(in->object, in->arena, &def, &in->why);
    if (!err)
        queue_pack(out_value, &def);
    return err;
}

static Err read_resource(Declaring *in, Buf *out_value)
{
    ResourceDef def;
    Err err = resource_read(in->object, in->name, in->arena, &def, &in->why);
    if (!err)
        resource_pack(out_value, &def);
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
    { "tenants", TENANT_TABLE, false, tenant_name_valid, read_tenant, false },
    { "resources", RESOURCE_TABLE, false, name_valid, read_resource, false },
    { "queues", QUEUE_TABLE, true, queue_name_valid, read_queue, false },
    { "handlers", HANDLER_TABLE, true, name_valid, read_handler, false },
    { "schedules", SCHEDULE_TABLE, true, name_valid, read_schedule, false },
    { "processors", PROCESSOR_TABLE, false, name_valid, read_processor, true },
    { "brokers", BROKER_TABLE, false, name_valid, read_broker, true },
    { "alerts", ALERT_TABLE, true, name_valid, read_alert, false },
    { NULL, NULL, false, NULL, NULL, false },
};

const DeclareSection *declare_sections(void)
{
    return rows;
}
