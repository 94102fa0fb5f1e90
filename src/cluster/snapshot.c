/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - see snapshot.h. */
#include "cluster/snapshot.h"

#include "access/token.h"
#include "base/pack.h"
#include "config/settings.h"
#include "core/handler.h"
#include "core/node/drain.h"
#include "core/queue.h"
#include "core/resource.h"
#include "engine/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define MARK       "pawl cutoff 1\n"
#define SUM_BYTES  sizeof(XXH64_canonical_t)
#define BYTES_MAX  ((size_t)1 << 30) /* no node has so many definitions */
#define READ_BYTES ((size_t)64 << 10)

static const char *const tables[] = {
    HANDLER_TABLE, TENANT_TABLE, QUEUE_TABLE, RESOURCE_TABLE,
    SLOTS_TABLE,   DRAIN_TABLE,  TOKEN_TABLE, SETTINGS_TABLE,
};
#define TABLES (sizeof tables / sizeof *tables)

/* Of the file, of a row in it, and of a use. */
enum {
    FILE_INODE = 1,
    FILE_BORN = 2,
    FILE_SYSID = 3,
    FILE_NUMBER = 4,
    FILE_STORE = 5,
    FILE_POSITION = 6,
    FILE_IDS = 7,
    FILE_ROW = 8,
    FILE_USE = 9,
};
enum { ROW_TABLE = 1, ROW_TENANT = 2, ROW_KEY = 3, ROW_VALUE = 4 };
enum {
    USE_TENANT = 1,
    USE_BYTES = 2,
    USE_QUEUED_HERE = 3,
    USE_QUEUED_ELSEWHERE = 4,
    USE_RUNNING_HERE = 5,
    USE_RUNNING_ELSEWHERE = 6,
};

bool snapshot_has(Slice table)
{
    for (size_t i = 0; i < TABLES; i++)
        if (slice_is(table, tables[i]))
            return true;
    return false;
}

void snapshot_done(Snapshot *snapshot)
{
    arena_done(&snapshot->arena);
    mem_free(snapshot->rows);
    mem_free(snapshot->uses);
    *snapshot = (Snapshot){ 0 };
}

TenantUse *snapshot_use(Snapshot *snapshot, Slice tenant)
{
    for (size_t i = 0; i < snapshot->use_count; i++)
        if (slice_equal(snapshot->uses[i].tenant, tenant))
            return &snapshot->uses[i];
    TenantUse *use =
        &MEM_PUSH(snapshot->uses, snapshot->use_count, snapshot->use_capacity);
    *use = (TenantUse){ .tenant = slice_copy(&snapshot->arena, tenant) };
    return use;
}

/* --- Out of the store --------------------------------------------------------------- */

typedef struct Taking {
    Snapshot *snapshot;
    Slice table;
} Taking;

/* One that is there has a value, however short: without one it would be gone. */
static Slice value_of(Arena *arena, Slice value)
{
    return value.bytes ? slice_copy(arena, value) : SLICE_LITERAL("");
}

static void take_row(void *context, const Definition *definition)
{
    const Taking *taking = context;
    Snapshot *snapshot = taking->snapshot;
    Arena *arena = &snapshot->arena;
    MEM_PUSH(snapshot->rows, snapshot->count, snapshot->capacity) =
        (SnapshotRow){ taking->table,
                       { slice_copy(arena, definition->tenant),
                         slice_copy(arena, definition->key),
                         value_of(arena, definition->value) } };
}

static void take_use(void *context, const TenantUse *use)
{
    TenantUse *kept = snapshot_use(context, use->tenant);
    Slice tenant = kept->tenant;
    *kept = *use;
    kept->tenant = tenant;
}

Err snapshot_take(Snapshot *snapshot, Store *store, Error *why)
{
    Err err = ERR_OK;
    for (size_t i = 0; i < TABLES && !err; i++) {
        Taking taking = { snapshot, slice_text(tables[i]) };
        err = store->kind->definitions(store, taking.table, take_row, &taking, why);
    }
    return err ? err
               : store->kind->uses(store, snapshot->number, take_use, snapshot, why);
}

