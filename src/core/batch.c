/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - see batch.h. */
#include "core/batch.h"

#include "base/pack.h"

#include <stddef.h>

Op *batch_op(Batch *batch, OpKind kind, JobId id)
{
    Op *op = &MEM_PUSH(batch->ops, batch->count, batch->capacity);
    *op = (Op){ .kind = kind, .id = id };
    return op;
}

void batch_clear(Batch *batch)
{
    arena_reset(&batch->arena);
    batch->count = 0;
    batch->number = 0;
    batch->has_read_point = false;
}

void batch_done(Batch *batch)
{
    arena_done(&batch->arena);
    mem_free(batch->ops);
    *batch = (Batch){ 0 };
}

const char *op_name(OpKind kind)
{
    switch (kind) {
    case OP_ADD:
        return "add";
    case OP_ADD_LINES:
        return "add-lines";
    case OP_CLAIM:
        return "claim";
    case OP_BEAT:
        return "beat";
    case OP_PROGRESS:
        return "progress";
    case OP_FINISH:
        return "finish";
    case OP_MOVE:
        return "move";
    case OP_PAUSE:
        return "pause";
    case OP_REMOVE:
        return "remove";
    case OP_PURGE:
        return "purge";
    case OP_PUT:
        return "put";
    case OP_DELETE:
        return "delete";
    case OP_NODE:
        return "node";
    case OP_KEY:
        return "key";
    }
    return "?";
}

const char *op_result_name(OpResult result)
{
    switch (result) {
    case OP_APPLIED:
        return "applied";
    case OP_MISSING:
        return "missing";
    case OP_LOST:
        return "lost";
    case OP_CONFLICT:
        return "conflict";
    case OP_EXISTS:
        return "exists";
    }
    return "?";
}

/* Fields of an operation in its packed form; tags are for ever. */
typedef enum OpFieldKind { OPF_I64, OPF_32, OPF_SLICE } OpFieldKind;

typedef struct OpFieldRow {
    size_t offset;
    uint32_t tag;
    OpFieldKind kind;
} OpFieldRow;

#define ROW(tag, member, kind)                                                           \
    {                                                                                    \
        offsetof(Op, member), (tag), (kind)                                              \
    }

static const OpFieldRow op_fields[] = {
    ROW(1, kind, OPF_32),
    ROW(2, id, OPF_I64),
    ROW(3, from, OPF_32),
    ROW(4, attempt, OPF_32),
    ROW(5, to, OPF_32),
    ROW(6, dt_ms, OPF_I64),
    ROW(7, at_ms, OPF_I64),
    ROW(8, fields, OPF_32),
    ROW(9, flags, OPF_32),
    ROW(10, priority, OPF_I64),
    ROW(11, max_run_ms, OPF_I64),
    ROW(12, window_from_ms, OPF_I64),
    ROW(13, retry_number, OPF_32),
    ROW(14, progress, OPF_32),
    ROW(15, outcome.code, OPF_32),
    ROW(16, outcome.exitcode, OPF_32),
    ROW(17, outcome.exit_status, OPF_32),
    ROW(18, outcome.signal, OPF_32),
    ROW(19, first, OPF_I64),
    ROW(20, count, OPF_I64),
    ROW(40, lock, OPF_SLICE),
    ROW(41, queue, OPF_SLICE),
    ROW(42, payload, OPF_SLICE),
    ROW(43, tags, OPF_SLICE),
    ROW(44, reason, OPF_SLICE),
    ROW(45, error, OPF_SLICE),
    ROW(46, message, OPF_SLICE),
    ROW(47, result, OPF_SLICE),
    ROW(48, body, OPF_SLICE),
    ROW(49, table, OPF_SLICE),
    ROW(50, tenant, OPF_SLICE),
    ROW(51, key, OPF_SLICE),
    ROW(52, value, OPF_SLICE),
};
#define OP_FIELDS (sizeof op_fields / sizeof *op_fields)

enum { TAG_JOB = 60 }; /* the whole job of ADD, ADD_LINES and FIELD_HANDLER */

enum { BATCH_NUMBER = 1, BATCH_NODE = 2, BATCH_OP = 3 };

