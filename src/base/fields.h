/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - a struct as packed fields, by a table that says where each member lies.
 *
 * One row per member; its tag is for ever, new members get new tags. Numbers are packed
 * as the difference from their default, so that a default takes no room and an absent
 * field means the default. */
#ifndef BASE_FIELDS_H
#define BASE_FIELDS_H

#include "base/pack.h"

typedef enum FieldKind {
    FIELD_64,    /* int64_t, uint64_t */
    FIELD_32,    /* int32_t, uint32_t, enums */
    FIELD_BOOL,  /* bool */
    FIELD_SLICE, /* Slice */
} FieldKind;

#define FIELDS_TAG_MAX 127

typedef struct FieldRow {
    uint32_t tag; /* 1 to FIELDS_TAG_MAX */
    size_t offset;
    FieldKind kind;
} FieldRow;

typedef struct Fields {
    const FieldRow *rows;
    size_t count;
    const void *defaults; /* a struct with every default; NULL: all zero */
} Fields;

#define FIELDS_COUNT(rows) (sizeof(rows) / sizeof *(rows))

void fields_pack(Buf *out, const Fields *fields, const void *object);

/* Gives *object, which begins as a copy of the defaults, the value of one packed field;
 * slices borrow. An unknown tag does nothing. ERR_CORRUPT: a number that does not fit. */
MUST_CHECK Err fields_set(const Fields *fields, const PackField *in, void *object);

/* All fields of what fields_pack made, into *object, which begins as a copy of the
 * defaults; slices borrow. After ERR_CORRUPT it is of no use. */
MUST_CHECK Err fields_unpack(Slice packed, const Fields *fields, void *object);

/* Every slice of *object is copied into the arena. */
void fields_keep(const Fields *fields, Arena *arena, void *object);

#endif
