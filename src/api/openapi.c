/* SPDX-License-Identifier: Apache-2.0 */
/* openapi.c - see openapi.h. Routes, job fields and problems come from their own tables;
 * here are only the shapes that no other table has. */
#include "api/openapi.h"

#include "api/routes.h"
#include "config/settings.h"
#include "model/job_json.h"
#include "noun/alert_rule.h"
#include "noun/handler.h"
#include "noun/queue.h"
#include "noun/resource.h"
#include "noun/schedule.h"
#include "noun/tenant.h"

#include <stdio.h>

/* --- Shapes
 * ----------------------------------------------------------------------------- */

#define REF(name) "{\"$ref\":\"#/components/schemas/" name "\"}"
#define LIST_OF(name)                                                                    \
    "{\"type\":\"object\",\"required\":[\"items\",\"next_cursor\"],\"properties\":{"     \
    "\"items\":{\"type\":\"array\",\"items\":" REF(                                      \
        name) "},"                                                                       \
              "\"next_cursor\":{\"type\":[\"string\",\"null\"]},"                        \
              "\"partial\":{\"type\":\"boolean\"}}}"
#define COUNTS  "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}"
#define STRING  "{\"type\":\"string\"}"
#define NUMBER  "{\"type\":\"integer\"}"
#define BOOL    "{\"type\":\"boolean\"}"
#define NUMBER0 "{\"type\":[\"integer\",\"null\"]}"
#define STRING0 "{\"type\":[\"string\",\"null\"]}"

#define TIME0 "{\"type\":[\"string\",\"null\"],\"format\":\"date-time\"}"

#define TOKEN_SCOPES                                                                     \
    "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"read\","             \
    "\"enqueue\",\"work\",\"operate\",\"admin\"]}}"
#define TOKEN(more)                                                                      \
    "{\"type\":\"object\",\"properties\":{\"name\":" STRING ",\"tenant\":" STRING        \
    ",\"scopes\":" TOKEN_SCOPES ",\"created_at\":" TIME0 ",\"created_by\":" STRING0      \
    ",\"expires_at\":" TIME0 ",\"expired\":" BOOL ",\"last_used_at\":" TIME0             \
    ",\"last_used_from\":" STRING0 more "}}"

typedef struct Shape {
    const char *name;
    const char *schema;
} Shape;

