/* SPDX-License-Identifier: Apache-2.0 */
/* lock_test.c - a lock that someone else has, for a moment or for good. */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int open_file(void)
{
    char path[] = "/tmp/pawl-lock-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    return fd;
}

/* The same file, opened anew: a lock of its own. */
static int open_again(int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_RDWR);
    assert_true(again >= 0);
    return again;
}

static void what_is_free_is_taken_and_what_is_held_is_not(void **state)
{
    (void)state;
    int mine = open_file();
    int other = open_again(mine);
    assert_true(lock_soon(mine));
    assert_false(lock_soon(other));
    assert_int_equal(errno, EWOULDBLOCK);
    close(mine);
    assert_true(lock_soon(other));
    close(other);
    errno = 0;
    assert_false(lock_soon(-1));
    assert_int_equal(errno, EBADF);
}

/* The holder is gone before the wait is over, however slow the machine: it leaves when it
 * is told to, and that is before the lock is asked for. */
static void one_who_is_leaving_is_waited_for(void **state)
{
    (void)state;
    int pipes[2];
    int mine = open_file();
    int other = open_again(mine);
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (!pid) {
        char word = 0;
        if (!lock_soon(other) || write(pipes[1], "x", 1) != 1 || read(pipes[0], &word, 0))
            _exit(1);
        for (;;)
            pause();
    }
    close(other);
    char word;
    assert_int_equal(read(pipes[0], &word, 1), 1);
    kill(pid, SIGKILL); /* not waited for: it may take its time */
    bool taken = lock_soon(mine);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(taken || lock_soon(mine));
    close(mine);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_free_is_taken_and_what_is_held_is_not),
        cmocka_unit_test(one_who_is_leaving_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
