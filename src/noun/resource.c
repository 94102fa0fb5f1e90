/* SPDX-License-Identifier: Apache-2.0 */
/* resource.c - see resource.h. */
#include "noun/resource.h"

#include "base/text.h"
#include "noun/facts.h"

#define DEFAULT_QUANTITY 10
#define RM_PREFIX        "com.enioka.jqm.rm."

static const char default_items[] = "item01\0item02\0item03\0item04\0item05\0"
                                    "item06\0item07\0item08\0item09\0item10";

static const char *const kinds[] = { [RESOURCE_QUANTITY] = "quantity",
                                     [RESOURCE_DISCRETE] = "discrete",
                                     [RESOURCE_HIGHLANDER] = "highlander",
                                     NULL };
static const char *const scopes[] = {
    [SCOPE_NODE] = "node", [SCOPE_CLUSTER] = "cluster", NULL
};

_Static_assert(sizeof(ResourceKind) == sizeof(uint32_t), "enums are read as 32 bits");
_Static_assert(sizeof(ResourceScope) == sizeof(uint32_t), "enums are read as 32 bits");

const char *resource_kind_name(ResourceKind kind)
{
    return (unsigned)kind < RESOURCE_KINDS ? kinds[kind] : "?";
}

const char *resource_scope_name(ResourceScope scope)
{
    return (unsigned)scope <= SCOPE_CLUSTER ? scopes[scope] : "?";
}

Err resource_kind_parse(Slice text, ResourceKind *out_kind)
{
    static const char *const classes[RESOURCE_KINDS] = {
        [RESOURCE_QUANTITY] = "com.enioka.jqm.tools.QuantityResourceManager",
        [RESOURCE_DISCRETE] = "com.enioka.jqm.tools.DiscreteResourceManager",
        [RESOURCE_HIGHLANDER] = "com.enioka.jqm.tools.HighlanderResourceManager",
    };
    for (unsigned kind = 0; kind < RESOURCE_KINDS; kind++) {
        if (!slice_is(text, resource_kind_name((ResourceKind)kind)) &&
            !slice_is(text, classes[kind]))
            continue;
        *out_kind = (ResourceKind)kind;
        return ERR_OK;
    }
    return ERR_INVALID;
}

ResourceDef resource_default(Slice key, ResourceKind kind)
{
    ResourceDef def = { .key = key, .kind = kind };
    switch (kind) {
    case RESOURCE_QUANTITY:
        def.quantity = DEFAULT_QUANTITY;
        def.consumption = 1;
        break;
    case RESOURCE_DISCRETE:
        def.list = slice_of(default_items, sizeof default_items);
        break;
    case RESOURCE_HIGHLANDER:
        def.consumption = 1;
        def.scope = SCOPE_CLUSTER; /* at most one instance cluster-wide */
        break;
    }
    return def;
}

static int64_t list_count(Slice list)
{
    int64_t count = 0;
    for (Slice item; list_next(&list, &item);)
        count++;
    return count;
}

int64_t resource_capacity(const ResourceDef *def)
{
    switch (def->kind) {
    case RESOURCE_QUANTITY:
        return def->quantity;
    case RESOURCE_DISCRETE:
        return list_count(def->list);
    case RESOURCE_HIGHLANDER:
        break;
    }
    return INT64_MAX;
}

bool rm_param_parse(Slice name, RmParam *out)
{
    if (!slice_starts(name, SLICE_LITERAL(RM_PREFIX)))
        return false;
    Slice middle = slice_from(name, sizeof RM_PREFIX - 1);
    size_t dot = middle.bytes;
    while (dot > 0 && middle.data[dot - 1] != '.')
        dot--;
    *out = (RmParam){ .param = slice_from(middle, dot) };
    if (dot < 2 || !out->param.bytes)
        return false;
    middle.bytes = dot - 1;
    out->key = middle;
    for (unsigned kind = 0; kind < RESOURCE_KINDS; kind++) {
        Slice word = slice_text(resource_kind_name((ResourceKind)kind));
        bool whole = slice_equal(middle, word);
        if (!whole && !(slice_starts(middle, word) && middle.bytes > word.bytes + 1 &&
                        middle.data[word.bytes] == '.'))
            continue;
        out->has_kind = true;
        out->kind = (ResourceKind)kind;
        out->key = whole ? (Slice){ NULL, 0 } : slice_from(middle, word.bytes + 1);
    }
    return true;
}

