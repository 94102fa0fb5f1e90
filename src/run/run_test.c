/* SPDX-License-Identifier: Apache-2.0 */
/* run_test.c - the runner with a real launcher and real processes.
 *
 *     run_test PAWL-LAUNCH FAKE-JOB [groups]
 *
 * "groups": without cgroups. */
#include "run/process/process.h"

#include "run/fixture_test.h"
#include "run/process/folder.h"
#include "run/process/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_job_runs_and_tells_its_end(void **state)
{
    Fixture *f = *state;
    Try try = { .id = 1, .argv = { "sh", "-c", "echo out; echo err >&2; exit 3" } };
    const RunEnd *end = run(f, &try);
    assert_int_equal(end->exit_status, 3);
    assert_int_equal(end->signal, 0);
    assert_int_equal(end->said_code, 0);
    assert_int_equal(end->progress, -1);
    assert_int_equal(end->stream_bytes[OUTPUT_OUT], 4);
    assert_int_equal(end->stream_bytes[OUTPUT_ERR], 4);
    assert_true(end->started_ms > 0 && end->ended_ms >= end->started_ms);
    expect_output(f, 1, OUTPUT_OUT, SLICE_LITERAL("out\n"));
    expect_output(f, 1, OUTPUT_ERR, SLICE_LITERAL("err\n"));
    forget(f, 1);
    Try killed = { .id = 2, .argv = { "sleep", "100" } };
    start(f, &killed);
    expect(f, RUN_STARTED, 2);
    runner_signal(f->runner, 2, 1, SIGTERM);
    end = &expect(f, RUN_ENDED, 2)->end;
    assert_int_equal(end->exit_status, -1);
    assert_int_equal(end->signal, SIGTERM);
    forget(f, 2);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(Buf *text)
{
    char *lines[64];
    size_t count = 0;
    Buf sorted = { 0 };
    for (char *at = text->data; at < text->data + text->bytes; count++) {
        lines[count] = at;
        at = strchr(at, '\n');
        *at++ = '\0';
    }
    qsort(lines, count, sizeof lines[0], by_text);
    for (size_t i = 0; i < count; i++)
        buf_printf(&sorted, "%s\n", lines[i]);
    buf_done(text);
    *text = sorted;
}

/* What a running job sees: these and no others (docs/reference/job.md). */
static void the_environment_is_exact(void **state)
{
    Fixture *f = *state;
    char id[ID_TEXT_BYTES], parent[ID_TEXT_BYTES];
    Job job = job_default();
    job.id = 1000001;
    job.parent = 999;
    job.attempt = 1;
    job.flags = JOB_FILES | JOB_KEEP_STATE;
    job.priority = -3;
    job.type = SLICE_LITERAL("run");
    job.tenant = SLICE_LITERAL("acme");
    job.queue = SLICE_LITERAL("night");
    job.trace = SLICE_LITERAL("00-ab-cd-01");
    job.command = SLICE_LITERAL("env\0");
    job.env = SLICE_LITERAL("A=b c\0PAWL_TOKEN=mine\0LANG=xx\0TRACEPARENT=no\0=x\0y\0");
    RunOrder order = { .job = &job,
                       .document = SLICE_LITERAL("{}"),
                       .env = SLICE_LITERAL("PAWL_RESOURCE_GPU_ITEMS=0,1\0"
                                            "JQM_RM_DISCRETE_GPU_ITEMS=0,1\0"),
                       .deadline_ms = 1790000000000 };
    runner_start(f->runner, &order);
    const RunNews *started = expect(f, RUN_STARTED, job.id);
    assert_int_equal(strlen(started->token), 32);
    assert_int_equal(expect(f, RUN_ENDED, job.id)->end.exit_status, 0);
    Buf out = { 0 }, want = { 0 };
    read_all(f, job.id, OUTPUT_OUT, &out);
    id_text(job.id, id);
    id_text(job.parent, parent);
    buf_printf(&want,
               "A=b c\nHOME=/\nJQM_JI_ID=%s\nJQM_NODE_NAME=node1\nJQM_Q_NAME=night\n"
               "JQM_RM_DISCRETE_GPU_ITEMS=0,1\nLANG=xx\nPATH=%s\n"
               "PAWL_API_URL=http://127.0.0.1:7420/api/v1\nPAWL_ATTEMPT=1\n"
               "PAWL_DEADLINE=2026-09-21T14:13:20.000Z\n"
               "PAWL_FILES_DIR=%s/files/%s\nPAWL_JOB_FILE=%s/run/%s.1/job.json\n"
               "PAWL_JOB_ID=%s\nPAWL_JOB_TYPE=run\nPAWL_NODE=node1\nPAWL_PARENT_ID=%s\n"
               "PAWL_PRIORITY=-3\nPAWL_QUEUE=night\nPAWL_RESOURCE_GPU_ITEMS=0,1\n"
               "PAWL_STATE_DIR=%s/state/%s\nPAWL_TEMP_DIR=%s/run/%s.1/tmp\n"
               "PAWL_TENANT=acme\nPAWL_TOKEN=%s\nTRACEPARENT=00-ab-cd-01\n",
               id, getenv("PATH"), f->dir, id, f->dir, id, id, parent, f->dir, id, f->dir,
               id, started->token);
    sort_lines(&out);
    assert_string_equal(buf_cstr(&out), buf_cstr(&want));
    buf_done(&out);
    buf_done(&want);
    forget(f, job.id);
    runner_forget(f->runner, job.id, 1);
}

static void prepare_true(Fixture *f, JobId id)
{
    Job job = job_default();
    job.id = id;
    job.attempt = 1;
    job.command = SLICE_LITERAL("true\0");
    runner_prepare(f->runner,
                   &(RunOrder){ .job = &job, .document = SLICE_LITERAL("{}") });
}

/* The first waits for its word while the second gets it at once, prepared or not. */
static void a_prepared_attempt_starts_at_the_word(void **state)
{
    Fixture *f = *state;
    char folder[FOLDER_PATH_BYTES];
    prepare_true(f, 71);
    prepare_true(f, 72);
    runner_go(f->runner, 72, 1);
    assert_int_equal(expect(f, RUN_ENDED, 72)->end.exit_status, 0);
    forget(f, 72);
    assert_int_equal(access(folder_path(f->dir, FOLDER_RUN, 71, 1, folder), F_OK), 0);
    runner_go(f->runner, 71, 1); /* on this thread: the runner's has nothing to do */
    assert_int_equal(expect(f, RUN_ENDED, 71)->end.exit_status, 0);
    forget(f, 71);
}

/* It ends with its runner: nothing was told to the launcher, nothing leaks. */
static void an_attempt_without_the_word_never_starts(void **state)
{
    Fixture *f = *state;
    prepare_true(f, 73);
    runner_go(f->runner, 74, 1); /* of no attempt: does nothing */
    Try other = { .id = 75, .argv = { "true" } };
    assert_int_equal(run(f, &other)->exit_status, 0);
    assert_int_equal(count_kept(f, RUN_STARTED, 73), 0);
    forget(f, 75);
}

static void a_job_finds_its_folders_and_no_descriptors(void **state)
{
    Fixture *f = *state;
    Try look = { .id = 1,
                 .flags = JOB_FILES,
                 .argv = { "sh", "-c",
                           "cat $PAWL_JOB_FILE; cd $PAWL_TEMP_DIR && mkdir -p a/b && "
                           "echo x > a/b/c; echo kept > $PAWL_FILES_DIR/kept; "
                           "echo \" [$PAWL_STATE_DIR] $(stat -c %a $PAWL_JOB_FILE)\"" } };
    assert_int_equal(run(f, &look)->exit_status, 0);
    expect_output(f, 1, OUTPUT_OUT, SLICE_LITERAL("{\"id\":1} [] 400\n"));
    char path[FOLDER_PATH_BYTES], kept[FOLDER_PATH_BYTES + 8];
    folder_path(f->dir, FOLDER_RUN, 1, 1, path);
    assert_int_equal(access(path, F_OK), 0);
    forget(f, 1);
    for (int tries = 0; tries < WAIT_MS && access(path, F_OK) == 0; tries++)
        usleep(1000);
    assert_int_equal(access(path, F_OK), -1);
    snprintf(kept, sizeof kept, "%s/kept", folder_path(f->dir, FOLDER_FILES, 1, 1, path));
    assert_int_equal(access(kept, F_OK), 0);
    runner_erase(f->runner, 1, 1);
    for (int tries = 0; tries < WAIT_MS && access(path, F_OK) == 0; tries++)
        usleep(1000);
    assert_int_equal(access(path, F_OK), -1);
    expect_output(f, 1, OUTPUT_OUT, SLICE_LITERAL(""));

    Try fds = { .id = 2, .argv = { fake_job, "fds" }, .payload = SLICE_LITERAL("x") };
    run(f, &fds);
    expect_output(f, 2, OUTPUT_OUT, SLICE_LITERAL("0 1 2\n"));
    forget(f, 2);
}

/* S2's payload on standard input. */
static void the_payload_is_on_standard_input(void **state)
{
    Fixture *f = *state;
    static char large[3 << 20];
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * 7);
    large[sizeof large - 1] = '\n';
    Slice huge = slice_of(large, CAP / 2);
    struct {
        Slice payload;
        uint32_t flags;
        Slice seen;
    } cases[] = {
        { SLICE_LITERAL(""), 0, SLICE_LITERAL("") },
        { SLICE_LITERAL("hello"), 0, SLICE_LITERAL("hello\n") },
        { SLICE_LITERAL("hello\n"), 0, SLICE_LITERAL("hello\n") },
        { SLICE_LITERAL("hello"), JOB_BINARY, SLICE_LITERAL("hello") },
        { SLICE_LITERAL("a\0b\xff"), 0, SLICE_LITERAL("a\0b\xff\n") },
        { SLICE_LITERAL("\n"), 0, SLICE_LITERAL("\n") },
        { huge, JOB_BINARY, huge },
    };
    JobId id = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Try cat = { .id = ++id,
                    .argv = { "cat" },
                    .payload = cases[i].payload,
                    .flags = cases[i].flags };
        run(f, &cat);
        expect_output(f, id, OUTPUT_OUT, cases[i].seen);
        forget(f, id);
    }
    Try count = { .id = ++id,
                  .argv = { "wc", "-c" },
                  .payload = { large, sizeof large } };
    run(f, &count);
    expect_output(f, id, OUTPUT_OUT, SLICE_LITERAL("3145728\n"));
    forget(f, id);
    Try spoil = { .id = ++id,
                  .argv = { "sh", "-c",
                            "echo y 1<>/proc/self/fd/0 >&1 2>/dev/null; cat" },
                  .payload = SLICE_LITERAL("x") };
    run(f, &spoil);
    expect_output(f, id, OUTPUT_OUT, SLICE_LITERAL("x\n"));
    forget(f, id);
}

