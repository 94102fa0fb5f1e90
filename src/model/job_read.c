/* SPDX-License-Identifier: Apache-2.0 */
/* job_read.c - see job_read.h. One row per field says how it is read. */
#include "model/job_read.h"

#include "core/handler.h"

#include "base/text.h"
#include "model/job_links.h"
#include "model/run_as.h"
#include "json/base64.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

typedef enum ReadKind {
    READ_NEVER, /* set by the daemon */
    READ_LATER, /* known, but this version cannot do it */
    READ_TENANT,
    READ_NAME,
    READ_QUEUE,
    READ_PRIORITY,
    READ_PAYLOAD,
    READ_BASE64,
    READ_TIME,
    READ_DELAY,
    READ_RETRIES,
    READ_RETRY_DELAY,
    READ_WINDOW,
    READ_DURATION,
    READ_FLAG,
    READ_HELD,
    READ_TAGS,
    READ_ENV,
    READ_COMMAND,
    READ_TEXT,
    READ_DOCUMENT,
    READ_CWD,
    READ_CHILDREN,
    READ_RESOURCES,
    READ_AFTER,
    READ_UNIQUE,
} ReadKind;

typedef struct ReadRow {
    const char *name;
    ReadKind kind;
    size_t offset;  /* of the member it sets, where one is enough */
    uint32_t limit; /* READ_TEXT: bytes; READ_FLAG: the bit */
    uint32_t patch; /* OpField bit: PATCH may change it */
} ReadRow;

#define AT(member) offsetof(Job, member)

/* The fields that bulk adds use most come first. */
static const ReadRow rows[] = {
    { "type", READ_NAME, AT(type), 0, 0 },
    { "payload", READ_PAYLOAD, 0, 0, FIELD_PAYLOAD },
    { "queue", READ_QUEUE, 0, 0, FIELD_QUEUE },
    { "priority", READ_PRIORITY, 0, 0, FIELD_PRIORITY },
    { "command", READ_COMMAND, 0, 0, 0 },
    { "tenant", READ_TENANT, 0, 0, 0 },
    { "payload_base64", READ_BASE64, 0, 0, 0 },
    { "run_at", READ_TIME, 0, 0, FIELD_RUN_AT },
    { "delay", READ_DELAY, 0, 0, FIELD_RUN_AT },
    { "max_retries", READ_RETRIES, 0, 0, 0 },
    { "retry_delay", READ_RETRY_DELAY, 0, 0, 0 },
    { "retry_window", READ_WINDOW, 0, 0, 0 },
    { "max_run_time", READ_DURATION, AT(max_run_ms), 0, FIELD_MAX_RUN },
    { "service_time", READ_DURATION, AT(service_ms), 0, 0 },
    { "held", READ_HELD, 0, 0, 0 },
    { "tags", READ_TAGS, 0, 0, FIELD_TAGS },
    { "name", READ_TEXT, AT(name), JOB_NAME_MAX, 0 },
    { "env", READ_ENV, 0, 0, 0 },
    { "cwd", READ_CWD, 0, 0, 0 },
    { "protocol", READ_FLAG, 0, JOB_PROTOCOL, 0 },
    { "files", READ_FLAG, 0, JOB_FILES, 0 },
    { "keep_state", READ_FLAG, 0, JOB_KEEP_STATE, 0 },
    { "children", READ_CHILDREN, 0, 0, 0 },
    { "document_uri", READ_TEXT, AT(document_uri), JOB_PATH_MAX, 0 },
    { "param", READ_DOCUMENT, 0, 0, 0 },
    { "after", READ_AFTER, 0, 0, 0 },
    { "then", READ_NAME, AT(then), 0, 0 },
    { "on_error", READ_NAME, AT(on_error), 0, 0 },
    { "unique", READ_UNIQUE, 0, 0, 0 },
    { "group", READ_NAME, AT(group), 0, 0 },
    { "resources", READ_RESOURCES, 0, 0, 0 },
    { "user", READ_TEXT, AT(user), NAME_BYTES_MAX, 0 },
    { "id", READ_NEVER, 0, 0, 0 },
    { "state", READ_NEVER, 0, 0, 0 },
    { "reason", READ_NEVER, 0, 0, 0 },
    { "dt", READ_NEVER, 0, 0, 0 },
    { "lock", READ_NEVER, 0, 0, 0 },
    { "created_at", READ_NEVER, 0, 0, 0 },
    { "started_at", READ_NEVER, 0, 0, 0 },
    { "finished_at", READ_NEVER, 0, 0, 0 },
    { "attempt", READ_NEVER, 0, 0, 0 },
    { "retry_number", READ_NEVER, 0, 0, 0 },
    { "expected_finish_at", READ_NEVER, 0, 0, 0 },
    { "last_heartbeat_at", READ_NEVER, 0, 0, 0 },
    { "code", READ_NEVER, 0, 0, 0 },
    { "exitcode", READ_NEVER, 0, 0, 0 },
    { "exit_status", READ_NEVER, 0, 0, 0 },
    { "signal", READ_NEVER, 0, 0, 0 },
    { "error", READ_NEVER, 0, 0, 0 },
    { "result_size", READ_NEVER, 0, 0, 0 },
    { "result_cut", READ_NEVER, 0, 0, 0 },
    { "progress", READ_NEVER, 0, 0, 0 },
    { "message", READ_NEVER, 0, 0, 0 },
    { "cancelling", READ_NEVER, 0, 0, 0 },
    { "parent", READ_NEVER, 0, 0, 0 },
    { "schedule", READ_NEVER, 0, 0, 0 },
    { "node", READ_NEVER, 0, 0, 0 },
};
#define ROWS (sizeof rows / sizeof *rows)
_Static_assert(ROWS <= 64, "JobReader.seen has one bit per row");

