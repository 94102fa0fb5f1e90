/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c - see groups.h. Counts are read from the store, so that they are never
 * ahead of what is durable; what comes after stands in its definition there. */
#include "api/jobs/groups.h"

#include "api/common.h"
#include "base/text.h"
#include "core/group.h"

/* What a request is about, and what was found. */
typedef struct Subject {
    Slice tenant;
    Slice name;
    unsigned status;
    GroupCounts counts;
    bool defined;
    GroupDefinition definition; /* slices in the call's arena */
    Arena *arena;
} Subject;

/* NULL after it refused. */
static Subject *subject_of(Exchange *exchange)
{
    Slice tenant = api_tenant(exchange, "default");
    if (!tenant.data)
        return NULL;
    if (!name_valid(exchange->parts[0])) {
        exchange_refuse(exchange, "invalid_name", "the name of the group is not valid");
        return NULL;
    }
    Subject *subject = ARENA_NEW(&exchange->arena, Subject);
    subject->tenant = tenant;
    subject->name = exchange->parts[0];
    subject->status = 200;
    exchange->state = subject;
    return subject;
}

/* --- Reading --------------------------------------------------------------------------
 */

static void take_count(void *context, const GroupCount *count)
{
    Subject *subject = context;
    subject->counts.of[count->state] = count->count;
}

static void take_definition(void *context, const Definition *definition)
{
    Subject *subject = context;
    if (!slice_equal(definition->tenant, subject->tenant) ||
        !slice_equal(definition->key, subject->name) ||
        group_unpack(definition->value, &subject->definition))
        return;
    subject->defined = true;
    subject->definition.then = slice_copy(subject->arena, subject->definition.then);
}

static void read_group(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    Subject *subject = exchange->state;
    const GroupCount one = { .tenant = subject->tenant, .name = subject->name };
    subject->arena = &call->arena;
    call->err = store->kind->groups(store, &one, take_count, subject, &call->why);
    const DefinitionName name = { SLICE_LITERAL(GROUP_TABLE), subject->tenant,
                                  subject->name };
    if (!call->err)
        call->err =
            store->kind->definition(store, &name, take_definition, subject, &call->why);
    if (call->err || subject->defined || group_total(&subject->counts))
        return;
    call->err = ERR_NOT_FOUND;
    call->problem = "group_not_found";
}

static void write_group(JsonOut *json, const Subject *subject)
{
    const GroupCounts *counts = &subject->counts;
    uint64_t total = group_total(counts);
    uint64_t open = group_open(counts);
    char id[ID_TEXT_BYTES];
    json_object(json, NULL);
    json_text(json, "name", subject->name);
    json_text(json, "tenant", subject->tenant);
    json_int(json, "total", (int64_t)total);
    json_int(json, "finished", (int64_t)(total - open));
    json_int(json, "progress", total ? (int64_t)((total - open) * 100 / total) : 0);
    json_bool(json, "final", total && !open);
    json_object(json, "counts");
    for (unsigned state = 0; state < JOB_STATES; state++)
        json_int(json, state_name((JobState)state), (int64_t)counts->of[state]);
    json_object_end(json);
    if (subject->definition.then.bytes)
        json_text(json, "then", subject->definition.then);
    else
        json_null(json, "then");
    json_cstr(json, "completion",
              subject->definition.completion ? id_text(subject->definition.completion, id)
                                             : NULL);
    json_object_end(json);
}

static void reply_group(Exchange *exchange, Call *call)
{
    const Subject *subject = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    write_group(&json, subject);
    exchange_reply_json(exchange, subject->status);
}

static void load_group(Exchange *exchange)
{
    exchange_read(exchange, read_group, reply_group);
}

void api_group_get(Exchange *exchange)
{
    if (subject_of(exchange))
        load_group(exchange);
}

/* --- What comes after -----------------------------------------------------------------
 */

/* False after it refused. */
static bool read_then(Exchange *exchange, GroupDefinition *out)
{
    const JsonIn *body = api_body(exchange, &exchange->arena, true);
    if (!body)
        return false;
    if (body->kind != JSON_IN_OBJECT) {
        exchange_refuse(exchange, "wrong_type", "a group must be an object");
        return false;
    }
    for (const JsonIn *field = json_in_first(body); field; field = field->next) {
        if (!slice_is(field->key, "then")) {
            exchange_refuse(exchange, "unknown_field",
                            "a group takes nothing but `then`: the type of its "
                            "completion job");
            return false;
        }
        if (field->kind == JSON_IN_NULL)
            continue;
        if (field->kind != JSON_IN_TEXT || !name_valid(field->as.text)) {
            exchange_refuse(exchange, "invalid_name", "then must be the name of a type");
            return false;
        }
        out->then = field->as.text;
    }
    return true;
}

static Call *define_call(Exchange *exchange, Step *then)
{
    const Subject *subject = exchange->state;
    Call *call = exchange_call(exchange, CALL_EVENT, then);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(GROUP_TABLE);
    call->event.tenant = subject->tenant;
    call->event.key = subject->name;
    return call;
}

static void defined(Exchange *exchange, Call *call)
{
    Subject *subject = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    subject->status = call->replayed ? 200 : 201;
    if (!call->replayed)
        api_created(exchange, "groups", subject->name);
    load_group(exchange);
}

void api_group_put(Exchange *exchange)
{
    GroupDefinition group = { 0 };
    if (!subject_of(exchange) || !read_then(exchange, &group))
        return;
    Call *call = define_call(exchange, defined);
    Buf value = { 0 };
    group.created_ms = clock_now().wall_ms;
    group_pack(&value, &group);
    call->event.value = slice_copy(&call->arena, buf_slice(&value));
    buf_done(&value);
    exchange_send(exchange, call);
}

static void deleted(Exchange *exchange, Call *call)
{
    const Subject *subject = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_text(&json, "name", subject->name);
    json_bool(&json, "removed", true);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

void api_group_delete(Exchange *exchange)
{
    if (subject_of(exchange))
        exchange_send(exchange, define_call(exchange, deleted));
}
