/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - see queue.h. */
#include "noun/queue.h"

#include "base/text.h"
#include "noun/facts.h"
#include "noun/limits.h"

#define RATE_PER_MAX_MS MS_PER_DAY

static const char *const policies[] = {
    [POLICY_FAIR] = "fair", [POLICY_SKIP] = "skip", [POLICY_BACKFILL] = "backfill", NULL
};

_Static_assert(sizeof(QueuePolicy) == sizeof(uint32_t), "enums are read as 32 bits");

const char *policy_name(QueuePolicy policy)
{
    return (unsigned)policy < QUEUE_POLICIES ? policies[policy] : "?";
}

/* --- Rate ----------------------------------------------------------------------------
 */

static Err keep_rate(QueueDef *def, int64_t jobs, int64_t per_ms)
{
    if (jobs < 1 || jobs > QUEUE_RATE_MAX || per_ms < 1 || per_ms > RATE_PER_MAX_MS)
        return ERR_INVALID;
    def->rate_jobs = (uint32_t)jobs;
    def->rate_ms = per_ms;
    return ERR_OK;
}

/* "10/s", "5/min", "100/h", "3/PT10S" */
static Err read_rate_text(NounIn *in, Slice text)
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
    if (int_parse(count, &jobs) || keep_rate(in->object, jobs, per_ms))
        return problem_set(in->why, "invalid_value",
                           "a rate is written like 10/s, 5/min or 100/h");
    return ERR_OK;
}

static Err read_rate(NounIn *in, const Field *field, const JsonIn *value)
{
    Error why = { 0 };
    (void)field;
    if (value->kind == JSON_IN_TEXT)
        return read_rate_text(in, value->as.text);
    if (value->kind != JSON_IN_OBJECT)
        return field_wrong_type(in, value, "an object {\"jobs\": n, \"per\": duration}");
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
    if (keep_rate(in->object, jobs, per_ms))
        return problem_set(in->why, "invalid_value",
                           "rate: jobs from 1 to %d, per up to a day", QUEUE_RATE_MAX);
    return ERR_OK;
}

static void write_rate(JsonOut *json, const Field *field, const NounView *view)
{
    const QueueDef *def = view->object;
    char per[DURATION_TEXT_BYTES];
    if (!def->rate_jobs) {
        json_null(json, field->name);
        return;
    }
    json_object(json, field->name);
    json_int(json, "jobs", def->rate_jobs);
    json_cstr(json, "per", duration_iso(def->rate_ms, per));
    json_object_end(json);
}

static void clear_rate(void *object)
{
    QueueDef *def = object;
    def->rate_jobs = 0;
    def->rate_ms = 0;
}

static const FieldHooks rate_hooks = { read_rate, write_rate, clear_rate, NULL };

/* --- Other fields --------------------------------------------------------------------
 */

static Err read_aging(NounIn *in, const Field *field, const JsonIn *value)
{
    double points = 0;
    QueueDef *def = in->object;
    if (json_in_real(value, &points))
        return field_wrong_type(in, value, "a number");
    if (!(points >= 0) || points > (double)field->most)
        return problem_set(in->why, "invalid_value",
                           "aging must be between 0 and %d points per minute",
                           QUEUE_AGING_MAX);
    def->aging_milli = (int64_t)(points * 1000 + 0.5);
    return ERR_OK;
}

static void write_aging(JsonOut *json, const Field *field, const NounView *view)
{
    const QueueDef *def = view->object;
    json_double(json, field->name, (double)def->aging_milli / 1000);
}

static const FieldHooks aging_hooks = { read_aging, write_aging, NULL, NULL };

static Err check_key(NounIn *in, Slice key)
{
    if (name_valid(key))
        return ERR_OK;
    return problem_set(in->why, "invalid_name", "resources are the keys of managers");
}

static const FieldHooks keys_hooks = { NULL, NULL, NULL, check_key };

#define AT(tag, member, kind) STORED(QueueDef, tag, member, kind)