/* Fault 69, as the loop is told. */
static void what_cannot_start_says_why(void **state)
{
    Fixture *f = *state;
    static char huge[5 << 20];
    memset(huge, 'x', sizeof huge - 1);
    struct {
        Try try;
        LaunchStep step;
        int error_number;
        const char *text;
    } cases[] = {
        { { .argv = { "no-such-program" } },
          LAUNCH_STEP_EXEC,
          ENOENT,
          "cannot start: program no-such-program: No such file or directory" },
        { { .argv = { "true" }, .cwd = "/no/such" },
          LAUNCH_STEP_CWD,
          ENOENT,
          "cannot start: working directory /no/such: No such file or directory" },
        { { .argv = { "true", huge } },
          LAUNCH_STEP_PREPARE,
          E2BIG,
          "cannot start: prepare: Argument list too long" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cases[i].try.id = i + 1;
        start(f, &cases[i].try);
        const RunNews *news = expect(f, RUN_FAILED, i + 1);
        assert_int_equal(news->step, cases[i].step);
        assert_int_equal(news->number, cases[i].error_number);
        assert_false(news->node_fault);
        Buf text = news->text;
        assert_int_equal(text.bytes, strlen(cases[i].text));
        assert_memory_equal(text.data, cases[i].text, text.bytes);
        forget(f, i + 1);
    }
}

static void a_full_disk_is_the_node_s_fault(void **state)
{
    Fixture *f = *state;
    char run_dir[128];
    snprintf(run_dir, sizeof run_dir, "%s/state", f->dir);
    assert_int_equal(rmdir(run_dir), 0);
    Try try = { .id = 1, .argv = { "true" }, .flags = JOB_KEEP_STATE };
    start(f, &try);
    const RunNews *news = expect(f, RUN_FAILED, 1);
    assert_int_equal(news->step, LAUNCH_STEP_PREPARE);
    assert_true(news->node_fault);
    forget(f, 1);
}

static void lines_are_obeyed_only_where_asked(void **state)
{
    Fixture *f = *state;
    static const char *const text =
        "J: a|1\nJ!: b|2\nP: 50 half\nR: 418 <<3\nx\ny\nlog\n";
    Try try = { .id = 1, .argv = { "printf", "%s", text }, .flags = JOB_PROTOCOL };
    const RunEnd *end = run(f, &try);
    const RunNews *ended = expect(f, RUN_ENDED, 1);
    assert_int_equal(end->said_code, 418);
    assert_true(slice_is(buf_slice(&ended->text), "x\ny"));
    assert_int_equal(end->progress, 50);
    assert_true(slice_is(buf_slice(&ended->message), "half"));
    assert_true(slice_is(buf_slice(&ended->children), "a|1\n"));
    assert_int_equal(ended->child_count, 1);
    const RunNews *child = expect(f, RUN_CHILD, 1);
    assert_true(slice_is(buf_slice(&child->text), "b|2"));
    assert_int_equal(child->number, 1);
    forget(f, 1);

    try = (Try){ .id = 2, .argv = { "printf", "%s", text } };
    end = run(f, &try);
    assert_int_equal(end->said_code, 0);
    assert_int_equal(end->progress, -1);
    assert_int_equal(expect(f, RUN_ENDED, 2)->children.bytes, 0);
    assert_int_equal(count_kept(f, RUN_CHILD, 2), 0);
    forget(f, 2);

    try = (Try){ .id = 3,
                 .argv = { "printf", "%s", text },
                 .flags = JOB_PROTOCOL,
                 .children_now = true };
    run(f, &try);
    assert_int_equal(expect(f, RUN_ENDED, 3)->children.bytes, 0);
    assert_int_equal(count_kept(f, RUN_CHILD, 3), 2);
    forget(f, 3);
}

static long resident_kb(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_int_equal(fscanf(file, "%*d %ld", &pages), 1);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE) / 1024;
}

