/* SPDX-License-Identifier: Apache-2.0 */
/* notice.c - see notice.h. */
#include "core/notice.h"

#include "base/fields.h"

#include <stddef.h>

#define FIRST_PAUSE_MS MS_PER_S /* doubles */
#define PAUSE_MAX_MS   MS_PER_HOUR

#define ROW(tag, member, kind)                                                           \
    {                                                                                    \
        (tag), offsetof(Notice, member), (kind)                                          \
    }

static const FieldRow rows[] = {
    ROW(1, target, FIELD_SLICE), ROW(2, body, FIELD_SLICE),
    ROW(3, user, FIELD_SLICE),   ROW(4, tries, FIELD_32),
    ROW(5, gave_up, FIELD_BOOL), ROW(6, created_ms, FIELD_64),
    ROW(7, due_ms, FIELD_64),    ROW(8, error, FIELD_SLICE),
};
static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

void notice_pack(Buf *out, const Notice *notice)
{
    fields_pack(out, &fields, notice);
}

Err notice_unpack(Slice packed, Notice *out)
{
    Notice notice = { 0 };
    Err err = fields_unpack(packed, &fields, &notice);
    if (!err)
        *out = notice;
    return err;
}

void notice_failed(Notice *notice, int64_t now_ms, Slice error)
{
    int64_t pause_ms = FIRST_PAUSE_MS;
    for (uint32_t i = 0; i < notice->tries && pause_ms < PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    notice->tries++;
    notice->error = error;
    notice->gave_up = notice->tries >= NOTICE_TRIES_MAX;
    if (pause_ms > PAUSE_MAX_MS)
        pause_ms = PAUSE_MAX_MS;
    notice->due_ms = now_ms + (notice->gave_up ? NOTICE_KEPT_MS : pause_ms);
}
