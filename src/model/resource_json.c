/* SPDX-License-Identifier: Apache-2.0 */
/* resource_json.c - see resource_json.h. */
#include "model/resource_json.h"

#include "base/text.h"
#include "core/job.h"

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

/* --- A manager -------------------------------------------------------------------------
 */

static Err item_check(Slice item, Slice before, Error *why)
{
    if (!item.bytes || item.bytes > RESOURCE_ITEM_BYTES || item.data[0] == '#' ||
        !utf8_valid(item))
        return error_set(why, ERR_INVALID,
                         "an item is text of 1 to %d bytes that does not begin with #",
                         RESOURCE_ITEM_BYTES);
    for (size_t i = 0; i < item.bytes; i++)
        if ((unsigned char)item.data[i] < 0x21 || item.data[i] == 0x7f ||
            item.data[i] == ',')
            return error_set(why, ERR_INVALID,
                             "an item has no spaces, commas or control characters");
    for (Slice other; list_next(&before, &other);)
        if (slice_equal(other, item))
            return error_set(why, ERR_INVALID, "the item '" SLICE_FMT "' stands twice",
                             SLICE_ARG(item));
    return ERR_OK;
}

static Err add_item(Slice item, Buf *list, Error *why)
{
    Err err = item_check(item, buf_slice(list), why);
    if (!err) {
        buf_add_slice(list, item);
        buf_add_char(list, '\0');
    }
    return err;
}

Err resource_list_parse(Slice text, Arena *arena, Slice *out, Error *why)
{
    if (slice_is(text, "yes")) {
        *out = resource_default((Slice){ NULL, 0 }, RESOURCE_DISCRETE).list;
        return ERR_OK;
    }
    Buf list = { 0 };
    Err err = ERR_OK;
    int count = 0;
    while (!err && text.bytes) {
        Slice item = slice_cut(&text, ',');
        while (item.bytes && item.data[0] == ' ')
            item = slice_from(item, 1);
        while (item.bytes && item.data[item.bytes - 1] == ' ')
            item.bytes--;
        err = ++count > RESOURCE_ITEMS_MAX
                  ? error_set(why, ERR_INVALID, "more than %d items", RESOURCE_ITEMS_MAX)
                  : add_item(item, &list, why);
    }
    if (!err)
        *out = slice_copy(arena, buf_slice(&list));
    buf_done(&list);
    return err;
}

/* The fields as they came; null and absent are the same. */
typedef struct ResourceIn {
    const JsonIn *quantity;
    const JsonIn *list;
    const JsonIn *consumption;
    const JsonIn *scope;
    int rank[3]; /* of the spellings of the first three */
} ResourceIn;

static Err read_list(const JsonIn *value, Arena *arena, Slice *out, Problem *why)
{
    Error reason = { 0 };
    Err err = ERR_OK;
    Buf list = { 0 };
    if (value->kind == JSON_IN_TEXT)
        err = resource_list_parse(value->as.text, arena, out, &reason);
    else if (value->kind != JSON_IN_LIST)
        return problem_set(why, "wrong_type", "list must be an array of strings, not %s",
                           json_in_kind_name(value->kind));
    else if (value->as.items.count > RESOURCE_ITEMS_MAX)
        return problem_set(why, "invalid_value", "list has more than %d items",
                           RESOURCE_ITEMS_MAX);
    for (const JsonIn *at = value->kind == JSON_IN_LIST ? json_in_first(value) : NULL;
         at && !err; at = at->next)
        err = at->kind == JSON_IN_TEXT
                  ? add_item(at->as.text, &list, &reason)
                  : error_set(&reason, ERR_INVALID, "each item must be a string");
    if (!err && value->kind == JSON_IN_LIST)
        *out = slice_copy(arena, buf_slice(&list));
    buf_done(&list);
    return err ? problem_set(why, "invalid_value", "list: %s", reason.text) : ERR_OK;
}

static Err read_amount(const JsonIn *value, const char *name, int64_t *out, Problem *why)
{
    int64_t number = 0;
    bool text = value->kind == JSON_IN_TEXT;
    if (value->kind != JSON_IN_INT && !(text && !int_parse(value->as.text, &number)))
        return problem_set(why, "wrong_type", "%s must be an integer, not %s", name,
                           json_in_kind_name(value->kind));
    if (!text)
        number = value->as.integer;
    if (number < 0 || number > RESOURCE_QUANTITY_MAX)
        return problem_set(why, "invalid_value", "%s must be between 0 and %lld", name,
                           (long long)RESOURCE_QUANTITY_MAX);
    *out = number;
    return ERR_OK;
}

static const char *const shown_only[] = { "key",    "name", "declared", "capacity",
                                          "in_use", "free", "holders",  "waiting" };

static Err unknown_field(Slice name, Problem *why)
{
    static const char *const words[] = { "kind", "scope",       "quantity",
                                         "list", "consumption", NULL };
    const char *near = nearest_word(name, words);
    problem_set(why, "unknown_field", "a resource has no field '" SLICE_FMT "'",
                SLICE_ARG(name));
    if (near)
        problem_hint(why, "did you mean '%s'?", near);
    problem_point(why, name);
    return ERR_INVALID;
}

