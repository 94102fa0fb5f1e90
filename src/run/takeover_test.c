/* SPDX-License-Identifier: Apache-2.0 */
/* takeover_test.c - jobs outlive their daemon and are taken over by the next; those of a
 * dead launcher are told as lost.
 *
 *     takeover_test PAWL-LAUNCH FAKE-JOB [groups] */
#include "run/process/process.h"

#include "run/fixture_test.h"
#include "run/news.h"
#include "run/process/attempt.h"
#include "run/process/stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TALK_BYTES ((6 << 20) + 94) /* of "talk-and-wait", up to where it waits */

static void expect_talk(Fixture *f, JobId id)
{
    const RunNews *ended = expect(f, RUN_ENDED, id);
    assert_int_equal(ended->end.said_code, 201);
    assert_true(slice_is(buf_slice(&ended->text), "line\nJ:"));
    assert_int_equal(ended->end.progress, 90);
    assert_true(slice_is(buf_slice(&ended->children), "first|1\nsecond|2\nthird|4\n"));
    assert_true(ended->end.stream_first[OUTPUT_OUT] > 3 << 20);
    /* Told by the daemon that died, if not by this one. */
    const RunNews *child = find_kept(f, RUN_CHILD, id);
    assert_true(!child || slice_is(buf_slice(&child->text), "now|3"));
}

/* A daemon that starts `try`, waits until it has printed `bytes`, and is killed. */
static void daemon_that_dies(Fixture *f, const Try *try, int64_t bytes, char *token)
{
    runner_close(f->runner);
    drop_news(f);
    int told[2];
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        must_open(f);
        start(f, try);
        const RunNews *started = expect(f, RUN_STARTED, try->id);
        OutputName name = { f->dir, try->id, 1, OUTPUT_OUT };
        OutputPart part = { 0 };
        Buf out = { 0 };
        while (part.total < bytes)
            if (output_read(&name, 0, 0, &out, &part))
                _exit(1);
        if (write(told[1], started->token, RUN_TOKEN_BYTES) != RUN_TOKEN_BYTES)
            _exit(1);
        for (;;)
            pause();
    }
    close(told[1]);
    assert_int_equal(read(told[0], token, RUN_TOKEN_BYTES), RUN_TOKEN_BYTES);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(told[0]);
}

static void a_new_daemon_takes_over_what_runs(void **state)
{
    Fixture *f = *state;
    char token[RUN_TOKEN_BYTES];
    Try try = { .argv = { fake_job, "talk-and-wait" }, .flags = JOB_PROTOCOL };
    /* Killed before, at and after the moment when the front of the log is dropped, and
     * after all has been read. */
    static const int64_t moments[] = { 1000, 200 << 10, 1 << 20, 4 << 20,
                                       (6 << 20) + 40 };
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        JobId id = try.id = i + 1;
        daemon_that_dies(f, &try, moments[i], token);
        must_open(f);
        const RunNews *adopted = expect(f, RUN_ADOPTED, id);
        assert_string_equal(adopted->token, token);
        expect(f, RUN_LISTED, 0);
        OutputName name = { f->dir, id, 1, OUTPUT_OUT };
        OutputPart part = { 0 };
        Buf out = { 0 };
        for (int tries = 0; tries < WAIT_MS && part.total < TALK_BYTES;
             tries++, usleep(1000))
            assert_int_equal(output_read(&name, 0, 0, &out, &part), ERR_OK);
        runner_signal(f->runner, id, 1, SIGKILL);
        expect_talk(f, id);
        assert_int_equal(count_kept(f, RUN_STARTED, id), 0);
        assert_int_equal(count_kept(f, RUN_ENDED, id), 1);
        read_all(f, id, OUTPUT_OUT, &out);
        assert_memory_equal(out.data + out.bytes - 7, "\nready\n", 7);
        buf_done(&out);
        forget(f, id);
    }
}

static void an_end_while_no_daemon_is_there_is_told_once(void **state)
{
    Fixture *f = *state;
    char token[RUN_TOKEN_BYTES];
    Try try = { .id = 1,
                .argv = { "sh", "-c", "echo one; sleep 0.2; echo two; exit 4" } };
    daemon_that_dies(f, &try, 4, token);
    usleep(300000);
    must_open(f);
    expect(f, RUN_ADOPTED, 1);
    const RunNews *ended = expect(f, RUN_ENDED, 1);
    assert_int_equal(ended->end.exit_status, 4);
    expect(f, RUN_LISTED, 0);
    expect_output(f, 1, OUTPUT_OUT, SLICE_LITERAL("one\ntwo\n"));

    /* Not forgotten yet: the next one is told again; forgotten: it is not. */
    runner_close(f->runner);
    drop_news(f);
    must_open(f);
    expect(f, RUN_ENDED, 1);
    expect(f, RUN_LISTED, 0); /* before it, orders wait */
    forget(f, 1);
    runner_close(f->runner);
    drop_news(f);
    must_open(f);
    expect(f, RUN_LISTED, 0);
    assert_int_equal(f->kept_count, 1);
}

