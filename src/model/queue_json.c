/* SPDX-License-Identifier: Apache-2.0 */
/* queue_json.c - see queue_json.h. One row per field says how it is read. */
#include "model/queue_json.h"

#include "base/text.h"
#include "core/job.h"
#include "core/resource.h"
#include "model/job_read.h"

#include <stddef.h>

#define RATE_PER_MAX_MS MS_PER_DAY

typedef struct QueueIn {
    QueueDef *def;
    Arena *arena;
    Problem *why;
} QueueIn;

static Err wrong_type(QueueIn *in, const JsonIn *value, const char *wanted)
{
    return problem_set(in->why, "wrong_type", SLICE_FMT " must be %s, not %s",
                       SLICE_ARG(value->key), wanted, json_in_kind_name(value->kind));
}

static Err read_truth(QueueIn *in, const JsonIn *value, bool *out)
{
    if (json_in_bool(value, out))
        return wrong_type(in, value, "true or false");
    return ERR_OK;
}

static Err read_number(QueueIn *in, const JsonIn *value, int64_t least, int64_t most,
                       int64_t *out)
{
    if (json_in_int(value, out))
        return wrong_type(in, value, "an integer");
    if (*out < least || *out > most)
        return problem_set(in->why, "invalid_value",
                           SLICE_FMT " must be between %lld and %lld",
                           SLICE_ARG(value->key), (long long)least, (long long)most);
    return ERR_OK;
}

static Err read_paused(QueueIn *in, const JsonIn *value)
{
    return read_truth(in, value, &in->def->paused);
}

static Err read_nice(QueueIn *in, const JsonIn *value)
{
    return read_truth(in, value, &in->def->nice);
}

static Err read_slots(QueueIn *in, const JsonIn *value)
{
    int64_t slots = 0;
    Err err = read_number(in, value, 0, QUEUE_SLOTS_MAX, &slots);
    in->def->slots = (uint32_t)slots;
    in->def->has_slots = !err;
    return err;
}

static Err read_min(QueueIn *in, const JsonIn *value)
{
    in->def->has_min = true;
    return read_number(in, value, PRIORITY_MIN, PRIORITY_MAX, &in->def->priority_min);
}

static Err read_max(QueueIn *in, const JsonIn *value)
{
    in->def->has_max = true;
    return read_number(in, value, PRIORITY_MIN, PRIORITY_MAX, &in->def->priority_max);
}

static Err read_default(QueueIn *in, const JsonIn *value)
{
    in->def->has_default = true;
    return read_number(in, value, PRIORITY_MIN, PRIORITY_MAX, &in->def->default_priority);
}

static Err read_policy(QueueIn *in, const JsonIn *value)
{
    if (value->kind == JSON_IN_TEXT && !policy_parse(value->as.text, &in->def->policy))
        return ERR_OK;
    return problem_set(in->why, "invalid_value", "policy must be fair, skip or backfill");
}

static Err read_resources(QueueIn *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_LIST)
        return wrong_type(in, value, "an array of keys");
    if (value->as.items.count > RESOURCES_PER_JOB)
        return problem_set(in->why, "invalid_value", "at most %d resources",
                           RESOURCES_PER_JOB);
    Buf keys = { 0 };
    Err err = ERR_OK;
    for (const JsonIn *at = json_in_first(value); at && !err; at = at->next) {
        if (at->kind != JSON_IN_TEXT || !name_valid(at->as.text)) {
            err = problem_set(in->why, "invalid_name",
                              "resources are the keys of managers");
            continue;
        }
        buf_add_slice(&keys, at->as.text);
        buf_add_char(&keys, '\0');
    }
    in->def->resources = slice_copy(in->arena, buf_slice(&keys));
    buf_done(&keys);
    return err;
}

/* "10/s", "5/min", "100/h", "3/PT10S" */
static Err read_rate_text(QueueIn *in, Slice text)
{
    static const struct {
        const char *word;
        int64_t ms;
    } units[] = { { "s", MS_PER_S },
                  { "min", MS_PER_MIN },
                  { "m", MS_PER_MIN },
                  { "h", MS_PER_HOUR },
                  { "d", MS_PER_DAY } };
    int64_t jobs = 0;
    Slice per = text;
    Slice count = slice_cut(&per, '/');
    int64_t per_ms = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (slice_is(per, units[i].word))
            per_ms = units[i].ms;
    if (!per_ms && duration_parse(per, &per_ms, NULL))
        per_ms = 0;
    if (int_parse(count, &jobs) || jobs < 1 || jobs > QUEUE_RATE_MAX || per_ms < 1 ||
        per_ms > RATE_PER_MAX_MS)
        return problem_set(in->why, "invalid_value",
                           "a rate is written like 10/s, 5/min or 100/h");
    in->def->rate_jobs = (uint32_t)jobs;
    in->def->rate_ms = per_ms;
    return ERR_OK;
}

