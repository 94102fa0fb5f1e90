/* SPDX-License-Identifier: Apache-2.0 */
/* job_json.c - see job_json.h. */
#include "model/job_json.h"

#include "base/text.h"
#include "core/unique.h"

#include <stdio.h>

#define TEXT     "\"type\":[\"string\",\"null\"]"
#define NAME     "\"type\":\"string\",\"pattern\":\"^\\\\w[\\\\w.:-]{0,127}$\""
#define TIME     "\"type\":[\"string\",\"null\"],\"format\":\"date-time\""
#define DURATION "\"type\":[\"string\",\"number\",\"null\"]"
#define INTEGER  "\"type\":[\"integer\",\"null\"]"
#define BOOL     "\"type\":\"boolean\""
#define JOB_ID   "\"type\":[\"string\",\"null\"],\"pattern\":\"^[0-9a-hjkmnp-tv-z]{13}$\""
#define TEXTS    "\"type\":\"array\",\"items\":{\"type\":\"string\"}"
#define STATES_LIST                                                                      \
    "\"type\":\"string\",\"enum\":[\"deferred\",\"blocked\",\"ready\",\"held\","         \
    "\"running\",\"paused\",\"halted\",\"retrying\",\"done\",\"failed\",\"rejected\","   \
    "\"cancelled\"]"

static const JobField fields[] = {
    { "id", false, "\"type\":\"string\"", "13 characters, ordered by time" },
    { "tenant", true, NAME, "whose job it is" },
    { "type", true, NAME, "names the handler; `run` for a bare command" },
    { "queue", true, "\"type\":\"string\",\"maxLength\":200", "default: `default`" },
    { "priority", true, "\"type\":\"integer\"", "larger first; default 5" },
    { "payload", true, TEXT, "text for the job's standard input" },
    { "payload_base64", true, TEXT, "the same for bytes that are no text" },
    { "state", false, STATES_LIST, "where it is in its life" },
    { "reason", false, TEXT, "why it is blocked, held or cancelled" },
    { "merged_into", false, JOB_ID, "the job that it became one with" },
    { "dt", false, TIME, "due; end of the lease while running" },
    { "lock", false, TEXT, "sysid of the node that runs it, or `__done`" },
    { "created_at", false, TIME, "when it was accepted" },
    { "run_at", true, TIME, "not before" },
    { "delay", true, DURATION, "instead of run_at: from now on" },
    { "started_at", false, TIME, "of the last attempt" },
    { "finished_at", false, TIME, "of the last attempt" },
    { "attempt", false, "\"type\":\"integer\"", "runs started so far" },
    { "retry_number", false, "\"type\":\"integer\"", "charged runs before this one" },
    { "max_retries", true, INTEGER, "null: no limit by count" },
    { "retry_delay", true, DURATION, "null: 5 s, doubling to 5 min" },
    { "retry_window", true, DURATION, "null: 6 h; `none`: no end" },
    { "max_run_time", true, DURATION, "null: no limit" },
    { "service_time", true, DURATION, "expected run time" },
    { "expected_finish_at", false, TIME, "start + service_time" },
    { "last_heartbeat_at", false, TIME, "last sign of life" },
    { "code", false, TEXT, "ok, failed, retry or error" },
    { "exitcode", false, INTEGER, "1xx retry, 2xx ok, 4xx failed, 5xx error" },
    { "exit_status", false, INTEGER, "of the process" },
    { "signal", false, INTEGER, "that ended the process" },
    { "error", false, TEXT, "what went wrong in the last attempt" },
    { "result_size", false, "\"type\":\"integer\"", "bytes of the result" },
    { "result_cut", false, BOOL, "the result was larger than its limit" },
    { "progress", false, INTEGER, "percent" },
    { "message", false, TEXT, "told by the job" },
    { "held", true, BOOL, "accepted, but not run before `release`" },
    { "cancelling", false, BOOL, "running, but its end is asked for" },
    { "after", true, "\"type\":\"array\"", "jobs to wait for" },
    { "then", true, TEXT, "type of the job that follows" },
    { "on_error", true, TEXT, "type of the job that follows a failure" },
    { "unique", true, "\"type\":[\"object\",\"null\"]", "key, for, on_conflict" },
    { "parent", false, JOB_ID, "the job that added it" },
    { "schedule", false, TEXT, "the schedule that added it" },
    { "group", true, TEXT, "gathers jobs" },
    { "tags", true, TEXTS, "for finding it again" },
    { "resources", true, "\"type\":\"object\"", "key: amount" },
    { "user", true, TEXT, "the account to run as" },
    { "env", true, "\"type\":[\"object\",\"array\"]", "NAME: VALUE" },
    { "cwd", true, TEXT, "absolute path" },
    { "command", true, "\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"string\"}",
      "program and arguments to run" },
    { "node", false, TEXT, "sysid of the node of the last attempt" },
    { "name", true, TEXT, "free text for people, up to 255 bytes" },
    { "document_uri", true, TEXT, "document the job is about" },
    { "param", true, TEXT, "options of a control file" },
    { "protocol", true, BOOL, "obey J:, P: and R: lines of its output" },
    { "children", true, TEXT, "`immediate`: add jobs of J: lines at once" },
    { "files", true, BOOL, "keep what it leaves in PAWL_FILES_DIR" },
    { "keep_state", true, BOOL, "keep PAWL_STATE_DIR between attempts" },
};

