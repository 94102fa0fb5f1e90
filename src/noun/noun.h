/* SPDX-License-Identifier: Apache-2.0 */
/* noun.h - a whole object of a noun (types.h): read, patched, written, packed, described.
 *
 * A Noun is constant. Its rows stand in the order in which they are shown; NOUN_STORED()
 * makes the table for packing, in the order of the tags, before main() begins. */
#ifndef NOUN_NOUN_H
#define NOUN_NOUN_H

#include "noun/field.h"

/* Fills in->object: with defaults unless it is a patch, then with the members. Slices
 * borrow from the JSON or live in the arena. After an error it is of no use. */
MUST_CHECK Err noun_read(NounIn *in, const JsonIn *object);

/* One more member after that, as the query of a founding path has it: text that stands
 * for a number or a truth where the field is one. An unknown name is an unknown
 * parameter. */
MUST_CHECK Err noun_read_param(NounIn *in, Slice name, Slice text);

/* Whether what was read so far named the field. */
bool noun_seen(const NounIn *in, const char *name);

/* The members that are in the struct, without braces, to put more beside them. */
void noun_members(JsonOut *json, const NounView *view);

const Field *noun_field(const Noun *noun, Slice name);

/* How the field is called that has its name: "name", "key", "type". */
const char *noun_own_name(const Noun *noun);

/* "a queue has no field 'x'", with the nearest word that can be sent. */
Err noun_unknown(const Noun *noun, Slice name, Problem *why);

/* Whether every AS_ENUM has one of its words: unpacked bytes may say anything. */
bool noun_plausible(const Noun *noun, const void *object);

void noun_pack(Buf *out, const Noun *noun, const void *object);
/* ERR_CORRUPT: *object is of no use. Slices borrow. */
MUST_CHECK Err noun_unpack(Slice packed, const Noun *noun, void *object);
void noun_keep(const Noun *noun, Arena *arena, void *object);

/* Schemas of the API description: what is shown; what a PUT may say; what a PATCH. */
typedef enum NounSchema { SCHEMA_SHOWN, SCHEMA_SENT, SCHEMA_PATCH } NounSchema;
void noun_schema(JsonOut *json, const char *name, const Noun *noun, NounSchema what);

/* The members before `properties`. */
void noun_schema_head(JsonOut *json, const Noun *noun, NounSchema what);

/* The members of such a schema's `properties`, to put more beside them. */
void noun_properties(JsonOut *json, const Noun *noun, NounSchema what);

/* Fills `rows`, which has room for each field, in the order of the tags. */
void noun_rows(const Field *fields, size_t count, FieldRow *rows, Fields *out);

#define NOUN_COUNT(fields) (sizeof(fields) / sizeof *(fields))

/* static Fields NAME_stored, ready before main() begins. */
#define NOUN_STORED(name, fields, usual)                                                 \
    static FieldRow name##_rows[NOUN_COUNT(fields)];                                     \
    static Fields name##_stored = { name##_rows, 0, (usual) };                           \
    __attribute__((constructor)) static void name##_order(void)                          \
    {                                                                                    \
        noun_rows(fields, NOUN_COUNT(fields), name##_rows, &name##_stored);              \
    }

#endif
