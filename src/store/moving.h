/* SPDX-License-Identifier: Apache-2.0 */
/* moving.h - everything that a store holds, row by row: for moving it into another, of
 * whatever kind.
 *
 * Jobs come whole, those that can still change first, then the archive, each by id. All
 * else is in tables of plain values, which both kinds have. What follows from other rows
 * (counts of lanes, numbers of names, slots) is not moved but made anew; nor is who was
 * alive: leases are of the moment. Two stores with the same rows give them in the same
 * order, byte for byte. Not for stores in memory. */
#ifndef STORE_MOVING_H
#define STORE_MOVING_H

#include "store/row.h"
#include "store/store.h"

#define MOVE_COLUMNS_MAX 20

/* A name is a text that many rows share. Numbers of 0 and no number at all are told apart
 * only where they mean different things (OR_NULL). */
typedef enum MoveType {
    MOVE_LONG, /* 64 bits */
    MOVE_LONG_OR_NULL,
    MOVE_INT, /* 32 bits */
    MOVE_INT_OR_NULL,
    MOVE_BOOL,
    MOVE_TEXT,
    MOVE_BYTES,
    MOVE_NAME,
} MoveType;

typedef struct MoveColumn {
    const char *name; /* NULL: there are no more */
    MoveType type;
} MoveColumn;

typedef struct MoveTable {
    const char *name;
    const char *order; /* columns that tell its rows apart; NULL: as they were added */
    bool by_node;      /* a shared store has a row of each node: they are summed up */
    MoveColumn columns[MOVE_COLUMNS_MAX];
} MoveTable;

extern const MoveTable move_tables[];
extern const size_t move_table_count;
#define MOVE_ATTEMPT "attempt" /* whose columns 2 and 3 are slot and node */
size_t move_columns(const MoveTable *table);
const MoveTable *move_table_find(Slice name); /* NULL: there is none */

typedef struct MoveValue {
    bool null;
    int64_t number; /* of numbers and bools */
    Slice bytes;    /* of texts, bytes and names */
} MoveValue;

/* Rows are valid during the call only. A job has its payload; its bookings are in a
 * table. */
typedef struct MoveSink {
    void (*job)(void *context, const Row *row);
    void (*row)(void *context, const MoveTable *table, const MoveValue *values);
    void *context;
} MoveSink;

/* All of it as it is at one moment. */
MUST_CHECK Err move_out(Store *store, const MoveSink *sink, Error *why);

/* All of it in one transaction: nothing of it is there before move_in_end, and nothing
 * ever if that fails or `keep` is false. ERR_CONFLICT: the store is not empty; with
 * `replace` it is made so. Failures stick and are told at the end. */
MUST_CHECK Err move_in_begin(Store *store, bool replace, Error *why);
void move_in_job(Store *store, const Row *row);
void move_in_row(Store *store, const MoveTable *table, const MoveValue *values);
MUST_CHECK Err move_in_end(Store *store, bool keep, Error *why);

/* --- For the kinds -------------------------------------------------------------------
 */

typedef struct MoveKind {
    Err (*out)(Store *store, const MoveSink *sink, Error *why);
    Err (*begin)(Store *store, bool replace, Error *why);
    void (*job)(Store *store, const Row *row);
    void (*row)(Store *store, const MoveTable *table, const MoveValue *values);
    Err (*end)(Store *store, bool keep, Error *why);
} MoveKind;

extern const MoveKind sqlite_moving;
extern const MoveKind postgres_moving;

/* Tables whose rows say that a store is not empty, and all that `replace` empties. */
extern const char *const move_filled_tables[];
extern const char *const move_emptied_tables[];

#endif
