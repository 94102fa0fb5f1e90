/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - see plan.h. */
#include "pipeline/forward/plan.h"

#include "base/map.h"
#include "base/text.h"
#include "base/times.h"
#include "core/job.h"

#include <inttypes.h>
#include <stdio.h>

#define FORWARD_SLOTS_DEFAULT 2
#define BANDWIDTH_MAX         (1LL << 40)

typedef struct PlanReader {
    Arena *arena;
    Plan *plan;
    Forward *forward; /* the one being read */
    PlanFault *fault;
} PlanReader;

typedef Err ReadField(PlanReader *reader, const JsonIn *value);

typedef struct PlanField {
    const char *name;
    ReadField *read;
} PlanField;

static Err refuse(PlanReader *reader, const char *code, const char *name,
                  const char *what)
{
    reader->fault->code = code;
    return error_set(&reader->fault->why, ERR_INVALID, "%s %s", name, what);
}

static Err wrong_kind(PlanReader *reader, const JsonIn *value, const char *expected)
{
    reader->fault->code = "wrong_type";
    return error_set(&reader->fault->why, ERR_INVALID,
                     SLICE_FMT " is %s, but %s was given", SLICE_ARG(value->key),
                     expected, json_in_kind_name(value->kind));
}

static Err read_text(PlanReader *reader, const JsonIn *value, Slice *out)
{
    Slice text;
    if (json_in_text(value, &text))
        return wrong_kind(reader, value, "a text");
    if (text.bytes && memchr(text.data, 0, text.bytes))
        return refuse(reader, "invalid_value", "a text", "cannot hold a NUL byte");
    *out = slice_copy(reader->arena, text);
    return ERR_OK;
}

static Err read_number(PlanReader *reader, const JsonIn *value, int64_t min, int64_t max,
                       int64_t *out)
{
    int64_t number;
    if (json_in_int(value, &number))
        return wrong_kind(reader, value, "a number");
    if (number < min || number > max) {
        reader->fault->code = "invalid_value";
        return error_set(&reader->fault->why, ERR_INVALID,
                         SLICE_FMT " is from %" PRId64 " to %" PRId64,
                         SLICE_ARG(value->key), min, max);
    }
    *out = number;
    return ERR_OK;
}

static Err read_duration(PlanReader *reader, const JsonIn *value, int64_t *out)
{
    Slice text;
    Error why = { 0 };
    if (json_in_text(value, &text))
        return wrong_kind(reader, value, "a duration such as \"PT30S\"");
    if (duration_parse(text, out, &why)) {
        reader->fault->code = "invalid_value";
        return error_set(&reader->fault->why, ERR_INVALID, SLICE_FMT ": %s",
                         SLICE_ARG(value->key), why.text);
    }
    return ERR_OK;
}

/* A list of texts, each ended by NUL. */
static Err read_words(PlanReader *reader, const JsonIn *value, Slice *out)
{
    Buf words = { 0 };
    Err err = ERR_OK;
    if (value->kind != JSON_IN_LIST)
        return wrong_kind(reader, value, "a list of texts");
    for (const JsonIn *item = json_in_first(value); item && !err; item = item->next) {
        Slice word;
        if (json_in_text(item, &word) || (word.bytes && memchr(word.data, 0, word.bytes)))
            err = refuse(reader, "wrong_type", "each item of the list",
                         "is a text without NUL");
        else
            buf_add_slice(&words, word);
        buf_add_char(&words, '\0');
    }
    if (!err)
        *out = slice_copy(reader->arena, buf_slice(&words));
    buf_done(&words);
    return err;
}

/* --- Destinations ---------------------------------------------------------------------
 */

const char *forward_mode_name(ForwardMode mode)
{
    static const char *const names[] = {
        [FORWARD_ALL] = "all",
        [FORWARD_ROUND_ROBIN] = "round-robin",
        [FORWARD_HASH] = "hash",
        [FORWARD_LEAST_LOADED] = "least-loaded",
    };
    return names[mode];
}

