/* SPDX-License-Identifier: Apache-2.0 */
/* handler.c - see handler.h. */
#include "noun/handler.h"

#include "base/text.h"
#include "noun/facts.h"
#include "noun/headers.h"
#include "noun/limits.h"
#include "noun/work.h"

#include <stdio.h>

#define EXIT_STATUS_MAX 255

static const char *const langs[] = {
    [LANG_EXEC] = "exec", [LANG_SH] = "sh",         [LANG_BASH] = "bash",
    [LANG_NODE] = "node", [LANG_PYTHON] = "python", [LANG_PERL] = "perl",
    [LANG_PHP] = "php",   [LANG_RUBY] = "ruby",     [LANG_LUA] = "lua",
    [LANG_HTTP] = "http", [LANG_PULL] = "pull",     NULL
};

_Static_assert(sizeof(Lang) == sizeof(uint32_t), "enums are read as 32 bits");

const char *lang_name(Lang lang)
{
    return (unsigned)lang < LANGS ? langs[lang] : "?";
}

Err lang_parse(Slice text, Lang *out_lang)
{
    for (unsigned lang = 0; lang < LANGS; lang++) {
        if (!slice_is(text, langs[lang]))
            continue;
        *out_lang = (Lang)lang;
        return ERR_OK;
    }
    return ERR_INVALID;
}

/* --- Fields of its own ---------------------------------------------------------------
 */

static Err no_such_lang(NounIn *in, Slice word)
{
    const char *nearest = nearest_word(word, langs);
    word.bytes = word.bytes > NAME_BYTES_MAX ? NAME_BYTES_MAX : word.bytes;
    problem_set(in->why, "invalid_value", "there is no language '" SLICE_FMT "'",
                SLICE_ARG(word));
    if (nearest)
        problem_hint(in->why, "did you mean '%s'?", nearest);
    else
        problem_hint(
            in->why,
            "one of exec, sh, bash, node, python, perl, php, ruby, lua, http, pull");
    return ERR_INVALID;
}

/* The founding paths name it twice: in the object and as ?method=. */
static Err read_lang(NounIn *in, const Field *field, const JsonIn *value)
{
    Handler *handler = in->object;
    Lang lang;
    if (value->kind != JSON_IN_TEXT)
        return field_wrong_type(in, value, "a string");
    if (lang_parse(value->as.text, &lang))
        return no_such_lang(in, value->as.text);
    if (noun_seen(in, field->name) && lang != handler->lang)
        return problem_set(in->why, "conflicting_fields",
                           "two languages are named: %s and %s", lang_name(handler->lang),
                           lang_name(lang));
    handler->lang = lang;
    return ERR_OK;
}

static Err read_script(NounIn *in, const Field *field, const JsonIn *value)
{
    if (value->kind != JSON_IN_TEXT)
        return field_wrong_type(in, value, "a string");
    Slice text = value->as.text;
    if (text.bytes > HANDLER_BODY_MAX)
        return problem_set(in->why, "handler_too_large",
                           "%s has %zu bytes; the limit is %d", field->name, text.bytes,
                           HANDLER_BODY_MAX);
    if (text.bytes && memchr(text.data, '\0', text.bytes))
        return problem_set(in->why, "invalid_value", "%s cannot hold a NUL byte",
                           field->name);
    if (!utf8_valid(text))
        return problem_set(in->why, "invalid_value", "%s must be UTF-8 text",
                           field->name);
    *(Slice *)(void *)((char *)in->object + field->stored.offset) = text;
    return ERR_OK;
}

static Err read_eid(NounIn *in, const Field *field, const JsonIn *value)
{
    Handler *handler = in->object;
    (void)field;
    if (value->kind != JSON_IN_TEXT)
        return field_wrong_type(in, value, "a string");
    if (value->as.text.bytes && !name_valid(value->as.text)) {
        problem_set(in->why, "invalid_name", "this is no valid eid");
        problem_hint(in->why, "letters, digits and _.:-, up to %d bytes", NAME_BYTES_MAX);
        return ERR_INVALID;
    }
    handler->eid = value->as.text;
    return ERR_OK;
}