int rm_param_rank(const RmParam *param)
{
    return param->key.bytes ? 2 + param->has_kind : 1;
}

/* --- Items ---------------------------------------------------------------------------
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

static Err list_of(const JsonIn *value, Arena *arena, Slice *out, Error *why)
{
    Buf list = { 0 };
    Err err = ERR_OK;
    for (const JsonIn *at = json_in_first(value); at && !err; at = at->next)
        err = at->kind == JSON_IN_TEXT
                  ? add_item(at->as.text, &list, why)
                  : error_set(why, ERR_INVALID, "each item must be a string");
    if (!err)
        *out = slice_copy(arena, buf_slice(&list));
    buf_done(&list);
    return err;
}

static Err read_list(NounIn *in, const Field *field, const JsonIn *value)
{
    ResourceDef *def = in->object;
    Error reason = { 0 };
    bool text = value->kind == JSON_IN_TEXT;
    if (!text && value->kind != JSON_IN_LIST)
        return field_wrong_type(in, value, "an array of strings");
    if (!text && value->as.items.count > (size_t)field->most)
        return problem_set(in->why, "invalid_value", "list has more than %lld items",
                           (long long)field->most);
    Err err = text ? resource_list_parse(value->as.text, in->arena, &def->list, &reason)
                   : list_of(value, in->arena, &def->list, &reason);
    return err ? problem_set(in->why, "invalid_value", "list: %s", reason.text) : ERR_OK;
}

/* --- Fields --------------------------------------------------------------------------
 */

static Err read_kind(NounIn *in, const Field *field, const JsonIn *value)
{
    (void)field;
    ResourceDef *def = in->object;
    if (value->kind == JSON_IN_TEXT && !resource_kind_parse(value->as.text, &def->kind))
        return ERR_OK;
    return problem_set(in->why, "invalid_value",
                       "kind must be quantity, discrete or highlander");
}

/* What one kind of manager has, another does not show. */
static void write_quantity(JsonOut *json, const Field *field, const NounView *view)
{
    const ResourceDef *def = view->object;
    if (def->kind == RESOURCE_QUANTITY)
        json_int(json, field->name, def->quantity);
}

static void write_list(JsonOut *json, const Field *field, const NounView *view)
{
    const ResourceDef *def = view->object;
    if (def->kind == RESOURCE_DISCRETE)
        list_json(json, field->name, def->list);
}

static void write_consumption(JsonOut *json, const Field *field, const NounView *view)
{
    const ResourceDef *def = view->object;
    if (def->kind != RESOURCE_HIGHLANDER)
        json_int(json, field->name, def->consumption);
}

static void clear_kind(void *object)
{
    ResourceDef *def = object;
    def->kind = RESOURCE_QUANTITY;
}

static void clear_scope(void *object)
{
    ResourceDef *def = object;
    def->scope = resource_default(def->key, def->kind).scope;
}

static void clear_quantity(void *object)
{
    ResourceDef *def = object;
    def->quantity = resource_default(def->key, def->kind).quantity;
}

static void clear_list(void *object)
{
    ResourceDef *def = object;
    def->list = resource_default(def->key, def->kind).list;
}

static void clear_consumption(void *object)
{
    ResourceDef *def = object;
    def->consumption = resource_default(def->key, def->kind).consumption;
}

static const FieldHooks kind_hooks = { read_kind, NULL, clear_kind, NULL };
static const FieldHooks scope_hooks = { NULL, NULL, clear_scope, NULL };
static const FieldHooks list_hooks = { read_list, write_list, clear_list, NULL };
static const FieldHooks quantity_hooks = { NULL, write_quantity, clear_quantity, NULL };
static const FieldHooks consumption_hooks = { NULL, write_consumption, clear_consumption,
                                              NULL };

#define AT(tag, member, kind) STORED(ResourceDef, tag, member, kind)