static const Shape shapes[] = {
    { "Added",
      "{\"type\":\"object\",\"required\":[\"id\",\"job\"],\"properties\":{\"id\":" STRING
      ",\"job\":" REF("Job") ",\"result\":{\"type\":[\"string\",\"null\"]},"
                             "\"result_base64\":" STRING "}}" },
    { "BulkLine",
      "{\"description\":\"one per line of the request, and a summary at the end\","
      "\"type\":\"object\",\"properties\":{\"line\":" NUMBER ",\"id\":" STRING
      ",\"error\":" REF("Problem") ",\"summary\":{\"type\":\"object\",\"properties\":{"
                                   "\"accepted\":" NUMBER ",\"rejected\":" NUMBER
                                   ",\"durable\":" BOOL "}}}}" },
    { "JobList", LIST_OF("Job") },
    { "Removed",
      "{\"type\":\"object\",\"properties\":{\"id\":" STRING ",\"removed\":" BOOL "}}" },
    { "Action", "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
                "\"reason\":" STRING "}}" },
    { "Retry", "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
               "\"reason\":" STRING ",\"without_after\":" BOOL "}}" },
    { "Attempt",
      "{\"type\":\"object\",\"properties\":{\"id\":" STRING ",\"job_id\":" STRING
      ",\"attempt\":" NUMBER ",\"retry_number\":" NUMBER ",\"state\":" STRING
      ",\"status\":" STRING ",\"node\":{\"type\":[\"string\",\"null\"]},"
      "\"handler_version\":{\"type\":[\"integer\",\"null\"]},"
      "\"run_at\":{\"type\":[\"string\",\"null\"],\"format\":\"date-time\"},"
      "\"service_time\":{\"type\":[\"string\",\"null\"]},"
      "\"expected_finish_at\":{\"type\":[\"string\",\"null\"],"
      "\"format\":\"date-time\"},"
      "\"last_heartbeat_at\":{\"type\":[\"string\",\"null\"],"
      "\"format\":\"date-time\"},"
      "\"started_at\":{\"type\":[\"string\",\"null\"],\"format\":\"date-time\"},"
      "\"finished_at\":{\"type\":[\"string\",\"null\"],\"format\":\"date-time\"},"
      "\"run_ms\":{\"type\":[\"integer\",\"null\"]},"
      "\"code\":{\"type\":[\"string\",\"null\"]},"
      "\"exitcode\":{\"type\":[\"integer\",\"null\"]},"
      "\"exit_status\":{\"type\":[\"integer\",\"null\"]},"
      "\"signal\":{\"type\":[\"integer\",\"null\"]},"
      "\"error\":{\"type\":[\"string\",\"null\"]}}}" },
    { "AttemptList", LIST_OF("Attempt") },
    { "ErrorGroup",
      "{\"type\":\"object\",\"properties\":{\"message\":" STRING ",\"example\":" STRING
      ",\"type\":" STRING ",\"queue\":" STRING ",\"count\":" NUMBER ",\"jobs\":" COUNTS
      ",\"newest\":" STRING ",\"newest_at\":" STRING ",\"oldest\":" STRING
      ",\"oldest_at\":" STRING "}}" },
    { "ErrorGroupList",
      "{\"type\":\"object\",\"properties\":{\"items\":{\"type\":\"array\",\"items\":" REF(
          "ErrorGroup") "},\"next_cursor\":{\"type\":\"null\"},\"scanned\":" NUMBER
                        ",\"partial\":" BOOL "}}" },
    { "JobEvent", "{\"type\":\"object\",\"properties\":{\"at\":" STRING
                  ",\"type\":" STRING ",\"who\":{\"type\":[\"string\",\"null\"]},"
                  "\"attempt\":{\"type\":[\"integer\",\"null\"]},"
                  "\"data\":{\"type\":[\"object\",\"null\"]}}}" },
    { "JobEventList",
      "{\"type\":\"object\",\"properties\":{\"items\":{\"type\":\"array\","
      "\"items\":" REF("JobEvent") "},\"next_cursor\":{\"type\":\"null\"},"
                                   "\"partial\":" BOOL "}}" },
    { "Explanation",
      "{\"type\":\"object\",\"properties\":{\"id\":" STRING ",\"state\":" STRING
      ",\"running\":" BOOL ",\"reason\":" STRING ",\"text\":" STRING
      ",\"help\":{\"type\":[\"string\",\"null\"]},"
      "\"since\":{\"type\":[\"string\",\"null\"],\"format\":\"date-time\"},"
      "\"until\":{\"type\":[\"string\",\"null\"],\"format\":\"date-time\"},"
      "\"ahead\":{\"type\":[\"integer\",\"null\"]},\"ahead_more\":" BOOL
      ",\"slots\":" COUNTS ",\"reasons\":{\"type\":\"array\",\"items\":{\"type\":"
      "\"object\",\"properties\":{\"reason\":" STRING ",\"text\":" STRING
      ",\"help\":{\"type\":[\"string\",\"null\"]},\"until\":{\"type\":[\"string\","
      "\"null\"]},\"resource\":" STRING ",\"held_by\":" STRING "}}}}}" },
    { "NewJobs", "{\"oneOf\":[" REF("NewJob") ",{\"type\":\"array\",\"items\":" REF(
                     "NewJob") "}]}" },
    { "Node",
      "{\"type\":\"object\",\"properties\":{\"sysid\":" STRING ",\"number\":" NUMBER
      ",\"state\":{\"type\":\"string\",\"enum\":[\"up\",\"draining\",\"stopped\","
      "\"lost\"]},\"epoch\":{\"type\":[\"integer\",\"null\"]},"
      "\"lease_left_ms\":{\"type\":[\"integer\",\"null\"]},\"controller\":" BOOL
      ",\"drain\":{\"type\":[\"object\",\"null\"],\"properties\":{\"since\":" STRING
      ",\"reason\":" STRING "}}"
      ",\"host\":" STRING ",\"pid\":" NUMBER ",\"version\":" STRING ",\"listen\":" STRING
      ",\"data\":" STRING ",\"store\":" STRING
      ",\"started_at\":{\"type\":\"string\",\"format\":\"date-time\"},"
      "\"heartbeat_at\":{\"type\":\"string\",\"format\":\"date-time\"},"
      "\"enabled\":" BOOL ",\"draining\":" BOOL ",\"slots\":" NUMBER
      ",\"slots_used\":" NUMBER ",\"lanes\":" NUMBER ",\"lanes_ready\":" NUMBER
      ",\"passes\":" NUMBER ",\"queues\":" COUNTS
      ",\"load\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}},"
      "\"running\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}}}" },
    { "NodeList", LIST_OF("Node") },
    { "Stats",
      "{\"type\":\"object\",\"properties\":{\"jobs\":" COUNTS
      ",\"queues\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
      "\"unfinished\":" NUMBER ",\"slots\":" COUNTS ",\"totals\":{\"type\":\"object\"},"
      "\"by_priority\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
      "\"journal_lag_bytes\":" NUMBER ",\"late_results\":" NUMBER ",\"uptime_ms\":" NUMBER
      "}}" },
    { "Index", "{\"type\":\"object\",\"properties\":{\"version\":" STRING
               ",\"description\":" STRING
               ",\"paths\":{\"type\":\"array\",\"items\":" STRING "}}}" },
    { "Me", "{\"type\":\"object\",\"properties\":{\"who\":" STRING ",\"tenant\":" STRING
            ",\"scopes\":" TOKEN_SCOPES ",\"tokens\":" BOOL "}}" },
    { "OpenApi", "{\"type\":\"object\"}" },
    { "Lines", "{\"type\":\"string\",\"description\":\"one payload per line\"}" },
    { "HandlerList", LIST_OF("Handler") },
    { "ScheduleList", LIST_OF("Schedule") },
    { "Series",
      "{\"type\":\"object\",\"properties\":{\"key\":" STRING ",\"metric\":" STRING
      ",\"total\":" NUMBER ",\"points\":{\"type\":\"array\",\"items\":" NUMBER "}}}" },
    { "SeriesList", "{\"type\":\"object\",\"properties\":{\"from\":" STRING
                    ",\"to\":" STRING ",\"step\":" STRING ",\"by\":" STRING
                    ",\"items\":{\"type\":\"array\",\"items\":" REF(
                        "Series") "},\"next_cursor\":{\"type\":\"null\"}}}" },
    { "Alert",
      "{\"type\":\"object\",\"properties\":{\"rule\":" STRING ",\"tenant\":" STRING
      ",\"when\":" STRING ",\"since\":" STRING ",\"detail\":" STRING "}}" },
    { "AlertList", LIST_OF("Alert") },
    { "Notice", "{\"type\":\"object\",\"properties\":{\"id\":" STRING
                ",\"tenant\":" STRING ",\"to\":" STRING ",\"state\":" STRING
                ",\"tries\":" NUMBER ",\"created_at\":" STRING ",\"next_try_at\":" STRING0
                ",\"error\":" STRING0 ",\"body\":{\"type\":\"object\"}}}" },
    { "NoticeList", LIST_OF("Notice") },
    { "AlertRuleList", LIST_OF("AlertRule") },
    { "Controller",
      "{\"type\":\"object\",\"properties\":{\"version\":" NUMBER ",\"timestamp\":{"
      "\"type\":[\"string\",\"null\"],\"format\":\"date-time\"},"
      "\"owner\":{\"type\":[\"string\",\"null\"]},\"stale\":" BOOL
      ",\"stale_interval\":" STRING "}}" },
    { "NameRemoved", "{\"type\":\"object\",\"properties\":{\"tenant\":" STRING
                     ",\"name\":" STRING ",\"removed\":" BOOL "}}" },
    { "Preview",
      "{\"type\":\"object\",\"properties\":{\"name\":" STRING ",\"cron\":" STRING
      ",\"tz\":" STRING ",\"items\":{\"type\":\"array\",\"items\":{"
      "\"type\":\"object\",\"properties\":{\"at\":" STRING ",\"local\":" STRING
      "}}},\"next_cursor\":{\"type\":\"null\"}}}" },
    { "HandlerRemoved",
      "{\"type\":\"object\",\"properties\":{\"ok\":" BOOL ",\"tenant\":" STRING
      ",\"type\":" STRING ",\"removed\":" BOOL "}}" },
    { "Group", "{\"type\":\"object\",\"properties\":{\"name\":" STRING
               ",\"tenant\":" STRING ",\"total\":" NUMBER ",\"finished\":" NUMBER
               ",\"progress\":" NUMBER ",\"final\":" BOOL ",\"counts\":" COUNTS
               ",\"then\":{\"type\":[\"string\",\"null\"]},"
               "\"completion\":{\"type\":[\"string\",\"null\"]}}}" },
    { "NewGroup", "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
                  "\"then\":{\"type\":[\"string\",\"null\"]}}}" },
    { "NewOperation",
      "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"action\","
      "\"q\"],\"properties\":{\"action\":" STRING ",\"q\":" STRING ",\"dry_run\":" BOOL
      ",\"reason\":" STRING ",\"without_after\":" BOOL ",\"priority\":" NUMBER
      ",\"queue\":" STRING ",\"run_at\":" STRING ",\"delay\":" STRING
      ",\"max_run_time\":" STRING ",\"tags\":{\"type\":\"array\",\"items\":" STRING
      "}}}" },
    { "Operation",
      "{\"type\":\"object\",\"properties\":{\"id\":" STRING ",\"action\":" STRING
      ",\"q\":" STRING ",\"tenant\":" STRING ",\"state\":" STRING ",\"dry_run\":" BOOL
      ",\"count\":" NUMBER ",\"count_more\":" BOOL ",\"acted\":" NUMBER
      ",\"refused\":" NUMBER ",\"progress\":" NUMBER
      ",\"created_at\":{\"type\":[\"string\",\"null\"],\"format\":\"date-time\"},"
      "\"finished_at\":{\"type\":[\"string\",\"null\"],\"format\":\"date-time\"}}}" },
    { "OperationList", LIST_OF("Operation") },
    { "GroupRemoved",
      "{\"type\":\"object\",\"properties\":{\"name\":" STRING ",\"removed\":" BOOL "}}" },
    { "HandlerBody", "{\"type\":\"string\",\"description\":\"the handler's body; or, as "
                     "application/json, the handler object\"}" },
    { "TenantList", LIST_OF("Tenant") },
    { "ConfigValues", "{\"type\":\"object\",\"additionalProperties\":{\"type\":"
                      "\"object\",\"properties\":{"
                      "\"value\":" STRING ",\"origin\":" STRING ",\"setting\":" STRING
                      ",\"configured\":" STRING "}}}" },
    { "AuditRow",
      "{\"type\":\"object\",\"properties\":{\"id\":" STRING ",\"at\":" TIME0
      ",\"who\":" STRING ",\"from\":" STRING ",\"action\":" STRING ",\"kind\":" STRING
      ",\"tenant\":" STRING0 ",\"target\":" STRING0 ",\"count\":" NUMBER
      ",\"before\":{\"type\":[\"object\",\"null\"]},\"after\":{\"type\":[\"object\","
      "\"null\"]}}}" },
    { "AuditList", LIST_OF("AuditRow") },
    { "Token", TOKEN("") },
    { "TokenMade", TOKEN(",\"token\":" STRING) },
    { "TokenList", LIST_OF("Token") },
    { "NewToken",
      "{\"type\":\"object\",\"required\":[\"name\",\"scopes\"],"
      "\"additionalProperties\":false,\"properties\":{\"name\":" STRING
      ",\"tenant\":" STRING ",\"scopes\":" TOKEN_SCOPES ",\"expires_in\":" STRING
      ",\"expires_at\":{\"type\":\"string\",\"format\":\"date-time\"}}}" },
    { "TenantRemoved",
      "{\"type\":\"object\",\"properties\":{\"name\":" STRING ",\"removed\":" BOOL "}}" },
    { "JobIds",
      "{\"type\":\"object\",\"required\":[\"ids\"],\"additionalProperties\":false,"
      "\"properties\":{\"ids\":{\"type\":\"array\",\"items\":" STRING "}}}" },
    { "Scoreboard",
      "{\"type\":\"object\",\"properties\":{\"exitcodes\":{\"type\":\"object\","
      "\"additionalProperties\":{\"type\":[\"integer\",\"null\"]}},\"missing\":{"
      "\"type\":\"array\",\"items\":" STRING "}}}" },
    { "Test", "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
              "\"payload\":" STRING ",\"payload_base64\":" STRING ",\"version\":" NUMBER
              ",\"handler\":{\"type\":\"object\"},\"timeout\":" STRING "}}" },
    { "Tested",
      "{\"type\":\"object\",\"properties\":{\"code\":" STRING ",\"exitcode\":" NUMBER
      ",\"exit_status\":{\"type\":[\"integer\",\"null\"]},\"signal\":" NUMBER
      ",\"timed_out\":" BOOL ",\"error\":{\"type\":[\"string\",\"null\"]},"
      "\"result\":{\"type\":[\"string\",\"null\"]},"
      "\"message\":{\"type\":[\"string\",\"null\"]},\"jobs\":{\"type\":\"array\","
      "\"items\":{\"type\":\"object\"}},\"stdout\":" STRING ",\"stderr\":" STRING
      ",\"run_ms\":" NUMBER "}}" },
    { "Rollback", "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
                  "\"version\":{\"type\":[\"integer\",\"null\"],\"minimum\":1}}}" },
    { "Claim",
      "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
      "\"queues\":{\"type\":\"array\",\"items\":" STRING
      "},\"types\":{\"type\":\"array\",\"items\":" STRING
      "},\"max\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000,\"default\":1},"
      "\"wait\":" STRING ",\"lease\":" STRING ",\"worker\":" STRING "}}" },
    { "Claimed", "{\"type\":\"object\",\"required\":[\"jobs\"],\"properties\":{\"jobs\":{"
                 "\"type\":\"array\",\"items\":{\"allOf\":[" REF(
                     "Job") ",{\"type\":\"object\","
                            "\"required\":[\"token\"],\"properties\":{\"token\":" STRING
                            ",\"lease\":" STRING "}}]}}}}" },
    { "Renewal",
      "{\"type\":\"object\",\"required\":[\"items\"],\"additionalProperties\":false,"
      "\"properties\":{\"items\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
      "\"required\":[\"id\",\"attempt\",\"token\"],\"properties\":{\"id\":" STRING
      ",\"attempt\":" NUMBER ",\"token\":" STRING ",\"progress\":" NUMBER
      ",\"message\":" STRING "}}}}}" },
    { "Results",
      "{\"type\":\"object\",\"required\":[\"items\"],\"additionalProperties\":false,"
      "\"properties\":{\"items\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
      "\"required\":[\"id\",\"attempt\",\"token\"],\"properties\":{\"id\":" STRING
      ",\"attempt\":" NUMBER ",\"token\":" STRING
      ",\"exitcode\":{\"type\":\"integer\",\"minimum\":100,\"maximum\":599,"
      "\"default\":200},\"result\":{\"description\":\"a string as it is, any other "
      "value as JSON\"},\"result_base64\":" STRING ",\"error\":" STRING
      ",\"jobs\":{\"type\":\"array\",\"items\":" REF(
          "NewJob") "},"
                    "\"progress\":" NUMBER ",\"message\":" STRING "}}}}}" },
    { "ClaimAnswers",
      "{\"type\":\"object\",\"required\":[\"items\"],\"properties\":{\"items\":{"
      "\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"id\":" STRING
      ",\"status\":{\"type\":\"string\",\"enum\":[\"ok\",\"lost\",\"cancel\",\"late\"]}"
      "}}}}}" },
    { "QueueList", LIST_OF("Queue") },
    { "QueueRemoved", "{\"type\":\"object\",\"properties\":{\"tenant\":" STRING
                      ",\"name\":" STRING ",\"removed\":" BOOL "}}" },
    { "QueueCleared",
      "{\"type\":\"object\",\"properties\":{\"tenant\":" STRING ",\"name\":" STRING
      ",\"cleared\":" NUMBER ",\"operation\":" STRING0 "}}" },
    { "Pause", "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
               "\"reason\":" STRING ",\"for\":{\"type\":[\"string\",\"number\"]}}}" },
    { "ResourceList", LIST_OF("Resource") },
    { "ResourceRemoved",
      "{\"type\":\"object\",\"properties\":{\"key\":" STRING ",\"removed\":" BOOL "}}" },
    { "NodeDrain", "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
                   "\"reason\":" STRING "}}" },
    { "Nothing", "{\"type\":\"object\",\"additionalProperties\":false}" },
    { "Forward",
      "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"to\"],"
      "\"properties\":{\"to\":{\"type\":\"array\",\"items\":" STRING
      "},\"mode\":{\"enum\":[\"all\",\"round-robin\",\"hash\",\"least-loaded\"]},"
      "\"slots\":" NUMBER ",\"bandwidth\":" NUMBER ",\"ssh\":" STRING "}}" },
    { "NewProcessor",
      "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
      "\"command\":{\"oneOf\":[" STRING ",{\"type\":\"array\",\"items\":" STRING
      "}]},\"type\":" STRING ",\"dir\":" STRING ",\"cwd\":" STRING
      ",\"env\":{\"type\":\"array\",\"items\":" STRING "},\"slots\":" NUMBER
      ",\"priority\":" NUMBER ",\"max_retries\":" NUMBER ",\"retry_delay\":" STRING
      ",\"max_run_time\":" STRING ",\"forward\":{\"type\":\"array\",\"items\":" REF(
          "Forward") "},\"start_forwarder\":" BOOL "}}" },
    { "Processor",
      "{\"type\":\"object\",\"properties\":{\"name\":" STRING ",\"id\":" STRING
      ",\"node\":" STRING ",\"uptime\":{\"type\":\"number\"},\"processing\":" BOOL
      ",\"forwarding\":" BOOL ",\"slots\":" NUMBER ",\"running\":" NUMBER
      ",\"receiving\":" NUMBER ",\"waiting\":" NUMBER
      ",\"active\":{\"type\":\"array\",\"items\":" STRING "},\"processed\":" NUMBER
      ",\"finished\":" NUMBER ",\"sent\":" NUMBER ",\"failed\":" NUMBER
      ",\"paused\":" NUMBER ",\"halted\":" NUMBER
      ",\"unit_seconds\":{\"type\":\"object\"},"
      "\"problems\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}}}" },
    { "ProcessorList", LIST_OF("Processor") },
    { "Unit", "{\"type\":\"object\",\"properties\":{\"unit\":" STRING
              ",\"status\":" STRING ",\"job\":{\"type\":[\"string\",\"null\"]}}}" },
    { "Signalled", "{\"type\":\"object\"}" },
    { "LinesAdded",
      "{\"type\":\"object\",\"properties\":{\"ok\":" BOOL ",\"count\":" NUMBER
      ",\"ids\":{\"type\":\"array\",\"items\":" STRING "}}}" },
};

