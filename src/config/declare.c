/* SPDX-License-Identifier: Apache-2.0 */
/* declare.c - see declare.h: which kinds of definitions a file may hold. */
#include "config/declare.h"

#include "base/text.h"
#include "base/times.h"
#include "engine/processors.h"
#include "model/handler_json.h"
#include "model/schedule_json.h"
#include "noun/alert_rule.h"
#include "noun/queue.h"
#include "noun/resource.h"
#include "noun/tenant.h"
#include "pipeline/forward/plan.h"

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

static Err read_processor(const Noun *noun, Declaring *in, Buf *out_value)
{
    (void)noun;
    Plan plan;
    PlanFault fault = { 0 };
    Err err = plan_read(in->object, in->name, in->arena, &plan, &fault);
    return keep_plan(in, err, &fault, &plan, out_value);
}

static Err read_broker(const Noun *noun, Declaring *in, Buf *out_value)
{
    (void)noun;
    Plan plan;
    PlanFault fault = { 0 };
    Err err = plan_read_broker(in->object, in->name, in->arena, &plan, &fault);
    return keep_plan(in, err, &fault, &plan, out_value);
}

#define SCHEDULE_PAYLOAD_MAX (1 << 20) /* it stands in a file */

static Err read_schedule(NounIn *in, const JsonIn *object)
{
    JobRules rules = { .tenant = in->tenant,
                       .wall_ms = clock_now().wall_ms,
                       .payload_bytes_max = SCHEDULE_PAYLOAD_MAX };
    return schedule_read(in, object, &rules);
}

/* Nouns that need more than their table. */
static const struct {
    const Noun *noun;
    Err (*read)(NounIn *in, const JsonIn *object);
} readers[] = {
    { &handler_noun, handler_read },
    { &schedule_noun, read_schedule },
};

static Err read_object(NounIn *in, const JsonIn *object)
{
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (readers[i].noun == in->noun)
            return readers[i].read(in, object);
    return noun_read(in, object);
}

static Err read_definition(const Noun *noun, Declaring *in, Buf *out_value)
{
    NounIn read = { .noun = noun,
                    .object = arena_take(in->arena, noun->bytes),
                    .tenant = in->tenant,
                    .name = in->name,
                    .arena = in->arena,
                    .why = &in->why };
    Err err = read_object(&read, in->object);
    if (!err)
        noun_pack(out_value, noun, read.object);
    return err;
}

/* Plans are kept as JSON texts: the pipeline has their fields. */
static const Noun processor_noun = { .name = "processor",
                                     .section = "processors",
                                     .table = PROCESSOR_TABLE,
                                     .name_valid = name_valid,
                                     .own = true };
static const Noun broker_noun = { .name = "broker",
                                  .section = "brokers",
                                  .table = BROKER_TABLE,
                                  .name_valid = name_valid,
                                  .own = true };

static const DeclareSection rows[] = {
    { &tenant_noun, read_definition },
    { &resource_noun, read_definition },
    { &queue_noun, read_definition },
    { &handler_noun, read_definition },
    { &schedule_noun, read_definition },
    { &processor_noun, read_processor },
    { &broker_noun, read_broker },
    { &alert_rule_noun, read_definition },
    { NULL, NULL },
};

const DeclareSection *declare_sections(void)
{
    return rows;
}
