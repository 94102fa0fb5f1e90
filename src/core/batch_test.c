/* SPDX-License-Identifier: Apache-2.0 */
/* batch_test.c - batches: packed and read back equal, and never half. */
#include "core/batch.h"

#include "base/pack.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NUMBERS(ROW)                                                                     \
    ROW(kind);                                                                           \
    ROW(id);                                                                             \
    ROW(from);                                                                           \
    ROW(attempt);                                                                        \
    ROW(to);                                                                             \
    ROW(dt_ms);                                                                          \
    ROW(at_ms);                                                                          \
    ROW(fields);                                                                         \
    ROW(flags);                                                                          \
    ROW(priority);                                                                       \
    ROW(max_run_ms);                                                                     \
    ROW(window_from_ms);                                                                 \
    ROW(retry_number);                                                                   \
    ROW(progress);                                                                       \
    ROW(outcome.code);                                                                   \
    ROW(outcome.exitcode);                                                               \
    ROW(outcome.exit_status);                                                            \
    ROW(outcome.signal);                                                                 \
    ROW(first);                                                                          \
    ROW(count);
#define SLICES(ROW)                                                                      \
    ROW(lock);                                                                           \
    ROW(queue);                                                                          \
    ROW(payload);                                                                        \
    ROW(tags);                                                                           \
    ROW(reason);                                                                         \
    ROW(error);                                                                          \
    ROW(message);                                                                        \
    ROW(result);                                                                         \
    ROW(body);                                                                           \
    ROW(table);                                                                          \
    ROW(tenant);                                                                         \
    ROW(key);                                                                            \
    ROW(value);                                                                          \
    ROW(bookings);

static void expect_equal(const Op *a, const Op *b)
{
#define SAME(field) assert_true(a->field == b->field)
    NUMBERS(SAME)
#undef SAME
#define SAME(field) assert_true(slice_equal(a->field, b->field))
    SLICES(SAME)
#undef SAME
    assert_int_equal(a->job != NULL, b->job != NULL);
    if (!a->job)
        return;
    Buf left = { 0 };
    Buf right = { 0 };
    job_pack(&left, a->job);
    job_pack(&right, b->job);
    assert_true(slice_equal(buf_slice(&left), buf_slice(&right)));
    buf_done(&left);
    buf_done(&right);
}

static const Job some_job = {
    .id = 7,
    .state = JOB_DEFERRED,
    .priority = -3,
    .payload = { "pay\0load", 8 },
    .tenant = { "acme", 4 },
};

/* An operation of this kind in which every field has a value of its own. */
static Op full_op(OpKind kind)
{
    Op op;
    memset(&op, 0x21, sizeof op);
    op.kind = kind;
    op.to = JOB_HALTED;
    op.outcome.code = CODE_RETRY;
    op.progress = -1;
    op.job = kind == OP_ADD || kind == OP_ADD_LINES ? &some_job : NULL;
    static const char text[] = "abcdefghijklmnopqrstuvwxyz";
    size_t at = 0;
#define FILL(field) op.field = slice_of(text + at++, 5)
    SLICES(FILL)
#undef FILL
    return op;
}

static void add_all_kinds(Batch *batch)
{
    for (int kind = OP_ADD; kind <= OP_KEY; kind++) {
        *batch_op(batch, (OpKind)kind, 0) = full_op((OpKind)kind);
        Op *bare = batch_op(batch, (OpKind)kind, 9);
        bare->job = kind == OP_ADD || kind == OP_ADD_LINES ? &some_job : NULL;
    }
    batch->number = 12345;
    batch->node = 77;
}

static void every_kind_survives_with_every_field(void **state)
{
    (void)state;
    Batch batch = { 0 };
    add_all_kinds(&batch);
    Buf packed = { 0 };
    batch_pack(&packed, &batch);
    char *copy = mem_copy(packed.data, packed.bytes);
    Batch back = { 0 };
    assert_int_equal(batch_unpack(slice_of(copy, packed.bytes), &back), ERR_OK);
    mem_free(copy); /* the batch has copies of its own */
    assert_int_equal(back.count, batch.count);
    assert_int_equal(back.number, 12345);
    assert_int_equal(back.node, 77);
    for (size_t i = 0; i < batch.count; i++)
        expect_equal(&back.ops[i], &batch.ops[i]);
    buf_done(&packed);
    batch_done(&back);
    batch_done(&batch);
}

