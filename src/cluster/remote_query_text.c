/* SPDX-License-Identifier: Apache-2.0 */
/* remote_query_text.c - see remote_query_text.h. */
#include "cluster/remote_query_text.h"

#include "base/fields.h"

#include <stddef.h>

static const FieldRow rows[] = {
    { 1, offsetof(RemoteQueryText, kind), FIELD_32 },
    { 2, offsetof(RemoteQueryText, token), FIELD_64 },
    { 3, offsetof(RemoteQueryText, id), FIELD_64 },
    { 4, offsetof(RemoteQueryText, attempt), FIELD_32 },
    { 5, offsetof(RemoteQueryText, streams), FIELD_32 },
    { 6, offsetof(RemoteQueryText, offsets[0]), FIELD_64 },
    { 7, offsetof(RemoteQueryText, offsets[1]), FIELD_64 },
    { 8, offsetof(RemoteQueryText, bound), FIELD_BOOL },
    { 9, offsetof(RemoteQueryText, err), FIELD_32 },
    { 10, offsetof(RemoteQueryText, stream), FIELD_32 },
    { 11, offsetof(RemoteQueryText, from), FIELD_64 },
    { 12, offsetof(RemoteQueryText, next), FIELD_64 },
    { 13, offsetof(RemoteQueryText, epoch), FIELD_64 },
    { 14, offsetof(RemoteQueryText, more), FIELD_BOOL },
    { 40, offsetof(RemoteQueryText, tenant), FIELD_SLICE },
    { 41, offsetof(RemoteQueryText, body), FIELD_SLICE },
    { 42, offsetof(RemoteQueryText, problem), FIELD_SLICE },
    { 43, offsetof(RemoteQueryText, why), FIELD_SLICE },
    { 44, offsetof(RemoteQueryText, out), FIELD_SLICE },
};
static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

void remote_query_pack(Buf *out, const RemoteQueryText *text)
{
    fields_pack(out, &fields, text);
}

Err remote_query_unpack(Slice packed, RemoteQueryText *out)
{
    RemoteQueryText text = { 0 };
    if (fields_unpack(packed, &fields, &text) || (unsigned)text.kind < REMOTE_QUERY_LOG ||
        (unsigned)text.kind > REMOTE_QUERY_EVENTS || text.stream >= REMOTE_QUERY_STREAMS)
        return ERR_CORRUPT;
    *out = text;
    return ERR_OK;
}

void remote_query_keep(Arena *arena, RemoteQueryText *text)
{
    fields_keep(&fields, arena, text);
}
