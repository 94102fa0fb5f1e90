/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - tagged fields in bytes: how pawl writes its own records.
 *
 * A field is a tag (1 to 2^28), a length and that many bytes; numbers are their
 * shortest zigzag form inside. Fields of value 0 or of no bytes are left out, readers
 * skip tags they do not know: so records of older and newer versions can be read by
 * each other. Nothing here trusts its input. */
#ifndef BASE_PACK_H
#define BASE_PACK_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

void pack_int(Buf *out, uint32_t tag, int64_t value);
void pack_bytes(Buf *out, uint32_t tag, Slice value);

/* A nested record: everything packed between begin and end is the field's bytes. */
size_t pack_begin(Buf *out, uint32_t tag);
void pack_end(Buf *out, size_t begun);

typedef struct PackField {
    uint32_t tag;
    Slice bytes;
    int64_t number; /* the bytes read as a number; 0 if they are none */
} PackField;

/* Takes the next field off *rest. False at the end and on damage; damage leaves
 * rest->data NULL with rest->bytes not 0. */
bool pack_next(Slice *rest, PackField *out_field);

static inline bool pack_damaged(Slice rest)
{
    return !rest.data && rest.bytes;
}

#endif
