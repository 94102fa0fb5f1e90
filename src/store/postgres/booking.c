/* SPDX-License-Identifier: Apache-2.0 */
/* booking.c - see booking.h. */
#include "store/postgres/booking.h"

#include "core/resource.h"

typedef struct Owner {
    PgArray *columns;
    JobId id;
    uint32_t attempt;
    Slice key;
} Owner;

static void put(const Owner *owner, Slice item, int64_t amount)
{
    array_int(&owner->columns[0], (int64_t)owner->id);
    array_int(&owner->columns[1], owner->attempt);
    array_bytes(&owner->columns[2], owner->key);
    array_bytes(&owner->columns[3], item);
    array_int(&owner->columns[4], amount);
}

void pgbooking_put(PgArray *columns, JobId id, uint32_t attempt, Slice bookings)
{
    for (Slice value; list_next(&bookings, &value);) {
        Owner owner = { columns, id, attempt, slice_cut(&value, '=') };
        if (!booking_has_items(value)) {
            put(&owner, (Slice){ NULL, 0 }, booking_amount(value));
            continue;
        }
        while (value.bytes)
            put(&owner, slice_cut(&value, ','), 1);
    }
}

/* Rows come in order of key and item. */
Slice pgbooking_get(Postgres *pg, JobId id, uint32_t attempt, Arena *arena)
{
    Buf text = { 0 };
    param_int(&pg->params, (int64_t)id);
    param_int(&pg->params, attempt);
    PGresult *result = link_query(&pg->link,
                                  "SELECT key, item, amount FROM pawl.booking WHERE"
                                  " job = $1 AND attempt = $2 ORDER BY key, item",
                                  &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        Slice key = field_bytes(result, i, 0);
        Slice item = field_bytes(result, i, 1);
        if (i && item.bytes && slice_equal(key, field_bytes(result, i - 1, 0))) {
            text.data[text.bytes - 1] = ',';
        } else {
            buf_add_slice(&text, key);
            buf_add_char(&text, '=');
        }
        if (item.bytes)
            buf_add_slice(&text, item);
        else
            buf_printf(&text, "#%lld", (long long)field_int(result, i, 2));
        buf_add_char(&text, '\0');
    }
    PQclear(result);
    Slice kept = slice_copy(arena, buf_slice(&text));
    buf_done(&text);
    return kept;
}

static void put_item(Postgres *pg, Slice key, Slice item)
{
    param_bytes(&pg->params, key);
    param_bytes(&pg->params, item);
    link_run(&pg->link,
             "INSERT INTO pawl.resource_item(key, item, gone) VALUES ($1, $2, false)"
             " ON CONFLICT (key, item) DO UPDATE SET gone = false",
             &pg->params);
}

void pgbooking_items(Postgres *pg, Slice key, Slice packed)
{
    param_bytes(&pg->params, key);
    link_run(&pg->link, "UPDATE pawl.resource_item SET gone = true WHERE key = $1",
             &pg->params);
    ResourceDef def;
    if (!packed.data || resource_unpack(packed, &def))
        return;
    if (def.kind != RESOURCE_DISCRETE)
        put_item(pg, key, (Slice){ NULL, 0 });
    Slice rest = def.kind == RESOURCE_DISCRETE ? def.list : (Slice){ NULL, 0 };
    for (Slice item; list_next(&rest, &item);)
        put_item(pg, key, item);
}
