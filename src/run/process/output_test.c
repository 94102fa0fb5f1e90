/* SPDX-License-Identifier: Apache-2.0 */
/* output_test.c - spool files, their cap, what is said in them, and tidying up. */
#include "run/process/output.h"

#include "base/rng.h"
#include "core/job.h"
#include "run/files/sweep.h"
#include "run/process/folder.h"
#include "run/process/output_lines.h"
#include "run/process/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static Err make_folders(Folders *folders, JobId id, uint32_t attempt, uint32_t flags,
                        Slice document)
{
    FolderWant want = { id, attempt, flags, document, { 0 } };
    return folders_make(folders, &want);
}

#define CAP (256 << 10)

typedef struct Fixture {
    char dir[64];
    int pipe[2];
    Spool spool;
    Buf dropped;
    OutputName name;
} Fixture;

static int setup(void **state)
{
    Fixture *f = MEM_NEW(Fixture);
    char logs[128];
    snprintf(f->dir, sizeof f->dir, "/tmp/output-test-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(logs, sizeof logs, "%s/logs", f->dir);
    assert_int_equal(mkdir(logs, 0700), 0);
    assert_int_equal(pipe2(f->pipe, O_CLOEXEC), 0);
    f->name = (OutputName){ f->dir, 0x123456789abcdef, 2, OUTPUT_OUT };
    spool_init(&f->spool, &f->name, CAP, true);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    spool_done(&f->spool);
    sweep_path(f->dir);
    assert_int_equal(access(f->dir, F_OK), -1);
    close(f->pipe[0]);
    close(f->pipe[1]);
    buf_done(&f->dropped);
    mem_free(f);
    return 0;
}

/* The byte that belongs at an offset: unlike its neighbours and its blocks'. */
static char byte_at(int64_t offset)
{
    return (char)('a' + (offset + offset / 997 + offset / 65536) % 26);
}

static void print(Fixture *f, size_t bytes)
{
    char chunk[4096];
    while (bytes) {
        size_t part = bytes < sizeof chunk ? bytes : sizeof chunk;
        for (size_t i = 0; i < part; i++)
            chunk[i] = byte_at(f->spool.total + (int64_t)i);
        assert_int_equal(write(f->pipe[1], chunk, part), part);
        assert_int_equal(spool_take(&f->spool, f->pipe[0], &f->dropped), part);
        spool_trim(&f->spool);
        bytes -= part;
    }
}

static OutputPart expect_read(const Fixture *f, int64_t from, size_t max)
{
    Buf out = { 0 };
    OutputPart part;
    buf_add_text(&out, "before");
    assert_int_equal(output_read(&f->name, from, max, &out, &part), ERR_OK);
    assert_int_equal(part.total, f->spool.total);
    assert_true(part.first <= part.from || part.from == part.total);
    assert_int_equal(part.next - part.from, out.bytes - 6);
    assert_true(memcmp(out.data, "before", 6) == 0);
    for (int64_t at = part.from; at < part.next; at++)
        if (out.data[6 + at - part.from] != byte_at(at))
            fail_msg("wrong byte at %lld", (long long)at);
    buf_done(&out);
    return part;
}

static void silence_leaves_no_file(void **state)
{
    Fixture *f = *state;
    char path[SPOOL_PATH_MAX];
    assert_int_equal(spool_take(&f->spool, f->pipe[0], &f->dropped), 0);
    assert_int_equal(access(spool_path(&f->name, path), F_OK), -1);
    OutputPart part = expect_read(f, 0, 100);
    assert_int_equal(part.total, 0);
    print(f, 1);
    assert_int_equal(access(path, F_OK), 0);
}

static void any_part_can_be_read(void **state)
{
    Fixture *f = *state;
    print(f, 10000);
    assert_int_equal(expect_read(f, 0, 100).next, 100);
    assert_int_equal(expect_read(f, 100, 100000).next, 10000);
    assert_int_equal(expect_read(f, 10000, 100).next, 10000);
    assert_int_equal(expect_read(f, 99999, 100).next, 99999);
    OutputPart part = expect_read(f, -50, 100);
    assert_int_equal(part.from, 9950);
    assert_int_equal(expect_read(f, -99999, 10).from, 0);
    assert_int_equal(part.first, 0);
}

static void cap_keeps_the_tail(Fixture *f, bool no_holes)
{
    f->spool.no_holes = no_holes;
    int64_t most = no_holes ? 2 * CAP : CAP + CAP / 8;
    for (int i = 0; i < 60; i++) {
        print(f, 50000 + (size_t)i);
        int64_t kept = f->spool.total - f->spool.first;
        assert_true(kept <= most + SPOOL_BLOCK + 4096);
        assert_true(kept >= CAP || f->spool.first == 0);
        OutputPart part = expect_read(f, 0, 1 << 20);
        assert_int_equal(part.first, f->spool.first);
        assert_int_equal(part.next, part.total);
    }
    char path[SPOOL_PATH_MAX];
    struct stat file;
    assert_int_equal(stat(spool_path(&f->name, path), &file), 0);
    assert_true(file.st_blocks * 512 <= most + 2 * SPOOL_BLOCK);

    /* Another daemon goes on where this one was. */
    Spool before = f->spool;
    spool_done(&f->spool);
    spool_init(&f->spool, &f->name, CAP, false);
    assert_int_equal(f->spool.total, before.total);
    assert_int_equal(f->spool.first, before.first);
    print(f, 500000);
    expect_read(f, 0, 1 << 20);
    expect_read(f, -1000, 1 << 20);
}

/* Fault 72. */
static void the_tail_is_kept_with_holes(void **state)
{
    cap_keeps_the_tail(*state, false);
}

static void the_tail_is_kept_without_holes(void **state)
{
    cap_keeps_the_tail(*state, true);
}

static void a_full_disk_stops_no_job(void **state)
{
    Fixture *f = *state;
    struct rlimit before, little = { 100000, RLIM_INFINITY };
    getrlimit(RLIMIT_FSIZE, &before);
    little.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    print(f, 90000);
    setrlimit(RLIMIT_FSIZE, &little);
    char chunk[20000];
    memset(chunk, 'x', sizeof chunk);
    assert_int_equal(write(f->pipe[1], chunk, sizeof chunk), sizeof chunk);
    size_t taken = 0;
    while (taken < sizeof chunk)
        taken += spool_take(&f->spool, f->pipe[0], &f->dropped);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(f->spool.total, 110000);
    assert_true(f->dropped.bytes > 0); /* but it can still be read for its lines */
    assert_int_equal(f->spool.first, f->spool.total);
    print(f, 1000);
    OutputPart part = expect_read(f, -900, 1 << 20);
    assert_true(part.first > 90000);
}

static void everything_of_a_job_can_be_erased(void **state)
{
    Fixture *f = *state;
    char path[SPOOL_PATH_MAX];
    char shard[SPOOL_PATH_MAX];
    f->spool.no_holes = true;
    print(f, 4 * CAP);
    f->name.stream = OUTPUT_ERR;
    spool_done(&f->spool);
    spool_init(&f->spool, &f->name, CAP, true);
    print(f, 10);
    spool_path(&f->name, path);
    snprintf(shard, sizeof shard, "%.*s", (int)(strrchr(path, '/') - path), path);
    output_erase(f->dir, f->name.id, 2);
    assert_int_equal(rmdir(shard), 0); /* it was empty */
}

static void nothing_now(void *context, uint64_t number, Slice type, Slice payload)
{
    (void)type;
    (void)payload;
    *(uint64_t *)context = number;
}

static void describe(const OutputLines *said, Buf *out)
{
    buf_printf(out, "%d [" SLICE_FMT "] %d, %d [" SLICE_FMT "], %d+%d children:\n",
               said->code, SLICE_ARG(buf_slice(&said->result)), said->result_cut,
               said->progress, SLICE_ARG(buf_slice(&said->message)),
               (int)said->child_count, (int)said->now_count);
    char path[256];
    snprintf(path, sizeof path, "%s/children", said->dir);
    int fd = said->children_bytes ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got;
    while (fd >= 0 && (got = read(fd, buf_room(out, 65536), 65536)) > 0)
        out->bytes += (size_t)got;
    if (fd >= 0)
        close(fd);
    buf_add_slice(out, buf_slice(&said->children));
}

static void said_text(Rng *rng, Buf *out)
{
    static const char *const lines[] = { "log\n",         "J: t|one\n",
                                         "J!: t|now\n",   "P: 5 x\n",
                                         "R: 200 fine\n", "R: 500 <<6\nab\nJ: \n" };
    size_t lines_count = rng_below(rng, 40);
    for (size_t i = 0; i < lines_count; i++)
        buf_add_text(out, lines[rng_below(rng, 6)]);
    if (rng_percent(rng, 20)) /* so many children that they go to disk */
        for (int i = 0; i < 9000; i++)
            buf_printf(out, "J: type.%d|payload\n", i);
    for (size_t i = 0; i < lines_count; i++)
        buf_add_text(out, lines[rng_below(rng, 6)]);
    buf_add_text(out, "J: last|without newline");
}

/* What was said is the same whether one daemon read it, or one read a part, saved it,
 * read more, died, and another went on from what was saved. */
static void row_columns_words_are_as_good_as_new(void **state)
{
    Fixture *f = *state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        Rng rng = { seed };
        Buf text = { 0 }, whole = { 0 }, parts = { 0 };
        uint64_t now = 0;
        OutputLinesSink sink = { nothing_now, &now, seed % 3 == 0 };
        OutputLines said;
        said_text(&rng, &text);
        output_lines_init(&said, f->dir, 0);
        output_lines_read(&said, buf_slice(&text), &sink);
        output_lines_end(&said, &sink);
        describe(&said, &whole);
        output_lines_done(&said);

        size_t saved = rng_below(&rng, text.bytes);
        size_t died = saved + rng_below(&rng, text.bytes - saved);
        output_lines_init(&said, f->dir, 0);
        output_lines_read(&said, slice_of(text.data, saved), &sink);
        assert_int_equal(output_lines_save(&said), ERR_OK);
        output_lines_read(&said, slice_of(text.data + saved, died - saved), &sink);
        output_lines_done(&said);
        output_lines_init(&said, f->dir, 0);
        assert_true(output_lines_load(&said));
        assert_int_equal(said.read, saved);
        output_lines_read(&said, slice_from(buf_slice(&text), saved), &sink);
        output_lines_end(&said, &sink);
        describe(&said, &parts);
        output_lines_done(&said);
        if (!slice_equal(buf_slice(&whole), buf_slice(&parts)))
            fail_msg("seed %d: [%.300s] is not [%.300s]", (int)seed, buf_cstr(&whole),
                     buf_cstr(&parts));
        buf_done(&text);
        buf_done(&whole);
        buf_done(&parts);
    }
}

