/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c - see routes.h. */
#include "api/routes.h"

#include "api/audit.h"
#include "api/controller.h"
#include "api/definitions/alerts.h"
#include "api/definitions/handlers.h"
#include "api/definitions/queues.h"
#include "api/definitions/resources.h"
#include "api/definitions/schedules.h"
#include "api/definitions/tenants.h"
#include "api/definitions/tokens.h"
#include "api/definitions/trials.h"
#include "api/errors.h"
#include "api/events.h"
#include "api/jobs/actions.h"
#include "api/jobs/claims.h"
#include "api/jobs/error_groups.h"
#include "api/jobs/explain.h"
#include "api/jobs/groups.h"
#include "api/jobs/history.h"
#include "api/jobs/jobs.h"
#include "api/jobs/lines.h"
#include "api/jobs/logs.h"
#include "api/jobs/operations.h"
#include "api/jobs/scoreboard.h"
#include "api/legacy.h"
#include "api/node.h"
#include "api/nodes.h"
#include "api/openapi.h"
#include "api/processors.h"
#include "api/series.h"
#include "api/ui.h"

#define API "/api/v1"
#define LIST                                                                             \
    "state type queue tag name priority node parent schedule group "                     \
    "created_after created_before q limit cursor order tenant"
#define ACT(word, act, what)                                                             \
    {                                                                                    \
        METHOD_POST, SCOPE_OPERATE, API "/jobs/{id}/" word, api_job_act, word "_job",    \
            what, "tenant", "Action", "Job", 200, act                                    \
    }
#define ACT_HANDLER(word, handle, what, body)                                            \
    {                                                                                    \
        METHOD_POST, SCOPE_ADMIN, API "/handlers/{type}/" word, handle, word "_handler", \
            what, "tenant", body, "Handler", 200, 0                                      \
    }
#define FOUND_ADD(method, path, id, what)                                                \
    {                                                                                    \
        method, SCOPE_ADMIN, "/{client}/handler/" path, api_founding_handler_add, id,    \
            what, "*", "HandlerBody", "Handler", 200, 0                                  \
    }
#define FOUND_DEL(method, path, id, what)                                                \
    {                                                                                    \
        method, SCOPE_ADMIN, "/{client}/handler/" path, api_founding_handler_delete, id, \
            what, "", NULL, "HandlerRemoved", 200, 0                                     \
    }
#define ACT_SCHEDULE(word, handle, what, answer, status)                                 \
    {                                                                                    \
        METHOD_POST, SCOPE_OPERATE, API "/schedules/{name}/" word, handle,               \
            word "_schedule", what, "tenant", "Nothing", answer, status, 0               \
    }
#define GET(path, scope, handle, id, what, params, answer)                               \
    {                                                                                    \
        METHOD_GET, scope, path, handle, id, what, params, NULL, answer, 200, 0          \
    }

