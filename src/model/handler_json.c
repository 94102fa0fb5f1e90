/* SPDX-License-Identifier: Apache-2.0 */
/* handler_json.c - see handler_json.h. */
#include "model/handler_json.h"

#include "model/handler_headers.h"

#include "base/text.h"
#include "model/handler_order.h"
#include "model/run_as.h"
#include "run/context/interpreter.h"
#include "run/http/http_runner.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

typedef enum RowKind {
    ROW_OURS,    /* written by the daemon; not looked at when it is sent back */
    ROW_PATH,    /* stands in the path too and must be the same */
    ROW_JOB,     /* as a job has it */
    ROW_LANG,    /**/
    ROW_SCRIPT,  /* text of up to HANDLER_BODY_MAX bytes */
    ROW_EID,     /**/
    ROW_MAP,     /* exit_map */
    ROW_HEADERS, /* http */
    ROW_RESULT,  /* keep_result */
    ROW_ENABLED, /**/
    ROW_SWITCH,  /* true or false */
    ROW_BATCH,   /**/
    ROW_LATER,   /* known, but this version cannot do it */
} RowKind;

typedef struct HandlerRow {
    JobField field;
    RowKind kind;
    size_t offset; /* of the member it sets, where one is enough */
} HandlerRow;

#define TEXT     "\"type\":[\"string\",\"null\"]"
#define DURATION "\"type\":[\"string\",\"number\",\"null\"]"
#define INTEGER  "\"type\":[\"integer\",\"null\"]"
#define BOOL     "\"type\":\"boolean\""
#define OBJECT   "\"type\":\"object\""
#define LANGUAGES                                                                        \
    "\"type\":\"string\",\"enum\":[\"exec\",\"sh\",\"bash\",\"node\",\"python\","        \
    "\"perl\",\"php\",\"ruby\",\"lua\",\"http\",\"pull\"]"

#define OURS(name, schema, meaning)                                                      \
    {                                                                                    \
        { name, false, schema, meaning }, ROW_OURS, 0                                    \
    }
#define SENT(name, schema, meaning, kind)                                                \
    {                                                                                    \
        { name, true, schema, meaning }, kind, 0                                         \
    }
#define SETS(name, meaning, kind, member)                                                \
    {                                                                                    \
        { name, true, TEXT, meaning }, kind, offsetof(Handler, member)                   \
    }

static const HandlerRow rows[] = {
    OURS("id", "\"type\":\"string\"", "tenant/type@version: unique for ever"),
    SETS("tenant", "whose handler it is", ROW_PATH, tenant),
    SETS("type", "of the jobs that it runs", ROW_PATH, type),
    OURS("version", "\"type\":\"integer\"", "1, 2, ...; the newest is used"),
    OURS("created_at", "\"type\":\"string\",\"format\":\"date-time\"",
         "when this version was set"),
    OURS("declared", BOOL, "it stands in the configuration file"),
    SENT("enabled", BOOL, "false: jobs of the type wait", ROW_ENABLED),
    SENT("lang", LANGUAGES, "default: sh", ROW_LANG),
    SETS("body", "what runs: a script, or the words of a command for exec", ROW_SCRIPT,
         body),
    SETS("before", "run once per context (warm languages)", ROW_SCRIPT, before),
    SETS("beforeEach", "run before each batch (warm languages)", ROW_SCRIPT, before_each),
    SETS("afterEach", "run after each batch (warm languages)", ROW_SCRIPT, after_each),
    SETS("eid", "types of equal eid may share a context", ROW_EID, eid),
    SENT("queue", TEXT, "of jobs that name none", ROW_JOB),
    SENT("priority", INTEGER, "of jobs that name none", ROW_JOB),
    SENT("max_run_time", DURATION, "null: no limit", ROW_JOB),
    SENT("service_time", DURATION, "expected run time", ROW_JOB),
    SENT("max_retries", INTEGER, "null: no limit by count", ROW_JOB),
    SENT("retry_delay", DURATION, "null: 5 s, doubling to 5 min", ROW_JOB),
    SENT("retry_window", DURATION, "null: 6 h; `none`: no end", ROW_JOB),
    SENT("resources", OBJECT, "key: amount", ROW_JOB),
    { { "highlander", true, BOOL, "at most one runs at a time" },
      ROW_SWITCH,
      offsetof(Handler, highlander) },
    SENT("user", TEXT, "the account to run as", ROW_JOB),
    SENT("env", "\"type\":[\"object\",\"array\"]", "NAME: VALUE", ROW_JOB),
    SENT("cwd", TEXT, "absolute path", ROW_JOB),
    SENT("then", TEXT, "type of the job that follows, with the result", ROW_JOB),
    SENT("on_error", TEXT, "type of the job that follows a failure", ROW_JOB),
    SENT("batch", "\"type\":\"integer\"", "jobs at once; 0: one process each", ROW_BATCH),
    SENT("exit_map",
         "\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}",
         "exit status: exit code (1xx, 2xx, 4xx, 5xx)", ROW_MAP),
    SENT("headers",
         "\"type\":\"object\",\"additionalProperties\":{\"type\":[\"string\","
         "\"null\"]}",
         "of http calls, NAME: VALUE; values are not shown", ROW_HEADERS),
    SENT("keep_result", BOOL, "default: true", ROW_RESULT),
    SENT("keep_state", BOOL, "keep PAWL_STATE_DIR between attempts", ROW_JOB),
    SENT("files", BOOL, "keep what jobs leave in PAWL_FILES_DIR", ROW_JOB),
    SENT("children", TEXT, "`immediate`: add jobs of J: lines at once", ROW_JOB),
};
#define ROWS (sizeof rows / sizeof *rows)