/* --- Parameters
 * --------------------------------------------------------------------------- */

typedef struct ParamRow {
    const char *name;
    const char *schema;
    const char *meaning;
} ParamRow;

static const ParamRow param_rows[] = {
    { "metric", STRING,
      "of added, started, finished, ok, failed, retry, error, wait_ms, run_ms" },
    { "by", STRING, "none, queue, type, priority, tenant or outcome" },
    { "from", STRING, "a time, or -2h" },
    { "to", STRING, "a time, or -2h; now if not given" },
    { "step", STRING, "a duration in whole minutes" },
    { "count", NUMBER, "so many" },
    { "tenant", STRING, "whose jobs; `default` if not given" },
    { "wait", STRING, "one job only: answer when it is final, or after this duration" },
    { "state", STRING, "alternatives separated by commas" },
    { "type", STRING, "alternatives; a trailing * matches any rest" },
    { "queue", STRING, "alternatives; a trailing * matches any rest" },
    { "tag", STRING, "alternatives" },
    { "name", STRING, "alternatives; a trailing * matches any rest" },
    { "priority", STRING, "a number, or as in >=5" },
    { "node", STRING, "sysid of the node of the last attempt" },
    { "parent", STRING, "id of the job that added it" },
    { "schedule", STRING, "the schedule that added it" },
    { "group", STRING, "its group" },
    { "created_after", STRING, "a time, or -2h" },
    { "created_before", STRING, "a time, or -2h" },
    { "q", STRING, "query text, as in state:failed tag:import created:>-2h" },
    { "limit", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000,\"default\":50}",
      "jobs per page" },
    { "cursor", STRING, "next_cursor of the page before" },
    { "order", "{\"type\":\"string\",\"enum\":[\"newest\",\"dispatch\"]}",
      "of the list" },
    { "attempt", "{\"type\":\"integer\",\"minimum\":1}", "the last one if not given" },
    { "stream", "{\"type\":\"string\",\"enum\":[\"stdout\",\"stderr\"]}",
      "both if not given" },
    { "follow", "{\"type\":\"string\",\"enum\":[\"0\",\"1\"]}",
      "go on until the job is over" },
};

