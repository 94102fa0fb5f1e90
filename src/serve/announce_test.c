/* SPDX-License-Identifier: Apache-2.0 */
/* announce_test.c - commands that are told, tried again, and given up on at the end.
 * Webhooks are tested against a real server by tests/e2e/test_alerts.py. */
#include "serve/announce.h"

#include "base/times.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
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

static void send(Announcer *announcer, const char *target)
{
    announcer_send(announcer, slice_text(target), SLICE_LITERAL("{\"alert\":\"a\"}"));
}

static void a_command_reads_the_message(void **state)
{
    (void)state;
    Announcer *announcer = announcer_open();
    send(announcer, "command:cat > $ANNOUNCE/part; mv $ANNOUNCE/part $ANNOUNCE/whole");
    assert_true(appears("whole"));
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

static void one_that_fails_is_tried_again(void **state)
{
    (void)state;
    Announcer *announcer = announcer_open();
    send(announcer, "command:if test -e $ANNOUNCE/first; then : > $ANNOUNCE/second; "
                    "else : > $ANNOUNCE/first; exit 1; fi");
    assert_true(appears("second"));
    announcer_close(announcer);
}

static void closing_ends_what_is_under_way(void **state)
{
    (void)state;
    Announcer *announcer = announcer_open();
    send(announcer, "command:: > $ANNOUNCE/begun; exec sleep 1000");
    assert_true(appears("begun"));
    announcer_send(announcer, SLICE_LITERAL("nonsense"), SLICE_LITERAL("x"));
    announcer_close(announcer);
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
    static const char *const names[] = { "whole", "first", "second", "begun" };
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
        cmocka_unit_test(one_that_fails_is_tried_again),
        cmocka_unit_test(closing_ends_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