static const Field fields[] = {
    { .name = "tenant",
      .stored = AT(40, tenant, FIELD_SLICE),
      .type = AS_TENANT,
      .use = USE_SHOWN,
      .meaning = "whose queue it is" },
    { .name = "name",
      .stored = AT(41, name, FIELD_SLICE),
      .type = AS_OWN_NAME,
      .use = USE_SHOWN,
      .meaning = "of the queue" },
    { .name = "paused",
      .stored = AT(1, paused, FIELD_BOOL),
      .type = AS_BOOL,
      .use = USE_BOTH,
      .meaning = "true: nothing more of it starts" },
    { .name = "pause_reason",
      .stored = AT(42, pause_reason, FIELD_SLICE),
      .type = AS_TEXT,
      .use = USE_BOTH,
      .most = QUEUE_REASON_BYTES,
      .meaning = "why it is paused" },
    { .name = "paused_until",
      .stored = AT(2, paused_until_ms, FIELD_64),
      .type = AS_TIME,
      .use = USE_BOTH,
      .meaning = "when it goes on by itself; null: when someone resumes it" },
    { .stored = AT(3, has_slots, FIELD_BOOL) },
    { .name = "slots",
      .stored = AT(4, slots, FIELD_32),
      .type = AS_COUNT,
      .use = USE_BOTH,
      .most = QUEUE_SLOTS_MAX,
      .has = HAS(QueueDef, has_slots),
      .option = "slots",
      .meaning = "running at once on each node" },
    { .stored = AT(5, has_min, FIELD_BOOL) },
    { .name = "priority_min",
      .stored = AT(6, priority_min, FIELD_64),
      .type = AS_COUNT,
      .use = USE_BOTH,
      .least = PRIORITY_MIN,
      .most = PRIORITY_MAX,
      .has = HAS(QueueDef, has_min),
      .option = "priority-min",
      .meaning = "the lowest priority it takes" },
    { .stored = AT(7, has_max, FIELD_BOOL) },
    { .name = "priority_max",
      .stored = AT(8, priority_max, FIELD_64),
      .type = AS_COUNT,
      .use = USE_BOTH,
      .least = PRIORITY_MIN,
      .most = PRIORITY_MAX,
      .has = HAS(QueueDef, has_max),
      .option = "priority-max",
      .meaning = "the highest priority it takes" },
    { .stored = AT(9, has_default, FIELD_BOOL) },
    { .name = "default_priority",
      .stored = AT(10, default_priority, FIELD_64),
      .type = AS_COUNT,
      .use = USE_BOTH,
      .least = PRIORITY_MIN,
      .most = PRIORITY_MAX,
      .has = HAS(QueueDef, has_default),
      .option = "default-priority",
      .meaning = "of jobs that say none" },
    { .name = "policy",
      .stored = AT(11, policy, FIELD_32),
      .type = AS_ENUM,
      .use = USE_BOTH,
      .words = policies,
      .option = "policy",
      .meaning = "fair, skip or backfill" },
    { .name = "resources",
      .stored = AT(43, resources, FIELD_SLICE),
      .type = AS_LIST,
      .use = USE_BOTH,
      .most = RESOURCES_PER_JOB,
      .hooks = &keys_hooks,
      .option = "resources",
      .meaning = "managers that charge every job" },
    { .name = "rate",
      .stored = AT(12, rate_jobs, FIELD_32),
      .type = AS_CUSTOM,
      .use = USE_BOTH,
      .hooks = &rate_hooks,
      .schema = "\"type\":[\"object\",\"string\",\"null\"],\"properties\":{\"jobs\":{"
                "\"type\":\"integer\"},\"per\":{\"type\":\"string\"}}",
      .option = "rate",
      .meaning = "how many may start: 10/s, 5/min, 100/h" },
    { .stored = AT(13, rate_ms, FIELD_64) },
    { .name = "aging",
      .stored = AT(14, aging_milli, FIELD_64),
      .type = AS_CUSTOM,
      .use = USE_BOTH,
      .most = QUEUE_AGING_MAX,
      .hooks = &aging_hooks,
      .schema = "\"type\":[\"number\",\"null\"]",
      .option = "aging",
      .meaning = "priority gained per minute of waiting" },
    { .name = "nice",
      .stored = AT(15, nice, FIELD_BOOL),
      .type = AS_BOOL,
      .use = USE_BOTH,
      .option = "nice",
      .meaning = "low priorities run with a high niceness" },
    { .name = "defined",
      .type = AS_FACT,
      .use = USE_SHOWN,
      .schema = SCHEMA_BOOL,
      .meaning = "false: it is only used" },
    FACT_DECLARED,
    { .name = "jobs",
      .type = AS_FACT,
      .use = USE_SHOWN,
      .schema = SCHEMA_COUNTS,
      .meaning = "how many there are of it, by state" },
    { .name = "running",
      .type = AS_FACT,
      .use = USE_SHOWN,
      .schema = SCHEMA_COUNT,
      .meaning = "how many of them run, paused ones too" },
    { .name = "head_wait_ms",
      .type = AS_FACT,
      .use = USE_SHOWN,
      .schema = "\"type\":[\"integer\",\"null\"]",
      .meaning = "how long the first ready job has waited" },
};
#undef AT

NOUN_STORED(queue, fields, NULL)

static int64_t clamp(const QueueDef *def, int64_t priority)
{
    if (def->has_min && priority < def->priority_min)
        return def->priority_min;
    return def->has_max && priority > def->priority_max ? def->priority_max : priority;
}

