/* SPDX-License-Identifier: Apache-2.0 */
/* control.c - see control.h. One row per element says how it is read. */
#include "intake/control.h"

#include "base/text.h"
#include "base/times.h"
#include "core/handler.h"
#include "model/job_read.h"
#include "model/notify_target.h"
#include "model/run_as.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum ElementKind {
    ELEMENT_NAME,
    ELEMENT_PRIORITY,
    ELEMENT_MAX_RUN,
    ELEMENT_CREATED,
    ELEMENT_MODULE,
    ELEMENT_ROOT,
    ELEMENT_URI,
    ELEMENT_USER,
    ELEMENT_CONTEXT, /* only handed on */
    ELEMENT_PARAM,
    ELEMENT_NOTIFY,
    ELEMENT_RERUN, /* means something only in what a module returns */
} ElementKind;

typedef struct ElementRow {
    const char *name;
    ElementKind kind;
    const char *variable; /* the module gets it as this */
} ElementRow;

static const ElementRow rows[] = {
    { "name", ELEMENT_NAME, "BATCH_NAME" },
    { "priority", ELEMENT_PRIORITY, "BATCH_PRIORITY" },
    { "max-run-time", ELEMENT_MAX_RUN, "BATCH_MAX_RUN_TIME" },
    { "created", ELEMENT_CREATED, "BATCH_CREATED" },
    { "module", ELEMENT_MODULE, "BATCH_MODULE" },
    { "context-database", ELEMENT_CONTEXT, "BATCH_CONTEXT_DATABASE" },
    { "context-db", ELEMENT_CONTEXT, "BATCH_CONTEXT_DATABASE" },
    { "modules-db", ELEMENT_CONTEXT, "BATCH_MODULES_DB" },
    { "modules-root", ELEMENT_ROOT, "BATCH_MODULES_ROOT" },
    { "document-uri", ELEMENT_URI, "BATCH_DOCUMENT_URI" },
    { "user", ELEMENT_USER, "BATCH_USER" },
    { "param", ELEMENT_PARAM, NULL },
    { "notify", ELEMENT_NOTIFY, NULL },
    { "rerun", ELEMENT_RERUN, NULL },
};
#define ROWS (sizeof rows / sizeof *rows)

typedef struct Reading {
    const ControlRules *rules;
    Arena *arena;
    Job *job;
    Problem *why;
    const XmlIn *module;
    Slice root;
    uint32_t seen; /* one bit per variable or row */
    Buf notify;
    uint32_t notify_count;
} Reading;

#define BAD(reading, at, ...) bad((reading)->why, (at), __VA_ARGS__)

static Err PRINTF_LIKE(3, 4) bad(Problem *why, const XmlIn *at, const char *format, ...);

static Err bad(Problem *why, const XmlIn *at, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES - 80];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return problem_set(why, "invalid_control", "line %u, column %u: %s", at->line,
                       at->column, text);
}

