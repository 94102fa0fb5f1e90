/* SPDX-License-Identifier: Apache-2.0 */
/* claim_read.c - see claim_read.h. */
#include "model/claim_read.h"

#include "base/text.h"
#include "json/base64.h"
#include "json/json_write.h"

#include <stdio.h>

#define LEASE_DEFAULT_MS  (30 * MS_PER_S)
#define WORKER_BYTES_MAX  255
#define MESSAGE_BYTES_MAX 1000
#define ERROR_BYTES_MAX   4096 /* longer ones are cut */
#define ITEM_JOBS_MAX     1000

#define BAD(in, code, ...) problem_set(&(in)->why, (code), __VA_ARGS__)

typedef struct FieldRule {
    const char *name;
    Err (*read)(ClaimReader *in, const JsonIn *value);
} FieldRule;

#define FIELDS_MAX 12

static Err unknown_field(ClaimReader *in, Slice name, const FieldRule *rules)
{
    const char *words[FIELDS_MAX + 1];
    size_t count = 0;
    for (; rules[count].name; count++)
        words[count] = rules[count].name;
    words[count] = NULL;
    const char *nearest = nearest_word(name, words);
    Slice shown = slice_of(name.data, name.bytes > 80 ? 80 : name.bytes);
    BAD(in, "unknown_field", "there is no field '" SLICE_FMT "' here", SLICE_ARG(shown));
    if (nearest)
        problem_hint(&in->why, "did you mean '%s'?", nearest);
    return ERR_INVALID;
}

static Err wrong_type(ClaimReader *in, const JsonIn *value, const char *wanted)
{
    return BAD(in, "wrong_type", SLICE_FMT " must be %s, not %s", SLICE_ARG(value->key),
               wanted, json_in_kind_name(value->kind));
}

/* A field of null is one that was not sent. The pointer to what is wrong begins with
 * *at, which may be empty. */
static Err read_object(ClaimReader *in, const JsonIn *object, const FieldRule *rules,
                       const char *at)
{
    Err err = ERR_OK;
    Slice key = { NULL, 0 };
    if (object->kind != JSON_IN_OBJECT)
        err = BAD(in, "wrong_type", "an object is wanted here, not %s",
                  json_in_kind_name(object->kind));
    const JsonIn *field = err ? NULL : json_in_first(object);
    for (; field && !err; field = field->next) {
        const FieldRule *rule = rules;
        while (rule->name && !slice_is(field->key, rule->name))
            rule++;
        key = field->key;
        if (!rule->name)
            err = unknown_field(in, key, rules);
        else if (field->kind != JSON_IN_NULL)
            err = rule->read(in, field);
    }
    if (!err)
        return ERR_OK;
    char inner[PROBLEM_POINTER_BYTES];
    snprintf(inner, sizeof inner, "%s", in->why.pointer);
    snprintf(in->why.pointer, sizeof in->why.pointer, "%s", at);
    if (key.bytes)
        problem_point(&in->why, key);
    size_t used = strlen(in->why.pointer);
    snprintf(in->why.pointer + used, sizeof in->why.pointer - used, "%s", inner);
    return err;
}

static Err read_count(ClaimReader *in, const JsonIn *value, int64_t min, int64_t max,
                      int64_t *out)
{
    if (value->kind != JSON_IN_INT)
        return wrong_type(in, value, "a whole number");
    if (value->as.integer < min || value->as.integer > max)
        return BAD(in, "invalid_value", SLICE_FMT " must be %lld to %lld",
                   SLICE_ARG(value->key), (long long)min, (long long)max);
    *out = value->as.integer;
    return ERR_OK;
}

static Err read_text(ClaimReader *in, const JsonIn *value, size_t bytes_max, Slice *out)
{
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    if (value->as.text.bytes > bytes_max)
        return BAD(in, "invalid_value", SLICE_FMT " has more than %zu bytes",
                   SLICE_ARG(value->key), bytes_max);
    *out = value->as.text;
    return ERR_OK;
}

/* --- A claim ----------------------------------------------------------------------- */

static Err read_names(ClaimReader *in, const JsonIn *list, bool (*valid)(Slice),
                      Slice *out)
{
    if (list->kind != JSON_IN_LIST)
        return wrong_type(in, list, "an array of names");
    if (list->as.items.count > CLAIM_NAMES_MAX)
        return BAD(in, "invalid_value", SLICE_FMT " has more than %d names",
                   SLICE_ARG(list->key), CLAIM_NAMES_MAX);
    Buf names = { 0 };
    Err err = ERR_OK;
    const JsonIn *item = json_in_first(list);
    for (; item && !err; item = item->next) {
        if (item->kind != JSON_IN_TEXT || !valid(item->as.text)) {
            err = BAD(in, item->kind == JSON_IN_TEXT ? "invalid_name" : "wrong_type",
                      SLICE_FMT " holds something that is no name", SLICE_ARG(list->key));
            break;
        }
        buf_add_slice(&names, item->as.text);
        buf_add_char(&names, '\0');
    }
    if (!err)
        *out = slice_copy(in->arena, buf_slice(&names));
    buf_done(&names);
    return err;
}

