/* SPDX-License-Identifier: Apache-2.0 */
/* parts_test.c - parts are whole or not there, wherever the writing stopped. */
#include "cli/parts.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static int begin(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/pawl-parts-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static int end(void **state)
{
    (void)state;
    unlink(path_of("parts.log"));
    unlink(path_of("parts.out"));
    unlink(path_of("copy"));
    return rmdir(dir);
}

static void add(Parts *parts, const char *name, const char *text)
{
    Error why = { 0 };
    assert_int_equal(parts_begin(parts, slice_text(name), &why), ERR_OK);
    assert_int_equal(parts_write(parts, slice_text(text), &why), ERR_OK);
    assert_int_equal(parts_finish(parts, slice_text(name), &why), ERR_OK);
}

static void assert_output(const Parts *parts, const char *text)
{
    char found[256] = "";
    Error why = { 0 };
    assert_int_equal(parts_copy(parts, path_of("copy"), &why), ERR_OK);
    int fd = open(path_of("copy"), O_RDONLY);
    assert_true(fd >= 0);
    ssize_t got = read(fd, found, sizeof found - 1);
    close(fd);
    assert_true(got >= 0);
    assert_string_equal(found, text);
}

/* S4.80, S4.81: one cumulative file, and what was begun and finished is known. */
static void parts_add_up_and_are_remembered(void **state)
{
    (void)state;
    Parts parts;
    Error why = { 0 };
    assert_int_equal(parts_open(&parts, dir, &why), ERR_OK);
    add(&parts, "page 1", "one\n");
    add(&parts, "page\n2", "two\n");
    assert_int_equal(parts_begin(&parts, SLICE_LITERAL("page%3"), &why), ERR_OK);
    parts_close(&parts);
    assert_int_equal(parts_open(&parts, dir, &why), ERR_OK);
    assert_true(parts_is_done(&parts, SLICE_LITERAL("page 1")));
    assert_true(parts_is_done(&parts, SLICE_LITERAL("page\n2")));
    assert_false(parts_is_done(&parts, SLICE_LITERAL("page%3")));
    assert_int_equal(parts.begun.count, 3);
    assert_output(&parts, "one\ntwo\n");
    parts_close(&parts);
}

/* S4.82, S4.83: cut at every byte of the log, with any tail on the output: each part is
 * there whole or not at all, and the work can go on. */
static void wherever_it_stopped_every_part_is_whole(void **state)
{
    (void)state;
    Parts parts;
    Error why = { 0 };
    struct stat log;
    assert_int_equal(parts_open(&parts, dir, &why), ERR_OK);
    add(&parts, "a", "AAAA");
    add(&parts, "b", "BBBB");
    parts_close(&parts);
    assert_int_equal(stat(path_of("parts.log"), &log), 0);
    for (off_t cut = log.st_size; cut >= 0; cut--) {
        assert_int_equal(truncate(path_of("parts.log"), cut), 0);
        assert_int_equal(parts_open(&parts, dir, &why), ERR_OK);
        bool a = parts_is_done(&parts, SLICE_LITERAL("a"));
        bool b = parts_is_done(&parts, SLICE_LITERAL("b"));
        assert_true(a || !b);
        assert_output(&parts, b ? "AAAABBBB" : a ? "AAAA" : "");
        assert_int_equal(parts_write(&parts, SLICE_LITERAL("half"), &why), ERR_OK);
        parts_close(&parts); /* killed in the middle of the next one */
    }
    assert_int_equal(parts_open(&parts, dir, &why), ERR_OK);
    add(&parts, "a", "AAAA");
    assert_int_equal(parts_write(&parts, SLICE_LITERAL("wrong"), &why), ERR_OK);
    assert_int_equal(parts_abandon(&parts, &why), ERR_OK);
    add(&parts, "b", "BBBB");
    assert_output(&parts, "AAAABBBB");
    parts_close(&parts);
}

static void output_that_was_cut_is_told(void **state)
{
    (void)state;
    Parts parts;
    Error why = { 0 };
    assert_int_equal(parts_open(&parts, dir, &why), ERR_OK);
    add(&parts, "a", "AAAA");
    parts_close(&parts);
    assert_int_equal(truncate(path_of("parts.out"), 2), 0);
    assert_int_equal(parts_open(&parts, dir, &why), ERR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_add_up_and_are_remembered, begin, end),
        cmocka_unit_test_setup_teardown(wherever_it_stopped_every_part_is_whole, begin,
                                        end),
        cmocka_unit_test_setup_teardown(output_that_was_cut_is_told, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
