/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - see work.h. */
#include "noun/work.h"

#include "base/text.h"
#include "noun/resource.h"

#define BAD(in, code, ...) problem_set((in)->why, (code), __VA_ARGS__)

static Slice *member_of(const NounIn *in, const Field *field)
{
    return (Slice *)(void *)((char *)in->object + field->stored.offset);
}

Err argument_check(Slice text, Problem *why)
{
    if (text.bytes && memchr(text.data, '\0', text.bytes))
        return problem_set(why, "invalid_value", "an argument cannot hold a NUL byte");
    if (text.bytes > JOB_ARG_BYTES_MAX)
        return problem_set(why, "invalid_value", "an argument has more than %d bytes",
                           JOB_ARG_BYTES_MAX);
    return ERR_OK;
}

/* --- Variables -----------------------------------------------------------------------
 */

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

/* The name of one variable, however it is sent. */
static Err variable_of(NounIn *in, const JsonIn *list, const JsonIn *item, Buf *out)
{
    bool text = item->kind == JSON_IN_TEXT;
    size_t from = out->bytes;
    if (list->kind == JSON_IN_OBJECT && (!text || !variable_name_valid(item->key))) {
        BAD(in, text ? "invalid_value" : "wrong_type",
            "env maps names of variables to strings");
        problem_point(in->why, list->key);
        problem_point(in->why, item->key);
        return ERR_INVALID;
    }
    if (!text)
        return BAD(in, "wrong_type", "each item must be a string, not %s",
                   json_in_kind_name(item->kind));
    Slice value = item->as.text;
    Slice name = slice_cut(&value, '=');
    if (list->kind == JSON_IN_LIST && (!value.data || !variable_name_valid(name)))
        return BAD(in, "invalid_value", "a variable is written NAME=VALUE");
    if (list->kind == JSON_IN_OBJECT) {
        buf_add_slice(out, item->key);
        buf_add_char(out, '=');
    }
    buf_add_slice(out, item->as.text);
    Err err = argument_check(slice_from(buf_slice(out), from), in->why);
    buf_add_char(out, '\0');
    return err;
}

static Err env_twice(NounIn *in, Slice env)
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

static Err read_env(NounIn *in, const Field *field, const JsonIn *value)
{
    Buf env = { 0 };
    Err err = ERR_OK;
    if (value->kind != JSON_IN_OBJECT && value->kind != JSON_IN_LIST)
        return field_wrong_type(in, value, "an array of strings");
    if (value->as.items.count > JOB_ENV_MAX)
        return BAD(in, "invalid_value", "env has more than %d variables", JOB_ENV_MAX);
    size_t index = 0;
    for (const JsonIn *at = json_in_first(value); at && !err; at = at->next, index++) {
        err = variable_of(in, value, at, &env);
        if (err && !in->why->pointer[0])
            field_point_item(in, value, index);
    }
    if (!err)
        err = env_twice(in, buf_slice(&env));
    if (!err)
        *member_of(in, field) = slice_copy(in->arena, buf_slice(&env));
    buf_done(&env);
    return err;
}

const FieldHooks env_hooks = { read_env, NULL, NULL, NULL };

/* --- Paths and words -----------------------------------------------------------------
 */

static Err read_line(NounIn *in, const JsonIn *value, size_t bytes_max)
{
    if (value->kind != JSON_IN_TEXT)
        return field_wrong_type(in, value, "a string");
    if (value->as.text.bytes > bytes_max)
        return BAD(in, "invalid_value", SLICE_FMT " is longer than %zu bytes",
                   SLICE_ARG(value->key), bytes_max);
    if (!one_line(value->as.text))
        return BAD(in, "invalid_value",
                   SLICE_FMT " must be text without control characters",
                   SLICE_ARG(value->key));
    return ERR_OK;
}

static Err read_cwd(NounIn *in, const Field *field, const JsonIn *value)
{
    Err err = read_line(in, value, JOB_PATH_MAX);
    if (err)
        return err;
    if (!value->as.text.bytes || value->as.text.data[0] != '/')
        return BAD(in, "invalid_value", "cwd must be an absolute path");
    *member_of(in, field) = value->as.text;
    return ERR_OK;
}

static Err read_children(NounIn *in, const Field *field, const JsonIn *value)
{
    Err err = read_line(in, value, 16);
    if (err)
        return err;
    if (value->as.text.bytes && !slice_is(value->as.text, "immediate"))
        return BAD(in, "invalid_value", "children can only be 'immediate'");
    *member_of(in, field) = value->as.text;
    return ERR_OK;
}