const JobField *job_fields(size_t *out_count)
{
    *out_count = sizeof fields / sizeof *fields;
    return fields;
}

static void int_unless(JsonOut *json, const char *key, int64_t value, int64_t nothing)
{
    if (value == nothing)
        json_null(json, key);
    else
        json_int(json, key, value);
}

static void id_or_null(JsonOut *json, const char *key, JobId id)
{
    char text[ID_TEXT_BYTES];
    json_cstr(json, key, id ? id_text(id, text) : NULL);
}

static void after(JsonOut *json, Slice items)
{
    Slice item;
    json_array(json, "after");
    while (list_next(&items, &item)) {
        Slice on = slice_cut(&item, ':');
        json_object(json, NULL);
        json_text(json, "id", item);
        json_text(json, "on", on);
        json_object_end(json);
    }
    json_array_end(json);
}

static void unique(JsonOut *json, Slice items)
{
    static const char *const keys[] = { "key", "for", "on_conflict" };
    if (!items.bytes) {
        json_null(json, "unique");
        return;
    }
    Slice item;
    json_object(json, "unique");
    for (size_t i = 0; i < 3 && list_next(&items, &item); i++)
        json_text(json, keys[i], item);
    json_object_end(json);
}

void bytes_json(JsonOut *json, const char *key, const char *key_base64, Slice bytes)
{
    if (utf8_valid(bytes))
        json_text(json, key, bytes);
    else
        json_base64(json, key_base64, bytes);
}

static void identity_part(JsonOut *json, const Job *job)
{
    id_or_null(json, "id", job->id);
    json_text(json, "tenant", job->tenant);
    json_text(json, "type", job->type);
    json_text(json, "queue", job->queue);
    json_int(json, "priority", job->priority);
    if (job->flags & JOB_BINARY)
        json_base64(json, "payload_base64", job->payload);
    else
        bytes_json(json, "payload", "payload_base64", job->payload);
}

static void time_part(JsonOut *json, const Job *job)
{
    bool owned = state_in(job->state, STATES_OWNED);
    json_cstr(json, "state", state_name(job->state));
    text_or_null(json, "reason", job->reason);
    id_or_null(json, "merged_into", unique_merged_into(job));
    json_time(json, "dt", job->dt_ms);
    json_text(json, "lock", job->lock);
    json_time(json, "created_at", job->created_ms);
    json_time(json, "run_at", job->run_at_ms);
    json_null(json, "delay"); /* of the request only: run_at is what it came to */
    json_time(json, "started_at", job->started_ms);
    json_time(json, "finished_at", owned ? 0 : job->finished_ms);
    json_int(json, "attempt", job->attempt);
    json_int(json, "retry_number", job->retry_number);
    if (job->max_retries < 0) /* no limit, or its handler will say */
        json_null(json, "max_retries");
    else
        json_int(json, "max_retries", job->max_retries);
    duration_or_null(json, "retry_delay", job->retry_delay_ms);
    duration_or_null(json, "retry_window", job->retry_window_ms);
    duration_or_null(json, "max_run_time", job->max_run_ms);
    duration_or_null(json, "service_time", job->service_ms);
    json_time(json, "expected_finish_at",
              owned && job->service_ms ? job->started_ms + job->service_ms : 0);
    json_time(json, "last_heartbeat_at", job->beat_ms);
}

