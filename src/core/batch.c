/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - see batch.h. */
#include "core/batch.h"

#include "base/fields.h"

#include <stddef.h>

Op *batch_op(Batch *batch, OpKind kind, JobId id)
{
    Op *op = &MEM_PUSH(batch->ops, batch->count, batch->capacity);
    *op = (Op){ .kind = kind, .id = id };
    return op;
}

#define OPS_KEPT 256 /* what a bulk needed beyond is given back */

void batch_clear(Batch *batch)
{
    arena_reset(&batch->arena);
    if (batch->capacity > OPS_KEPT) {
        mem_free(batch->ops);
        batch->ops = NULL;
        batch->capacity = 0;
    }
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
    case OP_GIVE:
        return "give";
    case OP_MAIL:
        return "mail";
    case OP_TAKEN:
        return "taken";
    case OP_FENCE:
        return "fence";
    case OP_TAKE:
        return "take";
    case OP_JOIN:
        return "join";
    case OP_DROP:
        return "drop";
    case OP_SWEPT:
        return "swept";
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

#define ROW(tag, member, kind)                                                           \
    {                                                                                    \
        (tag), offsetof(Op, member), (kind)                                              \
    }

static const FieldRow op_rows[] = {
    ROW(1, kind, FIELD_32),
    ROW(2, id, FIELD_64),
    ROW(3, from, FIELD_32),
    ROW(4, attempt, FIELD_32),
    ROW(5, to, FIELD_32),
    ROW(6, dt_ms, FIELD_64),
    ROW(7, at_ms, FIELD_64),
    ROW(8, fields, FIELD_32),
    ROW(9, flags, FIELD_32),
    ROW(10, priority, FIELD_64),
    ROW(11, max_run_ms, FIELD_64),
    ROW(12, window_from_ms, FIELD_64),
    ROW(13, retry_number, FIELD_32),
    ROW(14, progress, FIELD_32),
    ROW(15, outcome.code, FIELD_32),
    ROW(16, outcome.exitcode, FIELD_32),
    ROW(17, outcome.exit_status, FIELD_32),
    ROW(18, outcome.signal, FIELD_32),
    ROW(19, first, FIELD_64),
    ROW(20, count, FIELD_64),
    ROW(21, node, FIELD_32),
    ROW(22, own, FIELD_32),
    ROW(23, version, FIELD_32),
    ROW(40, lock, FIELD_SLICE),
    ROW(41, queue, FIELD_SLICE),
    ROW(42, payload, FIELD_SLICE),
    ROW(43, tags, FIELD_SLICE),
    ROW(44, reason, FIELD_SLICE),
    ROW(45, error, FIELD_SLICE),
    ROW(46, message, FIELD_SLICE),
    ROW(47, result, FIELD_SLICE),
    ROW(48, body, FIELD_SLICE),
    ROW(49, table, FIELD_SLICE),
    ROW(50, tenant, FIELD_SLICE),
    ROW(51, key, FIELD_SLICE),
    ROW(52, value, FIELD_SLICE),
    ROW(53, bookings, FIELD_SLICE),
};
static const Fields op_fields = { op_rows, FIELDS_COUNT(op_rows), NULL };

enum { TAG_JOB = 60 }; /* the whole job of ADD, ADD_LINES and FIELD_HANDLER */

enum { BATCH_NUMBER = 1, BATCH_NODE = 2, BATCH_OP = 3 };

static void pack_op(Buf *out, const Op *op)
{
    fields_pack(out, &op_fields, op);
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
    return op->kind >= OP_ADD && op->kind <= OP_SWEPT && (unsigned)op->to < JOB_STATES &&
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
        if (fields_set(&op_fields, &in, &op))
            return ERR_CORRUPT;
    }
    if (pack_damaged(packed) || !plausible(&op))
        return ERR_CORRUPT;
    fields_keep(&op_fields, &batch->arena, &op);
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