static Err read_queues(ClaimReader *in, const JsonIn *value)
{
    return read_names(in, value, queue_name_valid, &in->ask.queues);
}

static Err read_types(ClaimReader *in, const JsonIn *value)
{
    return read_names(in, value, name_valid, &in->ask.types);
}

static Err read_max(ClaimReader *in, const JsonIn *value)
{
    int64_t max;
    Err err = read_count(in, value, 1, CLAIM_JOBS_MAX, &max);
    if (!err)
        in->max = (uint32_t)max;
    return err;
}

static Err read_span(ClaimReader *in, const JsonIn *value, int64_t min, int64_t max,
                     int64_t *out)
{
    Error why = { 0 };
    int64_t ms;
    if (duration_read(value, &ms, &why))
        return BAD(in, "invalid_value", SLICE_FMT ": %s", SLICE_ARG(value->key),
                   why.text);
    char least[DURATION_TEXT_BYTES];
    char most[DURATION_TEXT_BYTES];
    if (ms < min || ms > max)
        return BAD(in, "invalid_value", SLICE_FMT " must be %s to %s",
                   SLICE_ARG(value->key), duration_human(min, least),
                   duration_human(max, most));
    *out = ms;
    return ERR_OK;
}

static Err read_wait(ClaimReader *in, const JsonIn *value)
{
    return read_span(in, value, 0, CLAIM_WAIT_MAX_MS, &in->ask.wait_ms);
}

static Err read_lease(ClaimReader *in, const JsonIn *value)
{
    return read_span(in, value, CLAIM_LEASE_MIN_MS, CLAIM_LEASE_MAX_MS,
                     &in->ask.lease_ms);
}

static Err read_worker(ClaimReader *in, const JsonIn *value)
{
    return read_text(in, value, WORKER_BYTES_MAX, &in->ask.worker);
}

static const FieldRule claim_rules[] = {
    { "queues", read_queues },
    { "types", read_types },
    { "max", read_max },
    { "wait", read_wait },
    { "lease", read_lease },
    { "worker", read_worker },
    { NULL, NULL },
};

Err claim_read(ClaimReader *in, const JsonIn *object)
{
    in->ask = (ClaimAsk){ .lease_ms = LEASE_DEFAULT_MS };
    in->max = 1;
    return read_object(in, object, claim_rules, "");
}

/* --- Items ------------------------------------------------------------------------- */

static Err read_id(ClaimReader *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    if (id_parse(value->as.text, &in->item.id))
        return BAD(in, "invalid_value", "this is not the id of a job");
    return ERR_OK;
}

static Err read_attempt(ClaimReader *in, const JsonIn *value)
{
    int64_t attempt;
    Err err = read_count(in, value, 1, INT32_MAX, &attempt);
    if (!err)
        in->item.attempt = (uint32_t)attempt;
    return err;
}

static Err read_token(ClaimReader *in, const JsonIn *value)
{
    return read_text(in, value, 255, &in->token);
}

static Err read_progress(ClaimReader *in, const JsonIn *value)
{
    int64_t progress;
    Err err = read_count(in, value, 0, 100, &progress);
    if (!err)
        in->item.progress = in->item.ending.progress = (int32_t)progress;
    return err;
}

static Err read_message(ClaimReader *in, const JsonIn *value)
{
    Err err = read_text(in, value, MESSAGE_BYTES_MAX, &in->item.message);
    if (!err)
        in->item.ending.message = in->item.message;
    return err;
}

static Err read_exitcode(ClaimReader *in, const JsonIn *value)
{
    int64_t exitcode;
    Err err = read_count(in, value, 100, 599, &exitcode);
    if (!err)
        in->item.ending.said_code = (int32_t)exitcode;
    return err;
}

static Err take_result(ClaimReader *in, Slice result)
{
    in->item.ending.cut = result.bytes > in->result_bytes_max;
    if (in->item.ending.cut)
        result.bytes = (size_t)in->result_bytes_max;
    in->item.ending.result = result;
    return ERR_OK;
}

/* A string as it is, any other value as JSON. */
static Err read_result(ClaimReader *in, const JsonIn *value)
{
    if (value->kind == JSON_IN_TEXT)
        return take_result(in, value->as.text);
    Buf text = { 0 };
    json_in_write(value, &text);
    Slice kept = slice_copy(in->arena, buf_slice(&text));
    buf_done(&text);
    return take_result(in, kept);
}