static bool host_valid(Slice host)
{
    if (!host.bytes || host.data[0] == '-')
        return false;
    for (size_t i = 0; i < host.bytes; i++) {
        unsigned char c = (unsigned char)host.data[i];
        if (c <= ' ' || c == 127 || strchr("'\"\\$`;|&<>()/", c))
            return false;
    }
    return true;
}

Err place_parse(Slice text, Place *out, Error *why)
{
    static const Slice ssh = { "ssh:", 4 };
    static const Slice daemon = { "rsync://", 8 };
    *out = (Place){ .text = text };
    snprintf(out->key, sizeof out->key, "%016" PRIx64, hash_bytes(text.data, text.bytes));
    if (slice_starts(text, daemon)) {
        out->kind = PLACE_RSYNC;
        out->path = text;
        Slice rest = slice_from(text, daemon.bytes);
        Slice host = slice_cut(&rest, '/');
        if (!host_valid(host) || !rest.bytes)
            return error_set(why, ERR_INVALID,
                             "\"" SLICE_FMT "\" is not rsync://HOST/MODULE",
                             SLICE_ARG(text));
        return ERR_OK;
    }
    if (slice_starts(text, ssh)) {
        Slice rest = slice_from(text, ssh.bytes);
        out->kind = PLACE_SSH;
        out->host = slice_cut(&rest, ':');
        out->path = rest;
        bool good = rest.bytes && (rest.data[0] == '/' || name_valid(rest));
        if (!host_valid(out->host) || !good)
            return error_set(why, ERR_INVALID,
                             "\"" SLICE_FMT "\" is not ssh:HOST:NAME or "
                             "ssh:HOST:/DIRECTORY",
                             SLICE_ARG(text));
        return ERR_OK;
    }
    Slice rest = text;
    bool at_node = memchr(text.data, '@', text.bytes) != NULL;
    out->kind = PLACE_LOCAL;
    out->path = slice_cut(&rest, '@');
    out->node = rest;
    if (!name_valid(out->path) || (at_node && !name_valid(out->node)))
        return error_set(why, ERR_INVALID,
                         "\"" SLICE_FMT "\" is no destination: NAME of a processor here, "
                         "NAME@NODE, ssh:HOST:NAME or rsync://HOST/MODULE",
                         SLICE_ARG(text));
    return ERR_OK;
}

static Err read_to(PlanReader *reader, const JsonIn *value)
{
    Forward *forward = reader->forward;
    size_t count = value->kind == JSON_IN_LIST ? value->as.items.count : 1;
    if (value->kind != JSON_IN_LIST && value->kind != JSON_IN_TEXT)
        return wrong_kind(reader, value, "a list of destinations");
    if (!count || count > PLAN_PLACES_MAX)
        return refuse(reader, "invalid_value", "to", "has 1 to 64 destinations");
    forward->places = arena_take(reader->arena, count * sizeof *forward->places);
    const JsonIn *item = value->kind == JSON_IN_LIST ? json_in_first(value) : value;
    for (; item; item = value->kind == JSON_IN_LIST ? item->next : NULL) {
        Slice text;
        Place *place = &forward->places[forward->count];
        if (json_in_text(item, &text))
            return refuse(reader, "wrong_type", "a destination", "is a text");
        if (place_parse(slice_copy(reader->arena, text), place, &reader->fault->why)) {
            reader->fault->code = "invalid_value";
            return ERR_INVALID;
        }
        for (size_t i = 0; i < forward->count; i++)
            if (slice_equal(forward->places[i].text, place->text))
                return refuse(reader, "invalid_value", "to", "names a destination twice");
        forward->count++;
    }
    return ERR_OK;
}

static Err read_mode(PlanReader *reader, const JsonIn *value)
{
    Slice text;
    if (json_in_text(value, &text))
        return wrong_kind(reader, value, "a text");
    for (ForwardMode mode = FORWARD_ALL; mode <= FORWARD_LEAST_LOADED; mode++) {
        if (!slice_is(text, forward_mode_name(mode)))
            continue;
        reader->forward->mode = mode;
        return ERR_OK;
    }
    return refuse(reader, "invalid_value", "mode",
                  "is all, round-robin, hash or least-loaded");
}

