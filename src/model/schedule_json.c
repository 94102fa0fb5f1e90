/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_json.c - see schedule_json.h. */
#include "model/schedule_json.h"

#include "base/text.h"
#include "model/zone_file.h"

#include <stdio.h>

typedef enum RowKind {
    ROW_OURS, /* written by the daemon; not looked at when it is sent back */
    ROW_PATH, /* stands in the path too */
    ROW_OWN,  /* the schedule's own */
    ROW_NOT,  /* of jobs, but not of a schedule's */
} RowKind;

typedef struct ScheduleRow {
    JobField field;
    RowKind kind;
} ScheduleRow;

#define TEXT  "\"type\":[\"string\",\"null\"]"
#define WHEN  "\"type\":[\"string\",\"null\"],\"format\":\"date-time\""
#define COUNT "\"type\":\"integer\""
#define BOOL  "\"type\":\"boolean\""

static const ScheduleRow rows[] = {
    { { "name", true, "\"type\":\"string\"", "of the schedule" }, ROW_PATH },
    { { "tenant", true, "\"type\":\"string\"", "whose schedule it is" }, ROW_PATH },
    { { "cron", true, "\"type\":\"string\"",
        "five fields, @daily and the like, or @every 10m" },
      ROW_OWN },
    { { "tz", true, TEXT, "time zone, e.g. Europe/Paris; default: UTC" }, ROW_OWN },
    { { "missed", true, "\"type\":\"string\",\"enum\":[\"skip\",\"once\",\"all\"]",
        "what becomes of times that were missed; default: skip" },
      ROW_OWN },
    { { "overlap", true,
        "\"type\":\"string\",\"enum\":[\"allow\",\"skip\",\"queue\",\"replace\"]",
        "while the job before is not final; default: allow" },
      ROW_OWN },
    { { "paused", true, BOOL, "true: it adds nothing" }, ROW_OWN },
    { { "job_name", true, TEXT, "the name of its jobs" }, ROW_OWN },
    { { "next_at", false, WHEN, "the next planned time" }, ROW_OURS },
    { { "last_at", false, WHEN, "the last planned time that gave a job" }, ROW_OURS },
    { { "last_job", false, TEXT, "id of the last job" }, ROW_OURS },
    { { "fired_count", false, COUNT, "jobs it gave" }, ROW_OURS },
    { { "missed_count", false, COUNT, "planned times that were missed" }, ROW_OURS },
    { { "dropped_count", false, COUNT,
        "missed times that gave no job because there were more than 1000 at once" },
      ROW_OURS },
    { { "missed_at", false, WHEN, "when that was last noticed" }, ROW_OURS },
    { { "skipped_count", false, COUNT, "times skipped because of an overlap" },
      ROW_OURS },
    { { "waiting", false, BOOL, "a time waits for the job before" }, ROW_OURS },
    { { "created_at", false, WHEN, "when it was first set" }, ROW_OURS },
    { { "declared", false, BOOL, "it stands in the configuration file" }, ROW_OURS },
    { { "run_at", false, WHEN, "" }, ROW_NOT },
    { { "delay", false, TEXT, "" }, ROW_NOT },
    { { "held", false, BOOL, "" }, ROW_NOT },
    { { "after", false, TEXT, "" }, ROW_NOT },
};
#define ROWS (sizeof rows / sizeof *rows)

static const ScheduleRow *row_find(Slice name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (slice_is(name, rows[i].field.name))
            return &rows[i];
    return NULL;
}

/* Its own fields, then those of the jobs it adds. */
const JobField *schedule_field(size_t index)
{
    size_t at = 0;
    size_t count;
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].kind != ROW_NOT && at++ == index)
            return &rows[i].field;
    const JobField *fields = job_fields(&count);
    for (size_t i = 0; i < count; i++)
        if (fields[i].client && !row_find(slice_text(fields[i].name)) && at++ == index)
            return &fields[i];
    return NULL;
}

/* --- Reading --------------------------------------------------------------------------
 */

#define BAD(in, code, ...) problem_set(&(in)->job.why, (code), __VA_ARGS__)

static Err read_text(ScheduleReader *in, const JsonIn *value, Slice *out)
{
    if (value->kind == JSON_IN_TEXT) {
        *out = value->as.text;
        return ERR_OK;
    }
    return BAD(in, "wrong_type", SLICE_FMT " must be a string, not %s",
               SLICE_ARG(value->key), json_in_kind_name(value->kind));
}