/* Fault 72. */
static void a_flood_is_cut_to_its_tail(void **state)
{
    Fixture *f = *state;
    Try try = { .id = 1, .argv = { fake_job, "flood" } };
    long before_kb = resident_kb();
    const RunEnd *end = run(f, &try);
    assert_int_equal(end->exit_status, 0);
    assert_int_equal(end->stream_bytes[OUTPUT_OUT], (24 << 20) + 8);
    int64_t kept = end->stream_bytes[OUTPUT_OUT] - end->stream_first[OUTPUT_OUT];
    assert_true(kept >= CAP && kept <= CAP + CAP / 8 + (64 << 10) + (1 << 20));
    Buf out = { 0 };
    read_all(f, 1, OUTPUT_OUT, &out);
    assert_int_equal(out.bytes, kept);
    assert_memory_equal(out.data + out.bytes - 8, "the end\n", 8);
    buf_done(&out);
    assert_true(resident_kb() - before_kb < 16 << 10);
    forget(f, 1);
}

/* J and R lines are never lost by the cap. */
static void what_is_said_survives_the_cap(void **state)
{
    Fixture *f = *state;
    Try try = { .id = 1, .argv = { fake_job, "talk" }, .flags = JOB_PROTOCOL };
    run(f, &try);
    const RunNews *ended = expect(f, RUN_ENDED, 1);
    assert_int_equal(ended->end.said_code, 201);
    assert_true(slice_is(buf_slice(&ended->text), "line\nJ:"));
    assert_int_equal(ended->end.progress, 90);
    assert_true(slice_is(buf_slice(&ended->message), "nearly"));
    assert_true(slice_is(buf_slice(&ended->children), "first|1\nsecond|2\nthird|4\n"));
    assert_true(ended->end.stream_first[OUTPUT_OUT] > 3 << 20);
    const RunNews *child = expect(f, RUN_CHILD, 1);
    assert_true(slice_is(buf_slice(&child->text), "now|3"));
    forget(f, 1);
}