static void each_field_alone_survives(void **state)
{
    (void)state;
    static const int64_t values[] = { 1, -1, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        Batch batch = { 0 };
        Batch back = { 0 };
        Buf packed = { 0 };
#define ALONE(field)                                                                     \
    {                                                                                    \
        Op *op = batch_op(&batch, OP_MOVE, 1);                                           \
        int64_t value = values[i];                                                       \
        if (&op->field != (void *)&op->kind && &op->field != (void *)&op->to &&          \
            &op->field != (void *)&op->outcome.code)                                     \
            memcpy(&op->field, &value, sizeof op->field);                                \
        if (op->fields & FIELD_HANDLER)                                                  \
            op->job = &some_job;                                                         \
    }
        NUMBERS(ALONE)
#undef ALONE
        batch_pack(&packed, &batch);
        assert_int_equal(batch_unpack(buf_slice(&packed), &back), ERR_OK);
        for (size_t k = 0; k < batch.count; k++)
            expect_equal(&back.ops[k], &batch.ops[k]);
        buf_done(&packed);
        batch_done(&back);
        batch_done(&batch);
    }
}

/* A move carries a job exactly when its handler has spoken; else it is damage. */
static void a_move_has_a_job_only_with_a_handler(void **state)
{
    (void)state;
    static const struct {
        uint32_t fields;
        const Job *job;
        Err err;
    } table[] = {
        { FIELD_HANDLER, &some_job, ERR_OK },
        { FIELD_HANDLER, NULL, ERR_CORRUPT },
        { FIELD_QUEUE, NULL, ERR_OK },
        { FIELD_QUEUE, &some_job, ERR_CORRUPT },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Batch batch = { 0 };
        Batch back = { 0 };
        Buf packed = { 0 };
        Op *op = batch_op(&batch, OP_MOVE, 1);
        op->fields = table[i].fields;
        op->job = table[i].job;
        batch_pack(&packed, &batch);
        assert_int_equal(batch_unpack(buf_slice(&packed), &back), table[i].err);
        if (!table[i].err)
            expect_equal(&back.ops[0], &batch.ops[0]);
        buf_done(&packed);
        batch_done(&back);
        batch_done(&batch);
    }
}

static void unpacking_adds_to_what_is_there(void **state)
{
    (void)state;
    Batch batch = { 0 };
    batch_op(&batch, OP_BEAT, 5);
    Buf packed = { 0 };
    batch_pack(&packed, &batch);
    for (size_t i = 2; i <= 4; i++) {
        assert_int_equal(batch_unpack(buf_slice(&packed), &batch), ERR_OK);
        assert_int_equal(batch.count, i);
        assert_int_equal(batch.ops[i - 1].id, 5);
    }
    batch_clear(&batch);
    assert_int_equal(batch.count, 0);
    buf_done(&packed);
    batch_done(&batch);
}

static void a_bulk_is_not_paid_for_until_the_end(void **state)
{
    (void)state;
    Batch batch = { 0 };
    for (JobId id = 1; id <= 10; id++)
        batch_op(&batch, OP_BEAT, id);
    const Op *kept = batch.ops;
    batch_clear(&batch);
    assert_ptr_equal(batch.ops, kept);
    for (JobId id = 1; id <= 10000; id++)
        batch_op(&batch, OP_BEAT, id);
    batch_clear(&batch);
    assert_int_equal(batch.capacity, 0);
    batch_op(&batch, OP_BEAT, 7);
    assert_int_equal(batch.count, 1);
    assert_int_equal(batch.ops[0].id, 7);
    batch_done(&batch);
}

/* Unpacks damaged bytes behind one good operation: all of it, or nothing. */
static Err unpack_behind_one(Slice bytes, size_t whole_count)
{
    Batch batch = { .number = 1, .node = 2 };
    batch_op(&batch, OP_BEAT, 5);
    char *copy = mem_copy(bytes.data, bytes.bytes);
    Err err = batch_unpack(slice_of(copy, bytes.bytes), &batch);
    mem_free(copy);
    assert_true(err == ERR_OK || err == ERR_CORRUPT);
    assert_int_equal(batch.ops[0].id, 5);
    if (err) {
        assert_int_equal(batch.count, 1);
        assert_int_equal(batch.number, 1);
        assert_int_equal(batch.node, 2);
    }
    assert_true(batch.count <= 1 + whole_count);
    for (size_t i = 0; i < batch.count; i++) {
        assert_string_not_equal(op_name(batch.ops[i].kind), "?");
        assert_true((unsigned)batch.ops[i].to < JOB_STATES);
    }
    batch_done(&batch);
    return err;
}