static void param_json(JsonOut *json, Slice name, const char *place)
{
    const char *schema = STRING;
    const char *meaning = NULL;
    for (size_t i = 0; i < sizeof param_rows / sizeof *param_rows; i++) {
        if (!slice_is(name, param_rows[i].name) || strcmp(place, "query") != 0)
            continue;
        schema = param_rows[i].schema;
        meaning = param_rows[i].meaning;
    }
    json_object(json, NULL);
    json_text(json, "name", name);
    json_cstr(json, "in", place);
    json_bool(json, "required", strcmp(place, "path") == 0);
    if (meaning)
        json_cstr(json, "description", meaning);
    json_raw(json, "schema", slice_text(schema));
    json_object_end(json);
}

static void params_json(JsonOut *json, const Route *route)
{
    json_array(json, "parameters");
    Slice path = slice_text(route->path);
    while (path.data) {
        Slice part = slice_cut(&path, '/');
        if (part.bytes > 2 && part.data[0] == '{')
            param_json(json, slice_of(part.data + 1, part.bytes - 2), "path");
    }
    Slice names = slice_text(strcmp(route->params, "*") == 0 ? "" : route->params);
    while (names.bytes) {
        Slice name = slice_cut(&names, ' ');
        if (name.bytes)
            param_json(json, name, "query");
    }
    json_array_end(json);
}