const Route routes[] = {
    { METHOD_POST, SCOPE_ENQUEUE, API "/jobs", api_jobs_add, "add_jobs",
      "Add one job (an object) or many (an array, or NDJSON)", "wait tenant", "NewJobs",
      "Added", 201, 0 },
    GET(API "/jobs", SCOPE_READ, api_jobs_list, "list_jobs", "List and search jobs", LIST,
        "JobList"),
    GET(API "/jobs/{id}", SCOPE_READ, api_job_get, "get_job", "Show a job", "tenant",
        "Job"),
    { METHOD_PATCH, SCOPE_OPERATE, API "/jobs/{id}", api_job_patch, "patch_job",
      "Change a job that waits", "tenant", "JobPatch", "Job", 200, ACT_PATCH },
    { METHOD_DELETE, SCOPE_OPERATE, API "/jobs/{id}", api_job_delete, "delete_job",
      "Cancel a job if it is not final, then remove it", "tenant", NULL, "Removed", 200,
      ACT_REMOVE },
    ACT("cancel", ACT_CANCEL, "End a job: TERM, grace, KILL"),
    ACT("kill", ACT_KILL, "End a job at once"),
    ACT("hold", ACT_HOLD, "Do not start a job until it is released"),
    ACT("release", ACT_RELEASE, "Undo hold"),
    ACT("pause", ACT_PAUSE, "Stop the processes of a running job"),
    ACT("resume", ACT_RESUME, "Undo pause and halt"),
    ACT("halt", ACT_HALT, "Stop a running job with its progress kept"),
    { METHOD_POST, SCOPE_OPERATE, API "/jobs/{id}/retry", api_job_act, "retry_job",
      "Run a job again, behind the jobs it waits for; what was cancelled because of it "
      "waits again",
      "tenant", "Retry", "Job", 200, ACT_RETRY },
    { METHOD_POST, SCOPE_ENQUEUE, API "/jobs/{id}/clone", api_job_clone, "clone_job",
      "Add a job like this one", "tenant", "Nothing", "Added", 201, 0 },
    GET(API "/jobs/{id}/attempts", SCOPE_READ, api_job_attempts, "list_attempts",
        "All runs of a job", "tenant", "AttemptList"),
    GET(API "/jobs/{id}/log", SCOPE_READ, api_job_log, "get_log",
        "What a job printed, as plain text", "tenant attempt stream follow", NULL),
    GET(API "/jobs/{id}/result", SCOPE_READ, api_job_result, "get_result",
        "The bytes of a job's result", "tenant", NULL),
    GET(API "/jobs/{id}/explain", SCOPE_READ, api_job_explain, "explain_job",
        "Why a job is or is not running", "tenant", "Explanation"),
    GET(API "/jobs/{id}/events", SCOPE_READ, api_job_events, "list_job_events",
        "What has happened to a job, oldest first", "tenant", "JobEventList"),
    GET(API "/errors", SCOPE_READ, api_errors_list, "list_errors",
        "What goes wrong, grouped by message; jobs that failed, were rejected or retry",
        "q tenant", "ErrorGroupList"),
    { METHOD_POST, SCOPE_WORK, API "/claims", api_claim, "claim_jobs",
      "Pull workers: take jobs; 204 when there are none and the wait has passed",
      "tenant", "Claim", "Claimed", 200, 0 },
    { METHOD_POST, SCOPE_WORK, API "/claims/renew", api_claim_renew, "renew_claims",
      "Pull workers: still at work; `cancel` asks for the job's end", "tenant", "Renewal",
      "ClaimAnswers", 200, 0 },
    { METHOD_POST, SCOPE_WORK, API "/claims/finish", api_claim_finish, "finish_claims",
      "Pull workers: results; answered when they are durable", "tenant", "Results",
      "ClaimAnswers", 200, 0 },
    { METHOD_POST, SCOPE_ADMIN, API "/handlers/{type}/test", api_handler_try,
      "test_handler", "Run a handler once with a payload; nothing is stored", "tenant",
      "Test", "Tested", 200, 0 },
    GET(API "/tenants", SCOPE_ADMIN, api_tenants_list, "list_tenants", "All tenants",
        "limit cursor", "TenantList"),
    GET(API "/tenants/{name}", SCOPE_ADMIN, api_tenant_get, "get_tenant",
        "What is set for a tenant, and its numbers of jobs", "", "Tenant"),
    { METHOD_PUT, SCOPE_ADMIN, API "/tenants/{name}", api_tenant_put, "put_tenant",
      "Set up a tenant", "", "NewTenant", "Tenant", 201, 0 },
    { METHOD_PATCH, SCOPE_ADMIN, API "/tenants/{name}", api_tenant_patch, "patch_tenant",
      "Change what the body names of a tenant; null gives a field its default back", "",
      "TenantPatch", "Tenant", 200, 0 },
    { METHOD_DELETE, SCOPE_ADMIN, API "/tenants/{name}", api_tenant_delete,
      "delete_tenant", "Give a tenant its defaults back; its jobs stay", "", NULL,
      "TenantRemoved", 200, 0 },
    GET(API "/audit", SCOPE_ADMIN, api_audit, "list_audit",
        "Who changed what, newest first", "limit cursor who action kind target of",
        "AuditList"),
    GET(API "/tokens", SCOPE_ADMIN, api_tokens_list, "list_tokens",
        "All tokens, without their secrets", "limit cursor", "TokenList"),
    { METHOD_POST, SCOPE_ADMIN, API "/tokens", api_token_add, "add_token",
      "Make a token; its secret is shown this once", "", "NewToken", "TokenMade", 201,
      0 },
    { METHOD_DELETE, SCOPE_ADMIN, API "/tokens", api_token_delete, "revoke_token_named",
      "Revoke the token ?name=", "name", NULL, "NameRemoved", 200, 0 },
    GET(API "/tokens/{name}", SCOPE_ADMIN, api_token_get, "get_token", "One token", "",
        "Token"),
    { METHOD_DELETE, SCOPE_ADMIN, API "/tokens/{name}", api_token_delete, "revoke_token",
      "Revoke a token: it is refused from now on", "", NULL, "NameRemoved", 200, 0 },
    GET(API "/scoreboard", SCOPE_READ, api_scoreboard, "get_scoreboard",
        "The exit codes of many jobs", "ids tenant", "Scoreboard"),
    { METHOD_POST, SCOPE_READ, API "/scoreboard", api_scoreboard, "ask_scoreboard",
      "The same for ids in the body", "tenant", "JobIds", "Scoreboard", 200, 0 },
    GET(API "/events", SCOPE_READ, api_events, "stream_events",
        "What happens to jobs, as server-sent events with CloudEvents data",
        "tenant follow", NULL),
    GET(API "/handlers", SCOPE_READ, api_handlers_list, "list_handlers", "All handlers",
        "limit cursor tenant", "HandlerList"),
    GET(API "/handlers/{type}", SCOPE_READ, api_handler_get, "get_handler",
        "What runs the jobs of a type", "tenant", "Handler"),
    { METHOD_PUT, SCOPE_ADMIN, API "/handlers/{type}", api_handler_put, "put_handler",
      "Set a handler: a new version, used for jobs that start from now on", "tenant",
      "NewHandler", "Handler", 201, 0 },
    { METHOD_PATCH, SCOPE_ADMIN, API "/handlers/{type}", api_handler_patch,
      "patch_handler",
      "Change what the body names of a handler; null gives a field its default back",
      "tenant", "HandlerPatch", "Handler", 200, 0 },
    { METHOD_DELETE, SCOPE_ADMIN, API "/handlers/{type}", api_handler_delete,
      "delete_handler", "Delete a handler; its versions are kept", "tenant", NULL,
      "HandlerRemoved", 200, 0 },
    GET(API "/handlers/{type}/versions", SCOPE_READ, api_handler_versions,
        "list_handler_versions", "All versions of a handler, newest first",
        "limit cursor tenant", "HandlerList"),
    ACT_HANDLER("rollback", api_handler_rollback,
                "Make an older version the newest: the one before if none is named",
                "Rollback"),
    ACT_HANDLER("enable", api_handler_enable, "Let jobs of the type start again",
                "Nothing"),
    ACT_HANDLER("disable", api_handler_disable, "Let jobs of the type wait", "Nothing"),
    GET(API "/schedules", SCOPE_READ, api_schedules_list, "list_schedules",
        "All schedules", "limit cursor tenant", "ScheduleList"),
    GET(API "/schedules/{name}", SCOPE_READ, api_schedule_get, "get_schedule",
        "One schedule and how far it has come", "tenant", "Schedule"),
    { METHOD_PUT, SCOPE_ADMIN, API "/schedules/{name}", api_schedule_put, "put_schedule",
      "Set a schedule: what to add, and when", "tenant", "NewSchedule", "Schedule", 201,
      0 },
    { METHOD_PATCH, SCOPE_ADMIN, API "/schedules/{name}", api_schedule_patch,
      "patch_schedule",
      "Change what the body names of a schedule; null gives a field its default back",
      "tenant", "SchedulePatch", "Schedule", 200, 0 },
    { METHOD_DELETE, SCOPE_ADMIN, API "/schedules/{name}", api_schedule_delete,
      "delete_schedule", "Delete a schedule; its jobs stay", "tenant", NULL,
      "NameRemoved", 200, 0 },
    GET(API "/schedules/{name}/preview", SCOPE_READ, api_schedule_preview,
        "preview_schedule", "The planned times that come next", "count from tenant",
        "Preview"),
    ACT_SCHEDULE("trigger", api_schedule_trigger, "Add its job now", "Added", 201),
    ACT_SCHEDULE("pause", api_schedule_pause, "Add nothing until it is resumed",
                 "Schedule", 200),
    ACT_SCHEDULE("resume", api_schedule_resume,
                 "Undo pause; times in between are forgotten", "Schedule", 200),
    GET(API "/queues", SCOPE_READ, api_queues_list, "list_queues",
        "All queues with their counts", "limit cursor tenant", "QueueList"),
    GET(API "/queues/{name}", SCOPE_READ, api_queue_get, "get_queue",
        "A queue, its limits and its counts", "tenant", "Queue"),
    { METHOD_PUT, SCOPE_ADMIN, API "/queues/{name}", api_queue_put, "put_queue",
      "Define a queue: limits, range of priorities, policy", "tenant", "NewQueue",
      "Queue", 201, 0 },
    { METHOD_PATCH, SCOPE_ADMIN, API "/queues/{name}", api_queue_patch, "patch_queue",
      "Change what the body names of a queue; null gives a field its default back",
      "tenant", "QueuePatch", "Queue", 200, 0 },
    { METHOD_DELETE, SCOPE_ADMIN, API "/queues/{name}", api_queue_delete, "delete_queue",
      "Forget the definition of a queue; its jobs stay", "tenant", NULL, "QueueRemoved",
      200, 0 },
    { METHOD_POST, SCOPE_OPERATE, API "/queues/{name}/pause", api_queue_pause,
      "pause_queue", "Start nothing more of a queue", "tenant", "Pause", "Queue", 200,
      0 },
    { METHOD_POST, SCOPE_OPERATE, API "/queues/{name}/resume", api_queue_resume,
      "resume_queue", "Undo pause", "tenant", "Nothing", "Queue", 200, 0 },
    { METHOD_POST, SCOPE_OPERATE, API "/queues/{name}/clear", api_queue_clear,
      "clear_queue", "Cancel everything that waits in a queue", "tenant", "Nothing",
      "QueueCleared", 200, 0 },
    GET(API "/resources", SCOPE_READ, api_resources_list, "list_resources",
        "All resource managers", "limit cursor tenant", "ResourceList"),
    GET(API "/resources/{key}", SCOPE_READ, api_resource_get, "get_resource",
        "A resource manager, and who holds what of it", "tenant", "Resource"),
    { METHOD_PUT, SCOPE_ADMIN, API "/resources/{key}", api_resource_put, "put_resource",
      "Define a resource manager; what is booked stays", "tenant", "NewResource",
      "Resource", 201, 0 },
    { METHOD_PATCH, SCOPE_ADMIN, API "/resources/{key}", api_resource_patch,
      "patch_resource",
      "Change what the body names of a resource; null gives a field its default back",
      "tenant", "ResourcePatch", "Resource", 200, 0 },
    { METHOD_DELETE, SCOPE_ADMIN, API "/resources/{key}", api_resource_delete,
      "delete_resource", "Forget a resource manager", "", NULL, "ResourceRemoved", 200,
      0 },
    GET(API "/groups/{name}", SCOPE_READ, api_group_get, "get_group",
        "How far the jobs of a group are", "tenant", "Group"),
    { METHOD_PUT, SCOPE_OPERATE, API "/groups/{name}", api_group_put, "put_group",
      "Name the type of the job that is added when every member is final", "tenant",
      "NewGroup", "Group", 201, 0 },
    { METHOD_POST, SCOPE_OPERATE, API "/groups/{name}/cancel", api_group_cancel,
      "cancel_group", "Cancel every member that is not final: an operation", "tenant",
      "Nothing", "Operation", 202, 0 },
    { METHOD_POST, SCOPE_OPERATE, API "/groups/{name}/retry", api_group_retry,
      "retry_group", "Run the members again that failed: an operation", "tenant",
      "Nothing", "Operation", 202, 0 },
    { METHOD_POST, SCOPE_OPERATE, API "/operations", api_operations_add, "add_operation",
      "Act on every job that matches a query, in the background", "tenant",
      "NewOperation", "Operation", 202, 0 },
    GET(API "/operations", SCOPE_READ, api_operations_list, "list_operations",
        "Operations that run or ran, newest first", "limit cursor tenant",
        "OperationList"),
    GET(API "/operations/{id}", SCOPE_READ, api_operation_get, "get_operation",
        "How far an operation is", "tenant", "Operation"),
    { METHOD_DELETE, SCOPE_OPERATE, API "/operations/{id}", api_operation_stop,
      "stop_operation", "Stop an operation; what is done stays done", "tenant", NULL,
      "Operation", 200, 0 },
    { METHOD_DELETE, SCOPE_OPERATE, API "/groups/{name}", api_group_delete,
      "delete_group", "Forget the completion job of a group; its jobs stay", "tenant",
      NULL, "GroupRemoved", 200, 0 },
    GET(API "/config", SCOPE_READ, api_config_get, "get_config", "The settings", "",
        "Config"),
    GET(API "/config/values", SCOPE_ADMIN, api_config_values, "list_config_values",
        "Every value of the configuration that is in force, and where it comes from", "",
        "ConfigValues"),
    { METHOD_PATCH, SCOPE_ADMIN, API "/config", api_config_patch, "patch_config",
      "Change settings; null gives one its default back", "", "Config", "Config", 200,
      0 },
    GET(API "/stats/series", SCOPE_READ, api_series, "get_series",
        "Curves: what happened when, by kind of job",
        "metric by from to step queue type tenant", "SeriesList"),
    GET(API "/alerts", SCOPE_READ, api_alerts, "list_alerts", "Trouble now", "tenant",
        "AlertList"),
    GET(API "/notices", SCOPE_READ, api_notices, "list_notices",
        "What someone outside has not been told yet, or was given up",
        "limit cursor tenant", "NoticeList"),
    GET(API "/alert-rules", SCOPE_READ, api_alert_rules, "list_alert_rules",
        "What counts as trouble, and whom to tell", "limit cursor tenant",
        "AlertRuleList"),
    GET(API "/alert-rules/{name}", SCOPE_READ, api_alert_rule_get, "get_alert_rule",
        "One rule", "tenant", "AlertRule"),
    { METHOD_PUT, SCOPE_ADMIN, API "/alert-rules/{name}", api_alert_rule_put,
      "put_alert_rule", "Set a rule", "tenant", "NewAlertRule", "AlertRule", 201, 0 },
    { METHOD_PATCH, SCOPE_ADMIN, API "/alert-rules/{name}", api_alert_rule_patch,
      "patch_alert_rule",
      "Change what the body names of an alert rule; null gives a field its default back",
      "tenant", "AlertRulePatch", "AlertRule", 200, 0 },
    { METHOD_DELETE, SCOPE_ADMIN, API "/alert-rules/{name}", api_alert_rule_delete,
      "delete_alert_rule", "Delete a rule", "tenant", NULL, "NameRemoved", 200, 0 },
    GET(API "/controller", SCOPE_READ, api_controller_get, "get_controller",
        "The controller lock: who has the duties of the cluster", "", "Controller"),
    GET(API "/nodes", SCOPE_READ, api_nodes, "list_nodes", "All nodes",
        "tenant limit cursor", "NodeList"),
    GET(API "/nodes/{sysid}", SCOPE_READ, api_node_get, "get_node",
        "One node and what runs there", "tenant", "Node"),
    { METHOD_PATCH, SCOPE_ADMIN, API "/nodes/{sysid}", api_node_patch, "patch_node",
      "Slots of a node, and of queues on it; null takes one back", "tenant", "NodeSlots",
      "Node", 200, 0 },
    { METHOD_DELETE, SCOPE_ADMIN, API "/nodes/{sysid}", api_node_forget, "forget_node",
      "A node that is gone for good is shown no more; its number is never another's",
      "tenant", NULL, "NameRemoved", 200, 0 },
    { METHOD_POST, SCOPE_ADMIN, API "/nodes/{sysid}/drain", api_node_drain, "drain_node",
      "It starts nothing more and gives away what waits; 202: it has not heard of it yet",
      "tenant", "NodeDrain", "Node", 200, 0 },
    { METHOD_POST, SCOPE_ADMIN, API "/nodes/{sysid}/resume", api_node_resume,
      "resume_node", "It goes on; 202: it has not heard of it yet", "tenant", "Nothing",
      "Node", 200, 0 },
    GET(API "/stats", SCOPE_READ, api_stats, "get_stats", "Numbers of now and so far",
        "tenant", "Stats"),
    GET(API "/processors", SCOPE_READ, api_processors_list, "list_processors",
        "All processors of directories, and brokers", "", "ProcessorList"),
    GET(API "/processors/{name}", SCOPE_READ, api_processor_get, "get_processor",
        "What a processor is doing", "", "Processor"),
    { METHOD_PUT, SCOPE_ADMIN, API "/processors/{name}", api_processor_put,
      "put_processor", "Make a processor and its directory, or change it", "",
      "NewProcessor", "Processor", 201, 0 },
    GET(API "/processors/{name}/units/{unit}", SCOPE_READ, api_processor_unit, "get_unit",
        "What has become of a unit", "", "Unit"),
    { METHOD_POST, SCOPE_OPERATE, API "/processors/{name}/{signal}", api_processor_signal,
      "signal_processor", "Send a signal to a processor", "unit wait next confirm",
      "Nothing", "Signalled", 200, 0 },
    GET(API, SCOPE_NONE, api_index, "get_index", "Where to go from here", "", "Index"),
    GET(API "/", SCOPE_NONE, api_index, "get_index_too", "Where to go from here", "",
        "Index"),
    GET(API "/me", SCOPE_READ, api_me, "get_me", "Who asks, and what they may do",
        "tenant", "Me"),
    GET("/", SCOPE_NONE, api_root, "get_root",
        "Answers OK; leads a browser to the dashboard", "*", NULL),
    { METHOD_GET, SCOPE_NONE, "/ui", api_ui_slash, "get_ui_slash",
      "Leads to the dashboard", "*", NULL, NULL, 307, 0 },
    GET("/ui/", SCOPE_NONE, api_ui, "get_ui", "The dashboard", "*", NULL),
    GET("/ui/{page}", SCOPE_NONE, api_ui, "get_ui_page",
        "A page of the dashboard, or one of its files", "*", NULL),
    GET("/ui/{page}/{name}", SCOPE_NONE, api_ui, "get_ui_thing",
        "A page about one thing, or a file", "*", NULL),
    GET("/ui/{page}/{name}/{part}", SCOPE_NONE, api_ui, "get_ui_part",
        "A page about a part of one thing", "*", NULL),
    GET("/livez", SCOPE_NONE, api_livez, "get_livez", "The process lives", "*", NULL),
    GET("/readyz", SCOPE_NONE, api_readyz, "get_readyz", "Jobs are accepted", "*", NULL),
    GET("/healthz", SCOPE_NONE, api_readyz, "get_healthz", "As readyz", "*", NULL),
    GET("/metrics", SCOPE_READ, api_metrics, "get_metrics", "Prometheus text", "*", NULL),
    GET("/docs/errors", SCOPE_NONE, api_errors, "get_errors",
        "What the codes of problems mean: a page that their `type` points to", "*", NULL),
    GET("/docs/errors/{code}", SCOPE_NONE, api_error, "get_error",
        "What one of them means, as plain text", "*", NULL),
    GET("/openapi.json", SCOPE_NONE, api_openapi, "get_openapi", "This description", "",
        "OpenApi"),
    { METHOD_POST, SCOPE_ENQUEUE, "/add", api_legacy_add, "legacy_add",
      "Where daemon.legacy is on: each line that is no comment is a payload", "*",
      "Lines", "LinesAdded", 200, 0 },
    GET("/start", SCOPE_ADMIN, api_legacy_start, "legacy_start",
        "Where daemon.legacy is on: start jobs again", "", NULL),
    GET("/stop", SCOPE_ADMIN, api_legacy_stop, "legacy_stop",
        "Where daemon.legacy is on: accept jobs, start none", "", NULL),
    GET("/quit", SCOPE_ADMIN, api_legacy_quit, "legacy_quit",
        "Where daemon.legacy is on: end the daemon; running jobs go on", "", NULL),
    { METHOD_POST, SCOPE_ENQUEUE, "/{client}/job/{type}/add", api_lines_add, "add_lines",
      "Each line of the body is the payload of a job", "*", "Lines", "LinesAdded", 200,
      0 },
    FOUND_ADD(METHOD_POST, "add/{type}/add", "add_handler",
              "Set a handler: the object as JSON, else the bare body and ?method=LANG"),
    FOUND_ADD(METHOD_PUT, "add/{type}/add", "add_handler_put", "As POST"),
    FOUND_DEL(METHOD_POST, "del/{type}/delete", "del_handler", "Delete a handler"),
    FOUND_DEL(METHOD_DELETE, "del/{type}/delete", "del_handler_delete", "As POST"),
    GET("/{client}/handler/get/{type}", SCOPE_READ, api_founding_handler_get,
        "get_founding_handler", "The handler of a type", "", "Handler"),
    FOUND_ADD(METHOD_PUT, "{type}", "put_client_handler", "Short form of add"),
    GET("/{client}/handler/{type}", SCOPE_READ, api_founding_handler_get,
        "get_client_handler", "Short form of get", "", "Handler"),
    FOUND_DEL(METHOD_DELETE, "{type}", "delete_client_handler", "Short form of del"),
};
const size_t route_count = sizeof routes / sizeof *routes;

