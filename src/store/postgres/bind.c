/* SPDX-License-Identifier: Apache-2.0 */
/* bind.c - see bind.h. */
#include "store/postgres/bind.h"

#include <assert.h>
#include <endian.h>

#define OID_INT8_ARRAY  1016
#define OID_INT4_ARRAY  1007
#define OID_INT2_ARRAY  1005
#define OID_BYTEA_ARRAY 1001

static int width_of(PgType type)
{
    return type == PG_INT8 ? 8 : type == PG_INT4 ? 4 : 2;
}

static void put_be32(Buf *out, int32_t value)
{
    uint32_t bytes = htobe32((uint32_t)value);
    buf_add(out, &bytes, sizeof bytes);
}

static void put_number(Buf *out, PgType type, int64_t value)
{
    uint64_t bytes = htobe64((uint64_t)value);
    int width = width_of(type);
    buf_add(out, (const char *)&bytes + (8 - width), (size_t)width);
}

/* --- Arrays --------------------------------------------------------------------------
 */

void array_int(PgArray *array, int64_t value)
{
    copy_int(&array->items, array->type, value);
    array->count++;
}

void array_bytes(PgArray *array, Slice bytes)
{
    copy_bytes(&array->items, bytes);
    array->count++;
}

void array_null(PgArray *array)
{
    copy_null(&array->items);
    array->count++;
    array->has_null = true;
}

void array_clear(PgArray *array)
{
    buf_clear(&array->items);
    array->count = 0;
    array->has_null = false;
}

void array_done(PgArray *array)
{
    buf_done(&array->items);
    array->count = 0;
}

static Oid array_oid(PgType type)
{
    switch (type) {
    case PG_INT8:
        return OID_INT8_ARRAY;
    case PG_INT4:
        return OID_INT4_ARRAY;
    case PG_INT2:
        return OID_INT2_ARRAY;
    case PG_BYTEA:
        return OID_BYTEA_ARRAY;
    }
    return OID_BYTEA_ARRAY;
}

/* --- Parameters ------------------------------------------------------------------------
 */

static PgParam *begin(PgParams *params, Oid type)
{
    assert(params->count < PG_PARAMS_MAX);
    PgParam *param = &params->items[params->count++];
    *param = (PgParam){ .type = type, .at = params->bytes.bytes };
    return param;
}

static void end(PgParams *params, PgParam *param)
{
    param->length = (int)(params->bytes.bytes - param->at);
}

void param_int(PgParams *params, int64_t value)
{
    PgParam *param = begin(params, PG_INT8);
    put_number(&params->bytes, PG_INT8, value);
    end(params, param);
}

void param_int_or_null(PgParams *params, int64_t value, int64_t none)
{
    param_int(params, value);
    params->items[params->count - 1].null = value == none;
}

void param_bytes(PgParams *params, Slice bytes)
{
    PgParam *param = begin(params, PG_BYTEA);
    buf_add_slice(&params->bytes, bytes);
    end(params, param);
}

void param_array(PgParams *params, const PgArray *array)
{
    PgParam *param = begin(params, array_oid(array->type));
    Buf *out = &params->bytes;
    put_be32(out, array->count ? 1 : 0); /* dimensions */
    put_be32(out, array->has_null);
    put_be32(out, (int32_t)array->type);
    if (array->count) {
        put_be32(out, array->count);
        put_be32(out, 1); /* the first has this number */
        buf_add_slice(out, buf_slice(&array->items));
    }
    end(params, param);
}

void params_clear(PgParams *params)
{
    params->count = 0;
    buf_clear(&params->bytes);
}

void params_done(PgParams *params)
{
    params->count = 0;
    buf_done(&params->bytes);
}

/* --- Rows of a copy
 * ----------------------------------------------------------------------
 */

void copy_row(Buf *out, int fields)
{
    put_number(out, PG_INT2, fields);
}

void copy_int(Buf *out, PgType type, int64_t value)
{
    put_be32(out, width_of(type));
    put_number(out, type, value);
}

void copy_bytes(Buf *out, Slice bytes)
{
    put_be32(out, (int32_t)bytes.bytes);
    buf_add_slice(out, bytes);
}

void copy_null(Buf *out)
{
    put_be32(out, -1);
}

/* --- Answers ---------------------------------------------------------------------------
 */

int64_t field_int(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return 0;
    const unsigned char *bytes = (const unsigned char *)PQgetvalue(result, row, column);
    int length = PQgetlength(result, row, column);
    uint64_t value = length && (bytes[0] & 0x80) && length > 1 ? UINT64_MAX : 0;
    for (int i = 0; i < length; i++)
        value = value << 8 | bytes[i];
    return (int64_t)value;
}

Slice field_bytes(const PGresult *result, int row, int column)
{
    int length = PQgetlength(result, row, column);
    return length ? slice_of(PQgetvalue(result, row, column), (size_t)length)
                  : (Slice){ NULL, 0 };
}