/* --- Operations
 * ----------------------------------------------------------------------------- */

static void content_json(JsonOut *json, const char *type, const char *schema)
{
    char ref[96];
    snprintf(ref, sizeof ref, "{\"$ref\":\"#/components/schemas/%s\"}", schema);
    json_object(json, type);
    json_raw(json, "schema", slice_text(ref));
    json_object_end(json);
}

/* Bodies of actions. */
static bool may_be_empty(const char *body)
{
    return strcmp(body, "Action") == 0 || strcmp(body, "Rollback") == 0 ||
           strcmp(body, "Test") == 0 || strcmp(body, "Nothing") == 0 ||
           strcmp(body, "Pause") == 0 || strcmp(body, "NewQueue") == 0 ||
           strcmp(body, "NewResource") == 0;
}

static void body_json(JsonOut *json, const Route *route)
{
    if (!route->body)
        return;
    bool lines = strcmp(route->body, "Lines") == 0;
    bool bare = strcmp(route->body, "HandlerBody") == 0;
    json_object(json, "requestBody");
    json_bool(json, "required", !may_be_empty(route->body));
    json_object(json, "content");
    content_json(json, lines || bare ? "text/plain" : "application/json", route->body);
    if (bare)
        content_json(json, "application/json", "NewHandler");
    if (strcmp(route->body, "NewJobs") == 0)
        content_json(json, "application/x-ndjson", "NewJob");
    json_object_end(json);
    json_object_end(json);
}