static void pack_op(Buf *out, const Op *op)
{
    for (size_t i = 0; i < OP_FIELDS; i++) {
        const OpFieldRow *row = &op_fields[i];
        const char *at = (const char *)op + row->offset;
        int64_t number;
        int32_t small;
        Slice slice;
        switch (row->kind) {
        case OPF_I64:
            memcpy(&number, at, sizeof number);
            pack_int(out, row->tag, number);
            break;
        case OPF_32:
            memcpy(&small, at, sizeof small);
            pack_int(out, row->tag, small);
            break;
        case OPF_SLICE:
            memcpy(&slice, at, sizeof slice);
            pack_bytes(out, row->tag, slice);
            break;
        }
    }
    if (!op->job)
        return;
    size_t begun = pack_begin(out, TAG_JOB);
    job_pack(out, op->job);
    pack_end(out, begun);
}

void batch_pack(Buf *out, const Batch *batch)
{
    pack_int(out, BATCH_NUMBER, (int64_t)batch->number);
    pack_int(out, BATCH_NODE, batch->node);
    for (size_t i = 0; i < batch->count; i++) {
        size_t begun = pack_begin(out, BATCH_OP);
        pack_op(out, &batch->ops[i]);
        pack_end(out, begun);
    }
}

static const OpFieldRow *row_by_tag(uint32_t tag)
{
    for (size_t i = 0; i < OP_FIELDS; i++)
        if (op_fields[i].tag == tag)
            return &op_fields[i];
    return NULL;
}

/* False: the number does not fit, so that it is none of ours. */
static bool set_field(Op *op, const OpFieldRow *row, const PackField *in, Arena *arena)
{
    char *at = (char *)op + row->offset;
    int32_t small = (int32_t)in->number;
    Slice slice;
    switch (row->kind) {
    case OPF_I64:
        memcpy(at, &in->number, sizeof in->number);
        break;
    case OPF_32:
        memcpy(at, &small, sizeof small);
        return small == in->number;
    case OPF_SLICE:
        slice = slice_copy(arena, in->bytes);
        memcpy(at, &slice, sizeof slice);
        break;
    }
    return true;
}

static Err unpack_job(Slice packed, Arena *arena, const Job **out)
{
    Job job;
    Err err = job_unpack(packed, &job);
    if (err)
        return err;
    Job *copy = ARENA_NEW(arena, Job);
    *copy = job_copy(arena, &job);
    *out = copy;
    return ERR_OK;
}

/* A kind and states that no version of ours wrote are damage, not news: acting on half
 * of an operation would be worse than stopping. */
static bool plausible(const Op *op)
{
    bool wants_job = op->kind == OP_ADD || op->kind == OP_ADD_LINES ||
                     (op->kind == OP_MOVE && (op->fields & FIELD_HANDLER));
    return op->kind >= OP_ADD && op->kind <= OP_KEY && (unsigned)op->to < JOB_STATES &&
           (unsigned)op->outcome.code <= CODE_ERROR && wants_job == (op->job != NULL);
}

static Err unpack_op(Slice packed, Batch *batch)
{
    Op op = { 0 };
    PackField in;
    while (pack_next(&packed, &in)) {
        if (in.tag == TAG_JOB) {
            Err err = unpack_job(in.bytes, &batch->arena, &op.job);
            if (err)
                return err;
            continue;
        }
        const OpFieldRow *row = row_by_tag(in.tag);
        if (row && !set_field(&op, row, &in, &batch->arena))
            return ERR_CORRUPT;
    }
    if (pack_damaged(packed) || !plausible(&op))
        return ERR_CORRUPT;
    *batch_op(batch, op.kind, op.id) = op;
    return ERR_OK;
}

static Err unpack_fields(Slice packed, Batch *batch)
{
    PackField in;
    while (pack_next(&packed, &in)) {
        if (in.tag == BATCH_NUMBER)
            batch->number = (uint64_t)in.number;
        if (in.tag == BATCH_NODE)
            batch->node = (uint32_t)in.number;
        if (in.tag != BATCH_OP)
            continue;
        Err err = unpack_op(in.bytes, batch);
        if (err)
            return err;
    }
    return pack_damaged(packed) ? ERR_CORRUPT : ERR_OK;
}

Err batch_unpack(Slice packed, Batch *batch)
{
    uint64_t number = batch->number;
    uint32_t node = batch->node;
    size_t count = batch->count;
    Err err = unpack_fields(packed, batch);
    if (!err)
        return ERR_OK;
    batch->number = number;
    batch->node = node;
    batch->count = count;
    return err;
}

bool lines_next(Slice *rest, Slice *out_line)
{
    while (rest->bytes) {
        *out_line = slice_cut(rest, '\n');
        if (out_line->bytes)
            return true;
    }
    return false;
}

uint64_t lines_count(Slice body)
{
    uint64_t count = 0;
    Slice line;
    while (lines_next(&body, &line))
        count++;
    return count;
}
