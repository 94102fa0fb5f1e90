/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c - see fields.h. */
#include "base/fields.h"

static int64_t number_at(const FieldRow *row, const void *object)
{
    if (!object)
        return 0;
    const char *at = (const char *)object + row->offset;
    int64_t number = 0;
    int32_t small = 0;
    bool flag = false;
    switch (row->kind) {
    case FIELD_64:
        memcpy(&number, at, sizeof number);
        return number;
    case FIELD_32:
        memcpy(&small, at, sizeof small);
        return small;
    case FIELD_BOOL:
        memcpy(&flag, at, sizeof flag);
        return flag;
    case FIELD_SLICE:
        break;
    }
    return 0;
}

static Err number_set(const FieldRow *row, void *object, int64_t number)
{
    char *at = (char *)object + row->offset;
    int32_t small = (int32_t)number;
    bool flag = number != 0;
    switch (row->kind) {
    case FIELD_64:
        memcpy(at, &number, sizeof number);
        return ERR_OK;
    case FIELD_32:
        memcpy(at, &small, sizeof small);
        return small == number ? ERR_OK : ERR_CORRUPT;
    case FIELD_BOOL:
        memcpy(at, &flag, sizeof flag);
        return number == 0 || number == 1 ? ERR_OK : ERR_CORRUPT;
    case FIELD_SLICE:
        break;
    }
    return ERR_OK;
}

void fields_pack(Buf *out, const Fields *fields, const void *object)
{
    for (size_t i = 0; i < fields->count; i++) {
        const FieldRow *row = &fields->rows[i];
        Slice slice;
        if (row->kind == FIELD_SLICE) {
            memcpy(&slice, (const char *)object + row->offset, sizeof slice);
            if (slice.bytes)
                pack_bytes(out, row->tag, slice);
            continue;
        }
        int64_t number = number_at(row, object);
        int64_t usual = number_at(row, fields->defaults);
        if (number != usual)
            pack_int(out, row->tag, (int64_t)((uint64_t)number - (uint64_t)usual));
    }
}

/* Rows stand in the order of their tags: a few steps from where the tag would be in a
 * table without gaps. */
static const FieldRow *row_of(const Fields *fields, uint32_t tag)
{
    size_t at = tag < fields->count ? tag : fields->count;
    while (at > 0) {
        const FieldRow *row = &fields->rows[--at];
        if (row->tag <= tag)
            return row->tag == tag ? row : NULL;
    }
    return NULL;
}

Err fields_set(const Fields *fields, const PackField *in, void *object)
{
    const FieldRow *row = row_of(fields, in->tag);
    if (!row)
        return ERR_OK;
    if (row->kind == FIELD_SLICE) {
        memcpy((char *)object + row->offset, &in->bytes, sizeof in->bytes);
        return ERR_OK;
    }
    uint64_t number = (uint64_t)in->number + (uint64_t)number_at(row, fields->defaults);
    return number_set(row, object, (int64_t)number);
}

Err fields_unpack(Slice packed, const Fields *fields, void *object)
{
    PackField in;
    while (pack_next(&packed, &in))
        if (fields_set(fields, &in, object))
            return ERR_CORRUPT;
    return pack_damaged(packed) ? ERR_CORRUPT : ERR_OK;
}

void fields_keep(const Fields *fields, Arena *arena, void *object)
{
    for (size_t i = 0; i < fields->count; i++) {
        if (fields->rows[i].kind != FIELD_SLICE)
            continue;
        char *at = (char *)object + fields->rows[i].offset;
        Slice slice;
        memcpy(&slice, at, sizeof slice);
        if (!slice.data)
            continue; /* as most are */
        slice = slice_copy(arena, slice);
        memcpy(at, &slice, sizeof slice);
    }
}
