/* SPDX-License-Identifier: Apache-2.0 */
/* alerts.c - see alerts.h. */
#include "api/definitions/alerts.h"

#include "api/common.h"
#include "base/text.h"
#include "core/notice.h"
#include "model/alert_rule.h"
#include "model/job_json.h"
#include "watch/alerts.h"

#include <stdio.h>

static void reply_out(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, 200);
}

/* --- What is firing -------------------------------------------------------------------
 */

typedef struct Firing {
    JsonOut json;
    const Exchange *exchange;
} Firing;

static void write_alert(void *context, const Alert *alert)
{
    Firing *firing = context;
    JsonOut *json = &firing->json;
    if (!api_sees(firing->exchange, alert->tenant))
        return;
    json_object(json, NULL);
    json_text(json, "rule", alert->name);
    json_text(json, "tenant", alert->tenant);
    json_text(json, "when", alert->when);
    json_time(json, "since", alert->since_ms);
    json_text(json, "detail", alert->detail);
    json_object_end(json);
}

static void look_at_alerts(Call *call, Daemon *daemon)
{
    Firing firing = { exchange_json(call->context), call->context };
    JsonOut *json = &firing.json;
    json_object(json, NULL);
    json_array(json, "items");
    if (daemon_alerts(daemon))
        alerts_firing(daemon_alerts(daemon), write_alert, &firing);
    json_array_end(json);
    json_null(json, "next_cursor");
    json_object_end(json);
}

void api_alerts(Exchange *exchange)
{
    if (!api_whose(exchange))
        return;
    exchange_look(exchange, look_at_alerts, reply_out);
}

/* --- Notices that have not arrived ----------------------------------------------------
 */

typedef struct NoticeList {
    Exchange *exchange;
    Slice tenant;
    JsonOut json;
    ListPage page;
    uint32_t count;
    bool more;
    Slice last;
} NoticeList;

static void write_notice(void *context, const Definition *definition)
{
    NoticeList *list = context;
    Notice notice;
    if (list->more || !slice_equal(definition->tenant, list->tenant) ||
        (list->page.cursor.data &&
         api_name_order(definition->key, list->page.cursor) <= 0) ||
        notice_unpack(definition->value, &notice))
        return;
    if (list->count++ == list->page.limit) {
        list->more = true;
        return;
    }
    JsonOut *json = &list->json;
    json_object(json, NULL);
    json_text(json, "id", definition->key);
    json_text(json, "tenant", definition->tenant);
    json_text(json, "to", notice.target);
    json_cstr(json, "state", notice.gave_up ? "gave_up" : "waiting");
    json_int(json, "tries", notice.tries);
    json_time(json, "created_at", notice.created_ms);
    json_time(json, "next_try_at", notice.gave_up ? 0 : notice.due_ms);
    text_or_null(json, "error", notice.error);
    json_raw(json, "body", notice.body);
    json_object_end(json);
    list->last = slice_copy(&list->exchange->arena, definition->key);
}

static void read_notices(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    NoticeList *list = exchange->state;
    list->json = exchange_json(exchange);
    json_object(&list->json, NULL);
    json_array(&list->json, "items");
    call->err = store->kind->definitions(store, SLICE_LITERAL(NOTICE_TABLE), write_notice,
                                         list, &call->why);
    json_array_end(&list->json);
    text_or_null(&list->json, "next_cursor",
                 list->more ? list->last : (Slice){ NULL, 0 });
    json_object_end(&list->json);
}

void api_notices(Exchange *exchange)
{
    NoticeList *list = ARENA_NEW(&exchange->arena, NoticeList);
    list->exchange = exchange;
    exchange->state = list;
    list->tenant = api_tenant(exchange, "default");
    if (!list->tenant.data || !api_list_page(exchange, &list->page))
        return;
    exchange_read(exchange, read_notices, reply_out);
}

/* --- Rules ----------------------------------------------------------------------------
 */

typedef struct Subject {
    Slice tenant;
    Slice name; /* data NULL: all */
    unsigned status;
    bool found;
    Exchange *exchange;
    JsonOut json;
} Subject;

/* NULL after it refused. */
static Subject *subject_of(Exchange *exchange, Slice name)
{
    Slice tenant = api_tenant(exchange, "default");
    if (!tenant.data)
        return NULL;
    if (name.data && !name_valid(name)) {
        exchange_refuse(exchange, "invalid_name", "this is no valid name of a rule");
        return NULL;
    }
    Subject *subject = ARENA_NEW(&exchange->arena, Subject);
    subject->tenant = tenant;
    subject->name = name;
    subject->status = 200;
    subject->exchange = exchange;
    exchange->state = subject;
    return subject;
}

static void write_rule(void *context, const Definition *definition)
{
    Subject *subject = context;
    AlertRule rule;
    if (!slice_equal(definition->tenant, subject->tenant) ||
        (subject->name.data && !slice_equal(definition->key, subject->name)) ||
        alert_rule_unpack(definition->value, &rule))
        return;
    subject->found = true;
    json_object(&subject->json, NULL);
    alert_rule_members(&subject->json, definition->key, &rule);
    json_bool(&subject->json, "declared",
              daemon_declared(subject->exchange->daemon, SLICE_LITERAL(ALERT_TABLE),
                              subject->tenant, definition->key));
    json_object_end(&subject->json);
}