static size_t count_entries(const char *dir, const char *below)
{
    char command[256];
    snprintf(command, sizeof command, "%s/%s", dir, below);
    struct stat file;
    return stat(command, &file) ? 0 : (size_t)file.st_nlink - 2; /* folders in it */
}

static void wait_entries(const char *dir, const char *below, size_t count)
{
    for (int tries = 0; tries < 60000 && count_entries(dir, below) != count; tries++)
        usleep(1000);
    assert_int_equal(count_entries(dir, below), count);
}

static bool know_7(void *context, JobId id, uint32_t attempt)
{
    (void)context;
    return id == 7 && attempt == 1;
}

static void folders_are_made_used_again_and_removed(void **state)
{
    Fixture *f = *state;
    Folders folders;
    Error why;
    char path[FOLDER_PATH_BYTES], file[FOLDER_PATH_BYTES + 16];
    struct stat document;
    assert_int_equal(folders_open(&folders, f->dir, &why), ERR_OK);
    Slice text = SLICE_LITERAL("{}");
    for (uint32_t attempt = 1; attempt <= 5; attempt++) {
        assert_int_equal(make_folders(&folders, 1, attempt, JOB_FILES, text), ERR_OK);
        folder_path(f->dir, FOLDER_DOCUMENT, 1, attempt, path);
        assert_int_equal(stat(path, &document), 0);
        assert_int_equal(document.st_mode & 0777, 0400);
        assert_int_equal(document.st_size, 2);
        folder_path(f->dir, FOLDER_TEMP, 1, attempt, path);
        assert_int_equal(access(path, W_OK), 0);
        assert_int_equal(count_entries(f->dir, "run"), 1);
        folders_drop(&folders, 1, attempt);
    }
    assert_int_equal(count_entries(f->dir, "run"), 1); /* the spare one */
    assert_int_equal(count_entries(f->dir, "files"), 1);
    assert_int_equal(count_entries(f->dir, "state"), 0);

    /* One that a job has left its things in goes. */
    assert_int_equal(make_folders(&folders, 2, 1, 0, text), ERR_OK);
    folder_path(f->dir, FOLDER_TEMP, 2, 1, path);
    snprintf(file, sizeof file, "%s/thing", path);
    close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    folders_drop(&folders, 2, 1);
    wait_entries(f->dir, "run", 0);

    /* A job that removed its folder, or opened it to everyone. */
    assert_int_equal(make_folders(&folders, 3, 1, 0, text), ERR_OK);
    assert_int_equal(rmdir(folder_path(f->dir, FOLDER_TEMP, 3, 1, path)), 0);
    folders_drop(&folders, 3, 1);
    assert_int_equal(make_folders(&folders, 4, 1, 0, text), ERR_OK);
    assert_int_equal(chmod(folder_path(f->dir, FOLDER_TEMP, 4, 1, path), 0777), 0);
    folders_drop(&folders, 4, 1);
    wait_entries(f->dir, "run", 0);

    /* Those of a dead daemon's attempts. */
    assert_int_equal(make_folders(&folders, 6, 1, 0, text), ERR_OK);
    assert_int_equal(make_folders(&folders, 7, 1, 0, text), ERR_OK);
    assert_int_equal(make_folders(&folders, 7, 1, 0, text), ERR_OK); /* a second start */
    folders_tidy(&folders, know_7, NULL);
    wait_entries(f->dir, "run", 1);
    folders_close(&folders);
}