static void wait_printed(const Fixture *f, JobId id, int64_t bytes)
{
    OutputName name = { f->dir, id, 1, OUTPUT_OUT };
    OutputPart part = { 0 };
    Buf out = { 0 };
    for (int tries = 0; tries < WAIT_MS && part.total < bytes; tries++, usleep(1000))
        assert_int_equal(output_read(&name, 0, 0, &out, &part), ERR_OK);
    assert_true(part.total >= bytes);
    buf_done(&out);
}

static int launcher_pid(const Fixture *f)
{
    /* The one process that holds the lock. */
    char path[128];
    snprintf(path, sizeof path, "%s/" LAUNCH_LOCK, f->dir);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat lock;
    assert_int_equal(fstat(fd, &lock), 0);
    close(fd);
    FILE *locks = fopen("/proc/locks", "re");
    char line[256];
    int pid = 0;
    unsigned long inode = 0;
    while (fgets(line, sizeof line, locks) &&
           (sscanf(line, "%*s FLOCK %*s %*s %d %*x:%*x:%lu", &pid, &inode) != 2 ||
            inode != lock.st_ino))
        inode = 0;
    fclose(locks);
    assert_int_equal(inode, lock.st_ino);
    return pid;
}

/* The number of the first descriptor that is free in a process, if it uses the rest. */
static rlim_t count_fds(pid_t pid)
{
    char path[64];
    rlim_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void jobs_lost_with_their_launcher_are_told(void **state)
{
    Fixture *f = *state;
    Try first = { .id = 1, .argv = { fake_job, "tick" } };
    Try second = { .id = 2, .argv = { "sh", "-c", "exit 1" } };
    start(f, &first);
    start(f, &second);
    pid_t pid = expect(f, RUN_STARTED, 1)->pid;
    expect(f, RUN_ENDED, 2);
    kill(launcher_pid(f), SIGKILL);
    expect(f, RUN_LAUNCHER_GONE, 0);
    expect(f, RUN_LOST, 1);
    assert_false(alive(pid));
    expect(f, RUN_LAUNCHER_BACK, 0);
    assert_int_equal(count_kept(f, RUN_LOST, 2), 0);
    forget(f, 1);
    forget(f, 2);
    Try third = { .id = 3, .argv = { "true" } };
    assert_int_equal(run(f, &third)->exit_status, 0);
    forget(f, 3);
}

/* With its node's lease a job ends, whoever sees it: a daemon that is there, or the next
 * one. It is lost, as if its node had gone, and not a failure of its own. */
static void a_job_that_outlives_the_lease_is_lost(void **state)
{
    Fixture *f = *state;
    Try seen = { .id = 1, .argv = { fake_job, "tick" } };
    Try unseen = { .id = 2, .argv = { fake_job, "tick" } };
    start(f, &seen);
    start(f, &unseen);
    expect(f, RUN_STARTED, 1);
    pid_t pid = expect(f, RUN_STARTED, 2)->pid;
    runner_deadline(f->runner, 1, 1, clock_now().boot_ms);
    const RunNews *lost = expect(f, RUN_LOST, 1);
    assert_true(slice_is(buf_slice(&lost->text), "the lease of its node was over"));
    assert_int_equal(count_kept(f, RUN_ENDED, 1), 0);
    forget(f, 1);

    runner_deadline(f->runner, 2, 1, clock_now().boot_ms + 300);
    Try last = { .id = 3, .argv = { "true" } }; /* behind which the launcher has it */
    assert_int_equal(run(f, &last)->exit_status, 0);
    forget(f, 3);
    runner_close(f->runner);
    drop_news(f);
    for (int tries = 0; tries < WAIT_MS && alive(pid); tries++)
        usleep(1000);
    must_open(f);
    expect(f, RUN_LOST, 2);
    expect(f, RUN_LISTED, 0); /* before it, orders wait */
    assert_int_equal(count_kept(f, RUN_ENDED, 2), 0);
    forget(f, 2);
}

/* A daemon that was stopped sends what it had decided before: not even a job that needs
 * but a moment may have it. */
static void a_start_of_a_lease_that_is_over_is_not_made(void **state)
{
    Fixture *f = *state;
    Try late = { .id = 1,
                 .argv = { "echo", "ran" },
                 .lease_boot = clock_now().boot_ms - 1 };
    start(f, &late);
    assert_int_equal(expect(f, RUN_STARTED, 1)->pid, 0); /* there is none */
    const RunNews *lost = expect(f, RUN_LOST, 1);
    assert_true(slice_is(buf_slice(&lost->text), "the lease of its node was over"));
    expect_output(f, 1, OUTPUT_OUT, SLICE_LITERAL(""));
    forget(f, 1);
}

/* A context that reads nothing and answers no one, with two jobs in hand. */
static void give_two(Fixture *f, JobId first, uint32_t slot)
{
    RunItem items[] = { { .id = first, .attempt = 1, .timed = true, .line_bytes = 3 },
                        { .id = first + 1, .attempt = 1, .line_bytes = 3 } };
    RunBatch batch = { .slot = slot,
                       .key = SLICE_LITERAL("key"),
                       .tenant = SLICE_LITERAL("default"),
                       .argv = SLICE_LITERAL("sleep\0"
                                             "1000\0"),
                       .lines = SLICE_LITERAL("{}\n{}\n"),
                       .in_order = true,
                       .items = items,
                       .count = 2 };
    runner_give(f->runner, &batch);
}

static void expect_lost(Fixture *f, JobId first)
{
    const RunNews *news = expect(f, RUN_ANSWERS, 0);
    assert_int_equal(news->answer_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const RunAnswer *answer = &news->answers[i];
        assert_int_equal(answer->id, first + i);
        assert_int_equal(answer->kind, ANSWER_LOST);
        assert_true(
            slice_is(slice_of(news->text.data + answer->text_at, answer->text_bytes),
                     "the lease of its node was over"));
    }
    clear_news(f);
}

/* With the lease warm contexts end, those that are there and those that come too late; no
 * job is charged with it, not even the one that ran. */
static void a_context_that_outlives_the_lease_is_lost(void **state)
{
    Fixture *f = *state;
    runner_lease(f->runner, clock_now().boot_ms + MS_PER_HOUR);
    give_two(f, 1, 1);
    pid_t pid = expect(f, RUN_STARTED, 1)->pid;
    runner_lease(f->runner, clock_now().boot_ms);
    expect_lost(f, 1);
    assert_false(alive(pid));

    give_two(f, 3, 2); /* of a lease that is over */
    expect_lost(f, 3);
}

/* The machine goes down, or someone means it: jobs are asked to end, not just dropped. */
static void a_launcher_that_must_go_ends_its_jobs(void **state)
{
    Fixture *f = *state;
    Try gentle = { .id = 1,
                   .argv = { "sh", "-c",
                             "trap 'exit 9' TERM; echo set; while :; do :; done" } };
    start(f, &gentle);
    expect(f, RUN_STARTED, 1);
    wait_printed(f, 1, 4);
    kill(launcher_pid(f), SIGTERM);
    assert_int_equal(expect(f, RUN_ENDED, 1)->end.exit_status, 9);
    runner_forget(f->runner, 1, 1);
    expect(f, RUN_LAUNCHER_GONE, 0);
    expect(f, RUN_LAUNCHER_BACK, 0);
    clear_news(f);
    Try next = { .id = 2, .argv = { "true" } };
    assert_int_equal(run(f, &next)->exit_status, 0);
    forget(f, 2);
}

/* Fault 70: not the job's fault, and over when there is room again. */
static void a_launcher_without_descriptors_says_so(void **state)
{
    Fixture *f = *state;
    struct rlimit before, few;
    pid_t pid = launcher_pid(f);
    Try held = { .id = 1, .argv = { "sleep", "100" } };
    start(f, &held);
    expect(f, RUN_STARTED, 1);
    assert_int_equal(prlimit(pid, RLIMIT_NOFILE, NULL, &before), 0);
    rlim_t used = count_fds(pid);
    for (rlim_t before_used = 0; used != before_used;) { /* it closes the job's soon */
        before_used = used;
        usleep(50000);
        used = count_fds(pid);
    }
    for (rlim_t room = 0; room < 6; room++) {
        JobId id = 2 + room;
        Try try = { .id = id, .argv = { "true" } };
        few = (struct rlimit){ used + room, before.rlim_max };
        assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &few, NULL), 0);
        start(f, &try);
        const RunNews *news = expect(f, RUN_FAILED, id);
        assert_int_equal(news->number, EMFILE);
        assert_true(news->node_fault);
        runner_forget(f->runner, id, 1);
    }
    assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &before, NULL), 0);
    Try next = { .id = 100, .argv = { "true" } };
    assert_int_equal(run(f, &next)->exit_status, 0);
    runner_signal(f->runner, 1, 1, SIGKILL);
    expect(f, RUN_ENDED, 1);
    forget(f, 1);
    forget(f, 100);
}

int main(int argc, char **argv)
{
    if (!fixture_main(argc, argv))
        return 2;
#define RUN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        RUN_TEST(a_new_daemon_takes_over_what_runs),
        RUN_TEST(an_end_while_no_daemon_is_there_is_told_once),
        RUN_TEST(jobs_lost_with_their_launcher_are_told),
        RUN_TEST(a_job_that_outlives_the_lease_is_lost),
        RUN_TEST(a_start_of_a_lease_that_is_over_is_not_made),
        RUN_TEST(a_context_that_outlives_the_lease_is_lost),
        RUN_TEST(a_launcher_that_must_go_ends_its_jobs),
        RUN_TEST(a_launcher_without_descriptors_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
