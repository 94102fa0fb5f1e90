/* SPDX-License-Identifier: Apache-2.0 */
/* worker_lines_test.c - what a worker's program says, line by line. */
#include "cli/worker_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void lines_are_told_apart(void **state)
{
    (void)state;
    Slice in = SLICE_LITERAL("R: a1 200 fine and well\n"
                             "P: a1 45 page 4\n"
                             "J: a1 mail|x y\n#J: a1 scan|\n"
                             "R: a2 200 <<5\nab\ncd\n"
                             "R: a3 404\n"
                             "R: a4 soon\nhello\n"
                             "R: a5 200 <<3\nab");
    static const struct {
        WorkerLineKind kind;
        const char *id;
        int64_t number;
        const char *text;
    } rows[] = {
        { WORKER_RESULT, "a1", 200, "fine and well" },
        { WORKER_PROGRESS, "a1", 45, "page 4" },
        { WORKER_JOB, "a1", 0, "mail|x y" },
        { WORKER_JOB, "a1", 0, "scan|" },
        { WORKER_RESULT, "a2", 200, "ab\ncd" },
        { WORKER_RESULT, "a3", 404, "" },
        { WORKER_OTHER, "", 0, "R: a4 soon" },
        { WORKER_OTHER, "", 0, "hello" },
    };
    size_t at = 0;
    WorkerLine line;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(worker_line_next(in, &at, &line));
        assert_int_equal(line.kind, rows[i].kind);
        assert_true(slice_is(line.id, rows[i].id));
        assert_int_equal(line.number, rows[i].number);
        assert_true(slice_is(line.text, rows[i].text));
    }
    size_t before = at;
    assert_false(worker_line_next(in, &at, &line)); /* a byte is missing */
    assert_int_equal(at, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
