/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - see group.h. */
#include "core/group.h"

#include "base/fields.h"
#include "base/json_out.h"
#include "base/map.h"

#include <stddef.h>

uint64_t group_total(const GroupCounts *counts)
{
    uint64_t total = 0;
    for (unsigned state = 0; state < JOB_STATES; state++)
        total += counts->of[state];
    return total;
}

uint64_t group_open(const GroupCounts *counts)
{
    uint64_t open = 0;
    for (unsigned state = 0; state < JOB_STATES; state++)
        if (!state_in((JobState)state, STATES_FINAL))
            open += counts->of[state];
    return open;
}

static const FieldRow rows[] = {
    { 1, offsetof(GroupDefinition, then), FIELD_SLICE },
    { 2, offsetof(GroupDefinition, completion), FIELD_64 },
    { 3, offsetof(GroupDefinition, created_ms), FIELD_64 },
    { 4, offsetof(GroupDefinition, asked_ms), FIELD_64 },
};

void group_pack(Buf *out, const GroupDefinition *group)
{
    const GroupDefinition defaults = { 0 };
    const Fields fields = { rows, FIELDS_COUNT(rows), &defaults };
    fields_pack(out, &fields, group);
}

Err group_unpack(Slice packed, GroupDefinition *out_group)
{
    const GroupDefinition defaults = { 0 };
    const Fields fields = { rows, FIELDS_COUNT(rows), &defaults };
    GroupDefinition group = defaults;
    PackField in;
    while (pack_next(&packed, &in))
        if (fields_set(&fields, &in, &group))
            return ERR_CORRUPT;
    if (pack_damaged(packed))
        return ERR_CORRUPT;
    *out_group = group;
    return ERR_OK;
}

uint64_t group_number(Slice tenant, Slice name)
{
    uint64_t hash = hash_u64(hash_bytes(tenant.data, tenant.bytes)) ^
                    hash_bytes(name.data, name.bytes);
    hash = hash_u64(hash);
    return hash ? hash : 1; /* 0 is no group */
}

void group_summary(Buf *out, Slice name, const GroupCounts *counts)
{
    JsonOut json = { .out = out };
    json_object(&json, NULL);
    json_text(&json, "group", name);
    json_int(&json, "total", (int64_t)group_total(counts));
    for (unsigned state = JOB_DONE; state < JOB_STATES; state++)
        json_int(&json, state_name((JobState)state), (int64_t)counts->of[state]);
    json_object_end(&json);
}