static void news_do_not_pile_up(void **state)
{
    Fixture *f = *state;
    Try try = { .id = 1, .argv = { fake_job, "nows" }, .flags = JOB_PROTOCOL };
    start(f, &try);
    int count = 0;
    size_t taken_most = 0;
    for (;;) {
        size_t taken = 0;
        bool over = false;
        Mail *mail = mailbox_wait(&f->news, WAIT_MS);
        assert_non_null(mail);
        while (mail) {
            RunNews *news = (RunNews *)mail;
            mail = mail->next;
            if (news->kind == RUN_CHILD)
                assert_int_equal(news->number, ++count);
            over = over || news->kind == RUN_ENDED;
            taken++;
            run_news_free(news);
        }
        taken_most = taken > taken_most ? taken : taken_most;
        if (over)
            break;
        usleep(10000); /* a slow loop */
    }
    assert_int_equal(count, 200000);
    assert_true(taken_most < 100000);
    forget(f, 1);
}

/* Faults 73 and 74. */
static void the_end_is_the_end_of_the_process(void **state)
{
    Fixture *f = *state;
    Try closes = { .id = 1, .argv = { fake_job, "close" } };
    assert_int_equal(run(f, &closes)->exit_status, 7);
    expect_output(f, 1, OUTPUT_OUT, SLICE_LITERAL("before"));
    forget(f, 1);
    Try holds = { .id = 2, .argv = { fake_job, "escape" } };
    const RunEnd *end = run(f, &holds);
    assert_int_equal(end->exit_status, 0);
    assert_int_equal(end->leftover, 0);
    Buf out = { 0 };
    read_all(f, 2, OUTPUT_OUT, &out);
    assert_false(alive(strtol(buf_cstr(&out), NULL, 10)));
    buf_done(&out);
    forget(f, 2);
}

