/* SPDX-License-Identifier: Apache-2.0 */
/* afar_text.c - see afar_text.h. */
#include "serve/afar_text.h"

#include "base/fields.h"

#include <stddef.h>

static const FieldRow rows[] = {
    { 1, offsetof(AfarText, kind), FIELD_32 },
    { 2, offsetof(AfarText, token), FIELD_64 },
    { 3, offsetof(AfarText, id), FIELD_64 },
    { 4, offsetof(AfarText, attempt), FIELD_32 },
    { 5, offsetof(AfarText, streams), FIELD_32 },
    { 6, offsetof(AfarText, offsets[0]), FIELD_64 },
    { 7, offsetof(AfarText, offsets[1]), FIELD_64 },
    { 8, offsetof(AfarText, bound), FIELD_BOOL },
    { 9, offsetof(AfarText, err), FIELD_32 },
    { 10, offsetof(AfarText, stream), FIELD_32 },
    { 11, offsetof(AfarText, from), FIELD_64 },
    { 12, offsetof(AfarText, next), FIELD_64 },
    { 13, offsetof(AfarText, epoch), FIELD_64 },
    { 14, offsetof(AfarText, more), FIELD_BOOL },
    { 40, offsetof(AfarText, tenant), FIELD_SLICE },
    { 41, offsetof(AfarText, body), FIELD_SLICE },
    { 42, offsetof(AfarText, problem), FIELD_SLICE },
    { 43, offsetof(AfarText, why), FIELD_SLICE },
    { 44, offsetof(AfarText, out), FIELD_SLICE },
};
static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

void afar_pack(Buf *out, const AfarText *text)
{
    fields_pack(out, &fields, text);
}

Err afar_unpack(Slice packed, AfarText *out)
{
    AfarText text = { 0 };
    if (fields_unpack(packed, &fields, &text) || (unsigned)text.kind < AFAR_LOG ||
        (unsigned)text.kind > AFAR_EVENTS || text.stream >= AFAR_STREAMS)
        return ERR_CORRUPT;
    *out = text;
    return ERR_OK;
}

void afar_keep(Arena *arena, AfarText *text)
{
    fields_keep(&fields, arena, text);
}
