/* SPDX-License-Identifier: Apache-2.0 */
/* bind.h - values on the way to and from PostgreSQL, in its binary formats. */
#ifndef STORE_POSTGRES_BIND_H
#define STORE_POSTGRES_BIND_H

#include "base/buf.h"

#include <libpq-fe.h>
#include <stdint.h>

#define PG_PARAMS_MAX 40

typedef enum PgType { PG_INT8 = 20, PG_INT4 = 23, PG_INT2 = 21, PG_BYTEA = 17 } PgType;

/* An array that grows: one column of many rows. Zero-initialised with its type. */
typedef struct PgArray {
    PgType type;
    Buf items;
    int32_t count;
    bool has_null;
} PgArray;

void array_int(PgArray *array, int64_t value);
void array_bytes(PgArray *array, Slice bytes);
void array_null(PgArray *array);
void array_clear(PgArray *array);
void array_done(PgArray *array);

typedef struct PgParam {
    Oid type;
    size_t at; /* in bytes */
    int length;
    bool null;
} PgParam;

typedef struct PgParams {
    PgParam items[PG_PARAMS_MAX];
    int count;
    Buf bytes;
} PgParams;

void param_int(PgParams *params, int64_t value);
void param_int_or_null(PgParams *params, int64_t value, int64_t none);
void param_bytes(PgParams *params, Slice bytes);
void param_array(PgParams *params, const PgArray *array);
void params_clear(PgParams *params);
void params_done(PgParams *params);

/* Fields of a row for a bulk copy: row_begin, then every field in order. */
void copy_row(Buf *out, int fields);
void copy_int(Buf *out, PgType type, int64_t value);
void copy_bytes(Buf *out, Slice bytes);
void copy_null(Buf *out);

/* Fields of an answer; NULL is 0 or empty. */
int64_t field_int(const PGresult *result, int row, int column);
Slice field_bytes(const PGresult *result, int row, int column);
static inline bool field_is_null(const PGresult *result, int row, int column)
{
    return PQgetisnull(result, row, column) != 0;
}

#endif
