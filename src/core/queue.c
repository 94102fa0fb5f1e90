/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - see queue.h. */
#include "core/queue.h"

#include "base/fields.h"
#include "base/text.h"
#include "core/job.h"

#include <stddef.h>

#define NICE_MAX    19
#define NICE_TOP    10 /* 003's priorities */
#define NICE_BOTTOM 1

const char *policy_name(QueuePolicy policy)
{
    switch (policy) {
    case POLICY_FAIR:
        return "fair";
    case POLICY_SKIP:
        return "skip";
    case POLICY_BACKFILL:
        return "backfill";
    }
    return "?";
}

Err policy_parse(Slice text, QueuePolicy *out_policy)
{
    for (unsigned policy = 0; policy < QUEUE_POLICIES; policy++) {
        if (!slice_is(text, policy_name((QueuePolicy)policy)))
            continue;
        *out_policy = (QueuePolicy)policy;
        return ERR_OK;
    }
    return ERR_INVALID;
}

#define ROW(tag, member, kind)                                                           \
    {                                                                                    \
        (tag), offsetof(QueueDef, member), (kind)                                        \
    }

static const FieldRow queue_rows[] = {
    ROW(1, paused, FIELD_BOOL),      ROW(2, paused_until_ms, FIELD_64),
    ROW(3, has_slots, FIELD_BOOL),   ROW(4, slots, FIELD_32),
    ROW(5, has_min, FIELD_BOOL),     ROW(6, priority_min, FIELD_64),
    ROW(7, has_max, FIELD_BOOL),     ROW(8, priority_max, FIELD_64),
    ROW(9, has_default, FIELD_BOOL), ROW(10, default_priority, FIELD_64),
    ROW(11, policy, FIELD_32),       ROW(12, rate_jobs, FIELD_32),
    ROW(13, rate_ms, FIELD_64),      ROW(14, aging_milli, FIELD_64),
    ROW(15, nice, FIELD_BOOL),       ROW(40, tenant, FIELD_SLICE),
    ROW(41, name, FIELD_SLICE),      ROW(42, pause_reason, FIELD_SLICE),
    ROW(43, resources, FIELD_SLICE),
};
static const Fields queue_fields = { queue_rows, FIELDS_COUNT(queue_rows), NULL };

_Static_assert(sizeof(QueuePolicy) == sizeof(uint32_t), "enums are read as 32 bits");

void queue_pack(Buf *out, const QueueDef *def)
{
    fields_pack(out, &queue_fields, def);
}

Err queue_unpack(Slice packed, QueueDef *out_def)
{
    QueueDef def = { 0 };
    PackField in;
    while (pack_next(&packed, &in))
        if (fields_set(&queue_fields, &in, &def))
            return ERR_CORRUPT;
    if (pack_damaged(packed) || (unsigned)def.policy >= QUEUE_POLICIES)
        return ERR_CORRUPT;
    *out_def = def;
    return ERR_OK;
}

QueueDef queue_copy(Arena *arena, const QueueDef *def)
{
    QueueDef copy = *def;
    fields_keep(&queue_fields, arena, &copy);
    return copy;
}

#undef ROW
#define ROW(tag, member, kind)                                                           \
    {                                                                                    \
        (tag), offsetof(NodeSlots, member), (kind)                                       \
    }

static const FieldRow slots_rows[] = {
    ROW(1, has_slots, FIELD_BOOL),
    ROW(2, slots, FIELD_32),
    ROW(40, queues, FIELD_SLICE),
};
static const Fields slots_fields = { slots_rows, FIELDS_COUNT(slots_rows), NULL };

void slots_pack(Buf *out, const NodeSlots *slots)
{
    fields_pack(out, &slots_fields, slots);
}

Err slots_unpack(Slice packed, NodeSlots *out_slots)
{
    NodeSlots slots = { 0 };
    PackField in;
    while (pack_next(&packed, &in))
        if (fields_set(&slots_fields, &in, &slots))
            return ERR_CORRUPT;
    if (pack_damaged(packed))
        return ERR_CORRUPT;
    *out_slots = slots;
    return ERR_OK;
}

NodeSlots slots_copy(Arena *arena, const NodeSlots *slots)
{
    NodeSlots copy = *slots;
    fields_keep(&slots_fields, arena, &copy);
    return copy;
}

bool slots_of_queue(const NodeSlots *slots, Slice queue, uint32_t *out)
{
    Slice rest = slots->queues;
    for (Slice item; list_next(&rest, &item);) {
        int64_t number;
        Slice value = item;
        Slice name = slice_cut(&value, '=');
        if (!slice_equal(name, queue) || int_parse(value, &number))
            continue;
        *out = (uint32_t)number;
        return true;
    }
    return false;
}

bool queue_paused(const QueueDef *def, int64_t wall_ms)
{
    return def->paused && (!def->paused_until_ms || wall_ms < def->paused_until_ms);
}

bool queue_takes_priority(const QueueDef *def, int64_t priority)
{
    return queue_clamp_priority(def, priority) == priority;
}

int64_t queue_clamp_priority(const QueueDef *def, int64_t priority)
{
    if (def && def->has_min && priority < def->priority_min)
        return def->priority_min;
    if (def && def->has_max && priority > def->priority_max)
        return def->priority_max;
    return priority;
}

int64_t queue_default_priority(const QueueDef *def)
{
    bool said = def && def->has_default;
    return queue_clamp_priority(def, said ? def->default_priority : PRIORITY_DEFAULT);
}

int queue_nice(const QueueDef *def, int64_t priority)
{
    if (!def || !def->nice)
        return 0;
    int64_t top = def->has_max ? def->priority_max : NICE_TOP;
    int64_t bottom = def->has_min ? def->priority_min : NICE_BOTTOM;
    if (priority >= top || bottom >= top)
        return 0;
    if (priority <= bottom)
        return NICE_MAX;
    return (int)((top - priority) * NICE_MAX / (top - bottom));
}

int64_t queue_age_ms(const QueueDef *def)
{
    if (!def || def->aging_milli <= 0)
        return 0;
    int64_t age_ms = MS_PER_MIN * 1000 / def->aging_milli;
    return age_ms ? age_ms : 1;
}

static void fill(Bucket *bucket, const QueueDef *def, int64_t boot_ms)
{
    int64_t most = (int64_t)def->rate_jobs * def->rate_ms;
    int64_t passed = boot_ms - bucket->filled_boot;
    if (!bucket->begun || passed >= def->rate_ms) {
        bucket->parts = most; /* full at first, and after a whole period */
    } else if (passed > 0) {
        bucket->parts += passed * def->rate_jobs;
    }
    if (bucket->parts > most)
        bucket->parts = most;
    bucket->begun = true;
    bucket->filled_boot = boot_ms;
}

bool bucket_ready(Bucket *bucket, const QueueDef *def, int64_t boot_ms, int64_t *out_boot)
{
    if (!def->rate_jobs || !def->rate_ms)
        return true;
    fill(bucket, def, boot_ms);
    if (bucket->parts >= def->rate_ms)
        return true;
    int64_t missing = def->rate_ms - bucket->parts;
    *out_boot = boot_ms + (missing + def->rate_jobs - 1) / def->rate_jobs;
    return false;
}

void bucket_take(Bucket *bucket, const QueueDef *def, int64_t boot_ms)
{
    if (!def->rate_jobs || !def->rate_ms)
        return;
    fill(bucket, def, boot_ms);
    bucket->parts -= def->rate_ms;
    if (bucket->parts < 0)
        bucket->parts = 0;
}