static Err read_word(ScheduleReader *in, const JsonIn *value)
{
    Slice word;
    Err err = read_text(in, value, &word);
    if (err)
        return err;
    bool missed = slice_is(value->key, "missed");
    err = missed ? missed_parse(word, &in->schedule.missed)
                 : overlap_parse(word, &in->schedule.overlap);
    if (!err)
        return ERR_OK;
    BAD(in, "invalid_value", "%s cannot be '" SLICE_FMT "'",
        missed ? "missed" : "overlap",
        SLICE_ARG(slice_of(word.data, word.bytes > 40 ? 40 : word.bytes)));
    problem_hint(&in->job.why, "one of %s",
                 missed ? "skip, once, all" : "allow, skip, queue, replace");
    return ERR_INVALID;
}

static Err read_cron(ScheduleReader *in, const JsonIn *value)
{
    Cron cron;
    Error why = { 0 };
    Err err = read_text(in, value, &in->schedule.cron);
    if (err || !cron_parse(in->schedule.cron, &cron, &why))
        return err;
    return BAD(in, "invalid_value", "%s", why.text);
}

static Err read_zone(ScheduleReader *in, const JsonIn *value)
{
    Error why = { 0 };
    Buf bytes = { 0 };
    if (value->kind == JSON_IN_NULL)
        return ERR_OK;
    Err err = read_text(in, value, &in->schedule.tz);
    if (err)
        return err;
    err = zone_file_read(in->schedule.tz, &bytes, &why);
    in->schedule.zone = slice_copy(in->job.arena, buf_slice(&bytes));
    buf_done(&bytes);
    return err ? BAD(in, "invalid_value", "%s", why.text) : ERR_OK;
}

static Err read_own(ScheduleReader *in, const JsonIn *value)
{
    if (slice_is(value->key, "cron"))
        return read_cron(in, value);
    if (slice_is(value->key, "tz"))
        return read_zone(in, value);
    if (slice_is(value->key, "job_name")) {
        JsonIn name = *value;
        name.key = SLICE_LITERAL("name");
        return job_read_field(&in->job, &name);
    }
    if (!slice_is(value->key, "paused"))
        return read_word(in, value);
    if (value->kind != JSON_IN_BOOL)
        return BAD(in, "wrong_type", "paused must be true or false, not %s",
                   json_in_kind_name(value->kind));
    in->schedule.paused = value->as.truth;
    return ERR_OK;
}

static Err read_path(ScheduleReader *in, const JsonIn *value)
{
    Slice named = slice_is(value->key, "name") ? in->name : in->job.rules->tenant;
    if (value->kind == JSON_IN_TEXT && slice_equal(value->as.text, named))
        return ERR_OK;
    return BAD(in, "conflicting_fields",
               "'" SLICE_FMT "' is not the one that the path names",
               SLICE_ARG(value->key));
}

static Err read_field(ScheduleReader *in, const JsonIn *value)
{
    const ScheduleRow *row = row_find(value->key);
    if (!row)
        return job_read_field(&in->job, value);
    switch (row->kind) {
    case ROW_OURS:
        return ERR_OK;
    case ROW_PATH:
        return read_path(in, value);
    case ROW_OWN:
        return read_own(in, value);
    case ROW_NOT:
        break;
    }
    return BAD(in, "invalid_value", "the jobs of a schedule cannot have '%s'",
               row->field.name);
}

static Err read_all(ScheduleReader *in, const JsonIn *object)
{
    if (object->kind != JSON_IN_OBJECT)
        return BAD(in, "wrong_type", "a schedule is an object, not %s",
                   json_in_kind_name(object->kind));
    for (const JsonIn *at = json_in_first(object); at; at = at->next) {
        Err err = read_field(in, at);
        if (err && !in->job.why.pointer[0])
            problem_point(&in->job.why, at->key);
        if (err)
            return err;
    }
    if (!in->schedule.cron.bytes) {
        BAD(in, "missing_field", "a schedule needs cron, which says when");
        problem_hint(&in->job.why, "for example \"30 2 * * 1-5\" or \"@daily\"");
        return ERR_INVALID;
    }
    return job_read_end(&in->job);
}

Err schedule_read(ScheduleReader *in, const JsonIn *object)
{
    job_read_begin(&in->job);
    in->schedule = (Schedule){ .tz = SLICE_LITERAL("UTC") };
    Err err = read_all(in, object);
    if (err)
        return err;
    Buf packed = { 0 };
    job_pack(&packed, &in->job.job);
    in->schedule.job = slice_copy(in->job.arena, buf_slice(&packed));
    buf_done(&packed);
    return ERR_OK;
}

/* --- Writing --------------------------------------------------------------------------
 */

static void items_json(JsonOut *json, const char *key, Slice items)
{
    Slice item;
    json_array(json, key);
    while (list_next(&items, &item))
        json_text(json, NULL, item);
    json_array_end(json);
}