static void outcome_part(JsonOut *json, const Outcome *outcome)
{
    const char *code = code_name(outcome->code);
    json_cstr(json, "code", code[0] ? code : NULL);
    int_unless(json, "exitcode", outcome->exitcode, 0);
    int_unless(json, "exit_status", outcome->exit_status, -1);
    int_unless(json, "signal", outcome->signal, 0);
}

static void end_part(JsonOut *json, const Job *job)
{
    outcome_part(json, &job->outcome);
    text_or_null(json, "error", job->error);
    json_int(json, "result_size", job->result_bytes);
    json_bool(json, "result_cut", job->flags & JOB_CUT);
    int_unless(json, "progress", job->progress, -1);
    text_or_null(json, "message", job->message);
    json_bool(json, "held", job->state == JOB_HELD);
    json_bool(json, "cancelling", job->flags & JOB_CANCELLING);
}

static void relation_part(JsonOut *json, const Job *job)
{
    after(json, job->after);
    text_or_null(json, "then", job->then);
    text_or_null(json, "on_error", job->on_error);
    unique(json, job->unique);
    id_or_null(json, "parent", job->parent);
    text_or_null(json, "schedule", job->schedule);
    text_or_null(json, "group", job->group);
    list_json(json, "tags", job->tags);
    pairs_json(json, "resources", job->resources, true);
}

static void run_part(JsonOut *json, const Job *job)
{
    text_or_null(json, "user", job->user);
    pairs_json(json, "env", job->env, false);
    text_or_null(json, "cwd", job->cwd);
    if (job->command.bytes)
        list_json(json, "command", job->command);
    else
        json_null(json, "command");
    text_or_null(json, "node", job->node);
    text_or_null(json, "name", job->name);
    text_or_null(json, "document_uri", job->document_uri);
    text_or_null(json, "param", job->param);
    json_bool(json, "protocol", job->flags & JOB_PROTOCOL);
    text_or_null(json, "children", job->children);
    json_bool(json, "files", job->flags & JOB_FILES);
    json_bool(json, "keep_state", job->flags & JOB_KEEP_STATE);
}

void job_members(JsonOut *json, const Job *job)
{
    identity_part(json, job);
    time_part(json, job);
    end_part(json, job);
    relation_part(json, job);
    run_part(json, job);
}

void job_json(JsonOut *json, const char *key, const Job *job)
{
    json_object(json, key);
    job_members(json, job);
    json_object_end(json);
}

void attempt_json(JsonOut *json, const Job *attempt)
{
    char id[ID_TEXT_BYTES];
    char name[ID_TEXT_BYTES + 16];
    bool expected = attempt->started_ms && attempt->service_ms;
    snprintf(name, sizeof name, "%s.%u", id_text(attempt->id, id), attempt->attempt);
    json_object(json, NULL);
    json_cstr(json, "id", name);
    json_cstr(json, "job_id", id);
    json_int(json, "attempt", attempt->attempt);
    json_int(json, "retry_number", attempt->retry_number);
    json_cstr(json, "state", state_name(attempt->state));
    json_cstr(json, "status", state_status(attempt->state));
    text_or_null(json, "node", attempt->node);
    if (attempt->version)
        json_int(json, "handler_version", attempt->version);
    else
        json_null(json, "handler_version");
    json_time(json, "run_at", attempt->run_at_ms);
    duration_or_null(json, "service_time", attempt->service_ms);
    json_time(json, "started_at", attempt->started_ms);
    json_time(json, "expected_finish_at",
              expected ? attempt->started_ms + attempt->service_ms : 0);
    json_time(json, "finished_at", attempt->finished_ms);
    json_time(json, "last_heartbeat_at", attempt->beat_ms);
    if (attempt->started_ms && attempt->finished_ms)
        json_int(json, "run_ms", attempt->finished_ms - attempt->started_ms);
    else
        json_null(json, "run_ms");
    outcome_part(json, &attempt->outcome);
    text_or_null(json, "error", attempt->error);
    json_object_end(json);
}
