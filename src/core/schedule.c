/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - see schedule.h. */
#include "core/schedule.h"

#include "base/fields.h"

const char *missed_name(Missed missed)
{
    switch (missed) {
    case MISSED_SKIP:
        return "skip";
    case MISSED_ONCE:
        return "once";
    case MISSED_ALL:
        return "all";
    }
    return "?";
}

const char *overlap_name(Overlap overlap)
{
    switch (overlap) {
    case OVERLAP_ALLOW:
        return "allow";
    case OVERLAP_SKIP:
        return "skip";
    case OVERLAP_QUEUE:
        return "queue";
    case OVERLAP_REPLACE:
        return "replace";
    }
    return "?";
}

Err missed_parse(Slice text, Missed *out)
{
    for (unsigned i = 0; i < MISSED_WORDS; i++) {
        if (!slice_is(text, missed_name((Missed)i)))
            continue;
        *out = (Missed)i;
        return ERR_OK;
    }
    return ERR_INVALID;
}

Err overlap_parse(Slice text, Overlap *out)
{
    for (unsigned i = 0; i < OVERLAP_WORDS; i++) {
        if (!slice_is(text, overlap_name((Overlap)i)))
            continue;
        *out = (Overlap)i;
        return ERR_OK;
    }
    return ERR_INVALID;
}

#define ROW(tag, member, kind)                                                           \
    {                                                                                    \
        (tag), offsetof(Schedule, member), (kind)                                        \
    }
#define STATE_ROW(tag, member, kind)                                                     \
    {                                                                                    \
        (tag), offsetof(ScheduleState, member), (kind)                                   \
    }

static const FieldRow rows[] = {
    ROW(1, missed, FIELD_32),   ROW(2, overlap, FIELD_32), ROW(3, paused, FIELD_BOOL),
    ROW(40, cron, FIELD_SLICE), ROW(41, tz, FIELD_SLICE),  ROW(42, zone, FIELD_SLICE),
    ROW(43, job, FIELD_SLICE),
};
static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

static const FieldRow state_rows[] = {
    STATE_ROW(1, created_ms, FIELD_64), STATE_ROW(2, planned_ms, FIELD_64),
    STATE_ROW(3, fired_ms, FIELD_64),   STATE_ROW(4, job, FIELD_64),
    STATE_ROW(5, fired, FIELD_64),      STATE_ROW(6, missed, FIELD_64),
    STATE_ROW(7, missed_ms, FIELD_64),  STATE_ROW(8, skipped, FIELD_64),
    STATE_ROW(9, waiting, FIELD_BOOL),  STATE_ROW(10, dropped, FIELD_64),
};
static const Fields state_fields = { state_rows, FIELDS_COUNT(state_rows), NULL };

_Static_assert(sizeof(Missed) == sizeof(uint32_t), "enums are read as 32 bits");
_Static_assert(sizeof(Overlap) == sizeof(uint32_t), "enums are read as 32 bits");

void schedule_pack(Buf *out, const Schedule *schedule)
{
    fields_pack(out, &fields, schedule);
}

Err schedule_unpack(Slice packed, Schedule *out)
{
    Schedule schedule = { 0 };
    PackField in;
    while (pack_next(&packed, &in))
        if (fields_set(&fields, &in, &schedule))
            return ERR_CORRUPT;
    if (pack_damaged(packed) || (unsigned)schedule.missed >= MISSED_WORDS ||
        (unsigned)schedule.overlap >= OVERLAP_WORDS)
        return ERR_CORRUPT;
    *out = schedule;
    return ERR_OK;
}

Schedule schedule_copy(Arena *arena, const Schedule *schedule)
{
    Schedule copy = *schedule;
    fields_keep(&fields, arena, &copy);
    return copy;
}

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
