/* SPDX-License-Identifier: Apache-2.0 */
/* problem.c - see problem.h. */
#include "noun/problem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#define NAMED_BYTES_MAX 80 /* of a name in a sentence */

static const ProblemKind kinds[] = {
    /* The request cannot be read. */
    { "bad_request", 400, "The request cannot be understood",
      "GET /openapi.json lists what can be asked, and how" },
    { "empty_body", 400, "The body is empty", "send a body" },
    { "malformed_json", 400, "The body is not JSON", "" },
    { "invalid_utf8", 400, "The body is not UTF-8",
      "send bytes that are no text as payload_base64" },
    { "malformed_xml", 400, "The body is no XML that is taken here",
      "well-formed UTF-8 without a document type" },
    { "duplicate_key", 400, "A key stands twice in one object", "" },
    { "too_deep", 400, "The JSON is nested too deeply", "" },
    { "too_many_values", 400, "The JSON has too many values", "" },
    /* Who may ask. */
    { "token_missing", 401, "A token is needed", "set PAWL_TOKEN, or use --token-file" },
    { "token_invalid", 401, "The token is not valid",
      "make a new one on the daemon's own machine: pawl token create" },
    { "scope_missing", 403, "The token does not allow this",
      "use a token with that scope" },
    { "tenant_not_allowed", 403, "The token is not for this tenant",
      "leave tenant out, or use a token for all tenants" },
    { "user_not_allowed", 403, "This daemon serves another user",
      "run the command as the daemon's own user" },
    { "origin_not_allowed", 403, "Requests of other sites are refused", "" },
    { "host_not_allowed", 421, "This host name is not served here",
      "use localhost, 127.0.0.1 or [::1]" },
    /* What is not there. */
    { "path_not_found", 404, "There is no such path",
      "GET /openapi.json lists all paths" },
    { "tenant_not_found", 404, "There is no such tenant",
      "a tenant is there once it has a job, a handler or a setting" },
    { "job_not_found", 404, "There is no such job",
      "list jobs with: pawl ls; those of another tenant need its name (tenant=, "
      "--tenant)" },
    { "handler_not_found", 404, "There is no such handler",
      "list handlers with: pawl handler ls" },
    { "queue_not_found", 404, "There is no such queue", "list them: pawl queue ls" },
    { "resource_not_found", 404, "There is no such resource",
      "list them: pawl resource ls" },
    { "schedule_not_found", 404, "There is no such schedule",
      "list schedules with: pawl schedule ls" },
    { "alert_rule_not_found", 404, "There is no such alert rule",
      "list rules with: GET /api/v1/alert-rules" },
    { "operation_not_found", 404, "There is no such operation",
      "list them: pawl operation ls" },
    { "group_not_found", 404, "There is no such group",
      "a group is there as long as it has jobs or a completion job" },
    { "token_not_found", 404, "There is no such token", "list them: pawl token ls" },
    { "version_not_found", 404, "There is no such version of the handler", "" },
    { "attempt_not_found", 404, "There is no such attempt", "" },
    { "result_not_found", 404, "The job has no result", "" },
    { "node_not_found", 404, "There is no such node", "" },
    { "node_in_use", 409, "The node is not gone", "pawl node ls" },
    { "processor_not_found", 404, "There is no such processor",
      "list processors with: pawl processor ls" },
    { "unit_not_found", 404, "The processor has no such unit", "" },
    { "signal_not_found", 404, "There is no such signal", "see: pawl processor --help" },
    { "not_found", 404, "There is no such thing", "" },
    { "method_not_allowed", 405, "The path does not know this method", "" },
    /* What makes no sense now. */
    { "invalid_state", 409, "The job is not in a state for this", "" },
    { "shared_context", 409, "The job shares its process with other jobs",
      "cancel it, or halt it: the others run again" },
    { "unique_conflict", 409, "Another job holds this unique key",
      "wait for its end, or say on_conflict: ignore or replace" },
    { "token_exists", 409, "There is a token of this name",
      "take another name, or revoke it first" },
    { "declared", 409, "It stands in the configuration file",
      "change the file and reload: kill -HUP, or restart" },
    { "already_there", 412, "There is one of this name already",
      "take another name, or change it: PATCH, pawl ... set" },
    { "changed_meanwhile", 412, "It was changed meanwhile",
      "read it again, then send your change" },
    { "conflict", 409, "This cannot be done now", "" },
    { "ambiguous_id", 409, "Several jobs begin like this", "give more characters" },
    { "idempotency_in_progress", 409, "The first request with this key is still running",
      "try again in a second" },
    /* Too large. */
    { "body_too_large", 413, "The body is too large",
      "send fewer jobs at once, or raise limits.body" },
    { "payload_too_large", 413, "The payload is too large", "raise limits.payload" },
    { "handler_too_large", 413, "The handler is too large",
      "put the code into a file and run that" },
    { "uri_too_long", 414, "The first line of the request is too long",
      "shorten the path or the query, or raise limits.header" },
    { "header_too_large", 431, "The headers of the request are too large",
      "send fewer of them, or raise limits.header" },
    { "limit_exceeded", 413, "A limit is exceeded", "" },
    { "unsupported_media_type", 415, "This type of content is not known here",
      "send application/json, application/x-ndjson or application/xml" },
    /* Read, but wrong. */
    { "unknown_field", 422, "The object has an unknown field", "" },
    { "read_only_field", 422, "The field cannot be set", "leave it out" },
    { "wrong_type", 422, "A value has the wrong type", "" },
    { "invalid_value", 422, "A value is not valid", "" },
    { "invalid_name", 422, "A name is not valid", "" },
    { "priority_out_of_range", 422, "The queue does not take this priority",
      "see its range with: pawl queue show NAME" },
    { "resource_unknown", 422, "There is no such resource",
      "define it first: pawl resource set KEY" },
    { "resource_too_small", 422, "There is not so much of a resource",
      "ask for less, or define more of it" },
    { "missing_field", 422, "A field is missing", "" },
    { "conflicting_fields", 422, "Two fields exclude each other", "" },
    { "run_as_not_allowed", 422, "Jobs may not run as this user",
      "leave user out, or let root allow it in the policy file" },
    { "invalid_control", 422, "The control file is not valid", "" },
    { "number_too_large", 422, "A number is too large", "" },
    { "unsupported", 422, "This version cannot do that yet", "leave it out" },
    { "unknown_parameter", 422, "The query has an unknown parameter", "" },
    { "invalid_query", 422, "The query text is not valid", "" },
    { "idempotency_mismatch", 422, "The key was used with another body",
      "use a new Idempotency-Key for a new request" },
    { "quota_exceeded", 429, "The tenant has as much as it may have", "try again later" },
    /* Not the client's doing. */
    { "internal_error", 500, "Something went wrong inside", "see the daemon's log" },
    { "store_damaged", 500, "It is damaged in the store",
      "go back to a copy; the daemon's log names what is damaged" },
    { "not_implemented", 501, "This is not implemented", "" },
    { "version_not_supported", 505, "This version of HTTP is not spoken here",
      "use HTTP/1.1" },
    { "starting", 503, "The daemon is starting", "try again in a second" },
    { "draining", 503, "The daemon is shutting down", "try again later" },
    { "journal_full", 503, "There is no room for new jobs", "free disk space" },
    { "node_unreachable", 503, "The node that has the job does not answer",
      "try again: if it is lost, another takes the job over" },
    { "store_unavailable", 503, "The store cannot be reached", "try again later" },
    { "launcher_silent", 503, "The launcher does not answer",
      "see the daemon's log; pawl doctor" },
    { "store_failing", 503, "The store cannot be written", "see the daemon's log" },
    { "unavailable", 503, "This is not available now", "try again later" },
    { "processor_down", 503, "The processor cannot work",
      "see its problems: pawl processor status NAME" },
    { "timeout", 504, "It took too long", "try again later" },
    { NULL, 0, NULL, NULL },
};