static Err read_rate(QueueIn *in, const JsonIn *value)
{
    Error why = { 0 };
    if (value->kind == JSON_IN_TEXT)
        return read_rate_text(in, value->as.text);
    if (value->kind != JSON_IN_OBJECT)
        return wrong_type(in, value, "an object {\"jobs\": n, \"per\": duration}");
    int64_t jobs = 0;
    int64_t per_ms = MS_PER_S;
    for (const JsonIn *at = json_in_first(value); at; at = at->next) {
        bool is_jobs = slice_is(at->key, "jobs");
        if (!is_jobs && !slice_is(at->key, "per"))
            return problem_set(in->why, "unknown_field", "rate has jobs and per");
        if (is_jobs ? json_in_int(at, &jobs) : duration_read(at, &per_ms, &why))
            return problem_set(in->why, "wrong_type",
                               "rate: jobs is an integer, per a duration");
    }
    if (jobs < 1 || jobs > QUEUE_RATE_MAX || per_ms < 1 || per_ms > RATE_PER_MAX_MS)
        return problem_set(in->why, "invalid_value",
                           "rate: jobs from 1 to %d, per up to a day", QUEUE_RATE_MAX);
    in->def->rate_jobs = (uint32_t)jobs;
    in->def->rate_ms = per_ms;
    return ERR_OK;
}

static Err read_aging(QueueIn *in, const JsonIn *value)
{
    double points = 0;
    if (json_in_real(value, &points))
        return wrong_type(in, value, "a number");
    if (!(points >= 0) || points > QUEUE_AGING_MAX)
        return problem_set(in->why, "invalid_value",
                           "aging must be between 0 and %d points per minute",
                           QUEUE_AGING_MAX);
    in->def->aging_milli = (int64_t)(points * 1000 + 0.5);
    return ERR_OK;
}

static Err read_reason(QueueIn *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    if (value->as.text.bytes > QUEUE_REASON_BYTES)
        return problem_set(in->why, "invalid_value", "the reason is longer than %d bytes",
                           QUEUE_REASON_BYTES);
    in->def->pause_reason = slice_copy(in->arena, value->as.text);
    return ERR_OK;
}

static Err read_until(QueueIn *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    if (time_parse(value->as.text, &in->def->paused_until_ms))
        return problem_set(in->why, "invalid_value", "paused_until is not a time");
    return ERR_OK;
}

static Err read_ours(QueueIn *in, const JsonIn *value)
{
    (void)in;
    (void)value;
    return ERR_OK; /* an object of ours that is sent back */
}

static const struct {
    const char *name;
    Err (*read)(QueueIn *in, const JsonIn *value);
} rows[] = {
    { "paused", read_paused },
    { "pause_reason", read_reason },
    { "paused_until", read_until },
    { "slots", read_slots },
    { "priority_min", read_min },
    { "priority_max", read_max },
    { "default_priority", read_default },
    { "policy", read_policy },
    { "resources", read_resources },
    { "rate", read_rate },
    { "aging", read_aging },
    { "nice", read_nice },
    { "tenant", read_ours },
    { "name", read_ours },
    { "defined", read_ours },
    { "declared", read_ours },
    { "jobs", read_ours },
    { "running", read_ours },
    { "head_wait_ms", read_ours },
};
#define ROWS (sizeof rows / sizeof *rows)

static Err read_field(QueueIn *in, const JsonIn *field)
{
    const char *words[ROWS + 1] = { NULL };
    for (size_t i = 0; i < ROWS; i++) {
        words[i] = rows[i].name;
        if (!slice_is(field->key, rows[i].name))
            continue;
        return field->kind == JSON_IN_NULL ? ERR_OK : rows[i].read(in, field);
    }
    const char *near = nearest_word(field->key, words);
    problem_set(in->why, "unknown_field", "a queue has no field '" SLICE_FMT "'",
                SLICE_ARG(field->key));
    if (near)
        problem_hint(in->why, "did you mean '%s'?", near);
    return ERR_INVALID;
}

static Err check_range(const QueueDef *def, Problem *why)
{
    if (def->has_min && def->has_max && def->priority_min > def->priority_max)
        return problem_set(why, "invalid_value",
                           "priority_min is larger than priority_max");
    if (def->has_default && !queue_takes_priority(def, def->default_priority))
        return problem_set(why, "invalid_value",
                           "default_priority is outside the queue's own range");
    return ERR_OK;
}

Err queue_read(const JsonIn *object, Arena *arena, QueueDef *out, Problem *why)
{
    QueueDef def = { .tenant = out->tenant, .name = out->name };
    QueueIn in = { &def, arena, why };
    if (object->kind != JSON_IN_OBJECT)
        return problem_set(why, "wrong_type", "a queue must be an object, not %s",
                           json_in_kind_name(object->kind));
    for (const JsonIn *at = json_in_first(object); at; at = at->next) {
        Err err = read_field(&in, at);
        if (err) {
            problem_point(why, at->key);
            return err;
        }
    }
    if (!def.paused) {
        def.paused_until_ms = 0;
        def.pause_reason = (Slice){ NULL, 0 };
    }
    Err err = check_range(&def, why);
    if (!err)
        *out = def;
    return err;
}

