/* SPDX-License-Identifier: Apache-2.0 */
/* chunks_test.c - bodies in chunks, however they are cut into pieces. */
#include "http/chunks.h"

#include "base/buf.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Feeds pieces of so many bytes. *out_rest: what was not used behind the end. */
static ChunksState feed(Slice text, size_t piece, Buf *out, size_t *out_rest)
{
    Chunks chunks = { 0 };
    buf_clear(out);
    while (text.bytes && chunks.state < CHUNKS_DONE) {
        Slice part = { text.data, text.bytes < piece ? text.bytes : piece };
        size_t given = part.bytes;
        while (part.bytes && chunks.state < CHUNKS_DONE)
            buf_add_slice(out, chunks_take(&chunks, &part));
        text = slice_from(text, given - part.bytes);
    }
    *out_rest = text.bytes;
    return chunks.state;
}

static void whole_bodies_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *body;
    } cases[] = {
        { "0\r\n\r\n", "" },
        { "000\r\n\r\n", "" },
        { "5\r\nhello\r\n0\r\n\r\n", "hello" },
        { "00A\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n", "0123456789x" },
        { "3;name=\"v\"\r\na\r\n\r\n0;x\r\n\r\n", "a\r\n" },
        { "1 \t;x 2\r\na\r\n0\r\n\r\n", "a" },
        { "1 \r\na\r\n0\r\nTrailer: one\r\nAnother: two\r\n\r\n", "a" },
    };
    Buf text = { 0 };
    Buf out = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t piece = 1; piece < 64; piece++) {
            size_t rest;
            buf_clear(&text);
            buf_add_text(&text, cases[i].text);
            buf_add_text(&text, "GET /");
            assert_int_equal(feed(buf_slice(&text), piece, &out, &rest), CHUNKS_DONE);
            assert_int_equal(rest, 5);
            assert_true(slice_is(buf_slice(&out), cases[i].body));
        }
    }
    buf_done(&out);
    buf_done(&text);
}

static void what_is_not_in_chunks_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "zz\r\n",
        "\r\n",
        ";x\r\n",
        "-1\r\n",
        "5\nhello\r\n",
        "5\r\nhello\n",
        "5\r\nhelloo\r\n",
        "5\r\nhello\r\r",
        "5\rx",
        "5;x\n",
        "1 2\r\n",
        "1\tx\r\n",
        "0\r\n\n",
        "0\r\nT: x\n\r\n",
        "0\r\nT: x\r\r\n",
        "1000000000000000\r\n",
    };
    Buf out = { 0 };
    size_t rest;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 20; piece++)
            if (feed(slice_text(cases[i]), piece, &out, &rest) != CHUNKS_BAD)
                fail_msg("taken: %s", cases[i]);
    buf_done(&out);
}

static void extensions_and_trailers_have_an_end(void **state)
{
    (void)state;
    static const char *const begun[] = { "1;", "0\r\nTrailer: ", "0" };
    for (size_t i = 0; i < sizeof begun / sizeof *begun; i++) {
        Buf text = { 0 };
        Buf out = { 0 };
        size_t rest;
        buf_add_text(&text, begun[i]);
        for (int k = 0; k < 20000; k++)
            buf_add_char(&text, '0');
        assert_int_equal(feed(buf_slice(&text), 1000, &out, &rest), CHUNKS_BAD);
        buf_done(&text);
        buf_done(&out);
    }
}

static void spoil(Buf *text, Rng *luck)
{
    static const char bytes[] = "\r\n;: \t0Af\xff";
    for (uint64_t i = rng_below(luck, 4); i && text->bytes; i--) {
        size_t at = rng_below(luck, text->bytes);
        if (rng_below(luck, 3))
            text->data[at] = bytes[rng_below(luck, sizeof bytes)];
        else
            text->bytes = at;
    }
}

/* Good and spoilt ones mean the same in one piece and in any others. */
static void pieces_change_nothing(void **state)
{
    (void)state;
    Rng luck = { 20260731 };
    for (int round = 0; round < 20000; round++) {
        Buf text = { 0 };
        Buf whole = { 0 };
        Buf pieces = { 0 };
        size_t rests[2];
        for (unsigned i = (unsigned)rng_below(&luck, 4); i; i--)
            buf_printf(&text, "%x%s\r\n%.*s\r\n", i, i % 2 ? ";a=b" : "", (int)i, "12\r");
        buf_add_text(&text, "0\r\nT: u\r\n\r\nGET /");
        spoil(&text, &luck);
        ChunksState state_whole =
            feed(buf_slice(&text), text.bytes + 1, &whole, &rests[0]);
        size_t piece = 1 + rng_below(&luck, 9);
        assert_int_equal(feed(buf_slice(&text), piece, &pieces, &rests[1]), state_whole);
        assert_int_equal(rests[0], rests[1]);
        assert_true(slice_equal(buf_slice(&whole), buf_slice(&pieces)));
        buf_done(&text);
        buf_done(&whole);
        buf_done(&pieces);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_bodies_are_read),
        cmocka_unit_test(what_is_not_in_chunks_is_refused),
        cmocka_unit_test(extensions_and_trailers_have_an_end),
        cmocka_unit_test(pieces_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