static void read_rules(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    Subject *subject = exchange->state;
    subject->json = exchange_json(exchange);
    if (!subject->name.data) {
        json_object(&subject->json, NULL);
        json_array(&subject->json, "items");
    }
    call->err = store->kind->definitions(store, SLICE_LITERAL(ALERT_TABLE), write_rule,
                                         subject, &call->why);
    if (!subject->name.data) {
        json_array_end(&subject->json);
        json_null(&subject->json, "next_cursor");
        json_object_end(&subject->json);
    } else if (!call->err && !subject->found) {
        call->err = ERR_NOT_FOUND;
        call->problem = "alert_rule_not_found";
    }
}

static void rules_read(Exchange *exchange, Call *call)
{
    const Subject *subject = exchange->state;
    if (call->err)
        exchange_failed(exchange, call);
    else
        exchange_reply_json(exchange, subject->status);
}

static void show(Exchange *exchange)
{
    exchange_read(exchange, read_rules, rules_read);
}

void api_alert_rules(Exchange *exchange)
{
    if (subject_of(exchange, (Slice){ NULL, 0 }))
        show(exchange);
}

void api_alert_rule_get(Exchange *exchange)
{
    if (subject_of(exchange, exchange->parts[0]))
        show(exchange);
}

static void defined(Exchange *exchange, Call *call)
{
    if (call->err)
        exchange_failed(exchange, call);
    else
        show(exchange);
}

/* Whether the rule was there decides the status, so that is asked first. */
static void seek_rule(void *context, const Definition *definition)
{
    Subject *subject = context;
    (void)definition;
    subject->found = true;
}

static void read_there(Call *call, Store *store)
{
    const Exchange *exchange = call->context;
    Subject *subject = exchange->state;
    const DefinitionName name = { SLICE_LITERAL(ALERT_TABLE), subject->tenant,
                                  subject->name };
    call->err = store->kind->definition(store, &name, seek_rule, subject, &call->why);
}

/* value without data deletes. */
static void define(Exchange *exchange, Slice value, Step *then)
{
    const Subject *subject = exchange->state;
    Call *call = exchange_call(exchange, CALL_EVENT, then);
    call->event.kind = EVENT_DEFINE;
    call->event.table = SLICE_LITERAL(ALERT_TABLE);
    call->event.tenant = subject->tenant;
    call->event.key = subject->name;
    call->event.value = value;
    exchange_send(exchange, call);
}

static bool is_declared(Exchange *exchange, const Subject *subject)
{
    if (!daemon_declared(exchange->daemon, SLICE_LITERAL(ALERT_TABLE), subject->tenant,
                         subject->name))
        return false;
    exchange_refuse(exchange, "declared", "the rule stands in the configuration file");
    return true;
}

typedef struct Putting {
    Subject subject; /* must be first: the exchange's state */
    Slice value;
} Putting;

static void put_it(Exchange *exchange, Call *call)
{
    Putting *putting = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    putting->subject.status = putting->subject.found ? 200 : 201;
    putting->subject.found = false;
    define(exchange, putting->value, defined);
}

void api_alert_rule_put(Exchange *exchange)
{
    const Subject *subject = subject_of(exchange, exchange->parts[0]);
    const JsonIn *object = subject ? api_body(exchange, &exchange->arena, false) : NULL;
    if (!object || is_declared(exchange, subject))
        return;
    AlertRule rule;
    Problem *why = ARENA_NEW(&exchange->arena, Problem);
    if (alert_rule_read(object, subject->name, &exchange->arena, &rule, why)) {
        exchange_problem(exchange, why);
        return;
    }
    Putting *putting = ARENA_NEW(&exchange->arena, Putting);
    Buf packed = { 0 };
    alert_rule_pack(&packed, &rule);
    putting->subject = *subject;
    putting->value = slice_copy(&exchange->arena, buf_slice(&packed));
    buf_done(&packed);
    exchange->state = putting;
    exchange_read(exchange, read_there, put_it);
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
    json_text(&json, "tenant", subject->tenant);
    json_text(&json, "name", subject->name);
    json_bool(&json, "removed", true);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

static void delete_it(Exchange *exchange, Call *call)
{
    const Subject *subject = exchange->state;
    if (call->err)
        exchange_failed(exchange, call);
    else if (!subject->found)
        exchange_refuse(exchange, "alert_rule_not_found", "no rule has this name");
    else
        define(exchange, (Slice){ NULL, 0 }, deleted);
}

void api_alert_rule_delete(Exchange *exchange)
{
    const Subject *subject = subject_of(exchange, exchange->parts[0]);
    if (!subject || is_declared(exchange, subject))
        return;
    exchange_read(exchange, read_there, delete_it);
}