static const ReadRow *row_find(Slice name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (name.bytes && rows[i].name[0] == name.data[0] && slice_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

static bool was_seen(const JobReader *in, const char *name)
{
    const ReadRow *row = row_find(slice_text(name));
    assert(row);
    return in->seen >> (row - rows) & 1;
}

/* --- Saying what is wrong ------------------------------------------------------ */

#define BAD(in, code, ...) problem_set(&(in)->why, (code), __VA_ARGS__)

static Err wrong_type(JobReader *in, const JsonIn *value, const char *wanted)
{
    return BAD(in, "wrong_type", SLICE_FMT " must be %s, not %s", SLICE_ARG(value->key),
               wanted, json_in_kind_name(value->kind));
}

static Err unknown_field(JobReader *in, Slice name)
{
    const char *words[ROWS + 1];
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].kind != READ_NEVER)
            words[count++] = rows[i].name;
    words[count] = NULL;
    const char *nearest = nearest_word(name, words);
    Slice shown = slice_of(name.data, name.bytes > 80 ? 80 : name.bytes);
    BAD(in, "unknown_field", "a job has no field '" SLICE_FMT "'", SLICE_ARG(shown));
    if (nearest)
        problem_hint(&in->why, "did you mean '%s'?", nearest);
    return ERR_INVALID;
}

/* --- Values ---------------------------------------------------------------------- */

static bool has_nul(Slice text)
{
    return text.bytes && memchr(text.data, '\0', text.bytes);
}

static Err read_name(JobReader *in, const JsonIn *value, bool (*valid)(Slice), Slice *out)
{
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    if (!valid(value->as.text)) {
        BAD(in, "invalid_name", "this is no valid name for a %.*s",
            SLICE_ARG(value->key));
        problem_name(&in->why, value->as.text);
        problem_hint(&in->why,
                     valid == queue_name_valid
                         ? "letters, digits and _.:+/;$()- without '..', up to 200 bytes"
                     : valid == tenant_name_valid
                         ? "letters, digits and _.:-, up to 128 bytes, no reserved word"
                         : "letters, digits and _.:-, up to 128 bytes");
        return ERR_INVALID;
    }
    *out = value->as.text;
    return ERR_OK;
}

static Err read_priority(JobReader *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_INT)
        return wrong_type(in, value, "an integer");
    if (value->as.integer < PRIORITY_MIN || value->as.integer > PRIORITY_MAX)
        return BAD(in, "invalid_value", "priority must be between %lld and %lld",
                   PRIORITY_MIN, PRIORITY_MAX);
    in->job.priority = value->as.integer;
    return ERR_OK;
}