const JobField *handler_field(size_t index)
{
    return index < ROWS ? &rows[index].field : NULL;
}

static const HandlerRow *row_find(Slice name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (slice_is(name, rows[i].field.name))
            return &rows[i];
    return NULL;
}

/* --- Reading ---------------------------------------------------------------------- */

#define BAD(in, code, ...) problem_set(&(in)->job.why, (code), __VA_ARGS__)

static Err wrong_type(HandlerReader *in, const JsonIn *value, const char *wanted)
{
    return BAD(in, "wrong_type", SLICE_FMT " must be %s, not %s", SLICE_ARG(value->key),
               wanted, json_in_kind_name(value->kind));
}

static Err unknown_field(HandlerReader *in, Slice name)
{
    const char *words[ROWS + 1];
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].field.client)
            words[count++] = rows[i].field.name;
    words[count] = NULL;
    const char *nearest = nearest_word(name, words);
    Slice shown = slice_of(name.data, name.bytes > 80 ? 80 : name.bytes);
    BAD(in, "unknown_field", "a handler has no field '" SLICE_FMT "'", SLICE_ARG(shown));
    if (nearest)
        problem_hint(&in->job.why, "did you mean '%s'?", nearest);
    return ERR_INVALID;
}

static Err read_path(HandlerReader *in, const JsonIn *value, const Slice *named)
{
    if (value->kind == JSON_IN_TEXT && slice_equal(value->as.text, *named))
        return ERR_OK;
    return BAD(in, "conflicting_fields",
               "'" SLICE_FMT "' is not the one that the path names",
               SLICE_ARG(value->key));
}

static Err read_lang(HandlerReader *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    Lang lang;
    const char *words[LANGS + 1];
    if (lang_parse(value->as.text, &lang)) {
        for (unsigned i = 0; i < LANGS; i++)
            words[i] = lang_name((Lang)i);
        words[LANGS] = NULL;
        const char *nearest = nearest_word(value->as.text, words);
        Slice shown = slice_of(value->as.text.data,
                               value->as.text.bytes > 40 ? 40 : value->as.text.bytes);
        BAD(in, "invalid_value", "there is no language '" SLICE_FMT "'",
            SLICE_ARG(shown));
        if (nearest)
            problem_hint(&in->job.why, "did you mean '%s'?", nearest);
        else
            problem_hint(
                &in->job.why,
                "one of exec, sh, bash, node, python, perl, php, ruby, lua, http, pull");
        return ERR_INVALID;
    }
    if (in->has_lang && lang != in->handler.lang)
        return BAD(in, "conflicting_fields", "two languages are named: %s and %s",
                   lang_name(in->handler.lang), lang_name(lang));
    in->handler.lang = lang;
    in->has_lang = true;
    return ERR_OK;
}

