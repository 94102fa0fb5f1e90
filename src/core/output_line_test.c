/* SPDX-License-Identifier: Apache-2.0 */
/* output_line_test.c - which lines of output mean something, and that pieces do not
 * matter. S2.48, S2.49. */
#include "core/output_line.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* All events of `text`, fed in pieces of `piece` bytes (0: random sizes), as text. */
static void parse(Slice text, size_t piece, size_t result_max, Rng *rng, Buf *out)
{
    LineParser parser = { .result_bytes_max = result_max };
    LineEvent event;
    while (text.bytes) {
        size_t bytes = piece ? piece : 1 + rng_below(rng, 9);
        Slice part = slice_of(text.data, bytes < text.bytes ? bytes : text.bytes);
        text = slice_from(text, part.bytes);
        /* A copy of its own, so that a look beyond its end is seen. */
        char *copy = mem_copy(part.data, part.bytes);
        Slice rest = slice_of(copy, part.bytes);
        while (line_next(&parser, &rest, &event))
            buf_printf(out, "%d %d [" SLICE_FMT "] [" SLICE_FMT "]%s\n", (int)event.kind,
                       (int)event.number, SLICE_ARG(event.type), SLICE_ARG(event.payload),
                       event.cut ? " cut" : "");
        mem_free(copy);
    }
    while (line_end(&parser, &event))
        buf_printf(out, "%d %d [" SLICE_FMT "] [" SLICE_FMT "]%s\n", (int)event.kind,
                   (int)event.number, SLICE_ARG(event.type), SLICE_ARG(event.payload),
                   event.cut ? " cut" : "");
    line_done(&parser);
}

static void expect(const char *text, const char *events)
{
    Buf out = { 0 };
    parse(slice_text(text), 1 << 20, 0, NULL, &out);
    assert_string_equal(buf_cstr(&out), events);
    buf_done(&out);
}

static void each_form_is_known(void **state)
{
    (void)state;
    expect("J: mail|hello\n", "0 0 [mail] [hello]\n");
    expect("J: mail|a|b \n", "0 0 [mail] [a|b ]\n");
    expect("J: mail|\n", "0 0 [mail] []\n");
    expect("#J: mail|x\n", "0 0 [mail] [x]\n");
    expect("J!: mail|x\n", "1 0 [mail] [x]\n");
    expect("P: 45 half way\n", "2 45 [] [half way]\n");
    expect("P: 0\nP: 100% done\n", "2 0 [] []\n2 100 [] [done]\n");
    expect("R: 200 fine\n", "3 200 [] [fine]\n");
    expect("R: 404\n", "3 404 [] []\n");
    expect("R: 200 <<5\na\nb\nc\nP: 1\n", "3 200 [] [a\nb\nc]\n2 1 [] []\n");
    expect("R: 200 <<0\nJ: t|1\n", "3 200 [] []\n0 0 [t] [1]\n");
}

static void everything_else_is_log(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",           "\n",         "j:mail|x\n",  " J: mail|x\n",   "j: mail|x\n",
        "##J: a|b\n", "#J!: a|b\n", "J! : a|b\n",  "P: \n",          "P: 101\n",
        "P: x 1\n",   "P: -1\n",    "P: 45half\n", "R: \n",          "R: 20\n",
        "R: 2000\n",  "R: 600 x\n", "R: 099\n",    "R: 200x\n",      "R:200 x\n",
        "P",          "J",          "#",           "JJ: mail|x\n",   "log J: a|b\n",
        "R: abc\n",   "PP: 45 x\n", "\r\nlog\r\n", "J;\tmail|x\n",   "R\n: 200 x\n",
        "P\n",        "J\n: a|b\n", "#\nJ\n!\n:",  "logJ: mail|x\n", "R: 200x <<3\nabc",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        expect(lines[i], "");
}

/* Its author meant a job: the line, and what is wrong with it. */
static void a_line_that_is_nearly_a_job_is_refused(void **state)
{
    (void)state;
#define REFUSED(why, line) "4 0 [" why "] [" line "]\n"
#define NO_BAR             "there is no | between type and payload"
#define NO_NAME            "no type can have this name"
#define NO_SPACE           "a space belongs behind its colon"
    expect("J: mail\n", REFUSED(NO_BAR, "J: mail"));
    expect("J: \n", REFUSED(NO_BAR, "J: "));
    expect("J: {\"type\":\"mail\"}\n", REFUSED(NO_BAR, "J: {\"type\":\"mail\"}"));
    expect("J: |x\n", REFUSED(NO_NAME, "J: |x"));
    expect("#J: ma il|x\nJ: t|1", REFUSED(NO_NAME, "#J: ma il|x") "0 0 [t] [1]\n");
    expect("J!: ../x|y", REFUSED(NO_NAME, "J!: ../x|y"));
    expect("J:mail|x\n", REFUSED(NO_SPACE, "J:mail|x"));
    expect("J!:\tmail|x\n", REFUSED(NO_SPACE, "J!:\tmail|x"));
    expect("#J:\n", REFUSED(NO_SPACE, "#J:"));
}

