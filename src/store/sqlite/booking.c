/* SPDX-License-Identifier: Apache-2.0 */
/* booking.c - see booking.h. */
#include "store/sqlite/booking.h"

#include "core/resource.h"

typedef struct Owner {
    Db *db;
    JobId id;
    uint32_t attempt;
    Slice key;
} Owner;

static void put(const Owner *owner, Slice item, int64_t amount)
{
    sqlite3_stmt *stmt = db_statement(owner->db, SQL_BOOKING_PUT);
    sqlite3_bind_int64(stmt, 1, (int64_t)owner->id);
    sqlite3_bind_int64(stmt, 2, owner->attempt);
    db_bind_key(stmt, 3, owner->key);
    db_bind_key(stmt, 4, item);
    sqlite3_bind_int64(stmt, 5, amount);
    db_run(owner->db, stmt);
}

void booking_put(Db *db, JobId id, uint32_t attempt, Slice bookings)
{
    for (Slice value; list_next(&bookings, &value);) {
        Owner owner = { db, id, attempt, slice_cut(&value, '=') };
        if (!booking_has_items(value)) {
            put(&owner, (Slice){ NULL, 0 }, booking_amount(value));
            continue;
        }
        while (value.bytes)
            put(&owner, slice_cut(&value, ','), 1);
    }
}

/* Rows come in order of key and item. */
Slice booking_get(Db *db, JobId id, uint32_t attempt, Arena *arena)
{
    Buf text = { 0 };
    Buf last = { 0 };
    sqlite3_stmt *stmt = db_statement(db, SQL_BOOKING_GET);
    sqlite3_bind_int64(stmt, 1, (int64_t)id);
    sqlite3_bind_int64(stmt, 2, attempt);
    while (db_row(db, stmt)) {
        Slice key = db_column(stmt, 0);
        Slice item = db_column(stmt, 1);
        bool next = item.bytes && text.bytes && slice_equal(key, buf_slice(&last));
        if (next) {
            text.data[text.bytes - 1] = ',';
        } else {
            buf_add_slice(&text, key);
            buf_add_char(&text, '=');
        }
        if (item.bytes)
            buf_add_slice(&text, item);
        else
            buf_printf(&text, "#%lld", (long long)sqlite3_column_int64(stmt, 2));
        buf_add_char(&text, '\0');
        buf_clear(&last);
        buf_add_slice(&last, key);
    }
    sqlite3_reset(stmt);
    Slice kept = slice_copy(arena, buf_slice(&text));
    buf_done(&text);
    buf_done(&last);
    return kept;
}

void booking_remove(Db *db, JobId id)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_BOOKING_REMOVE);
    sqlite3_bind_int64(stmt, 1, (int64_t)id);
    db_run(db, stmt);
}

static void put_item(Db *db, Slice key, Slice item)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_ITEM_PUT);
    db_bind_key(stmt, 1, key);
    db_bind_key(stmt, 2, item);
    db_run(db, stmt);
}

void booking_items(Db *db, Slice key, Slice packed)
{
    sqlite3_stmt *stmt = db_statement(db, SQL_ITEMS_GONE);
    db_bind_key(stmt, 1, key);
    db_run(db, stmt);
    ResourceDef def;
    if (!packed.data || resource_unpack(packed, &def))
        return;
    if (def.kind != RESOURCE_DISCRETE)
        put_item(db, key, (Slice){ NULL, 0 });
    Slice rest = def.kind == RESOURCE_DISCRETE ? def.list : (Slice){ NULL, 0 };
    for (Slice item; list_next(&rest, &item);)
        put_item(db, key, item);
}
