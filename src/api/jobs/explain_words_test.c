/* SPDX-License-Identifier: Apache-2.0 */
/* explain_words_test.c - the words in which a waiting job is explained. */
#include "api/jobs/explain_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* S0.2 and others see it in e2e; here: each kind has a word and a sentence. */
static void every_reason_has_words(void **state)
{
    (void)state;
    Job job = job_default();
    job.tenant = SLICE_LITERAL("acme");
    job.queue = SLICE_LITERAL("mail");
    job.type = SLICE_LITERAL("send");
    for (int kind = REASON_DRAINING; kind <= REASON_HIGHLANDER; kind++) {
        Buf text = { 0 };
        Buf help = { 0 };
        Reason reason = { .kind = (ReasonKind)kind,
                          .key = SLICE_LITERAL("gpu"),
                          .amount = 2,
                          .free = 1,
                          .total = 3,
                          .every_ms = 1000,
                          .until_ms = 6000,
                          .holder = 77 };
        assert_true(reason_word(reason.kind)[0] != '?');
        reason_text(&reason, &job, 1000, &text);
        reason_help(&reason, &job, &help);
        assert_true(text.bytes > 10);
        if (kind == REASON_QUEUE_PAUSED)
            assert_string_equal(buf_cstr(&help), "pawl queue resume mail --tenant acme");
        if (kind == REASON_RESOURCE_BUSY)
            assert_non_null(strstr(buf_cstr(&text), "needs 2 of resource gpu"));
        buf_done(&text);
        buf_done(&help);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reason_has_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
