/* SPDX-License-Identifier: Apache-2.0 */
/* controller.c - see controller.h. The lock is read as it stands in the store. */
#include "api/controller.h"

#include "api/common.h"
#include "core/controller.h"
#include "intake/settings_xml.h"
#include "model/job_json.h"

static void take_lock(void *context, const Definition *definition)
{
    Call *call = context;
    const Exchange *exchange = call->context;
    ControllerLock *lock = exchange->state;
    if (!controller_unpack(definition->value, lock))
        lock->owner = slice_copy(&call->arena, lock->owner);
}

static void read_lock(Call *call, Store *store)
{
    call->err = store->kind->definitions(store, SLICE_LITERAL(CONTROLLER_TABLE),
                                         take_lock, call, &call->why);
}

typedef struct LockLook {
    ControllerLock lock; /* must be first: the exchange's state */
    int64_t stale_ms;
} LockLook;

static void reply_lock(Exchange *exchange, Call *call)
{
    const LockLook *look = exchange->state;
    const ControllerLock *lock = &look->lock;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (api_wants_xml(exchange)) {
        buf_clear(&exchange->out);
        batch_lock_write(&exchange->out, (int64_t)lock->version, lock->timestamp_ms);
        exchange_reply(exchange, 200, "application/xml; charset=utf-8");
        return;
    }
    int64_t age_ms = clock_now().wall_ms - lock->timestamp_ms;
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_int(&json, "version", (int64_t)lock->version);
    json_time(&json, "timestamp", lock->timestamp_ms);
    text_or_null(&json, "owner", lock->owner);
    json_bool(&json, "stale", !lock->timestamp_ms || age_ms > look->stale_ms);
    json_duration(&json, "stale_interval", look->stale_ms);
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

static void look_at_interval(Call *call, Daemon *daemon)
{
    const Exchange *exchange = call->context;
    LockLook *look = exchange->state;
    look->stale_ms = node_settings(daemon_node(daemon))->controller_stale_ms;
}

static void looked(Exchange *exchange, Call *call)
{
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    exchange_read(exchange, read_lock, reply_lock);
}

void api_controller_get(Exchange *exchange)
{
    exchange->state = ARENA_NEW(&exchange->arena, LockLook);
    exchange_look(exchange, look_at_interval, looked);
}