/* --- The file ----------------------------------------------------------------------- */

static void pack_row(Buf *out, const SnapshotRow *row)
{
    size_t begun = pack_begin(out, FILE_ROW);
    pack_bytes(out, ROW_TABLE, row->table);
    pack_bytes(out, ROW_TENANT, row->definition.tenant);
    pack_bytes(out, ROW_KEY, row->definition.key);
    pack_bytes(out, ROW_VALUE, row->definition.value);
    pack_end(out, begun);
}

static void pack_use(Buf *out, const TenantUse *use)
{
    size_t begun = pack_begin(out, FILE_USE);
    pack_bytes(out, USE_TENANT, use->tenant);
    pack_int(out, USE_BYTES, use->bytes);
    pack_int(out, USE_QUEUED_HERE, use->queued_here);
    pack_int(out, USE_QUEUED_ELSEWHERE, use->queued_elsewhere);
    pack_int(out, USE_RUNNING_HERE, use->running_here);
    pack_int(out, USE_RUNNING_ELSEWHERE, use->running_elsewhere);
    pack_end(out, begun);
}

static XXH64_canonical_t sum_of(Slice bytes)
{
    XXH64_canonical_t sum;
    XXH64_canonicalFromHash(&sum, XXH3_64bits(bytes.data, bytes.bytes));
    return sum;
}

/* What no copy of a file has in common with it. */
typedef struct Self {
    int64_t inode;
    int64_t born_ns; /* inodes are used again; 0: this file system does not say */
} Self;

static Err self_of(int fd, Self *out, Error *why)
{
    struct statx status;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status))
        return error_errno(why, "cannot see " SNAPSHOT_FILE);
    *out = (Self){ .inode = (int64_t)status.stx_ino };
    if (status.stx_mask & STATX_BTIME)
        out->born_ns =
            status.stx_btime.tv_sec * 1000000000 + (int64_t)status.stx_btime.tv_nsec;
    return ERR_OK;
}

static void pack_file(Buf *out, const Snapshot *snapshot, const Self *self)
{
    buf_add_text(out, MARK);
    pack_int(out, FILE_INODE, self->inode);
    pack_int(out, FILE_BORN, self->born_ns);
    pack_bytes(out, FILE_SYSID, snapshot->sysid);
    pack_int(out, FILE_NUMBER, snapshot->number);
    pack_bytes(out, FILE_STORE, snapshot->store);
    pack_int(out, FILE_POSITION, (int64_t)snapshot->position);
    pack_int(out, FILE_IDS, (int64_t)snapshot->ids);
    for (size_t i = 0; i < snapshot->count; i++)
        pack_row(out, &snapshot->rows[i]);
    for (size_t i = 0; i < snapshot->use_count; i++)
        pack_use(out, &snapshot->uses[i]);
    XXH64_canonical_t sum = sum_of(buf_slice(out));
    buf_add(out, &sum, sizeof sum);
}

Err snapshot_write(const Snapshot *snapshot, const char *data_dir, Error *why)
{
    Self self;
    FileDraft draft;
    Err err = file_draft(&draft, data_dir, SNAPSHOT_FILE, why);
    if (err)
        return err;
    err = self_of(draft.fd, &self, why);
    if (err) {
        close(draft.fd);
        return err;
    }
    Buf bytes = { 0 };
    pack_file(&bytes, snapshot, &self);
    err = file_publish(&draft, buf_slice(&bytes), why);
    buf_done(&bytes);
    return err;
}

static void unpack_row(Snapshot *snapshot, Slice packed)
{
    PackField field;
    SnapshotRow row = { .definition.value = SLICE_LITERAL("") };
    while (pack_next(&packed, &field)) {
        Slice bytes = slice_copy(&snapshot->arena, field.bytes);
        if (field.tag == ROW_TABLE)
            row.table = bytes;
        if (field.tag == ROW_TENANT)
            row.definition.tenant = bytes;
        if (field.tag == ROW_KEY)
            row.definition.key = bytes;
        if (field.tag == ROW_VALUE)
            row.definition.value = bytes;
    }
    MEM_PUSH(snapshot->rows, snapshot->count, snapshot->capacity) = row;
}

