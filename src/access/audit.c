/* SPDX-License-Identifier: Apache-2.0 */
/* audit.c - see audit.h. */
#include "access/audit.h"

#include "access/tokens.h"
#include "base/map.h"
#include "base/times.h"
#include "core/node/node.h"
#include "engine/trial.h"
#include "pipeline/processor/signals.h"

#include <stdatomic.h>
#include <stdio.h>

#define PURGE_EVERY_MS (10 * MS_PER_MIN)
#define PURGE_ROWS_MAX 500 /* at once */

typedef struct Known { /* a definition as it was last seen */
    Buf value;
} Known;

struct Audit {
    Daemon *daemon;
    Map known;      /* by what_hash */
    int64_t hour;   /* the last one that stands in AUDIT_TABLE */
    unsigned count; /* of rows: part of their keys */
    Batch notes;    /* rows for the next turn, as OP_PUT */
    int64_t keep_ms;
    int64_t purge_boot;      /* the next look */
    int64_t purge_soon;      /* if the last one has found something */
    atomic_bool purging;     /* the answer comes from the reader's thread */
    atomic_bool purge_again; /* there was something: look again soon */
};

Audit *audit_new(Daemon *daemon, int64_t keep_ms)
{
    Audit *audit = MEM_NEW(Audit);
    audit->daemon = daemon;
    audit->keep_ms = keep_ms;
    return audit;
}

void audit_free(Audit *audit)
{
    MapEntry entry;
    if (!audit)
        return;
    for (size_t at = 0; map_next(&audit->known, &at, &entry);) {
        buf_done(&((Known *)entry.value)->value);
        mem_free(entry.value);
    }
    map_done(&audit->known);
    batch_done(&audit->notes);
    mem_free(audit);
}

static uint64_t what_hash(Slice table, Slice tenant, Slice key)
{
    Buf text = { 0 };
    buf_add_slice(&text, table);
    buf_add_char(&text, '\0');
    buf_add_slice(&text, tenant);
    buf_add_char(&text, '\0');
    buf_add_slice(&text, key);
    uint64_t hash = hash_bytes(text.data, text.bytes);
    buf_done(&text);
    return hash;
}

void audit_known(Audit *audit, Slice table, Slice tenant, Slice key, Slice value)
{
    const char *kind;
    if (!audit_watches(table, &kind))
        return;
    uint64_t hash = what_hash(table, tenant, key);
    Known *known = map_find(&audit->known, hash);
    if (known && !value.data) {
        map_remove(&audit->known, hash);
        buf_done(&known->value);
        mem_free(known);
        return;
    }
    if (!value.data)
        return;
    if (!known) {
        known = MEM_NEW(Known);
        map_put(&audit->known, hash, known);
    }
    buf_clear(&known->value);
    buf_add_slice(&known->value, value);
}

/* --- Rows -----------------------------------------------------------------------------
 */

static void put(Batch *batch, Slice table, Slice key, Slice value)
{
    Op *op = batch_op(batch, OP_PUT, 0);
    op->table = slice_copy(&batch->arena, table);
    op->tenant = SLICE_LITERAL("");
    op->key = slice_copy(&batch->arena, key);
    op->value = slice_copy(&batch->arena, value.data ? value : SLICE_LITERAL(""));
}

static void write_row(Audit *audit, Batch *batch, const Call *call, AuditRow *row)
{
    char table[AUDIT_HOUR_BYTES];
    char key[AUDIT_KEY_BYTES];
    Buf packed = { 0 };
    int64_t hour = audit_hour(row->at_ms);
    Slice name = audit_hour_table(hour, table);
    row->who = slice_text(call->caller->who);
    row->from = slice_text(call->caller->from);
    audit_row_pack(&packed, row);
    if (hour != audit->hour) {
        put(batch, SLICE_LITERAL(AUDIT_TABLE), slice_from(name, strlen(AUDIT_HOUR_TABLE)),
            SLICE_LITERAL("1"));
        audit->hour = hour;
    }
    put(batch, name,
        audit_key(row->at_ms, daemon_facts(audit->daemon)->node, audit->count++, key),
        buf_slice(&packed));
    buf_done(&packed);
}

/* The operation that defines what the call asked for: operations are in the order of the
 * calls, so the search goes on where the last one ended. */
