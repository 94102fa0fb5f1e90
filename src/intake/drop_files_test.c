/* SPDX-License-Identifier: Apache-2.0 */
/* drop_files_test.c - files of the drop folder: which are taken, and where they go. */
#include "intake/drop_files.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static DropFiles files;
static DropName names[DROP_BATCH];

static int setup(void **state)
{
    (void)state;
    Error why = { 0 };
    memcpy(folder, "/tmp/pawl-drop-XXXXXX", 22);
    if (!mkdtemp(folder))
        return -1;
    return (int)drop_files_open(&files, folder, &why);
}

static int remove_one(const char *path, const struct stat *status, int kind,
                      struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    drop_files_close(&files);
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int put(const char *name, const char *text)
{
    int fd = openat(files.drop_fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    return fd;
}

static void put_whole(const char *name, const char *text)
{
    close(put(name, text));
}

static bool there(int fd, const char *name)
{
    return faccessat(fd, name, F_OK, 0) == 0;
}

static void a_whole_file_is_taken_with_its_name(void **state)
{
    (void)state;
    put_whole("b.xml", "<x/>");
    assert_int_equal(drop_files_take(&files, names, DROP_BATCH), 1);
    assert_string_equal(drop_original(&names[0]), "b.xml");
    assert_int_equal(drop_stamp(&names[0]).bytes, 16);
    assert_false(there(files.drop_fd, "b.xml"));
    Buf bytes = { 0 };
    Error why = { 0 };
    assert_int_equal(drop_files_read(&files, &names[0], 100, &bytes, &why), ERR_OK);
    assert_true(slice_is(buf_slice(&bytes), "<x/>"));
    buf_clear(&bytes);
    assert_int_equal(drop_files_read(&files, &names[0], 2, &bytes, &why), ERR_OK);
    assert_int_equal(bytes.bytes, 2);
    buf_done(&bytes);
    assert_int_equal(drop_files_taken(&files, names, DROP_BATCH), 1);
    drop_files_done(&files, &names[0]);
    assert_int_equal(drop_files_taken(&files, names, DROP_BATCH), 0);
}

static void a_file_that_is_being_written_is_left_alone(void **state)
{
    (void)state;
    int fd = put("half.xml", "<x");
    assert_int_equal(drop_files_take(&files, names, DROP_BATCH), 0);
    assert_int_equal(write(fd, "/>", 2), 2);
    close(fd);
    assert_int_equal(drop_files_take(&files, names, DROP_BATCH), 1);
}

static void what_is_no_control_file_is_left_alone(void **state)
{
    (void)state;
    put_whole("notes.txt", "x");
    put_whole(".hidden.xml", "x");
    put_whole(".xml", "x");
    put_whole("b.xml.tmp", "x");
    assert_int_equal(mkdirat(files.drop_fd, "folder.xml", 0700), 0);
    assert_int_equal(drop_files_take(&files, names, DROP_BATCH), 0);
    assert_true(there(files.drop_fd, "notes.txt"));
}

static void expect_unreadable(Err err, const char *words)
{
    Buf bytes = { 0 };
    Error why = { 0 };
    assert_int_equal(drop_files_read(&files, &names[0], 100, &bytes, &why), err);
    assert_non_null(strstr(why.text, words));
    assert_int_equal(bytes.bytes, 0);
    buf_done(&bytes);
    drop_files_fail(&files, &names[0], why.text);
    assert_int_equal(drop_files_taken(&files, names, DROP_BATCH), 0);
}

/* They would lie there for ever, and no one would know why. */
static void links_and_pipes_are_set_aside_unread(void **state)
{
    (void)state;
    assert_int_equal(symlinkat("/etc/passwd", files.drop_fd, "link.xml"), 0);
    assert_int_equal(drop_files_take(&files, names, DROP_BATCH), 1);
    expect_unreadable(ERR_INVALID, "link.xml is a link");
    assert_int_equal(mkfifoat(files.drop_fd, "pipe.xml", 0600), 0);
    assert_int_equal(drop_files_take(&files, names, DROP_BATCH), 1);
    expect_unreadable(ERR_INVALID, "pipe.xml is a link, a pipe");
    assert_true(there(files.failed_fd, "link.xml.error"));
    assert_true(there(files.failed_fd, "pipe.xml"));
}

/* Root may read everything: it is another user here, who owns the folders. */
static void become(uid_t user)
{
    const int fds[] = { files.drop_fd, files.taken_fd, files.failed_fd };
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        assert_int_equal(fchown(fds[i], user, (gid_t)-1), 0);
    assert_int_equal(seteuid(user), 0);
}

static void a_file_that_is_closed_to_us_is_set_aside_after_a_while(void **state)
{
    (void)state;
    bool root = geteuid() == 0;
    put_whole("closed.xml", "<x/>");
    assert_int_equal(fchmodat(files.drop_fd, "closed.xml", 0, 0), 0);
    if (root)
        become(65534);
    size_t taken = 0;
    for (int i = 0; i < 600 && !taken;
         i++) { /* its owner may still be about to open it */
        taken = drop_files_take(&files, names, DROP_BATCH);
        usleep(100000);
    }
    assert_int_equal(taken, 1);
    expect_unreadable(ERR_DENIED, "closed.xml cannot be read: Permission denied");
    assert_true(there(files.failed_fd, "closed.xml.error"));
    if (root)
        assert_int_equal(seteuid(0), 0);
}

static void no_more_are_taken_than_asked_for(void **state)
{
    (void)state;
    put_whole("1.xml", "x");
    put_whole("2.xml", "x");
    put_whole("3.xml", "x");
    assert_int_equal(drop_files_take(&files, names, 2), 2);
    assert_int_equal(drop_files_take(&files, names, 2), 1);
    assert_int_equal(drop_files_taken(&files, names, DROP_BATCH), 3);
}

static void read_failed(const char *name, char out[100])
{
    int fd = openat(files.failed_fd, name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t got = read(fd, out, 99);
    out[got > 0 ? got : 0] = '\0';
    close(fd);
}

static void a_refused_file_keeps_its_name_and_has_its_reason(void **state)
{
    (void)state;
    char text[100];
    for (int i = 1; i <= 3; i++) {
        snprintf(text, sizeof text, "file %d", i);
        put_whole("b.xml", text);
        assert_int_equal(drop_files_take(&files, names, DROP_BATCH), 1);
        snprintf(text, sizeof text, "reason %d", i);
        drop_files_fail(&files, &names[0], text);
    }
    read_failed("b.xml", text);
    assert_string_equal(text, "file 1");
    read_failed("b.xml.error", text);
    assert_string_equal(text, "reason 1\n");
    read_failed("b.2.xml", text);
    assert_string_equal(text, "file 2");
    read_failed("b.3.xml.error", text);
    assert_string_equal(text, "reason 3\n");
    assert_int_equal(drop_files_taken(&files, names, DROP_BATCH), 0);
}

static void a_very_long_name_is_cut(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'n', sizeof name);
    memcpy(name + 251, ".xml", 5);
    put_whole(name, "x");
    assert_int_equal(drop_files_take(&files, names, DROP_BATCH), 1);
    drop_files_fail(&files, &names[0], "too long");
    assert_int_equal(drop_files_taken(&files, names, DROP_BATCH), 0);
    name[200] = '\0';
    char kept[256];
    snprintf(kept, sizeof kept, "%.200s.xml", name);
    assert_true(there(files.failed_fd, kept));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_whole_file_is_taken_with_its_name),
        TEST(a_file_that_is_being_written_is_left_alone),
        TEST(what_is_no_control_file_is_left_alone),
        TEST(links_and_pipes_are_set_aside_unread),
        TEST(a_file_that_is_closed_to_us_is_set_aside_after_a_while),
        TEST(no_more_are_taken_than_asked_for),
        TEST(a_refused_file_keeps_its_name_and_has_its_reason),
        TEST(a_very_long_name_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
