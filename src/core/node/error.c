/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - what follows a job that failed or was rejected.
 *
 * Its own `on_error` type, and the error-handler job of the settings, each gets one job
 * with what is known, in the batch of the end itself. Neither can go round for ever:
 * `on_error` steps in a row are counted (ERROR_DEPTH_MAX), and what an error handler does
 * or causes never calls it again (JOB_AFTERMATH). */
#include "core/node/inside.h"

#include "base/json_out.h"

#define PAYLOAD_BYTES_MAX (1 << 20) /* of the failed job's, passed on to the handler */

Job node_parent(const Node *node, const Head *head)
{
    return (Job){
        .id = head->id,
        .tenant = names_text(&node->names, head->tenant),
        .flags = head->flags,
        .error_depth = head->error_depth,
    };
}

void node_add_follower(Node *node, const Head *head, uint32_t type, Slice payload)
{
    Job parent = node_parent(node, head);
    Job child = { .type = names_text(&node->names, type),
                  .payload = payload,
                  .chain = head->chain + 1 };
    node_add_child(node, &parent, &child);
}

static void outcome_json(JsonOut *json, const Outcome *outcome)
{
    json_cstr(json, "code", code_name(outcome->code));
    json_int(json, "exitcode", outcome->exitcode);
    if (outcome->exit_status >= 0)
        json_int(json, "exit_status", outcome->exit_status);
    if (outcome->signal)
        json_int(json, "signal", outcome->signal);
}

static void ending_json(JsonOut *json, const Ending *ending)
{
    if (ending->job_name.bytes)
        json_text(json, "name", ending->job_name);
    if (!ending->job_payload.data || ending->job_payload.bytes > PAYLOAD_BYTES_MAX)
        return;
    if (utf8_valid(ending->job_payload))
        json_text(json, "payload", ending->job_payload);
    else
        json_base64(json, "payload_base64", ending->job_payload);
}

static void describe(const Node *node, const Head *head, JobState state, Slice error,
                     Buf *out)
{
    JsonOut json = { .out = out };
    char id[ID_TEXT_BYTES];
    json_object(&json, NULL);
    json_object(&json, "job");
    json_cstr(&json, "id", id_text(head->id, id));
    json_text(&json, "tenant", names_text(&node->names, head->tenant));
    json_text(&json, "type", names_text(&node->names, head->type));
    json_text(&json, "queue", names_text(&node->names, head->queue));
    json_int(&json, "priority", head->priority);
    json_int(&json, "attempt", head->attempt);
    json_int(&json, "retry_number", head->retry_number);
    json_cstr(&json, "state", state_name(state));
    if (node->outcome)
        outcome_json(&json, node->outcome);
    if (node->ending)
        ending_json(&json, node->ending);
    json_object_end(&json);
    json_text(&json, "error", error);
    json_object_end(&json);
}

static bool calls_handler(const Node *node, const Head *head, Slice handler)
{
    return handler.bytes && !(head->flags & JOB_AFTERMATH) &&
           !slice_equal(names_text(&node->names, head->type), handler);
}

/* 000: an exception deletes the job control file. */
static void delete_failed(Node *node, const Head *head, JobState state)
{
    Op *op = node_op(node, OP_REMOVE, head->id);
    op->from = STATES_FINAL;
    node_erase(node, head->id, head->attempt);
    node_group_removed(node, head, state);
}

void node_follow_error(Node *node, const Head *head, JobState state, Slice error)
{
    Slice handler = slice_text(node->settings.error_handler);
    bool calls = calls_handler(node, head, handler);
    bool follows = head->on_error && head->on_error != head->type &&
                   head->error_depth < ERROR_DEPTH_MAX;
    Buf text = { 0 };
    if (calls || follows)
        describe(node, head, state, error, &text);
    Slice payload = node_keep(node, buf_slice(&text));
    buf_done(&text);
    Job parent = node_parent(node, head);
    parent.error_depth++;
    if (follows) {
        Job child = { .type = names_text(&node->names, head->on_error),
                      .payload = payload,
                      .chain = head->chain };
        node_add_child(node, &parent, &child);
        calls = calls && !slice_equal(child.type, handler);
    }
    parent.flags |= JOB_AFTERMATH;
    if (calls)
        node_add_child(node, &parent,
                       &(Job){ .type = node_keep(node, handler), .payload = payload });
    if (node->settings.on_error == FATE_DELETE)
        delete_failed(node, head, state);
}