static Err payload_fits(JobReader *in)
{
    if (in->job.payload.bytes <= in->rules->payload_bytes_max)
        return ERR_OK;
    return BAD(in, "payload_too_large", "the payload has %zu bytes; the limit is %llu",
               in->job.payload.bytes, (unsigned long long)in->rules->payload_bytes_max);
}

static Err read_payload(JobReader *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_TEXT) {
        wrong_type(in, value, "a string");
        problem_hint(&in->why, "send JSON as text inside the string");
        return ERR_INVALID;
    }
    in->job.payload = value->as.text;
    in->job.flags &= ~(uint32_t)JOB_BINARY;
    return payload_fits(in);
}

static Err read_base64(JobReader *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    if (base64_decode(value->as.text, in->arena, &in->job.payload))
        return BAD(in, "invalid_value", "payload_base64 is not base64 with padding");
    in->job.flags |= JOB_BINARY;
    return payload_fits(in);
}

static Err read_time(JobReader *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    int64_t wall_ms;
    if (time_parse(value->as.text, &wall_ms) || wall_ms < 0 ||
        wall_ms > TIME_WALL_MAX_MS) {
        BAD(in, "invalid_value", "run_at is not a time of the years 1970 to 2999");
        problem_hint(&in->why, "RFC 3339, as in 2026-06-30T14:05:00Z");
        return ERR_INVALID;
    }
    in->job.run_at_ms = wall_ms;
    return ERR_OK;
}

static Err read_duration(JobReader *in, const JsonIn *value, int64_t *out_ms)
{
    Error why = { 0 };
    Err err = duration_read(value, out_ms, &why);
    if (err == ERR_UNSUPPORTED)
        return wrong_type(in, value, "a duration: a string or a number of seconds");
    if (!err)
        return ERR_OK;
    BAD(in, "invalid_value", "%.*s: %s", SLICE_ARG(value->key), why.text);
    problem_hint(&in->why, "as in PT1M30S, 90s, 1h30m or 200ms");
    return ERR_INVALID;
}

/* 0 in a job means "as usual", so an explicit zero becomes the least there is. */
static Err read_some_duration(JobReader *in, const JsonIn *value, int64_t *out_ms)
{
    int64_t duration_ms = 0;
    Err err = read_duration(in, value, &duration_ms);
    if (!err)
        *out_ms = duration_ms ? duration_ms : 1;
    return err;
}

static Err read_delay(JobReader *in, const JsonIn *value)
{
    int64_t delay_ms = 0;
    Err err = read_duration(in, value, &delay_ms);
    if (err)
        return err;
    if (delay_ms > TIME_WALL_MAX_MS - in->rules->wall_ms)
        return BAD(in, "invalid_value", "delay goes beyond the year 2999");
    in->job.run_at_ms = delay_ms ? in->rules->wall_ms + delay_ms : 0;
    return ERR_OK;
}

static Err read_window(JobReader *in, const JsonIn *value)
{
    if (value->kind == JSON_IN_TEXT && slice_is(value->as.text, "none")) {
        in->job.retry_window_ms = -1;
        return ERR_OK;
    }
    return read_some_duration(in, value, &in->job.retry_window_ms);
}

static Err read_retries(JobReader *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_INT)
        return wrong_type(in, value, "an integer");
    if (value->as.integer < 0 || value->as.integer > INT32_MAX)
        return BAD(in, "invalid_value", "max_retries must be between 0 and %d",
                   INT32_MAX);
    in->job.max_retries = (int32_t)value->as.integer;
    return ERR_OK;
}

static Err read_flag(JobReader *in, const JsonIn *value, uint32_t flag)
{
    if (value->kind != JSON_IN_BOOL)
        return wrong_type(in, value, "true or false");
    in->job.flags &= ~flag;
    if (value->as.truth)
        in->job.flags |= flag;
    return ERR_OK;
}

static Err read_held(JobReader *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_BOOL)
        return wrong_type(in, value, "true or false");
    in->job.state = value->as.truth ? JOB_HELD : JOB_READY;
    return ERR_OK;
}