static Err read_exit_map(NounIn *in, const Field *field, const JsonIn *value)
{
    Handler *handler = in->object;
    Buf map = { 0 };
    (void)field;
    if (value->kind != JSON_IN_OBJECT)
        return field_wrong_type(in, value, "an object");
    for (const JsonIn *pair = json_in_first(value); pair; pair = pair->next) {
        int64_t status;
        bool good = !int_parse(pair->key, &status) && status >= 0 &&
                    status <= EXIT_STATUS_MAX && pair->kind == JSON_IN_INT &&
                    pair->as.integer >= 100 && pair->as.integer < 600;
        if (!good) {
            buf_done(&map);
            return problem_set(in->why, "invalid_value",
                               "exit_map maps exit statuses (0 to 255) to codes (100 to "
                               "599)");
        }
        buf_printf(&map, "%d=%d", (int)status, (int)pair->as.integer);
        buf_add_char(&map, '\0');
    }
    handler->exit_map = slice_copy(in->arena, buf_slice(&map));
    buf_done(&map);
    return ERR_OK;
}

static void write_id(JsonOut *json, const Field *field, const NounView *view)
{
    const Handler *handler = view->object;
    char id[2 * NAME_BYTES_MAX + 32];
    snprintf(id, sizeof id, SLICE_FMT "/" SLICE_FMT "@%u", SLICE_ARG(handler->tenant),
             SLICE_ARG(handler->type), handler->version);
    json_cstr(json, field->name, id);
}

/* Without an end by count it is shown as if it said nothing. */
static void write_retries(JsonOut *json, const Field *field, const NounView *view)
{
    const Handler *handler = view->object;
    if (handler->has_max_retries && handler->max_retries >= 0)
        json_int(json, field->name, handler->max_retries);
    else
        json_null(json, field->name);
}

static const FieldHooks lang_hooks = { read_lang, NULL, NULL, NULL };
static const FieldHooks script_hooks = { read_script, NULL, NULL, NULL };
static const FieldHooks eid_hooks = { read_eid, NULL, NULL, NULL };
static const FieldHooks exit_map_hooks = { read_exit_map, NULL, NULL, NULL };
static const FieldHooks id_hooks = { NULL, write_id, NULL, NULL };
static const FieldHooks retries_hooks = { NULL, write_retries, NULL, NULL };

#define AT(tag, member, kind) STORED(Handler, tag, member, kind)
#define SCRIPT(field, tag, member, sentence)                                             \
    {                                                                                    \
        .name = (field), .stored = AT(tag, member, FIELD_SLICE), .type = AS_LONG,        \
        .use = USE_BOTH, .most = HANDLER_BODY_MAX, .hooks = &script_hooks,               \
        .meaning = (sentence)                                                            \
    }
#define SWITCH(field, as, tag, member, word, sentence)                                   \
    {                                                                                    \
        .name = (field), .stored = AT(tag, member, FIELD_BOOL), .type = (as),            \
        .use = USE_BOTH, .option = (word), .meaning = (sentence)                         \
    }
#define DURATION(field, tag, member, word, sentence)                                     \
    {                                                                                    \
        .name = (field), .stored = AT(tag, member, FIELD_64), .type = AS_DURATION,       \
        .use = USE_BOTH, .option = (word), .meaning = (sentence)                         \
    }
#define FOLLOWER(field, tag, member, word, sentence)                                     \
    {                                                                                    \
        .name = (field), .stored = AT(tag, member, FIELD_SLICE), .type = AS_NAME,        \
        .use = USE_BOTH, .option = (word), .meaning = (sentence)                         \
    }

