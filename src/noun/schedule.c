/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - see schedule.h. */
#include "noun/schedule.h"

#include "base/text.h"
#include "noun/facts.h"

static const char *const missed_words[] = {
    [MISSED_SKIP] = "skip", [MISSED_ONCE] = "once", [MISSED_ALL] = "all", NULL
};
static const char *const overlap_words[] = { [OVERLAP_ALLOW] = "allow",
                                             [OVERLAP_SKIP] = "skip",
                                             [OVERLAP_QUEUE] = "queue",
                                             [OVERLAP_REPLACE] = "replace",
                                             NULL };

_Static_assert(sizeof(Missed) == sizeof(uint32_t), "enums are read as 32 bits");
_Static_assert(sizeof(Overlap) == sizeof(uint32_t), "enums are read as 32 bits");

#define AT(tag, member, kind) STORED(Schedule, tag, member, kind)
#define WHEN                  "\"type\":[\"string\",\"null\"],\"format\":\"date-time\""
#define FACT(field, form, sentence)                                                      \
    {                                                                                    \
        .name = (field), .type = AS_FACT, .use = USE_SHOWN, .schema = form,              \
        .meaning = (sentence)                                                            \
    }

static const Field fields[] = {
    { .name = "name",
      .type = AS_OWN_NAME,
      .use = USE_SHOWN,
      .meaning = "of the schedule" },
    { .name = "tenant",
      .type = AS_TENANT,
      .use = USE_SHOWN,
      .meaning = "whose schedule it is" },
    { .name = "cron",
      .stored = AT(40, cron, FIELD_SLICE),
      .type = AS_TEXT,
      .use = USE_BOTH | USE_ALWAYS | USE_REQUIRED,
      .most = SCHEDULE_CRON_MAX,
      .option = "cron",
      .meaning = "when: five fields, @daily and the like, or @every 10m" },
    { .name = "tz",
      .stored = AT(41, tz, FIELD_SLICE),
      .type = AS_TEXT,
      .use = USE_BOTH,
      .most = SCHEDULE_ZONE_NAME,
      .option = "tz",
      .meaning = "time zone, e.g. Europe/Paris; default: UTC" },
    { .stored = AT(42, zone, FIELD_SLICE) },
    { .name = "missed",
      .stored = AT(1, missed, FIELD_32),
      .type = AS_ENUM,
      .use = USE_BOTH,
      .words = missed_words,
      .option = "missed",
      .meaning = "what becomes of times that were missed; default: skip" },
    { .name = "overlap",
      .stored = AT(2, overlap, FIELD_32),
      .type = AS_ENUM,
      .use = USE_BOTH,
      .words = overlap_words,
      .option = "overlap",
      .meaning = "while the job before is not final; default: allow" },
    { .name = "paused",
      .stored = AT(3, paused, FIELD_BOOL),
      .type = AS_BOOL,
      .use = USE_BOTH,
      .option = "paused",
      .meaning = "true: it adds nothing" },
    { .stored = AT(43, job, FIELD_SLICE) },
    FACT("next_at", WHEN, "the next planned time"),
    FACT("last_at", WHEN, "the last planned time that gave a job"),
    FACT("last_job", "\"type\":[\"string\",\"null\"]", "id of the last job"),
    FACT("fired_count", SCHEMA_COUNT, "jobs it gave"),
    FACT("missed_count", SCHEMA_COUNT, "planned times that were missed"),
    FACT("dropped_count", SCHEMA_COUNT,
         "missed times that gave no job because there were more than 1000 at once"),
    FACT("missed_at", WHEN, "when that was last noticed"),
    FACT("skipped_count", SCHEMA_COUNT, "times skipped because of an overlap"),
    FACT("waiting", SCHEMA_BOOL, "a time waits for the job before"),
    FACT("created_at", WHEN, "when it was first set"),
    FACT_DECLARED,
};
#undef AT

NOUN_STORED(schedule, fields, NULL)

static const Schedule usual = { .tz = SLICE_INIT("UTC") };

const Noun schedule_noun = {
    .name = "schedule",
    .a = "a schedule",
    .plural = "schedules",
    .section = "schedules",
    .table = SCHEDULE_TABLE,
    .missing = "schedule_not_found",
    .fields = fields,
    .count = NOUN_COUNT(fields),
    .bytes = sizeof(Schedule),
    .defaults = &usual,
    .stored = &schedule_stored,
    .name_valid = name_valid,
    .tenants = true,
};

void schedule_pack(Buf *out, const Schedule *schedule)
{
    noun_pack(out, &schedule_noun, schedule);
}

Err schedule_unpack(Slice packed, Schedule *out)
{
    Schedule schedule;
    Err err = noun_unpack(packed, &schedule_noun, &schedule);
    if (!err)
        *out = schedule;
    return err;
}

Schedule schedule_copy(Arena *arena, const Schedule *schedule)
{
    Schedule copy = *schedule;
    noun_keep(&schedule_noun, arena, &copy);
    return copy;
}