const FieldHooks cwd_hooks = { read_cwd, NULL, NULL, NULL };
const FieldHooks children_hooks = { read_children, NULL, NULL, NULL };

/* --- What a job wants ------------------------------------------------------------------
 */

/* One entry of the object, understood. */
typedef struct Want {
    Slice key; /* of a manager, or empty: of every manager of `kind` */
    ResourceKind kind;
    int rank; /* of its spelling: the most exact one counts */
    int64_t amount;
} Want;

static Err wants_amount(const JsonIn *value, int64_t *out, Problem *why)
{
    bool number = value->kind == JSON_IN_INT;
    if (number)
        *out = value->as.integer;
    if (!number && (value->kind != JSON_IN_TEXT || int_parse(value->as.text, out)))
        return problem_set(why, "wrong_type", "an amount is an integer, not %s",
                           json_in_kind_name(value->kind));
    if (*out < 0 || *out > RESOURCE_QUANTITY_MAX)
        return problem_set(why, "invalid_value", "an amount is between 0 and %lld",
                           (long long)RESOURCE_QUANTITY_MAX);
    return ERR_OK;
}

static Err wants_key(Slice name, Want *out, Problem *why)
{
    RmParam param;
    if (name.bytes && name.data[0] == '*' &&
        !resource_kind_parse(slice_from(name, 1), &out->kind)) {
        out->rank = 1;
        return ERR_OK;
    }
    if (!rm_param_parse(name, &param)) {
        out->key = name;
        out->rank = 2;
        if (name_valid(name))
            return ERR_OK;
        return problem_set(why, "invalid_name", "this is no valid name of a resource");
    }
    if (!slice_is(param.param, "consumption"))
        return problem_set(why, "invalid_value",
                           "'" SLICE_FMT "' belongs to the manager; a job or a handler "
                           "can only say its consumption",
                           SLICE_ARG(param.param));
    out->key = param.key;
    out->kind = param.kind;
    out->rank = rm_param_rank(&param);
    if (!param.key.bytes || name_valid(param.key))
        return ERR_OK;
    return problem_set(why, "invalid_name", "this is no valid name of a resource");
}

static bool same_target(const Want *a, const Want *b)
{
    if (a->key.bytes || b->key.bytes)
        return slice_equal(a->key, b->key);
    return a->kind == b->kind;
}

static void keep_want(Want *wants, size_t *count, const Want *want)
{
    for (size_t i = 0; i < *count; i++) {
        if (!same_target(&wants[i], want))
            continue;
        if (want->rank >= wants[i].rank)
            wants[i] = *want;
        return;
    }
    wants[(*count)++] = *want;
}

Err wants_read(const JsonIn *object, Arena *arena, Slice *out, Problem *why)
{
    Want wants[RESOURCES_PER_JOB];
    size_t count = 0;
    if (object->kind != JSON_IN_OBJECT)
        return problem_set(why, "wrong_type",
                           "resources must be an object {\"key\": amount}, not %s",
                           json_in_kind_name(object->kind));
    if (object->as.items.count > RESOURCES_PER_JOB)
        return problem_set(why, "invalid_value", "at most %d resources",
                           RESOURCES_PER_JOB);
    for (const JsonIn *at = json_in_first(object); at; at = at->next) {
        Want want = { 0 };
        Err err = wants_key(at->key, &want, why);
        if (!err)
            err = wants_amount(at, &want.amount, why);
        if (err) {
            problem_point(why, object->key);
            problem_point(why, at->key);
            return err;
        }
        keep_want(wants, &count, &want);
    }
    Buf text = { 0 };
    for (size_t i = 0; i < count; i++) {
        Slice kind = slice_text(resource_kind_name(wants[i].kind));
        bool all = !wants[i].key.bytes;
        buf_printf(&text, "%s" SLICE_FMT "=%lld", all ? "*" : "",
                   SLICE_ARG(all ? kind : wants[i].key), (long long)wants[i].amount);
        buf_add_char(&text, '\0');
    }
    *out = slice_copy(arena, buf_slice(&text));
    buf_done(&text);
    return ERR_OK;
}

static Err read_wants(NounIn *in, const Field *field, const JsonIn *value)
{
    return wants_read(value, in->arena, member_of(in, field), in->why);
}

const FieldHooks wants_hooks = { read_wants, NULL, NULL, NULL };
