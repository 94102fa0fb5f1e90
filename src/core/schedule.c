/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - see schedule.h. */
#include "core/schedule.h"

#include "base/fields.h"

#define STATE_ROW(tag, member, kind)                                                     \
    {                                                                                    \
        (tag), offsetof(ScheduleState, member), (kind)                                   \
    }

static const FieldRow state_rows[] = {
    STATE_ROW(1, created_ms, FIELD_64), STATE_ROW(2, planned_ms, FIELD_64),
    STATE_ROW(3, fired_ms, FIELD_64),   STATE_ROW(4, job, FIELD_64),
    STATE_ROW(5, fired, FIELD_64),      STATE_ROW(6, missed, FIELD_64),
    STATE_ROW(7, missed_ms, FIELD_64),  STATE_ROW(8, skipped, FIELD_64),
    STATE_ROW(9, waiting, FIELD_BOOL),  STATE_ROW(10, dropped, FIELD_64),
};
static const Fields state_fields = { state_rows, FIELDS_COUNT(state_rows), NULL };

void schedule_state_pack(Buf *out, const ScheduleState *state)
{
    fields_pack(out, &state_fields, state);
}

Err schedule_state_unpack(Slice packed, ScheduleState *out)
{
    ScheduleState state = { 0 };
    PackField in;
    while (pack_next(&packed, &in))
        if (fields_set(&state_fields, &in, &state))
            return ERR_CORRUPT;
    if (pack_damaged(packed))
        return ERR_CORRUPT;
    *out = state;
    return ERR_OK;
}