static Err read_ssh(PlanReader *reader, const JsonIn *value)
{
    return read_text(reader, value, &reader->forward->ssh);
}

static Err read_bandwidth(PlanReader *reader, const JsonIn *value)
{
    return read_number(reader, value, 0, BANDWIDTH_MAX, &reader->forward->bandwidth);
}

static Err read_forward_slots(PlanReader *reader, const JsonIn *value)
{
    int64_t number = 0;
    Err err = read_number(reader, value, 1, PLAN_SLOTS_MAX, &number);
    reader->forward->slots = (uint32_t)number;
    return err;
}

/* --- Objects --------------------------------------------------------------------------
 */

static Err read_object(PlanReader *reader, const JsonIn *object, const PlanField *fields)
{
    if (object->kind != JSON_IN_OBJECT)
        return refuse(reader, "wrong_type", "it", "is an object");
    for (const JsonIn *at = json_in_first(object); at; at = at->next) {
        const char *names[24] = { NULL };
        size_t i = 0;
        while (fields[i].name && !slice_is(at->key, fields[i].name)) {
            names[i] = fields[i].name;
            i++;
        }
        if (!fields[i].name) {
            const char *nearest = nearest_word(at->key, names);
            reader->fault->code = "unknown_field";
            return error_set(&reader->fault->why, ERR_INVALID,
                             "unknown field " SLICE_FMT "%s%s", SLICE_ARG(at->key),
                             nearest ? "; did you mean " : "", nearest ? nearest : "");
        }
        if (at->kind == JSON_IN_NULL)
            continue;
        Err err = fields[i].read(reader, at);
        if (err)
            return err;
    }
    return ERR_OK;
}

static const PlanField forward_fields[] = {
    { "to", read_to },
    { "mode", read_mode },
    { "slots", read_forward_slots },
    { "bandwidth", read_bandwidth },
    { "ssh", read_ssh },
    { NULL, NULL },
};

static Err read_forward(PlanReader *reader, const JsonIn *value)
{
    const Plan *plan = reader->plan;
    if (value->kind != JSON_IN_LIST)
        return wrong_kind(reader, value, "a list of forwarders");
    if (value->as.items.count > PLAN_FORWARDS_MAX)
        return refuse(reader, "invalid_value", "forward", "has at most 16 forwarders");
    reader->plan->forwards =
        arena_take(reader->arena, (value->as.items.count + 1) * sizeof(Forward));
    for (const JsonIn *item = json_in_first(value); item; item = item->next) {
        reader->forward = &plan->forwards[reader->plan->forward_count++];
        reader->forward->slots = FORWARD_SLOTS_DEFAULT;
        Err err = read_object(reader, item, forward_fields);
        if (err)
            return err;
        if (!reader->forward->count)
            return refuse(reader, "missing_field", "a forwarder",
                          "needs `to`: its destinations");
        for (size_t i = 0; i < reader->forward->count; i++)
            if (reader->forward->places[i].kind == PLACE_LOCAL &&
                slice_equal(reader->forward->places[i].path, plan->name))
                return refuse(reader, "invalid_value", "a processor",
                              "cannot forward to itself");
    }
    return ERR_OK;
}

static Err read_command(PlanReader *reader, const JsonIn *value)
{
    Slice text;
    if (value->kind == JSON_IN_LIST) {
        Err err = read_words(reader, value, &reader->plan->command);
        if (!err && (!reader->plan->command.bytes || !reader->plan->command.data[0]))
            err = refuse(reader, "invalid_value", "command", "names no program");
        return err;
    }
    if (json_in_text(value, &text))
        return wrong_kind(reader, value, "a text for sh, or a list of words");
    if (!text.bytes || memchr(text.data, 0, text.bytes))
        return refuse(reader, "invalid_value", "command", "names no program");
    Buf words = { 0 };
    buf_add(&words, "/bin/sh\0-c", 11);
    buf_add_slice(&words, text);
    buf_add_char(&words, '\0');
    reader->plan->command = slice_copy(reader->arena, buf_slice(&words));
    buf_done(&words);
    return ERR_OK;
}

