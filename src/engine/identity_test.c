/* SPDX-License-Identifier: Apache-2.0 */
/* identity_test.c - who a daemon is, over restarts and next to others. */
#include "engine/identity.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/pawl-identity-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    static const char *const names[] = { "identity", "pawl.lock", ".identity.new" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

static void a_node_stays_who_it_is_and_counts_its_lives(void **state)
{
    (void)state;
    Identity first;
    Identity second;
    Identity looked;
    Error why;
    assert_int_equal(identity_read(dir, &looked, &why), ERR_NOT_FOUND);
    assert_int_equal(identity_begin(dir, &first, &why), ERR_OK);
    assert_int_equal(identity_read(dir, &looked, &why), ERR_OK);
    assert_int_equal(looked.epoch, 1);
    assert_string_equal(looked.sysid, first.sysid);
    assert_int_equal(identity_begin(dir, &second, &why), ERR_OK);
    assert_string_equal(first.sysid, second.sysid);
    assert_int_equal(first.number, second.number);
    assert_true(first.cluster == second.cluster);
    assert_int_equal(first.epoch, 1);
    assert_int_equal(second.epoch, 2);
}

static void a_damaged_identity_is_refused_by_name(void **state)
{
    (void)state;
    Identity identity;
    Error why;
    assert_int_equal(file_replace(dir, "identity", "nonsense\n", &why), ERR_OK);
    assert_int_equal(identity_begin(dir, &identity, &why), ERR_CORRUPT);
    assert_non_null(strstr(why.text, "identity"));
}

static void a_second_daemon_is_told_who_was_first(void **state)
{
    (void)state;
    Error why;
    int first;
    int second;
    char pid[32];
    assert_int_equal(identity_lock(dir, &first, &why), ERR_OK);
    assert_int_equal(identity_lock(dir, &second, &why), ERR_BUSY);
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    assert_non_null(strstr(why.text, pid));
    close(first);
    assert_int_equal(identity_lock(dir, &second, &why), ERR_OK);
    close(second);
}

static void a_file_is_replaced_whole_or_not_at_all(void **state)
{
    (void)state;
    Error why;
    char text[16] = "";
    char path[128];
    assert_int_equal(file_replace(dir, "identity", "one", &why), ERR_OK);
    assert_int_equal(file_replace(dir, "identity", "two", &why), ERR_OK);
    snprintf(path, sizeof path, "%s/identity", dir);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, text, sizeof text), 3);
    close(fd);
    assert_string_equal(text, "two");
    assert_int_equal(file_replace("/nowhere", "identity", "x", &why), ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "/nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_node_stays_who_it_is_and_counts_its_lives,
                                        make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_damaged_identity_is_refused_by_name, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_second_daemon_is_told_who_was_first, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_file_is_replaced_whole_or_not_at_all, make_dir,
                                        remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