static void the_first_refused_line_is_noted_and_all_are_counted(void **state)
{
    (void)state;
    LineNote note = { 0 };
    char line[100];
    memset(line, 'x', sizeof line);
    LineEvent refused = { .kind = LINE_REFUSED,
                          .type = SLICE_LITERAL("why"),
                          .payload = slice_of(line, sizeof line) };
    line_note_add(&note, &refused);
    refused.payload = SLICE_LITERAL("J: y");
    line_note_add(&note, &refused);
    assert_int_equal(note.count, 2);
    assert_memory_equal(note.first.data + 1, line, 80);
    assert_string_equal(buf_cstr(&note.first) + 81, "...`: why");
    line_note_done(&note);
    refused.payload.bytes = 0;
    line_note_add(&note, &refused);
    assert_string_equal(buf_cstr(&note.first), "a J: line: why");
    line_note_done(&note);
}

static void the_last_line_needs_no_newline(void **state)
{
    (void)state;
    expect("J: mail|x", "0 0 [mail] [x]\n");
    expect("log\nR: 200 ok", "3 200 [] [ok]\n");
    expect("R: 200 <<4\nab", "3 200 [] [ab] cut\n");
    expect("R: 200 <<4", "3 200 [] [] cut\n");
}

static void a_result_is_cut_at_its_limit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *events;
    } cases[] = {
        { "R: 200 1234\nP: 1\n", "3 200 [] [1234]\n2 1 [] []\n" },
        { "R: 200 12345\nP: 1\n", "3 200 [] [1234] cut\n2 1 [] []\n" },
        { "R: 200 123456789012345\nP: 1\n", "3 200 [] [1234] cut\n2 1 [] []\n" },
        { "R: 200 <<4\n1234P: 1\n", "3 200 [] [1234]\n2 1 [] []\n" },
        { "R: 200 <<6\n123456P: 1\n", "3 200 [] [1234] cut\n2 1 [] []\n" },
        { "R: 200 <<999999999999999999\n12345", "3 200 [] [1234] cut\n" },
        { "R: 200 <<9999999999999999999\nP: 1\n", "3 200 [] [<<99] cut\n2 1 [] []\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t piece = 1; piece < 40; piece++) {
            Buf out = { 0 };
            parse(slice_text(cases[i].text), piece, 4, NULL, &out);
            assert_string_equal(buf_cstr(&out), cases[i].events);
            buf_done(&out);
        }
}

/* Lines made of the pieces that the grammar cares about, in any order. */
static void random_text(Rng *rng, Buf *out)
{
    static const char *const words[] = { "J: ", "#J: ", "J!: ", "P: ", "R: ", "\n",   "|",
                                         "200", " ",    "<<",   "3",   "a",   "J",    "#",
                                         "\r",  "45",   "%",    "!",   "R",   "log\n" };
    for (uint64_t left = rng_below(rng, 60); left; left--) {
        if (rng_percent(rng, 30)) /* whole lines are too rare among random words */
            buf_add_text(out, rng_percent(rng, 50) ? "\nJ: t|a\n" : "\nR: 200 <<7\nJ: ");
        buf_add_text(out, words[rng_below(rng, sizeof words / sizeof words[0])]);
    }
    buf_add_char(out, '\0');
}

static void pieces_do_not_matter(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        Rng rng = { seed };
        Buf text = { 0 }, whole = { 0 }, pieces = { 0 };
        random_text(&rng, &text);
        parse(buf_slice(&text), text.bytes, 5, &rng, &whole);
        parse(buf_slice(&text), seed % 2, 5, &rng, &pieces);
        if (!slice_equal(buf_slice(&whole), buf_slice(&pieces)))
            fail_msg("seed %d: [%s] gave [%s] whole, [%s] in pieces", (int)seed,
                     buf_cstr(&text), buf_cstr(&whole), buf_cstr(&pieces));
        buf_done(&text);
        buf_done(&whole);
        buf_done(&pieces);
    }
}

static void long_lines_cost_no_memory(void **state)
{
    (void)state;
    LineParser parser = { 0 };
    LineEvent event;
    static char block[1 << 20];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 64; i++) {
        Slice rest = slice_of(block, sizeof block);
        assert_false(line_next(&parser, &rest, &event));
    }
    assert_int_equal(parser.line.capacity, 0);

    Slice rest = SLICE_LITERAL("\nJ: t|");
    assert_false(line_next(&parser, &rest, &event));
    int refused = 0;
    for (int i = 0; i < 64; i++) {
        rest = slice_of(block, sizeof block);
        refused += line_next(&parser, &rest, &event);
        assert_true(parser.line.capacity <= 2 * LINE_BYTES_MAX);
    }
    assert_int_equal(refused, 1);
    assert_true(event.kind == LINE_REFUSED &&
                slice_is(event.type, "it is longer than 16 MiB"));
    assert_int_equal(parser.line.capacity, 0);
    rest = SLICE_LITERAL("\nP: 7\n");
    assert_true(line_next(&parser, &rest, &event));
    assert_int_equal(event.number, 7);
    line_done(&parser);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_is_known),
        cmocka_unit_test(everything_else_is_log),
        cmocka_unit_test(a_line_that_is_nearly_a_job_is_refused),
        cmocka_unit_test(the_first_refused_line_is_noted_and_all_are_counted),
        cmocka_unit_test(the_last_line_needs_no_newline),
        cmocka_unit_test(a_result_is_cut_at_its_limit),
        cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(long_lines_cost_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