static Err read_path(PlanReader *reader, const JsonIn *value, Slice *out)
{
    Err err = read_text(reader, value, out);
    if (!err && out->bytes && out->data[0] != '/')
        err = refuse(reader, "invalid_value", "a directory", "is an absolute path");
    return err;
}

static Err read_type(PlanReader *reader, const JsonIn *value)
{
    Err err = read_text(reader, value, &reader->plan->type);
    if (!err && !name_valid(reader->plan->type))
        err = refuse(reader, "invalid_name", "type", "is no valid name");
    return err;
}

static Err read_dir(PlanReader *reader, const JsonIn *value)
{
    return read_path(reader, value, &reader->plan->dir);
}

/* ssh:HOST:/DIRECTORY or rsync://HOST/MODULE. */
static Err read_address(PlanReader *reader, const JsonIn *value)
{
    Place place;
    Err err = read_text(reader, value, &reader->plan->address);
    if (!err && reader->plan->address.bytes &&
        (place_parse(reader->plan->address, &place, &reader->fault->why) ||
         place.kind == PLACE_LOCAL))
        err = refuse(reader, "invalid_value", "address",
                     "is how other nodes reach it: ssh:HOST:/DIRECTORY or "
                     "rsync://HOST/MODULE");
    return err;
}

static Err read_from(PlanReader *reader, const JsonIn *value)
{
    return read_path(reader, value, &reader->plan->from);
}

static Err read_cwd(PlanReader *reader, const JsonIn *value)
{
    return read_path(reader, value, &reader->plan->cwd);
}

static Err read_env(PlanReader *reader, const JsonIn *value)
{
    return read_words(reader, value, &reader->plan->env);
}

static Err read_slots(PlanReader *reader, const JsonIn *value)
{
    int64_t number = 1;
    Err err = read_number(reader, value, 1, PLAN_SLOTS_MAX, &number);
    reader->plan->slots = (uint32_t)number;
    return err;
}

static Err read_priority(PlanReader *reader, const JsonIn *value)
{
    return read_number(reader, value, PRIORITY_MIN, PRIORITY_MAX,
                       &reader->plan->priority);
}

static Err read_retries(PlanReader *reader, const JsonIn *value)
{
    int64_t number = 0;
    Err err = read_number(reader, value, 0, INT32_MAX, &number);
    reader->plan->max_retries = (int32_t)number;
    return err;
}

static Err read_retry_delay(PlanReader *reader, const JsonIn *value)
{
    return read_duration(reader, value, &reader->plan->retry_delay_ms);
}

static Err read_max_run(PlanReader *reader, const JsonIn *value)
{
    return read_duration(reader, value, &reader->plan->max_run_ms);
}

static Err read_start_forwarder(PlanReader *reader, const JsonIn *value)
{
    return json_in_bool(value, &reader->plan->start_forwarder)
               ? wrong_kind(reader, value, "true or false")
               : ERR_OK;
}

static const PlanField fields[] = {
    { "command", read_command },
    { "type", read_type },
    { "dir", read_dir },
    { "address", read_address },
    { "cwd", read_cwd },
    { "env", read_env },
    { "slots", read_slots },
    { "priority", read_priority },
    { "max_retries", read_retries },
    { "retry_delay", read_retry_delay },
    { "max_run_time", read_max_run },
    { "forward", read_forward },
    { "start_forwarder", read_start_forwarder },
    { NULL, NULL },
};

static const PlanField broker_fields[] = {
    { "from", read_from },
    { "to", read_to },
    { "mode", read_mode },
    { "slots", read_forward_slots },
    { "bandwidth", read_bandwidth },
    { "ssh", read_ssh },
    { NULL, NULL },
};