static Err check_queue(NounIn *in)
{
    QueueDef *def = in->object;
    if (!def->paused) {
        def->paused_until_ms = 0;
        def->pause_reason = (Slice){ NULL, 0 };
    }
    def->tenant = in->tenant;
    def->name = in->name;
    if (def->has_min && def->has_max && def->priority_min > def->priority_max)
        return problem_set(in->why, "invalid_value",
                           "priority_min is larger than priority_max");
    if (def->has_default && clamp(def, def->default_priority) != def->default_priority)
        return problem_set(in->why, "invalid_value",
                           "default_priority is outside the queue's own range");
    return ERR_OK;
}

const Noun queue_noun = {
    .name = "queue",
    .a = "a queue",
    .plural = "queues",
    .section = "queues",
    .table = QUEUE_TABLE,
    .missing = "queue_not_found",
    .fields = fields,
    .count = NOUN_COUNT(fields),
    .bytes = sizeof(QueueDef),
    .stored = &queue_stored,
    .name_valid = queue_name_valid,
    .tenants = true,
    .undefined = true,
    .check = check_queue,
};

void queue_pack(Buf *out, const QueueDef *def)
{
    noun_pack(out, &queue_noun, def);
}

Err queue_unpack(Slice packed, QueueDef *out_def)
{
    QueueDef def;
    Err err = noun_unpack(packed, &queue_noun, &def);
    if (!err)
        *out_def = def;
    return err;
}

QueueDef queue_copy(Arena *arena, const QueueDef *def)
{
    QueueDef copy = *def;
    noun_keep(&queue_noun, arena, &copy);
    return copy;
}

/* --- A node's own slots --------------------------------------------------------------
 */

#define AT(tag, member, kind) STORED(NodeSlots, tag, member, kind)

/* The list without `queue`, and with its new number unless it is null. */
static Err put_slots(NounIn *in, const JsonIn *value)
{
    NodeSlots *slots = in->object;
    int64_t number = 0;
    Buf list = { 0 };
    if (!queue_name_valid(value->key))
        return problem_set(in->why, "invalid_name", "this is no valid name of a queue");
    if (value->kind != JSON_IN_NULL &&
        (json_in_int(value, &number) || number < 0 || number > QUEUE_SLOTS_MAX))
        return problem_set(in->why, "invalid_value", "slots are a number from 0 to %d",
                           QUEUE_SLOTS_MAX);
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
    slots->queues = slice_copy(in->arena, buf_slice(&list));
    buf_done(&list);
    return ERR_OK;
}

/* A patch of its own: queues that are not named keep their number. */
static Err read_queues(NounIn *in, const Field *field, const JsonIn *value)
{
    (void)field;
    if (value->kind != JSON_IN_OBJECT)
        return field_wrong_type(in, value, "an object {name: slots}");
    for (const JsonIn *at = json_in_first(value); at; at = at->next) {
        Err err = put_slots(in, at);
        if (err)
            return err;
    }
    return ERR_OK;
}

static const FieldHooks queues_hooks = { read_queues, NULL, NULL, NULL };

static const Field slots_fields[] = {
    { .stored = AT(1, has_slots, FIELD_BOOL) },
    { .name = "slots",
      .stored = AT(2, slots, FIELD_32),
      .type = AS_COUNT,
      .use = USE_BOTH,
      .most = QUEUE_SLOTS_MAX,
      .has = HAS(NodeSlots, has_slots),
      .option = "slots",
      .meaning = "jobs that run at once there; null: as on every node" },
    { .name = "queues",
      .stored = AT(40, queues, FIELD_SLICE),
      .type = AS_AMOUNTS,
      .use = USE_BOTH,
      .hooks = &queues_hooks,
      .schema = "\"type\":[\"object\",\"null\"],\"additionalProperties\":{"
                "\"type\":[\"integer\",\"null\"]}",
      .meaning = "and of one queue; null takes one back" },
};
#undef AT

NOUN_STORED(slots, slots_fields, NULL)

const Noun slots_noun = {
    .name = "node",
    .a = "a node",
    .plural = "nodes",
    .table = SLOTS_TABLE,
    .missing = "node_not_found",
    .fields = slots_fields,
    .count = NOUN_COUNT(slots_fields),
    .bytes = sizeof(NodeSlots),
    .stored = &slots_stored,
    .name_valid = name_valid,
};

void slots_pack(Buf *out, const NodeSlots *slots)
{
    noun_pack(out, &slots_noun, slots);
}

Err slots_unpack(Slice packed, NodeSlots *out_slots)
{
    NodeSlots slots;
    Err err = noun_unpack(packed, &slots_noun, &slots);
    if (!err)
        *out_slots = slots;
    return err;
}

NodeSlots slots_copy(Arena *arena, const NodeSlots *slots)
{
    NodeSlots copy = *slots;
    noun_keep(&slots_noun, arena, &copy);
    return copy;
}