/* Fault 78. */
static void an_exit_during_a_kill_is_one_end(void **state)
{
    Fixture *f = *state;
    int exits = 0;
    for (JobId id = 1; id <= 60; id++) {
        Try try = { .id = id, .argv = { "sh", "-c", "exit 5" } };
        start(f, &try);
        expect(f, RUN_STARTED, id);
        usleep((unsigned)(id * 97 % 1500));
        runner_signal(f->runner, id, 1, SIGKILL);
        runner_signal(f->runner, id, 1, SIGKILL);
        const RunNews *news = expect(f, RUN_ENDED, id);
        bool exited = news->end.exit_status == 5 && news->end.signal == 0;
        bool killed = news->end.exit_status == -1 && news->end.signal == SIGKILL;
        assert_true(exited || killed);
        exits += exited;
        forget(f, id);
    }
    print_message("%d of 60 exited before the signal\n", exits);
    assert_null(next_news(f, 0));
}

static void a_job_can_be_paused(void **state)
{
    Fixture *f = *state;
    OutputName name = { f->dir, 1, 1, OUTPUT_OUT };
    OutputPart part = { 0 }, later = { 0 };
    Buf out = { 0 };
    Try try = { .id = 1, .argv = { fake_job, "tick" } };
    start(f, &try);
    expect(f, RUN_STARTED, 1);
    for (int tries = 0; tries < WAIT_MS && !part.total; tries++, usleep(1000))
        assert_int_equal(output_read(&name, 0, 10, &out, &part), ERR_OK);
    runner_signal(f->runner, 1, 1, SIGSTOP);
    do { /* until it stands still */
        later = part;
        usleep(30000);
        assert_int_equal(output_read(&name, 0, 10, &out, &part), ERR_OK);
    } while (part.total != later.total);
    runner_signal(f->runner, 1, 1, SIGCONT);
    for (int tries = 0; tries < WAIT_MS && part.total == later.total;
         tries++, usleep(1000))
        assert_int_equal(output_read(&name, 0, 10, &out, &part), ERR_OK);
    assert_true(part.total > later.total);
    runner_signal(f->runner, 1, 1, SIGKILL);
    expect(f, RUN_ENDED, 1);
    forget(f, 1);
    buf_done(&out);
}