typedef struct Answer {
    const char *status;
    const char *what;
    const char *type;
    const char *schema; /* NULL: any text */
    const char *other_type;
    const char *other_schema;
} Answer;

static void response_json(JsonOut *json, const Answer *answer)
{
    json_object(json, answer->status);
    json_cstr(json, "description", answer->what);
    json_object(json, "content");
    if (answer->schema)
        content_json(json, answer->type, answer->schema);
    else
        json_raw(json, answer->type, SLICE_LITERAL("{\"schema\":{\"type\":\"string\"}}"));
    if (answer->other_type)
        content_json(json, answer->other_type, answer->other_schema);
    json_object_end(json);
    json_object_end(json);
}

static void responses_json(JsonOut *json, const Route *route)
{
    static const Answer many = { "200",
                                 "many jobs, or the one that was waited for",
                                 "application/x-ndjson",
                                 "BulkLine",
                                 "application/json",
                                 "Added" };
    static const Answer passed = {
        "202", "the wait passed", "application/json", "Added", NULL, NULL
    };
    const Answer replaced = {
        "200", "there was one before", "application/json", route->answer, NULL, NULL
    };
    static const Answer problem = { "default", "a problem", "application/problem+json",
                                    "Problem", NULL,        NULL };
    char status[8];
    snprintf(status, sizeof status, "%u", route->status);
    const Answer good = {
        status,        "done", route->answer ? "application/json" : "text/plain",
        route->answer, NULL,   NULL
    };
    json_object(json, "responses");
    response_json(json, &good);
    if (route->answer && strcmp(route->answer, "Added") == 0) {
        response_json(json, &many);
        response_json(json, &passed);
    }
    if (route->method == METHOD_PUT && route->status == 201)
        response_json(json, &replaced);
    response_json(json, &problem);
    json_object_end(json);
}