static Err read_text(JobReader *in, const JsonIn *value, size_t bytes_max, Slice *out)
{
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    if (value->as.text.bytes > bytes_max)
        return BAD(in, "invalid_value", "%.*s is longer than %zu bytes",
                   SLICE_ARG(value->key), bytes_max);
    if (!one_line(value->as.text))
        return BAD(in, "invalid_value", "%.*s must be text without control characters",
                   SLICE_ARG(value->key));
    *out = value->as.text;
    return ERR_OK;
}

static Err read_document(JobReader *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    if (value->as.text.bytes > JOB_PARAM_BYTES_MAX || has_nul(value->as.text))
        return BAD(in, "invalid_value", "param is text of up to %d bytes without NUL",
                   JOB_PARAM_BYTES_MAX);
    in->job.param = value->as.text;
    return ERR_OK;
}

static Err read_cwd(JobReader *in, const JsonIn *value)
{
    Err err = read_text(in, value, JOB_PATH_MAX, &in->job.cwd);
    if (!err && (!in->job.cwd.bytes || in->job.cwd.data[0] != '/'))
        err = BAD(in, "invalid_value", "cwd must be an absolute path");
    return err;
}

static Err read_children(JobReader *in, const JsonIn *value)
{
    Err err = read_text(in, value, 16, &in->job.children);
    if (!err && in->job.children.bytes && !slice_is(in->job.children, "immediate"))
        err = BAD(in, "invalid_value", "children can only be 'immediate'");
    return err;
}

/* --- Lists: items ended by NUL --------------------------------------------------- */

typedef Err ItemCheck(JobReader *in, const JsonIn *item);

static Err item_error(JobReader *in, const JsonIn *list, size_t index)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", index);
    problem_point(&in->why, list->key);
    problem_point(&in->why, slice_text(number));
    return ERR_INVALID;
}

static Err read_list(JobReader *in, const JsonIn *value, size_t count_max,
                     ItemCheck *check, Slice *out)
{
    if (value->kind != JSON_IN_LIST)
        return wrong_type(in, value, "an array of strings");
    if (value->as.items.count > count_max)
        return BAD(in, "invalid_value", "%.*s has more than %zu items",
                   SLICE_ARG(value->key), count_max);
    size_t bytes = 0;
    size_t index = 0;
    for (const JsonIn *item = json_in_first(value); item; item = item->next, index++) {
        Err err = item->kind == JSON_IN_TEXT
                      ? check(in, item)
                      : BAD(in, "wrong_type", "each item must be a string, not %s",
                            json_in_kind_name(item->kind));
        if (err)
            return item_error(in, value, index);
        bytes += item->as.text.bytes + 1;
    }
    char *text = arena_take(in->arena, bytes);
    *out = slice_of(text, bytes);
    for (const JsonIn *item = json_in_first(value); item; item = item->next) {
        if (item->as.text.bytes)
            memcpy(text, item->as.text.data, item->as.text.bytes);
        text += item->as.text.bytes + 1;
    }
    return ERR_OK;
}

static Err check_tag(JobReader *in, const JsonIn *item)
{
    Slice tag = item->as.text;
    if (!tag.bytes || tag.bytes > JOB_TAG_BYTES_MAX || !one_line(tag) ||
        memchr(tag.data, ',', tag.bytes))
        return BAD(in, "invalid_value",
                   "a tag is text of 1 to %d bytes without commas or control characters",
                   JOB_TAG_BYTES_MAX);
    return ERR_OK;
}

static Err check_argument(JobReader *in, const JsonIn *item)
{
    if (has_nul(item->as.text))
        return BAD(in, "invalid_value", "an argument cannot hold a NUL byte");
    if (item->as.text.bytes > JOB_ARG_BYTES_MAX)
        return BAD(in, "invalid_value", "an argument has more than %d bytes",
                   JOB_ARG_BYTES_MAX);
    return ERR_OK;
}

static Err read_command(JobReader *in, const JsonIn *value)
{
    Err err = read_list(in, value, JOB_ARGS_MAX, check_argument, &in->job.command);
    if (!err && (!in->job.command.bytes || !in->job.command.data[0]))
        err = BAD(in, "invalid_value", "command must name a program");
    return err;
}