static void unpack_use(Snapshot *snapshot, Slice packed)
{
    PackField field;
    TenantUse use = { 0 };
    while (pack_next(&packed, &field)) {
        if (field.tag == USE_TENANT)
            use.tenant = slice_copy(&snapshot->arena, field.bytes);
        if (field.tag == USE_BYTES)
            use.bytes = field.number;
        if (field.tag == USE_QUEUED_HERE)
            use.queued_here = field.number;
        if (field.tag == USE_QUEUED_ELSEWHERE)
            use.queued_elsewhere = field.number;
        if (field.tag == USE_RUNNING_HERE)
            use.running_here = field.number;
        if (field.tag == USE_RUNNING_ELSEWHERE)
            use.running_elsewhere = field.number;
    }
    MEM_PUSH(snapshot->uses, snapshot->use_count, snapshot->use_capacity) = use;
}

static void unpack(Snapshot *out, Slice packed, Self *out_self)
{
    PackField field;
    while (pack_next(&packed, &field)) {
        if (field.tag == FILE_INODE)
            out_self->inode = field.number;
        if (field.tag == FILE_BORN)
            out_self->born_ns = field.number;
        if (field.tag == FILE_SYSID)
            out->sysid = slice_copy(&out->arena, field.bytes);
        if (field.tag == FILE_NUMBER)
            out->number = (uint32_t)field.number;
        if (field.tag == FILE_STORE)
            out->store = slice_copy(&out->arena, field.bytes);
        if (field.tag == FILE_POSITION)
            out->position = (uint64_t)field.number;
        if (field.tag == FILE_IDS)
            out->ids = (uint64_t)field.number;
        if (field.tag == FILE_ROW)
            unpack_row(out, field.bytes);
        if (field.tag == FILE_USE)
            unpack_use(out, field.bytes);
    }
}

static Err read_whole(int fd, Buf *out)
{
    while (out->bytes < BYTES_MAX) {
        ssize_t got = read(fd, buf_room(out, READ_BYTES), READ_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_from_errno(errno);
        if (!got)
            return ERR_OK;
        out->bytes += (size_t)got;
    }
    return ERR_CORRUPT;
}

/* What stands between the mark and the checksum. */
static bool is_whole(Slice file, Slice *out_packed)
{
    const Slice mark = SLICE_LITERAL(MARK);
    if (file.bytes < mark.bytes + SUM_BYTES || !slice_starts(file, mark))
        return false;
    Slice summed = slice_of(file.data, file.bytes - SUM_BYTES);
    XXH64_canonical_t sum = sum_of(summed);
    *out_packed = slice_of(file.data + mark.bytes, summed.bytes - mark.bytes);
    return memcmp(file.data + summed.bytes, &sum, sizeof sum) == 0;
}

static Err read_file(int fd, const char *path, Snapshot *out, Error *why)
{
    Buf file = { 0 };
    Slice packed;
    Self self;
    Self written = { 0 };
    Err err = self_of(fd, &self, why);
    if (err)
        return err;
    err = read_whole(fd, &file);
    if (!err && !is_whole(buf_slice(&file), &packed))
        err = ERR_CORRUPT;
    if (!err)
        unpack(out, packed, &written);
    buf_done(&file);
    if (err)
        return error_set(why, err, "%s is damaged", path);
    if (written.inode != self.inode || written.born_ns != self.born_ns)
        return error_set(why, ERR_CONFLICT, "%s is a copy", path);
    return ERR_OK;
}

Err snapshot_read(const char *data_dir, Snapshot *out, Error *why)
{
    char path[PATH_MAX];
    Snapshot read = { 0 };
    snprintf(path, sizeof path, "%s/" SNAPSHOT_FILE, data_dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return error_set(why, ERR_NOT_FOUND, "this node has not worked on it yet");
    if (fd < 0)
        return error_errno(why, "cannot read %s", path);
    Err err = read_file(fd, path, &read, why);
    close(fd);
    if (err)
        snapshot_done(&read);
    else
        *out = read;
    return err;
}