static size_t count_fds(void)
{
    size_t count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void many_jobs_leave_nothing(void **state)
{
    Fixture *f = *state;
    size_t fds = count_fds();
    for (JobId first = 1; first <= 400; first += 8) {
        for (JobId id = first; id < first + 8; id++) {
            Try try = { .id = id, .argv = { id % 2 ? "true" : "no-such" } };
            start(f, &try);
        }
        for (JobId id = first; id < first + 8; id++)
            expect(f, id % 2 ? RUN_ENDED : RUN_FAILED, id);
        for (JobId id = first; id < first + 8; id++)
            runner_forget(f->runner, id, 1);
        clear_news(f);
    }
    Try last = { .id = 1000, .argv = { "true" } };
    run(f, &last); /* all orders before it have been obeyed */
    forget(f, 1000);
    assert_true(count_fds() <= fds + 2); /* the last one's may be about to be closed */
    struct stat run_dir;
    char path[128];
    snprintf(path, sizeof path, "%s/run", f->dir);
    assert_int_equal(stat(path, &run_dir), 0);
    assert_true(run_dir.st_nlink - 2 <= 10); /* as many as ran at once */
}

int main(int argc, char **argv)
{
    if (!fixture_main(argc, argv))
        return 2;
#define RUN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        RUN_TEST(a_job_runs_and_tells_its_end),
        RUN_TEST(the_environment_is_exact),
        RUN_TEST(a_prepared_attempt_starts_at_the_word),
        RUN_TEST(an_attempt_without_the_word_never_starts),
        RUN_TEST(a_job_finds_its_folders_and_no_descriptors),
        RUN_TEST(the_payload_is_on_standard_input),
        RUN_TEST(what_cannot_start_says_why),
        RUN_TEST(a_full_disk_is_the_node_s_fault),
        RUN_TEST(lines_are_obeyed_only_where_asked),
        RUN_TEST(a_flood_is_cut_to_its_tail),
        RUN_TEST(what_is_said_survives_the_cap),
        RUN_TEST(news_do_not_pile_up),
        RUN_TEST(the_end_is_the_end_of_the_process),
        RUN_TEST(an_exit_during_a_kill_is_one_end),
        RUN_TEST(a_job_can_be_paused),
        RUN_TEST(many_jobs_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