static bool printable(Slice text)
{
    for (size_t i = 0; i < text.bytes; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            return false;
    return true;
}

static Err read_text(const Reading *in, const XmlIn *at, size_t bytes_max, Slice *out)
{
    if (at->first)
        return BAD(in, at->first, "<" SLICE_FMT "> takes text, not elements",
                   SLICE_ARG(at->name));
    if (at->text.bytes > bytes_max)
        return BAD(in, at, "<" SLICE_FMT "> is longer than %zu bytes",
                   SLICE_ARG(at->name), bytes_max);
    if (!printable(at->text))
        return BAD(in, at, "<" SLICE_FMT "> holds a control character",
                   SLICE_ARG(at->name));
    *out = at->text;
    return ERR_OK;
}

static Err read_priority(Reading *in, const XmlIn *at)
{
    int64_t priority;
    Slice text;
    Err err = read_text(in, at, JOB_NAME_MAX, &text);
    if (err)
        return err;
    if (int_parse(text, &priority) || priority < PRIORITY_MIN || priority > PRIORITY_MAX)
        return BAD(in, at, "<priority> is a whole number from %lld to %lld", PRIORITY_MIN,
                   PRIORITY_MAX);
    in->job->priority = priority;
    return ERR_OK;
}

static Err read_max_run(Reading *in, const XmlIn *at)
{
    Error why = { 0 };
    Slice text;
    Err err = read_text(in, at, JOB_NAME_MAX, &text);
    if (err)
        return err;
    if (duration_parse(text, &in->job->max_run_ms, &why))
        return BAD(in, at, "<max-run-time>: %.200s", why.text);
    if (in->job->max_run_ms == 0)
        in->job->max_run_ms = 1; /* 0 would be "no limit" */
    return ERR_OK;
}

/* The document's own example of a lock has a date without zone: UTC. */
static Err read_created(Reading *in, const XmlIn *at)
{
    Buf zoned = { 0 };
    int64_t wall_ms = 0;
    Slice text;
    Err err = read_text(in, at, JOB_NAME_MAX, &text);
    if (err)
        return err;
    buf_add_slice(&zoned, text);
    buf_add_char(&zoned, 'Z');
    bool good = !time_parse(text, &wall_ms) || !time_parse(buf_slice(&zoned), &wall_ms);
    buf_done(&zoned);
    if (!good || wall_ms < 0 || wall_ms > TIME_WALL_MAX_MS)
        return BAD(in, at, "<created> is a time such as 2010-08-23T14:02:53.03+01:00");
    in->job->created_ms = wall_ms;
    return ERR_OK;
}

/* Words of a path that would lead out of its root. */
static bool climbs(Slice path)
{
    while (path.data)
        if (slice_is(slice_cut(&path, '/'), ".."))
            return true;
    return false;
}

static Err read_root(Reading *in, const XmlIn *at)
{
    Err err = read_text(in, at, JOB_PATH_MAX, &in->root);
    if (!err && (!in->root.bytes || in->root.data[0] != '/' || climbs(in->root)))
        err = BAD(in, at, "<modules-root> is an absolute path without ..");
    return err;
}

static Err read_user(Reading *in, const XmlIn *at)
{
    Err err = read_text(in, at, NAME_BYTES_MAX, &in->job->user);
    if (!err && !in->job->user.bytes)
        err = BAD(in, at, "<user> is empty: leave it out");
    return err ? err : user_check(in->rules->tenant, in->job->user, in->why);
}

static Err read_param(Reading *in, const XmlIn *at)
{
    size_t count = 0;
    for (const XmlIn *child = at->first; child; child = child->next)
        if (++count > CONTROL_PARAMS_MAX)
            return BAD(in, child, "<param> has more than %d options", CONTROL_PARAMS_MAX);
    if (at->inner.bytes > JOB_PARAM_BYTES_MAX)
        return BAD(in, at, "<param> is longer than %d bytes", JOB_PARAM_BYTES_MAX);
    in->job->param = at->inner;
    return ERR_OK;
}

/* As a child element or as an attribute; returns how often it is there. */
static int part(const XmlIn *at, const char *name, Slice *out)
{
    int count = 0;
    const XmlIn *const lists[] = { at->first, at->attributes };
    *out = (Slice){ NULL, 0 };
    for (size_t i = 0; i < 2; i++)
        for (const XmlIn *one = lists[i]; one; one = one->next)
            if (slice_is(one->name, name)) {
                *out = one->text;
                count++;
            }
    return count;
}

static Err read_notify(Reading *in, const XmlIn *at)
{
    Error why = { 0 };
    if (++in->notify_count > CONTROL_NOTIFY_MAX)
        return BAD(in, at, "there are more than %d <notify>", CONTROL_NOTIFY_MAX);
    for (const XmlIn *one = at->first; one; one = one->next)
        if (!slice_is(one->name, "event") && !slice_is(one->name, "to"))
            return BAD(in, one,
                       "<notify> has an event and a target (to), no <" SLICE_FMT ">",
                       SLICE_ARG(one->name));
    Slice event;
    Slice to;
    if (part(at, "event", &event) > 1 || part(at, "to", &to) > 1)
        return BAD(in, at, "<notify> has one event and one target (to)");
    if (notify_target_check(event, to, &why))
        return BAD(in, at, "<notify>: %.300s", why.text);
    buf_add_slice(&in->notify, event);
    buf_add_char(&in->notify, '\0');
    buf_add_slice(&in->notify, to);
    buf_add_char(&in->notify, '\0');
    return ERR_OK;
}

static Err read_row(Reading *in, const ElementRow *row, const XmlIn *at)
{
    Slice text;
    switch (row->kind) {
    case ELEMENT_NAME:
        return read_text(in, at, JOB_NAME_MAX, &in->job->name);
    case ELEMENT_PRIORITY:
        return read_priority(in, at);
    case ELEMENT_MAX_RUN:
        return read_max_run(in, at);
    case ELEMENT_CREATED:
        return read_created(in, at);
    case ELEMENT_MODULE:
        in->module = at;
        return read_text(in, at, JOB_PATH_MAX, &text);
    case ELEMENT_ROOT:
        return read_root(in, at);
    case ELEMENT_URI:
        return read_text(in, at, JOB_PATH_MAX, &in->job->document_uri);
    case ELEMENT_USER:
        return read_user(in, at);
    case ELEMENT_CONTEXT:
        return read_text(in, at, JOB_PATH_MAX, &text);
    case ELEMENT_PARAM:
        return read_param(in, at);
    case ELEMENT_NOTIFY:
        return read_notify(in, at);
    case ELEMENT_RERUN:
        return at->inner.bytes ? BAD(in, at, "<rerun> is empty") : ERR_OK;
    }
    return ERR_INVALID;
}

static const ElementRow *row_find(const XmlIn *at)
{
    for (size_t i = 0; i < ROWS; i++)
        if (slice_is(at->space, CONTROL_SPACE) && slice_is(at->name, rows[i].name))
            return &rows[i];
    return NULL;
}

static Err unknown_element(const Reading *in, const XmlIn *at)
{
    const char *words[ROWS + 1] = { NULL };
    for (size_t i = 0; i < ROWS; i++)
        words[i] = rows[i].name;
    Slice name = slice_of(at->name.data, at->name.bytes > 80 ? 80 : at->name.bytes);
    if (!slice_is(at->space, CONTROL_SPACE))
        return BAD(in, at, "<" SLICE_FMT "> is not of the name space " CONTROL_SPACE,
                   SLICE_ARG(name));
    const char *near = nearest_word(name, words);
    return BAD(in, at, "a batch-job has no <" SLICE_FMT ">%s%s%s", SLICE_ARG(name),
               near ? "; did you mean <" : "", near ? near : "", near ? ">?" : "");
}

/* Both spellings of the context database are one element. */
static uint32_t row_bit(const ElementRow *row)
{
    for (size_t i = 0; i < ROWS; i++)
        if (row->variable && rows[i].variable &&
            strcmp(rows[i].variable, row->variable) == 0)
            return 1u << i;
    return 1u << (row - rows);
}

static Err check_attributes(const Reading *in, const XmlIn *at, ElementKind kind)
{
    static const char *const of_notify[] = { "event", "to", NULL };
    const char *const *known = kind == ELEMENT_NOTIFY ? of_notify : of_notify + 2;
    const XmlIn *unknown = xml_unknown_attribute(at, known);
    if (!unknown)
        return ERR_OK;
    return BAD(in, at, "<" SLICE_FMT "> has no attribute \"%.*s\"", SLICE_ARG(at->name),
               unknown->name.bytes > 80 ? 80 : (int)unknown->name.bytes,
               unknown->name.data);
}

static Err read_elements(Reading *in, const XmlIn *root)
{
    if (check_attributes(in, root, ELEMENT_NAME))
        return ERR_INVALID;
    for (const XmlIn *at = root->first; at; at = at->next) {
        const ElementRow *row = row_find(at);
        if (!row)
            return unknown_element(in, at);
        if ((in->seen & row_bit(row)) && row->kind != ELEMENT_NOTIFY)
            return BAD(in, at, "<" SLICE_FMT "> stands twice", SLICE_ARG(at->name));
        in->seen |= row_bit(row);
        Err err = check_attributes(in, at, row->kind);
        if (!err)
            err = read_row(in, row, at);
        if (err)
            return err;
    }
    if (root->text.bytes)
        return BAD(in, root, "a batch-job holds elements, no text of its own");
    return ERR_OK;
}

static Err take_type(Reading *in, Slice type)
{
    if (!name_valid(type))
        return BAD(in, in->module, "type:NAME needs the name of a type");
    in->job->type = type;
    return ERR_OK;
}

static Err take_module(Reading *in)
{
    Slice module = in->module ? in->module->text : (Slice){ NULL, 0 };
    const Slice type_mark = SLICE_LITERAL("type:");
    if (slice_starts(module, type_mark))
        return take_type(in, slice_from(module, type_mark.bytes));
    while (module.bytes && module.data[0] == '/')
        module = slice_from(module, 1);
    if (!module.bytes || module.data[module.bytes - 1] == '/')
        return BAD(in, in->module, "<module> names no file");
    if (climbs(module))
        return BAD(in, in->module, "<module> leads out of modules-root: no .. in it");
    Slice root = in->root.bytes ? in->root : slice_text(in->rules->modules_root);
    Buf path = { 0 };
    Error why = { 0 };
    buf_add_slice(&path, root);
    if (!path.bytes || path.data[path.bytes - 1] != '/')
        buf_add_char(&path, '/');
    buf_add_slice(&path, module);
    Err err = ERR_OK;
    if (path.bytes > JOB_PATH_MAX)
        err = BAD(in, in->module, "modules-root and module make too long a path");
    else if (control_module_inside(slice_cstr(in->arena, root), buf_cstr(&path), &why))
        err = BAD(in, in->module, "%.300s", why.text);
    buf_add_char(&path, '\0');
    in->job->type = SLICE_LITERAL(CONTROL_TYPE);
    in->job->command = slice_copy(in->arena, buf_slice(&path));
    buf_done(&path);
    return err;
}

Err control_module_inside(const char *root, const char *module, Error *why)
{
    char real_root[PATH_MAX];
    char real[PATH_MAX];
    if (!realpath(root, real_root) || !realpath(module, real))
        return ERR_OK; /* not there: its start will say so */
    size_t bytes = strlen(real_root);
    bool all = bytes == 1; /* the root is / */
    if (all || (strncmp(real, real_root, bytes) == 0 && real[bytes] == '/'))
        return ERR_OK;
    return error_set(why, ERR_DENIED, "the module leads out of modules-root %.200s",
                     root);
}

static bool is_batch_job(const XmlIn *root)
{
    return slice_is(root->space, CONTROL_SPACE) && slice_is(root->name, "batch-job");
}

static Err malformed(Problem *why, const XmlFault *fault)
{
    return problem_set(why, "malformed_xml", "line %u, column %u: %s", fault->line,
                       fault->column, fault->text);
}

static void begin(Reading *in)
{
    *in->job = job_default();
    in->job->tenant = in->rules->tenant;
    in->job->priority = PRIORITY_UNSET;
    in->job->max_retries = 0; /* 000 knows no retries */
    in->job->flags = JOB_CONTROL;
}

Err control_read(Slice document, const ControlRules *rules, Arena *arena, Job *out_job,
                 Problem *why)
{
    const XmlIn *root;
    XmlFault fault;
    if (document.bytes > rules->payload_bytes_max)
        return problem_set(why, "payload_too_large",
                           "the document has %zu bytes; the limit is %llu",
                           document.bytes, (unsigned long long)rules->payload_bytes_max);
    document = slice_copy(arena, document);
    if (xml_load(document, arena, &root, &fault))
        return malformed(why, &fault);
    if (!is_batch_job(root))
        return bad(why, root, "the document is no <batch-job xmlns=\"%s\">",
                   CONTROL_SPACE);
    Reading in = { .rules = rules, .arena = arena, .job = out_job, .why = why };
    begin(&in);
    Err err = read_elements(&in, root);
    if (!err && !in.module)
        err = bad(why, root, "a batch-job needs a <module>");
    if (!err)
        err = take_module(&in);
    out_job->payload = document;
    out_job->document_hash = document_hash(document);
    out_job->notify = slice_copy(arena, buf_slice(&in.notify));
    if (out_job->notify.bytes)
        out_job->flags |= JOB_TELLS;
    buf_done(&in.notify);
    return err;
}

bool control_meant(Slice text)
{
    Arena arena = { 0 };
    const XmlIn *root;
    XmlFault fault;
    bool meant = !xml_load(text, &arena, &root, &fault) && is_batch_job(root);
    arena_done(&arena);
    /* One that was begun and cannot be read was meant too. */
    while (!meant && text.bytes && strchr(" \t\r\n", text.data[0]))
        text = slice_from(text, 1);
    return meant || slice_starts(text, SLICE_LITERAL("<batch-job"));
}

bool control_reruns(Slice document)
{
    Arena arena = { 0 };
    const XmlIn *root;
    XmlFault fault;
    bool reruns = false;
    if (!xml_load(document, &arena, &root, &fault))
        for (const XmlIn *at = root->first; at && !reruns; at = at->next)
            reruns = row_find(at) && row_find(at)->kind == ELEMENT_RERUN;
    arena_done(&arena);
    return reruns;
}

/* --- Variables -------------------------------------------------------------------- */

static void add_variable(Buf *env, const char *name, Slice value)
{
    buf_add_text(env, name);
    buf_add_char(env, '=');
    buf_add_slice(env, value);
    buf_add_char(env, '\0');
}

static char upper(char c)
{
    if (c >= 'a' && c <= 'z')
        return (char)(c - 'a' + 'A');
    bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return kept ? c : '_';
}

static Slice param_name(const XmlIn *param, Arena *arena)
{
    char *name = slice_cstr(arena, param->name);
    for (char *c = name; *c; c++)
        *c = upper(*c);
    return slice_text(name);
}

/* Options of the same name are one variable with a line for each. */
static void add_params(Buf *env, const XmlIn *params, Arena *arena)
{
    for (const XmlIn *at = params->first; at; at = at->next) {
        Slice name = param_name(at, arena);
        bool told = false;
        for (const XmlIn *before = params->first; before != at; before = before->next)
            told = told || slice_equal(param_name(before, arena), name);
        if (told)
            continue;
        Buf value = { 0 };
        for (const XmlIn *same = at; same; same = same->next) {
            if (!slice_equal(param_name(same, arena), name))
                continue;
            if (same != at)
                buf_add_char(&value, '\n');
            buf_add_slice(&value, same->first ? same->inner : same->text);
        }
        buf_add_text(env, "BATCH_PARAM_");
        buf_add_slice(env, name);
        add_variable(env, "", buf_slice(&value));
        buf_done(&value);
    }
}

void control_variables(Slice document, Buf *out_env)
{
    Arena arena = { 0 };
    const XmlIn *root;
    XmlFault fault;
    if (!xml_load(document, &arena, &root, &fault))
        for (const XmlIn *at = root->first; at; at = at->next) {
            const ElementRow *row = row_find(at);
            if (row && row->variable)
                add_variable(out_env, row->variable, at->text);
            else if (row && row->kind == ELEMENT_PARAM)
                add_params(out_env, at, &arena);
        }
    arena_done(&arena);
}

Slice control_root(Slice document, const char *usual, Arena *arena)
{
    const XmlIn *root;
    XmlFault fault;
    if (!xml_load(document, arena, &root, &fault))
        for (const XmlIn *at = root->first; at; at = at->next)
            if (row_find(at) && row_find(at)->kind == ELEMENT_ROOT)
                return at->text;
    return slice_text(usual);
}