static void a_cut_batch_is_refused_whole(void **state)
{
    (void)state;
    Batch batch = { 0 };
    add_all_kinds(&batch);
    Buf packed = { 0 };
    batch_pack(&packed, &batch);
    size_t accepted = 0;
    for (size_t bytes = 0; bytes <= packed.bytes; bytes++)
        accepted += !unpack_behind_one(slice_of(packed.data, bytes), batch.count);
    /* Only between fields: nothing, number, node, and behind each operation. */
    assert_int_equal(accepted, 3 + batch.count);
    buf_done(&packed);
    batch_done(&batch);
}

static void flipped_bits_never_do_harm(void **state)
{
    (void)state;
    Rng rng = { 4 };
    Batch batch = { 0 };
    add_all_kinds(&batch);
    Buf packed = { 0 };
    batch_pack(&packed, &batch);
    Buf copy = { 0 };
    for (size_t bit = 0; bit < packed.bytes * 8; bit += 3) {
        buf_clear(&copy);
        buf_add_slice(&copy, buf_slice(&packed));
        copy.data[bit / 8] ^= (char)(1 << bit % 8);
        for (uint64_t more = rng_below(&rng, 3); more; more--)
            copy.data[rng_below(&rng, copy.bytes)] ^= (char)(1 << rng_below(&rng, 8));
        (void)!unpack_behind_one(buf_slice(&copy), packed.bytes);
    }
    buf_done(&copy);
    buf_done(&packed);
    batch_done(&batch);
}

static void an_operation_that_makes_no_sense_is_damage(void **state)
{
    (void)state;
    for (int kind = -1; kind <= OP_KEY + 2; kind++) {
        Batch batch = { 0 };
        Op *op = batch_op(&batch, (OpKind)kind, 1);
        op->job = kind == OP_ADD || kind == OP_ADD_LINES ? NULL : &some_job;
        Buf packed = { 0 };
        batch_pack(&packed, &batch);
        Batch back = { 0 };
        assert_int_equal(batch_unpack(buf_slice(&packed), &back), ERR_CORRUPT);
        buf_done(&packed);
        batch_done(&back);
        batch_done(&batch);
    }
}

static void kinds_and_results_have_names(void **state)
{
    (void)state;
    for (int a = OP_ADD; a <= OP_KEY; a++)
        for (int b = OP_ADD; b < a; b++)
            assert_string_not_equal(op_name((OpKind)a), op_name((OpKind)b));
    for (int a = OP_APPLIED; a <= OP_EXISTS; a++)
        for (int b = OP_APPLIED; b < a; b++)
            assert_string_not_equal(op_result_name((OpResult)a),
                                    op_result_name((OpResult)b));
    assert_string_equal(op_name((OpKind)0), "?");
    assert_string_equal(op_result_name((OpResult)99), "?");
}

static void empty_lines_do_not_count(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        uint64_t count;
        const char *last;
    } table[] = {
        { "", 0, "" },
        { "\n", 0, "" },
        { "\n\n\n", 0, "" },
        { "a", 1, "a" },
        { "a\n", 1, "a" },
        { "a\nb", 2, "b" },
        { "\na\n\n\nb\n", 2, "b" },
        { "a\r\n", 1, "a\r" },
        { " \n", 1, " " },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_int_equal(lines_count(slice_text(table[i].body)), table[i].count);
        Slice rest = slice_text(table[i].body);
        Slice line = { NULL, 0 };
        uint64_t count = 0;
        while (lines_next(&rest, &line))
            count++;
        assert_int_equal(count, table[i].count);
        if (count)
            assert_true(slice_is(line, table[i].last));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_survives_with_every_field),
        cmocka_unit_test(each_field_alone_survives),
        cmocka_unit_test(a_move_has_a_job_only_with_a_handler),
        cmocka_unit_test(unpacking_adds_to_what_is_there),
        cmocka_unit_test(a_bulk_is_not_paid_for_until_the_end),
        cmocka_unit_test(a_cut_batch_is_refused_whole),
        cmocka_unit_test(flipped_bits_never_do_harm),
        cmocka_unit_test(an_operation_that_makes_no_sense_is_damage),
        cmocka_unit_test(kinds_and_results_have_names),
        cmocka_unit_test(empty_lines_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
