/* SPDX-License-Identifier: Apache-2.0 */
/* node_group.c - groups as the node knows them: a mirror of the store's counts, and the
 * completion jobs. What must hold:
 *   - counts follow every operation in the turn that decides it, as the store's will;
 *   - the completion job is added in the same batch as the end of the last member and
 *     as the mark that says so: both or neither are there after a crash. */
#include "core/node_inside.h"

typedef struct Group {
    Arena arena; /* of everything but then */
    Slice tenant;
    Slice name;
    GroupCounts counts;
    Buf then;
    JobId completion;
    int64_t created_ms;
    bool defined;
} Group;

static Group *group_of(Node *node, Slice tenant, Slice name)
{
    uint64_t number = group_number(tenant, name);
    Group *group = map_find(&node->groups, number);
    if (group)
        return group;
    group = MEM_NEW(Group);
    group->tenant = slice_copy(&group->arena, tenant);
    group->name = slice_copy(&group->arena, name);
    map_put(&node->groups, number, group);
    return group;
}

static void group_free(Group *group)
{
    arena_done(&group->arena);
    buf_done(&group->then);
    mem_free(group);
}

void node_groups_free(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->groups, &at, &entry);)
        group_free(entry.value);
    map_done(&node->groups);
}

static void drop_if_empty(Node *node, uint64_t number)
{
    Group *group = map_find(&node->groups, number);
    if (!group || group->defined || group_total(&group->counts))
        return;
    map_remove(&node->groups, number);
    group_free(group);
}

void node_load_group(Node *node, Slice tenant, Slice name, JobState state, uint64_t count)
{
    group_of(node, tenant, name)->counts.of[state] = count;
}

static void remember(Group *group, const GroupDefinition *definition)
{
    group->defined = true;
    group->completion = definition->completion;
    group->created_ms = definition->created_ms;
    buf_clear(&group->then);
    buf_add_slice(&group->then, definition->then);
}

void node_load_group_definition(Node *node, const Definition *stored)
{
    GroupDefinition definition;
    if (!group_unpack(stored->value, &definition))
        remember(group_of(node, stored->tenant, stored->key), &definition);
}

static void put(Node *node, const Group *group)
{
    Buf value = { 0 };
    GroupDefinition definition = { buf_slice(&group->then), group->completion,
                                   group->created_ms };
    group_pack(&value, &definition);
    Op *op = node_op(node, OP_PUT, 0);
    op->table = SLICE_LITERAL(GROUP_TABLE);
    op->tenant = node_keep(node, group->tenant);
    op->key = node_keep(node, group->name);
    op->value = node_keep(node, buf_slice(&value));
    buf_done(&value);
}

/* Every member is final: the completion job, once. */
static void complete(Node *node, Group *group)
{
    if (!group->then.bytes || group->completion || !group_total(&group->counts) ||
        group_open(&group->counts))
        return;
    Buf payload = { 0 };
    group_summary(&payload, group->name, &group->counts);
    Job like = { .tenant = group->tenant };
    Job child = { .type = node_keep(node, buf_slice(&group->then)),
                  .payload = node_keep(node, buf_slice(&payload)) };
    buf_done(&payload);
    group->completion = node_add_child(node, &like, &child);
    put(node, group);
}

void node_group_added(Node *node, const Job *job, uint64_t count)
{
    if (job->group.bytes)
        group_of(node, job->tenant, job->group)->counts.of[job->state] += count;
}

void node_group_moved(Node *node, const Head *head, JobState was, JobState state)
{
    Group *group = head->group ? map_find(&node->groups, head->group) : NULL;
    if (!group || was == state)
        return;
    group->counts.of[was] -= group->counts.of[was] > 0;
    group->counts.of[state]++;
}

void node_group_removed(Node *node, const Head *head, JobState state)
{
    Group *group = head->group ? map_find(&node->groups, head->group) : NULL;
    if (!group)
        return;
    group->counts.of[state] -= group->counts.of[state] > 0;
    drop_if_empty(node, head->group);
}

void node_group_final(Node *node, const Head *head)
{
    Group *group = head->group ? map_find(&node->groups, head->group) : NULL;
    if (group)
        complete(node, group);
}

void node_define_group(Node *node, const Event *event)
{
    GroupDefinition definition = { 0 };
    if (event->value.data && group_unpack(event->value, &definition)) {
        node_reply(node, event->request, ERR_INVALID, "invalid_value");
        return;
    }
    uint64_t number = group_number(event->tenant, event->key);
    Group *group = map_find(&node->groups, number);
    bool there = group && group->defined;
    if (!event->value.data && !there) {
        node_reply(node, event->request, ERR_NOT_FOUND, "group_not_found");
        return;
    }
    node_reply(node, event->request, ERR_OK, NULL)->replayed = there;
    if (!event->value.data) {
        Op *op = node_op(node, OP_DELETE, 0);
        op->table = SLICE_LITERAL(GROUP_TABLE);
        op->tenant = node_keep(node, event->tenant);
        op->key = node_keep(node, event->key);
        group->defined = false;
        buf_clear(&group->then);
        drop_if_empty(node, number);
        return;
    }
    group = group_of(node, event->tenant, event->key);
    definition.completion = 0;
    definition.created_ms = there ? group->created_ms : node->now.wall_ms;
    remember(group, &definition);
    put(node, group);
    complete(node, group);
}

bool node_group(const Node *node, Slice tenant, Slice name, GroupFacts *out)
{
    const Group *group = map_find(&node->groups, group_number(tenant, name));
    if (!group)
        return false;
    *out = (GroupFacts){ .counts = group->counts,
                         .then = buf_slice(&group->then),
                         .completion = group->completion,
                         .created_ms = group->created_ms };
    return true;
}