/* Where a field of the object goes, whichever way it is spelt. */
static Err sort_field(const JsonIn *field, Slice key, ResourceIn *in, Problem *why)
{
    RmParam param = { .param = field->key, .key = key };
    int rank = 2;
    if (rm_param_parse(field->key, &param)) {
        if (param.key.bytes && !slice_equal(param.key, key))
            return problem_set(why, "invalid_value",
                               "'" SLICE_FMT "' names another resource",
                               SLICE_ARG(field->key));
        rank = rm_param_rank(&param);
    }
    static const char *const names[] = { "quantity", "list", "consumption" };
    const JsonIn **places[] = { &in->quantity, &in->list, &in->consumption };
    for (size_t i = 0; i < 3; i++) {
        if (!slice_is(param.param, names[i]))
            continue;
        if (rank >= in->rank[i]) {
            *places[i] = field;
            in->rank[i] = rank;
        }
        return ERR_OK;
    }
    if (slice_is(field->key, "scope")) {
        in->scope = field;
        return ERR_OK;
    }
    if (slice_is(field->key, "kind"))
        return ERR_OK;
    for (size_t i = 0; i < sizeof shown_only / sizeof *shown_only; i++)
        if (slice_is(field->key, shown_only[i]))
            return ERR_OK; /* an object of ours that is sent back */
    return unknown_field(field->key, why);
}

static Err read_kind(const JsonIn *object, const ResourceIn *in, ResourceKind *out,
                     Problem *why)
{
    const JsonIn *kind = json_in_find(object, "kind");
    *out = in->list && !in->quantity ? RESOURCE_DISCRETE : RESOURCE_QUANTITY;
    if (!kind || kind->kind == JSON_IN_NULL)
        return ERR_OK;
    if (kind->kind == JSON_IN_TEXT && !resource_kind_parse(kind->as.text, out))
        return ERR_OK;
    problem_set(why, "invalid_value", "kind must be quantity, discrete or highlander");
    problem_point(why, SLICE_LITERAL("kind"));
    return ERR_INVALID;
}

static Err read_scope(const JsonIn *value, ResourceScope *out, Problem *why)
{
    bool text = value->kind == JSON_IN_TEXT;
    bool node = text && slice_is(value->as.text, "node");
    if (!node && !(text && slice_is(value->as.text, "cluster"))) {
        problem_set(why, "invalid_value", "scope must be node or cluster");
        problem_point(why, SLICE_LITERAL("scope"));
        return ERR_INVALID;
    }
    *out = node ? SCOPE_NODE : SCOPE_CLUSTER;
    return ERR_OK;
}

/* What one kind of manager has, another must not be given: nothing is ignored. */
static Err check_kind(const ResourceIn *in, ResourceKind kind, Problem *why)
{
    const char *extra = NULL;
    if (in->quantity && kind != RESOURCE_QUANTITY)
        extra = "quantity";
    if (in->list && kind != RESOURCE_DISCRETE)
        extra = "list";
    if (in->consumption && kind == RESOURCE_HIGHLANDER)
        extra = "consumption";
    if (!extra)
        return ERR_OK;
    problem_set(why, "conflicting_fields", "a %s has no %s", resource_kind_name(kind),
                extra);
    problem_point(why, slice_text(extra));
    return ERR_INVALID;
}

Err resource_read(const JsonIn *object, Slice key, Arena *arena, ResourceDef *out,
                  Problem *why)
{
    ResourceIn in = { 0 };
    ResourceKind kind;
    if (object->kind != JSON_IN_OBJECT)
        return problem_set(why, "wrong_type", "a resource must be an object, not %s",
                           json_in_kind_name(object->kind));
    for (const JsonIn *at = json_in_first(object); at; at = at->next) {
        Err err = at->kind == JSON_IN_NULL ? ERR_OK : sort_field(at, key, &in, why);
        if (err)
            return err;
    }
    Err err = read_kind(object, &in, &kind, why);
    if (!err)
        err = check_kind(&in, kind, why);
    if (err)
        return err;
    ResourceDef def = resource_default(key, kind);
    if (in.scope)
        err = read_scope(in.scope, &def.scope, why);
    if (!err && in.quantity)
        err = read_amount(in.quantity, "quantity", &def.quantity, why);
    if (!err && in.consumption)
        err = read_amount(in.consumption, "consumption", &def.consumption, why);
    if (!err && in.list)
        err = read_list(in.list, arena, &def.list, why);
    if (!err && def.consumption > resource_capacity(&def))
        err = problem_set(why, "invalid_value",
                          "consumption is larger than what there is (%lld)",
                          (long long)resource_capacity(&def));
    if (!err)
        *out = def;
    return err;
}

void resource_members(JsonOut *json, const ResourceDef *def)
{
    json_text(json, "key", def->key);
    json_cstr(json, "kind", resource_kind_name(def->kind));
    json_cstr(json, "scope", resource_scope_name(def->scope));
    if (def->kind == RESOURCE_QUANTITY)
        json_int(json, "quantity", def->quantity);
    if (def->kind == RESOURCE_DISCRETE) {
        Slice rest = def->list;
        json_array(json, "list");
        for (Slice item; list_next(&rest, &item);)
            json_text(json, NULL, item);
        json_array_end(json);
    }
    if (def->kind != RESOURCE_HIGHLANDER)
        json_int(json, "consumption", def->consumption);
}

/* --- What a running job is told -------------------------------------------------------
 */

static void add_variable(Buf *env, const char *prefix, Slice key, Slice items)
{
    buf_add_text(env, prefix);
    for (size_t i = 0; i < key.bytes; i++) {
        char c = key.data[i];
        bool lower = c >= 'a' && c <= 'z';
        bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        buf_add_char(env, lower ? (char)(c - 'a' + 'A') : kept ? c : '_');
    }
    buf_add_text(env, "_ITEMS=");
    buf_add_slice(env, items);
    buf_add_char(env, '\0');
}

void booking_env(Slice bookings, Buf *env)
{
    for (Slice value; list_next(&bookings, &value);) {
        Slice key = slice_cut(&value, '=');
        if (!booking_has_items(value))
            continue;
        add_variable(env, "PAWL_RESOURCE_", key, value);
        add_variable(env, "JQM_RM_DISCRETE_", key, value);
    }
}