static bool find_op(const Batch *batch, const Event *event, size_t count, size_t *from)
{
    for (size_t i = *from; i < count; i++) {
        const Op *op = &batch->ops[i];
        if ((op->kind != OP_PUT && op->kind != OP_DELETE) ||
            !slice_equal(op->table, event->table) ||
            (event->key.bytes && !slice_equal(op->key, event->key)))
            continue;
        *from = i;
        return true;
    }
    return false;
}

static void write_definition(Audit *audit, Batch *batch, const Call *call, size_t at,
                             int64_t at_ms)
{
    const Op op = batch->ops[at]; /* rows are added to the same batch */
    Buf before = { 0 };
    Buf after = { 0 };
    const char *kind;
    if (!audit_watches(op.table, &kind))
        return;
    const Known *known = map_find(&audit->known, what_hash(op.table, op.tenant, op.key));
    bool puts = op.kind == OP_PUT && !audit_is_mark(op.table, op.value);
    Slice value = puts ? op.value : (Slice){ NULL, 0 };
    if (known)
        audit_definition_json(&before, op.table, op.key, buf_slice(&known->value));
    audit_definition_json(&after, op.table, op.key, value);
    AuditRow row = { .at_ms = at_ms,
                     .action = slice_text(value.data ? "put" : "delete"),
                     .kind = slice_text(kind),
                     .tenant = op.tenant.bytes ? op.tenant : call->event.tenant,
                     .target = op.key,
                     .count = 1,
                     .before = buf_slice(&before),
                     .after = buf_slice(&after) };
    write_row(audit, batch, call, &row);
    audit_known(audit, op.table, op.tenant, op.key, value);
    buf_done(&before);
    buf_done(&after);
}

static void state_json(Buf *out, JobState state, const Call *call)
{
    static const struct {
        uint32_t field;
        const char *name;
    } patched[] = { { FIELD_PRIORITY, "priority" },    { FIELD_QUEUE, "queue" },
                    { FIELD_PAYLOAD, "payload" },      { FIELD_TAGS, "tags" },
                    { FIELD_MAX_RUN, "max_run_time" }, { FIELD_RUN_AT, "run_at" } };
    const Patch *patch = &call->event.patch;
    JsonOut json = { .out = out };
    json_object(&json, NULL);
    json_cstr(&json, "state", state_name(state));
    if (call->event.action == ACT_PATCH) {
        json_array(&json, "changed");
        for (size_t i = 0; i < sizeof patched / sizeof *patched; i++)
            if (patch->fields & patched[i].field)
                json_cstr(&json, NULL, patched[i].name);
        json_array_end(&json);
    }
    if (call->event.action == ACT_PATCH && (patch->fields & FIELD_PRIORITY))
        json_int(&json, "priority", patch->priority);
    if (call->event.action == ACT_PATCH && (patch->fields & FIELD_QUEUE))
        json_text(&json, "queue", patch->queue);
    json_object_end(&json);
}

/* `changed` is what became of the job in this turn, or NULL. */
static void write_act(Audit *audit, Batch *batch, const Call *call, const Effect *changed,
                      int64_t at_ms)
{
    char id[ID_TEXT_BYTES];
    Buf before = { 0 };
    Buf after = { 0 };
    Call plain = { 0 };
    if (changed) {
        state_json(&before, changed->was, &plain);
        state_json(&after, changed->state, call);
    }
    AuditRow row = { .at_ms = at_ms,
                     .action = slice_text(action_name(call->event.action)),
                     .kind = SLICE_LITERAL("job"),
                     .tenant = changed ? changed->tenant : call->event.tenant,
                     .target = slice_text(id_text(call->event.id, id)),
                     .count = 1,
                     .before = buf_slice(&before),
                     .after = buf_slice(&after) };
    write_row(audit, batch, call, &row);
    buf_done(&before);
    buf_done(&after);
}

/* The jobs are their own record; that someone with a token added them is one more. */
static void write_add(Audit *audit, Batch *batch, const Call *call, const Effect *reply,
                      int64_t at_ms)
{
    char id[ID_TEXT_BYTES];
    JobId first = reply->added_items && reply->count
                      ? reply->added_items[0].id
                      : id_from_count(reply->first, daemon_facts(audit->daemon)->node);
    if (strncmp(call->caller->who, "token:", 6) != 0 || reply->replayed)
        return;
    AuditRow row = { .at_ms = at_ms,
                     .action = SLICE_LITERAL("add"),
                     .kind = SLICE_LITERAL("job"),
                     .tenant = call->event.tenant,
                     .target = slice_text(id_text(first, id)),
                     .count = reply->count };
    write_row(audit, batch, call, &row);
}