static const char *verb(Method method)
{
    switch (method) {
    case METHOD_GET:
        return "get";
    case METHOD_POST:
        return "post";
    case METHOD_PUT:
        return "put";
    case METHOD_PATCH:
        return "patch";
    case METHOD_DELETE:
        return "delete";
    case METHOD_NONE:
        break;
    }
    return "?";
}

static void operation_json(JsonOut *json, const Route *route)
{
    static const char *const tenants[] = {
        [ROUTE_OF_ALL] = "all",
        [ROUTE_BY_PARAM] = "query",
        [ROUTE_BY_PATH] = "path",
    };
    json_object(json, verb(route->method));
    json_cstr(json, "operationId", route->id);
    json_cstr(json, "summary", route->summary);
    json_cstr(json, "x-scope", scope_name(route->scope));
    json_cstr(json, "x-tenant", tenants[route_tenant(route)]);
    json_raw(json, "security",
             route->scope == SCOPE_NONE ? SLICE_LITERAL("[]")
                                        : SLICE_LITERAL("[{},{\"token\":[]}]"));
    params_json(json, route);
    body_json(json, route);
    responses_json(json, route);
    json_object_end(json);
}

static void paths_json(JsonOut *json)
{
    json_object(json, "paths");
    for (size_t i = 0; i < route_count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(routes[k].path, routes[i].path) == 0;
        if (seen)
            continue;
        json_object(json, routes[i].path);
        for (size_t k = i; k < route_count; k++)
            if (strcmp(routes[k].path, routes[i].path) == 0)
                operation_json(json, &routes[k]);
        json_object_end(json);
    }
    json_object_end(json);
}

/* --- Schemas
 * ------------------------------------------------------------------------------- */

static void field_json(JsonOut *json, const JobField *field, bool read_only)
{
    Buf text = { 0 };
    JsonOut quoted = { .out = &text };
    buf_printf(&text, "{%s,\"description\":", field->schema);
    json_cstr(&quoted, NULL, field->meaning);
    buf_add_text(&text, read_only ? ",\"readOnly\":true}" : "}");
    json_raw(json, field->name, buf_slice(&text));
    buf_done(&text);
}

static const JobField *job_field(size_t index)
{
    size_t count;
    const JobField *fields = job_fields(&count);
    return index < count ? &fields[index] : NULL;
}

/* Of a job; `sent`: only what a client may say. */
static void fields_schema(JsonOut *json, const char *name, bool sent,
                          const JobField *(*field_at)(size_t index))
{
    const JobField *field;
    json_object(json, name);
    json_cstr(json, "type", "object");
    if (sent)
        json_bool(json, "additionalProperties", false);
    json_object(json, "properties");
    for (size_t i = 0; (field = field_at(i)); i++)
        if (!sent || field->client)
            field_json(json, field, !sent && !field->client);
    json_object_end(json);
    json_object_end(json);
}

/* --- Nouns -------------------------------------------------------------------------
 */

static const struct {
    const Noun *noun;
    const char *shown; /* NULL: by the route's own shape */
    const char *sent;
    const char *patch;
} nouns[] = {
    { &alert_rule_noun, "AlertRule", "NewAlertRule", "AlertRulePatch" },
    { &handler_noun, "Handler", "NewHandler", "HandlerPatch" },
    { &queue_noun, "Queue", "NewQueue", "QueuePatch" },
    { &resource_noun, "Resource", "NewResource", "ResourcePatch" },
    { &schedule_noun, "Schedule", "NewSchedule", "SchedulePatch" },
    { &slots_noun, NULL, NULL, "NodeSlots" },
    { &tenant_noun, "Tenant", "NewTenant", "TenantPatch" },
};

/* A schedule also has the fields of the jobs that it adds. */
static void added_properties(JsonOut *json)
{
    static const char *const others[] = { "tenant", "name",  "run_at", "delay",
                                          "held",   "after", NULL };
    static const JobField name = { "job_name", true, "\"type\":[\"string\",\"null\"]",
                                   "the name of its jobs" };
    size_t count;
    const JobField *fields = job_fields(&count);
    field_json(json, &name, false);
    for (size_t i = 0; i < count; i++) {
        bool other = !fields[i].client;
        for (size_t k = 0; others[k] && !other; k++)
            other = strcmp(fields[i].name, others[k]) == 0;
        if (!other)
            field_json(json, &fields[i], false);
    }
}