static const Field fields[] = {
    { .name = "key",
      .stored = AT(40, key, FIELD_SLICE),
      .type = AS_OWN_NAME,
      .use = USE_SHOWN,
      .meaning = "of the manager: what jobs name" },
    { .name = "kind",
      .stored = AT(1, kind, FIELD_32),
      .type = AS_ENUM,
      .use = USE_BOTH,
      .words = kinds,
      .hooks = &kind_hooks,
      .schema = "\"type\":\"string\"",
      .option = "kind",
      .meaning = "quantity, discrete or highlander" },
    { .name = "scope",
      .stored = AT(2, scope, FIELD_32),
      .type = AS_ENUM,
      .use = USE_BOTH,
      .words = scopes,
      .hooks = &scope_hooks,
      .option = "scope",
      .meaning = "counted by each node or for the whole cluster" },
    { .name = "quantity",
      .stored = AT(3, quantity, FIELD_64),
      .type = AS_COUNT,
      .use = USE_BOTH | USE_NUMERIC,
      .most = RESOURCE_QUANTITY_MAX,
      .hooks = &quantity_hooks,
      .schema = "\"type\":[\"integer\",\"string\",\"null\"]",
      .option = "quantity",
      .meaning = "how many units there are; default: 10" },
    { .name = "list",
      .stored = AT(41, list, FIELD_SLICE),
      .type = AS_LIST,
      .use = USE_BOTH,
      .most = RESOURCE_ITEMS_MAX,
      .hooks = &list_hooks,
      .schema = "\"type\":[\"array\",\"string\",\"null\"],\"items\":{"
                "\"type\":\"string\"}",
      .option = "list",
      .meaning = "the items of a discrete one by name" },
    { .name = "consumption",
      .stored = AT(4, consumption, FIELD_64),
      .type = AS_COUNT,
      .use = USE_BOTH | USE_NUMERIC,
      .most = RESOURCE_QUANTITY_MAX,
      .hooks = &consumption_hooks,
      .schema = "\"type\":[\"integer\",\"string\",\"null\"]",
      .option = "consumption",
      .meaning = "what a job takes that says nothing" },
    FACT_DECLARED,
    { .name = "in_use",
      .type = AS_FACT,
      .use = USE_SHOWN,
      .schema = SCHEMA_COUNT,
      .meaning = "units or items that are booked" },
    { .name = "free",
      .type = AS_FACT,
      .use = USE_SHOWN,
      .schema = "\"type\":[\"integer\",\"null\"]",
      .meaning = "units or items that are left; null: of a highlander" },
    { .name = "waiting",
      .type = AS_FACT,
      .use = USE_SHOWN,
      .schema = SCHEMA_COUNT,
      .meaning = "queues whose next job waits for it" },
    { .name = "holders",
      .type = AS_FACT,
      .use = USE_SHOWN,
      .schema = "\"type\":\"array\",\"items\":{\"type\":\"object\","
                "\"additionalProperties\":false,\"properties\":{"
                "\"id\":{\"type\":\"string\"},\"attempt\":{\"type\":\"integer\"},"
                "\"tenant\":{\"type\":\"string\"},\"type\":{\"type\":\"string\"},"
                "\"queue\":{\"type\":\"string\"},\"amount\":{\"type\":\"integer\"},"
                "\"items\":{\"type\":\"string\"}}}",
      .meaning = "running jobs that have some of it" },
};
#undef AT

NOUN_STORED(resource, fields, NULL)

/* --- As a whole ----------------------------------------------------------------------
 */

/* Spellings of 003 become the plain names; of several the most exact one counts. */
static Err plain_name(const JsonIn *member, Slice key, Slice *out_name, int *out_rank)
{
    RmParam param = { .param = member->key, .key = key };
    *out_name = member->key;
    *out_rank = 2;
    if (!rm_param_parse(member->key, &param))
        return ERR_OK;
    if (param.key.bytes && !slice_equal(param.key, key))
        return ERR_INVALID;
    *out_name = param.param;
    *out_rank = rm_param_rank(&param);
    return ERR_OK;
}

static bool outranked(const JsonIn *object, const JsonIn *member, Slice key)
{
    Slice name;
    Slice other_name;
    int rank;
    int other_rank;
    bool behind = false;
    if (plain_name(member, key, &name, &rank))
        return false;
    for (const JsonIn *at = json_in_first(object); at; at = at->next) {
        if (at == member) {
            behind = true;
            continue;
        }
        if (at->kind != JSON_IN_NULL && !plain_name(at, key, &other_name, &other_rank) &&
            slice_equal(name, other_name) &&
            (other_rank > rank || (other_rank == rank && behind)))
            return true;
    }
    return false;
}