static Err read_script(HandlerReader *in, const JsonIn *value, Slice *out)
{
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    Slice text = value->as.text;
    if (text.bytes > HANDLER_BODY_MAX)
        return BAD(in, "handler_too_large", SLICE_FMT " has %zu bytes; the limit is %d",
                   SLICE_ARG(value->key), text.bytes, HANDLER_BODY_MAX);
    if (text.bytes && memchr(text.data, '\0', text.bytes))
        return BAD(in, "invalid_value", SLICE_FMT " cannot hold a NUL byte",
                   SLICE_ARG(value->key));
    if (!utf8_valid(text))
        return BAD(in, "invalid_value", SLICE_FMT " must be UTF-8 text",
                   SLICE_ARG(value->key));
    *out = text;
    return ERR_OK;
}

static Err read_eid(HandlerReader *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_TEXT)
        return wrong_type(in, value, "a string");
    if (value->as.text.bytes && !name_valid(value->as.text)) {
        BAD(in, "invalid_name", "this is no valid eid");
        problem_hint(&in->job.why, "letters, digits and _.:-, up to %d bytes",
                     HANDLER_EID_MAX);
        return ERR_INVALID;
    }
    in->handler.eid = value->as.text;
    return ERR_OK;
}

static bool exit_code_valid(int64_t exitcode)
{
    return exitcode >= 100 && exitcode < 600;
}

static Err read_map(HandlerReader *in, const JsonIn *value)
{
    if (value->kind != JSON_IN_OBJECT)
        return wrong_type(in, value, "an object");
    Buf map = { 0 };
    for (const JsonIn *pair = json_in_first(value); pair; pair = pair->next) {
        int64_t status;
        bool good = !int_parse(pair->key, &status) && status >= 0 && status <= 255 &&
                    pair->kind == JSON_IN_INT && exit_code_valid(pair->as.integer);
        if (!good) {
            buf_done(&map);
            return BAD(in, "invalid_value",
                       "exit_map maps exit statuses (0 to 255) to codes (100 to 599)");
        }
        buf_printf(&map, "%d=%d", (int)status, (int)pair->as.integer);
        buf_add_char(&map, '\0');
    }
    in->handler.exit_map = slice_copy(in->job.arena, buf_slice(&map));
    buf_done(&map);
    return ERR_OK;
}

static Err read_truth(HandlerReader *in, const JsonIn *value, bool *out_not)
{
    if (value->kind != JSON_IN_BOOL)
        return wrong_type(in, value, "true or false");
    *out_not = !value->as.truth;
    return ERR_OK;
}

static Err read_batch(HandlerReader *in, const JsonIn *value)
{
    int64_t batch = 0;
    if (value->kind == JSON_IN_INT)
        batch = value->as.integer;
    else if (value->kind != JSON_IN_TEXT || int_parse(value->as.text, &batch))
        return wrong_type(in, value, "a number");
    if (batch < 0 || batch > HANDLER_BATCH_MAX)
        return BAD(in, "invalid_value", "batch is a number from 0 to %d",
                   HANDLER_BATCH_MAX);
    in->handler.batch = (uint32_t)batch;
    return ERR_OK;
}

/* Whether the value says nothing, as an object of ours does. */
static bool says_nothing(const JsonIn *value)
{
    switch (value->kind) {
    case JSON_IN_NULL:
        return true;
    case JSON_IN_BOOL:
        return !value->as.truth;
    case JSON_IN_INT:
        return !value->as.integer;
    case JSON_IN_TEXT:
        return !value->as.text.bytes;
    case JSON_IN_LIST:
    case JSON_IN_OBJECT:
        return !value->as.items.count;
    case JSON_IN_REAL:
        break;
    }
    return false;
}

