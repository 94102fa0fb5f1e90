/* SPDX-License-Identifier: Apache-2.0 */
/* afar_text_test.c - questions and answers between daemons are read back. */
#include "serve/afar_text.h"

#include "serve/relay_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void questions_are_read_back(void **state)
{
    (void)state;
    Buf packed = { 0 };
    AfarText back;
    const AfarText text = { .kind = AFAR_LOG,
                            .token = 77,
                            .id = 9,
                            .attempt = 3,
                            .streams = 2,
                            .offsets = { 0, 1 << 20 },
                            .body = SLICE_LITERAL("{}") };
    afar_pack(&packed, &text);
    assert_int_equal(afar_unpack(buf_slice(&packed), &back), ERR_OK);
    assert_int_equal(back.kind, AFAR_LOG);
    assert_int_equal(back.id, 9);
    assert_int_equal(back.offsets[1], 1 << 20);
    assert_true(slice_is(back.body, "{}"));
    buf_done(&packed);
}

static void answers_outlive_their_letter(void **state)
{
    (void)state;
    Buf packed = { 0 };
    Arena arena = { 0 };
    AfarText back;
    const AfarText text = { .kind = AFAR_ANSWER,
                            .err = ERR_NOT_FOUND,
                            .problem = SLICE_LITERAL("job_not_found"),
                            .stream = 1,
                            .next = 12,
                            .out = SLICE_LITERAL("a\0b") };
    afar_pack(&packed, &text);
    assert_int_equal(afar_unpack(buf_slice(&packed), &back), ERR_OK);
    afar_keep(&arena, &back);
    memset(packed.data, 'x', packed.bytes);
    buf_done(&packed);
    assert_true(slice_is(back.problem, "job_not_found"));
    assert_int_equal(back.out.bytes, 3);
    assert_int_equal(back.next, 12);
    assert_int_equal(back.err, ERR_NOT_FOUND);
    arena_done(&arena);
}

static void letters_of_other_kinds_are_told_apart(void **state)
{
    (void)state;
    Buf packed = { 0 };
    AfarText back;
    RelayText order;
    relay_pack(&packed, &(RelayText){ .kind = RELAY_ORDER });
    assert_int_equal(afar_unpack(buf_slice(&packed), &back), ERR_CORRUPT);
    buf_clear(&packed);
    afar_pack(&packed, &(AfarText){ .kind = AFAR_ERASE });
    assert_int_equal(relay_unpack(buf_slice(&packed), &order), ERR_CORRUPT);
    buf_clear(&packed);
    afar_pack(&packed, &(AfarText){ .kind = AFAR_ANSWER, .stream = AFAR_STREAMS });
    assert_int_equal(afar_unpack(buf_slice(&packed), &back), ERR_CORRUPT);
    assert_int_equal(afar_unpack(SLICE_LITERAL("\xff\xff"), &back), ERR_CORRUPT);
    buf_done(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_are_read_back),
        cmocka_unit_test(answers_outlive_their_letter),
        cmocka_unit_test(letters_of_other_kinds_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