static Err begin(PlanReader *reader, Slice name)
{
    *reader->plan = (Plan){ .name = slice_copy(reader->arena, name),
                            .slots = 1,
                            .priority = PRIORITY_DEFAULT };
    reader->fault->why = (Error){ 0 };
    if (!name_valid(name))
        return refuse(reader, "invalid_name", "the name",
                      "is letters, digits, _ . - :, at most 128 of them");
    return ERR_OK;
}

Err plan_read(const JsonIn *object, Slice name, Arena *arena, Plan *out, PlanFault *fault)
{
    PlanReader reader = { .arena = arena, .plan = out, .fault = fault };
    Err err = begin(&reader, name);
    if (!err)
        err = read_object(&reader, object, fields);
    if (!err && !out->command.bytes && !out->type.bytes)
        err = refuse(&reader, "missing_field", "a processor",
                     "needs a command, or the type of a handler");
    if (!err && out->command.bytes && out->type.bytes)
        err = refuse(&reader, "conflicting_fields", "a processor",
                     "has a command or a type, not both");
    return err;
}

Err plan_read_broker(const JsonIn *object, Slice name, Arena *arena, Plan *out,
                     PlanFault *fault)
{
    PlanReader reader = { .arena = arena, .plan = out, .fault = fault };
    Err err = begin(&reader, name);
    if (err)
        return err;
    out->forwards = arena_take(arena, sizeof(Forward));
    out->forward_count = 1;
    reader.forward = &out->forwards[0];
    /* A broker divides: each unit goes to one of its processors. */
    *reader.forward =
        (Forward){ .slots = FORWARD_SLOTS_DEFAULT, .mode = FORWARD_ROUND_ROBIN };
    err = read_object(&reader, object, broker_fields);
    if (!err && !out->from.bytes)
        err = refuse(&reader, "missing_field", "a broker", "needs `from`: its directory");
    if (!err && !out->forwards[0].count)
        err = refuse(&reader, "missing_field", "a broker", "needs `to`: its processors");
    return err;
}

/* --- Writing --------------------------------------------------------------------------
 */

static void words_json(JsonOut *json, const char *key, Slice words)
{
    Slice word;
    json_array(json, key);
    while (list_next(&words, &word))
        json_text(json, NULL, word);
    json_array_end(json);
}

static void forward_members(JsonOut *json, const Forward *forward)
{
    json_array(json, "to");
    for (size_t i = 0; i < forward->count; i++)
        json_text(json, NULL, forward->places[i].text);
    json_array_end(json);
    json_cstr(json, "mode", forward_mode_name(forward->mode));
    json_int(json, "slots", forward->slots);
    if (forward->bandwidth)
        json_int(json, "bandwidth", forward->bandwidth);
    if (forward->ssh.bytes)
        json_text(json, "ssh", forward->ssh);
}

void plan_broker_members(JsonOut *json, const Plan *plan)
{
    json_text(json, "from", plan->from);
    forward_members(json, &plan->forwards[0]);
}

static void text_if(JsonOut *json, const char *key, Slice text)
{
    if (text.bytes)
        json_text(json, key, text);
}

void plan_members(JsonOut *json, const Plan *plan)
{
    if (plan->command.bytes)
        words_json(json, "command", plan->command);
    text_if(json, "type", plan->type);
    text_if(json, "dir", plan->dir);
    text_if(json, "address", plan->address);
    text_if(json, "cwd", plan->cwd);
    if (plan->env.bytes)
        words_json(json, "env", plan->env);
    json_int(json, "slots", plan->slots);
    json_int(json, "priority", plan->priority);
    json_int(json, "max_retries", plan->max_retries);
    if (plan->retry_delay_ms)
        json_duration(json, "retry_delay", plan->retry_delay_ms);
    if (plan->max_run_ms)
        json_duration(json, "max_run_time", plan->max_run_ms);
    json_array(json, "forward");
    for (size_t i = 0; i < plan->forward_count; i++) {
        json_object(json, NULL);
        forward_members(json, &plan->forwards[i]);
        json_object_end(json);
    }
    json_array_end(json);
    if (plan->start_forwarder)
        json_bool(json, "start_forwarder", true);
}