static Err read_value(HandlerReader *in, const HandlerRow *row, const JsonIn *value)
{
    void *member = (char *)&in->handler + row->offset;
    switch (row->kind) {
    case ROW_OURS:
        return ERR_OK;
    case ROW_PATH:
        return read_path(in, value, member);
    case ROW_JOB:
        return job_read_field(&in->job, value);
    case ROW_LANG:
        return read_lang(in, value);
    case ROW_SCRIPT:
        return read_script(in, value, member);
    case ROW_EID:
        return read_eid(in, value);
    case ROW_MAP:
        return read_map(in, value);
    case ROW_HEADERS:
        return handler_headers_read(in, value);
    case ROW_RESULT:
        return read_truth(in, value, &in->handler.drop_result);
    case ROW_ENABLED:
        return read_truth(in, value, &in->handler.disabled);
    case ROW_SWITCH:
        if (value->kind != JSON_IN_BOOL)
            return wrong_type(in, value, "true or false");
        *(bool *)member = value->as.truth;
        return ERR_OK;
    case ROW_BATCH:
        return read_batch(in, value);
    case ROW_LATER:
        if (says_nothing(value))
            return ERR_OK;
        return BAD(in, "unsupported", "this version cannot do '%s' yet", row->field.name);
    }
    return ERR_INVALID;
}

static Err read_field(HandlerReader *in, const JsonIn *field)
{
    const HandlerRow *row = row_find(field->key);
    if (row && field->kind == JSON_IN_NULL)
        return ERR_OK; /* not given */
    Err err = row ? read_value(in, row, field) : unknown_field(in, field->key);
    if (err && !in->job.why.pointer[0])
        problem_point(&in->job.why, field->key);
    return err;
}

void handler_read_begin(HandlerReader *in)
{
    job_read_begin(&in->job);
    in->handler = (Handler){
        .tenant = in->handler.tenant,
        .type = in->handler.type,
        .lang = LANG_SH,
    };
    in->has_lang = false;
}

Err handler_read(HandlerReader *in, const JsonIn *object)
{
    if (object->kind != JSON_IN_OBJECT)
        return BAD(in, "wrong_type", "a handler must be an object, not %s",
                   json_in_kind_name(object->kind));
    for (const JsonIn *field = json_in_first(object); field; field = field->next) {
        Err err = read_field(in, field);
        if (err)
            return err;
    }
    return ERR_OK;
}

/* What the text of a parameter stands for. */
static JsonIn param_value(const HandlerRow *row, Slice name, Slice text)
{
    JsonIn value = { .kind = JSON_IN_TEXT, .key = name, .as.text = text };
    bool yes = slice_is(text, "true") || slice_is(text, "1");
    bool no = slice_is(text, "false") || slice_is(text, "0");
    bool truth =
        row->kind == ROW_RESULT || row->kind == ROW_ENABLED || row->kind == ROW_SWITCH;
    if ((truth && (yes || no)) || (row->kind == ROW_LATER && no))
        value = (JsonIn){ .kind = JSON_IN_BOOL, .key = name, .as.truth = yes };
    return value;
}

Err handler_read_param(HandlerReader *in, Slice name, Slice text)
{
    if (slice_is(name, "method"))
        name = SLICE_LITERAL("lang");
    const HandlerRow *row = row_find(name);
    if (row && row->kind == ROW_JOB)
        return job_read_param(&in->job, name, text);
    JsonIn value = { .kind = JSON_IN_TEXT, .key = name, .as.text = text };
    if (row)
        value = param_value(row, name, text);
    if (row && row->kind == ROW_SCRIPT && slice_is(name, "body"))
        return BAD(in, "invalid_value", "the body of the request is the handler's body");
    Err err = read_field(in, &value);
    if (err && in->job.why.kind == problem_find("unknown_field"))
        in->job.why.kind = problem_find("unknown_parameter");
    return err;
}

/* --- All of it together ------------------------------------------------------------ */