static bool variable_name_valid(Slice name)
{
    for (size_t i = 0; i < name.bytes; i++) {
        char c = name.data[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return name.bytes > 0;
}

static Err check_variable(JobReader *in, const JsonIn *item)
{
    Slice value = item->as.text;
    Slice name = slice_cut(&value, '=');
    if (!value.data || !variable_name_valid(name))
        return BAD(in, "invalid_value", "a variable is written NAME=VALUE");
    return check_argument(in, item);
}

/* {"NAME": "VALUE"} to the items "NAME=VALUE" that the array form has. */
static Err env_items(JobReader *in, const JsonIn *object, JsonIn *out_list)
{
    *out_list = (JsonIn){ .kind = JSON_IN_LIST, .key = object->key };
    JsonIn **last = &out_list->as.items.first;
    for (const JsonIn *pair = json_in_first(object); pair; pair = pair->next) {
        if (pair->kind != JSON_IN_TEXT || !variable_name_valid(pair->key)) {
            BAD(in, pair->kind == JSON_IN_TEXT ? "invalid_value" : "wrong_type",
                "env maps names of variables to strings");
            problem_point(&in->why, object->key);
            problem_point(&in->why, pair->key);
            return ERR_INVALID;
        }
        Buf text = { 0 };
        buf_add_slice(&text, pair->key);
        buf_add_char(&text, '=');
        buf_add_slice(&text, pair->as.text);
        JsonIn *item = ARENA_NEW(in->arena, JsonIn);
        item->kind = JSON_IN_TEXT;
        item->as.text = slice_copy(in->arena, buf_slice(&text));
        buf_done(&text);
        *last = item;
        last = &item->next;
        out_list->as.items.count++;
    }
    return ERR_OK;
}

static Err env_twice(JobReader *in, Slice env)
{
    Slice item;
    while (list_next(&env, &item)) {
        Slice name = slice_cut(&item, '=');
        Slice rest = env;
        Slice other;
        while (list_next(&rest, &other))
            if (slice_equal(slice_cut(&other, '='), name))
                return BAD(in, "invalid_value", "env sets '" SLICE_FMT "' twice",
                           SLICE_ARG(name));
    }
    return ERR_OK;
}

static Err read_env(JobReader *in, const JsonIn *value)
{
    JsonIn list;
    if (value->kind == JSON_IN_OBJECT) {
        if (value->as.items.count > JOB_ENV_MAX)
            return BAD(in, "invalid_value", "env has more than %d variables",
                       JOB_ENV_MAX);
        Err err = env_items(in, value, &list);
        if (err)
            return err;
        value = &list;
    }
    Err err = read_list(in, value, JOB_ENV_MAX, check_variable, &in->job.env);
    return err ? err : env_twice(in, in->job.env);
}

/* --- Fields ------------------------------------------------------------------------ */

static bool is_empty(const JsonIn *value)
{
    bool container = value->kind == JSON_IN_LIST || value->kind == JSON_IN_OBJECT;
    return (container && !value->as.items.count) ||
           (value->kind == JSON_IN_TEXT && !value->as.text.bytes);
}

static Err read_later(JobReader *in, const JsonIn *value)
{
    if (is_empty(value))
        return ERR_OK;
    return BAD(in, "unsupported", "this version cannot do '" SLICE_FMT "' yet",
               SLICE_ARG(value->key));
}

static Err read_tenant(JobReader *in, const JsonIn *value)
{
    Err err = read_name(in, value, tenant_name_valid, &in->job.tenant);
    if (err || slice_equal(in->job.tenant, in->rules->tenant))
        return err;
    if (in->rules->tenant_fixed)
        return BAD(in, "tenant_not_allowed", "the token is for another tenant");
    if (in->rules->tenant_named)
        return BAD(in, "conflicting_fields", "the request names another tenant");
    return ERR_OK;
}

static Err read_value(JobReader *in, const ReadRow *row, const JsonIn *value)
{
    void *member = (char *)&in->job + row->offset;
    switch (row->kind) {
    case READ_NEVER:
        return BAD(in, "read_only_field", "'%s' is set by the daemon", row->name);
    case READ_LATER:
        return read_later(in, value);
    case READ_TENANT:
        return read_tenant(in, value);
    case READ_NAME:
        return read_name(in, value, name_valid, member);
    case READ_QUEUE:
        return read_name(in, value, queue_name_valid, &in->job.queue);
    case READ_PRIORITY:
        return read_priority(in, value);
    case READ_PAYLOAD:
        return read_payload(in, value);
    case READ_BASE64:
        return read_base64(in, value);
    case READ_TIME:
        return read_time(in, value);
    case READ_DELAY:
        return read_delay(in, value);
    case READ_RETRIES:
        return read_retries(in, value);
    case READ_RETRY_DELAY:
        return read_some_duration(in, value, &in->job.retry_delay_ms);
    case READ_WINDOW:
        return read_window(in, value);
    case READ_DURATION:
        return read_some_duration(in, value, member);
    case READ_FLAG:
        return read_flag(in, value, row->limit);
    case READ_HELD:
        return read_held(in, value);
    case READ_TAGS:
        return read_list(in, value, JOB_TAGS_MAX, check_tag, &in->job.tags);
    case READ_ENV:
        return read_env(in, value);
    case READ_COMMAND:
        return read_command(in, value);
    case READ_TEXT:
        return read_text(in, value, row->limit, member);
    case READ_DOCUMENT:
        return read_document(in, value);
    case READ_CWD:
        return read_cwd(in, value);
    case READ_CHILDREN:
        return read_children(in, value);
    case READ_RESOURCES:
        return wants_read(value, in->arena, &in->job.resources, &in->why);
    case READ_AFTER:
        return job_read_after(in, value);
    case READ_UNIQUE:
        return job_read_unique(in, value);
    }
    return ERR_INVALID;
}

/* null stands for "not given", so that an object of ours can be sent back; in a patch
 * it takes the field back to its default. */
static Err read_field(JobReader *in, const JsonIn *field, bool patch)
{
    const ReadRow *row = row_find(field->key);
    bool null = field->kind == JSON_IN_NULL;
    Err err = ERR_OK;
    if (!row)
        err = unknown_field(in, field->key);
    else if (patch && !row->patch && row->kind != READ_NEVER)
        err = BAD(in, "read_only_field", "'%s' of a job cannot be changed", row->name);
    else if (!null || row->kind == READ_NEVER)
        err = read_value(in, row, field);
    if (err && !in->why.pointer[0])
        problem_point(&in->why, field->key);
    if (!err && (!null || patch))
        in->seen |= 1ull << (row - rows);
    return err;
}

Err job_read_field(JobReader *in, const JsonIn *field)
{
    return read_field(in, field, false);
}

static Err read_fields(JobReader *in, const JsonIn *object, bool patch)
{
    if (object->kind != JSON_IN_OBJECT)
        return BAD(in, "wrong_type", "a job must be an object, not %s",
                   json_in_kind_name(object->kind));
    for (const JsonIn *field = json_in_first(object); field; field = field->next) {
        Err err = read_field(in, field, patch);
        if (err)
            return err;
    }
    return ERR_OK;
}

static Err exclusive(JobReader *in, const char *a, const char *b)
{
    if (!was_seen(in, a) || !was_seen(in, b))
        return ERR_OK;
    BAD(in, "conflicting_fields", "give either %s or %s", a, b);
    problem_point(&in->why, slice_text(b));
    return ERR_INVALID;
}

static Err exclusives(JobReader *in)
{
    Err err = exclusive(in, "run_at", "delay");
    return err ? err : exclusive(in, "payload", "payload_base64");
}

void job_read_begin(JobReader *in)
{
    in->job = job_default();
    in->job.tenant = in->rules->tenant;
    in->job.trace = in->rules->trace;
    in->job.priority = PRIORITY_UNSET; /* its handler may say; see handler_defaults */
    in->job.max_retries = RETRIES_OPEN;
    in->seen = 0;
    in->why.kind = NULL;
    in->why.pointer[0] = '\0';
}

/* A bare command is run once unless its retries are asked for in any way. */
static bool asks_for_retries(const JobReader *in)
{
    return was_seen(in, "max_retries") || was_seen(in, "retry_delay") ||
           was_seen(in, "retry_window");
}

Err job_read_end(JobReader *in)
{
    Err err = exclusives(in);
    if (err)
        return err;
    if (in->job.user.bytes && user_check(in->job.tenant, in->job.user, &in->why)) {
        problem_point(&in->why, SLICE_LITERAL("user"));
        return ERR_INVALID;
    }
    if (!in->job.command.bytes && !in->job.type.bytes) {
        BAD(in, "missing_field", "a job names its type or a command");
        problem_point(&in->why, SLICE_LITERAL("type"));
        return ERR_INVALID;
    }
    if (!in->job.command.bytes)
        return ERR_OK;
    if (!in->job.type.bytes)
        in->job.type = SLICE_LITERAL("run");
    if (!asks_for_retries(in))
        in->job.max_retries = 0;
    else if (!was_seen(in, "max_retries"))
        in->job.max_retries = RETRIES_UNSET;
    return ERR_OK;
}

Err job_read(JobReader *in, const JsonIn *object)
{
    job_read_begin(in);
    Err err = read_fields(in, object, false);
    return err ? err : job_read_end(in);
}

/* --- Query parameters ----------------------------------------------------------------
 */

static bool truth_of(Slice text, JsonIn *out)
{
    out->kind = JSON_IN_BOOL;
    out->as.truth = slice_is(text, "true") || slice_is(text, "1");
    return out->as.truth || slice_is(text, "false") || slice_is(text, "0");
}

/* The value as JSON would have it; what cannot be said in text stays text and is then
 * refused as of the wrong type. */
static void param_value(const ReadRow *row, Slice text, JsonIn *out)
{
    bool whole = row->kind == READ_PRIORITY || row->kind == READ_RETRIES;
    bool truth = row->kind == READ_FLAG || row->kind == READ_HELD;
    int64_t number;
    if (truth && truth_of(text, out))
        return;
    out->kind = JSON_IN_TEXT;
    out->as.text = text;
    if (whole && !int_parse(text, &number)) {
        out->kind = JSON_IN_INT;
        out->as.integer = number;
    }
}

Err job_read_param(JobReader *in, Slice name, Slice text)
{
    if (slice_is(name, "at"))
        name = SLICE_LITERAL("run_at");
    const ReadRow *row = row_find(name);
    JsonIn value = { .kind = JSON_IN_TEXT, .key = name, .as.text = text };
    if (row)
        param_value(row, text, &value);
    if (row && row->kind == READ_PAYLOAD)
        return BAD(in, "invalid_value", "the payloads are the lines of the body");
    Err err = read_field(in, &value, false);
    if (err && in->why.kind == problem_find("unknown_field"))
        in->why.kind = problem_find("unknown_parameter");
    return err;
}

/* --- PATCH
 * ------------------------------------------------------------------------------ */

Err patch_read(JobReader *in, const JsonIn *object, Patch *out_patch)
{
    job_read_begin(in);
    in->job.queue = SLICE_LITERAL("default"); /* what null stands for */
    in->job.priority = PRIORITY_DEFAULT;
    Err err = read_fields(in, object, true);
    if (!err)
        err = exclusives(in);
    if (err)
        return err;
    Patch patch = { 0 };
    for (size_t i = 0; i < ROWS; i++)
        if (in->seen >> i & 1)
            patch.fields |= rows[i].patch;
    if (!patch.fields) {
        BAD(in, "missing_field", "nothing to change");
        problem_hint(&in->why,
                     "give priority, queue, run_at, payload, tags or max_run_time");
        return ERR_INVALID;
    }
    patch.priority = in->job.priority;
    patch.run_at_ms = in->job.run_at_ms ? in->job.run_at_ms : in->rules->wall_ms;
    patch.max_run_ms = in->job.max_run_ms;
    patch.queue = in->job.queue;
    patch.payload = in->job.payload;
    patch.tags = in->job.tags;
    *out_patch = patch;
    return ERR_OK;
}