static Err plain_members(NounIn *in, const JsonIn **object)
{
    JsonIn *plain = ARENA_NEW(in->arena, JsonIn);
    JsonIn **last = &plain->as.items.first;
    plain->kind = JSON_IN_OBJECT;
    for (const JsonIn *at = json_in_first(*object); at; at = at->next) {
        int rank;
        JsonIn *copy = ARENA_NEW(in->arena, JsonIn);
        *copy = *at;
        copy->next = NULL;
        if (plain_name(at, in->name, &copy->key, &rank)) {
            problem_set(in->why, "invalid_value",
                        "'" SLICE_FMT "' names another resource", SLICE_ARG(at->key));
            problem_point(in->why, at->key);
            return ERR_INVALID;
        }
        if (outranked(*object, at, in->name))
            continue;
        *last = copy;
        last = &copy->next;
        plain->as.items.count++;
    }
    *object = plain;
    return ERR_OK;
}

static const JsonIn *given(const JsonIn *object, const char *name)
{
    const JsonIn *value = json_in_find(object, name);
    return value && value->kind != JSON_IN_NULL ? value : NULL;
}

/* Its kind says what its defaults are, so that comes first. A patch that makes it
 * another kind begins with that kind's defaults. */
static Err begin_resource(NounIn *in, const JsonIn **object)
{
    ResourceDef *def = in->object;
    Err err = plain_members(in, object);
    if (err)
        return err;
    bool only_list = given(*object, "list") && !given(*object, "quantity");
    ResourceKind kind = only_list ? RESOURCE_DISCRETE : RESOURCE_QUANTITY;
    const JsonIn *named = given(*object, "kind");
    if (in->patch && !named)
        return ERR_OK;
    if (named && named->kind == JSON_IN_TEXT)
        (void)!resource_kind_parse(named->as.text, &kind); /* said when it is read */
    if (in->patch && kind == def->kind)
        return ERR_OK;
    ResourceScope scope = def->scope;
    *def = resource_default(in->name, kind);
    if (in->patch)
        def->scope = scope;
    return ERR_OK;
}

/* What one kind of manager has, another must not be given: nothing is ignored. */
static Err check_kind(NounIn *in)
{
    const ResourceDef *def = in->object;
    const char *extra = NULL;
    if (noun_seen(in, "quantity") && def->kind != RESOURCE_QUANTITY)
        extra = "quantity";
    if (noun_seen(in, "list") && def->kind != RESOURCE_DISCRETE)
        extra = "list";
    if (noun_seen(in, "consumption") && def->kind == RESOURCE_HIGHLANDER)
        extra = "consumption";
    if (!extra)
        return ERR_OK;
    problem_set(in->why, "conflicting_fields", "a %s has no %s",
                resource_kind_name(def->kind), extra);
    problem_point(in->why, slice_text(extra));
    return ERR_INVALID;
}

static Err check_resource(NounIn *in)
{
    ResourceDef *def = in->object;
    Err err = check_kind(in);
    def->key = in->name;
    if (!err && def->consumption > resource_capacity(def))
        err = problem_set(in->why, "invalid_value",
                          "consumption is larger than what there is (%lld)",
                          (long long)resource_capacity(def));
    return err;
}

const Noun resource_noun = {
    .name = "resource",
    .a = "a resource",
    .plural = "resources",
    .section = "resources",
    .table = RESOURCE_TABLE,
    .missing = "resource_not_found",
    .more_schema = "\"patternProperties\":{\"^com\\\\.enioka\\\\.jqm\\\\.rm\\\\.\":{}}",
    .fields = fields,
    .count = NOUN_COUNT(fields),
    .bytes = sizeof(ResourceDef),
    .stored = &resource_stored,
    .name_valid = name_valid,
    .begin = begin_resource,
    .check = check_resource,
};

void resource_pack(Buf *out, const ResourceDef *def)
{
    noun_pack(out, &resource_noun, def);
}

Err resource_unpack(Slice packed, ResourceDef *out_def)
{
    ResourceDef def;
    Err err = noun_unpack(packed, &resource_noun, &def);
    if (!err)
        *out_def = def;
    return err;
}

ResourceDef resource_copy(Arena *arena, const ResourceDef *def)
{
    ResourceDef copy = *def;
    noun_keep(&resource_noun, arena, &copy);
    return copy;
}