static void number_or_null(JsonOut *json, const char *key, bool has, int64_t number)
{
    if (has)
        json_int(json, key, number);
    else
        json_null(json, key);
}

void queue_members(JsonOut *json, const QueueDef *def, int64_t wall_ms)
{
    char per[DURATION_TEXT_BYTES];
    bool paused = queue_paused(def, wall_ms);
    json_text(json, "tenant", def->tenant);
    json_text(json, "name", def->name);
    json_bool(json, "paused", paused);
    if (paused && def->pause_reason.bytes)
        json_text(json, "pause_reason", def->pause_reason);
    else
        json_null(json, "pause_reason");
    json_time(json, "paused_until", paused ? def->paused_until_ms : 0);
    number_or_null(json, "slots", def->has_slots, def->slots);
    number_or_null(json, "priority_min", def->has_min, def->priority_min);
    number_or_null(json, "priority_max", def->has_max, def->priority_max);
    number_or_null(json, "default_priority", def->has_default, def->default_priority);
    json_cstr(json, "policy", policy_name(def->policy));
    json_array(json, "resources");
    Slice rest = def->resources;
    for (Slice key; list_next(&rest, &key);)
        json_text(json, NULL, key);
    json_array_end(json);
    if (def->rate_jobs) {
        json_object(json, "rate");
        json_int(json, "jobs", def->rate_jobs);
        json_cstr(json, "per", duration_iso(def->rate_ms, per));
        json_object_end(json);
    } else {
        json_null(json, "rate");
    }
    json_double(json, "aging", (double)def->aging_milli / 1000);
    json_bool(json, "nice", def->nice);
}

/* --- A node's own slots ---------------------------------------------------------------
 */

static Err slots_number(const JsonIn *value, int64_t *out, Problem *why)
{
    if (json_in_int(value, out) || *out < 0 || *out > QUEUE_SLOTS_MAX)
        return problem_set(why, "invalid_value", "slots are a number from 0 to %d",
                           QUEUE_SLOTS_MAX);
    return ERR_OK;
}

/* The list without `queue`, and with its new number unless it is null. */
static Err put_queue(const JsonIn *value, Arena *arena, NodeSlots *slots, Problem *why)
{
    int64_t number = 0;
    Buf list = { 0 };
    if (!queue_name_valid(value->key))
        return problem_set(why, "invalid_name", "this is no valid name of a queue");
    if (value->kind != JSON_IN_NULL && slots_number(value, &number, why))
        return ERR_INVALID;
    Slice rest = slots->queues;
    for (Slice item; list_next(&rest, &item);) {
        Slice count = item;
        if (slice_equal(slice_cut(&count, '='), value->key))
            continue;
        buf_add_slice(&list, item);
        buf_add_char(&list, '\0');
    }
    if (value->kind != JSON_IN_NULL) {
        buf_printf(&list, SLICE_FMT "=%lld", SLICE_ARG(value->key), (long long)number);
        buf_add_char(&list, '\0');
    }
    slots->queues = slice_copy(arena, buf_slice(&list));
    buf_done(&list);
    return ERR_OK;
}

static Err slots_field(const JsonIn *field, Arena *arena, NodeSlots *slots, Problem *why)
{
    int64_t number = 0;
    if (slice_is(field->key, "slots")) {
        slots->has_slots = field->kind != JSON_IN_NULL;
        if (slots->has_slots && slots_number(field, &number, why))
            return ERR_INVALID;
        slots->slots = (uint32_t)number;
        return ERR_OK;
    }
    if (!slice_is(field->key, "queues"))
        return problem_set(why, "unknown_field", "a node takes slots and queues");
    if (field->kind == JSON_IN_NULL) {
        slots->queues = (Slice){ NULL, 0 };
        return ERR_OK;
    }
    if (field->kind != JSON_IN_OBJECT)
        return problem_set(why, "wrong_type", "queues must be an object {name: slots}");
    for (const JsonIn *at = json_in_first(field); at; at = at->next) {
        Err err = put_queue(at, arena, slots, why);
        if (err)
            return err;
    }
    return ERR_OK;
}

Err slots_read(const JsonIn *object, Arena *arena, NodeSlots *slots, Problem *why)
{
    NodeSlots changed = *slots;
    if (object->kind != JSON_IN_OBJECT)
        return problem_set(why, "wrong_type", "the change must be an object, not %s",
                           json_in_kind_name(object->kind));
    for (const JsonIn *at = json_in_first(object); at; at = at->next) {
        Err err = slots_field(at, arena, &changed, why);
        if (err) {
            problem_point(why, at->key);
            return err;
        }
    }
    *slots = changed;
    return ERR_OK;
}
