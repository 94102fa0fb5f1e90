/* SPDX-License-Identifier: Apache-2.0 */
/* announce_test.c - commands that are told, and what comes of it.
 * Webhooks are tested against a real server by tests/e2e/test_alerts.py. */
#include "watch/announce.h"

#include "base/times.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS (60 * MS_PER_S)

static char folder[] = "/tmp/announce_test.XXXXXX";

static void path_of(char out[128], const char *name)
{
    snprintf(out, 128, "%s/%s", folder, name);
}

static bool appears(const char *name)
{
    char path[128];
    path_of(path, name);
    for (int64_t until = clock_now().boot_ms + PATIENCE_MS;
         clock_now().boot_ms < until;) {
        if (!access(path, F_OK))
            return true;
        poll(NULL, 0, 10);
    }
    return false;
}

/* What became of the last announcement. */
typedef struct Told {
    _Atomic int count;
    _Atomic bool failed;
    _Atomic uint64_t token;
} Told;

static void told(void *context, uint64_t token, const Error *why)
{
    Told *out = context;
    out->token = token;
    out->failed = why != NULL;
    out->count++;
}

static void send(Announcer *announcer, uint64_t token, const char *target)
{
    announcer_send(announcer,
                   &(Announcement){ .token = token,
                                    .target = slice_text(target),
                                    .body = SLICE_LITERAL("{\"alert\":\"a\"}") });
}

static void wait_told(const Told *out, int count)
{
    for (int64_t until = clock_now().boot_ms + PATIENCE_MS;
         out->count < count && clock_now().boot_ms < until;)
        poll(NULL, 0, 10);
    assert_int_equal(out->count, count);
}

static void a_command_reads_the_message(void **state)
{
    (void)state;
    Told out = { 0 };
    Announcer *announcer = announcer_open(told, &out);
    send(announcer, 7, "command:cat > $ANNOUNCE/whole");
    wait_told(&out, 1);
    assert_false(out.failed);
    assert_int_equal(out.token, 7);
    char path[128];
    char text[64] = "";
    path_of(path, "whole");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    assert_string_equal(text, "{\"alert\":\"a\"}\n");
    fclose(file);
    announcer_close(announcer);
}

static void a_failure_is_told(void **state)
{
    (void)state;
    Told out = { 0 };
    Announcer *announcer = announcer_open(told, &out);
    static const char *const bad[] = { "command:exit 3", "nonsense",
                                       "webhook:http://127.0.0.1:1/" };
    for (int i = 0; i < 3; i++) {
        send(announcer, (uint64_t)i, bad[i]);
        wait_told(&out, i + 1);
        assert_true(out.failed);
    }
    announcer_send(announcer, &(Announcement){ .target = SLICE_LITERAL("command:true"),
                                               .body = SLICE_LITERAL("x"),
                                               .user = SLICE_LITERAL("root") });
    wait_told(&out, 4); /* never with all rights by name */
    assert_true(out.failed);
    announcer_close(announcer);
}

static void closing_ends_what_is_under_way(void **state)
{
    (void)state;
    Told out = { 0 };
    Announcer *announcer = announcer_open(told, &out);
    send(announcer, 1, "command:: > $ANNOUNCE/begun; exec sleep 1000");
    assert_true(appears("begun"));
    send(announcer, 2, "command:true");
    announcer_close(announcer);
    assert_int_equal(out.count, 0); /* whoever keeps them tells them again */
    announcer_close(NULL);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? setenv("ANNOUNCE", folder, 1) : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = { "whole", "begun" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        path_of(path, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_reads_the_message),
        cmocka_unit_test(a_failure_is_told),
        cmocka_unit_test(closing_ends_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