const char *method_name(Method method)
{
    switch (method) {
    case METHOD_GET:
        return "GET";
    case METHOD_POST:
        return "POST";
    case METHOD_PUT:
        return "PUT";
    case METHOD_PATCH:
        return "PATCH";
    case METHOD_DELETE:
        return "DELETE";
    case METHOD_NONE:
        break;
    }
    return "?";
}

/* Resources and nodes are everyone's: their `tenant` only says whose part is shown. */
static bool changes_shared(const Route *route)
{
    Slice path = slice_text(route->path);
    return route->method != METHOD_GET &&
           (slice_starts(path, SLICE_LITERAL(API "/resources")) ||
            slice_starts(path, SLICE_LITERAL(API "/nodes")));
}

RouteTenant route_tenant(const Route *route)
{
    Slice rest = slice_text(route->params);
    if (changes_shared(route))
        return ROUTE_OF_ALL;
    if (slice_starts(slice_text(route->path), SLICE_LITERAL("/{client}/")))
        return ROUTE_BY_PATH;
    while (rest.bytes)
        if (slice_is(slice_cut(&rest, ' '), "tenant"))
            return ROUTE_BY_PARAM;
    return ROUTE_OF_ALL;
}

/* --- Matching ---------------------------------------------------------------------- */

/* Whether the path has the route's form; its free parts stay encoded. */
static bool path_matches(Slice pattern, Slice path, Slice parts[EXCHANGE_PARTS_MAX],
                         size_t *out_count)
{
    size_t count = 0;
    while (pattern.data && path.data) {
        Slice wanted = slice_cut(&pattern, '/');
        Slice given = slice_cut(&path, '/');
        if (wanted.bytes && wanted.data[0] == '{') {
            if (!given.bytes || count == EXCHANGE_PARTS_MAX)
                return false;
            parts[count++] = given;
        } else if (!slice_equal(wanted, given)) {
            return false;
        }
    }
    *out_count = count;
    return !pattern.data && !path.data;
}

