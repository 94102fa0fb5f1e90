/* SPDX-License-Identifier: Apache-2.0 */
/* letter.c - see letter.h. */
#include "core/letter.h"

#include "base/fields.h"

#include <stddef.h>

static const FieldRow rows[] = {
    { 1, offsetof(LetterText, kind), FIELD_32 },
    { 2, offsetof(LetterText, token), FIELD_64 },
    { 3, offsetof(LetterText, count), FIELD_64 },
    { 4, offsetof(LetterText, call.id), FIELD_64 },
    { 5, offsetof(LetterText, call.action), FIELD_32 },
    { 6, offsetof(LetterText, call.patch.fields), FIELD_32 },
    { 7, offsetof(LetterText, call.patch.priority), FIELD_64 },
    { 8, offsetof(LetterText, call.patch.run_at_ms), FIELD_64 },
    { 9, offsetof(LetterText, call.patch.max_run_ms), FIELD_64 },
    { 10, offsetof(LetterText, answer.err), FIELD_32 },
    { 11, offsetof(LetterText, answer.allowed), FIELD_32 },
    { 40, offsetof(LetterText, body), FIELD_SLICE },
    { 41, offsetof(LetterText, call.tenant), FIELD_SLICE },
    { 42, offsetof(LetterText, call.reason), FIELD_SLICE },
    { 43, offsetof(LetterText, call.patch.queue), FIELD_SLICE },
    { 44, offsetof(LetterText, call.patch.payload), FIELD_SLICE },
    { 45, offsetof(LetterText, call.patch.tags), FIELD_SLICE },
    { 46, offsetof(LetterText, answer.detail), FIELD_SLICE },
    { 47, offsetof(LetterText, problem), FIELD_SLICE },
    { 48, offsetof(LetterText, job), FIELD_SLICE },
    { 49, offsetof(LetterText, tenant), FIELD_SLICE },
    { 50, offsetof(LetterText, queues), FIELD_SLICE },
    { 51, offsetof(LetterText, types), FIELD_SLICE },
};
static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

enum { TAG_FLAG = 20 };

void letter_pack(Buf *out, const LetterText *text)
{
    fields_pack(out, &fields, text);
    if (text->call.flag)
        pack_int(out, TAG_FLAG, 1);
}

Err letter_unpack(Slice packed, LetterText *out)
{
    LetterText text = { 0 };
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