static Err read_result_base64(ClaimReader *in, const JsonIn *value)
{
    Slice bytes;
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    if (base64_decode(value->as.text, in->arena, &bytes))
        return BAD(in, "invalid_value", "result_base64 is not base64");
    return take_result(in, bytes);
}

static Err read_error(ClaimReader *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    Slice text = value->as.text;
    in->item.ending.error =
        slice_of(text.data, text.bytes > ERROR_BYTES_MAX ? ERROR_BYTES_MAX : text.bytes);
    return ERR_OK;
}

static Err read_jobs(ClaimReader *in, const JsonIn *list)
{
    if (list->kind != JSON_IN_LIST)
        return wrong_type(in, list, "an array of jobs");
    if (list->as.items.count > ITEM_JOBS_MAX)
        return BAD(in, "invalid_value", "more than %d jobs come with one result",
                   ITEM_JOBS_MAX);
    Job *jobs = arena_take(in->arena, (list->as.items.count + 1) * sizeof *jobs);
    size_t count = 0;
    for (const JsonIn *item = json_in_first(list); item; item = item->next) {
        JobReader reader = { .rules = in->rules, .arena = in->arena };
        if (job_read(&reader, item)) {
            char inner[PROBLEM_POINTER_BYTES];
            snprintf(inner, sizeof inner, "%s", reader.why.pointer);
            in->why = reader.why;
            snprintf(in->why.pointer, sizeof in->why.pointer, "/%zu%.*s", count,
                     PROBLEM_POINTER_BYTES - 24, inner);
            return ERR_INVALID;
        }
        jobs[count++] = reader.job;
    }
    in->item.ending.children = jobs;
    in->item.ending.child_count = count;
    in->item.ending.children_whole = true;
    return ERR_OK;
}

static const FieldRule renew_rules[] = {
    { "id", read_id },           { "attempt", read_attempt },
    { "token", read_token },     { "progress", read_progress },
    { "message", read_message }, { NULL, NULL },
};

static const FieldRule finish_rules[] = {
    { "id", read_id },
    { "attempt", read_attempt },
    { "token", read_token },
    { "exitcode", read_exitcode },
    { "result", read_result },
    { "result_base64", read_result_base64 },
    { "error", read_error },
    { "jobs", read_jobs },
    { "progress", read_progress },
    { "message", read_message },
    { NULL, NULL },
};

static Err read_item(ClaimReader *in, const JsonIn *object, const FieldRule *rules,
                     size_t index)
{
    char at[32];
    snprintf(at, sizeof at, "/items/%zu", index);
    in->token = (Slice){ NULL, 0 };
    in->item = (ClaimItem){ .progress = -1,
                            .ending = { .kind = END_EXITED,
                                        .exit_status = -1,
                                        .said_code = 200,
                                        .progress = -1 } };
    Err err = read_object(in, object, rules, at);
    if (err)
        return err;
    if (!in->item.id || !in->item.attempt || !in->token.data) {
        BAD(in, "missing_field", "an item needs id, attempt and token");
        snprintf(in->why.pointer, sizeof in->why.pointer, "%s", at);
        return ERR_INVALID;
    }
    const ClaimTaken taken = { .id = in->item.id, .attempt = in->item.attempt };
    uint16_t holder = claim_token_node(in->token);
    bool far = in->node && holder && holder != in->node;
    in->item.trusted = !far && claim_token_right(in->key, &taken, in->token);
    in->holders[in->item_count] = far ? holder : 0;
    in->items[in->item_count++] = in->item;
    return ERR_OK;
}

static Err read_list(ClaimReader *in, const JsonIn *list, const FieldRule *rules)
{
    if (!list || list->kind != JSON_IN_LIST)
        return BAD(in, list ? "wrong_type" : "missing_field",
                   "the body must be {\"items\": [...]}");
    if (list->as.items.count > CLAIM_JOBS_MAX)
        return BAD(in, "invalid_value", "more than %d items at once", CLAIM_JOBS_MAX);
    in->items = arena_take(in->arena, (list->as.items.count + 1) * sizeof *in->items);
    in->holders = arena_take(in->arena, (list->as.items.count + 1) * sizeof *in->holders);
    size_t index = 0;
    Err err = ERR_OK;
    const JsonIn *item = json_in_first(list);
    for (; item && !err; item = item->next)
        err = read_item(in, item, rules, index++);
    return err;
}

static Err items_field(ClaimReader *in, const JsonIn *value)
{
    (void)in;
    (void)value;
    return ERR_OK;
}

Err claim_read_items(ClaimReader *in, const JsonIn *object, bool finish)
{
    static const FieldRule body_rules[] = { { "items", items_field }, { NULL, NULL } };
    Err err = read_object(in, object, body_rules, "");
    if (err)
        return err;
    return read_list(in, json_in_find(object, "items"),
                     finish ? finish_rules : renew_rules);
}
