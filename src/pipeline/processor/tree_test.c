/* SPDX-License-Identifier: Apache-2.0 */
/* tree_test.c - copies of files and folders, as they are and no further. */
#include "pipeline/processor/tree.h"

#include "base/times.h"
#include "pipeline/rig_test.h"

#include <errno.h>

static int from_of(const Rig *rig)
{
    return rig->buckets.fds[OUT_FINISHED];
}

static int to_of(const Rig *rig)
{
    return rig->buckets.fds[IN_RECEIVE];
}

static void a_file_is_copied_with_its_looks(void **state)
{
    const Rig *rig = *state;
    TreeCopy copy = { 0 };
    struct stat was;
    struct stat is;
    struct timespec old[] = { { .tv_sec = 1000 }, { .tv_sec = 2000, .tv_nsec = 5 } };
    rig_put(rig, OUT_FINISHED, "-u", "hello");
    assert_int_equal(fchmodat(from_of(rig), "-u", 0640, 0), 0);
    assert_int_equal(utimensat(from_of(rig), "-u", old, 0), 0);
    assert_true(tree_copy(&copy, from_of(rig), to_of(rig), "-u"));
    assert_true(tree_sync(to_of(rig), "-u"));
    rig_holds(rig, IN_RECEIVE, "-u", "hello");
    assert_int_equal(fstatat(from_of(rig), "-u", &was, 0), 0);
    assert_int_equal(fstatat(to_of(rig), "-u", &is, 0), 0);
    assert_int_equal(is.st_mode, was.st_mode);
    assert_int_equal(is.st_mtim.tv_sec, 2000);
    assert_int_not_equal(is.st_ino, was.st_ino);
}

static void make_folder(const Rig *rig)
{
    assert_int_equal(mkdirat(from_of(rig), "d", 0755), 0);
    assert_int_equal(mkdirat(from_of(rig), "d/e", 0755), 0);
    rig_put(rig, OUT_FINISHED, "d/e/file", "deep");
    assert_int_equal(symlinkat("/etc/passwd", from_of(rig), "d/out"), 0);
    assert_int_equal(mkfifoat(from_of(rig), "d/pipe", 0600), 0);
    assert_int_equal(fchmodat(from_of(rig), "d/e", 0555, 0), 0);
}

/* Links are not followed out of the tree, and a pipe does not stop the copy. */
static void a_folder_is_copied_and_links_stay_links(void **state)
{
    const Rig *rig = *state;
    TreeCopy copy = { 0 };
    char target[64] = "";
    struct stat found;
    make_folder(rig);
    assert_true(tree_copy(&copy, from_of(rig), to_of(rig), "d"));
    assert_true(tree_sync(to_of(rig), "d"));
    rig_holds(rig, IN_RECEIVE, "d/e/file", "deep");
    assert_true(readlinkat(to_of(rig), "d/out", target, sizeof target - 1) > 0);
    assert_string_equal(target, "/etc/passwd");
    assert_int_equal(fstatat(to_of(rig), "d/pipe", &found, AT_SYMLINK_NOFOLLOW), -1);
    assert_int_equal(fstatat(to_of(rig), "d/e", &found, 0), 0);
    assert_int_equal(found.st_mode & 07777, 0555);
}

static void nothing_is_replaced(void **state)
{
    const Rig *rig = *state;
    TreeCopy copy = { 0 };
    rig_put(rig, OUT_FINISHED, "u", "new");
    rig_put(rig, IN_RECEIVE, "u", "old");
    assert_false(tree_copy(&copy, from_of(rig), to_of(rig), "u"));
    assert_int_equal(errno, EEXIST);
    rig_holds(rig, IN_RECEIVE, "u", "old");
}

static void holes_stay_holes(void **state)
{
    const Rig *rig = *state;
    TreeCopy copy = { 0 };
    struct stat found;
    rig_put(rig, OUT_FINISHED, "sparse", "head");
    int fd = openat(from_of(rig), "sparse", O_WRONLY);
    assert_int_equal(ftruncate(fd, 1LL << 40), 0);
    close(fd);
    assert_true(tree_copy(&copy, from_of(rig), to_of(rig), "sparse"));
    assert_int_equal(fstatat(to_of(rig), "sparse", &found, 0), 0);
    assert_int_equal(found.st_size, 1LL << 40);
    assert_true(found.st_blocks < 1000);
    rig_holds(rig, IN_RECEIVE, "sparse", "head");
}

static void folders_too_deep_are_an_error(void **state)
{
    const Rig *rig = *state;
    TreeCopy copy = { 0 };
    int dir = dup(from_of(rig));
    for (int depth = 0; depth <= TREE_DEPTH_MAX; depth++) {
        assert_int_equal(mkdirat(dir, "d", 0755), 0);
        int next = openat(dir, "d", O_RDONLY | O_DIRECTORY);
        close(dir);
        dir = next;
    }
    close(dir);
    assert_false(tree_copy(&copy, from_of(rig), to_of(rig), "d"));
    assert_int_equal(errno, ELOOP);
}

static void an_end_is_heard(void **state)
{
    const Rig *rig = *state;
    atomic_bool end = true;
    TreeCopy copy = { .end = &end };
    rig_put(rig, OUT_FINISHED, "u", "text");
    assert_false(tree_copy(&copy, from_of(rig), to_of(rig), "u"));
    assert_int_equal(errno, ECANCELED);
}

static void the_rate_is_kept(void **state)
{
    const Rig *rig = *state;
    TreeCopy copy = { .rate = 100 };
    rig_put(rig, OUT_FINISHED, "u", "twenty bytes of text");
    int64_t began_ms = clock_now().boot_ms;
    assert_true(tree_copy(&copy, from_of(rig), to_of(rig), "u"));
    assert_true(clock_now().boot_ms - began_ms >= 195);
    rig_holds(rig, IN_RECEIVE, "u", "twenty bytes of text");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_file_is_copied_with_its_looks),
        RIG_TEST(a_folder_is_copied_and_links_stay_links),
        RIG_TEST(nothing_is_replaced),
        RIG_TEST(holes_stay_holes),
        RIG_TEST(folders_too_deep_are_an_error),
        RIG_TEST(an_end_is_heard),
        RIG_TEST(the_rate_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