static const Effect *change_of(const Outbox *out, JobId id)
{
    for (size_t i = 0; i < out->effect_count; i++)
        if (out->effects[i].kind == EFFECT_CHANGED && out->effects[i].id == id)
            return &out->effects[i];
    return NULL;
}

static void write_word(Audit *audit, Batch *batch, const Call *call, const char *action,
                       int64_t at_ms)
{
    const Event *event = &call->event;
    AuditRow row = { .at_ms = at_ms,
                     .action = slice_text(action),
                     .kind = slice_text(event->key.bytes ? "schedule" : "node"),
                     .tenant = event->tenant,
                     .target = event->key,
                     .count = 1 };
    write_row(audit, batch, call, &row);
}

/* What is gone through in a turn. */
typedef struct Look {
    Outbox *out;
    size_t ops;  /* of the turn itself, without the rows */
    size_t next; /* behind the last definition that was found */
    int64_t at_ms;
} Look;

static void write_reply(Audit *audit, Look *look, const Effect *reply, const Call *call)
{
    Outbox *out = look->out;
    Batch *batch = &out->batch;
    int64_t at_ms = look->at_ms;
    switch (call->event.kind) {
    case EVENT_ADD:
    case EVENT_ADD_LINES:
        write_add(audit, batch, call, reply, at_ms);
        return;
    case EVENT_ACT:
        write_act(audit, batch, call, change_of(out, call->event.id), at_ms);
        return;
    case EVENT_DEFINE:
        if (find_op(batch, &call->event, look->ops, &look->next))
            write_definition(audit, batch, call, look->next++, at_ms);
        return;
    case EVENT_TRIGGER:
        write_word(audit, batch, call, "trigger", at_ms);
        return;
    case EVENT_DRAIN:
        write_word(audit, batch, call, "drain", at_ms);
        return;
    case EVENT_RESUME:
        write_word(audit, batch, call, "resume", at_ms);
        return;
    case EVENT_CLAIM:
    case EVENT_RENEW:
    case EVENT_FINISH:
    case EVENT_UNGET:
    case EVENT_LOADED:
    case EVENT_APPLIED:
    case EVENT_COMMITTED:
    case EVENT_ADOPTED:
    case EVENT_STARTED:
    case EVENT_ENDED:
    case EVENT_PROGRESS:
    case EVENT_LAUNCHER_LOST:
    case EVENT_ROOM:
    case EVENT_PEERS:
    case EVENT_HINT:
    case EVENT_CHANGE:
    case EVENT_POST:
    case EVENT_USES:
        return; /* what workers and the daemon itself do is in the jobs */
    }
}

void audit_note(Audit *audit, const Call *call)
{
    bool tries = call->kind == CALL_TRY;
    Handler tried = { 0 };
    if (!call->caller || !call->caller->who[0])
        return;
    if (tries && handler_unpack(call->trial->handler, &tried))
        return; /* it is refused */
    if (!tries && !signal_changes(call->order->kind))
        return; /* who only looks changes nothing; definitions are noted as such */
    AuditRow row = { .at_ms = clock_now().wall_ms,
                     .action =
                         slice_text(tries ? "test" : signal_name(call->order->kind)),
                     .kind = slice_text(tries ? "handler" : "processor"),
                     .tenant = tries ? tried.tenant : (Slice){ NULL, 0 },
                     .target = tries ? tried.type : call->order->name,
                     .count = 1 };
    write_row(audit, &audit->notes, call, &row);
}

static void take_notes(Audit *audit, Batch *batch)
{
    for (size_t i = 0; i < audit->notes.count; i++)
        put(batch, audit->notes.ops[i].table, audit->notes.ops[i].key,
            audit->notes.ops[i].value);
    batch_clear(&audit->notes);
}

static void purge(Audit *audit, Now now);

/* Also what no caller asked for: definitions of the file, and of other nodes. */
static void snapshot_writer(Audit *audit, const Outbox *out, size_t ops)
{
    for (size_t i = 0; i < ops; i++) {
        const Op *op = &out->batch.ops[i];
        if (op->kind == OP_PUT || op->kind == OP_DELETE)
            audit_known(audit, op->table, op->tenant, op->key,
                        op->kind == OP_PUT ? op->value : (Slice){ NULL, 0 });
    }
    for (size_t i = 0; i < out->effect_count; i++) {
        const Effect *effect = &out->effects[i];
        if (effect->kind == EFFECT_DEFINED)
            audit_known(audit, effect->table, effect->tenant, effect->key, effect->value);
    }
}