static void take_job_fields(HandlerReader *in)
{
    Handler *handler = &in->handler;
    const Job *job = &in->job.job;
    handler->queue = job->queue;
    handler->has_priority = job->priority != PRIORITY_UNSET;
    handler->priority = handler->has_priority ? job->priority : 0;
    handler->has_max_retries = job->max_retries != RETRIES_OPEN;
    handler->max_retries = handler->has_max_retries ? job->max_retries : 0;
    handler->max_run_ms = job->max_run_ms;
    handler->service_ms = job->service_ms;
    handler->retry_delay_ms = job->retry_delay_ms;
    handler->retry_window_ms = job->retry_window_ms;
    handler->resources = job->resources;
    handler->env = job->env;
    handler->user = job->user;
    handler->cwd = job->cwd;
    handler->then = job->then;
    handler->on_error = job->on_error;
    handler->children = job->children;
    handler->keep_state = job->flags & JOB_KEEP_STATE;
    handler->files = job->flags & JOB_FILES;
}

static Err check_words(HandlerReader *in)
{
    Buf words = { 0 };
    Error why = { 0 };
    Err err = words_parse(in->handler.body, &words, &why);
    if (err)
        BAD(in, "invalid_value", "%s", why.text);
    Slice rest = buf_slice(&words);
    Slice word;
    size_t count = 0;
    while (!err && list_next(&rest, &word))
        if (word.bytes > JOB_ARG_BYTES_MAX || ++count > JOB_ARGS_MAX)
            err = BAD(in, "handler_too_large",
                      "a command has up to %d words of up to %d bytes", JOB_ARGS_MAX,
                      JOB_ARG_BYTES_MAX);
    buf_done(&words);
    return err;
}

/* A shell gets its script as one argument. */
static Err check_shell(HandlerReader *in)
{
    const char *shell = in->handler.lang == LANG_SH ? "/bin/sh" : "/bin/bash";
    if (in->handler.body.bytes > JOB_ARG_BYTES_MAX)
        return BAD(in, "handler_too_large", "a script for %s has up to %d bytes",
                   lang_name(in->handler.lang), JOB_ARG_BYTES_MAX);
    if (access(shell, X_OK)) {
        BAD(in, "unsupported", "this machine has no %s", shell);
        problem_hint(&in->job.why, "install it, or use another language");
        return ERR_INVALID;
    }
    return ERR_OK;
}

static Err check_url(HandlerReader *in)
{
    Error why = { 0 };
    if (web_url_check(in->handler.body, &why))
        return BAD(in, "invalid_value", "%s", why.text);
    if (in->handler.batch <= WEB_BATCH_MAX)
        return ERR_OK;
    BAD(in, "invalid_value", "an http handler takes up to %d jobs at once",
        WEB_BATCH_MAX);
    problem_point(&in->job.why, SLICE_LITERAL("batch"));
    return ERR_INVALID;
}

static Err check_interpreter(HandlerReader *in)
{
    Buf argv = { 0 };
    Lang lang = in->handler.lang;
    bool there = interpreter_argv(lang, NULL, &argv);
    buf_done(&argv);
    if (there)
        return ERR_OK;
    BAD(in, "unsupported", "this machine has no %s, which runs handlers in %s",
        interpreter_name(lang), lang_name(lang));
    problem_hint(&in->job.why, "install it, or use another language");
    problem_point(&in->job.why, SLICE_LITERAL("lang"));
    return ERR_INVALID;
}

static Err check_lang(HandlerReader *in)
{
    switch (in->handler.lang) {
    case LANG_EXEC:
        return check_words(in);
    case LANG_SH:
    case LANG_BASH:
        return check_shell(in);
    case LANG_NODE:
    case LANG_PYTHON:
    case LANG_PERL:
    case LANG_PHP:
    case LANG_RUBY:
    case LANG_LUA:
        return check_interpreter(in);
    case LANG_HTTP:
        return check_url(in);
    case LANG_PULL:
        return ERR_OK;
    }
    return ERR_INVALID;
}

/* Only a process of ours can be another account's. */
static Err check_user(HandlerReader *in)
{
    Lang lang = in->handler.lang;
    if (!in->handler.user.bytes)
        return ERR_OK;
    Err err = user_check(in->handler.tenant, in->handler.user, &in->job.why);
    if (!err && (lang == LANG_HTTP || lang == LANG_PULL))
        err = BAD(in, "conflicting_fields", "user is for handlers that start processes");
    if (err)
        problem_point(&in->job.why, SLICE_LITERAL("user"));
    return err;
}

