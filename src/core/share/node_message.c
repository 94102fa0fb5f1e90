/* SPDX-License-Identifier: Apache-2.0 */
/* node_message.c - see node_message.h. */
#include "core/share/node_message.h"

#include "base/fields.h"

#include <stddef.h>

static const FieldRow rows[] = {
    { 1, offsetof(NodeMessage, kind), FIELD_32 },
    { 2, offsetof(NodeMessage, token), FIELD_64 },
    { 3, offsetof(NodeMessage, count), FIELD_64 },
    { 4, offsetof(NodeMessage, call.id), FIELD_64 },
    { 5, offsetof(NodeMessage, call.action), FIELD_32 },
    { 6, offsetof(NodeMessage, call.patch.fields), FIELD_32 },
    { 7, offsetof(NodeMessage, call.patch.priority), FIELD_64 },
    { 8, offsetof(NodeMessage, call.patch.run_at_ms), FIELD_64 },
    { 9, offsetof(NodeMessage, call.patch.max_run_ms), FIELD_64 },
    { 10, offsetof(NodeMessage, answer.err), FIELD_32 },
    { 11, offsetof(NodeMessage, answer.allowed), FIELD_32 },
    { 40, offsetof(NodeMessage, body), FIELD_SLICE },
    { 41, offsetof(NodeMessage, call.tenant), FIELD_SLICE },
    { 42, offsetof(NodeMessage, call.reason), FIELD_SLICE },
    { 43, offsetof(NodeMessage, call.patch.queue), FIELD_SLICE },
    { 44, offsetof(NodeMessage, call.patch.payload), FIELD_SLICE },
    { 45, offsetof(NodeMessage, call.patch.tags), FIELD_SLICE },
    { 46, offsetof(NodeMessage, answer.detail), FIELD_SLICE },
    { 47, offsetof(NodeMessage, problem), FIELD_SLICE },
    { 48, offsetof(NodeMessage, job), FIELD_SLICE },
    { 49, offsetof(NodeMessage, tenant), FIELD_SLICE },
    { 50, offsetof(NodeMessage, queues), FIELD_SLICE },
    { 51, offsetof(NodeMessage, types), FIELD_SLICE },
};
static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

enum { TAG_FLAG = 20 };

void node_message_pack(Buf *out, const NodeMessage *text)
{
    fields_pack(out, &fields, text);
    if (text->call.flag)
        pack_int(out, TAG_FLAG, 1);
}

Err node_message_unpack(Slice packed, NodeMessage *out)
{
    NodeMessage text = { 0 };
    PackField in;
    while (pack_next(&packed, &in)) {
        if (in.tag == TAG_FLAG)
            text.call.flag = true;
        else if (fields_set(&fields, &in, &text))
            return ERR_CORRUPT;
    }
    if (pack_damaged(packed) || (unsigned)text.call.action >= ACTIONS)
        return ERR_CORRUPT;
    text.call.kind = EVENT_ACT;
    *out = text;
    return ERR_OK;
}