static void one_schema(JsonOut *json, const char *name, const Noun *noun, NounSchema what)
{
    if (!name)
        return;
    json_object(json, name);
    noun_schema_head(json, noun, what);
    json_object(json, "properties");
    noun_properties(json, noun, what);
    if (noun == &schedule_noun)
        added_properties(json);
    json_object_end(json);
    json_object_end(json);
}

static void nouns_schemas(JsonOut *json)
{
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++) {
        one_schema(json, nouns[i].shown, nouns[i].noun, SCHEMA_SHOWN);
        one_schema(json, nouns[i].sent, nouns[i].noun, SCHEMA_SENT);
        one_schema(json, nouns[i].patch, nouns[i].noun, SCHEMA_PATCH);
    }
}

static void patch_schema(JsonOut *json)
{
    static const char *const names[] = { "priority", "queue", "run_at",      "delay",
                                         "payload",  "tags",  "max_run_time" };
    size_t count;
    const JobField *fields = job_fields(&count);
    json_object(json, "JobPatch");
    json_cstr(json, "type", "object");
    json_bool(json, "additionalProperties", false);
    json_object(json, "properties");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strcmp(fields[i].name, names[k]) == 0)
                field_json(json, &fields[i], false);
    json_object_end(json);
    json_object_end(json);
}

static const char *setting_type(ValueKind kind)
{
    if (kind == VALUE_BOOL)
        return "[\"boolean\",\"null\"]";
    if (kind == VALUE_COUNT)
        return "[\"integer\",\"null\"]";
    if (kind == VALUE_DURATION)
        return "[\"string\",\"number\",\"null\"]";
    return "[\"string\",\"null\"]";
}

static void config_schema(JsonOut *json)
{
    const Setting *setting;
    json_object(json, "Config");
    json_cstr(json, "type", "object");
    json_bool(json, "additionalProperties", false);
    json_object(json, "properties");
    for (size_t i = 0; (setting = setting_number(i)); i++) {
        json_object(json, setting->name);
        json_raw(json, "type", slice_text(setting_type(setting_rule(setting)->kind)));
        json_cstr(json, "description", setting->help);
        json_object_end(json);
    }
    json_object_end(json);
    json_object_end(json);
}

static void problem_schema(JsonOut *json)
{
    json_object(json, "Problem");
    json_cstr(json, "type", "object");
    json_raw(json, "required", SLICE_LITERAL("[\"type\",\"title\",\"status\",\"code\"]"));
    json_object(json, "properties");
    json_raw(json, "type", SLICE_LITERAL(STRING));
    json_raw(json, "title", SLICE_LITERAL(STRING));
    json_raw(json, "status", SLICE_LITERAL(NUMBER));
    json_raw(json, "detail", SLICE_LITERAL(STRING));
    json_raw(json, "hint", SLICE_LITERAL("{\"type\":[\"string\",\"null\"]}"));
    json_raw(json, "pointer", SLICE_LITERAL(STRING));
    json_raw(json, "allowed", SLICE_LITERAL("{\"type\":\"array\",\"items\":" STRING "}"));
    json_object(json, "code");
    json_cstr(json, "type", "string");
    json_array(json, "enum");
    for (const ProblemKind *kind = problem_kinds(); kind->code; kind++)
        json_cstr(json, NULL, kind->code);
    json_array_end(json);
    json_object_end(json);
    json_object_end(json);
    json_object_end(json);
}

void openapi_write(Buf *out)
{
    JsonOut json = { .out = out };
    json_object(&json, NULL);
    json_cstr(&json, "openapi", "3.1.0");
    json_object(&json, "info");
    json_cstr(&json, "title", "pawl");
    json_cstr(&json, "version", PAWL_VERSION);
    json_cstr(&json, "description", "A durable job queue and batch scheduler");
    json_raw(&json, "license",
             SLICE_LITERAL("{\"name\":\"Apache 2.0\",\"identifier\":\"Apache-2.0\"}"));
    json_object_end(&json);
    json_raw(&json, "servers", SLICE_LITERAL("[{\"url\":\"/\"}]"));
    paths_json(&json);
    json_object(&json, "components");
    json_raw(&json, "securitySchemes",
             SLICE_LITERAL("{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}}"));
    json_object(&json, "schemas");
    fields_schema(&json, "Job", false, job_field);
    fields_schema(&json, "NewJob", true, job_field);
    nouns_schemas(&json);
    patch_schema(&json);
    config_schema(&json);
    problem_schema(&json);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        json_raw(&json, shapes[i].name, slice_text(shapes[i].schema));
    json_object_end(&json);
    json_object_end(&json);
    json_object_end(&json);
}

void api_openapi(Exchange *exchange)
{
    buf_clear(&exchange->out);
    openapi_write(&exchange->out);
    exchange_reply_json(exchange, 200);
}
