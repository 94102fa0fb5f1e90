/* SPDX-License-Identifier: Apache-2.0 */
/* traces_test.c - everything that is named after a job is found, and nothing else. */
#include "run/files/traces.h"

#include "base/buf.h"
#include "run/files/sweep.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct Fixture {
    char dir[64];
    TraceWalk *walk;
} Fixture;

static int setup(void **state)
{
    Fixture *f = MEM_NEW(Fixture);
    snprintf(f->dir, sizeof f->dir, "/tmp/pawl-traces-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->walk = trace_walk_new(f->dir);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    trace_walk_free(f->walk);
    sweep_path(f->dir);
    mem_free(f);
    return 0;
}

static char *path_of(const Fixture *f, const char *name, char out[256])
{
    snprintf(out, 256, "%s/%s", f->dir, name);
    return out;
}

static void make_folder(const Fixture *f, const char *name)
{
    char path[256];
    assert_int_equal(mkdir(path_of(f, name, path), 0700), 0);
}

static void make_file(const Fixture *f, const char *name)
{
    char path[256];
    int fd = open(path_of(f, name, path), O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* Each of the names once, in whatever order, and then the end. */
static void expect_walk(const Fixture *f, const char *const *names, size_t count)
{
    bool seen[8] = { false };
    Trace trace;
    for (size_t found = 0; found < count; found++) {
        size_t which = 0;
        char path[256];
        assert_true(trace_walk_next(f->walk, &trace));
        while (which < count && strcmp(path_of(f, names[which], path), trace.path) != 0)
            which++;
        assert_true(which < count);
        assert_false(seen[which]);
        seen[which] = true;
        char id[ID_TEXT_BYTES];
        const char *name = strrchr(trace.path, '/') + 1;
        assert_memory_equal(id_text(trace.id, id), name, ID_TEXT_BYTES - 1);
    }
    assert_false(trace_walk_next(f->walk, &trace));
}

static void all_that_is_kept_of_jobs_is_found(void **state)
{
    const Fixture *f = *state;
    static const char *const names[] = {
        "logs/b7/0s8b7mcgc0400.1.out",  "logs/b7/0s8b7mcgc0400.1.err.cut",
        "logs/zz/0s8b7mcgc0c00.12.err", "state/0s8b7mcgc0c00",
        "files/0s8b7mcgc0c04",
    };
    expect_walk(f, NULL, 0); /* not even the folders are there */
    const char *const made[] = { "logs",  "logs/b7", "logs/zz", "logs/00",
                                 "state", "files",   names[3],  names[4] };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        make_folder(f, made[i]);
    for (size_t i = 0; i < 3; i++)
        make_file(f, names[i]);
    make_file(f, "logs/b7/README");
    make_file(f, "logs/b7/0s8b7mcgc0400-1.out");
    make_file(f, "logs/0s8b7mcgc0400.1.out"); /* not where they are */
    make_file(f, "state/lost+found");
    expect_walk(f, names, 5);
    expect_walk(f, names, 5); /* anew */
}

static void it_is_known_when_they_last_changed(void **state)
{
    const Fixture *f = *state;
    char path[256];
    Trace trace;
    make_folder(f, "files");
    make_file(f, "files/0s8b7mcgc0c04");
    const struct timespec times[2] = { { .tv_sec = 5 },
                                       { .tv_sec = 7, .tv_nsec = 9000000 } };
    assert_int_equal(
        utimensat(AT_FDCWD, path_of(f, "files/0s8b7mcgc0c04", path), times, 0), 0);
    assert_true(trace_walk_next(f->walk, &trace));
    assert_int_equal(trace.changed_ms, 7009);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_that_is_kept_of_jobs_is_found),
        TEST(it_is_known_when_they_last_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