static const Field fields[] = {
    { .name = "id",
      .type = AS_CUSTOM,
      .use = USE_SHOWN,
      .hooks = &id_hooks,
      .schema = "\"type\":\"string\"",
      .meaning = "tenant/type@version: unique for ever" },
    { .name = "tenant",
      .stored = AT(40, tenant, FIELD_SLICE),
      .type = AS_TENANT,
      .use = USE_SHOWN,
      .meaning = "whose handler it is" },
    { .name = "type",
      .stored = AT(41, type, FIELD_SLICE),
      .type = AS_OWN_NAME,
      .use = USE_SHOWN,
      .meaning = "of the jobs that it runs" },
    { .name = "version",
      .stored = AT(1, version, FIELD_32),
      .type = AS_COUNT,
      .use = USE_SHOWN,
      .meaning = "1, 2, ...; the newest is used" },
    { .name = "created_at",
      .stored = AT(2, created_ms, FIELD_64),
      .type = AS_TIME,
      .use = USE_SHOWN,
      .meaning = "when this version was set" },
    SWITCH("enabled", AS_NOT, 3, disabled, NULL, "false: jobs of the type wait"),
    { .stored = AT(18, deleted, FIELD_BOOL) },
    { .name = "lang",
      .stored = AT(4, lang, FIELD_32),
      .type = AS_ENUM,
      .use = USE_BOTH,
      .words = langs,
      .hooks = &lang_hooks,
      .option = "lang",
      .meaning = "what the body is written in; default: sh" },
    SCRIPT("body", 45, body, "what runs: a script, or the words of a command for exec"),
    SCRIPT("before", 43, before, "run once per context (warm languages)"),
    SCRIPT("beforeEach", 44, before_each, "run before each batch (warm languages)"),
    SCRIPT("afterEach", 46, after_each, "run after each batch (warm languages)"),
    { .name = "eid",
      .stored = AT(42, eid, FIELD_SLICE),
      .type = AS_TEXT,
      .use = USE_BOTH,
      .most = NAME_BYTES_MAX,
      .hooks = &eid_hooks,
      .meaning = "types of equal eid may share a context" },
    { .name = "queue",
      .stored = AT(47, queue, FIELD_SLICE),
      .type = AS_QUEUE,
      .use = USE_BOTH,
      .option = "queue",
      .meaning = "of jobs that name none" },
    { .stored = AT(5, has_priority, FIELD_BOOL) },
    { .name = "priority",
      .stored = AT(6, priority, FIELD_64),
      .type = AS_COUNT,
      .use = USE_BOTH,
      .least = PRIORITY_MIN,
      .most = PRIORITY_MAX,
      .has = HAS(Handler, has_priority),
      .option = "priority",
      .meaning = "of jobs that name none" },
    DURATION("max_run_time", 7, max_run_ms, "max-run-time", "null: no limit"),
    DURATION("service_time", 8, service_ms, "service-time", "expected run time"),
    { .stored = AT(9, has_max_retries, FIELD_BOOL) },
    { .name = "max_retries",
      .stored = AT(10, max_retries, FIELD_32),
      .type = AS_COUNT,
      .use = USE_BOTH,
      .most = INT32_MAX,
      .has = HAS(Handler, has_max_retries),
      .hooks = &retries_hooks,
      .option = "retries",
      .meaning = "null: no limit by count" },
    DURATION("retry_delay", 11, retry_delay_ms, "retry-delay",
             "null: 5 s, doubling to 5 min"),
    { .name = "retry_window",
      .stored = AT(12, retry_window_ms, FIELD_64),
      .type = AS_WINDOW,
      .use = USE_BOTH,
      .option = "retry-window",
      .meaning = "null: 6 h; `none`: no end" },
    { .name = "resources",
      .stored = AT(48, resources, FIELD_SLICE),
      .type = AS_AMOUNTS,
      .use = USE_BOTH,
      .hooks = &wants_hooks,
      .schema = "\"type\":\"object\"",
      .option = "resource",
      .meaning = "what each job needs, key: amount" },
    { .name = "highlander",
      .stored = AT(13, highlander, FIELD_BOOL),
      .type = AS_BOOL,
      .use = USE_BOTH,
      .option = "highlander",
      .meaning = "at most one of its jobs runs at a time" },
    { .name = "user",
      .stored = AT(49, user, FIELD_SLICE),
      .type = AS_TEXT,
      .use = USE_BOTH,
      .most = NAME_BYTES_MAX,
      .meaning = "the account to run as" },
    { .name = "env",
      .stored = AT(50, env, FIELD_SLICE),
      .type = AS_PAIRS,
      .use = USE_BOTH | USE_SECRET,
      .hooks = &env_hooks,
      .schema = ENV_SCHEMA,
      .option = "env",
      .meaning = "variables of its jobs, NAME: VALUE" },
    { .name = "cwd",
      .stored = AT(51, cwd, FIELD_SLICE),
      .type = AS_TEXT,
      .use = USE_BOTH,
      .most = JOB_PATH_MAX,
      .hooks = &cwd_hooks,
      .option = "cwd",
      .meaning = "where its jobs run: an absolute path" },
    FOLLOWER("then", 52, then, "then", "type of the job that follows, with the result"),
    FOLLOWER("on_error", 53, on_error, "on-error",
             "type of the job that follows a failure"),
    { .name = "batch",
      .stored = AT(14, batch, FIELD_32),
      .type = AS_COUNT,
      .use = USE_BOTH | USE_NUMERIC,
      .most = HANDLER_BATCH_MAX,
      .meaning = "jobs at once; 0: one process each" },
    { .name = "exit_map",
      .stored = AT(54, exit_map, FIELD_SLICE),
      .type = AS_AMOUNTS,
      .use = USE_BOTH,
      .hooks = &exit_map_hooks,
      .option = "exit-map",
      .meaning = "exit status: exit code (1xx, 2xx, 4xx, 5xx)" },
    { .name = "headers",
      .stored = AT(56, headers, FIELD_SLICE),
      .type = AS_PAIRS,
      .use = USE_BOTH,
      .hooks = &headers_hooks,
      .schema = "\"type\":\"object\",\"additionalProperties\":{"
                "\"type\":[\"string\",\"null\"]}",
      .option = "header",
      .meaning = "of http calls, NAME: VALUE; values are not shown" },
    SWITCH("keep_result", AS_NOT, 15, drop_result, NULL, "default: true"),
    SWITCH("keep_state", AS_BOOL, 16, keep_state, "keep-state",
           "keep PAWL_STATE_DIR between attempts"),
    SWITCH("files", AS_BOOL, 17, files, "files",
           "keep what jobs leave in PAWL_FILES_DIR"),
    { .name = "children",
      .stored = AT(55, children, FIELD_SLICE),
      .type = AS_TEXT,
      .use = USE_BOTH,
      .most = NAME_BYTES_MAX,
      .hooks = &children_hooks,
      .meaning = "`immediate`: add jobs of J: lines at once" },
    FACT_DECLARED,
};
#undef AT

NOUN_STORED(handler, fields, NULL)

static const Handler usual = { .lang = LANG_SH };

static Err check_handler(NounIn *in)
{
    Handler *handler = in->object;
    handler->tenant = in->tenant;
    handler->type = in->name;
    return ERR_OK;
}

const Noun handler_noun = {
    .name = "handler",
    .a = "a handler",
    .plural = "handlers",
    .section = "handlers",
    .table = HANDLER_TABLE,
    .missing = "handler_not_found",
    .fields = fields,
    .count = NOUN_COUNT(fields),
    .bytes = sizeof(Handler),
    .defaults = &usual,
    .stored = &handler_stored,
    .name_valid = name_valid,
    .tenants = true,
    .check = check_handler,
};

void handler_pack(Buf *out, const Handler *handler)
{
    noun_pack(out, &handler_noun, handler);
}

Err handler_unpack(Slice packed, Handler *out_handler)
{
    Handler handler;
    Err err = noun_unpack(packed, &handler_noun, &handler);
    if (!err)
        *out_handler = handler;
    return err;
}

Handler handler_copy(Arena *arena, const Handler *handler)
{
    Handler copy = *handler;
    noun_keep(&handler_noun, arena, &copy);
    return copy;
}
