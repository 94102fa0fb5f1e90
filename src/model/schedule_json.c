/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_json.c - see schedule_json.h. */
#include "model/schedule_json.h"

#include "base/text.h"
#include "core/cron.h"
#include "model/job_json.h"
#include "model/zone_file.h"

#include <stdio.h>

#define BAD(in, code, ...) problem_set((in)->why, (code), __VA_ARGS__)

/* --- Reading -------------------------------------------------------------------------
 */

/* Fields of a job that those of a schedule cannot have. */
static const char *const not_here[] = { "run_at", "delay", "held", "after", NULL };

static Err read_job_member(NounIn *in, const JsonIn *member)
{
    JobReader *job = in->context;
    JsonIn field = *member;
    for (size_t i = 0; not_here[i]; i++)
        if (slice_is(field.key, not_here[i]))
            return BAD(in, "invalid_value", "the jobs of a schedule cannot have '%s'",
                       not_here[i]);
    if (slice_is(field.key, "job_name"))
        field.key = SLICE_LITERAL("name");
    if (!job_read_field(job, &field))
        return ERR_OK;
    *in->why = job->why;
    if (in->why->kind == problem_find("unknown_field") && !in->why->hint[0])
        noun_unknown(in->noun, member->key, in->why); /* it may be near one of ours */
    if (slice_is(member->key, "job_name"))
        in->why->pointer[0] = '\0'; /* it is called so here */
    return ERR_INVALID;
}

static Err check_cron(NounIn *in, const Schedule *schedule)
{
    Cron cron;
    Error why = { 0 };
    if (!cron_parse(schedule->cron, &cron, &why))
        return ERR_OK;
    BAD(in, "invalid_value", "%s", why.text);
    problem_hint(in->why, "for example \"30 2 * * 1-5\" or \"@daily\"");
    problem_point(in->why, SLICE_LITERAL("cron"));
    return ERR_INVALID;
}

static Err load_zone(NounIn *in, Schedule *schedule)
{
    Error why = { 0 };
    Buf bytes = { 0 };
    Err err = zone_file_read(schedule->tz, &bytes, &why);
    if (!err)
        schedule->zone = slice_copy(in->arena, buf_slice(&bytes));
    buf_done(&bytes);
    if (!err)
        return ERR_OK;
    BAD(in, "invalid_value", "%s", why.text);
    problem_point(in->why, SLICE_LITERAL("tz"));
    return ERR_INVALID;
}

static Err read_whole(NounIn *in, const JsonIn *object, const JobRules *rules)
{
    Schedule *schedule = in->object;
    JobReader job = { .rules = rules, .arena = in->arena };
    job_read_begin(&job);
    in->other = read_job_member;
    in->context = &job;
    in->patch = false;
    Err err = noun_read(in, object);
    if (!err)
        err = check_cron(in, schedule);
    if (!err)
        err = load_zone(in, schedule);
    if (!err && job_read_end(&job)) {
        *in->why = job.why;
        err = ERR_INVALID;
    }
    if (err)
        return err;
    Buf packed = { 0 };
    job_pack(&packed, &job.job);
    schedule->job = slice_copy(in->arena, buf_slice(&packed));
    buf_done(&packed);
    return ERR_OK;
}

/* --- Changing ------------------------------------------------------------------------
 */

static void sent_members(JsonOut *json, const NounView *view)
{
    for (size_t i = 0; i < view->noun->count; i++)
        if (view->noun->fields[i].use & USE_SENT)
            field_write(json, &view->noun->fields[i], view);
    schedule_job_members(json, view->object);
}

/* What a client would send for the schedule as it is. */
static Err as_sent(NounIn *in, const JsonIn **out)
{
    Buf text = { 0 };
    JsonOut json = { .out = &text };
    const NounView view = { in->noun, in->object, in->tenant, in->name, false };
    json_object(&json, NULL);
    sent_members(&json, &view);
    json_object_end(&json);
    Slice kept = slice_copy(in->arena, buf_slice(&text));
    buf_done(&text);
    if (!json_in_load(kept, in->arena, out, NULL))
        return ERR_OK;
    return BAD(in, "internal_error", "the schedule cannot be read back");
}

/* Whether the patch says something else in place of a member. */
static bool replaces(const JsonIn *patch, Slice key)
{
    for (const JsonIn *at = json_in_first(patch); at; at = at->next) {
        bool payload = slice_starts(key, SLICE_LITERAL("payload")) &&
                       slice_starts(at->key, SLICE_LITERAL("payload"));
        if (payload || slice_equal(at->key, key))
            return true;
    }
    return false;
}

/* The schedule as it is with the members of the patch in place of its own. */
static const JsonIn *merged(NounIn *in, const JsonIn *before, const JsonIn *patch)
{
    JsonIn *all = ARENA_NEW(in->arena, JsonIn);
    JsonIn **last = &all->as.items.first;
    const JsonIn *from[] = { before, patch };
    all->kind = JSON_IN_OBJECT;
    for (size_t i = 0; i < 2; i++) {
        for (const JsonIn *at = json_in_first(from[i]); at; at = at->next) {
            if (from[i] == before && replaces(patch, at->key))
                continue;
            *last = arena_copy(in->arena, at, sizeof *at);
            (*last)->next = NULL;
            last = &(*last)->next;
            all->as.items.count++;
        }
    }
    return all;
}

Err schedule_read(NounIn *in, const JsonIn *object, const JobRules *rules)
{
    const Schedule before = *(const Schedule *)in->object;
    const JsonIn *whole = object;
    bool patch = in->patch && object->kind == JSON_IN_OBJECT;
    if (patch && as_sent(in, &whole))
        return ERR_INVALID;
    if (patch)
        whole = merged(in, whole, object);
    Err err = read_whole(in, whole, rules);
    Schedule *schedule = in->object;
    if (!err && patch && slice_equal(before.tz, schedule->tz))
        schedule->zone = before.zone; /* its times do not change because a file did */
    return err;
}

/* --- Writing -------------------------------------------------------------------------
 */

/* What was asked for; what its jobs will take from their handler is null. */
static void added_members(JsonOut *json, const Job *job)
{
    json_text(json, "type", job->type);
    if (job->command.bytes)
        list_json(json, "command", job->command);
    else
        json_null(json, "command");
    bytes_json(json, "payload", "payload_base64", job->payload);
    text_or_null(json, "queue", job->queue);
    if (job->priority == INT64_MIN)
        json_null(json, "priority");
    else
        json_int(json, "priority", job->priority);
    text_or_null(json, "job_name", job->name);
    list_json(json, "tags", job->tags);
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

void schedule_job_members(JsonOut *json, const Schedule *schedule)
{
    Job job;
    if (!job_unpack(schedule->job, &job))
        added_members(json, &job);
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

void schedule_facts(JsonOut *json, const Schedule *schedule, const ScheduleState *state)
{
    char id[ID_TEXT_BYTES];
    schedule_job_members(json, schedule);
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
