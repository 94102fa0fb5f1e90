/* SPDX-License-Identifier: Apache-2.0 */
/* alerts.c - see alerts.h. */
#include "api/definitions/alerts.h"

#include "api/definitions/definitions.h"
#include "core/notice.h"
#include "noun/alert_rule.h"
#include "watch/alerts.h"

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

/* --- Rules ---------------------------------------------------------------------------
 */

static const DefinitionKind rule_kind = { .noun = &alert_rule_noun, .unsure = true };

void api_alert_rules(Exchange *exchange)
{
    definitions_list(exchange, &rule_kind);
}

void api_alert_rule_get(Exchange *exchange)
{
    definition_get(exchange, &rule_kind);
}

void api_alert_rule_put(Exchange *exchange)
{
    definition_put(exchange, &rule_kind);
}

void api_alert_rule_patch(Exchange *exchange)
{
    definition_patch(exchange, &rule_kind);
}

void api_alert_rule_delete(Exchange *exchange)
{
    definition_delete(exchange, &rule_kind);
}
