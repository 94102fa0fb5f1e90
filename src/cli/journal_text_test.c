/* SPDX-License-Identifier: Apache-2.0 */
/* journal_text_test.c - 002's journal text: read, written, and what is wrong with it. */
#include "cli/journal_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(JournalText *text, size_t line, const char *tenant, const char *type,
                   Slice payload)
{
    JournalEntry entry;
    Error why = { 0 };
    if (journal_text_next(text, &entry, &why))
        fail_msg("%s", why.text);
    assert_int_equal(entry.line, line);
    assert_true(slice_is(entry.tenant, tenant));
    assert_true(slice_is(entry.type, type));
    assert_true(slice_equal(entry.payload, payload));
}

static void expect_end(JournalText *text)
{
    JournalEntry entry;
    Error why = { 0 };
    assert_int_equal(journal_text_next(text, &entry, &why), ERR_NOT_FOUND);
}

/* S2.37, S2.65, S2.71 - S2.74 */
static void batches_and_lines_are_read(void **state)
{
    (void)state;
    static const char text[] = "#:Batch date=2020-06-30T01:17:17.123Z,bytes=9,"
                               "jobtype=acme-job-type\n"
                               "a\0b\n\n#:x\n"
                               "#:EndBatch\n"
                               "# a comment, or an erased line\n"
                               "\n"
                               "2020-06-30T01:17:17.123Z|acme-mail|one|two\n"
                               "7f3a|mail|\n"
                               "last|a-b|no newline";
    JournalText journal = { .rest = { text, sizeof text - 1 }, .line = 1 };
    expect(&journal, 2, "acme", "job-type", slice_of("a\0b", 3));
    expect(&journal, 4, "acme", "job-type", SLICE_LITERAL("#:x"));
    expect(&journal, 8, "acme", "mail", SLICE_LITERAL("one|two"));
    expect(&journal, 9, "", "mail", SLICE_LITERAL(""));
    expect(&journal, 10, "a", "b", SLICE_LITERAL("no newline"));
    expect_end(&journal);
}

static void what_is_written_is_read_back(void **state)
{
    static const Slice payloads[] = { { "plain", 5 },       { "", 0 },
                                      { "two\nlines", 9 },  { "end\n", 4 },
                                      { "\n", 1 },          { "a\0|b", 4 },
                                      { "#:EndBatch", 10 }, { "#:EndBatch\n", 11 } };
    static const char *const tenants[] = { "acme", "with-dash" };
    (void)state;
    Buf text = { 0 };
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < 8; i++)
            journal_text_write(&text, &(JournalEntry){ .at_ms = 1593479837123,
                                                       .tenant = slice_text(tenants[t]),
                                                       .type = SLICE_LITERAL("job-x"),
                                                       .payload = payloads[i] });
    JournalText journal = { .rest = buf_slice(&text), .line = 1 };
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < 8; i++) {
            JournalEntry entry;
            Error why = { 0 };
            if (journal_text_next(&journal, &entry, &why))
                fail_msg("%zu: %s", i, why.text);
            assert_true(slice_is(entry.tenant, tenants[t]));
            assert_true(slice_is(entry.type, "job-x"));
            assert_true(slice_equal(entry.payload, payloads[i]));
            assert_int_equal(entry.at_ms, 1593479837123);
        }
    expect_end(&journal);
    buf_done(&text);
}

static const struct {
    const char *text;
    const char *error;
} wrong[] = {
    { "\nno bars\n", "line 2: neither id|type|payload nor time|type|payload" },
    { "a|b\n", "line 1: neither id|type|payload nor time|type|payload" },
    { "|t|x\n", "line 1: the line begins with neither an id nor a time" },
    { "1|a/b|x\n", "line 1: the type is no valid name" },
    { "1|ui-b|x\n", "line 1: the type is no valid name" },
    { "1|a-|x\n", "line 1: the type is no valid name" },
    { "#:Batch bytes=1\nx\n#:EndBatch\n", "line 1: the batch needs bytes= and jobtype=" },
    { "#:Batch bytes=x,jobtype=a-b\n", "line 1: bytes of the batch is no number" },
    { "#:Batch date=now,bytes=1,jobtype=a\n",
      "line 1: the date of the batch is no time such as 2020-06-30T01:17:17.123Z" },
    { "#:Batch bytes,jobtype=a\n", "line 1: a word of the batch is not key=value" },
    { "1|a|b\n#:Batch bytes=9,jobtype=a\nx\n", "line 3: the file ends inside a batch" },
    { "#:Batch bytes=1,jobtype=a\nxy\n#:EndBatch\n",
      "line 2: no #:EndBatch stands where bytes= says" },
};

static void errors_have_their_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        JournalText journal = { .rest = slice_text(wrong[i].text), .line = 1 };
        JournalEntry entry;
        Error why = { 0 };
        Err err;
        while (!(err = journal_text_next(&journal, &entry, &why)))
            ;
        assert_int_equal(err, ERR_INVALID);
        assert_string_equal(why.text, wrong[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_and_lines_are_read),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(errors_have_their_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