static void sweeping_goes_deep_but_not_away(void **state)
{
    Fixture *f = *state;
    char top[128], outside[128], link[160];
    snprintf(top, sizeof top, "%s/top", f->dir);
    snprintf(outside, sizeof outside, "%s/outside", f->dir);
    close(open(outside, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(mkdir(top, 0700), 0);
    snprintf(link, sizeof link, "%s/link", top);
    assert_int_equal(symlink(f->dir, link), 0);
    int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int depth = 0; depth < 100; depth++) {
        assert_int_equal(mkdirat(fd, "deeper-and-deeper", 0700), 0);
        assert_int_equal(mkdirat(fd, "side", 0), 0);
        int next = openat(fd, "deeper-and-deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = next;
    }
    close(fd);
    sweep_path(top);
    assert_int_equal(access(top, F_OK), -1);
    assert_int_equal(access(outside, F_OK), 0);
}

int main(void)
{
#define OUTPUT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        OUTPUT_TEST(silence_leaves_no_file),
        OUTPUT_TEST(any_part_can_be_read),
        OUTPUT_TEST(the_tail_is_kept_with_holes),
        OUTPUT_TEST(the_tail_is_kept_without_holes),
        OUTPUT_TEST(a_full_disk_stops_no_job),
        OUTPUT_TEST(everything_of_a_job_can_be_erased),
        OUTPUT_TEST(row_columns_words_are_as_good_as_new),
        OUTPUT_TEST(folders_are_made_used_again_and_removed),
        OUTPUT_TEST(sweeping_goes_deep_but_not_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
