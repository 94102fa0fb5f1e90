/* SPDX-License-Identifier: Apache-2.0 */
/* operation.c - see operation.h. */
#include "core/operation.h"

#include "base/fields.h"

#include <stddef.h>

const char *operation_state_name(OperationState state)
{
    static const char *const names[] = { "running", "done", "stopped", "failed" };
    return names[state];
}

#define ROW(tag, member, kind)                                                           \
    {                                                                                    \
        (tag), offsetof(Operation, member), (kind)                                       \
    }

static const FieldRow rows[] = {
    ROW(1, id, FIELD_64),
    ROW(2, state, FIELD_32),
    ROW(3, action, FIELD_32),
    ROW(4, dry_run, FIELD_BOOL),
    ROW(5, before, FIELD_64),
    ROW(6, count, FIELD_64),
    ROW(7, acted, FIELD_64),
    ROW(8, refused, FIELD_64),
    ROW(9, created_ms, FIELD_64),
    ROW(10, finished_ms, FIELD_64),
    ROW(11, patch.fields, FIELD_32),
    ROW(12, patch.priority, FIELD_64),
    ROW(13, tenant, FIELD_SLICE),
    ROW(14, query, FIELD_SLICE),
    ROW(15, reason, FIELD_SLICE),
    ROW(16, patch.queue, FIELD_SLICE),
    ROW(17, patch.run_at_ms, FIELD_64),
    ROW(18, patch.max_run_ms, FIELD_64),
    ROW(19, patch.tags, FIELD_SLICE),
};

void operation_pack(Buf *out, const Operation *operation)
{
    const Operation defaults = { 0 };
    const Fields fields = { rows, FIELDS_COUNT(rows), &defaults };
    fields_pack(out, &fields, operation);
}

Err operation_unpack(Slice packed, Operation *out)
{
    const Operation defaults = { 0 };
    const Fields fields = { rows, FIELDS_COUNT(rows), &defaults };
    Operation operation = defaults;
    PackField in;
    while (pack_next(&packed, &in))
        if (fields_set(&fields, &in, &operation))
            return ERR_CORRUPT;
    if (pack_damaged(packed) || (unsigned)operation.state > OPERATION_FAILED ||
        (unsigned)operation.action >= ACTIONS)
        return ERR_CORRUPT;
    *out = operation;
    return ERR_OK;
}
