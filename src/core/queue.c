/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - see queue.h. */
#include "core/queue.h"

#include "base/text.h"
#include "core/job.h"

#define NICE_MAX    19
#define NICE_TOP    10 /* 003's priorities */
#define NICE_BOTTOM 1

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