void audit_turn(Audit *audit, Outbox *out, const Map *calls, Now now)
{
    Look look = { out, out->batch.count, 0, now.wall_ms };
    for (size_t i = 0; i < out->effect_count; i++) {
        const Effect *effect = &out->effects[i];
        const Call *call = effect->kind == EFFECT_REPLY && effect->request && !effect->err
                               ? map_find(calls, effect->request)
                               : NULL;
        if (call && call->caller)
            write_reply(audit, &look, effect, call);
    }
    take_notes(audit, &out->batch);
    snapshot_writer(audit, out, look.ops);
    int64_t next_boot = audit->purge_again ? audit->purge_soon : audit->purge_boot;
    bool controls;
    node_controller_lock(daemon_node(audit->daemon), &controls);
    if (controls && now.boot_ms >= next_boot && !audit->purging)
        purge(audit, now);
}

/* --- Purging --------------------------------------------------------------------------
 */

typedef struct Purge {
    Call call; /* must be first */
    Audit *audit;
    int64_t hour_max; /* hours up to it are too old */
    Slice hour;       /* the one that is looked at */
    Slice keys[PURGE_ROWS_MAX];
    size_t count;
} Purge;

static void take_hour(void *context, const Definition *definition)
{
    Purge *purge = context;
    int64_t hour;
    if (!purge->hour.data && !int_parse(definition->key, &hour) &&
        hour <= purge->hour_max)
        purge->hour = slice_copy(&purge->call.arena, definition->key);
}

static void take_old(void *context, const Definition *definition)
{
    Purge *purge = context;
    if (purge->count < PURGE_ROWS_MAX)
        purge->keys[purge->count++] = slice_copy(&purge->call.arena, definition->key);
}

static void read_old(Call *call, Store *store)
{
    Purge *purge = (Purge *)(void *)call;
    char table[AUDIT_HOUR_BYTES];
    call->err = store->kind->definitions(store, SLICE_LITERAL(AUDIT_TABLE), take_hour,
                                         purge, &call->why);
    if (call->err || !purge->hour.data)
        return;
    snprintf(table, sizeof table, AUDIT_HOUR_TABLE SLICE_FMT, SLICE_ARG(purge->hour));
    call->err =
        store->kind->definitions(store, slice_text(table), take_old, purge, &call->why);
}

static void deleted(Call *call)
{
    arena_done(&call->arena);
    mem_free(call);
}

static void delete_one(Daemon *daemon, Slice table, Slice key)
{
    Call *call = MEM_NEW(Call);
    call->kind = CALL_EVENT;
    call->done = deleted;
    call->event.kind = EVENT_DEFINE;
    call->event.table = slice_copy(&call->arena, table);
    call->event.key = slice_copy(&call->arena, key);
    daemon_call(daemon, call);
}

/* Rows first, and the hour when none is left: so nothing is forgotten half way. */
static void delete_old(Call *call)
{
    Purge *purge = (Purge *)(void *)call;
    Daemon *daemon = purge->audit->daemon;
    char table[AUDIT_HOUR_BYTES];
    if (!call->err && purge->hour.data) {
        snprintf(table, sizeof table, AUDIT_HOUR_TABLE SLICE_FMT, SLICE_ARG(purge->hour));
        for (size_t i = 0; i < purge->count; i++)
            delete_one(daemon, slice_text(table), purge->keys[i]);
        if (!purge->count)
            delete_one(daemon, SLICE_LITERAL(AUDIT_TABLE), purge->hour);
        purge->audit->purge_again = true;
    }
    purge->audit->purging = false;
    arena_done(&purge->call.arena);
    mem_free(purge);
}

static void purge(Audit *audit, Now now)
{
    audit->purge_boot = now.boot_ms + PURGE_EVERY_MS;
    audit->purge_soon = now.boot_ms + MS_PER_S;
    audit->purge_again = false;
    Purge *purge = MEM_NEW(Purge);
    audit->purging = true;
    purge->audit = audit;
    purge->hour_max = audit_hour(now.wall_ms - audit->keep_ms) - 1;
    purge->call.kind = CALL_READ;
    purge->call.read = read_old;
    purge->call.done = delete_old;
    daemon_call(audit->daemon, &purge->call);
}
