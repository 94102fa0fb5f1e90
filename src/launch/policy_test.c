/* SPDX-License-Identifier: Apache-2.0 */
/* policy_test.c - as whom jobs may run, and above all as whom not. */
#include "launch/policy.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/pawl-policy-XXXXXX";
static char path[64];

static void write_policy(const char *text)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, 0644), 0);
    close(fd);
}

static PolicyAnswer ask(const char *tenant, const char *user)
{
    PolicyAccount account;
    return policy_ask(tenant, user, &account);
}

static void lines_name_tenants_and_accounts(void **state) /* S0.21 */
{
    (void)state;
    const char *text = "# who may be whom\n\ndefault: batch nobody\n"
                       "acme: alice, bob # two\n  *: guest\r\n";
    assert_int_equal(policy_lists(text, "default", "batch"), 1);
    assert_int_equal(policy_lists(text, "default", "nobody"), 1);
    assert_int_equal(policy_lists(text, "default", "guest"), 1);
    assert_int_equal(policy_lists(text, "acme", "batch"), 0);
    assert_int_equal(policy_lists(text, "other", "guest"), 1);
    assert_int_equal(policy_lists(text, "other", "two"), 0);
    assert_int_equal(policy_lists(text, "", "batch"), 0);
    assert_int_equal(policy_lists("", "default", "x"), 0);
    assert_int_equal(policy_lists("nobody\n", "default", "nobody"), -1);
    assert_int_equal(policy_lists(": nobody\n", "", "nobody"), -1);
}

static void words_are_whole(void **state)
{
    (void)state;
    assert_int_equal(policy_lists("default: nobodyelse", "default", "nobody"), 0);
    assert_int_equal(policy_lists("default: nobody", "default", "nobodyelse"), 0);
    assert_int_equal(policy_lists("defaults: nobody", "default", "nobody"), 0);
    assert_int_equal(policy_lists("default: nobody", "defaul", "nobody"), 0);
    assert_int_equal(policy_lists("acme: alice", "acme", "alice"), 1);
}

static void root_is_never_allowed_by_any_name(void **state) /* S0.20 */
{
    (void)state;
    write_policy("*: root 0 00 000 nobody\n");
    const char *names[] = { "root", "0", "00", "0000000000" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(ask("default", names[i]), POLICY_IS_ROOT);
    assert_int_not_equal(ask("default", "4294967296"), POLICY_ALLOWED); /* 0 in 32 bits */
    assert_int_not_equal(ask("default", "-0"), POLICY_ALLOWED);
    assert_int_not_equal(ask("default", ""), POLICY_ALLOWED);
}

static void an_account_comes_with_its_groups_and_home(void **state)
{
    (void)state;
    PolicyAccount account;
    assert_int_equal(policy_account("daemon", &account), POLICY_ALLOWED);
    assert_string_equal(account.name, "daemon");
    assert_int_not_equal(account.uid, 0);
    assert_true(account.group_count >= 1);
    char number[16];
    snprintf(number, sizeof number, "%u", (unsigned)account.uid);
    PolicyAccount again;
    assert_int_equal(policy_account(number, &again), POLICY_ALLOWED);
    assert_string_equal(again.name, "daemon");
    assert_int_equal(policy_account("no-such-account", &account), POLICY_NO_ACCOUNT);
}

static void only_a_file_of_roots_counts(void **state) /* S0.21 */
{
    (void)state;
    if (geteuid() != 0) {
        write_policy("*: daemon\n");
        assert_int_equal(ask("default", "daemon"), POLICY_NOT_ROOT);
        skip(); /* the rest needs root */
    }
    unlink(path);
    assert_int_equal(ask("default", "daemon"), POLICY_NO_FILE);
    write_policy("default: daemon\n");
    assert_int_equal(ask("default", "daemon"), POLICY_ALLOWED);
    assert_int_equal(ask("other", "daemon"), POLICY_NOT_LISTED);
    assert_int_equal(ask("default", "nobody"), POLICY_NOT_LISTED);
    assert_int_equal(ask("default", "no-such-account"), POLICY_NO_ACCOUNT);
    assert_int_equal(chmod(path, 0664), 0);
    assert_int_equal(ask("default", "daemon"), POLICY_BAD_FILE);
    assert_int_equal(chmod(path, 0646), 0);
    assert_int_equal(ask("default", "daemon"), POLICY_BAD_FILE);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(ask("default", "daemon"), POLICY_ALLOWED);
    assert_int_equal(chown(path, 1, 0), 0);
    assert_int_equal(ask("default", "daemon"), POLICY_BAD_FILE);
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(chmod(folder, 0777), 0); /* others could put another there */
    assert_int_equal(ask("default", "daemon"), POLICY_BAD_FILE);
    assert_int_equal(chmod(folder, 0755), 0);
    write_policy("default daemon\n");
    assert_int_equal(ask("default", "daemon"), POLICY_BAD_FILE);
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(ask("default", "daemon"), POLICY_BAD_FILE);
    unlink(path);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chmod(folder, 0755))
        return -1;
    snprintf(path, sizeof path, "%s/users", folder);
    return setenv(POLICY_VARIABLE, path, 1);
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_name_tenants_and_accounts),
        cmocka_unit_test(words_are_whole),
        cmocka_unit_test(root_is_never_allowed_by_any_name),
        cmocka_unit_test(an_account_comes_with_its_groups_and_home),
        cmocka_unit_test(only_a_file_of_roots_counts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