/* What was asked for; what its jobs will take from their handler is null. */
static void added_members(JsonOut *json, const Job *job)
{
    json_text(json, "type", job->type);
    if (job->command.bytes)
        items_json(json, "command", job->command);
    else
        json_null(json, "command");
    bytes_json(json, "payload", "payload_base64", job->payload);
    text_or_null(json, "queue", job->queue);
    if (job->priority == INT64_MIN)
        json_null(json, "priority");
    else
        json_int(json, "priority", job->priority);
    text_or_null(json, "job_name", job->name);
    items_json(json, "tags", job->tags);
    if (job->max_retries >= 0)
        json_int(json, "max_retries", job->max_retries);
    else
        json_null(json, "max_retries");
    duration_or_null(json, "retry_delay", job->retry_delay_ms);
    duration_or_null(json, "retry_window", job->retry_window_ms);
    duration_or_null(json, "max_run_time", job->max_run_ms);
    duration_or_null(json, "service_time", job->service_ms);
    pairs_json(json, "env", job->env, false);
    text_or_null(json, "cwd", job->cwd);
    text_or_null(json, "then", job->then);
    text_or_null(json, "on_error", job->on_error);
    text_or_null(json, "group", job->group);
    text_or_null(json, "user", job->user);
    pairs_json(json, "resources", job->resources, true);
}

/* The zone as it is in the schedule; false: it cannot be read. */
static bool zone_of(const Schedule *schedule, Zone *out)
{
    *out = (Zone){ 0 };
    return !schedule->zone.bytes || !zone_parse(schedule->zone, out, NULL);
}

static int64_t next_after(const Schedule *schedule, int64_t after_ms)
{
    Cron cron;
    Zone zone;
    if (cron_parse(schedule->cron, &cron, NULL) || !zone_of(schedule, &zone))
        return TIME_NEVER;
    int64_t next_ms = cron_next(&cron, &zone, after_ms);
    zone_done(&zone);
    return next_ms;
}

void schedule_json(JsonOut *json, const ScheduleView *view)
{
    const Schedule *schedule = &view->schedule;
    const ScheduleState *state = &view->state;
    char id[ID_TEXT_BYTES];
    Job job;
    json_object(json, NULL);
    json_text(json, "name", view->name);
    json_text(json, "tenant", view->tenant);
    json_text(json, "cron", schedule->cron);
    json_text(json, "tz", schedule->tz);
    json_cstr(json, "missed", missed_name(schedule->missed));
    json_cstr(json, "overlap", overlap_name(schedule->overlap));
    json_bool(json, "paused", schedule->paused);
    if (!job_unpack(schedule->job, &job))
        added_members(json, &job);
    json_time(json, "next_at",
              schedule->paused ? TIME_NEVER : next_after(schedule, state->planned_ms));
    json_time(json, "last_at", state->fired_ms);
    json_cstr(json, "last_job", state->job ? id_text(state->job, id) : NULL);
    json_int(json, "fired_count", (int64_t)state->fired);
    json_int(json, "missed_count", (int64_t)state->missed);
    json_int(json, "dropped_count", (int64_t)state->dropped);
    json_time(json, "missed_at", state->missed_ms);
    json_int(json, "skipped_count", (int64_t)state->skipped);
    json_bool(json, "waiting", state->waiting);
    json_time(json, "created_at", state->created_ms);
    json_bool(json, "declared", view->declared);
    json_object_end(json);
}

/* As the clock shows it there: with the offset. */
static void local_json(JsonOut *json, const Zone *zone, int64_t at_ms)
{
    int32_t offset_s = zone_span(zone, at_ms / MS_PER_S).offset_s;
    char text[TIME_TEXT_BYTES];
    char shown[TIME_TEXT_BYTES + 16];
    time_text(at_ms + offset_s * MS_PER_S, text);
    int minutes = (offset_s < 0 ? -offset_s : offset_s) / 60;
    snprintf(shown, sizeof shown, "%.23s%c%02d:%02d", text, offset_s < 0 ? '-' : '+',
             minutes / 60, minutes % 60);
    json_cstr(json, "local", shown);
}

void schedule_preview(JsonOut *json, const Schedule *schedule, int64_t after_ms,
                      size_t count)
{
    Cron cron;
    Zone zone;
    if (cron_parse(schedule->cron, &cron, NULL) || !zone_of(schedule, &zone))
        return;
    for (size_t i = 0; i < count; i++) {
        after_ms = cron_next(&cron, &zone, after_ms);
        if (after_ms == TIME_NEVER)
            break;
        json_object(json, NULL);
        json_time(json, "at", after_ms);
        local_json(json, &zone, after_ms);
        json_object_end(json);
    }
    zone_done(&zone);
}