const ProblemKind *problem_kinds(void)
{
    return kinds;
}

const ProblemKind *problem_find(const char *code)
{
    for (const ProblemKind *kind = kinds; kind->code; kind++)
        if (strcmp(kind->code, code) == 0)
            return kind;
    return NULL;
}

const char *problem_code(Err err)
{
    switch (err) {
    case ERR_OK:
    case ERR_IO:
        return "internal_error";
    case ERR_CORRUPT:
        return "store_damaged";
    case ERR_INVALID:
        return "invalid_value";
    case ERR_NOT_FOUND:
        return "not_found";
    case ERR_CONFLICT:
        return "conflict";
    case ERR_DENIED:
        return "user_not_allowed";
    case ERR_LIMIT:
        return "limit_exceeded";
    case ERR_FULL:
        return "journal_full";
    case ERR_BUSY:
    case ERR_UNAVAILABLE:
        return "unavailable";
    case ERR_TIMEOUT:
        return "timeout";
    case ERR_UNSUPPORTED:
        return "unsupported";
    }
    return "internal_error";
}

Err problem_set(Problem *problem, const char *code, const char *detail, ...)
{
    *problem = (Problem){ .kind = problem_find(code) };
    assert(problem->kind);
    va_list args;
    va_start(args, detail);
    vsnprintf(problem->detail, sizeof problem->detail, detail, args);
    va_end(args);
    return ERR_INVALID;
}