Err handler_read_end(HandlerReader *in)
{
    take_job_fields(in);
    Err err = check_user(in);
    if (err)
        return err;
    if (in->handler.lang == LANG_PULL && in->handler.body.bytes)
        err = BAD(in, "conflicting_fields", "a pull handler has no body");
    else if (in->handler.lang != LANG_PULL && !in->handler.body.bytes)
        err = BAD(in, "missing_field", "the handler has no body");
    else
        err = check_lang(in);
    if (!err && in->handler.batch && in->handler.lang == LANG_PULL) {
        err = BAD(in, "conflicting_fields",
                  "pull workers say themselves how many they take");
        problem_point(&in->job.why, SLICE_LITERAL("batch"));
    }
    if (!err && in->handler.headers.bytes && in->handler.lang != LANG_HTTP) {
        err = BAD(in, "conflicting_fields", "headers are for http handlers");
        problem_point(&in->job.why, SLICE_LITERAL("headers"));
    }
    if (!err && in->handler.then.bytes &&
        slice_equal(in->handler.then, in->handler.type)) {
        err = BAD(in, "invalid_value",
                  "a job that is followed by one of its own type goes on without end");
        problem_hint(&in->job.why,
                     "name another type; a schedule runs one again and again");
        problem_point(&in->job.why, SLICE_LITERAL("then"));
    }
    if (err && !in->job.why.pointer[0])
        problem_point(&in->job.why, SLICE_LITERAL("body"));
    return err;
}

/* --- Writing ----------------------------------------------------------------------- */

static void id_member(JsonOut *json, const Handler *handler)
{
    char id[2 * NAME_BYTES_MAX + 32];
    snprintf(id, sizeof id, SLICE_FMT "/" SLICE_FMT "@%u", SLICE_ARG(handler->tenant),
             SLICE_ARG(handler->type), handler->version);
    json_cstr(json, "id", id);
}

static void number_member(JsonOut *json, const char *key, bool has, int64_t number)
{
    if (has)
        json_int(json, key, number);
    else
        json_null(json, key);
}

static void script_members(JsonOut *json, const Handler *handler)
{
    id_member(json, handler);
    json_text(json, "tenant", handler->tenant);
    json_text(json, "type", handler->type);
    json_int(json, "version", handler->version);
    json_time(json, "created_at", handler->created_ms);
    json_bool(json, "enabled", !handler->disabled);
    json_cstr(json, "lang", lang_name(handler->lang));
    text_or_null(json, "body", handler->body);
    text_or_null(json, "before", handler->before);
    text_or_null(json, "beforeEach", handler->before_each);
    text_or_null(json, "afterEach", handler->after_each);
    text_or_null(json, "eid", handler->eid);
}

void handler_members(JsonOut *json, const Handler *handler)
{
    bool retries = handler->has_max_retries && handler->max_retries >= 0;
    script_members(json, handler);
    text_or_null(json, "queue", handler->queue);
    number_member(json, "priority", handler->has_priority, handler->priority);
    duration_or_null(json, "max_run_time", handler->max_run_ms);
    duration_or_null(json, "service_time", handler->service_ms);
    number_member(json, "max_retries", retries, handler->max_retries);
    duration_or_null(json, "retry_delay", handler->retry_delay_ms);
    duration_or_null(json, "retry_window", handler->retry_window_ms);
    pairs_json(json, "resources", handler->resources, true);
    json_bool(json, "highlander", handler->highlander);
    text_or_null(json, "user", handler->user);
    pairs_json(json, "env", handler->env, false);
    text_or_null(json, "cwd", handler->cwd);
    text_or_null(json, "then", handler->then);
    text_or_null(json, "on_error", handler->on_error);
    json_int(json, "batch", handler->batch);
    pairs_json(json, "exit_map", handler->exit_map, true);
    handler_headers_json(json, handler);
    json_bool(json, "keep_result", !handler->drop_result);
    json_bool(json, "keep_state", handler->keep_state);
    json_bool(json, "files", handler->files);
    text_or_null(json, "children", handler->children);
}
