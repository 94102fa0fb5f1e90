/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - groups as the node knows them: a mirror of the store's counts, and the
 * completion jobs. What must hold:
 *   - counts follow every operation in the turn that decides it, as the store's will;
 *   - the completion job is added in the same batch as the end of the last member and
 *     as the mark that says so: both or neither are there after a crash.
 * Where nodes share a store no mirror can be true. There the counts are asked for, behind
 * the end of a member: whose end the store has last sees all of them final. Two nodes may
 * see it; the completion job has a key, so that one of theirs runs. Whoever starts or
 * takes over from another asks for all that are open. */
#include "core/node/inside.h"
#include "core/share/share.h"

#define GROUPS_ASKED_MAX 20 /* questions under way */

typedef struct Group {
    Arena arena; /* of everything but then */
    Slice tenant;
    Slice name;
    GroupCounts counts;
    Buf then;
    JobId completion;
    int64_t created_ms;
    int64_t asked_ms;
    bool defined;
    bool due; /* shared: its counts are to be asked for */
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

static void snapshot_writer(Group *group, const GroupDefinition *definition)
{
    group->defined = true;
    group->completion = definition->completion;
    group->created_ms = definition->created_ms;
    group->asked_ms = definition->asked_ms;
    buf_clear(&group->then);
    buf_add_slice(&group->then, definition->then);
}

static bool waits(const Group *group)
{
    return group->then.bytes && !group->completion;
}

/* Shared: its counts are to be asked for. */
static void fall_due(Node *node, Group *group)
{
    group->due = waits(group);
    node->groups_due = node->groups_due || group->due;
}

void node_load_group_definition(Node *node, const Definition *stored)
{
    GroupDefinition definition;
    if (group_unpack(stored->value, &definition))
        return;
    Group *group = group_of(node, stored->tenant, stored->key);
    snapshot_writer(group, &definition);
    if (node->share)
        fall_due(node, group);
}

static void put(Node *node, const Group *group)
{
    Buf value = { 0 };
    GroupDefinition definition = { buf_slice(&group->then), group->completion,
                                   group->created_ms, group->asked_ms };
    group_pack(&value, &definition);
    Op *op = node_op(node, OP_PUT, 0);
    op->table = SLICE_LITERAL(GROUP_TABLE);
    op->tenant = node_keep(node, group->tenant);
    op->key = node_keep(node, group->name);
    op->value = node_keep(node, buf_slice(&value));
    buf_done(&value);
}

/* The key of the completion job among nodes: no client's has a byte like its first. */
static Slice completion_key(Node *node, const Group *group)
{
    Buf key = { 0 };
    if (node->share) {
        buf_printf(&key, "\1group " SLICE_FMT " %lld", SLICE_ARG(group->name),
                   (long long)group->asked_ms);
        buf_add_char(&key, '\0');
        buf_printf(&key, "%u", node->options.number);
        buf_add_char(&key, '\0');
    }
    Slice kept = node_keep(node, buf_slice(&key));
    buf_done(&key);
    return kept;
}

/* Every member is final: the completion job, once. */
static void complete(Node *node, Group *group, const GroupCounts *counts)
{
    if (!waits(group) || !group_total(counts) || group_open(counts))
        return;
    Buf payload = { 0 };
    group_summary(&payload, group->name, counts);
    Job like = { .tenant = group->tenant };
    Job child = job_default();
    child.priority = PRIORITY_UNSET;
    child.max_retries = RETRIES_OPEN;
    child.type = node_keep(node, buf_slice(&group->then));
    child.payload = node_keep(node, buf_slice(&payload));
    child.request = completion_key(node, group);
    buf_done(&payload);
    group->completion = node_add_whole_child(node, &like, &child);
    put(node, group);
}

/* Its members may all be final. */
static void look(Node *node, Group *group)
{
    if (node->share)
        fall_due(node, group);
    else
        complete(node, group, &group->counts);
}

void node_groups_look(Node *node)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&node->groups, &at, &entry);)
        fall_due(node, entry.value);
}

void node_ask_groups(Node *node)
{
    MapEntry entry;
    if (!node->groups_due || node->now.boot_ms < node->groups_boot)
        return;
    bool more = false;
    for (size_t at = 0; map_next(&node->groups, &at, &entry);) {
        Group *group = entry.value;
        if (!group->due)
            continue;
        if (node->groups_asked >= GROUPS_ASKED_MAX) {
            more = true;
            break;
        }
        group->due = false;
        Asked *asked;
        Effect *effect = node_ask(node, WANT_GROUP, &asked);
        asked->event.number = entry.key;
        effect->tenant = node_keep(node, group->tenant);
        effect->key = node_keep(node, group->name);
        node->groups_asked++;
    }
    node->groups_due = more;
}

void node_group_loaded(Node *node, const Asked *asked, const Event *answer)
{
    Group *group = map_find(&node->groups, asked->event.number);
    GroupCounts counts;
    node->groups_asked--;
    if (!group)
        return;
    if (answer->err) {
        group->due = node->groups_due = true;
        node->groups_boot = node->now.boot_ms + TICK_MS;
    } else if (answer->value.bytes == sizeof counts) {
        memcpy(&counts, answer->value.data, sizeof counts);
        complete(node, group, &counts);
    }
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
        look(node, group);
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
    definition.asked_ms = node->now.wall_ms;
    snapshot_writer(group, &definition);
    put(node, group);
    look(node, group);
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