void problem_hint(Problem *problem, const char *hint, ...)
{
    va_list args;
    va_start(args, hint);
    vsnprintf(problem->hint, sizeof problem->hint, hint, args);
    va_end(args);
}

void problem_name(Problem *problem, Slice name)
{
    if (!problem->detail[0])
        snprintf(problem->detail, sizeof problem->detail, "%s", problem->kind->title);
    size_t at = strlen(problem->detail);
    size_t shown = name.bytes < NAMED_BYTES_MAX ? name.bytes : NAMED_BYTES_MAX;
    if (at + shown + sizeof ": ''..." > sizeof problem->detail)
        return;
    memcpy(problem->detail + at, ": '", 3);
    at += 3;
    for (size_t i = 0; i < shown; i++) {
        char c = name.data[i];
        problem->detail[at++] = c >= ' ' && c <= '~' ? c : '?';
    }
    snprintf(problem->detail + at, sizeof problem->detail - at, "%s'",
             shown < name.bytes ? "..." : "");
}

void problem_point(Problem *why, Slice name)
{
    size_t at = strlen(why->pointer);
    if (at + 3 >= sizeof why->pointer)
        return;
    why->pointer[at++] = '/';
    for (size_t i = 0; i < name.bytes && at + 3 < sizeof why->pointer; i++) {
        char c = name.data[i];
        if (c != '~' && c != '/') {
            why->pointer[at++] = c;
            continue;
        }
        why->pointer[at++] = '~';
        why->pointer[at++] = c == '~' ? '0' : '1';
    }
    why->pointer[at] = '\0';
}

void problem_members(JsonOut *json, const Problem *problem)
{
    const ProblemKind *kind = problem->kind;
    char type[64];
    snprintf(type, sizeof type, "/docs/errors#%s", kind->code);
    json_cstr(json, "type", type);
    json_cstr(json, "title", kind->title);
    json_int(json, "status", kind->status);
    json_cstr(json, "detail", problem->detail[0] ? problem->detail : kind->title);
    json_cstr(json, "code", kind->code);
    const char *hint = problem->hint[0] ? problem->hint : kind->hint;
    json_cstr(json, "hint", hint[0] ? hint : NULL);
    if (problem->pointer[0])
        json_cstr(json, "pointer", problem->pointer);
    if (problem->members.bytes) {
        buf_add_char(json->out, ',');
        buf_add_slice(json->out, problem->members);
    }
}
