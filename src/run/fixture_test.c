/* SPDX-License-Identifier: Apache-2.0 */
/* fixture_test.c - see fixture_test.h. */
#include "run/fixture_test.h"

#include "run/files/sweep.h"

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

char fake_job[4096];
char launcher[4096];

static Err open_runner(Fixture *f, Error *why)
{
    RunnerOptions options = { .data_dir = f->dir,
                              .launcher = launcher,
                              .node = SLICE_LITERAL("node1"),
                              .api_url = SLICE_LITERAL("http://127.0.0.1:7420/api/v1"),
                              .output_bytes_max = CAP,
                              .news = &f->news };
    return runner_open(&f->runner, &options, why);
}

RunNews *next_news(Fixture *f, int64_t timeout_ms)
{
    if (!f->rest)
        f->rest = mailbox_wait(&f->news, timeout_ms);
    RunNews *news = (RunNews *)f->rest;
    if (news)
        f->rest = news->mail.next;
    return news;
}

RunNews *find_kept(const Fixture *f, RunNewsKind kind, JobId id)
{
    for (size_t i = 0; i < f->kept_count; i++)
        if (f->kept[i]->kind == kind && f->kept[i]->id == id)
            return f->kept[i];
    return NULL;
}

/* The first news of a kind about a job. All news stay until clear_news. */
RunNews *expect(Fixture *f, RunNewsKind kind, JobId id)
{
    int64_t give_up_ms = clock_now().boot_ms + WAIT_MS;
    RunNews *news;
    while (!(news = find_kept(f, kind, id)) && clock_now().boot_ms < give_up_ms) {
        RunNews *next = next_news(f, 100);
        if (!next)
            continue;
        assert_true(f->kept_count < KEPT_MAX);
        f->kept[f->kept_count++] = next;
    }
    if (!news)
        fail_msg("no news %d of %d", (int)kind, (int)id);
    return news;
}

size_t count_kept(const Fixture *f, RunNewsKind kind, JobId id)
{
    size_t count = 0;
    for (size_t i = 0; i < f->kept_count; i++)
        count += f->kept[i]->kind == kind && f->kept[i]->id == id;
    return count;
}

void clear_news(Fixture *f)
{
    while (f->kept_count)
        run_news_free(f->kept[--f->kept_count]);
}

void drop_news(Fixture *f)
{
    clear_news(f);
    for (RunNews *news; (news = next_news(f, 0));)
        run_news_free(news);
}

void must_open(Fixture *f)
{
    Error why = { 0 };
    if (open_runner(f, &why))
        fail_msg("%s", why.text);
}

int setup(void **state)
{
    Fixture *f = MEM_NEW(Fixture);
    snprintf(f->dir, sizeof f->dir, "/tmp/run-test-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    mailbox_init(&f->news);
    must_open(f);
    expect(f, RUN_LISTED, 0);
    clear_news(f);
    *state = f;
    return 0;
}

int teardown(void **state)
{
    Fixture *f = *state;
    char path[128];
    runner_close(f->runner);
    drop_news(f);
    mailbox_done(&f->news);
    /* Every test forgets its jobs: the launcher leaves at once. */
    snprintf(path, sizeof path, "%s/" LAUNCH_SOCKET, f->dir);
    for (int tries = 0; tries < WAIT_MS && access(path, F_OK) == 0; tries++)
        usleep(1000);
    assert_int_equal(access(path, F_OK), -1);
    usleep(1000); /* it still removes its other files */
    sweep_path(f->dir);
    mem_free(f);
    return 0;
}

void start(Fixture *f, const Try *try)
{
    Job job = job_default();
    Buf command = { 0 };
    for (int i = 0; try->argv[i]; i++)
        buf_add(&command, try->argv[i], strlen(try->argv[i]) + 1);
    job.id = try->id;
    job.attempt = 1;
    job.flags = try->flags;
    job.command = buf_slice(&command);
    job.payload = try->payload;
    job.type = SLICE_LITERAL("run");
    job.tenant = SLICE_LITERAL("acme");
    job.queue = SLICE_LITERAL("default");
    job.cwd = slice_text(try->cwd);
    if (try->env)
        job.env = slice_of(try->env, strlen(try->env) + 1);
    RunOrder order = { .job = &job,
                       .document = SLICE_LITERAL("{\"id\":1}"),
                       .lease_boot = try->lease_boot,
                       .children_now = try->children_now };
    runner_start(f->runner, &order);
    buf_done(&command);
}

void read_all(const Fixture *f, JobId id, OutputStream stream, Buf *out)
{
    OutputName name = { f->dir, id, 1, stream };
    OutputPart part;
    assert_int_equal(output_read(&name, 0, 64 << 20, out, &part), ERR_OK);
}

void expect_output(const Fixture *f, JobId id, OutputStream stream, Slice want)
{
    Buf out = { 0 };
    read_all(f, id, stream, &out);
    if (!slice_equal(buf_slice(&out), want))
        fail_msg("printed [%s]", buf_cstr(&out));
    buf_done(&out);
}

/* A process that no one has waited for yet has no program any more either. */
bool alive(long pid)
{
    char exe[64], program[64];
    snprintf(exe, sizeof exe, "/proc/%ld/exe", pid);
    return readlink(exe, program, sizeof program) >= 0;
}

/* Runs to the end; the news stay. */
const RunEnd *run(Fixture *f, const Try *try)
{
    start(f, try);
    RunNews *news = expect(f, RUN_ENDED, try->id);
    assert_int_equal(count_kept(f, RUN_STARTED, try->id), 1);
    return &news->end;
}

void forget(Fixture *f, JobId id)
{
    runner_forget(f->runner, id, 1);
    clear_news(f);
}

bool fixture_main(int argc, char **argv)
{
    if (argc < 3 || !realpath(argv[1], launcher) || !realpath(argv[2], fake_job))
        return false;
    signal(SIGPIPE, SIG_IGN);
    setenv("HOME", "/", 1);
    setenv("LANG", "C", 1);
    unsetenv("TZ");
    unsetenv("USER");
    setenv("SECRET", "not for jobs", 1);
    if (argc > 3)
        setenv("PAWL_LAUNCH_CGROUPS", "off", 1);
    return true;
}