const Route *route_find(Method method, Slice path, Arena *arena,
                        Slice parts[EXCHANGE_PARTS_MAX], unsigned *out_allowed)
{
    *out_allowed = 0;
    for (size_t i = 0; i < route_count; i++) {
        size_t count;
        if (!path_matches(slice_text(routes[i].path), path, parts, &count))
            continue;
        if (routes[i].method != method) {
            *out_allowed |= 1u << routes[i].method;
            continue;
        }
        for (size_t k = 0; k < count; k++)
            if (percent_decode(parts[k], false, arena, &parts[k]))
                return NULL;
        return &routes[i];
    }
    return NULL;
}

Err percent_decode(Slice text, bool plus, Arena *arena, Slice *out)
{
    char *decoded = arena_take(arena, text.bytes + 1);
    size_t bytes = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        char c = text.data[i];
        if (c == '+' && plus)
            c = ' ';
        if (c == '%') {
            bool room = text.bytes - i > 2;
            int high = room ? hex_digit(text.data[i + 1]) : -1;
            int low = room ? hex_digit(text.data[i + 2]) : -1;
            if (high < 0 || low < 0)
                return ERR_INVALID;
            c = (char)(high << 4 | low);
            i += 2;
        }
        decoded[bytes++] = c;
    }
    *out = slice_of(decoded, bytes);
    return ERR_OK;
}

#define PARAMS_MAX 64

Err params_parse(Slice query, Arena *arena, Param **out_params, size_t *out_count)
{
    size_t count = 0;
    if (!query.bytes)
        return ERR_OK;
    Param *params = arena_take(arena, PARAMS_MAX * sizeof *params);
    while (query.data) {
        Slice value = slice_cut(&query, '&');
        if (!value.bytes)
            continue;
        if (count == PARAMS_MAX)
            return ERR_LIMIT;
        Slice name = slice_cut(&value, '=');
        Param *param = &params[count++];
        if (percent_decode(name, true, arena, &param->name) ||
            percent_decode(value, true, arena, &param->value))
            return ERR_INVALID;
    }
    *out_params = params;
    *out_count = count;
    return ERR_OK;
}

const Param *route_unknown_param(const Route *route, const Param *params, size_t count)
{
    if (strcmp(route->params, "*") == 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        Slice rest = slice_text(route->params);
        bool known = false;
        while (rest.bytes && !known)
            known = slice_equal(slice_cut(&rest, ' '), params[i].name);
        if (!known)
            return &params[i];
    }
    return NULL;
}
